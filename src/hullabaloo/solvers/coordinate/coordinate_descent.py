"""Coordinate descent: one noisy partial derivative at a time, clipped, noised and stepped at that coordinate's own scale.

DP-CD of Mangold, Bellet, Salmon and Tommasi (2022): T rounds, each from the average of the last one's iterates, of K updates
`θ_j ← prox_{γ_j ψ_j}(θ_j − γ_j(∇_j f + η_j))` with `γ_j = s/M_j` (the poster's s is 1) and clips `C_j = C √(M_j/tr M)`. M_j bounds the
curvature along coordinate j, and is declared or released. The rule of T, K, s and C is `coordinate_rule.py`, the bounds are
`planning/theory/coordinate_bounds.py`.
"""

import math
from dataclasses import asdict, dataclass, field
from typing import ClassVar

import numpy as np

from hullabaloo.geometry import separable_form
from hullabaloo.losses import Loss
from hullabaloo.privacy import Allowance, Calibration, paper_pair
from hullabaloo.solvers import options
from hullabaloo.solvers.base import Answers, Array, Plan, PricedQuery, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.coordinate import coordinate_rule as rule
from hullabaloo.solvers.coordinate.coordinate_rule import Schedule, measured, warmed
from hullabaloo.solvers.coordinate.updates import check_clip, check_curvature, descend
from hullabaloo.solvers.reference import Reference

CLOSE = 1e-14
"""Without noise a round that moves no prediction by more ends the descent."""


