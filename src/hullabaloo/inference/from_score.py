"""Estimates from a released score: what the solver left, shrank or never reached is taken out, and how far the rest may be off.

The population's coefficients θ* are where its mean gradient vanishes. Seen from the released point θ₁, in the coordinates of the
release, `θ* = θ₁ + Mδ*`, the mean curvature H̄ on the way from θ₁ to θ* gives `b − H̄δ* = 0`; the released curvature is that at θ₁: exact for
the squared loss, off by a share of order `‖δ*‖` else. So `b̃ = G̃δ* + noise` are the equations of `inference/debiased.py` for δ*, with

- privacy: `t²I + S(½s²(‖Sδ‖²I + Sδδᵀ S))S`, known;
- sampling: the released spread over n, so that errors are robust (White 1980), as far as its own noise lets it be told from that of residuals alike for all records (`steadied`), and the
  excess of shortened gradients, of which `ρ E(L − c)_+` is taken as lost, shared by the coordinates by how long the declared bounds let records be along each, and gradients are (`lean`). A level's records, or
  those with a value missing, point one way: what shortening takes of theirs, by the released share of the level, the length of its records and the loss's own law of φ', is taken as lost in that direction,
  and besides of what is lost the level's share of E‖v‖⁴, `share (length/√q)⁴`: all of it where a level is rare. It can point one way elsewhere, too, where a handful of records, too few for
  noise to show, is fifty times as long as usual ones: so what these could decide is not told (`decided_by`);
- for losses that are no quadratic what one step leaves, `r = E φ‴(z + sd)d²v(1 − s)`, s from 0 to 1, where predictions z move by d. As `|φ‴| ≤ φ''` for classes and
  counts it is at most `b = (e^m − 1 − m) h̄^{1/2}` long in all directions together (Bessel's inequality in the metric of G̃; Bach 2010), m the root mean square of d and h̄ the mean
  curvature. Its weight is a function of z and d alone, so that for elliptical records r lies in the span of the constant, z and d (Li & Duan 1989), where it is
  taken as b long, in each direction; b is taken as spread evenly over all directions besides, for other shapes. (Measured on law school, Adult, bank and a rare class at ε = 1 and 3: 0.2 to 1.8 times
  `½m²h̄^{1/2}` long at the estimated m, 0.7 on average, and 0.2 to 1.0 of its square in that span);
- what the regularised inverse leaves undone, `(I − HG̃) T (I − HG̃)ᵀ`, T the likely covariance of δ*, numbers held where they were released included: what these would explain, others
  that go with them take over. (A level of a share p that noise hides goes with no other: with one of share P its squared correlation is p/P at most.)

What is assumed of the tail: beyond the last edge at which the histogram shows records it falls as the tails that fit all of its bins do, at least to a half
at each edge (`solvers/score/lengths.py`). The spread's own noise is not reckoned with.
"""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from hullabaloo.data import BoundedTarget, Encoding
from hullabaloo.inference.debiased import Debiased, Equations, Intervals
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.from_moments import constants
from hullabaloo.losses import Logistic, Poisson, Squared
from hullabaloo.privacy.answers import NoisyScore
from hullabaloo.solvers.score.step import DOUBT, INFERENCE, SEEN, ScoreStep, faint, moved, score_step, variances
from hullabaloo.solvers.score.with_inference import DOUBT_SCORE

NEAR = 0.5
"""How far the released coefficients may be from the estimates, in predictions on the scale of the link (root mean square): what a step of m leaves, about m²/2, is part
of the errors, and is known to that order only. The coefficients are otherwise held by a set or penalty, or far from their optimum."""

FARTHEST = 50.0
"""Move beyond which what is left of it is taken as of this one: nothing is told there, and its square must be a number."""

EVEN, CONSTANT = 0.3, 0.2
"""Of what shortening takes, see `lean`: shares of its square, by the likelihood of what was taken on the development tables of `benchmarks/inference.py` at ε = 1: more than half of it lies
in one coordinate, of a rare level or of a column with a long tail, and of skewed targets a third to a half of it in the level."""

RAREST = 10.0
"""How many times as long as usual records are those of a level of which nothing is told. Chosen on motor claims (2.6 % of the records) and a simulated class of 8 % beside levels of 0.3 to 9 %."""

FEW = 14.0
"""Records that have to carry what is told: where k records alike do, its robust t is Student's of k degrees of freedom, and of 14 it lies within 1.96 in 93 %, not 95."""


def levels(encoding: Encoding, found: NoisyScore) -> dict[int, Array]:
    """A usual record of each level, or with each value missing, (p,), by the encoded column that marks it."""
    layout = encoding.layout
    if layout is None or not encoding.facts.intercept:
        return {}
    groups = [([one.column, one.indicator], one.indicator) for one in layout.numeric if one.indicator >= 0]
    for block in layout.onehot:
        group = [*block.columns, *([block.missing] if block.missing >= 0 else [])]
        groups += [(group, column) for column in group]
    seen = {}
    for group, column in groups:
        record = np.append(found.centre, 1.0)
        record[group] = 0.0
        record[column] = 1.0
        seen[column] = record
    return seen


