"""Levels, and missing values, of which the released means show no record: what noise made of their coefficients is held near the average.

A level, or the indicator of a missing number, is a 0/1 column, whose released mean is its share r. The records say next to nothing of one that they
never show, and how far away a solver has walked says what a prediction for it is. So a column whose share is below `SEEN` deviations of its noise is held
within a usual deviation of predictions, of levels within `FAR`, times as many deviations of noise as it shows where they are more than one, from 0, in
a block of levels from their average effect `Σ r_k θ_k`, over Σ r_k where all levels have a column. Post-processing of the release.

Of levels the difference is shrunk, besides, by the chance that such a level occurs at all: a share that shows less than `SEEN` σ is below c = 2 `SEEN` σ, once
in 44 not, and where the K shares that are seen, of m to M, have the power law `P(r < s) = (s/M)^α`, `α = (K − 1) / Σ log(M/r_k)` (Hill 1975), a level rarer
than m is rarer than c with chance `(c/m)^α`. With less noise it falls to 0, but where shares are unlike, or one is seen alone, rare levels are no surprise.

And effects of levels are of one kind (random effects, Robinson 1991): with s² = Σ e_k²/(K − 1) of the K ≥ 2 that are seen, e_k from the average, the next one is within
`t s (1 + 1/K)^½`, t Student's quantile of K − 1 degrees of freedom that is as sure as `SEEN` deviations of a normal law. Nor does noise take one further than that.

*Levels that noise hides, or whose gradients were cut.* Effects of levels are of one kind (random effects, Robinson 1991): about their average, over the records of those that were not cut, they are taken as normal, of a variance s² that is estimated from all (empirical Bayes, Morris 1983): its mean for s anywhere up to `USUAL_LINK`, or to the largest difference from the average of a level that is seen where that is more (categories that nearly separate events), weighted by the
likelihood of what each level's own estimate says at its noise. A level becomes the mean, weighted by inverse variances, of the average, by s², of its own estimate, and of its coefficient as it was. Of two classes and of rare counts, before all else.

A value that is missing is one more level of its category, and that of a number is alone beside the records that have one, whose effect is 0: so a column that is never missing, of which noise shows more than two deviations once in 44, is told no further from 0 than noise lets it be.

*Own estimate.* Records of a level of share r lie 1/√r or further from the centre where records are round. Steps by gradients cut at c take the rarer outcome of such a level for rarer than it is, of odds up to `(1 − p̂)L/c` times too small. With chances p̂ at the released point, records of length L
and a derivative u of one event (1 of classes, of counts one over their bound) the score of the level is in the mean, over r, `g = p min(u(1 − p̂), c/L) − (1 − p) min(up̂, c/L)`, p its true chance: linear in p, which so has an estimate of known noise, and with p(1 − p) at the average an effect.
A small g is no evidence for p̂ where r is not sure: r's error counts at the g that the average effect would make. The end of a walk by whitened gradients releases no score: it is 0 there, but for the noise of the steps, which says the same.

*The coefficient's noise* is that of the level's score over `r u p(1 − p)`, p the level's or the average's, whichever is told better: it is where gradients cancel, which needs no share. Where the rarer outcome's gradients are more than `LONG` times as long as where the walk or the score cut them, what that may have taken, `log² ((1 − p̂)L/c)`, comes to it, and the own estimate has a part;
others stay unless noise has more than `DROWNED` times the variance of effects. The intercept keeps the total of levels that are seen, all others taken for records without an effect: it solves `Σ r_k p(z_k + e_k + δ) = Σ r_k p(z_k + e_k⁰)` for δ, which is no further from 0 than the level that moved furthest: one Newton step at the average record overshoots where that record's chance is next to 0 or 1. Intervals rest on the score, and stay.

*Levels where targets are numbers* (squared and Huber's losses, at the end of a walk by measured gradients, with a step by a score after it or without). A column of a level of share r is seen w long, records of it are L long, and cut gradients leave `κ = P(|residual| < c/L)` of their
curvature, taken as of normal residuals of a usual deviation. A walk that travels η takes the ridge w²/η, and its gradients' noise τ: the coefficient's difference from the average is near `a e`, e the effect and `a = κr/(κr + w²/η)`, and has noise of deviation `a τw/(κr)`, or what
a score's says where that is less. (Of coordinates that are not whitened w is 1, and L a usual length.) Of r its released value is known, of normal noise σ, and that shares of K levels are of one kind: by a gamma law with their mean, and the variance that noise leaves of theirs, with `SEEN` deviations of it, `σ²√(2/K)`, more, as what hides
cannot be said to be alike. 40 quantiles of what the released value leaves of r, evenly likely, are weighed by that law and by the likelihood of the coefficient: without the law a level of which nothing is seen counted as one of a few σ, whose coefficient would be told, and the more so the less noise there is. Effects are normal, of a variance with the mean of its likelihood, as above, up to a usual deviation of predictions,
and each becomes its mean: nearer to the average where noise is large, of whitened coordinates further from it where the walk has gone a part of the way. The intercept takes back what that changes in the mean.
"""