@dataclass(frozen=True, slots=True)
class CoordinateDescentSolver(Solver):
    """One model by coordinate updates: for columns of unlike scales, separable penalties and boxes, and sparse coefficients.

    **Guarantee.** The plan buys `warm + TK` partial derivatives at one price, and the columns' means and second moments where it
    uses them: Gaussian releases whose μ² add up to the allowance's (Dong, Roth, Su 2022), and in one option a Laplace
    release, charged at the μ of its pure ε. Points, centres, clips and steps are functions of public facts and of earlier
    answers; how many answers are bought and which they are, of the plan alone. With `calibration="paper"` the noise is the one
    that the poster prints and the queries' events state what that really costs.

    Attributes:
        order: of coordinates: "cyclic", "uniform" (the poster's: independent draws, fixed beforehand) or "importance" (∝ √M_j).
        constants: where M_j is from: "gaussian" or "laplace" (a private release, at least as large as its noise), or "declared"
            (the domain's bounds, for nothing).
        rounds: T; None for the public rule.
        updates: K; None for the public rule.
        clip: C, with `C_j = C √(M_j/tr M)`; None for the public rule, under which C is proportional to the released √(tr M).
        centre: whether columns are seen from their private means where there is an intercept; None where a dense copy is small.
        max_passes: updates at most in passes over the table, of p updates each; None for no limit. More are refused before the charge.

    Source: 004, Problem statement.
    """

    order: str = "cyclic"
    constants: str = "gaussian"
    rounds: int | None = None
    updates: int | None = None
    clip: float | None = None
    centre: bool | None = None
    max_passes: int | None = field(default=options.MOST_PASSES, repr=False)

    name: ClassVar[str] = "coordinate_descent"

    def __post_init__(self) -> None:
        options.check_options(self, order=options.words("cyclic", "uniform", "importance"))
        options.check_options(self, constants=options.words("gaussian", "laplace", "declared"))
        options.check_options(
            self, rounds=options.WHOLE, updates=options.WHOLE, clip=options.POSITIVE, centre=options.YES_OR_NO
        )
        options.check_options(self, max_passes=options.PASSES)

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """Means, constants, and the partial derivatives at what is left; without noise as many as the optimum takes.

        Raises:
            CapabilityError: several targets, a loss without a Lipschitz derivative, a penalty or set that is no sum over coordinates,
                curvatures of no usual size, or more updates than `max_passes`.
            InvalidParameter: a clip of no usual size, or the poster's noise is asked without ε or δ.

        Source: 004, Take home, no amplification.
        """
        loss = options.one_prediction(problem, "Coordinate descent", "solver='moments' or 'gradient'")
        smoothness = options.no_jump(loss, "Coordinate descent", rule.smoothness_of(loss))
        check_clip(self.clip, "Coordinate descent")
        check_curvature(problem, smoothness, "Coordinate descent")
        separable_form(problem.regulariser, problem.feasible, problem.dimension)
        if not allowance.is_private:
            return self._exact(problem, loss, prices)
        if allowance.calibration is Calibration.PAPER:
            pair = paper_pair(allowance.budget, "8 TK L_j² ln(1/δ)/(nε)²")
            return self._noisy(problem, loss, prices, allowance.mu, pair)
        return self._noisy(problem, loss, prices, allowance.mu)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """T rounds of K updates.

        Source: 004, DP-CD.
        """
        schedule = Schedule(**plan.settings)
        centre, constants = measured(problem, schedule, curator)
        schedule = schedule.weighing(problem, constants)
        view = curator.centred(centre) if schedule.centred else curator
        form = separable_form(problem.regulariser, problem.feasible, problem.dimension)
        average = np.clip(np.zeros(problem.dimension), form.lower, form.upper)  # w̄⁰
        average, bend = warmed(problem, schedule, constants, form, average, view)
        constants = bend * constants
        clips, steps = schedule.clips(constants, problem.intercept, bend), schedule.steps(constants, problem.intercept)
        for t in range(schedule.rounds):  # for t = 0, …, T − 1
            order = schedule.coordinates(constants, t)
            made = descend(view, average, order=order, clips=clips, steps=steps, form=form)  # θ⁰ = w̄ᵗ; k = 0, …, K − 1
            if schedule.exact:
                moved, average = np.abs(made.theta - average), made.theta
                if np.all(moved * np.sqrt(constants) <= CLOSE * (1.0 + np.abs(average) * np.sqrt(constants))):
                    break
                continue
            average = made.mean  # w̄ᵗ⁺¹
        theta = np.array(average)
        if schedule.centred:  # ⟨x − m, θ⟩ + level: the level is the prediction at the centre
            theta[-1] = np.clip(theta[-1] - centre @ theta, form.lower[-1], form.upper[-1])
        return Solution(theta[:, None])  # w^priv = w̄ᵀ

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """Excess risk on the reference table in units of its columns: what the passes leave out, and noise."""
        schedule = Schedule(**plan.settings)
        if schedule.exact:
            return 0.0
        slopes = max(1, problem.slopes)
        reference = Reference.of(problem)
        values = reference.eigenvalues * (slopes / reference.eigenvalues.sum())  # of the correlations
        reach = _reach(schedule, problem)
        passed = schedule.updates / problem.dimension * schedule.step * values  # in a round
        missed = reference.signal / slopes * (-np.expm1(-passed) / passed) ** (2 * schedule.rounds)
        noise = (reach / schedule.smoothness) ** 2 * _gathered(schedule, problem, values)
        middle = _middle(schedule, problem) ** 2
        return 0.5 * schedule.smoothness * (float(values @ (missed + noise)) + middle)

    def _counts(self, problem: Problem, passes: float, usual: int | None) -> tuple[int, int]:
        """T and K: the caller's, or the rule's passes in the usual number of rounds, None for the rule's."""
        total = max(1, math.ceil(passes * problem.dimension))
        usual = usual or (1 if passes < rule.MANY_PASSES else 2)
        rounds = self.rounds or (usual if self.updates is None else max(1, round(total / self.updates)))
        return rounds, self.updates or max(1, math.ceil(total / rounds))

    def _prepaid(
        self, problem: Problem, prices: QueryPrices, mu: float, centred: bool
    ) -> tuple[list[PricedQuery], float, float, float]:
        """What is bought before the updates, the μ left for them, and the noise of a column's mean and of its mean square."""
        queries: list[PricedQuery] = []
        share, means, moments = 1.0, 0.0, 0.0
        if centred:
            bought = prices.price("means", mu=mu * math.sqrt(rule.MEANS))
            means = bought.sigma * problem.norm_l2 / problem.records
            queries.append(bought)
            share -= rule.MEANS
        if self.constants == "gaussian":
            bought = prices.price("second_moments", mu=mu * math.sqrt(rule.CONSTANTS))
        if self.constants == "laplace":
            bought = prices.price("second_moments_laplace", epsilon=_pure(mu * math.sqrt(rule.CONSTANTS)))
        if self.constants != "declared":
            moments = bought.sigma / problem.records
            queries.append(bought)
            share -= rule.CONSTANTS
        return queries, mu * math.sqrt(share), means, moments

    def _exact(self, problem: Problem, loss: Loss, prices: QueryPrices) -> Plan:
        """No noise: passes to the optimum. A set's bound of the intercept is not that of the level: no centre then."""
        centred = rule.centred(problem, self.centre if problem.constraint is None else False)
        updates, smoothness = rule.EXACT_PASSES * problem.dimension, rule.smoothness_of(loss, exact=True)
        schedule = Schedule(rule.EXACT_ROUNDS, updates, centred, smoothness, exact=True)
        queries: list[PricedQuery] = [prices.price("means", mu=math.inf)] if centred else []
        queries.append(prices.price("second_moments", mu=math.inf))
        queries.append(prices.price("coordinate_gradient", loss=loss, mu=math.inf, count=schedule.count))
        return Plan(self.name, tuple(queries), asdict(schedule), "no noise: exact coordinate descent")

    def _noisy(
        self, problem: Problem, loss: Loss, prices: QueryPrices, mu: float, printed: tuple[float, float] | None = None
    ) -> Plan:
        """The rule's plan; or for a pair (ε, δ) the poster's: one round unless asked otherwise, j uniform, whole steps, no centre.

        What M_j costs comes on top of the poster's noise; it does not say from which budget.
        """
        centred = rule.centred(problem, self.centre if printed is None else bool(self.centre))
        queries, rest, means, moments = self._prepaid(problem, prices, mu, centred)
        one = prices.price("coordinate_gradient", loss=loss, mu=rest, count=1)
        noise = one.sigma / problem.records * problem.dimension
        travel = rule.passes(noise, self.constants)
        rounds, updates = self._counts(problem, max(travel, rule.FEWEST_PASSES), 1 if printed else None)
        usual = rule.WARM if rule.is_smooth(loss) else rule.WARM_COUNTS
        warm = usual if problem.intercept and not printed else 0
        count = warm + rounds * updates
        told = options.check_passes(self, problem, math.ceil(count / problem.dimension), self.max_passes)
        price = rest / math.sqrt(count) if printed is None else _printed(problem, prices, loss, count, *printed)
        query = prices.price("coordinate_gradient", loss=loss, mu=price, count=count)
        reach, middle = rule.reaches(loss, noise)
        schedule = Schedule(
            rounds=rounds,
            updates=updates,
            warm=warm,
            order="uniform" if printed else self.order,
            constants=self.constants,
            centred=centred,
            step=1.0 if printed or self.updates else min(travel / rule.FEWEST_PASSES, 1.0),
            clip=self.clip or 0.0,
            reach=reach,
            middle=middle,
            smoothness=rule.smoothness_of(loss),
            sigma=query.sigma / problem.records,
            mean_noise=means,
            moment_noise=moments,
        )
        how = "as printed by Mangold et al. 2022, σ_j² = 8 TK C_j² ln(1/δ)/(nε)²" if printed else "each C_j ∝ √M_j"
        reason = f"{rounds} rounds of {updates} coordinate updates, M_j {self.constants}, {how}; {told}"
        return Plan(self.name, (*queries, query), asdict(schedule), reason)