def nearly_constant(encoding: Encoding, found: NoisyScore, kept: npt.NDArray[np.bool_]) -> list[Array]:
    """Sums of the kept levels of a category, (p,), that vary less than noise may have made of a constant, as the others, or the baseline, are rare.

    What such a sum shares with the constant column nothing tells, and whatever follows from it would be noise: neither is asked for, and all else is told as without it.
    """
    sums = []
    for block in encoding.layout.onehot if encoding.layout is not None else ():
        columns = [column for column in block.columns if kept[column]]
        if columns and len(columns) < len(block.all_levels):
            sums.append(np.isin(np.arange(len(kept)), [*columns, *block.places[len(block.columns) :]]).astype(float))
    noise = found.curvature_noise * found.scale**2
    part, rest = variances(found.curvature, found.matrix, noise, True, np.array(sums).reshape(-1, len(kept)))
    return [one for one, varies in zip(sums, part >= SEEN * rest, strict=True) if not varies]


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


def remainder(bend: Array, ways: Array) -> Array:
    """Covariance of what a step leaves where it is 1 long at most: in every direction of `ways` (q, k), and evenly over all besides, in the metric of `bend`."""
    along = bend @ ways
    within = along @ np.linalg.pinv(ways.T @ along, rcond=1e-8, hermitian=True) @ along.T
    return np.asarray(within + bend / len(bend), dtype=np.float64)


def at_ends(found: NoisyScore, marked: dict[int, Array], intercept: bool) -> tuple[list[int], Array]:
    """Records (m, p): a usual one, and such that differ from it in one column, which is at an end of its bounds or, `marked` (`levels`), has a level; and which column."""
    middle = np.append(found.centre, 1.0) if intercept else np.zeros(len(found.point))
    ends = np.tile(middle, (2, len(middle), 1))
    for sign, side in zip((-1.0, 1.0), ends, strict=True):
        np.fill_diagonal(side, sign)
    alone = [place for place in range(len(middle) - intercept) if place not in marked]
    columns = [len(middle) - 1, *marked, *alone, *alone]
    return columns, np.concatenate([np.stack([middle, *marked.values()]), *ends[:, alone]])


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


def steadied(found: NoisyScore) -> Array:
    """The spread S̃, as far as noise may have made the difference D = S̃ − τG̃ that of residuals alike for all records, τ the ratio of both traces:

    `τG̃ + (1 − E‖noise‖²/‖D‖²)₊ D`, which is nearest to the truth on average (James & Stein 1961; Ledoit & Wolf 2004), eigenvalues below 0 taken as 0.
    """
    q, bent = len(found.spread), float(np.trace(found.curvature))
    alike = max(float(np.trace(found.spread)), 0.0) / (bent if bent > 0.0 else math.inf) * found.curvature
    apart = found.spread - alike
    noise = 0.5 * q * (q + 1) * found.spread_noise**2
    values, vectors = np.linalg.eigh(alike + max(1.0 - noise / max(float(np.sum(apart**2)), 1e-300), 0.0) * apart)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T, dtype=np.float64)


