"""Losses of a user's own: a table agrees with what was tabulated, its constants are its own, and nothing but its numbers is read or kept."""

import json
import math
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.curator.known import stranger
from hullabaloo.erm.doubled import table_slope
from hullabaloo.errors import InvalidParameter
from hullabaloo.foreign import foreign
from hullabaloo.losses import Huber, Logistic, Loss, Pinball, SmoothedHinge, Squared
from tests.laws.loss_zoo import SKEWED

HINGE = hb.custom_loss(lambda m: max(0.0, 1.0 - m), of="margin", name="plain hinge", step=2.0**-4)
STEP = 2.0**-6
BUILT_IN: dict[str, tuple[Loss, str, float]] = {
    "squared": (Squared(), "residual", 0.0),
    "huber": (Huber(0.25), "residual", 0.5 * STEP),
    "pinball": (Pinball(0.3), "residual", 1.0),
    "logistic": (Logistic(), "margin", STEP**2 / 80.0),
    "hinge": (SmoothedHinge(0.5), "margin", STEP),
}
"""A loss of the library, what it is of, and how far its table's slope may be from its own: by a kink's jump beside one, else by step²/8 · max|g'''|."""


def table_of(name: str, derivative: bool) -> Any:
    loss, of, _ = BUILT_IN[name]
    y = 0.0 if of == "residual" else 1.0
    if derivative:
        return hb.custom_loss(derivative=lambda t: float(loss.derivative(t, y)), of=of, name=f"my {name}")
    return hb.custom_loss(lambda t: float(loss.value(t, y)), of=of, name=f"my {name}")


@pytest.mark.parametrize("derivative", [True, False], ids=["slope", "value"])
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_table_of_a_known_loss_is_that_loss_to_the_error_of_its_grid(name: str, derivative: bool) -> None:
    loss, of, error = BUILT_IN[name]
    mine = table_of(name, derivative)
    z, y = np.meshgrid(np.linspace(-4.0, 4.0, 1601), [-1.0, 1.0] if of == "margin" else np.linspace(-1.0, 1.0, 5))
    apart = np.abs(mine.derivative(z, y) - loss.derivative(z, y))
    assert apart.max() <= (1.0 if derivative else 7.0 / 3.0) * error + 1e-9
    assert apart.mean() <= 4.0 * STEP**2 + 0.02 * error
    heights = mine.value(z, y) - loss.value(z, y)
    assert np.ptp(heights) <= 0.02  # a constant apart: a table's least value is 0
    assert mine.value(z, y).min() >= 0.0


@pytest.mark.parametrize("loss", [SKEWED, HINGE], ids=lambda one: one.name)
def test_what_is_beyond_the_table_is_a_straight_line_and_its_least_value_is_0(loss: Any) -> None:
    ends = np.array([loss.start, loss.knots[-1]])
    t = np.linspace(ends[0] - 3.0, ends[1] + 3.0, 4001)
    z, y = (t, np.float64(0.0)) if loss.kind == "residual_table" else (t, np.float64(1.0))
    assert 0.0 <= loss.value(z, y).min() <= 1e-6
    assert np.ptp(loss.derivative(z, y)[t > ends[1]]) == 0.0
    assert np.ptp(loss.derivative(z, y)[t < ends[0]]) == 0.0