def _printed(problem: Problem, prices: QueryPrices, loss: Loss, count: int, epsilon: float, delta: float) -> float:
    """The μ that one of `count` answers really has at `σ_j² = 8 TK L_j² ln(1/δ)/(nε)²`: the poster's T counts updates.

    Source: 004, Privacy.
    """
    sigma = math.sqrt(8.0 * count * math.log(1.0 / delta)) * problem.max_weight / epsilon
    return float(prices.price("coordinate_gradient", loss=loss, mu=1.0, count=count).sigma) / sigma


def _gathered(schedule: Schedule, problem: Problem, values: Array) -> Array:
    """Variance of the last average, in units of `κ/β`, along correlations' eigendirections: noise walks until it is forgotten."""
    passes, step = schedule.updates / problem.dimension, schedule.step  # of a round
    walked, kept = step**2 * schedule.rounds * passes / 3.0, step / (2.0 * values)
    averaged = 1.0 / (passes * values**2)
    return np.asarray(schedule.sigma**2 * np.minimum(np.minimum(walked, kept), averaged), dtype=np.float64)


def _middle(schedule: Schedule, problem: Problem) -> float:
    """Noise of the intercept, which is updated once a pass."""
    if not problem.intercept:
        return 0.0
    passes = max(schedule.updates / problem.dimension, 1.0)
    return schedule.sigma * schedule.middle / schedule.smoothness / math.sqrt(passes)


def _reach(schedule: Schedule, problem: Problem) -> float:
    """κ; of the poster's C, for columns that fill a third of their squared bounds."""
    if schedule.clip == 0.0:
        return schedule.reach
    return schedule.clip / (problem.norm_l2 * math.sqrt(1.0 / 3.0))


def _pure(mu: float) -> float:
    """The ε of a pure release that costs at most μ: it is `2Φ⁻¹(e^ε/(1 + e^ε))`-GDP (Dong, Roth, Su 2022) and ½ε²-zCDP."""
    from scipy.special import logit, ndtr

    return min(float(logit(ndtr(0.5 * mu))), mu) * (1.0 - 2.0**-40)
