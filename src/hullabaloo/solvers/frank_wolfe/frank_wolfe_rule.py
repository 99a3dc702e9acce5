"""Public constants of private Frank–Wolfe: how far a step can move predictions, how many steps to take, what they risk.

With steps `μ_t = 2/(t+2)`, t = 1 … T, vertices whose slope is at most e above the best in expectation, and curvature Γ,
`h_{t+1} ≤ (1 − μ_t) h_t + μ_t e + μ_t² Γ/2` (Jaggi 2013). Times (t+1)(t+2) and summed, this gives

    h_{T+1} ≤ 2Γ/(T+2) + e + 2h₁/((T+1)(T+2)).

A selection at temperature λ has e ≤ λ ln V over V vertices, because `E q + λ H = λ ln Σ exp(q/λ) ≥ max q` and the entropy H is
at most ln V. Gaussian noise of standard deviation σ has e ≤ 2σ w(C).
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import HasVertices, NoPenalty
from hullabaloo.losses import Loss, VectorLoss
from hullabaloo.solvers.base import Problem
from hullabaloo.solvers.mirror.mirror_blocks import prediction_bound, slope_bound

MOST_STEPS = 2000
"""Steps of one fit at most: each is a pass over the table. Without noise, all of them."""
SHORTER = 0.125
"""T as a multiple of the bound's best: Γ is that of the worst table, and simulated risk is least for fewer, quieter choices."""
HARMLESS = 25.0
"""T is at least this times the square of the reach (and twice an intercept's): vertices chosen by noise alone then average out."""
MOST_HARMLESS = 500
USUAL_CURVATURE, USUAL_ERROR = 0.01, 0.125
"""What simulated tables (docs/algorithms.md) showed of the two terms of the bound, which is that of the worst table."""
WINDOW = 2.0
"""How far from where it is the end of an intercept's interval may lie for a step."""
WRONG_END = 0.2785
"""max of x/(1 + e^x): expected loss, in temperatures, of choosing between two ends."""
WRONG_SIGN = 0.17
"""max of x Φ(−x)."""
NARROW, NARROW_ABOVE = 0.5, 0.05
"""Clip of squared residuals without an intercept, as long as the bound with clip 1 is above this risk."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The public constants of one problem at one clip of |φ'|.

    Attributes:
        clip: the bound of |φ'|, or of ‖∇φ‖₂.
        curvature: Γ of the mean clipped loss along one step.
        start: h₁, bound of the excess loss of the first point.
        half: half of the intercept's interval, as far as a step sees it; 0 without an intercept.
        reach: largest prediction by the slopes.
    """

    clip: float
    curvature: float
    start: float
    half: float
    reach: float

    def risk(self, steps: int, slope_error: float) -> float:
        """The bound of the expected excess loss after so many steps, at most what any point of the set risks."""
        bound = 2.0 * self.curvature / (steps + 2.0) + slope_error
        return min(bound + 2.0 * self.start / ((steps + 1.0) * (steps + 2.0)), self.start)

    def usual(self, steps: int, slope_error: float) -> float:
        """The excess loss to expect on a usual table: the two terms of the bound at their usual share of it."""
        expected = 2.0 * USUAL_CURVATURE * self.curvature / (steps + 2.0) + USUAL_ERROR * slope_error
        return min(expected, self.risk(steps, slope_error))

    def steps(self, error_of_one: float, *, pure: bool) -> int:
        """T: `SHORTER` times where `2Γ/T + e(T)` is least, and enough to do no harm; `e(T) = e₁ √T`, or `e₁ T` for pure privacy."""
        if error_of_one <= 0.0:
            return MOST_STEPS
        ratio, power = (
            (2.0 * self.curvature / error_of_one, 1 / 2) if pure else (4.0 * self.curvature / error_of_one, 2 / 3)
        )
        fewest = min(HARMLESS * (self.reach**2 + 2.0 * self.half**2), MOST_HARMLESS)
        return min(max(math.ceil(SHORTER * math.pow(ratio, power)), math.ceil(fewest), 1), MOST_STEPS)


@dataclass(frozen=True, slots=True)
class Walk:
    """What a plan fixes, in numbers.

    Attributes:
        form: "polytope" (private choices of vertices) or "general" (Gaussian gradients).
        steps: T.
        terms: the public constants.
        slope_error: e, bound of how far a chosen vertex's slope is expected above the best.
        window: how far the intercept's end may lie from where it is; infinite in the paper's form.
    """

    form: str
    steps: int
    clip: float
    curvature: float
    start: float
    half: float
    reach: float
    slope_error: float
    window: float | None

    @classmethod
    def of(cls, form: str, steps: int, about: Terms, slope_error: float, window: float | None = WINDOW) -> "Walk":
        """The walk with its constants side by side, as plain numbers."""
        return cls(form, steps, **asdict(about), slope_error=slope_error, window=window)

    @property
    def terms(self) -> Terms:
        """The public constants."""
        return Terms(self.clip, self.curvature, self.start, self.half, self.reach)

    @property
    def risk(self) -> float:
        """Bound of the expected excess mean (clipped) loss."""
        return self.terms.risk(self.steps, self.slope_error)


