"""A solver of residuals that is held up by the private constant: of its model as much is kept as a second look at the records speaks for.

*Why.* What noise hides depends on how far the target varies within its bounds, and no public fact tells it: noise that a target which fills its range hardly feels
drowns one that does not. Two numbers tell, privately, whether a model is better than the constant: the mean derivatives of the loss at both ends of the line between them.

*What is asked.* Before the solver's own queries, the constant b. After them, on the line `b + t u`, u the model less b as records see it, at t = 0 and t = 1 each a histogram of
the lengths `|φ' u|` and their mean, cut at `CUT` times their upper quantile. With what each falls by, d₀ and d₁ < d₀, the quadratic through both is least at `d₀/(d₀ − d₁)`. A model is kept in full
unless d₁ is below 0 by more than its noise, and none of it where d₀ ≤ 0. Drowned models are long: `d₀ − d₁ = E u²` leaves little of them. A `brief` look asks at t = ½ alone, where the loss falls if the model is worth
more than the constant: it is kept in full where it does by more than its noise, none of it where it rises by as much, and in between in proportion.

*What it costs.* The share of μ² at which a mean of unit contributions has noise `PRECISE`, at most `MOST` and at least `AMPLE`; of a brief look `BRIEF` and `LEAST`.

Costs of choices and of objective perturbation do not add up with the look's as squares: such a solver plans beside the look's own event (`Allowance.beside`), and what composes best decides, at once. Objective perturbation
so takes 1.3 times the noise where the look takes 23 % of μ², and a solver with Gaussian noise 1.14 times.

*What it is worth.* On ten tables that nothing here was chosen on (diamonds, air time and delay of flights, hours and age of adult, elevation of covertype, blue of skin, connections of KDD 99, claims of
fremtpl2, pol; 2 000 and 8 000 records, ε = 0.1 and 0.3, both relations, medians of 5 draws) 87 of 320 lines of gradient and coordinate descent, mirror descent and output perturbation lose more than 1.02 times what the private constant does, where
135 do of the solvers alone; the mean of all lines falls from 1.62 to 0.87. (Nothing was bought in 40 of them: 8 000 records, ε = 0.3, add-or-remove.) The 149 useful models (at most 0.95) lose 0.009 of the constant's loss in the mean: 0.041 of 2 000 records at
ε = 0.1, 0.009 at 0.3, 0.003 of 8 000 at 0.1; at most 0.34 (coordinate descent, KDD 99). Objective perturbation, Frank–Wolfe, greedy coordinate steps, subspace descent, the adaptive
and the preconditioned gradient, on the same tables, which `planning.choose.LESS` was chosen on: 165 of 480 lines alone, 107 held up; the mean of all lines falls from 1.52 to 0.86, and 246 useful models lose 0.011 (0.020 of 2 000 records, 0.005 of 8 000; at most 0.32, Frank–Wolfe, KDD 99). Moments (docs/planning.md), on 19 targets that nothing was chosen on: 28 of 76 lines alone, and 7 held up, at ε = 0.1. Not held: narrow targets of few records (up to 2.4, delays), and targets of a few values far apart (pol, up to 1.1; moments of error rates, up to 0.58 of the constant's loss less gained).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hullabaloo.privacy import Allowance, compose_answers
from hullabaloo.solvers.base import Answers, Array, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.constant import ConstantSolver
from hullabaloo.solvers.gradient.histogram import edges, gradient_quantile
from hullabaloo.solvers.gradient.location_scale import LEAST as LOUDEST
from hullabaloo.solvers.gradient.location_scale import TINY, reach
from hullabaloo.solvers.gradient.schedule import FINE_BINS, TYPICAL
from hullabaloo.solvers.gradient.travel import smooth_and_steep

PRECISE, MOST, LEAST = 0.035, 0.3, 0.01
"""Noise s of a mean of unit contributions that all of this buys, and the largest and least share of μ² for it. Along the line to a model that is noise alone, the best point being the constant, d₀ is noise of
standard deviation `s c √(V E u²/FALLS)`, V the constant's loss and c about 2, the cut over `√(V E u²)` (normal residuals and predictions). Half the time it is above 0, and `d₀/E u²` of the line then kept
costs `d₀²/E u²`: in expectation `c² s²/(2 FALLS) V`, 0.012 V at 0.035 and 0.02 V at 0.045, beside what the constant's own noise costs narrow targets. Chosen on claims, elevators, wine and appliances (ε = 0.1): at
0.045 plain gradients lost up to 1.06 of V again, at 0.03 nothing more was gained."""
LEVEL, LENGTHS, FALLS = 0.35, 0.125, 0.2
"""Shares of that for the constant, and for each of two histograms and of two derivatives."""
CUT, LONG, USUAL = 2.5, 0.3, 0.2
"""Quantiles that derivatives are cut at: so many times the length that a share `LONG` exceeds (at 1 skewed targets kept models of their median); and a usual residual.
Chosen on claims, elevators, wine, appliances and ailerons."""
BRIEF, PARTS, NEAREST = 0.0527, (0.5, 0.17, 0.33), 1.0
"""The same of a brief look, which "auto" buys: `PRECISE`, the shares and the cut. Its one derivative is half-way, above 0 where the model is worth more than the constant: near its sign, it counts which of them
records are nearer to, whatever the target's spread and the model's length. Chosen on claims, appliances, flights, ailerons, elevators, California, power plants, abalone, wine, bikes, concrete, communities and four columns of bank
marketing (10 000 rows, ε = 0.1; 16 draws of the preconditioned gradient, models whose loss rises by less than its noise kept in part): 8 of 32 lines are above 1.02 alone and 3 with it, useful ones lose 0.005 of the gain in the mean and nothing in the median. Names would keep models of their median
with it (coordinate descent on claims, 1.02 to 1.09)."""
FAINT, AMPLE, QUIET_MEAN = 0.001, 0.03, 0.01
"""Noise s√p of a mean of p unit contributions above which a name that neither measures what it clips nor looks for evidence is held up; the least share that is; and the noise of a mean target up to which that is the constant.
Chosen on bank's balance (V = 0.01; 36 000 records, ε = 0.1 to 1: output perturbation lost 5, 1.8 and 1.9 times what the constant does, 1.00 held up), chlorides of wine, electricity's price and made targets of V = 0.0001 to 0.01 (5 000 records, ε = 0.3 to 2): at 0.01 for the second the last
lose up to 2 times what the constant does, at 0.03 1.3; at 0.025 for the third up to 1.08 again. Skewed targets (claims, appliances) have a better constant by the mean from 0.01 on."""
SUFFICIENT = 0.0125
"""Noise s of a mean of unit contributions below which the adaptive gradient of "auto" stands alone. Chosen, with half of a model kept where the look is undecided, on ten regression tables of `benchmarks/floors.py` (all but concrete and communities) and four columns of bank
(1 000 to 10 000 records, ε = 0.1 and 0.3, 14 draws): of 53 lines with s in 0.015 to 0.045 21 are above 1.02 alone and 8 held up, the worst 3.3 and 1.13; below 0.01 what it gains (0.01 of the constant's loss in the mean) models worth having lose. On 26 other tables 28 and 10 of 96 are, the worst 2.4 and 1.18, and the
51 models worth having lose 0.02 of the constant's loss in the mean."""
HOPELESS, HARDY = 0.06, "adaptive_gradient"
"""Noise s of a mean of unit contributions above which a name of a residual's loss gives way to the constant: the look that would hold it up, at its largest share, then costs about `2 s²/(FALLS MOST)`, an eighth of the constant's loss
and more; and the name that does not, as it loses as often as it gains. Chosen on the ten tables above (replace-one, ε = 0.1, medians
of 6 draws): with 1 000 records (s = 0.073) 64 of 90 lines of the others lose more than 1.02 times what the constant does, 1.5 times in the geometric mean, and 15 useful models (at most 0.95; 0.85 in the mean) are given up; with 2 000 names held up are worth as much
as the constant. On the twelve of `benchmarks/floors.py`, cut to 1 000 records, 76 of 107 do, 1.15 times, and 11 useful models (0.81 in the mean, 0.28 at best: the preconditioned gradient on power plants) are given up. What "auto" takes there, the adaptive gradient, is held up by the brief look, as giving it up would give up models that leave 0.4."""


def share_for(noise: float, brief: bool, part: float) -> float:
    """The share of μ² for all of this where the mean of unit contributions has such noise s, at most `part` of `MOST`."""
    precise, least = (BRIEF, LEAST) if brief else (PRECISE, AMPLE)
    return min(max((noise / precise) ** 2, least), MOST * part)


@dataclass(frozen=True, slots=True)
class FlooredSolver(Solver):
    """`solver` on most of the budget, and of its model as much as is better than the private constant.

    **Guarantee.** Precondition: that of `solver`'s plan. Claim: the plan's event. Proof: the constant, two histograms and two gradients are Gaussian releases, at points and lengths that are functions
    of earlier answers; the allowance takes their adaptive composition with the solver's own. The model lies between two members of a convex set.

    Attributes:
        name: the name of the solver of the model.
        solver: the solver of the model.
        share: of the budget (of μ²) for the constant and the second look.
        brief: whether that is one derivative half-way instead of one at either end.
    """

    name: str  # type: ignore[misc]  # a solver's name is a constant of its class; this one's is its inner's
    solver: Solver
    share: float
    brief: bool = False

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """The constant, the solver's own plan on what is left, and the second look.

        Raises:
            CapabilityError: the solver cannot do what is asked, or not on so much less.
        """
        line, loss, count = prices.restricted(1), problem.loss, 1 if self.brief else 2
        shares = PARTS if self.brief else (LEVEL, LENGTHS, FALLS)
        first, second, third = (allowance.mu * math.sqrt(self.share * one) for one in shares)
        level = ConstantSolver().plan(problem, prices, Allowance.gdp(first), QUIET_MEAN)
        lengths = line.price("norm_histogram", loss=loss, bins=FINE_BINS, mu=second, count=count)
        falls = line.price("centred_gradient", loss=loss, mu=third, count=count)
        left = replace(allowance, beside=compose_answers((*level.queries, lengths, falls)))
        own = self.solver.plan(problem, prices, left)
        settings = {**own.settings, "floor": {"level": dict(level.settings), "first": len(level.queries)}}
        queries = (*level.queries, *own.queries, lengths, falls)
        reason = f"{own.reason}; held up by the constant, at {self.share:.0%} of the budget"
        return replace(own, queries=queries, settings=settings, reason=reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """The constant, the model, and the point between them."""
        told = plan.settings["floor"]
        first = Plan(ConstantSolver.name, plan.queries[: told["first"]], told["level"])
        level = ConstantSolver().run(problem, first, curator).theta[:, 0]
        return _between(problem, plan, level, self.solver.run(problem, self._own(plan), curator), curator, self.brief)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """That of the solver of the model."""
        return self.solver.predicted_risk(problem, self._own(plan))

    def _own(self, plan: Plan) -> Plan:
        """The solver's own part of the plan."""
        settings = {name: value for name, value in plan.settings.items() if name != "floor"}
        return replace(plan, queries=plan.queries[plan.settings["floor"]["first"] : -2], settings=settings)


def _between(problem: Problem, plan: Plan, level: Array, found: Solution, curator: Answers, brief: bool) -> Solution:
    """The point of the line from the constant to the solution that the second look speaks for."""
    line, slope = found.theta[:, 0] - level, smooth_and_steep(problem.loss)[1]
    longest = max(float(np.linalg.norm(line[:-1])) * reach(problem) + abs(float(line[-1])), TINY)
    likely = USUAL * slope * TYPICAL * longest / math.sqrt(line.size)
    seen = curator.projected(np.column_stack([line, np.arange(line.size) == line.size - 1]))
    grid = edges(2.0 * slope * longest, FINE_BINS - 1)
    noises = [one.sigma / problem.records for one in plan.queries[-2:]]  # type: ignore[attr-defined]  # Gaussian

    def falls(t: float) -> tuple[float, float]:
        """What the loss falls by along the line at t, and the noise in it."""
        point, about = np.array([t, level[-1]]), {"centre": np.zeros(2), "intercept_weight": TINY}
        shares = seen.answer("norm_histogram", point, edges=grid, **about)
        counted = 1.0 if problem.alike else max(float(shares.sum()), LOUDEST * noises[0] * math.sqrt(FINE_BINS))
        usual = gradient_quantile(shares / counted, grid, noises[0] / counted, above=LONG, likely=likely)
        clip = (NEAREST if brief else CUT) * usual
        return -float(seen.answer("centred_gradient", point, clip_norm=clip, **about)[0]), noises[1] * clip

    first, noise = falls(0.5 if brief else 0.0)
    kept = min(max(0.5 + 0.5 * first / noise, 0.0), 1.0)
    if not brief:
        last, noise = falls(1.0)
        kept = first / (first + max(-last - noise, 0.0)) if first > 0.0 else 0.0
    trace = (*found.trace, {"held up": kept, "constant": float(level[-1])})
    return replace(found, theta=pulled(found.theta, trace), trace=trace)


def pulled(theta: Array, trace: Sequence[Mapping[str, Any]]) -> Array:
    """The point of the line from the constant to θ, (p,) or (p, 1), of which as much is kept as a fit's trace says; θ where that says nothing."""
    # Of models saved before it was told nothing is pulled.
    for line in (line for line in trace if {"constant", "held up"} <= line.keys()):
        start = np.zeros_like(theta)
        start[-1] = line["constant"]
        theta = start + line["held up"] * (theta - start)
    return theta
