"""The law of consistency: on skewed, rare and count targets what a private fit leaves of the non-private one shrinks below its sampling error."""

import numpy as np
import pytest
from benchmarks.consistency import NAMES, RECORDS, distance

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