def terms(problem: Problem, clip: float, *, window: float = WINDOW) -> Terms:
    """The constants, over predictions that the set and the steps of the intercept can reach."""
    k, load = problem.targets, problem.max_weight
    bounds = problem.loss.constants(prediction_bound(problem), math.sqrt(k), clip)
    lower, upper = problem.loss.intercept_bounds
    half = min(0.5 * (upper - lower), 0.5 * window) if problem.intercept else 0.0
    reach = slope_reach(problem)
    far = 2.0 * (reach + math.sqrt(k) * half)
    return Terms(clip, load * bounds.smoothness * far**2, load * min(clip, bounds.lipschitz) * far, half, reach)


def slope_reach(problem: Problem) -> float:
    """`max |⟨x, θ⟩|` over the set, without the intercept: Hölder's inequality with the best of three pairs of norms."""
    body, k = problem.constraint, problem.targets
    assert body is not None  # the plan saw to it
    size = (problem.dimension - problem.intercept) * k
    if not size:
        return 0.0
    l1, l2 = problem.norm_l1 - problem.intercept, math.sqrt(max(0.0, problem.norm_l2**2 - problem.intercept))
    copies = 1.0 if isinstance(problem.loss, Loss) else math.sqrt(k)  # ‖x ⊗ u‖₁ ≤ ‖x‖₁ √k for ‖u‖₂ = 1
    linf = min(problem.norm_linf, l2)
    return min(body.max_norm(q, size) * norm for q, norm in ((1.0, linf), (2.0, l2), (math.inf, copies * l1)))


def public_clip(problem: Problem) -> float:
    """1, or what |φ'| cannot exceed at zero (if that is more) or anywhere in the set (if that is less)."""
    at_zero, anywhere = slope_bound(problem, problem.offset_bound), slope_bound(problem, prediction_bound(problem))
    return max(at_zero, min(1.0, anywhere))


def check(problem: Problem) -> None:
    """Refuse what Frank–Wolfe steps cannot do, with the remedy."""
    if problem.constraint is None:
        raise CapabilityError(
            "Frank–Wolfe was asked without a set, and its steps go towards the vertices of one. Pass "
            "constraint=L1Ball(radius) or another bounded set, or use solver='gradient'."
        )
    if not isinstance(problem.penalty, NoPenalty):
        raise CapabilityError(
            f"Frank–Wolfe was given the penalty {problem.penalty!r}, and its steps know a set only. Use a constraint in its "
            "place (L1Ball for an l1 penalty), or another solver."
        )
    if problem.targets != 1 and not isinstance(problem.loss, VectorLoss):
        raise CapabilityError(
            f"Frank–Wolfe was asked for {problem.targets} targets with the loss {problem.loss.name!r} of one. Use a loss of "
            "several targets, or fit one target at a time."
        )
    if math.isinf(problem.loss.constants(prediction_bound(problem), math.sqrt(problem.targets)).smoothness):
        raise CapabilityError(
            f"Frank–Wolfe was given the loss {problem.loss.name!r}, whose derivative jumps, and its steps need a smooth one: "
            "towards a vertex nothing may fall. Use solver='mirror_descent', or a Huber loss."
        )


def selection_error(problem: Problem, quote: Any, about: Terms) -> float:
    """`λ ln V` for the slopes at the temperature λ = 2Δ/ε₀ of mean scores, and the loss of a wrong end."""
    temperature = 2.0 * quote.sensitivity / (problem.records * quote.epsilon)
    slopes = problem.dimension - problem.intercept
    assert isinstance(problem.constraint, HasVertices)
    error = temperature * math.log(problem.constraint.vertex_count(slopes)) if slopes else 0.0
    return error + (WRONG_END * temperature / quote.weight if about.half > 0.0 else 0.0)


def noise_error(problem: Problem, sigma: float, about: Terms) -> float:
    """`2σ w(C)` for the slopes, and the loss of wrong ends."""
    size = (problem.dimension - problem.intercept) * problem.targets
    assert problem.constraint is not None
    error = 2.0 * sigma * problem.constraint.gaussian_width(size).high if size else 0.0
    return error + 2.0 * about.half * WRONG_SIGN * sigma * problem.targets