import math
from dataclasses import replace

import numpy as np
from scipy.special import erf, expit, log_softmax, logsumexp, ndtr, ndtri, softmax, stdtrit

from hullabaloo.data import Encoding
from hullabaloo.data.layout import Layout
from hullabaloo.geometry import NoPenalty, SquaredL2Penalty
from hullabaloo.losses import Huber, Logistic, Loss, Poisson, Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.answers import Array, NoisyScore
from hullabaloo.release.levels import levels
from hullabaloo.solvers.base import Marginals, Plan, Problem, Solution
from hullabaloo.solvers.gradient.measured_gradient import USUAL_LINK
from hullabaloo.solvers.gradient.schedule import GradientSchedule, is_residual

LONG, DROWNED, RARE = 2.0, 2.0, 0.5
"""How many times the cut gradients of the rarer outcome are long before what it took is reckoned with; how many times the variance of effects noise has before a level moves that was not cut; and the chance up to which counts are rare.
All was chosen on tables of Adult, bank, fremtpl2 and hflights at ε = 0.3, 1 and 3. At a `DROWNED` of 4 motor claims gain a third less and Adult's 41 countries a sixth; at 1 months of bank, whose rare ones differ, lose .008 of the share."""
SPREADS = np.linspace(0.1, USUAL_LINK, 20)[:, None] ** 2
SEEN, ALL, FAR = 2.0, 4.0, 3.0
"""Deviations of its noise from which a share is taken to be that of some record (one that is never seen: once in 44 fits), and within which shares may be those
of all (of levels that all records have: once in 30 000 fits, as what the others would be predicted is determined by nothing); and how many usual deviations a level may have of which nothing is seen: real levels of few records have effects, too."""


def held_near(encoding: Encoding, problem: Problem, plan: Plan, solution: Solution) -> Solution:
    """The solution with unseen patterns near the average, and rare ones near what levels alike make likely; as it is where no means are released, or a set or a penalty with corners holds it."""
    told, layout = solution.marginals, encoding.layout
    if told is None and solution.scores and problem.intercept:
        means = np.column_stack([one.centre for one in solution.scores])
        usual = np.array([_usual(one, problem) for one in solution.scores])
        told = Marginals(means, float(plan.settings["mean_noise"]) / solution.mean_weight, usual)
    held = problem.constraint is not None or not isinstance(problem.penalty, NoPenalty | SquaredL2Penalty)
    if layout is None or told is None or held:
        return solution
    solution = replace(solution, theta=solution.theta.copy())
    length = np.maximum(np.linalg.norm(told.means, axis=0), 1e-100)
    longer = 0.5 + np.sqrt(0.25 + len(told.means) * (told.noise / length) ** 2)  # than means that were shrunk
    told = replace(told, means=told.means * longer)
    for k, theta in enumerate(solution.theta.T):
        if isinstance(problem.penalty, NoPenalty) and not problem.before:
            _alike(encoding, problem, plan, solution, k, told.noise)
        _hold(layout, theta, told.means[:, k], told.noise, float(told.spread[k]), problem)
        if isinstance(problem.loss, Squared | Huber) and isinstance(problem.penalty, NoPenalty) and not problem.before:
            _drawn(layout, problem, plan, solution, k, told)
    return solution


