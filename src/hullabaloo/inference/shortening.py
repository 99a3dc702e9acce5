"""What shortening takes of a score, as covariances in its coordinates: functions of released numbers and declared bounds.

Of gradients longer than c the excess E(L − c)₊ is lost, of which `DOUBT_SCORE` is left in the mean where they do not all point one way. Where it lies is not released:

- records of a level or baseline, or with a value missing, point one way. What is lost of theirs follows from their released share, their length and the loss's own law of φ'; or it is their part of `E‖v‖⁴`, if that
  is more, as long gradients come to all there are (`hidden`);
- where classes do not follow the model it points where gradients spread more than the curvature has it (`one_signed`);
- of all others it is shared by the coordinates: by how long the declared bounds let records be along each, and gradients are (`lean`).
"""

import math

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaln

from hullabaloo.data import BoundedTarget
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.losses import Logistic, Poisson
from hullabaloo.privacy.answers import NoisyScore
from hullabaloo.release.levels import Marked, levels
from hullabaloo.solvers.score.lengths import DOUBT_SCORE
from hullabaloo.solvers.score.spread import TAIL_SPREAD
from hullabaloo.solvers.score.step import left_of

EVEN, CONSTANT = 0.3, 0.2
"""Of what shortening takes, see `lean`: shares of its square, by the likelihood of what was taken on the development tables of `benchmarks/inference.py` at ε = 1: more than half of it lies
in one coordinate, of a rare level or of a column with a long tail, and of skewed targets a third to a half of it in the level."""

MANY = 1000.0
"""Mean from which a Poisson law is as good as a normal one."""


def lost(model: FittedModel, found: NoisyScore, record: Array, length: float, cut: float) -> float:
    """`E(|φ'|L − c)_+` of such records: of a class of its chance, of counts of their Poisson law, of many counts and of numbers of normal residuals."""
    z = min(max(float(record @ found.point), -50.0), 50.0)
    if isinstance(model.loss, Logistic):
        p = 1.0 / (1.0 + math.exp(-z))
        return p * max((1.0 - p) * length - cut, 0.0) + (1.0 - p) * max(p * length - cut, 0.0)
    if isinstance(model.loss, Poisson):
        highest = max(target.hi for target in model.encoding.targets if isinstance(target, BoundedTarget))
        mean = math.exp(z) * highest
        if mean < MANY:
            counts = np.arange(min(highest, 10.0 + 2.0 * mean) + 1.0)
            chance = np.exp(counts * math.log(mean) - mean - gammaln(counts + 1.0))
            chance[-1] += max(1.0 - float(chance.sum()), 0.0)  # larger counts are clipped to the bound
            return float(chance @ np.maximum(np.abs(mean - counts) / highest * length - cut, 0.0))
        spread = math.sqrt(mean) / highest * length
    else:
        spread = math.sqrt(max(found.residual, 1e-300)) * length
    u = min(cut / spread, 40.0)
    return spread * (math.sqrt(2.0 / math.pi) * math.exp(-0.5 * u * u) - u * math.erfc(u / math.sqrt(2.0)))


def hidden(model: FittedModel, found: NoisyScore, one: Marked, way: Array, drowned: float, move: float) -> Array:
    """Covariance (q, q) of what is not seen of the gradients of records that all lie along `way`: of what is beyond the cut and what the tail says the larger, and what a step that moves their predictions leaves.

    Gradients of classes and counts beyond the cut point one way; of numbers, whose residuals point both ways, as much is left as of all that shortening takes. Either is as likely anything up to so much: a uniform law, of a third of the square.
    """
    length = float(np.linalg.norm(way))
    cut = found.weight * found.score_noise / model.release.plan["settings"]["score_noise"]
    doubt = 1.0 if isinstance(model.loss, Logistic | Poisson) else DOUBT_SCORE
    missed = max(doubt * one.share * lost(model, found, one.record, length, cut), drowned * one.part)
    if isinstance(model.loss, Logistic | Poisson):
        missed += one.share * left_of(model.loss, float(one.record @ found.point), move) * length
    return np.asarray((missed / max(length, 1e-300)) ** 2 / 3.0 * np.outer(way, way), dtype=np.float64)


