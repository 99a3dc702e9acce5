"""Which tables a problem's own class holds: a lower bound speaks of a class, and of every larger one, never of a smaller one.

The class is all tables whose encoded rows obey the problem's norms, under its own loss, over its own set. A bound that was proved with other
losses, such as straight ones, holds here only where the problem's loss can be one of these.
"""

import math
from collections.abc import Callable

import numpy as np

from hullabaloo.geometry import ConvexSet, L1Ball, L2Ball
from hullabaloo.losses import KernelCode, Loss
from hullabaloo.solvers import Problem

_HALVINGS = 200
_DOWN = 1.0 - 1e-9


def ends(loss: Loss) -> tuple[float, float]:
    """The least and the largest target: counts begin at 0."""
    return (0.0, 1.0) if loss.kernel_code is KernelCode.POISSON else (-1.0, 1.0)


def plain(problem: Problem) -> bool:
    """Whether a table of one target is meant, without known offsets, in which a record may count once."""
    return isinstance(problem.loss, Loss) and problem.targets == 1 and problem.offset_bound == 0.0


def fills_box(problem: Problem, columns: int) -> bool:
    """Whether rows may have ±b in so many columns and 0 elsewhere, b the bound of a cell, an intercept aside."""
    b, slack = problem.norm_linf, 1.0 + 1e-9
    constant = float(problem.intercept)
    return columns * b**2 + constant <= problem.norm_l2**2 * slack and columns * b + constant <= problem.norm_l1 * slack


def gap(problem: Problem) -> float:
    """G of the two tables of `lower_bounds.two_tables`: by how much no prediction serves one row with either end of the target.

    `G = ½ [min_t (φ(t, y₁) + φ(t, y₂)) − min_z φ(b + z, y₁) − min_z φ(b + z, y₂)]`, z in `[−H, H]`, `H = max ⟨x, θ⟩` over the set for a row x of
    a few equal cells, t in all that row and intercept can give, b the intercept that serves rows of zeros with both ends half each; without an
    intercept b is 0.
    """
    loss, body = problem.loss, problem.constraint
    assert isinstance(loss, Loss)
    assert body is not None
    low, high = ends(loss)
    lower, upper = loss.intercept_bounds if problem.intercept else (0.0, 0.0)

    def slope(t: float, *targets: float) -> float:
        return sum(float(loss.derivative(np.array(t), np.array(y))) for y in targets)

    def value(t: float, *targets: float) -> float:
        return sum(float(loss.value(np.array(t), np.array(y))) for y in targets)

    def least(at: float, far: float, *targets: float) -> float:
        return value(_lowest(lambda t: slope(t, *targets), at - far, at + far), *targets)

    far = _reach(problem, body)
    with np.errstate(over="ignore"):  # of a mean that is far too large
        b = _lowest(lambda t: slope(t, low, high), lower, upper)
        both = least(0.5 * (lower + upper), 0.5 * (upper - lower) + far, low, high)
        return max(0.0, 0.5 * (both - least(b, far, low) - least(b, far, high))) * _DOWN


def steepness(problem: Problem, far: float) -> float:
    """The largest |φ'| of an end of the target at which φ is straight for all |z| ≤ far; 0 where it is at neither.

    φ is convex, so it is straight between two points of equal slope.
    """
    assert isinstance(problem.loss, Loss)
    with np.errstate(over="ignore"):
        slopes = [problem.loss.derivative(np.array([-far, far]), np.full(2, y)) for y in ends(problem.loss)]
    return max(abs(float(left)) if left == right else 0.0 for left, right in slopes)


def _reach(problem: Problem, body: ConvexSet) -> float:
    """H: of a row with one cell at its bound, or with all cells alike, whichever gives more."""
    p, constant = problem.dimension - problem.intercept, float(problem.intercept)
    l1, l2 = problem.norm_l1 - constant, math.sqrt(max(problem.norm_l2**2 - constant, 0.0))
    found = []
    for count in {1, p}:
        cell = min(problem.norm_linf, l2 / math.sqrt(count), l1 / count)
        row = np.zeros(p)
        row[:count] = max(cell, 0.0)
        found.append(body.support(row))
    assert isinstance(body, L1Ball | L2Ball)  # which hold −θ with θ
    return max(found)


def _lowest(slope: Callable[[float], float], low: float, high: float) -> float:
    """Where a convex function with this slope is least on [low, high], to the last digits."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slope(middle) >= 0.0 else (middle, high)
    return 0.5 * (low + high)
