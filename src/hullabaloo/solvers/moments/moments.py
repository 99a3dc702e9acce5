"""Joint noisy moments: one release of `Σ aaᵀ`, `a = (x, κy)`, then least squares of any kind as post-processing.

PrivIncReg1 of Kasiviswanathan, Nissim and Jin (2017) with a single release: mend the Gram at the known noise level, add the ridge that the
known noise calls for (`shrinkage`), and minimise the constrained or penalised quadratic to the last digits. One release
serves every target, sub-model, set and penalty, and carries the errors of its coefficients. It also tells what noise has cost it (`MomentsFirstSolver`).
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import HasElasticForm, Penalty
from hullabaloo.losses import Squared
from hullabaloo.privacy import Allowance, NoisyMoments
from hullabaloo.quadratic import minimise_quadratic
from hullabaloo.solvers.base import Answers, Array, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.descent import LONG_GRADIENTS, Descent
from hullabaloo.solvers.gradient.histogram import edges, tail
from hullabaloo.solvers.gradient.schedule import FINE_BINS, GradientSchedule
from hullabaloo.solvers.loop import require_proximal
from hullabaloo.solvers.moments.shrinkage import CAUTION, EDGE, INFINITE, LESS, choose_ridge, normalised
from hullabaloo.solvers.options import YES_OR_NO, check_options
from hullabaloo.solvers.reference import Reference

TARGET_SCALE = 1.0
"""κ: features and target weigh alike; within 10 % of the best over [0.7, 1.4] on 14 tables, both relations."""
FIRST, ENOUGH, HOPEFUL, CELLS = 0.25, 0.001, 0.002, 4e6
"""The share of μ² for moments that are asked for first; what noise may have cost them, of what the slopes explain, to be the model; the forecast of it, on the reference table, up to which they are asked for; and the cells of a table from which steps along them are: of fewer, any number of passes takes no time."""
ALONE, STEPS = (FIRST,), tuple(FIRST * share for share in (0.48, 0.05, 0.12, 0.35))
"""Shares of μ²: of moments alone; and where steps are asked for, too, of moments, a histogram of lengths, and two gradients."""


@dataclass(frozen=True, slots=True)
class MomentsSolver(Solver):
    """Least squares on one joint release of noisy moments.

    **Guarantee.** The plan buys one `μ`-GDP answer; everything after it is post-processing.

    Attributes:
        above_mean: whether slopes have to be better than the released mean alone, rather than zero (`shrinkage.choose_ridge`); a fit by name or by "auto" has it so.
    """

    above_mean: bool = False
    name: ClassVar[str] = "moments"

    def __post_init__(self) -> None:
        check_options(self, above_mean=YES_OR_NO)

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """One moments release.

        Raises:
            CapabilityError: the loss is not the squared loss, the set has no projection, or the penalty's prox over it is not known.
        """
        if not isinstance(problem.loss, Squared):
            raise CapabilityError(f"Moments tell the squared loss, not {problem.loss.name!r}. Use solver='auto'.")
        require_proximal(problem, "The moments solver")
        query = prices.price("moments", mu=allowance.mu, target_scale=TARGET_SCALE)
        private = allowance.is_private
        reason = "one release serves all targets, refits and errors" if private else "no noise: exact least squares"
        settings = {"target_scale": TARGET_SCALE, "sigma": query.sigma, "above_mean": self.above_mean}
        return Plan(self.name, (query,), settings, reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Release, then solve."""
        return solve_moments(curator.answer("moments"), problem, above_mean=self.above_mean)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """½ excess mean squared error on the reference table, of the ridge that the solver would come to there."""
        reference, noise = Reference.of(problem), self._noise(problem, plan)
        values, theta = reference.eigenvalues, reference.coefficient
        if noise == 0.0:
            return 0.0
        ridge = np.geomspace(1e-6, 1e2, 100)[:, None]
        inverse = 1.0 / (values + ridge)
        missed, gathered = ridge * inverse * theta, noise * inverse
        risk = 0.5 * ((missed**2 + gathered**2) @ values)
        found = (values * inverse * theta) ** 2 + gathered**2
        doubt = noise * np.sqrt((found * (1.0 + ridge * inverse) ** 2).sum(axis=1))
        caution = LESS if self.above_mean else CAUTION
        best = int(np.argmin(risk + caution * doubt))
        learned = risk[best] + caution * doubt[best] < 0.5 * reference.signal
        return float(risk[best]) if learned else 0.5 * reference.signal

    def predicted_noise(self, problem: Problem, plan: Plan, gram: Array) -> Array:
        """Standard deviation of the noise in θ before shrinking, `G⁻¹` lifted as the solver lifts it."""
        scale, noise = problem.norm_l2, self._noise(problem, plan)
        values, vectors = np.linalg.eigh(gram / scale**2)
        edge = EDGE * (float(plan.settings["sigma"]) / problem.records) * math.sqrt(problem.dimension)
        inverse = 1.0 / np.maximum(values + max(0.0, edge - float(values[0])), 1e-12)
        return np.asarray(np.sqrt(vectors**2 @ inverse**2) * noise / scale, dtype=np.float64)

    def _noise(self, problem: Problem, plan: Plan) -> float:
        """Of one coordinate of `e − Eθ` for rows of norm ≤ 1, at the reference's coefficients."""
        reference, s = Reference.of(problem), float(plan.settings["sigma"]) / problem.records
        t = s * math.sqrt(problem.targets) / (TARGET_SCALE * math.sqrt(2.0))
        return math.sqrt(t**2 + 0.5 * s**2 * (reference.eigenvalues.size * reference.coefficient**2))


