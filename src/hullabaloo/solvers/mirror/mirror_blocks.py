"""The public constants that mirror descent goes by: its blocks, and how far predictions can reach over the set."""

import math

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import Box, ConvexSet, HasMirrorMap, MirrorMap, NoPenalty
from hullabaloo.geometry.mirror import euclidean_map
from hullabaloo.solvers.base import Problem
from hullabaloo.solvers.mirror.mirror_rule import Block

NEAR = 2.0
"""How far from the start the intercept is that risks are compared with. Its interval may be far wider (logistic: [−8, 8]), and steps
sized for a best intercept at its end would keep the slopes from moving; from farther off it is reached too, only later."""


def potential(body: ConvexSet, size: int, *, euclidean: bool) -> MirrorMap:
    """The set's own potential, or ½‖θ‖² on a set that can be projected onto."""
    if not euclidean and isinstance(body, HasMirrorMap):
        return body.mirror_map(size)
    if math.isinf(body.max_norm(2.0, size)):
        raise InvalidParameter(
            f"Mirror descent was given {body!r}, which is not bounded, so that no number of steps need come near the least loss. "
            "Bound every coordinate."
        )
    return euclidean_map(body, size)


def blocks_of(problem: Problem, clip: float, euclidean: bool) -> list[Block]:
    """Slopes and intercept with the constants of the mean loss with |φ'| ≤ clip, the squared penalty included.

    A record's gradient by the slopes is `x ⊗ u`, ‖u‖₂ ≤ clip. Its norms are bounded by those of x times the clip, and the
    smoothness of the mean loss in ‖·‖ by `sup φ'' · ‖x ⊗ u‖_*²` over ‖u‖₂ = 1.
    """
    body, k = problem.constraint, problem.targets
    assert body is not None  # the plan saw to it
    size = (problem.dimension - problem.intercept) * k
    curved = problem.loss.constants(prediction_bound(problem), math.sqrt(k), clip).smoothness
    found = []
    if size:
        mirror = potential(body, size, euclidean=euclidean)
        unit = problem.max_weight * mirror.dual_bound(*_row_norms(problem))
        strength = penalty_strength(problem)
        pull = strength * mirror.dual_bound(*(body.max_norm(q, size) for q in (1.0, 2.0, math.inf)))
        curvature = curved * unit * unit / problem.max_weight + strength * mirror.unit_radius**2
        found.append(Block(0, size, mirror, clip * unit + pull, curvature))
    if problem.intercept:
        interval = Box(*problem.loss.intercept_bounds)
        mirror = potential(interval, k, euclidean=True)
        gradient, curvature, nearby = problem.max_weight * clip, problem.max_weight * curved, 0.5 * k * NEAR**2
        found.append(Block(size, size + k, mirror, gradient, curvature, nearby))
    return found


def prediction_bound(problem: Problem) -> float:
    """Z = max |⟨x, θ⟩ + offset| over the domain and the set, by Hölder's inequality; ‖·‖₂ for a loss of k predictions."""
    body, k = problem.constraint, problem.targets
    assert body is not None  # the plan saw to it
    size = (problem.dimension - problem.intercept) * k
    l1, l2, linf = _row_norms(problem)
    pairs = ((1.0, linf), (2.0, l2), (math.inf, math.sqrt(k) * l1))  # norms of x ⊗ u for every u with ‖u‖₂ = 1
    slopes = min(body.max_norm(q, size) * norm for q, norm in pairs) if size else 0.0
    return slopes + (math.sqrt(k) * _ends(problem) if problem.intercept else 0.0) + problem.offset_bound


def largest_coordinate(problem: Problem) -> float:
    """The largest |θ_j| in the set or the interval of the intercept."""
    body = problem.constraint
    assert body is not None  # the plan saw to it
    size = (problem.dimension - problem.intercept) * problem.targets
    return max(body.max_norm(math.inf, size) if size else 0.0, _ends(problem) if problem.intercept else 0.0)


def slope_bound(problem: Problem, prediction: float) -> float:
    """The largest |φ'| (‖∇φ‖₂) at predictions of at most that size."""
    return problem.loss.constants(prediction, math.sqrt(problem.targets)).lipschitz


def penalty_strength(problem: Problem) -> float:
    """λ of a squared l2 penalty, 0 without a penalty."""
    return 0.0 if isinstance(problem.penalty, NoPenalty) else problem.penalty.strong_convexity


def _ends(problem: Problem) -> float:
    return max(abs(end) for end in problem.loss.intercept_bounds)


def _row_norms(problem: Problem) -> tuple[float, float, float]:
    """Bounds of ‖x‖_q, q = 1, 2, ∞, without the constant column."""
    l2 = math.sqrt(max(0.0, problem.norm_l2**2 - problem.intercept))
    return problem.norm_l1 - problem.intercept, l2, min(problem.norm_linf, l2)