def _drawn(layout: Layout, problem: Problem, plan: Plan, solution: Solution, k: int, told: Marginals) -> None:
    """The solution's θ of target k, in place."""
    end, path, theta, view = _end(problem, plan, solution, k), _path(plan), solution.theta[:, k], solution.coordinates
    if end is None or path is None or view is None or told.noise == 0.0:
        return
    walk, usual = solution.trace[k], float(told.spread[k])
    cut, plain = walk["gradients cut at"], view.matrix is None
    lengths = np.maximum(np.linalg.norm(end.matrix, axis=1), view.typical * plain)
    left = erf(cut / (math.sqrt(2.0) * usual * lengths))
    far = walk.get("boldness", 1.0) * path.travel(view.typical, cut)
    far = (far + path.travel(view.typical, cut, late=True)) * walk["farther"]
    wide = np.linalg.norm(np.linalg.inv(end.matrix), axis=0)
    loud, ridge = end.score_noise * wide / left, wide**2 / left / far
    for found in solution.scores[k : k + 1]:
        loud = np.minimum(loud, found.score_noise * np.linalg.norm(np.linalg.inv(found.matrix), axis=0))
    spreads = SPREADS * (usual / USUAL_LINK) ** 2
    for block in layout.onehot:
        columns = list(block.columns)
        shares, own = told.means[columns, k], theta[columns]
        seen = np.maximum(shares, -ALL * told.noise)
        r = seen - told.noise * ndtri(np.outer((np.arange(40.0) + 0.5) / 40.0, ndtr(seen / told.noise)))
        mean = max(float(np.mean(shares)), told.noise / math.sqrt(len(shares)))
        unlike = float(np.var(shares)) - told.noise**2 * (1.0 - SEEN * math.sqrt(2.0 / len(shares)))
        shape = mean**2 / max(unlike, mean**2 / 40.0)
        likely = log_softmax((shape - 1.0) * np.log(r) - shape * r / mean, axis=0)
        sure, part = 1.0 / (spreads[:, None] + (loud[columns] / r) ** 2), r / (r + ridge[columns])
        weights = np.sum(sure * np.exp(likely), axis=1)
        average = (weights @ own / weights.sum(axis=1))[:, None]
        away = (own - average)[:, None] / part
        fits = 0.5 * (np.log(sure) - away**2 * sure) - np.log(part) + likely
        drawn = spreads * np.sum(softmax(fits, axis=1) * sure * away, axis=1)
        if plain:
            drawn = np.sign(drawn) * np.minimum(np.abs(drawn), np.abs(own - average))
        theta[columns] = softmax(logsumexp(fits, axis=1).sum(axis=1)) @ (average + drawn)
        theta[-1] -= np.sum(r * np.exp(likely), axis=0) @ (theta[columns] - own)