def solve_moments(moments: NoisyMoments, problem: Problem, *, above_mean: bool = False) -> Solution:
    """All targets of `problem` from released moments: post-processing, free of charge."""
    targets = range(moments.cross.shape[1])
    columns, traces = zip(*(_solve_target(moments, problem, one, above_mean) for one in targets), strict=True)
    return Solution(theta=np.stack(columns, axis=1), moments=moments, trace=traces)


def _solve_target(
    moments: NoisyMoments, problem: Problem, target: int, above_mean: bool
) -> tuple[Array, dict[str, Any]]:
    """θ of a target, and what the trace says."""
    facts = normalised(moments, target, problem.intercept, problem.max_weight)
    ridge = choose_ridge(facts, above_mean=above_mean)
    size, cross = moments.scale_x**2 * problem.max_weight, moments.cross[:, target]
    squares = quadratic_weights(problem.penalty, problem.slopes, problem.intercept)
    own = np.zeros(problem.dimension) if squares is None else squares
    intercept_weight = np.maximum(ridge.strength * size - own, 0.0)
    if ridge.free_intercept and problem.intercept:
        intercept_weight[-1] = ridge.intercept * size
    added = np.diag(intercept_weight)
    if ridge.spared is not None:
        added = ridge.strength * size * (np.eye(problem.dimension) - np.outer(ridge.spared, ridge.spared))
    gram = moments.gram if facts.noiseless else facts.gram * size + added
    if ridge.strength >= INFINITE:
        theta = np.zeros(problem.dimension) if problem.feasible is None else problem.feasible.start(problem.dimension)
    else:
        theta = minimise_quadratic(gram, cross, feasible=problem.feasible, penalty=problem.regulariser).theta
    trace = {"target": target, "ridge": ridge.strength * size}
    if not facts.noiseless:
        trace |= {"risk": ridge.risk, "risk_bound": ridge.bound}
    return theta, trace


def quadratic_weights(penalty: Penalty, slopes: int, intercept: bool) -> Array | None:
    """Weights of a penalty's quadratic part, the intercept's 0 last; None when it has corners, under which errors are not normal."""
    if not isinstance(penalty, HasElasticForm):
        return None
    kinks, squares = penalty.elastic_weights(slopes)
    return None if kinks.any() else np.append(squares, np.zeros(int(intercept)))


