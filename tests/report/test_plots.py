"""Pictures: figures of their own, no global state, and the sentences that they must carry."""

from typing import Any

import pytest

import hullabaloo as hb
from hullabaloo.report import plots
from hullabaloo.report.spending import shares
from tests.report.conftest import DATASET, fitted


def words(figure: Any) -> str:
    from matplotlib.text import Text

    return " | ".join(text.get_text() for text in figure.findobj(Text) if text.get_text())


def coefficients(model: Any) -> str:
    told = hb.report.card(model).to_dict()["coefficients"]
    return words(plots.draw_coefficients(told["rows"], "y", told["confidence"]))


def test_coefficients(plain: Any, gradient: Any) -> None:
    many = coefficients(fitted(rows=100_000))  # of few records noise may leave no interval with two ends
    assert "with sampling error" in many
    assert "age" in coefficients(plain)
    assert "(intercept)" not in coefficients(plain)
    assert "sampling" not in coefficients(gradient)


def test_many_coefficients_are_cut_and_said_so() -> None:
    rows = [
        {"name": f"x{j}", "coefficient": float(j), "privacy_std": None, "low": None, "high": None, "span": 1.0}
        for j in range(plots.MOST_ROWS + 5)
    ]
    assert "5 more are not drawn" in words(plots.draw_coefficients(rows, "y", 0.95))


def test_a_dot_stands_where_its_interval_is_and_a_stroke_where_the_model_predicts() -> None:
    told = {"privacy_std": 0.5, "span": 2.0}
    rows = [
        {"name": "far", "coefficient": 1.0, "estimate": 4.0, "low": 3.0, "high": 5.0, **told},
        {"name": "near", "coefficient": 2.0, "estimate": 2.0, "low": 1.0, "high": 3.0, **told},
        {"name": "alone", "coefficient": 0.5, "estimate": None, "low": 0.0, "high": 1.0, **told},
    ]
    drawn = plots.draw_coefficients(rows, "y", 0.95).axes[0].lines
    of = {mark: [float(line.get_xdata()[0]) for line in drawn if line.get_marker() == mark] for mark in ("o", "|")}
    assert of == {"o": [1.0, 4.0, 8.0], "|": [4.0, 2.0]}  # the greatest effect is drawn last, on top


def test_what_no_estimate_is_told_of_has_no_dot() -> None:
    rows = [
        {"name": "told", "coefficient": 1.0, "estimate": 2.0, "low": 1.0, "high": 3.0, "privacy_std": 0.5, "span": 1.0},
        {
            "name": "not",
            "coefficient": 9.0,
            "estimate": None,
            "low": None,
            "high": None,
            "privacy_std": None,
            "span": 1,
        },
    ]
    figure = plots.draw_coefficients(rows, "y", 0.95)
    drawn = figure.axes[0].lines
    of = {mark: [float(line.get_xdata()[0]) for line in drawn if line.get_marker() == mark] for mark in ("o", "|")}
    assert of == {"o": [2.0], "|": [1.0, 9.0]}
    assert "no dot: no estimate is told" in words(figure)
    assert "no dot" not in words(plots.draw_coefficients(rows[:1], "y", 0.95))


@pytest.mark.parametrize("length", [1, 20, 45, 300])
def test_words_lie_within_the_picture_and_levels_keep_labels_of_their_own(length: int) -> None:
    names = [f"{'w' * length}=Married-{level}-spouse" for level in ("civ", "AF")]
    rows = [
        {"name": name, "coefficient": 1.0, "privacy_std": None, "low": None, "high": None, "span": 1.0}
        for name in names
    ]
    measures = f"the log-odds of {'w' * length}"
    figure = plots.draw_coefficients([{**row, "measures": measures} for row in rows], "y", 0.95)
    axes = figure.axes[0]
    figure.canvas.draw()
    for text in (axes.xaxis.label, *axes.get_yticklabels()):
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert len({text.get_text() for text in axes.get_yticklabels()}) == 2


def test_guarantee(plain: Any) -> None:
    statement = plain.statement_
    profile = plots.draw_profile(statement.event, statement.epsilon(), statement.delta)
    assert "quoted: ε = 1, δ = 1e-6" in words(profile)
    assert "best attack" in words(plots.draw_trade_off(statement.event))


def test_budget(recorded: Any, ledger: hb.Ledger) -> None:
    parts = shares(ledger.remaining(DATASET), ledger.charges(DATASET), recorded.statement_.charge)
    said = words(plots.draw_budget(parts))
    assert "this release\n25 %" in said
    assert "left\n62.5 %" in said