def _alike(encoding: Encoding, problem: Problem, plan: Plan, solution: Solution, k: int, noise: float) -> None:
    """The solution's θ of target k, in place; `noise` is that of a share."""
    counts, view, theta = isinstance(problem.loss, Poisson), solution.coordinates, solution.theta[:, k]
    found = solution.scores[k] if solution.scores else _end(problem, plan, solution, k)
    if found is None or encoding.layout is None or not (counts or isinstance(problem.loss, Logistic)):
        return
    unit = math.exp(-float(encoding.prediction_offset[k]))
    shift = max(problem.offset_bound - math.log(2.0), 0.0) - math.log(unit)  # exposed for half the bound in the mean

    def chances(z: Array) -> Array:
        p = np.exp(np.minimum(z + shift, 0.0)) if counts else expit(z)
        return np.asarray(np.clip(p, 1e-6, RARE if counts else 1.0 - 1e-6))

    middle = float(chances(theta @ np.append(found.centre, 1.0)))
    usual = {one.column: one for one in levels(encoding, found) if not one.baseline}
    back, cut = np.linalg.inv(found.matrix), found.weight * found.score_noise
    cuts = [(found.matrix, cut / plan.settings["score_noise"])] if solution.scores else []
    cuts += [] if view is None or view.matrix is None else [(view.whole, solution.trace[k]["gradients cut at"])]
    layout, missing = encoding.layout, not problem.earlier  # missing values are of a kind, too
    groups = [(list(b.places if missing else b.columns), len(b.columns) < len(b.all_levels)) for b in layout.onehot]
    groups += [([one.indicator], True) for one in layout.numeric if missing and one.indicator >= 0]
    for columns, others in () if counts and middle >= RARE else groups:
        share = np.array([usual[one].share for one in columns])
        X = np.array([usual[one].record for one in columns]).reshape(len(columns), len(theta))
        r, at, rest = np.maximum(share, max(noise, 1e-9)), chances(X @ found.point), X @ theta - theta[columns]
        within = [length / (unit * np.linalg.norm(X @ matrix, axis=1)) for matrix, length in cuts]
        longer = np.maximum(at, 1.0 - at) / np.min(within, axis=0)
        long = longer > LONG
        sure = np.where(long.all() | ~long, r, 0.0)
        average = float(sure @ theta[columns]) / max(float(sure.sum()), float(others) or 1e-300)
        usually, own = chances(rest + average), chances(rest + theta[columns])
        ways, g = np.minimum([1.0 - at, at], within[0]), (found.score @ back)[columns] / (unit * r)
        told, heard = ways.sum(axis=0), found.score_noise * np.linalg.norm(back, axis=0)[columns] / (unit * r)
        bend = usually * (1.0 - usually)
        bent = np.maximum(bend, own * (1.0 - own))
        doubt = np.maximum(np.abs(g), np.abs(usually * told - ways[1])) * noise / r
        errors = (np.hypot(heard, doubt) / told / bend) ** 2 + 1.0 / (bend * r * found.counted)
        loud = (heard / told / bent) ** 2 + 1.0 / (bent * r * found.counted)
        effects = ((g + ways[1]) / told - usually) / bend
        # As before in streams that have begun: of several classes what is asked next depends on it.
        shown = np.abs(theta[columns] - average) * (share > SEEN * noise) * (problem.earlier < 3)
        widest = max(USUAL_LINK, float(np.max(shown, initial=0.0)))
        spreads = np.linspace(0.1, widest, 20)[:, None] ** 2
        variances = spreads + np.append(errors, [0.0] * others)
        odds = np.sum(np.log(variances) + np.append(effects, [-average] * others) ** 2 / variances, axis=1)
        spread = float(np.average(spreads[:, 0], weights=np.exp(0.5 * (odds.min() - odds))))
        weights = np.array([long / errors, 1.0 / (loud + long * np.log(longer) ** 2), 0.0 * r + 1.0 / spread])
        near = [average + effects, theta[columns], 0.0 * r + average]
        theta[columns] = np.where(long | (loud > DROWNED * spread), np.average(near, 0, weights), theta[columns])
        seen, flat = share * (share > SEEN * noise), np.average(rest, weights=r, keepdims=True)
        parts, most = np.append(seen, max(1.0 - float(seen.sum()), 0.0)), np.max(np.abs(theta[columns] - near[1]))
        away = np.linspace(-most, most, 2001)
        totals = chances(np.append(rest + theta[columns], flat) + away[:, None]) @ parts
        theta[-1] += np.interp(parts @ np.append(own, chances(flat)), totals, away)


def _end(problem: Problem, plan: Plan, solution: Solution, k: int) -> NoisyScore | None:
    """The score at the end of a walk by whitened gradients, None of other solvers: 0 but for the noise of its steps, in their coordinates."""
    view, path = solution.coordinates, _path(plan)
    if view is None or path is None or (view.matrix is None and isinstance(problem.loss, Logistic | Poisson)):
        return None
    whole = (replace(view, matrix=np.eye(view.slopes)) if view.matrix is None else view).whole
    noise, zero = path.result_noise * solution.trace[k]["gradients cut at"] / solution.mean_weight, 0.0 * whole
    told = solution.theta[:, k].copy(), whole, zero[0], zero, zero, np.ones(len(zero)), noise, 0.0, 0.0, 0.0
    return NoisyScore(*told, records=float(problem.records), weight=solution.mean_weight)


