"""The forest plot: error bars are the summary's intervals, on axes of one's own or of the caller."""

import math

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.errors import InvalidParameter
from hullabaloo.inference import from_score
from tests.inference.test_summary import KEY, logistic


def test_error_bars_are_the_intervals() -> None:
    pytest.importorskip("matplotlib")
    model = logistic()
    for exponentiate, rows in ((False, model.summary().rows), (True, model.summary(exponentiate=True).rows)):
        made = hb.report.CoefficientDisplay.from_model(model, exponentiate=exponentiate, intercept=True).plot()
        _, _, (bars,) = made.errorbar_.lines
        ends = np.array([segment[:, 0] for segment in bars.get_segments()])
        assert ends == pytest.approx(np.array([(row.low, row.high) for row in rows]))
        assert [label.get_text() for label in made.ax_.get_yticklabels()] == [row.name for row in rows]
    again = made.plot(ax=made.ax_)
    assert again.figure_ is made.figure_
    with pytest.raises(InvalidParameter, match="no target 'cost'"):
        hb.report.CoefficientDisplay.from_model(model, target="cost")


def test_what_is_not_identified_has_no_bar_and_says_so() -> None:
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    domain = hb.Domain(features={"x1": (-1, 1)}, target=(-1, 1), indicators=False)
    model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, solver="moments", test_key=KEY)
    model.fit(np.zeros((200, 1)), rng.uniform(-1.0, 1.0, 200))
    assert math.isnan(model.summary().rows[0].low)
    made = hb.report.CoefficientDisplay.from_model(model).plot()
    assert all("(not identified)" in label.get_text() for label in made.ax_.get_yticklabels())
    assert len(made.errorbar_.lines[2][0].get_segments()) == 0


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_an_interval_without_an_end_goes_to_the_edge_and_says_so(side: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a picture of numbers and on one of ratios: such a row had neither a bar nor an estimate, and said nothing."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(
        from_score, "separating", lambda model, found, doubts: (side * np.eye(1, len(found.point)), np.zeros(1))
    )
    model = logistic()
    (name,) = (row.name for row in model.summary().rows if math.isinf(row.low) or math.isinf(row.high))
    for exponentiate in (False, True):
        made = hb.report.CoefficientDisplay.from_model(model, exponentiate=exponentiate).plot()
        labels = [label.get_text() for label in made.ax_.get_yticklabels()]
        assert [one for one in labels if "(no end)" in one] == [f"{name} (no end)"]
        bars = made.errorbar_.lines[2][0].get_segments()
        assert len(bars) == len(labels)
        assert all(np.isfinite(bar).all() for bar in bars)
        edge, end = made.ax_.get_xlim()[int(side > 0.0)], bars[labels.index(f"{name} (no end)")][int(side > 0.0), 0]
        assert side * (end - edge) >= 0.0 or exponentiate


def test_every_target_of_several_is_drawn_and_one_alone_where_it_is_named() -> None:
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.0, 1.0, (4000, 2))
    domain = hb.Domain(features={"x1": (-1, 1), "x2": (-1, 1)}, target={"a": (-1, 1), "b": (-1, 1)}, indicators=False)
    model = hb.LinearRegression(budget=hb.Budget(30.0, 1e-6), domain=domain, solver="moments", test_key=KEY)
    model.fit(X, 0.5 * X)
    shown = {
        target: [label.get_text() for label in made.plot().ax_.get_yticklabels()]
        for target in (None, "b")
        for made in [hb.report.CoefficientDisplay.from_model(model, target=target)]
    }
    assert shown[None] == ["x1 of a", "x2 of a", "x1 of b", "x2 of b"]
    assert shown["b"] == ["x1", "x2"]