def test_doubled_slopes_are_the_table_s_own_to_thirty_digits() -> None:
    """Against fractions, at knots and a hair beside them, where the tail of a doubled number decides."""
    from fractions import Fraction

    table = SKEWED.kernel_parameter
    s, start, step = SKEWED.slopes, Fraction(SKEWED.start), Fraction(SKEWED.step)
    rng = np.random.default_rng(3)
    points = [(t, tail) for t in SKEWED.knots[[0, 1, 50, -2, -1]] for tail in (0.0, 1e-20, -1e-20)]
    points += [(t, t * 1e-17) for t in rng.uniform(-4.0, 4.0, 50)]
    for t, tail in points:
        place = (Fraction(t) + Fraction(tail) - start) / step
        i = min(max(math.floor(place), 0), len(s) - 2)
        share = min(max(place - i, Fraction(0)), Fraction(1))
        exact = Fraction(s[i]) + share * (Fraction(s[i + 1]) - Fraction(s[i]))
        high, low = table_slope(table, float(t), float(tail))
        assert abs(Fraction(high) + Fraction(low) - exact) <= Fraction(1, 10**28)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "not convex": ({"value": math.sin, "of": "residual"}, "not convex: its slope falls from .* to .* of the residual"),
    "not finite": ({"value": lambda r: math.inf if r > 1 else r * r, "of": "residual"}, "gave inf at"),
    "raises": ({"value": math.log, "of": "residual"}, "raised ValueError at -8"),
    "no function": ({"of": "residual"}, "exactly one"),
    "two functions": ({"value": abs, "derivative": abs, "of": "residual"}, "exactly one"),
    "counts": ({"value": abs, "of": "count"}, "of counts, and of several predictions"),
    "rises": ({"value": lambda m: m * m, "of": "margin"}, "does not fall at 0"),
    "constant": ({"value": lambda r: 1.0, "of": "residual"}, "not all 0"),
    "grid": ({"value": abs, "of": "residual", "step": 1e-9}, "The step is from"),
    "name": ({"value": abs, "of": "residual", "name": ""}, "1 to 60 characters"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_makes_no_loss_is_refused_in_a_sentence(what: str) -> None:
    given, sentence = REFUSED[what]
    with pytest.raises(InvalidParameter, match=sentence):
        hb.custom_loss(**{"name": "mine", **given})


def fitted(loss: Any, **more: Any) -> Any:
    rng = np.random.default_rng(2)
    X = rng.uniform(0.0, 10.0, (2000, 2))
    y = X @ [0.3, -0.2] + rng.normal(0.0, 0.3, 2000)
    budget = more.pop("budget", hb.Budget(2.0, 1e-6))
    shared = {"budget": budget, "test_key": bytes(32), "inference": False, **more}
    features = {"a": (0, 10), "b": (0, 10)}
    if getattr(loss, "kind", "") == "margin_table":
        domain = hb.Domain(features=features, classes=[False, True], indicators=False)
        return hb.LinearSVC(domain=domain, loss=loss, **shared).fit(X, y > 0.5)
    domain = hb.Domain(features=features, target=(-4, 4), indicators=False)
    if isinstance(loss, Huber):
        return hb.HuberRegressor(domain=domain, threshold=loss.h, **shared).fit(X, y)
    return hb.LinearRegression(domain=domain, loss=loss, **shared).fit(X, y)


SHAPES: dict[str, dict[str, Any]] = {
    "mirror_descent": {"constraint": hb.L2Ball(1.0)},
    "frank_wolfe": {"constraint": hb.L1Ball(1.0)},
}
SOLVERS = [
    "gradient",
    "adaptive_gradient",
    "coordinate_descent",
    "mirror_descent",
    "frank_wolfe",
    "objective_perturbation",
]


@pytest.mark.slow
@pytest.mark.parametrize("solver", [*SOLVERS, "output_perturbation"])
def test_a_tabulated_huber_loss_gives_the_model_of_the_library_s_own(solver: str) -> None:
    """Under the same noise; output perturbation alone has a rule that knows Huber's h."""
    more = {"solver": solver, **SHAPES.get(solver, {})}
    mine, known = fitted(table_of("huber", derivative=True), **more), fitted(Huber(0.25), **more)
    np.testing.assert_allclose(mine.coef_, known.coef_, atol=2e-3)


def test_without_noise_the_optimum_is_the_known_one() -> None:
    mine, known = (
        fitted(one, budget=hb.Budget(math.inf, 0.0)) for one in (table_of("huber", derivative=True), Huber(0.25))
    )
    np.testing.assert_allclose(mine.coef_, known.coef_, atol=1e-5)


@pytest.mark.parametrize("loss", [SKEWED, HINGE], ids=lambda one: one.name)
def test_a_saved_model_holds_the_table_and_opens_without_the_function(loss: Any, tmp_path: Any) -> None:
    model = fitted(loss, solver="gradient")
    model.save(tmp_path / "model.json")
    again = hb.load(tmp_path / "model.json")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.loss == loss
    assert "lambda" not in json.dumps(json.loads((tmp_path / "model.json").read_text()))
    assert loss.name in repr(again.loss)


def test_a_table_is_plain_numbers_of_the_library_s_own() -> None:
    assert stranger(SKEWED, HINGE) is None
    assert foreign(SKEWED, HINGE) is None
    with pytest.raises(ValueError, match="read-only"):
        SKEWED.kernel_parameter[0] = 1.0


def test_a_loss_of_another_argument_is_refused_before_anything_is_read() -> None:
    with pytest.raises(InvalidParameter, match="a table of the residual"):
        hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=hb.Domain(row_norm=1.0, target=(0, 1)), loss=HINGE).fit(
            np.zeros((9, 1)), np.zeros(9)
        )