def _path(plan: Plan) -> GradientSchedule | None:
    """The settings of a walk by measured gradients, alone or beside inference."""
    own = plan.settings.get("solver settings", plan.settings)
    return GradientSchedule(**{name: own[name] for name in own if name != "floor"}) if "late_noise" in own else None


def _usual(found: NoisyScore, problem: Problem) -> float:
    """The spread by the residual's variance and the predictions', as spread and curvature have them, where the loss has residuals."""
    if not isinstance(problem.loss, Loss) or not is_residual(problem.loss):
        return USUAL_LINK
    slopes, curvature = np.linalg.solve(found.matrix, found.point)[:-1], max(float(np.trace(found.curvature)), 1e-300)
    explained = float(slopes @ found.curvature[:-1, :-1] @ slopes)
    return min(math.sqrt(max(float(np.trace(found.spread)) / curvature + explained, 0.0)), 1.0)


def _hold(layout: Layout, theta: Array, shares: Array, noise: float, farthest: float, problem: Problem) -> None:
    """θ (p,) of one target, in place; a count that is expected to be nearly 0 is not raised, which could blow up a total.

    Where records count `once` each, the slope of a number that is missing in all of them is held, too, and the intercept takes what its indicator has beyond.
    Where every level has a column and no record is seen without one, the intercept is determined by nothing: unless a penalty says what it is (`free`), it takes the
    average, and levels what they differ from it by, so that an undeclared level is predicted as the average. Of a missing value what stays of a share r is
    (1 − (noise/r)²)₊, the variance of r that is not noise's (James and Stein 1961).
    """
    once = problem.max_weight == 1.0 and problem.neighbours is Neighbours.REPLACE_ONE
    counts, free = isinstance(problem.loss, Poisson), isinstance(problem.penalty, NoPenalty)

    def hold(columns: list[int], reach: float, average: float = 0.0, occurs: float | None = None) -> None:
        shown = np.maximum(shares[columns] / max(noise, 1e-300), 1.0)
        real = 1.0 if counts else 1.0 - shown**-2.0 if occurs is None else occurs
        moved = np.clip(theta[columns] - average, -math.inf if counts else -reach * shown, reach * shown)
        # A step that knows no blocks sets what it cannot tell to 0: no effect is none from the average.
        near = average + real * moved * (counts | (theta[columns] != 0.0))
        theta[columns] = np.where(shares[columns] < SEEN * noise, near, theta[columns])

    for block in layout.onehot:
        columns = list(block.columns)
        likely = np.maximum(shares[columns], 0.0)
        least = 1.0 if len(columns) < len(block.all_levels) else 1e-300  # a record without a column is one of effect 0
        average = float(likely @ theta[columns]) / max(float(likely.sum()), least)
        told = shares[columns] >= max(SEEN * noise, 1e-300)
        seen, occurs, reach = shares[columns][told], 1.0, FAR * farthest
        if len(seen) > 1:
            above = len(seen) - 1
            spread = math.sqrt(float(np.sum((theta[columns][told] - average) ** 2)) * (1.0 + 1.0 / len(seen)) / above)
            reach = min(reach, float(stdtrit(above, ndtr(SEEN))) * spread)
            power = above / max(float(np.log(seen.max() / seen).sum()), 1e-9)
            occurs = min(2.0 * SEEN * noise / float(seen.min()), 1.0) ** power
        hold(columns, reach, average, occurs)
        unknown = [block.missing] * (block.missing >= 0)
        hold(unknown, farthest, average)
        rest = 1.0 - float(shares[columns + unknown].sum())
        if once and free and least < 1.0 and rest < ALL * noise * math.sqrt(len(columns + unknown)):
            theta[columns + unknown] -= average
            theta[-1] += average
    for number in layout.numeric:
        hold([number.indicator] * (number.indicator >= 0), farthest)
        if once and number.indicator >= 0 and shares[number.indicator] > 1.0 - ALL * noise:
            for column, beyond in ((number.column, 0.0), (number.indicator, 1.0)):
                near = min(max(theta[column], -farthest), farthest)
                theta[-1] += beyond * (theta[column] - near)
                theta[column] = near
