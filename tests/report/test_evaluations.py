"""Pictures of evaluations: error bars are the table's intervals, of the bins that noise leaves to be seen."""

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import TestKey

KEY = TestKey(bytes(range(32)))


def test_error_bars_are_the_intervals_of_bins_with_records() -> None:
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 1))
    Y = np.column_stack([X[:, 0] ** 2 + 0.1 * rng.normal(size=4000), X[:, 0]])
    domain = hb.Domain(features={"x": (-1, 1)}, target={"a": (-3, 3), "b": (-3, 3)}, indicators=False)
    model = hb.LinearRegression(budget=hb.Budget(np.inf), domain=domain).fit(X, Y)
    asked = {"budget": hb.Budget(2.0, 1e-8), "test_key": KEY, "largest_error": {"a": 1.0, "b": 1.0}, "bins": 12}
    evaluation = hb.evaluate(model, X, Y, metrics=["calibration", "residuals"], **asked)
    for display, rows, name in (
        (hb.report.CalibrationDisplay, evaluation.calibration, "outcome"),
        (hb.report.ResidualDisplay, evaluation.residuals, "residual"),
    ):
        made = display.from_evaluation(evaluation, target="b").plot()
        seen = [getattr(row, name) for row in rows if row.target == "b" and row.count > 2.0 * row.count_error]
        assert 2 <= len(seen) < 12
        _, _, (bars,) = made.errorbar_.lines
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        assert ends == pytest.approx(np.array([(one.low, one.high) for one in seen]))
        assert made.plot(ax=made.ax_).figure_ is made.figure_
        with pytest.raises(InvalidParameter, match="no target 'c'"):
            display.from_evaluation(evaluation, target="c")
        with pytest.raises(InvalidParameter, match="metrics="):
            display.from_evaluation(hb.evaluate(model, X, Y, metrics="r2", budget=hb.Budget(2.0, 1e-8), test_key=KEY))
        with pytest.raises(InvalidParameter, match="what hb"):
            display.from_evaluation(model)
