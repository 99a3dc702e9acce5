"""Public constants of private Frank–Wolfe: how far a step can move predictions, how many steps to take, what they risk.

With steps `μ_t = 2/(t+2)`, t = 1 … T, vertices whose slope is at most e above the best in expectation, and curvature Γ,
`h_{t+1} ≤ (1 − μ_t) h_t + μ_t e + μ_t² Γ/2` (Jaggi 2013). Times (t+1)(t+2) and summed, this gives

    h_{T+1} ≤ 2Γ/(T+2) + e + 2h₁/((T+1)(T+2)).

A selection at temperature λ has e ≤ λ ln V over V vertices, because `E q + λ H = λ ln Σ exp(q/λ) ≥ max q` and the entropy H is
at most ln V. Gaussian noise of standard deviation σ has e ≤ 2σ w(C).

With `calibration="paper"` step number and noise are those that the papers print, at the cost that this really has.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import HasVertices, NoPenalty
from hullabaloo.losses import VectorLoss
from hullabaloo.privacy import Allowance, paper_pair
from hullabaloo.solvers.base import PricedQuery, Problem, QueryPrices
from hullabaloo.solvers.mirror.mirror_rule import gradients_at, prediction_bound, printed, slope_bound, slope_reach
from hullabaloo.solvers.options import no_jump
from hullabaloo.solvers.perturbation.objective_perturbation import typical
from hullabaloo.solvers.reference import EXPLAINED

EXACT_STEPS = 2000
"""Steps without noise."""
SHORTER = 0.125
"""T as a multiple of the bound's best: Γ is that of the worst table, and simulated risk is least for fewer, quieter choices."""
HARMLESS = 500
"""T where noise alone chooses the vertices: what they do to predictions averages out like 1/T."""
BESIDE = 25.0
"""With an intercept, whose end is told the worse the more choices there are, T is at least this times the square of the reach, and at most `HARMLESS`."""
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

    def bound(self, steps: int, slope_error: float) -> float:
        """The bound of the expected excess loss after so many steps, at most what any point of the set risks.

        Source: 000, Theorem 2.2; 002, Theorem 1.2; 002, Theorem 5.2; 002, Theorem 5.6.
        """
        after = 2.0 * self.curvature / (steps + 2.0) + slope_error
        return min(after + 2.0 * self.start / ((steps + 1.0) * (steps + 2.0)), self.start)

    def usual(self, steps: int, slope_error: float) -> float:
        """The excess loss to expect on a usual table: the two terms of the bound at their usual share of it."""
        expected = 2.0 * USUAL_CURVATURE * self.curvature / (steps + 2.0) + USUAL_ERROR * slope_error
        return min(expected, self.bound(steps, slope_error))

    def count(self, error_of_one: float, signal: float, *, pure: bool) -> int:
        """T: `SHORTER` times where `2Γ/T + e(T)` is least, `e(T) = e₁ √T`, or `e₁ T` for pure privacy.

        Where that is expected to lose more than `signal`, what there is to learn on the reference table, choices are next to blind, and
        noise costs no more than that however many there are: T is then `HARMLESS` at least. An intercept needs that noise to be low, and
        `BESIDE` holds in its place.
        """
        if error_of_one <= 0.0:
            return EXACT_STEPS
        size, power = (2.0, 1 / 2) if pure else (4.0, 2 / 3)
        count = max(math.ceil(SHORTER * math.pow(size * self.curvature / error_of_one, power)), 1)
        if self.half > 0.0:
            return max(count, math.ceil(min(BESIDE * (self.reach**2 + 2.0 * self.half**2), HARMLESS)))
        blind = self.usual(count, error_of_one * (count if pure else math.sqrt(count))) >= signal
        return max(count, HARMLESS) if blind else count


def signal(problem: Problem) -> float:
    """What a constant loses on the reference table: `½ EXPLAINED Var(φ')/φ''`."""
    bend, slope = typical(problem.loss)
    return 0.5 * EXPLAINED * slope / bend


@dataclass(frozen=True, slots=True)
class Iterates(Terms):
    """What a plan fixes, in numbers: the public constants, and

    Attributes:
        form: "polytope" (private choices of vertices) or "general" (Gaussian gradients).
        steps: T.
        slope_error: e, bound of how far a chosen vertex's slope is expected above the best.
        window: how far the intercept's end may lie from where it is; infinite in the paper's form.
    """

    form: str
    steps: int
    slope_error: float
    window: float | None

    @classmethod
    def of(cls, form: str, steps: int, about: Terms, slope_error: float, window: float | None = WINDOW) -> "Iterates":
        """The walk with its constants side by side, as plain numbers."""
        return cls(**asdict(about), form=form, steps=steps, slope_error=slope_error, window=window)

    @property
    def risk(self) -> float:
        """Bound of the expected excess mean (clipped) loss."""
        return self.bound(self.steps, self.slope_error)


def terms(problem: Problem, clip: float, *, window: float = WINDOW) -> Terms:
    """The constants, over predictions that the set and the steps of the intercept can reach.

    Source: 000, Remark 1; 002, Remark 5.
    """
    k, load = problem.targets, problem.max_weight
    bounds = problem.loss.constants(prediction_bound(problem), math.sqrt(k), clip)
    lower, upper = problem.loss.intercept_bounds
    half = min(0.5 * (upper - lower), 0.5 * window) if problem.intercept else 0.0
    reach = slope_reach(problem)
    far = 2.0 * (reach + math.sqrt(k) * half)
    return Terms(clip, load * bounds.smoothness * far**2, load * min(clip, bounds.lipschitz) * far, half, reach)