@dataclass(frozen=True, slots=True)
class MomentsFirstSolver(Solver):
    """Moments on a part of the budget; and, where noise has cost them too much by their own word, `solver` on what is left.

    Where columns fill their bounds one pass tells as good a model as the fifteen and more of a solver that measures where records lie. No public fact says that they do: with bounds twice as wide as the
    records moments lose sixteen times as much, and the forecast is the same. Their release does say so (`hidden_share`). Where more is hidden, but no direction, two gradients along the released Gram take it back (`stepped`):
    what noise in the Gram costs is in proportion to the step, no longer to θ.

    **Guarantee.** Precondition: that of `solver`'s plan. Claim: the plan's event, which pays for all. Proof: the moments are a Gaussian release, and what is asked after them, something or nothing, is a
    function of what was answered: the allowance takes the adaptive composition of all that may be asked, and a run that asks for less releases a function of its first parts.

    Attributes:
        name: the name of the other solver.
        solver: the other solver.
        enough: what noise may have cost moments, of what their slopes explain, to be the model; below 0 all that was bought is asked.
        shares: of μ², for the moments, and where there are more for a histogram of lengths and gradients.
        doubt: what noise in their Gram matrix may add to the squared error of a step from there, over what sampling does.
    """

    name: str  # type: ignore[misc]  # a solver's name is a constant of its class; this one's is its inner's
    solver: Solver
    enough: float = ENOUGH
    shares: tuple[float, ...] = ALONE
    doubt: float = math.inf

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """The moments and their steps, and the solver's own plan on what is left.

        Raises:
            CapabilityError: either cannot do what is asked.
        """
        first = first_plan(problem, prices, allowance, self.shares)
        own = self.solver.plan(problem, prices, replace(allowance, beside=first.event))
        steps = f" and {len(first.queries) - 2} gradients along them" * (len(first.queries) > 1)
        reason = f"{own.reason}; before, at {FIRST:.0%} of the budget, moments{steps}, which are the model, its own steps not being asked, if noise hides at most {self.enough:.1%} of what it explains"
        return replace(own, queries=(*first.queries, *own.queries), reason=reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """The moments' model where it suffices, or with their steps, else the solver's own."""
        found = solve_moments(curator.answer("moments"), problem)
        told = {"moments enough": hidden_share(found, doubt=self.doubt) <= self.enough}
        if len(self.shares) > 1 and not told["moments enough"]:
            bought = plan.queries[1 : len(self.shares)]
            found, hidden = stepped(found, problem, GradientSchedule(**plan.settings), bought, curator)
            told["steps enough"] = hidden <= self.enough
        if not any(told.values()):
            found = self.solver.run(problem, replace(plan, queries=plan.queries[len(self.shares) :]), curator)
        return replace(found, trace=(*found.trace, told))

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """That of the other solver."""
        return self.solver.predicted_risk(problem, replace(plan, queries=plan.queries[len(self.shares) :]))


def first_plan(problem: Problem, prices: QueryPrices, allowance: Allowance, shares: tuple[float, ...] = ALONE) -> Plan:
    """That of the moments and their steps."""
    whole, *others = [allowance.mu * math.sqrt(share) for share in shares]
    first = MomentsSolver().plan(problem, prices, Allowance.gdp(whole))
    about: dict[str, Any] = {"loss": problem.loss, "count": 1}
    lengths = [prices.price("norm_histogram", bins=FINE_BINS, mu=mu, **about) for mu in others[:1]]
    steps = [prices.price("centred_gradient", mu=mu, **about) for mu in others[1:]]
    return replace(first, queries=(*first.queries, *lengths, *steps))


def may_suffice(problem: Problem, prices: QueryPrices, allowance: Allowance, shares: tuple[float, ...] = ALONE) -> bool:
    """Whether moments are asked for first: of one target's squares, where nothing holds coefficients, and columns are numbers that may fill their bounds all at once (of levels and indicators some are hidden nearly always), of records that count once each, if by the forecast noise leaves enough.

    With steps after them: of many cells, where a set or a penalty may hold coefficients, if noise hides no direction of the reference table.
    """
    numbers = problem.norm_l2**2 >= (problem.slopes * problem.norm_linf**2 + 1.0) * (1.0 - 1e-9)
    steps, plain = len(shares) > 1, isinstance(problem.loss, Squared) and problem.intercept and not problem.offset_bound
    alone = problem.targets == 1 == problem.records_per_unit == problem.max_weight and not problem.weighted
    if not (plain and alone and numbers and (steps or problem.free)):
        return False
    plan, reference = first_plan(problem, prices, allowance, shares), Reference.of(problem)
    if steps:
        radius = plan.settings["sigma"] / problem.records * math.sqrt(2.0 * problem.dimension)
        return problem.records * problem.dimension >= CELLS and float(reference.eigenvalues[-1]) > radius
    return MomentsSolver().predicted_risk(problem, plan) <= HOPEFUL * 0.5 * reference.signal


def hidden_share(found: Solution, step: Array | None = None, noise: float = 0.0, doubt: float = math.inf) -> float:
    """What noise in its moments is expected to have cost a model θ, over what its slopes explain.

    In coordinates where ‖x‖ ≤ 1, with E, e, s and t as in `shrinkage.py`, θ is wrong by `G⁻¹(e − Eθ)` to the first order, which costs `Σ_v (t² + ½ s² (‖θ‖² + θ_v²))/λ_v` (twice the mean loss; v, λ_v the
    eigenvectors and eigenvalues of G̃), as `E EθθᵀE = ½ s² (‖θ‖² I + θθᵀ)`. The next order is at most `(r/λ_v)²` of θ_v, r = s√(2p) the spectral radius of E, and costs `r⁴ θ_v²/λ_v³`. Slopes explain `θᵀSθ`, S the
    Schur complement of the intercept. ∞ where an eigenvalue is not above r: noise may hide what lies along it (a column much narrower than its bounds, or one that no record has).

    After a `step` δ by a gradient of this noise θ is wrong by `G̃⁻¹(Eδ − e)`, e that noise: the same formula of δ in θ's place.

    Held by a set or a penalty, θ̂ costs no more. With `Δ(θ) = ½θᵀEθ − eᵀθ`, f the exact objective and d = θ̂ − θ* the way from its minimiser, f + Δ grows by `½dᵀ(G + E)d` at least from its own minimiser θ̂, so that
    `f(θ̂) − f(θ*) ≤ (e − Eθ̂)ᵀd − ½dᵀGd ≤ ½‖G^{-1/2}(e − Eθ̂)‖²`, which is what a free θ̂ costs. And θ explains `θᵀSθ` at least where 0 is within the set, or costs no penalty; of a set without 0 that is the variance of its predictions alone.

    And ∞ where a score at θ would be believed less for that noise: a step from there is off by `G⁻¹Eδ`, δ what θ is off by, in coordinates in which records are round at most by `κ‖δ‖/√2` along each, `κ = s max(1/λ₀, √p B²)` (the constant column is as long as √p others), of which ‖δ‖² is
    what noise has cost. The squares of that are held against `doubt` times ρ/n, what sampling adds, ρ the mean square of residuals.
    """
    assert found.moments is not None
    facts, theta = normalised(found.moments, 0, True), found.theta[:, 0] * found.moments.scale_x
    values, vectors = np.linalg.eigh(facts.gram)
    own = facts.cross_noise if step is None else noise / found.moments.scale_x
    moved = theta if step is None else step * found.moments.scale_x
    radius, along = facts.gram_noise * math.sqrt(2.0 * len(theta)), (vectors.T @ moved) ** 2
    level = facts.gram[-1] @ theta
    gain = float(theta @ facts.gram @ theta - level**2 / facts.gram[-1, -1])
    if values[0] <= radius or gain <= 0.0:
        return math.inf
    cost = own**2 + 0.5 * facts.gram_noise**2 * (along.sum() + along)
    lost = float(np.sum(cost / values + radius**4 * along / values**3))
    wrong = facts.gram_noise * max(1.0 / values[0], math.sqrt(len(theta)) * found.moments.scale_x**2)
    left = found.moments.square[0, 0] - theta @ (2.0 * facts.cross - facts.gram @ theta)
    return math.inf if 0.5 * wrong**2 * lost > doubt * max(left, 0.0) / found.moments.records else lost / gain


def stepped(
    found: Solution, problem: Problem, path: GradientSchedule, bought: Any, curator: Answers
) -> tuple[Solution, float]:
    """The model of moments after Newton's steps `θ − G̃⁻¹g̃` by gradients of records as they are, within the set and the penalty; and what noise hides of it. The moments are not its own any more.

    For them were `bought` a histogram of gradients' lengths and a gradient for each step. Gradients are cut where that biases less than noise. Nothing is whitened, which takes longer than the moments.
    """
    assert found.moments is not None
    facts, size, (lengths, *steps) = normalised(found.moments, 0, True), found.moments.scale_x, bought
    values, vectors = np.linalg.eigh(facts.gram)
    radius = facts.gram_noise * math.sqrt(2.0 * problem.dimension)
    bend = size**2 * (vectors * np.maximum(values, radius)) @ vectors.T
    typical, noise = math.sqrt(np.trace(bend[:-1, :-1])), steps[-1].sigma / problem.records
    view = Coordinates(np.zeros(problem.slopes), typical, typical**2, True, np.eye(problem.slopes))
    path = replace(path, bend_noise=0.0, late=0, noise=noise)
    descent, point = Descent(problem, path, view, curator, curator), found.theta[:, 0]
    grid = edges(LONG_GRADIENTS * descent.natural, FINE_BINS - 1)
    cut, before = descent.unbiased_clip(tail(descent.shares(point, grid), lengths.sigma / problem.records), grid), point
    for _ in steps:
        before, point = point, descent.newton(point, 1, cut, bend, last=True)
    moved = replace(found, theta=view.feasible(problem, point)[:, None])
    hidden = hidden_share(moved, point - before, noise * cut / min(view.intercept_weight, 1.0))
    held = abs(point[-1]) >= problem.loss.intercept_bounds[1]  # where each step ends, and nothing is told
    return replace(moved, moments=None), math.inf if held else hidden
