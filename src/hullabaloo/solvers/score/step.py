"""One Newton step from a noisy score: regularised where noise hides the curvature, with the law of what it leaves.

At the coefficients δ* that the step looks for, `b̃ − G̃δ* = e − Eδ*`: b̃ the released score, G̃ the curvature, e and E their noise. For any matrix H
that is a function of G̃ (E is independent of e)

    Hb̃ − δ* = H(e − Eδ*) − (I − HG̃)δ*,

so what H leaves undone is known but for δ*. In the eigendirections of G̃, of eigenvalues h_k, δ* is taken to be such that each explains as much:
of variance `τ_k² = ε/h_k`, ε by what the score is longer than noise, and at least a share `DOUBT` of the residual variance for all together; where noise
hides h_k, by what of it is sure. Then `H_k = h_k/(h_k² + reg (t² + ½s² Σ τ²)/τ_k²)` (Tikhonov) has the least mean squared error at reg = 1.

That each explains as much is an assumption. Directions that noise hides, in all likelihood from the walk before as well, explain more on some tables, and the score cannot show it: there it is the small curvature
times a large δ*. (Of communities and diamonds at ε = 3, six fits each, the two and three
weakest directions of the population's curvature explain 0.14 and 0.76 % of the residual variance each, others 0.04 and 0.03 %, where 0.01 and 0.03 % are told; 300 of 339 and 104 of 115 intervals hold. `docs/measured.md` says which other laws were tried.)
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from hullabaloo.losses import AnyLoss, Logistic, Loss, Poisson, Squared
from hullabaloo.privacy.answers import Array, NoisyScore
from hullabaloo.solvers.base import Problem
from hullabaloo.solvers.score.normal_predictions import NormalPredictions

INFERENCE, PREDICTION = 0.3, 1.0
"""reg: estimates with errors are less biased, and noisier, than the best prediction."""
DOUBT = 0.005
"""Share of the residual variance that all directions together may still explain, at least. (Chosen on the development half of `benchmarks/inference.py` at ε = 1 and 3, where 96.9 and 94.6 % of 2 243 and 4 184 told hold; .01 makes intervals 4 and 7 % longer, which hold
0.4 and 0.7 % more often. Of the report half, on which nothing was chosen, 96.3 and 95.6 % of 1 048 and 2 002; with .004 abalone, whose columns nearly add up, holds 1.6 % less often at ε = 1.)"""
HIDDEN, LEAST = 0.5, 0.02
"""What is sure of an eigenvalue is it less so many times the spectral radius of the curvature's noise, for predictions, less `SEEN` deviations of one direction's for errors, and at least this share of their mean."""
GUESSED = 0.001
"""Share of the residual variance that each direction may explain whose curvature is less than the spectral radius of its noise: what would be left of it is no part of an error, as it is a guess, but where it is more than all other errors nothing is told.
(The law above leaves .007 to .03 % to each. Of made columns that nearly add up each explains .2 to .5 %, nine tenths of it noise of the walk before, which no curvature holds there. Chosen at .0005 to .0015 on the development half of `benchmarks/inference.py` and on made copies of
rooms' temperatures and humidities; `docs/measured.md` has both, and tables that had no part in it.)"""
SEEN = 2.0
"""Standard deviations of its noise from which a column that stands alone is taken to vary."""
WILD = 1.0
"""How far a column that is not sure to vary may move unit predictions from the middle of its bounds to an end, before its coefficient is 0 instead: half the width of a target."""
BEYOND = 50.0
"""Move beyond which what is left of it is taken as of this one: nothing is told there, and its square must be a number."""
FARTHEST = 1.0
"""Root mean square of how far unit predictions may move in a step: half the width of a target; on the scale of a link the curvature tells nothing further away."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreStep:
    """The step and what it rests on.

    Attributes:
        inverse: H, (q, q).
        step: Hb̃, (q,).
        left: covariance of what H leaves undone, (q, q), and
        hidden: of that along directions that noise hides, were each of them to explain `GUESSED` of the residual variance.
    """

    inverse: Array
    step: Array
    left: Array
    hidden: Array

    def move(self, found: NoisyScore, record: Array) -> float:
        """How far the prediction of a record moves that is seen as this (q,), less what noise alone makes of its square."""
        far, noise = float(record @ self.step), found.score_noise * float(np.linalg.norm(self.inverse @ record))
        return math.copysign(math.sqrt(max(far**2 - noise**2, 0.0)), far)

    def far(self, found: NoisyScore) -> tuple[float, float]:
        """How far predictions move beyond noise, root mean square, and how far noise alone moves them."""
        noise = found.score_noise * float(np.linalg.norm(found.scale[:, None] * self.inverse))
        return math.sqrt(max(moved(found, self.step) ** 2 - noise**2, 0.0)), noise

    def beyond(self, found: NoisyScore) -> float:
        """How far the estimates of classes may be from the released point, in predictions weighed by φ'', root mean square; infinite where nothing bounds it.

        Where all predictions have to move by d a step is `1 − e^{−|d|}` long at least, as `|φ‴| ≤ φ''`, and about 1 from anywhere far off (of classes that lie apart exact steps were 0.7, 1.0 and 1 to 2 long where the distance was 1.0, 4.4 and 8 to 12). Its square is taken as what is seen of it beyond noise, and
        that of a step by all that shortening takes, along `E φ''v`: but for a share 2p long gradients are those of the rarer class.
        """
        gram, a = found.curvature, float(found.matrix[-1, -1])
        h = max(float(gram[-1, -1]), 1e-300) / a**2
        bent, along = self.inverse @ gram @ self.inverse, gram[-1] / max(float(np.linalg.norm(gram[-1])), 1e-300)
        seen = float(self.step @ gram @ self.step) - found.score_noise**2 * float(np.trace(bent))
        lost = (skew(h) * found.excess) ** 2 * float(along @ bent @ along)
        step = math.sqrt((max(seen, 0.0) + max(lost, 0.0)) / h)
        return -math.log1p(-step) if step < 1.0 else math.inf

    def swing(self, found: NoisyScore) -> Array:
        """How far records at an end of each column are moved by what the column alone says beyond noise, times the share of its variance that the curvature does not see, (p,); 0 for the constant.

        A column of deviation σ of which the others leave a part of deviation w is at most r = (1 + |mean|)/σ deviations from its mean. A step that changes its coefficient by t beyond noise moves a record that far off by `|t|wr`, whose φ'' is known to a
        factor `e^{|t|wr}` only, as `|φ‴| ≤ φ''`. Where φ'' were alike along `u = Ha` its curvature would be `h‖Su‖²`, S the scale: what of that `uᵀGu` has not is of records whose φ'' has gone, long ones.
        """
        rows, gram, scale = found.matrix[:-1], found.curvature, found.scale
        u, h = rows @ self.inverse, float(gram[-1, -1]) / float(found.matrix[-1, -1]) ** 2
        noise = found.score_noise * np.linalg.norm(u, axis=1)
        alone = np.sqrt(np.maximum((rows @ self.step) ** 2 - noise**2, 0.0)) / np.linalg.norm(rows / scale, axis=1)
        gone = 1.0 - ((u @ gram) * u).sum(axis=1) / np.maximum(h * ((u * scale) ** 2).sum(axis=1), 1e-300)
        deviations = np.linalg.norm(scale[:-1, None] * np.linalg.inv(found.matrix)[:-1, :-1], axis=0)
        return np.append(alone * (1.0 + np.abs(found.centre)) / deviations * np.maximum(gone, 0.0), 0.0)


def radius(found: NoisyScore, size: int) -> float:
    """The spectral radius of the curvature's noise in so many directions (Wigner's law)."""
    return found.curvature_noise * float(np.mean(found.scale**2)) * math.sqrt(2.0 * size)


def moved(found: NoisyScore, step: Array) -> float:
    """How far predictions move, root mean square: in coordinates in which records are round."""
    return float(np.linalg.norm(found.scale * step))


def score_step(
    found: NoisyScore,
    reg: float,
    doubt: float = 0.0,
    basis: Array | None = None,
    *,
    evident: bool = False,
    beside: Array | None = None,
) -> ScoreStep:
    """The step within a subspace (orthonormal columns, (q, r); None for all); `doubt` is the least δ* that is reckoned with.

    With `beside`, a covariance (q, q) beside that of noise, H is least in mean squared error with both.
    Where only what is `evident` counts there is no step while the score is as long as a standard deviation above pure noise would make it."""
    q, scales = found.score.size, found.scale**2
    within = np.eye(q) if basis is None else basis
    gram, cross, size = within.T @ found.curvature @ within, within.T @ found.score, within.shape[1]
    values, vectors = np.linalg.eigh(gram)
    positive, noise = np.maximum(values, 0.0), found.score_noise**2
    if not positive.any():
        return ScoreStep(np.zeros((q, q)), np.zeros(q), *np.zeros((2, q, q)))
    mean = float(cross @ cross) / size
    seen = max(mean - (1.0 + math.sqrt(2.0 / size)) * noise, 0.0) if evident else max(mean, 2.0 * noise) - noise
    seen *= float(np.mean(positive)) / max(float(np.mean(positive**2)), 1e-300)
    energy = max(seen, doubt * found.residual / size, 1e-300)
    edge = (HIDDEN * math.sqrt(2.0 * size) if evident else SEEN) * found.curvature_noise * float(np.mean(scales))
    sure = np.maximum(values - edge, max(LEAST * float(np.mean(positive)), 1e-300))
    likely, guessed = energy / sure, GUESSED * found.residual / sure * (values < radius(found, size))
    spoiled = 0.5 * (found.curvature_noise * float(np.mean(scales))) ** 2 * float(np.sum(likely))
    inner = (vectors * (values / (values**2 + reg * (noise + spoiled) / likely))) @ vectors.T
    if beside is not None:
        known = gram @ (vectors * likely) @ vectors.T
        all_noise = reg * (noise + spoiled) * np.eye(size) + within.T @ beside @ within
        inner = np.linalg.solve(known @ gram + all_noise, known).T
    inverse = within @ inner @ within.T
    undone = within @ vectors - inverse @ found.curvature @ within @ vectors
    return ScoreStep(inverse, inverse @ found.score, *((undone * one) @ undone.T for one in (likely, guessed)))


def left_of(loss: Loss, z: float, move: float) -> float:
    """`φ''(z) |d − d φ''(z)/h̄|`, h̄ the mean of φ'' between z and z + d: what a step that moves predictions z of records alike by d leaves of their gradients, as far as it shows;
    of classes and counts, whose φ'' does not depend on the target."""
    move = min(max(move, -BEYOND), BEYOND)
    at, y = np.array([z, z + move]), np.ones(2)
    before, after = loss.derivative(at, y)
    linear = abs(float(loss.second_derivative(at, y)[0]) * move)
    bent = max(abs(float(after - before)), linear / BEYOND, 1e-300)
    return linear * abs(1.0 - linear / bent)


def undone(found: NoisyScore, loss: AnyLoss, step: Array, far: float, intercept: bool, held: bool) -> Array:
    """Covariance (q, q) of what a step leaves, where it moves predictions by m = `far` beyond noise.

    Where shortening took a share k of the curvature, `kG̃δ`, δ as far as it is longer than noise makes it.

    Of a loss that is no quadratic the step leaves `r = E φ‴(z + sd)d²v(1 − s)`, s from 0 to 1, where predictions z move by d. As `|φ‴| ≤ φ''` for classes and counts it is taken as at most `b = (e^m − 1 − m) h̄^{1/2}` long in
    all directions together (Bessel's inequality in the metric of G̃; Bach 2010, with the largest |d| for m), m the root mean square of d and h̄ the mean curvature. Of normal records, all coefficients were off by less than 1.96 deviations of
    that. (Of made counts with two gamma columns, two of t of 5 degrees, log-normal ones or 0/1 columns of 10 or 2 %, 40 steps each of coefficients of deviation 0.05 to 0.2, what records that are not normal leave besides is 0.7 to 8 b²
    in the mean, in the worst step 2 to 127, and 0 to 12 % of the coefficients were off by more than 1.96 deviations of what is told of bending alone.)
    Its weight is a function of z and d alone, so that for elliptical
    records r lies in the span of the constant, z and d (Li & Duan 1989): there it is taken as b long, in each direction, and besides as spread evenly over all, for other shapes. (Measured on law school, Adult, bank and
    a rare class at ε = 1 and 3: 0.2 to 1.8 times `½m²h̄^{1/2}` long at the estimated m, 0.7 on average, and 0.2 to 1.0 of its square in that span; at the true m 0.1 to 0.4 times b.)

    Of counts φ'' is e^z: weighed by it normal records are normal around another centre, so that by Stein's (1981) lemma r is `E φ''ψ v + E φ''ψ′ cov(v, d)`, ψ a function of d: in the span of the constant
    and d, and z has no part. (Shown on counts, rare counts and motor claims of Belgium and France, ε = 1 to 100: of 159 intervals that are at least 3 % shorter for it 157 hold, of rare counts at ε = 1 a quarter shorter.)

    Of classes `|φ‴| = φ''|1 − 2p|`: b is as much shorter as that is where predictions are normal (`NormalPredictions.bentness`; its square at ε = 1: 0.3 of it on electricity and noaa, where 0.05 to 0.07 came in the
    median, 0.8 on a class of 4 %), and it is taken as anything up to b, a uniform law, of a third of the square; unless a set or penalty has `held` the coefficients: a step from far off sees little of the way. (With a third of b² there 50 to 88 % held where a set keeps slopes of 6 and 8 at 1 and 2.)
    """
    values, vectors = np.linalg.eigh(found.curvature)
    bend = (vectors * np.maximum(values, 0.0)) @ vectors.T
    left = max(float(np.trace(found.curvature) / np.sum(found.scale**2)), 1e-300)
    share = found.shortened / (found.shortened + left) * min(far / max(moved(found, step), 1e-300), 1.0)
    wrong = share * found.curvature @ step
    if isinstance(loss, Squared):
        return np.outer(wrong, wrong)
    level = np.eye(len(step))[:, len(step) - intercept :]
    turned = level if isinstance(loss, Poisson) else np.column_stack([found.point, level])
    ways = np.column_stack([np.linalg.solve(found.matrix, turned), step])
    m, along = min(far, BEYOND), bend @ ways
    within = along @ np.linalg.pinv(ways.T @ along, rcond=1e-8, hermitian=True) @ along.T
    size = (math.expm1(m) - m) ** 2 * float(np.trace(bend) / np.sum(found.scale**2))
    if isinstance(loss, Logistic) and intercept and not held:
        size *= NormalPredictions.of(found, found.point).bentness(m) ** 2 / 3.0
    return np.asarray(np.outer(wrong, wrong) + size * (within + bend / len(bend)), dtype=np.float64)


def stepped(problem: Problem, found: NoisyScore, *hidden: Array) -> Array:
    """A target's coefficients after the step, (p,); without the curvature that is hidden, that of rare levels and of narrow columns is many times too long. Of several the first is taken whose step is within `FARTHEST`, else the last."""
    classes = isinstance(problem.loss, Logistic) and problem.earlier < 2
    back = drawn_back(found, classes) if problem.intercept else np.zeros_like(found.score)
    for beside in hidden:
        whole = replace(after(found, back), curvature=found.curvature + beside)
        step = score_step(whole, PREDICTION, evident=True).step
        if moved(found, back + step) < FARTHEST:
            break
    step = back + step * min(1.0, FARTHEST / max(moved(found, step), 1e-300))
    if problem.intercept and isinstance(problem.loss, Logistic | Poisson):
        step = levelled(found, step, problem.loss, bends=problem.earlier < 3)
    theta = found.point + found.matrix @ step
    wild = faint(found, problem.intercept) & (np.abs(theta) * problem.norm_linf > WILD)
    wild &= isinstance(problem.loss, Squared)  # whose curvature is the columns' own
    theta = np.where(wild, 0.0, theta)
    if problem.intercept and wild.any():  # the level by the score and the curvature, less noisy than by released means
        left = found.score - found.curvature @ np.linalg.solve(found.matrix, theta - found.point)
        a, seen = float(found.matrix[-1, -1]), float(found.curvature[-1, -1])  # shortened records have less than a²
        theta[-1] += float(left[-1]) * a / (seen if level_told(found) else a**2)
    return theta


def after(found: NoisyScore, step: Array) -> NoisyScore:
    """The score after a step, as the curvature has it, whose noise it then has, too."""
    noise = found.curvature_noise * moved(found, step) * math.sqrt(0.5 * float(np.mean(found.scale**2)))
    return replace(found, score=found.score - found.curvature @ step, score_noise=math.hypot(found.score_noise, noise))


def level_told(found: NoisyScore) -> bool:
    """Whether the curvature along the constant is seen, `SEEN` deviations of its noise above 0."""
    return float(found.curvature[-1, -1]) > SEEN * found.curvature_noise * float(found.scale[-1]) ** 2


def drawn_back(found: NoisyScore, classes: bool = False) -> Array:
    """The move from the released point towards its mean prediction that the score speaks for, (q,): noise in the point's slopes is taken out where it hides the signal.

    Along the slopes s of the point, the level following, the quadratic of score and curvature is least at `1 + ⟨s, b⟩/⟨s, Gs⟩` times s; no more than s is taken back. Of classes a deviation of the score's noise along s is no reason to, nor is anything where the
    estimates may be farther than `FARTHEST`: there a rare class's gradients are the longest, cut most, and what is left of them speaks for slopes that are too short (covertype, 1 %, ε = 1: two of ten fits lost all that the walk had gained, and the ten kept .46 of the gain; .61 so).
    """
    G, b = found.curvature, found.score
    far = classes and score_step(found, INFERENCE, DOUBT).beyond(found) > FARTHEST
    if far or not level_told(found):
        return np.zeros_like(b)
    across = G[:-1, -1] / float(G[-1, -1])
    s = np.linalg.solve(found.matrix, found.point)[:-1]
    bent = float(s @ (G[:-1, :-1] - np.outer(across, G[:-1, -1])) @ s)
    way = np.append(-s, across @ s)
    gain = classes * found.score_noise * float(np.linalg.norm(way)) - float(way @ b)
    share = min(max(-gain / bent, 0.0), 1.0) if bent > 0.0 else 0.0
    return share * way


def skew(bent: float) -> float:
    """1 − 2p of the rarer of two classes, where all chances are p and the curvature p(1 − p)."""
    return math.sqrt(max(1.0 - 4.0 * max(bent, 0.0), 0.0))


class Change(NamedTuple):
    """Of the mean prediction by a step, over the mean curvature: by the linear model, as the loss bends, and by bending alone were the linear part 0."""

    mean: float
    bent: float
    still: float


def change(found: NoisyScore, step: Array, loss: Loss) -> Change:
    """By how much a step d changes the mean prediction, over the mean curvature h: as the linear model has it, `m = E φ''⟨v, d⟩/h`, and as the loss bends.

    Of counts that is `e^m (1 + ½V) − 1`, V the variance of ⟨v, d⟩ over records weighted by φ'': to the second order in ⟨v, d⟩ − m. A chance bends both ways, most
    where it is weighed least, so that of classes what records with normal predictions would add to their own linear part is added, over their own h.
    """
    a, G = float(found.matrix[-1, -1]), found.curvature
    if not level_told(found):
        return Change(0.0, 0.0, 0.0)
    h = float(G[-1, -1]) / a**2
    mean = float(G[-1] @ step) / (a * h)
    if isinstance(loss, Poisson):
        around = max(float(step @ G @ step) / h - mean**2, 0.0)
        return Change(mean, math.exp(min(mean, 50.0)) * (1.0 + 0.5 * around) - 1.0, 0.5 * around)
    if not isinstance(loss, Logistic):
        return Change(mean, mean, 0.0)
    old = NormalPredictions.of(found, found.point)
    new = NormalPredictions.of(found, found.point + found.matrix @ step)
    linear, level = old.linear(new)
    still = replace(new, mean=old.mean + level).chance - old.chance
    return Change(mean, mean + (new.chance - old.chance - linear) / old.curvature, still / old.curvature)


def levelled(found: NoisyScore, step: Array, loss: Loss, *, bends: bool = True) -> Array:
    """The step with the level at which the mean prediction changes by m; by no more than a half of a rate at once.

    Of counts a step that `bends` is `t = log(1 + r/g)/r` as long, g = 1 + max(m, 0). Of normal records, weighed by `e^z`, the level at its optimum, the objective along a step is a quadratic, least at 1/(1 + m) of it; of
    others `|φ‴| ≤ φ''|u|` for predictions that move by u, so that the slope at t is at least `1/g − (e^{tr} − 1)/r`, r the deviation of u, in place of its largest (exact for a Poisson law of jumps r). No step is made longer: totals are told too low where events are shortened.
    """
    moved_by, shift = change(found, step, loss), 0.0
    if isinstance(loss, Poisson):
        if bends and moved_by.still > 0.0:
            r = math.sqrt(2.0 * moved_by.still)
            step = step * math.log1p(r / (1.0 + max(moved_by.mean, 0.0))) / r
        shift = math.log1p(max(moved_by.mean, -0.5)) - math.log1p(max(change(found, step, loss).bent, 1e-9 - 1.0))
    elif isinstance(loss, Logistic) and level_told(found):
        before = NormalPredictions.of(found, found.point)
        there = NormalPredictions.of(found, found.point + found.matrix @ step)
        wanted, p = before.chance + before.linear(there)[0], before.chance
        shift = there.shift(min(max(wanted, 0.5 * p), 0.5 + 0.5 * p))
    return np.append(step[:-1], step[-1] + shift / float(found.matrix[-1, -1]))


def faint(found: NoisyScore, intercept: bool) -> npt.NDArray[np.bool_]:
    """Columns that vary less than noise may have made of a constant, (p,): they keep the coefficient that they are released with; of levels intervals keep what usual records of theirs are predicted.

    Where any of k columns passes by chance a record at the end of its bounds could decide all others. So each has to show as many deviations as make the chance `Φ(−SEEN)/k`: of
    constant columns, whose parts are normal (`variances`), all k together then pass no more often than one alone would at `SEEN` (Bonferroni): 2.8 of 10 columns, 3.3 of 50.
    """
    part, noise = variances(found.curvature, found.matrix, found.curvature_noise * found.scale**2, intercept)
    told: npt.NDArray[np.bool_] = part >= -ndtri(ndtr(-SEEN) / max(len(part) - intercept, 1)) * noise
    told[len(told) - intercept :] = True
    return ~told


def variances(
    gram: Array, matrix: Array, noise: Array, intercept: bool, sums: Array | None = None
) -> tuple[Array, Array]:
    """Of the columns, or of `sums` (m, p) of them, and their noise, by what is released of records seen as v, `⟨x, matrix δ⟩ = ⟨v, δ⟩`.

    With `x = Rv` a column's part of the curvature beside the constant is `r_jᵀ(G̃ − G̃_c G̃_cᵀ/G̃_cc)r_j`, of normal noise of deviation `s ‖S r_j‖²` but for the constant's part, `noise` = sS².
    """
    R = np.asarray(np.linalg.inv(matrix).T, dtype=np.float64)
    R = R if sums is None else sums @ R
    if intercept:
        across = gram[:-1, -1]
        gram = gram[:-1, :-1] - np.outer(across, across) / max(float(gram[-1, -1]), 1e-12)
        R = R[:, :-1]
    return ((R @ gram) * R).sum(axis=1), R**2 @ noise[: R.shape[1]]
