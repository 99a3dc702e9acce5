"""Estimates from a released score: what the solver left, shrank or never reached is taken out, and how far the rest may be off.

The population's coefficients θ* are where its mean gradient vanishes. Seen from the released point θ₁, in the coordinates of the
release, `θ* = θ₁ + Mδ*`, the mean curvature H̄ on the way from θ₁ to θ* gives `b − H̄δ* = 0`; the released curvature is that at θ₁: exact for
the squared loss, off by a share of order `‖δ*‖` else. So `b̃ = G̃δ* + noise` are the equations of `inference/debiased.py` for δ*, Ξ, what is likely of the curvature, in place of G̃ (`as_likely`), with

- privacy: `t²I + S(½s²(‖Sδ‖²I + Sδδᵀ S))S`, known: the noise of G̃ in full;
- sampling: the released spread over n, so that errors are robust (White 1980), as far as its own noise lets it be told from that of residuals alike for all records (`steadied`), and the
  excess of shortened gradients, of which `ρ E(L − c)_+` is taken as lost, shared by the coordinates by how long the declared bounds let records be along each, and gradients are (`lean`). A level's records, or
  those with a value missing, point one way: what shortening takes of theirs, by the released share of the level, the length of its records and the loss's own law of φ', is taken as lost in that direction,
  or of what is lost the level's part of E‖v‖⁴, `share (length/√q)⁴` over its sum over the levels of the column, whose long gradients come to all there are, if that is more (both are of the same records). Records of a baseline point one way, too, and what is lost of theirs
  is lost of the difference of all levels from it. It can point one way elsewhere, too, where a handful of records, too few for
  noise to show, is fifty times as long as usual ones: what these could change is part of the errors (`hidden_at_ends`), and what one or two could decide (`decided_by`) is told, if at all, with the column
  at whose end they are held where it was released, and what that is off by as part of the errors (`holding`). A level that noise hides is held where its usual record is
  predicted (`levels`): where its own coefficient was held all others took a part of what that was off by. Of classes that do not follow the model it points where gradients spread more than the curvature has it (`one_signed`). A cluster of records far off that
  the histogram of gradients shows as a second hump may point any one way: what it loses, and what its sampling adds that the shortened spread does not show, is taken as along every one (`NoisyScore.apart`);
- for losses that are no quadratic what one step leaves, `r = E φ‴(z + sd)d²v(1 − s)`, s from 0 to 1, where predictions z move by d. As `|φ‴| ≤ φ''` for classes and
  counts it is at most `b = (e^m − 1 − m) h̄^{1/2}` long in all directions together (Bessel's inequality in the metric of G̃; Bach 2010), m the root mean square of d and h̄ the mean
  curvature. Its weight is a function of z and d alone, so that for elliptical records r lies in the span of the constant, z and d (Li & Duan 1989), where it is
  taken as b long, in each direction; b is taken as spread evenly over all directions besides, for other shapes. (Measured on law school, Adult, bank and a rare class at ε = 1 and 3: 0.2 to 1.8 times
  `½m²h̄^{1/2}` long at the estimated m, 0.7 on average, and 0.2 to 1.0 of its square in that span; at the true m 0.1 to 0.4 times b: `undone`.) Of classes `|φ‴| = φ''|1 − 2p|`, so that b is as much shorter where no
  set or penalty has held the coefficients (its square at ε = 1: 0.3 of it on electricity and noaa, where 0.05 to 0.07 came in the median, 0.8 on a class of 4 %);
  What the mean over all records hides is reckoned besides for those of each level and baseline, which are alike: `left_of`, by how far the step moves theirs beyond noise; and the far end of a level that has moved is that of a whole move (`reach`);
- what shortening took of the curvature, a share k of it as its records' lengths say: a step δ by what is left is `1/(1 − k)` times too long where all directions lost alike, so that `kG̃δ` of the score is
  taken as wrong, δ as far as it is longer than noise makes it;
- what the regularised inverse leaves undone, `LEFT (I − HG̃) T (I − HG̃)ᵀ`, T the likely covariance of δ*.

Nothing is told of what goes with a number that noise hides (`goes_with_hidden`); of classes and counts nothing at all where the estimates are `NEAR` no more, noise does not show whether they are, or classes' gradients spread far less than they would (`unlike`).

What is assumed of the tail: beyond the last edge at which the histogram shows records it falls as the tails that fit all of its bins do, at least to a half
at each edge but for a second hump that is likelier than none (`solvers/score/lengths.py`): a cluster of less than about five deviations of a share's noise mostly goes unseen. The spread's own noise is not reckoned with.
"""