def one_signed(found: NoisyScore, unit_noise: float, cut: float) -> Array:
    """Covariance (q, q) of what shortening takes where classes do not follow the model, as of a cluster of records that it takes for the other class, whose gradients all point one way.

    Where the model holds gradients spread as the curvature says, `E φ'²vvᵀ = E φ''vvᵀ` (White 1982). The part D of the released difference that is above the spectral radius of its noise
    is what misfit adds. For the spread gradients were shortened to a length w that a share s of them exceed, with noise of w² `unit_noise`, so that of these a share of `tr D/(s w²)` may lie along D; and
    as large a share of E(L − c)₊ is taken as lost along it, shared as D is. s is `TAIL_SPREAD`, or less where noise is low, as of a tail that has a fourth moment: `E(L − c)₊ = sc/3`. Clusters of a smaller share are shortened so much there that D is within noise. (Of an image's colours, n = 20 000, ε = 3, all of E(L − c)₊ was lost along D, three times what `lean` allows for there, and s was 0.0024; on eight other tables of classes D is next to nothing.)
    """
    noise = math.hypot(found.spread_noise, found.curvature_noise * float(np.mean(found.scale**2)))
    values, vectors = np.linalg.eigh(found.spread - found.curvature)
    beyond = np.maximum(values - noise * math.sqrt(2.0 * len(values)), 0.0)
    whole = max(float(beyond.sum()), 1e-300)
    share = max(min(TAIL_SPREAD, 3.0 * found.excess / cut), 1e-300)
    most = found.excess * min(1.0, unit_noise * whole / (share * found.weight * found.spread_noise))
    return np.asarray(most**2 * ((vectors * (beyond / whole)) @ vectors.T), dtype=np.float64)


def separating(model: FittedModel, found: NoisyScore, doubts: Array) -> tuple[Array, Array]:
    """Directions (k, p) along which the loss falls for ever where no record of a level or baseline has an event, or all have (Albert & Anderson 1984); and how many standard errors what is seen of the events is above none, (k,).

    A coefficient without an end is a value of it as any other: an interval holds it unless the events are more than the interval's own quantile of errors above none.

    With m the indicator as a function of x, `x·m`, and `a = M⁻¹m`, `v·a = x·m`: `aᵀ(−E φ'v)` is the mean of y less its prediction over the level's records, and `aᵀE φ''vvᵀ a` of counts that prediction, of classes it
    times 1 − p, p about the chance of a usual one of them. Their sum is the mean of the level's events, with noise `t‖a‖` and `s‖Sa‖²`, and `aᵀCa`, C all other errors of the score but those of sampling, `doubts`; likewise of records
    without one. Of classes events are the level's records less those without one, too, with the noise of its share: what noise tells better is taken.
    """
    ways: list[Array] = []
    seen: list[float] = []
    columns, classes = np.arange(len(found.point)), isinstance(model.loss, Logistic)
    means = model.mean_noise / found.weight
    for one in levels(model.encoding, found) if isinstance(model.loss, Logistic | Poisson) else []:
        mark = (columns == one.column) * 1.0
        if one.baseline and (layout := model.encoding.layout) is not None:
            places = next(block.places for block in layout.onehot if one.column in block.places)
            mark = (columns == columns[-1]) * 1.0 - np.isin(columns, places)
        a, p = np.linalg.solve(found.matrix, mark), float(expit(one.record @ found.point)) * classes
        gained, bent = float(a @ found.score), float(a @ found.curvature @ a)
        off = math.sqrt(found.score_noise**2 * float(a @ a) + float(a @ doubts @ a))
        bends = found.curvature_noise * float(found.scale**2 @ a**2)
        share = means * float(np.linalg.norm(mark[:-1]))
        for sign, none in ((1.0, 1.0 - p), (-1.0, p))[: 1 + classes]:
            least, others = max(none, 1e-9), max(1.0 - none, 1e-9)
            told = (bends / least, bent / least), (math.hypot(bends / others, share), one.share - bent / others)
            noise, events = min(told)
            ways.append(-sign * mark)
            seen.append((sign * gained + events) / math.hypot(off, noise))
    return np.array(ways).reshape(-1, len(columns)), np.array(seen)


def at_ends(found: NoisyScore, marked: list[Marked], intercept: bool) -> tuple[npt.NDArray[np.int_], Array]:
    """Records (m, p): a usual one, and such that differ from it in one column, which is at an end of its bounds, or in a level, `marked` (`levels`); and which column."""
    middle = np.append(found.centre, 1.0) if intercept else np.zeros(len(found.point))
    ends = np.tile(middle, (2, len(middle), 1))
    ends[:, range(len(middle)), range(len(middle))] = np.array([[-1.0], [1.0]])
    of = [one.column for one in marked]
    alone = [place for place in range(len(middle) - intercept) if place not in of]
    columns = [len(middle) - 1, *of, *alone, *alone]
    return np.array(columns), np.concatenate([np.stack([middle, *(one.record for one in marked)]), *ends[:, alone]])


def lean(far: Array, spread: Array, intercept: bool) -> Array:
    """How what shortening takes is shared by the coordinates, (q,), of sum 1.

    Its part in a coordinate is `E(1 − c/L)_+ g_j` over long gradients: large where records can be long, as the longest of the records `far` (m, q) is, and gradients
    are, as their released spread says. So `EVEN` of it is taken as even, the rest by the product of both; and `CONSTANT` of all in the level, along which gradients of one sign add up.
    """
    longest, size = np.max(np.abs(far), axis=0), np.maximum(np.diag(spread), 0.0)
    long = longest * (size if size.any() else 1.0)
    shared = EVEN / len(long) + (1.0 - EVEN) * long / long.sum()
    level = CONSTANT * intercept
    return np.asarray((1.0 - level) * shared + level * (np.arange(len(long)) == len(long) - 1), dtype=np.float64)
