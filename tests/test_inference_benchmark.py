"""The benchmark of inference: what it calls told, held and wide, and that its populations and truths are what it says."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import inference_lines as inference  # noqa: E402
from benchmarks import inference_populations, inference_tables  # noqa: E402
from benchmarks.forecasts import Forecast, compared, summary  # noqa: E402

from hullabaloo.noise import TestKey  # noqa: E402


def truth(values: list[float], null: list[bool]) -> inference_populations.Truth:
    none = np.zeros(len(values) + 1)
    names = tuple(f"x{j}" for j in range(len(values)))
    return inference_populations.Truth(names, np.array(values), np.ones(len(values)), np.array(null), none, 0.0, 1.0)


def test_an_interval_without_an_end_is_a_miss_of_width_and_never_cover() -> None:
    low = np.array([[8.0, 1.0, -1.0], [8.0, np.nan, 1.0], [12.0, np.nan, -1.0], [8.0, -np.inf, -1.0]])
    high = np.array([[12.0, 3.0, 1.0], [12.0, np.nan, 3.0], [13.0, 3.0, 1.0], [12.0, 3.0, 1.0]])
    ends = np.stack([0.5 * (low + high), np.ones_like(low), low, high])
    found = inference.metrics(ends, truth([10.0, 2.0, 0.0], [False, False, True]), np.ones(3), np.ones(3))
    assert found["told"] == 5 / 8  # of two slopes in four draws
    assert found["strong"] == 1.0  # x0 alone has |t| of 4
    assert found["cover"] == 4 / 5
    assert found["worst"] == 3 / 4  # x1 is told once in four draws
    assert found["size"] == 1 / 4
    assert found["power"] == pytest.approx((1.96 / 2.0) ** 2, rel=1e-4)


@pytest.mark.slow
def test_both_declarations_are_of_one_population_and_one_truth() -> None:
    known = inference_tables.population("rare_class")
    fit, expert = known.truth("fit", "logistic"), known.truth("expert", "logistic")
    np.testing.assert_allclose(fit.value, expert.value, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fit.spread, expert.spread, rtol=1e-4)
    assert all(fit.value[fit.null] == 0.0)
    X, y = known.encoded("fit", "logistic").X, known.encoded("fit", "logistic").y
    chance = 1.0 / (1.0 + np.exp(-X @ fit.theta))
    np.testing.assert_allclose(X[:, ~np.append(fit.null, False)].T @ (chance - (y > 0)) / len(y), 0.0, atol=1e-7)


def test_robust_intervals_without_privacy_hold_the_truth_of_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 draws of 2 000 records of units, five slopes: fewer than 0.85 of 200 held has probability below 1e-6 at 95 % were they apart."""
    monkeypatch.setattr(inference, "REFERENCES", 40)
    held = inference.reference.__wrapped__("clustered", "fit", "squared", 2_000, 2)
    assert held.mean() > 0.85


def test_a_forecast_is_compared_with_what_came() -> None:
    said = Forecast({"a": (0.5, 1.0, 2.0), "b": (20.0, 30.0, 50.0)}, share=0.9, total=(0.01, 0.02, 0.03))
    came = np.array([1.02, 0.99, 1.1, 1.0]), np.array([0.01, 0.015, 0.02, np.nan])
    found = compared(said, Forecast(), said, ["a", "b"], np.array([1.0, 10.0]), np.array([True, False]), 0.8, came)
    assert found["in range"] == 0.5
    assert found["forecast errors known"] is None
    assert found["coefficients within 2"] == 0.5
    assert found["coefficients within 5"] == 1.0
    assert (found["forecast errors told"], found["in range told"]) == (1.0, 1.0)
    assert found["forecast loss"] == pytest.approx(0.5)
    assert found["forecast total"] == pytest.approx(0.02 / 0.0175)
    assert (found["in range total"], found["forecast total known"]) == (1.0, None)
    assert (found["in range total mean known"], found["forecast total mean known"]) == (1.0, found["forecast total"])
    assert found["total no farther"] == 0.75
    none = compared(
        said, said, said, ["a", "b"], np.ones(2), np.zeros(2, dtype=bool), 0.8, (came[0], np.full(4, np.nan))
    )
    assert (none["forecast errors told"], none["total told"], none["forecast total"]) == (None, False, None)
    lines = [{"half": "report", **one} for one in (found, none)]
    kept = {one["forecast of"]: one for one in summary(lines)}
    assert [kept[what]["lines"] for what in ("errors", "errors told", "total")] == [2, 1, 1]
    assert (kept["total"]["within 2"], kept["total known"]["within 2"]) == (1.0, 0.0)


def test_the_halves_are_apart_and_both_hold_every_loss() -> None:
    halves = [inference_tables.names(half) for half in ("development", "report")]
    assert not set(halves[0]) & set(halves[1])
    assert sorted(halves[0] + halves[1]) == sorted(inference_tables.names())
    assert len(halves[0]) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_no_slopes_of_a_rare_class_are_told_that_do_not_hold(
    epsilon: float, shared_data: Callable[[str], Path]
) -> None:
    """Covertype, a class of 1 %: the coefficients end 13 to 16 from their optimum in the root mean square of predictions, and a step sees 1 to 2 of it. Where that was not reckoned with 6 and 5 of 90 slopes were told, of which 4 and 2 held; now none is. Fixed keys."""
    shared_data("covertype_2v4.parquet")
    case = inference.Case("covertype", "expert", "logistic", 20_000, epsilon, draws=10)
    known, rng = inference_tables.population(case.table, 2), np.random.default_rng(case.seed)
    truth, held = known.truth(case.bounds, case.loss), list[bool]()
    for draw in range(case.draws):
        rows, others = known.sample(rng, case.n)
        key = TestKey(bytes(32)).derive(f"{case.seed}/{draw}")
        said = inference.told(inference.fitted(case, known, key, known.table(rows, others)))
        for name, true in zip(truth.names, truth.value, strict=True):
            low, high = said[name][2:]
            if np.isfinite([low, high]).all():
                held.append(low <= true <= high)
    assert sum(held) >= 0.85 * len(held)