import math
from dataclasses import astuple
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaln

from hullabaloo.data import BoundedTarget, Encoding
from hullabaloo.geometry import NoPenalty
from hullabaloo.inference.debiased import LEFT, Debiased, Equations, Intervals, as_likely, forms, reach
from hullabaloo.inference.ends import FEW, LONE, holding, leaning
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.from_moments import constants
from hullabaloo.losses import Logistic, Poisson, Squared
from hullabaloo.privacy.answers import NoisyScore
from hullabaloo.solvers.score.lengths import DOUBT_SCORE
from hullabaloo.solvers.score.spread import TAIL_SPREAD, steadied, unlike
from hullabaloo.solvers.score.step import DOUBT, INFERENCE, SEEN, faint, left_of, score_step, undone, variances

NEAR = 1.0
"""How far the released coefficients may be from the estimates, in predictions on the scale of the link (root mean square), and how far noise alone may move these, as a move that is less
is not told from none: what a step of m leaves, about m²/2, is part of the errors, and is known to that order only. The coefficients are otherwise held by a set or penalty, or far from their optimum.
(Chosen on Adult, bank, law school and motor claims at ε = 1 and 3, where intervals hold as well as up to 0.5; all draws of a rare class with strong columns that told anything, covertype at
ε = 1, had noise of 2.)"""

EVEN, CONSTANT = 0.3, 0.2
"""Of what shortening takes, see `lean`: shares of its square, by the likelihood of what was taken on the development tables of `benchmarks/inference.py` at ε = 1: more than half of it lies
in one coordinate, of a rare level or of a column with a long tail, and of skewed targets a third to a half of it in the level."""

RAREST = 10.0
"""How many times as long as usual records are those of a level of which nothing is told. Chosen on motor claims (2.6 % of the records) and a simulated class of 8 % beside levels of 0.3 to 9 %."""

TOGETHER = 3.5
"""Standard deviations of noise from which a function is seen to go with a number that noise hides. Seen on diamonds (carat beside x, y, z within (0, 100), ε = 1), where carat was told in 9 of
30 draws at 4.4 to 8 and never held; of the 1 500 other coefficients of real tables told beside such numbers none lay above (with other keys carat 7 of 30, of 1 800 others 5, which held)."""


class Marked(NamedTuple):
    """Records of a level, or with a value missing, or of a baseline, which all point one way: the encoded column that marks them, of a baseline the first
    of its category, whether they are a baseline's, their released share, a usual one of them, (p,), and their part of `E‖v‖⁴` of all of that column."""

    column: int
    baseline: bool
    share: float
    record: Array
    part: float = 0.0


def levels(encoding: Encoding, found: NoisyScore) -> list[Marked]:
    """Of each level, value missing and baseline. A usual record of a level has other columns at what the covariance C of records, for which the coordinates are round, makes of them: `E x + (1 − p) C_j/C_jj`, p its share."""
    layout = encoding.layout
    if layout is None or not encoding.facts.intercept:
        return []
    groups: list[tuple[tuple[int, ...], tuple[int, ...], bool]]
    groups = [((one.column, one.indicator), (one.indicator,), False) for one in layout.numeric if one.indicator >= 0]
    groups += [(block.places, block.places, len(block.columns) < len(block.all_levels)) for block in layout.onehot]
    seen: list[Marked] = []
    back = np.linalg.inv(found.matrix)[:-1, :-1]
    C = (back.T * found.scale[:-1] ** 2) @ back
    for group, columns, baseline in groups:
        first = len(seen)
        without = np.append(found.centre, 1.0)
        without[list(group)] = 0.0
        for column in columns:
            share = max(float(found.centre[column]), 0.0)
            apart = (1.0 - share) * C[column] / C[column, column]
            apart[list(group)] = 0.0
            record = np.clip(without + np.append(apart, 0.0), -1.0, 1.0)
            record[column] = 1.0
            seen.append(Marked(column, False, share, record))
        if baseline and columns:
            share = max(1.0 - float(found.centre[list(columns)].sum()), 0.0)
            seen.append(Marked(columns[0], True, share, without))
        fourths = [one.share * float(np.mean((found.matrix.T @ one.record) ** 2)) ** 2 for one in seen[first:]]
        whole = max(sum(fourths), 1.0)
        seen[first:] = [one._replace(part=part / whole) for one, part in zip(seen[first:], fourths, strict=True)]
    return seen


