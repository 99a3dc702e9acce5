"""The law of consistency: on skewed, rare and count targets what a private fit leaves of the non-private one shrinks below its sampling error."""

from typing import Any

import numpy as np
import pytest
from benchmarks.consistency import NAMES, RECORDS, _mixed, distance

import hullabaloo as hb
from hullabaloo.noise import TestKey

SOLVERS = ("adaptive_gradient", "preconditioned_gradient")
NARROW = ("rare class, mixed columns",)
"""Designs of columns much narrower than others, for which noise of one size is loud."""
N = 20_000


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["costs", "rare class", "counts", "robust costs"])
def test_a_large_budget_gives_the_optimum_of_a_skewed_target(name: str, solver: str) -> None:
    """Fixed keys: at most 0.7 robust standard errors and 1 % of the total when this was written; clipped steps alone left 2 to 30."""
    off, mean, _ = distance(name, solver, 200.0, 1, N)
    assert off < 1.0
    assert mean == pytest.approx(1.0, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("hinge, mixed columns", marks=pytest.mark.slow), "costs"])
def test_what_auto_takes_at_a_large_budget_is_at_the_optimum(name: str) -> None:
    """Fixed keys: 0.3 and 0.2 when this was written; of the hinge, a ridge that privacy asks for left 3.2."""
    assert distance(name, "auto", 50.0, 1, N)[0] < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
@pytest.mark.parametrize("name", NAMES)
def test_the_distance_falls_as_the_budget_grows(name: str, solver: str) -> None:
    """Medians of five fixed keys. μ of ε = 50 is the largest that any ε buys at this δ: its noise, 0.6 on narrow columns, is what is left."""
    if solver == "adaptive_gradient" and name in NARROW:
        pytest.skip("said in its docstring: columns much narrower than the others wait for larger budgets")
    far, near = (
        float(np.median([distance(name, solver, epsilon, key, RECORDS)[0] for key in range(5)]))
        for epsilon in (1.0, 50.0)
    )
    assert near < 0.5 * far
    assert near <= (1.2 if name in NARROW else 0.5)


def several(kind: str, n: int) -> tuple[Any, Any]:
    """Rows of skewed, heavy-tailed and rare columns, and a fit to targets of one kind on them, of an ε and a key."""
    rng = np.random.default_rng(17)
    X, signal, about = _mixed(rng, n)
    if "classes" in kind:
        odds = np.column_stack([signal - 2.0, -0.5 * signal, 0.0 * signal])[:, : 2 if "structured" in kind else 3]
        y = (rng.gumbel(size=odds.shape) + odds).argmax(axis=1)
        about |= {"classes": sorted(set(y.tolist()))}
    else:
        y = np.clip(np.exp(0.5 * signal + 0.7 * rng.normal(size=n)), 0.0, 50.0)
        about |= {"target": (0, 50)}
    domain = hb.Domain(records=n, indicators=False, **about)
    estimator, known = KINDS[kind]

    def fitted(epsilon: float, key: int) -> Any:
        terms = {"budget": hb.Budget(epsilon, n**-2.0), "test_key": TestKey(bytes(32)).derive(key)}
        return estimator(domain=domain, inference=False, **terms, **known).fit(X, y)

    return X, fitted


KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "quantile": (hb.QuantileRegressor, {"quantile": 0.9}),
    "lasso": (hb.Lasso, {"penalty": hb.L1Penalty(0.001)}),
    "structured": (hb.StructuredSparseRegression, {"structure": hb.Intervals(), "strength": 0.001}),
    "structured ball": (hb.StructuredSparseRegression, {"structure": hb.Intervals(), "radius": 0.5}),
    "structured classes": (hb.StructuredSparseClassifier, {"structure": hb.Intervals(), "strength": 0.001}),
    "classes one against the rest": (hb.LogisticRegression, {"multi_class": "one-vs-rest"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_structures_quantiles_and_several_classes_come_near_what_they_are_without_noise(kind: str) -> None:
    """Predictions by "auto", in standard deviations of those without noise. Two fixed keys: 0.010 to 0.033 when this was written, where it was 0.2 to 2.5 at ε = 1."""
    X, fitted = several(kind, N)
    predicted = "decision_function" if "classes" in kind else "predict"
    best = getattr(fitted(float("inf"), 0), predicted)(X)

    def off(epsilon: float) -> float:
        found = [getattr(fitted(epsilon, key), predicted)(X) for key in range(2)]
        return float(np.mean([np.sqrt(np.mean((one - best) ** 2)) for one in found]) / np.std(best))

    far, near = off(1.0), off(50.0)
    assert near < 0.06
    assert near < 0.25 * far
