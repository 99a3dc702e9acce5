"""Few noisy gradients of all columns as directions, and the model of least loss in the space that they span.

*Why.* Noise of size s in each of p coordinates of a gradient g moves a prediction by `s‖x‖`, whatever p is, and the signal by `⟨x, g⟩`: a direction can be right
where each of its coordinates, and its length, is noise. A walk in p coordinates does not see this: its evidence is `‖g‖²` against `p s²`, which
takes a signal √p times as strong. Seen through the direction records are of one column, in which noise is that of one number: how
far to go is nearly free to learn, and whether to go at all. So most of the budget buys directions, at one size of noise as all spend it together.

*What is asked.* The level, without slopes; then, k times, the gradient at the model so far, and the model in the span of all directions so far, by the adaptive
gradient's phases; of classes where noise is loud one step, as far as `E φ'⟨x, g⟩` over the largest curvature says. Gradients are cut at a private quantile of their lengths; of classes, whose rarer one's are the longer, where rows of a
quantile's length would have the longest. Directions are scaled by how long records are likely to be along them, by noise alone and, where `‖g‖²` is above what noise makes it, as `E φ'⟨x, g⟩ = ‖g‖²` says.

*What is kept.* At the level the mean derivative a along the first direction is asked once more. The records that made a direction lie further along it than others do, by
`φ'‖x‖²/n` each: of a, `b = E φ'²‖x‖²/n` is of this kind. Without a signal `a − b` is noise, s of the answer and, as the direction is noise of size s₁ too, `s₁√b` of the records. The model is taken
`(1 − (zσ/(a − b))²)₊ (a − b)/a` of the way from the level alone, `σ² = s² + s₁²b`, z = `SURE`: noise alone is kept in one fit of twenty.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.losses import KernelCode
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Answers, Array, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.constant import PLAIN, USUAL_LEVEL, ConstantSolver, alone, level_plan
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.descent import Descent
from hullabaloo.solvers.gradient.gradient import plain_level_noise
from hullabaloo.solvers.gradient.histogram import BINS, edges, quantile
from hullabaloo.solvers.gradient.location_scale import TINY, reach
from hullabaloo.solvers.gradient.measured_gradient import AdaptiveGradientSolver, checked
from hullabaloo.solvers.gradient.schedule import TYPICAL, GradientSchedule
from hullabaloo.solvers.gradient.travel import smooth_and_steep
from hullabaloo.solvers.gradient.walk_noise import EVIDENT
from hullabaloo.solvers.reference import Reference

FIT, CONSTANT = AdaptiveGradientSolver(), ConstantSolver()
CLASSES = (KernelCode.LOGISTIC, KernelCode.SMOOTHED_HINGE)
WALK, ONCE = "centred_gradient", 2
"""What a direction is; and the kind of `SHARES` whose model is one step along it."""
LENGTHS, SHARES, LOUD = 0.02, ((0.08, 0.05, 0.15), (0.2, 0.05, 0.15), (0.2, 0.15, 0.05)), 0.01
"""Shares of μ²: for the lengths of gradients; for the level, the evidence and all fits in the span where noise is low, and of numbers and classes where the noise of a mean of unit contributions times the largest |φ'|
exceeds `LOUD`, the last for lengths along the direction. Half or twice as much of any of the first moved the mean share over six wide tables by a point or two at ε = 1 and 3. At 0.1 the level alone lost 1 to 3 % of the
gain on baseball and hockey, on which the last were chosen: they keep 2.0 ± 0.5 and, by norm, 6.5 ± 1.1 % (add-or-remove, 40 fits), and 0.3 and 2.9 by fits at as good a level."""
CUT, SURE = 0.3, 1.645
"""Share of the records whose gradients are shortened (of 0.15, 0.3 and 0.5), and standard deviations of noise that evidence has to exceed."""
OWN = 0.65
"""`E φ'·cut(φ')` over the cut's square, of normal residuals of which `CUT` are cut."""
ROOM = 4.0
"""How many times shorter than usual rows usual records are along directions: those that are beyond 1 are shortened, and a model that is learned of these predicts whole ones. At 1 it lost up to 15 times the gain of narrow columns, far records and rare
levels (`tests/laws/test_larger_budgets.py`, on which it was chosen; 16 does as well), as noise fell: a second direction is as long as noise makes it, however flat records are along it."""
FINE = 0.0012
"""Noise s of a mean of unit contributions below which two directions keep more than one (on six tables, two relations and three ε)."""


