"""Levels that noise hides, or whose gradients were cut: an effect is as likely as the other levels of its category make it.

Effects of levels are of one kind (random effects, Robinson 1991): about their average, over the records of those that were not cut, they are taken as normal, of a variance s² that is estimated from all (empirical Bayes, Morris 1983): its mean for s anywhere up to `USUAL_LINK`, weighted by the
likelihood of what each level's own estimate says at its noise. A level becomes the mean, weighted by inverse variances, of the average, by s², of its own estimate, and of its coefficient as it was. Post-processing of the release, of two classes and of rare counts; then `unseen.py` holds those that no share shows.

*Own estimate.* Records of a level of share r lie 1/√r or further from the centre where records are round. Steps by gradients cut at c take the rarer outcome of such a level for rarer than it is, of odds up to `(1 − p̂)L/c` times too small. With chances p̂ at the released point, records of length L
and a derivative u of one event (1 of classes, of counts one over their bound) the score of the level is in the mean, over r, `g = p min(u(1 − p̂), c/L) − (1 − p) min(up̂, c/L)`, p its true chance: linear in p, which so has an estimate of known noise, and with p(1 − p) at the average an effect, kept within `USUAL_LINK`.
A small g is no evidence for p̂ where r is not sure: r's error counts at the g that the average effect would make. The walk's end releases no score: it is 0 there, but for the noise of the steps, which says the same.

*The coefficient's noise* is that of g over `u p(1 − p)`, p the level's or the average's, whichever is told better. Where the rarer outcome's gradients are more than `LONG` times as long as where the walk or the score cut them, what that may have taken, `log² ((1 − p̂)L/c)`, comes to it, and the own estimate has a part;
others stay unless noise has more than `DROWNED` times the variance of effects. The intercept keeps the total of levels that are seen. Intervals rest on the score, and stay.
"""

import math
from dataclasses import replace

import numpy as np
from scipy.special import expit

from hullabaloo.data import Encoding
from hullabaloo.losses import Logistic, Poisson
from hullabaloo.privacy.answers import Array, NoisyScore
from hullabaloo.release.levels import levels
from hullabaloo.solvers.base import Plan, Problem, Solution
from hullabaloo.solvers.gradient.measured_gradient import USUAL_LINK
from hullabaloo.solvers.gradient.schedule import GradientSchedule
from hullabaloo.solvers.score.step import SEEN

LONG, DROWNED, RARE = 2.0, 2.0, 0.5
"""How many times the cut gradients of the rarer outcome are long before what it took is reckoned with; how many times the variance of effects noise has before a level moves that was not cut; and the chance up to which counts are rare.
`DROWNED` was chosen on tables of Adult, bank, fremtpl2 and hflights at ε = 0.3, 1 and 3: at 1 months of bank, whose rare ones differ, lose .008 of their share, where 2 loses .002; at 3 motor claims gain half as much."""
SPREADS = np.linspace(0.1, USUAL_LINK, 20)[:, None] ** 2