class FromScore:
    """The estimate of one target's coefficients, of least norm where encoded columns always add up to the same."""

    def __init__(self, model: FittedModel, found: NoisyScore) -> None:
        self.found, p, self.intercept = found, found.point.size, model.encoding.facts.intercept
        marked, q = levels(model.encoding, found), found.score.size
        unit = float((model.release.plan.get("settings") or {}).get("score_noise") or 0.0)
        lengthy = {column: found.matrix.T @ record for column, record in marked.items() if unit > 0.0}
        self.too_rare = np.zeros(p, dtype=np.bool_)
        for column, way in lengthy.items():
            self.too_rare[column] = np.linalg.norm(way) > RAREST * math.sqrt(q)
        self.faint = faint(found, self.intercept) | self.too_rare  # which noise alone may have made to vary
        exact = constants(model.encoding, ~self.faint)
        nearly = nearly_constant(model.encoding, found, ~self.faint) if self.intercept else []
        self.nearly: Array = np.array([one - exact[0] for one in nearly]).reshape(-1, p)
        fixed = [*exact, *nearly]
        null = np.stack([one - fixed[0] for one in fixed[1:]], axis=1) if len(fixed) > 1 else np.zeros((p, 0))
        self.determined: Array = np.linalg.qr(null, mode="complete")[0][:, null.shape[1] :]
        self.project: Array = self.determined @ self.determined.T
        held = np.concatenate([np.linalg.solve(found.matrix, null), found.matrix[self.faint].T], axis=1)
        full, _ = np.linalg.qr(held, mode="complete")
        self.basis: Array = np.ascontiguousarray(full[:, held.shape[1] :])
        beside = [column for column in np.flatnonzero(self.faint) if column not in marked]
        step = score_step(found, INFERENCE, DOUBT, self.basis, held=found.matrix[beside].T)
        sampling = steadied(found) / found.records
        if found.errors == "bound":  # records of a unit may be alike
            sampling *= model.encoding.facts.records_per_unit
        taken = DOUBT_SCORE * found.excess
        columns, ends = at_ends(found, marked, self.intercept)
        self.columns, far = np.array(columns), ends @ found.matrix
        sampling += taken**2 * np.diag(lean(far, found.spread, self.intercept))
        z, mean = ends @ found.point, float(np.trace(found.curvature) / np.sum(found.scale**2))
        bent = np.clip(model.loss.second_derivative(z, np.ones_like(z)), mean, max(mean, 1.0))
        facts, alike = model.encoding.facts, found.errors in ("unit", "bound")
        most = facts.max_weight * (facts.records_per_unit if alike else 1)
        self.longest: Array = np.sqrt(bent * most / found.records)[:, None] * far
        for column, way in lengthy.items():
            length, share = float(np.linalg.norm(way)), max(float(found.centre[column]), 0.0)
            missed = share * lost(model, found, marked[column], length, found.score_noise / unit)
            missed += taken * min(share * (length / math.sqrt(q)) ** 4, 1.0) * (not self.too_rare[column])
            sampling += (missed / max(length, 1e-300)) ** 2 * np.outer(way, way)
        self.moved = self._moved(step)
        self.far = not isinstance(model.loss, Squared) and self.moved > NEAR
        if not isinstance(model.loss, Squared):
            values, vectors = np.linalg.eigh(found.curvature)
            bend = (vectors * np.maximum(values, 0.0)) @ vectors.T
            ways = np.stack([np.linalg.solve(found.matrix, found.point), step.step, *self._constant(q)], axis=1)
            mean = float(np.trace(bend) / np.sum(found.scale**2))
            move = min(self.moved, FARTHEST)
            sampling += (math.expm1(move) - move) ** 2 * mean * remainder(bend, ways)
        nowhere = np.zeros(q)
        noise = found.curvature_noise, found.score_noise
        plain = Equations(found.curvature, found.score, *noise, sampling, self.basis, origin=nowhere, anchor=nowhere)
        self.law = Debiased(replace(plain, scale=found.scale, inverse=step.inverse, left=step.left))
        self.map: Array = self.project @ found.matrix

    def _constant(self, q: int) -> list[Array]:
        """The coordinates of the constant function, if there is one."""
        return [np.linalg.solve(self.found.matrix, np.eye(q)[-1])] if self.intercept else []

    def _moved(self, made: ScoreStep) -> float:
        """How far predictions move from the released point to the estimate, root mean square less noise, on the scale of the link."""
        noise = self.found.score_noise * float(np.linalg.norm(self.found.scale[:, None] * made.inverse))
        return math.sqrt(max(moved(self.found, made.step) ** 2 - noise**2, 0.0))

    def decided_by(self, functions: Array) -> npt.NDArray[np.int_]:
        """The column by which fewer than `FEW` records carry as much information of `functions @ θ` as all, (m,), were they usual but in it, at an end of its bounds; -1 for none.

        With `u = Ha` the estimate moves with `Σ uᵀv φ'`, and `n uᵀG̃u` is the information `Σ φ''(uᵀv)²` of shortened records, which whole ones exceed: the
        leverage `φ''(uᵀv)²/n uᵀG̃u` of such a record is 1/FEW at most, whether noise shows it or not. Huber (1981, §7.2) calls its inverse the equivalent number of records.
        """
        u = functions @ self.map @ self.law.inverse
        seen = ((u @ self.found.curvature) * u).sum(axis=1)
        shares = (u @ self.longest.T) ** 2
        return np.where(FEW * np.max(shares, axis=1) > seen, self.columns[np.argmax(shares, axis=1)], -1)

    @property
    def residual_variance(self) -> float:
        """Of squared loss: mean squared residual, records weighted by their squared lengths, as the spread over the curvature has it."""
        return self.found.residual

    @property
    def theta(self) -> Array:
        """The estimate, (p,)."""
        return np.asarray(self.project @ self.found.point + self.map @ self.law.moved, dtype=np.float64)

    @property
    def covariance(self) -> Array:
        """Of the estimate, (p, p): privacy, sampling and what is left undone."""
        return np.asarray(self.map @ self.law.covariance @ self.map.T, dtype=np.float64)

    def intervals(self, functions: Array, quantile: float, own: float = 0.0) -> Intervals:
        """Of `functions @ θ`, functions (m, p)."""
        told = self.law.intervals(functions @ self.map, quantile, own)
        at = functions @ self.project @ self.found.point
        if self.far:
            return Intervals(*np.full((5, len(functions)), np.nan))
        own_of_faint = np.abs(functions[:, self.faint]).sum(axis=1) > 0.0
        if self.intercept:  # of a prediction such a column is a part as it is released
            own_of_faint &= functions[:, -1] == 0.0
        shifted = np.abs(functions @ self.nearly.T).sum(axis=1) > 1e-9 * np.linalg.norm(functions, axis=1)
        nothing = np.where(own_of_faint | shifted | (self.decided_by(functions) >= 0), np.nan, 0.0)
        ends = (told.low + at + nothing, told.high + at + nothing)
        return Intervals(told.estimate + at, told.sampling_error, told.privacy_error, *ends)