@dataclass(frozen=True, slots=True)
class SubspaceDescentSolver(Solver):
    """The model of least loss in the span of one noisy gradient, or two, for tables of many columns that all matter a little.

    **Guarantee.** The plan buys histograms and gradients, Gaussian releases whose μ² add up to the allowance's: `μ`-GDP for every adaptive sequence of
    points, lengths and directions, each of which is a function of public facts and earlier answers. It does not approach the optimum as the budget grows.
    """

    name: ClassVar[str] = "subspace_descent"

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """The level, lengths, directions, the evidence, and fits.

        Raises:
            CapabilityError: no noise is asked for, several targets, weights, no columns, a set or a penalty.
        """
        loss, slopes = checked(problem, allowance, "subspace descent"), problem.slopes
        if not problem.free or problem.weighted or not slopes:
            raise CapabilityError(
                "Subspace descent was asked for with a set, a penalty, weights or no columns, and none of these is known to it. Use solver='adaptive_gradient'."
            )

        def bought(menu: QueryPrices, name: str, share: float, count: int = 1, **about: Any) -> Any:
            return menu.price(name, loss=loss, mu=allowance.mu * math.sqrt(share / count), count=count, **about)

        noise = bought(prices, WALK, 1.0).sigma / problem.records
        k = 2 if problem.intercept and slopes > 3 and noise < FINE else 1
        kind = 1 + (loss.kernel_code in CLASSES) if noise * smooth_and_steep(loss)[1] > LOUD else 0
        level, evidence, fitting = SHARES[kind]
        small, menu, first = spanned(problem, k), prices.restricted(k), Plan(CONSTANT.name, (), {})
        if problem.intercept:
            # The mean target whatever its noise: of the skewed ones of wide tables gradients that are cut lose up to a fifth of the gain. Of classes plain steps, which end nearer to
            # even odds, where noise is low: from there directions show a rare class better (internet advertisements keep 2 to 6 points more at ε = 1 and 3).
            part, plain = Allowance.gdp(allowance.mu * math.sqrt(level)), not kind and loss.kernel_code in CLASSES
            first = (
                PLAIN.plan(alone(problem), prices.restricted(0), part) if plain else level_plan(problem, prices, part)
            )
        fit = FIT.plan(small, menu, Allowance.gdp(allowance.mu * math.sqrt(fitting / k)))
        path, fits = dict(fit.settings), [query for query in fit.queries if query.name != "means"] * k
        if kind == ONCE:
            along = bought(menu, "norm_histogram", fitting, bins=BINS)
            fits, path["share_noise"] = [along], along.sigma / problem.records
        lengths = bought(prices, "norm_histogram", LENGTHS, bins=BINS)
        asked = {"lengths": lengths, "evidence": bought(menu, WALK, evidence)}
        spent = Plan(self.name, (*first.queries, *asked.values(), *fits), {}).event.gdp_mu() or 0.0
        asked = {"walk": bought(prices, WALK, 1.0 - (spent / allowance.mu) ** 2, k), **asked}
        settings = {name: query.sigma / problem.records for name, query in asked.items()}
        settings |= {"directions": k, "once": kind == ONCE, "fit": path}
        settings |= {"level": dict(first.settings), "level of": first.solver}
        reason = f"{k} noisy gradient{'s' * (k - 1)} of all columns, and the best model of what they span"
        return Plan(self.name, (*first.queries, *asked.values(), *fits), settings, reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """The level; then direction and model in turn; and as much of the last model as there is evidence for."""
        k, p, q, loss = plan.settings["directions"], problem.dimension, problem.slopes, problem.loss
        path, small = GradientSchedule(**plan.settings["fit"]), spanned(problem, k)
        bend, slope = smooth_and_steep(loss)
        matrix, level = np.zeros((p, small.dimension)), np.zeros(p)
        matrix[q:, k:] = 1.0
        if problem.intercept:
            one, first = alone(problem), Plan(plan.settings["level of"], (), plan.settings["level"])
            if first.solver == CONSTANT.name:
                level = CONSTANT.run(problem, first, curator).theta[:, 0]
            else:
                level[-1] = PLAIN.run(one, first, curator.restricted(np.zeros(0, dtype=np.int64))).theta[-1, 0]
                level[-1] /= 1.0 + (plain_level_noise(one, first) / USUAL_LEVEL) ** 2
        about: dict[str, Any] = {"centre": np.zeros(p), "intercept_weight": TINY if problem.intercept else 1.0}
        classes = loss.kernel_code in CLASSES
        grid = edges(reach(problem), BINS - 1)
        shares = curator.answer("norm_histogram", None if classes else level, edges=grid, **about)
        clip = quantile(shares, grid, plan.settings["lengths"], above=CUT, likely=float(grid[-4]))
        ends = np.sort(np.abs(loss.derivative(np.full(2, level[q:].sum()), np.array([-1.0, 1.0]))))
        usual = TYPICAL / (ROOM if problem.earlier < 7 else 1.0)
        square, clip = (clip**2 * ends.prod(), clip * ends[1]) if classes else (OWN * clip**2, clip)
        theta, noise, kept = level, plan.settings["walk"] * clip, 0.0
        for j in range(k):
            found = curator.answer("centred_gradient", theta, clip_norm=clip, **about)[:q]
            signal = float(found @ found) - (q + EVIDENT * math.sqrt(2.0 * q)) * noise**2
            likely = 2.0 * math.sqrt(k) / slope * math.hypot(noise * clip, max(signal, 0.0))
            matrix[:q, j] = usual / likely * found
            seen = _seen(small, path, matrix, curator, usual)
            if not j:
                own, chance = square / problem.records, noise * math.sqrt(square / problem.records)
                told = own * usual / likely, chance * usual / likely
                kept, falling = _kept(seen, level[q:], plan.settings["evidence"], *told)
            step = np.append(-falling / (bend * seen.view.typical**2), level[q:])
            theta = matrix @ (step if plan.settings["once"] else _fitted(seen))
        return Solution((level + kept * (theta - level))[:, None], trace=({"gradients cut at": clip, "kept": kept},))

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """The signal of the reference table, as if nothing were learned: its directions do not tell what single columns do."""
        return 0.5 * smooth_and_steep(problem.loss)[0] * Reference.of(problem).signal


def spanned(problem: Problem, k: int) -> Problem:
    """The problem on k columns in which rows are at most 1 long, and the intercept."""
    one = float(problem.intercept)
    small = replace(problem, dimension=k + problem.intercept, public=None, norm_linf=1.0)
    return replace(small, norm_l1=math.sqrt(k) + one, norm_l2=math.sqrt(1.0 + one))


def _seen(small: Problem, path: GradientSchedule, matrix: Array, curator: Answers, usual: float) -> Descent:
    """The records through Wᵀ, and how long they are there."""
    records, middle = curator.projected(matrix), np.zeros(small.slopes)
    grid, nowhere = edges(path.bound, BINS - 1), np.zeros(small.dimension)
    weight = TINY if small.intercept else 1.0
    shares = records.answer("norm_histogram", None, centre=nowhere, intercept_weight=weight, edges=grid)
    typical = quantile(shares, grid, path.share_noise, above=0.5, likely=usual * path.bound)
    view = Coordinates(middle, typical, typical**2, small.intercept, matrix, mean=middle)
    return Descent(small, path, view, records, curator)


def _fitted(seen: Descent) -> Array:
    """Coefficients of W's columns."""
    descent, level = seen.opened()
    return descent.second_phase(*descent.first_phase(level))[0]


def _kept(seen: Descent, level: Array, noise: float, own: float, chance: float) -> tuple[float, float]:
    """How much of the way there is evidence for, and the derivative downhill; `own` of the derivative along the first column the records themselves put there, which differs by `chance` of records."""
    point, clip = np.append(np.zeros(seen.view.slopes), level), seen.path.slope * seen.view.typical
    falling = float(seen.gradient(point, clip, TINY if seen.view.intercept else 1.0)[0])
    sure = SURE * math.hypot(noise * clip, chance)
    excess = max(falling - own, sure)
    return (1.0 - (sure / excess) ** 2) * excess / (excess + own), falling