def alike(encoding: Encoding, problem: Problem, plan: Plan, solution: Solution, k: int, noise: float) -> Array:
    """Coefficients (p,) of target k; `noise` is that of a share."""
    counts, view, theta = isinstance(problem.loss, Poisson), solution.coordinates, solution.theta[:, k].copy()
    found = solution.scores[k] if solution.scores else _end(problem, plan, solution, k)
    if found is None or not (counts or isinstance(problem.loss, Logistic)):
        return theta
    unit = 1.0 / float(encoding.target_scale[k]) if counts else 1.0
    usually_exposed = max(problem.offset_bound - math.log(2.0), 0.0)  # half the bound in the mean

    def chances(z: Array) -> Array:
        p = np.exp(np.minimum(z + usually_exposed - math.log(unit), math.log(RARE))) if counts else expit(z)
        return np.asarray(np.clip(p, 1e-6, 1.0 - 1e-6))

    middle = float(chances(theta @ np.append(found.centre, 1.0)))
    usual = {one.column: one for one in levels(encoding, found) if not one.baseline}
    back, walked = np.linalg.inv(found.matrix), solution.trace[k].get("gradients cut at", math.inf)
    cut = found.weight * found.score_noise / plan.settings["score_noise"] if solution.scores else walked
    for block in encoding.layout.onehot if encoding.layout and not (counts and middle >= RARE) else ():
        columns, others = list(block.columns), len(block.columns) < len(block.all_levels)
        share = np.array([usual[one].share for one in columns])
        X = np.array([usual[one].record for one in columns]).reshape(len(columns), len(theta))
        r, at, rest = np.maximum(share, max(noise, 1e-9)), chances(X @ found.point), X @ theta - theta[columns]
        cuts = cut / (unit * np.linalg.norm(X @ found.matrix, axis=1))
        apart = 0.0 if view is None or view.matrix is None else unit * np.linalg.norm(X @ view.whole, axis=1) / walked
        longer = np.maximum(1.0 / cuts, apart) * np.maximum(at, 1.0 - at)
        long = longer > LONG
        sure = np.where(long.all() | ~long, r, 0.0)
        average = float(sure @ theta[columns]) / max(float(sure.sum()), float(others) or 1e-300)
        usually, own = chances(rest + average), chances(rest + theta[columns])
        ways, g = np.minimum([1.0 - at, at], cuts), (found.score @ back)[columns] / (unit * r)
        told, heard = ways.sum(axis=0), found.score_noise * np.linalg.norm(back, axis=0)[columns] / (unit * r)
        bend = usually * (1.0 - usually)
        bent = np.maximum(bend, own * (1.0 - own))
        doubt = np.maximum(np.abs(g), np.abs(usually * told - ways[1])) * noise / r
        errors = (np.hypot(heard, doubt) / told / bend) ** 2 + 1.0 / (bend * r * found.counted)
        loud = (np.hypot(heard, g * noise / r) / told / bent) ** 2 + 1.0 / (bent * r * found.counted)
        effects = ((g + ways[1]) / told - usually) / bend
        variances = SPREADS + np.append(errors, [0.0] * others)
        odds = np.sum(np.log(variances) + np.append(effects, [-average] * others) ** 2 / variances, axis=1)
        spread = float(np.average(SPREADS[:, 0], weights=np.exp(0.5 * (odds.min() - odds))))
        weights = np.array([long / errors, 1.0 / (loud + long * np.log(longer) ** 2), 0.0 * r + 1.0 / spread])
        near = [average + np.clip(effects, -USUAL_LINK, USUAL_LINK), theta[columns], 0.0 * r + average]
        moves = long | (loud > DROWNED * spread)
        theta[columns] = np.where(moves, np.average(near, axis=0, weights=weights), theta[columns])
        more = float(np.where(share > SEEN * noise, share, 0.0) @ (chances(rest + theta[columns]) - own))
        theta[-1] -= more / (middle * (1.0 - middle))
    return theta


def _end(problem: Problem, plan: Plan, solution: Solution, k: int) -> NoisyScore | None:
    """The score at the end of a walk by gradients, None of other solvers: 0 but for the noise of its steps, in their coordinates."""
    view = solution.coordinates
    if view is None or not view.intercept or view.mean is not None or "late_noise" not in plan.settings:
        return None
    whole = replace(view, matrix=np.eye(view.slopes)).whole if view.matrix is None else view.whole
    whole[:, -1] *= view.intercept_weight
    noise, zero = GradientSchedule(**plan.settings).result_noise / solution.mean_weight, np.zeros_like(whole)
    noises = noise * solution.trace[k]["gradients cut at"], 0.0, 0.0
    told = whole, zero[0], zero, zero, np.ones(len(zero)), *noises, 0.0, float(problem.records)
    return NoisyScore(solution.theta[:, k], *told, weight=solution.mean_weight)