def nearly_constant(encoding: Encoding, found: NoisyScore, kept: npt.NDArray[np.bool_], rare: set[Any]) -> list[Array]:
    """Sums of the kept levels of a category, (p,), that vary less than noise may have made of a constant, as the others, or the baseline, are rare; or whose baseline
    is among the `rare`, columns and whether a baseline's (`Marked`); or of which all levels are columns.

    What such a sum shares with the constant column nothing tells, and whatever follows from it would be noise: neither is asked for, and all else is told as without it.
    Where all levels are columns the sum differs from the constant by those left out alone: how far it lies from it only a level would tell of which nothing is told.
    """
    sums, noise = [], found.curvature_noise * found.scale**2
    for block in encoding.layout.onehot if encoding.layout is not None else ():
        columns = [column for column in block.columns if kept[column]]
        if columns and len(columns) < len(block.all_levels):
            one = np.isin(np.arange(len(kept)), [*columns, *block.places[len(block.columns) :]]).astype(float)
            part, hides = variances(found.curvature, found.matrix, noise, True, one[None])
            full = len(block.columns) == len(block.all_levels)
            if full or part[0] < SEEN * hides[0] or (block.columns[0], True) in rare:
                sums.append(one)
    return sums


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

    Gradients of classes and counts beyond the cut point one way; of numbers, whose residuals point both ways, as much is left as of all that shortening takes.
    """
    length = float(np.linalg.norm(way))
    cut = found.weight * found.score_noise / model.release.plan["settings"]["score_noise"]
    doubt = 1.0 if isinstance(model.loss, Logistic | Poisson) else DOUBT_SCORE
    missed = max(doubt * one.share * lost(model, found, one.record, length, cut), drowned * one.part)
    if isinstance(model.loss, Logistic | Poisson):
        missed += one.share * left_of(model.loss, float(one.record @ found.point), move) * length
    return np.asarray((missed / max(length, 1e-300)) ** 2 * np.outer(way, way), dtype=np.float64)


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


class FromScore:
    """The estimate of one target's coefficients, of least norm where encoded columns always add up to the same."""

    others: "tuple[FromScore, ...]" = ()

    def __init__(self, model: FittedModel, found: NoisyScore) -> None:
        self.found, self.model, p, self.intercept = found, model, found.point.size, model.encoding.facts.intercept
        marked, q, facts = levels(model.encoding, found), found.score.size, model.encoding.facts
        settings = model.release.plan.get("settings") or {}
        unit, spread_noises = float(settings.get("score_noise") or 0.0), settings.get("noises", ())[2:]
        lengthy = [(one, found.matrix.T @ one.record) for one in marked]
        rare = {one[:2] for one, way in lengthy if unit > 0.0 and np.linalg.norm(way) > RAREST * math.sqrt(q)}
        # Which columns noise alone may have made to vary.
        self.faint = faint(found, self.intercept) | np.isin(np.arange(p), [column for column, base in rare if not base])
        numbers = self.faint & ~np.isin(np.arange(p), [one.column for one in marked])
        apart = np.eye(p)
        apart[-1, :-1] -= found.centre if self.intercept else 0.0
        # The coordinates of columns less their means, (q, k).
        self.hidden = np.linalg.solve(found.matrix, apart[:, numbers])
        exact = constants(model.encoding, ~self.faint)
        nearly = nearly_constant(model.encoding, found, ~self.faint, rare) if self.intercept else []
        self.nearly: Array = np.array([one - exact[0] for one in nearly]).reshape(-1, p)
        fixed = [*exact, *nearly]
        null = np.stack([one - fixed[0] for one in fixed[1:]], axis=1) if len(fixed) > 1 else np.zeros((p, 0))
        self.determined: Array = np.linalg.qr(null, mode="complete")[0][:, null.shape[1] :]
        self.project: Array = self.determined @ self.determined.T
        moving = np.linalg.solve(found.matrix, null[:, : null.shape[1] - len(nearly)])
        # Predictions of records outside such sums stay, so that these, if there are any, have no influence; and those of usual records
        # of levels that noise hides, not their coefficients: what these are off by would move all that goes with them.
        still = [found.matrix.T @ (np.append(found.centre, 1.0) * (1.0 - one)) for one in nearly]
        still.extend(way for one, way in lengthy if self.faint[one.column] and not one.baseline)
        held = np.column_stack([moving, found.matrix[numbers].T, *still])
        self.basis: Array = np.ascontiguousarray(np.linalg.qr(held, mode="complete")[0][:, held.shape[1] :])
        likely = as_likely(found)
        step = score_step(likely, INFERENCE, DOUBT, self.basis)
        alike = facts.records_per_unit if found.errors == "bound" else 1  # records of a unit may be
        taken = DOUBT_SCORE * found.excess
        self.columns, ends = at_ends(found, marked, self.intercept)
        self.lean: Array = taken**2 * lean(ends @ found.matrix, found.spread, self.intercept)
        sampling = steadied(found) / found.counted * alike + np.diag(self.lean)
        sampling[-1, -1] += max(found.level**2 - found.score_noise**2, 0.0)
        allowed = found.apart**2 * np.eye(q)
        for one, way in lengthy if unit > 0.0 else []:
            allowed += hidden(model, found, one, way, taken * (one[:2] not in rare), step.move(found, way))
        classes = isinstance(model.loss, Logistic) and not facts.weighted
        if classes and spread_noises and unit * found.spread_noise > 0.0 and found.errors != "unit":
            sampling += one_signed(found, spread_noises[0], found.weight * found.score_noise / unit)
        # How far predictions move from the released point to the estimate, root mean square, and how far noise alone moves them.
        (beyond, _), (far, unseen) = step.far(found), score_step(found, INFERENCE, DOUBT, self.basis).far(found)
        kept = model.constraint is not None or not isinstance(model.penalty, NoPenalty)
        sampling += allowed + undone(found, model.loss, step.step, beyond, self.intercept, kept)
        self.away = math.inf if classes and unlike(found) else max(far, unseen)
        radius = found.curvature_noise * float(np.mean(found.scale**2)) * math.sqrt(2.0 * self.basis.shape[1])
        self.drowned = radius * self.basis.shape[1] > np.sum((found.curvature @ self.basis) * self.basis)
        self.far = self.drowned or (not isinstance(model.loss, Squared) and self.away > NEAR)
        seen = likely.curvature, found.score, found.curvature_noise, found.score_noise, sampling, self.basis
        self.law = Debiased(Equations(*seen, found.scale, step.inverse, LEFT * step.left, allowed))
        self.map: Array = self.project @ found.matrix
        self._weigh(model, found, ends, unit)
        self.held, self.beside_held = np.zeros(p, dtype=bool), np.zeros((p, p))
        self.others = tuple(one for one in (holding(self), leaning(self)) if one is not None)

    def _weigh(self, model: FittedModel, found: NoisyScore, ends: Array, unit: float) -> None:
        """How much records (m, p) may count: `√(φ''/n)` v, (m, q), and `φ''/n` times the square of what they may leave of φ'/φ''; what share of the information shortening takes (`spared`); and how many records of their length there may be (`crowd`)."""
        one_signed = isinstance(model.loss, Squared) and 3.0 * (1.0 - abs(ends[0] @ found.point)) ** 2 < found.residual
        squares = 0.0 if one_signed else found.residual * float(np.trace(found.curvature))
        self.cut = found.score_noise / (unit or math.inf) * found.excess / max(squares, 1e-100)
        mean, facts = float(np.trace(found.curvature) / np.sum(found.scale**2)), model.encoding.facts
        bent = np.clip(model.loss.second_derivative(ends @ found.point, np.ones(len(ends))), mean, max(mean, 1.0))
        copies = facts.records_per_unit if found.errors in ("unit", "bound") else 1
        heaviest = facts.max_weight * copies / found.counted
        self.longest: Array = np.sqrt(heaviest * bent)[:, None] * (ends @ found.matrix)
        self.aside: Array = heaviest * (bent * ((ends - ends[0]) @ self.theta) ** 2 + found.residual)
        self.most: Array = found.as_many(ends @ found.matrix)

    def decided_by(self, functions: Array) -> npt.NDArray[np.int_]:
        """The column by which fewer than `LONE` records carry as much information of `functions @ θ` as all, (m,), were they usual but in it, at an end of its bounds; -1 for none.

        With `u = Ha` the estimate moves with `Σ uᵀv φ'`, and `n uᵀG̃u` is the information `Σ φ''(uᵀv)²` of shortened records, which whole ones exceed: the
        leverage `φ''(uᵀv)²/n uᵀG̃u` of such a record is 1/k at most, whether noise shows it or not. Huber (1981, §7.2) calls its inverse k the equivalent number of records.
        """
        seen, shares = self.shares_at_ends(functions)
        return np.where(LONE * np.max(shares, axis=1) > seen, self.columns[np.argmax(shares, axis=1)], -1)

    def hidden_at_ends(self, functions: Array) -> Array:
        """Variance of `functions @ θ`, (m,), by records at an end of a column's bounds that noise hides, where fewer than `FEW` carry as much information as all.

        So many, k, are taken as there, or as many as there may be of their length by the released histogram (`NoisyScore.crowd`), if that is fewer. Least squares of both moves halfway to theirs, by `½ k uᵀv φ'/n`, φ' what the estimate leaves of them: as likely anything up to what it says of
        how they differ from usual ones, as if the column said nothing there, or twice as much, and to a usual φ' besides, each to either side: a uniform law, of a third of the square.
        """
        seen, shares = self.shares_at_ends(functions)
        size = np.abs(seen)[:, None]
        few = np.minimum(np.divide(size, shares, out=0.0 * shares, where=FEW * shares > size), self.most)
        return np.asarray(np.max(few**2 * shares * self.aside, axis=1, initial=0.0) / 12.0)

    def spared(self, functions: Array) -> Array:
        """What of the variance for shortening, `lean`, `functions @ θ` do not need, (m,): shortening takes a share κ of their information, and what it takes says anything from none to twice of them.

        So an effect is off by `κ|aᵀθ̃|` at most, and one that is none by next to nothing. κ is `E(1 − c/L)_+ φ''‖v‖²` over `E φ''‖v‖²`, about `c E(L − c)_+ / E L²` where long gradients are of
        long records with usual φ', and less where φ' is long. A number that is at a bound but for rare events, whose mean is nearer to the bound than a root of a third of the mean square of residuals, has none to spare: long residuals of one sign take of columns with a
        long tail, too, which have no effect. A function with the constant in it is no effect. (What was lost of columns without effect was 1 to 4 % of the variance told, 13 to 42 % was allowed for.)
        """
        u = functions @ self.map @ self.law.inverse
        spare = np.maximum(u**2 @ self.lean - (self.cut * (functions @ self.theta)) ** 2, 0.0)
        return np.asarray(np.where(self.intercept & (functions[:, -1] != 0.0), 0.0, spare))

    def shares_at_ends(self, functions: Array) -> tuple[Array, Array]:
        """`uᵀG̃u`, (m,), and `φ''(uᵀv)²/n` of the longest records, (m, k)."""
        u = functions @ self.map @ self.law.inverse
        return ((u @ self.found.curvature) * u).sum(axis=1), (u @ self.longest.T) ** 2

    def goes_with_hidden(self, functions: Array) -> npt.NDArray[np.bool_]:
        """Whether the curvature shows that `functions @ θ`, (m,), goes with a number that noise hides, whose part it would have taken over unseen.

        Beside numbers h held where they were released the estimate is off by `uᵀGw_h(θ*_h − θ_h)`, `u = Ha`, where `⟨v, w_h⟩ = x_h` less its mean. A number without variance has
        `uᵀGw_h = 0`, one that goes with what the function asks for has not; of noise alone `uᵀG̃w_h` has the deviation `s‖Su‖‖Sw_h‖/√2`. (Of levels nothing is asked: usual
        records of one that noise hides have no influence, `uᵀv = 0`, so that `uᵀGw = 0` but for how φ'' differs among them.)

        A covariance that noise hides itself can still take a coefficient off where the number's effect is huge (California, total_bedrooms within (0, 100 000), ε = 1: ocean_proximity=INLAND), and nothing else
        that is released shows it: the score along that number is within noise, too (−2.3 to 3.7 deviations, largest in draws that held). With the largest effect that the residuals allow one deviation of noise in the covariance moves
        a coefficient by 1.3 to 3 half widths of its interval (california, diamonds, adult, elevators at ε = 1, flights at 3), so that to allow for it would make all intervals beside hidden numbers about 4 times as long.
        """
        u = functions @ self.map @ self.law.inverse
        along, scale = u @ self.found.curvature @ self.hidden, self.found.scale[:, None]
        noise = np.outer(np.linalg.norm(scale * u.T, axis=0), np.linalg.norm(scale * self.hidden, axis=0))
        noise *= math.sqrt(0.5) * self.found.curvature_noise
        return np.asarray(np.any(np.abs(along) > TOGETHER * noise, axis=1), dtype=np.bool_)

    @property
    def theta(self) -> Array:
        """The estimate, (p,)."""
        return np.asarray(self.project @ self.found.point + self.map @ self.law.theta, dtype=np.float64)

    @property
    def covariance(self) -> Array:
        """Of the estimate, (p, p): privacy, sampling and what is left undone."""
        return np.asarray(self.map @ self.law.covariance @ self.map.T, dtype=np.float64)

    def intervals(self, functions: Array, quantile: float, own: float = 0.0) -> Intervals:
        """Of `functions @ θ`, functions (m, p): of the fit beside all columns and those that lean less on records at ends of wide bounds (`ends.py`) the shortest."""
        beyond = self.hidden_at_ends(functions) - self.spared(functions) + forms(functions, self.beside_held)
        told = self.law.intervals(functions @ self.map, quantile, own + beyond)
        at = functions @ self.project @ self.found.point
        if self.far:
            return Intervals(*np.full((6, len(functions)), np.nan))
        beside = (np.abs(functions[:, self.faint]).sum(axis=1) > 0.0) | self.goes_with_hidden(functions)
        # Of a prediction such a column is a part as it is released.
        beside &= (functions[:, -1] == 0.0) | (not self.intercept)
        beside |= functions[:, self.held].any(axis=1)
        shifted = np.abs(functions @ self.nearly.T).sum(axis=1) > 1e-9 * np.linalg.norm(functions, axis=1)
        nothing = np.where(beside | shifted | (self.decided_by(functions) >= 0), np.nan, at)
        error = np.sqrt(np.maximum(told.sampling_error**2 + beyond, 0.0))
        ends = told.low + nothing, told.high + nothing
        found = Intervals(told.estimate + at, error, told.privacy_error, *ends, np.zeros(len(functions)))
        if isinstance(self.model.loss, Logistic | Poisson):
            usual = [one for one in levels(self.model.encoding, self.found) if not one.baseline]
            classes = isinstance(self.model.loss, Logistic)
            reach(found, functions, at, {one.column: expit(one.record @ self.found.point) * classes for one in usual})
        for other in self.others:
            told_so = other.intervals(functions, quantile, own)
            shorter = np.isfinite(told_so.high) & ~(told_so.high - told_so.low >= found.high - found.low)
            found = Intervals(*np.where(shorter, astuple(told_so), astuple(found)))
        return found