def check(problem: Problem) -> None:
    """Refuse what Frank–Wolfe steps cannot do, with the remedy."""
    why = ""
    if problem.constraint is None:
        why = "Frank–Wolfe was asked without a set, and its steps go towards the vertices of one. Pass constraint=L1Ball(radius) or another bounded set, or use solver='gradient'."
    elif not isinstance(problem.penalty, NoPenalty):
        why = f"Frank–Wolfe was given the penalty {problem.penalty!r}, and its steps know a set only. Use a constraint in its place (L1Ball for an l1 penalty), or another solver."
    elif problem.targets != 1 and not isinstance(problem.loss, VectorLoss):
        why = f"Frank–Wolfe was asked for {problem.targets} targets with the loss {problem.loss.name!r} of one. Use a loss of several targets, or fit one target at a time."
    if why:
        raise CapabilityError(why)
    about = problem.loss.constants(prediction_bound(problem), math.sqrt(problem.targets))
    no_jump(problem.loss, "Frank–Wolfe", about.smoothness)  # towards a vertex nothing may fall


def selection_error(problem: Problem, query: Any, about: Terms) -> float:
    """`λ ln V` for the slopes at the temperature λ = 2Δ/ε₀ of mean scores, and the loss of a wrong end.

    Source: 000, Theorem 2.5; 002, Theorem 5.5.
    """
    temperature = 2.0 * query.sensitivity / (problem.records * query.epsilon)
    assert isinstance(problem.constraint, HasVertices)
    error = temperature * math.log(problem.constraint.vertex_count(problem.slopes)) if problem.slopes else 0.0
    return error + (WRONG_END * temperature / query.weight if about.half > 0.0 else 0.0)


def noise_error(problem: Problem, sigma: float, about: Terms) -> float:
    """`2σ w(C)` for the slopes, and the loss of wrong ends.

    Source: 000, Theorem 2.6; 002, Theorem B.2.
    """
    size = problem.slopes * problem.targets
    error = 2.0 * sigma * problem.body.gaussian_width(size).high if size else 0.0
    return error + 2.0 * about.half * WRONG_SIGN * sigma * problem.targets


def _printed(problem: Problem) -> Terms:
    """The paper's constants: nothing is clipped, ends are the interval's own."""
    return terms(problem, slope_bound(problem, prediction_bound(problem)), window=math.inf)


def printed_selections(
    problem: Problem, prices: QueryPrices, allowance: Allowance
) -> tuple[Iterates, PricedQuery, str]:
    """`T = (Γnε/(L₁‖C‖₁))^{2/3}` points; the temperature is the Laplace scale `b = L₁‖C‖₁ √(8T ln(1/δ))/(nε)`.

    Source: 000, Algorithm 2; 000, Theorem 2.5.
    """
    epsilon, delta = paper_pair(allowance.budget, "Lap(L₁‖C‖₁ √(8T ln(1/δ))/(nε)) on each score")
    about, n, body = _printed(problem), problem.records, problem.feasible
    assert body is not None
    size = problem.max_weight * about.clip * problem.norm_linf * body.max_norm(1.0, problem.dimension)
    wanted = (about.curvature * n * epsilon / size) ** (2.0 / 3.0)
    points, short = printed(wanted, 2)
    scale = size * math.sqrt(8.0 * points * math.log(1.0 / delta)) / (n * epsilon)
    asked: dict[str, Any] = {"constraint": body, "loss": problem.loss, "clip": about.clip, "count": points - 1}
    unit = prices.price("vertex", epsilon=1.0, **asked)
    query = prices.price("vertex", epsilon=2.0 * unit.sensitivity / (n * scale), **asked)
    error = selection_error(problem, query, about)
    reason = (
        f"scale and T as printed by Talwar, Thakurta, Zhang 2015, Algorithm 2: b = L₁‖C‖₁√(8T ln(1/δ))/(nε) = {scale:.3g} with "
        f"L₁‖C‖₁ = {size:.3g}, T = {points}{short}. Scores get Gumbel noise of that scale (the exponential mechanism), not Laplace "
        "noise: the same ε a selection, cheaper composed; the paper's own noise is about (2ε, δ) under replace-one"
    )
    return Iterates.of("polytope", points - 1, about, error, None), query, reason


def printed_gradients(problem: Problem, prices: QueryPrices, allowance: Allowance) -> tuple[Iterates, PricedQuery, str]:
    """`T = (Γnε/(L₂ w(C)))^{2/3}` points, `σ² = 32 L₂² T ln²(T/δ)/(nε)²`.

    Source: 002, Algorithm 5; 002, Theorem B.1.
    """
    epsilon, delta = paper_pair(allowance.budget, "32 L₂² T ln²(T/δ)/(nε)²")
    about, n, size = _printed(problem), problem.records, problem.slopes * problem.targets
    lipschitz = problem.max_weight * about.clip * problem.norm_l2
    width = (problem.body.gaussian_width(size).value if size else 0.0) + about.half
    wanted = (about.curvature * n * epsilon / (lipschitz * width)) ** (2.0 / 3.0)
    points, short = printed(wanted, 2)
    sigma = math.sqrt(32.0 * points) * lipschitz * math.log(points / delta) / (n * epsilon)
    query = gradients_at(problem, prices, about.clip, sigma, points - 1)
    reason = f"as printed by Talwar, Thakurta, Zhang 2014, Algorithm 5, but for the step 2/(t+2): σ² = 32 L₂² T ln²(T/δ)/(nε)² with L₂ = {lipschitz:.3g}, T = {points}{short}"
    return Iterates.of("general", points - 1, about, noise_error(problem, sigma, about), None), query, reason
