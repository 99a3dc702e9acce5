"""Estimates from a released score: what the solver left, shrank or never reached is taken out, and how far the rest may be off.

The population's coefficients θ* are where its mean gradient vanishes. In the coordinates of the release `θ* = θ₁ + Mδ*`, θ₁ the released point, and with H̄ the mean curvature on the way `b − H̄δ* = 0`. The
released curvature is that at θ₁: exact for the squared loss, off by a share of order `‖δ*‖` else. So `b̃ = G̃δ* + noise` are the equations of `debiased.py` for δ*, with Ξ, what is likely of the curvature, in place
of G̃ (`as_likely`). Their errors:

- *Privacy*, known: `t²I + S(½s²(‖Sδ‖²I + Sδδᵀ S))S`, by the noise of G̃ in full.
- *Sampling*: the released spread over n, so that errors are robust (White 1980), as far as its own noise lets it be told from that of residuals alike for all records (`steadied`).
- *Shortening*: what it takes of long gradients (`shortening.py`), and of the curvature. There a share k of it, as its records' lengths say, makes a step by what is left `1/(1 − k)` times too long where all directions
  lost alike: `kG̃δ` of the score is taken as wrong, δ as far as it is longer than noise makes it (`undone`).
- *Bending*, for losses that are no quadratic: what one step leaves, over all records (`undone`), and over those of each level and baseline, which are alike (`left_of`). The far end of a level that has moved is that of a
  whole move (`reach`).
- *Few records*, which no noise lets be seen, at an end of a column's wide bounds may be fifty times as long as usual ones. What they could change is part of the errors (`hidden_at_ends`); what one or two could decide
  (`decided_by`) is told by the estimates that lean on them less (`_holding`, `_leaning`), or not at all.
- *A cluster* far off that the histogram of gradients shows as a second hump may point any one way. What it loses, and what its sampling adds that the shortened spread does not show, is taken as along every one
  (`NoisyScore.apart`).
- *What the regularised inverse leaves undone* (`_left`): `(I − HG̃) T (I − HG̃)ᵀ`, T the likely covariance of δ*, and what the step itself shows.

A level that noise hides is held where its usual record is predicted (`levels.py`): where its own coefficient was held all others took a part of what that was off by. Nothing is told of what goes with a number that
noise hides (`goes_with_hidden`), or would rest on how little is supposed of directions that it hides (`rests_on_guess`). Nor of a number of classes whose long records a step moves so far that the curvature there is another (`SWING`). Of classes and counts nothing at all is told where the estimates are more than `NEAR` away, noise does not show whether they are, or classes' gradients spread far less than they would (`unlike`).

What is assumed of the tail: beyond the last edge at which the histogram shows records it falls as the tails that fit all of its bins do, at least to a half at each edge but for a second hump that is likelier than none
(`solvers/score/lengths.py`). A cluster of less than about five deviations of a share's noise mostly goes unseen. The spread's own noise is not reckoned with.
"""

import math
from copy import copy
from dataclasses import astuple, replace

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtr, ndtri

from hullabaloo.geometry import NoPenalty
from hullabaloo.inference.debiased import Debiased, Equations, Intervals, as_likely, forms, reach
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.from_moments import constants
from hullabaloo.inference.shortening import at_ends, hidden, lean, one_signed, separating
from hullabaloo.losses import Logistic, Poisson, Squared
from hullabaloo.privacy.answers import NoisyScore
from hullabaloo.release.levels import RAREST, levels, nearly_constant
from hullabaloo.solvers.score.lengths import DOUBT_SCORE
from hullabaloo.solvers.score.shares import BLURRED
from hullabaloo.solvers.score.spread import steadied, unlike
from hullabaloo.solvers.score.step import DOUBT, INFERENCE, ScoreStep, faint, moved, radius, score_step, undone

NEAR, SWING = 1.0, 3.0
"""How far the released coefficients may be from the estimates, in predictions on the scale of the link (root mean square), and how far noise alone may move these, as a move that is less
is not told from none: what a step of m leaves, about m²/2, is part of the errors, and is known to that order only; of classes in predictions weighed by φ'', too, as far as a step that saturates shows (`ScoreStep.beyond`). The coefficients are otherwise held by a set or penalty, or far from their optimum.
(Chosen on Adult, bank, law school and motor claims at ε = 1 and 3, where intervals hold as well as up to 0.5; all draws of a rare class with strong columns that told anything, covertype at
ε = 1, had noise of 2.) And `ScoreStep.swing` beyond which nothing is told of a number of classes: where a skewed number tells a rare class apart a step from where long records still count is short, and the slope far off.
(Of a bank's balance, default in 1.8 % of 45 000 records, ε = 1, all seven slopes that were told were 10 to 38 told errors off, at 6 to 26. Chosen on that and on Adult, bank and law school at ε = 1 and 3, where 13 of 1 039 intervals that are told are lost, two of which did not hold; of 1 155 of other tables and budgets 12, four of which did not.)"""

FEW, LONE = 14.0, 2.0
"""Records that have to carry what is told, or it is told with what so few may hide (`hidden_at_ends`), or not at all where it is less than `LONE`: where k records alike do,
its robust t is Student's of k degrees of freedom, and of 14 it lies within 1.96 in 93 %, not 95; of 2 it has no variance. (Of development's told between them 98 % hold; down to 1, on California at ε = 1, 78 % of 48.)"""

TOGETHER = 2.5
"""Standard deviations of noise from which a function is seen to go with a number that noise hides, of k such numbers at as small a chance for all (Bonferroni). Seen on diamonds (carat beside x, y, z within (0, 100), ε = 1), where carat was told in 9 of
30 draws at 4.4 to 8 and never held; and of what was told between 2.5 and 3.5 on eight tables at ε = 0.5 holds 68 % of 19, on all of `benchmarks/inference.py` at 1 and 3 90 % of 86, two in a hundred of all."""


BESIDE = 0.4
"""Spectral radius of the curvature's noise, over the curvature, up to which a number is told beside such that noise hides, of the squared loss. (diamonds, ε = 1: at 0.27, 20 000 records, 93 % hold; at 0.45, 10 000 records, carat was told in 7 of
8 draws, never seen to go with x, y and z, and held in one. bike and ACS, which hide no number, hold 95 and 98 % at 0.6 and 0.7.)"""


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
        self.numbers: npt.NDArray[np.bool_] = self.faint & ~np.isin(np.arange(p), [one.column for one in marked])
        apart = np.eye(p)
        apart[-1, :-1] -= found.centre if self.intercept else 0.0
        # The coordinates of columns less their means, (q, k).
        self.hidden = np.linalg.solve(found.matrix, apart[:, self.numbers])
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
        held = np.column_stack([moving, found.matrix[self.numbers].T, *still])
        self.basis: Array = np.ascontiguousarray(np.linalg.qr(held, mode="complete")[0][:, held.shape[1] :])
        likely = as_likely(found)
        step = score_step(likely, INFERENCE, DOUBT, self.basis)
        alike = facts.records_per_unit if found.errors == "bound" else 1  # records of a unit may be
        taken = DOUBT_SCORE * found.excess
        self.columns, ends = at_ends(found, marked, self.intercept)
        self.lean: Array = taken**2 * lean(ends @ found.matrix, found.spread, self.intercept)
        self.doubts: Array = np.diag(self.lean)  # all errors but those of noise and sampling
        self.doubts[-1, -1] += max(found.level**2 - found.score_noise**2, 0.0)
        allowed = found.apart**2 * np.eye(q)
        for one, way in lengthy if unit > 0.0 else []:
            allowed += hidden(model, found, one, way, taken * (one[:2] not in rare), step.move(found, way))
        classes = isinstance(model.loss, Logistic) and not facts.weighted
        if classes and spread_noises and unit * found.spread_noise > 0.0 and found.errors != "unit":
            self.doubts += one_signed(found, spread_noises[0], found.weight * found.score_noise / unit)
        # How far predictions move from the released point to the estimate, root mean square, and how far noise alone moves them.
        beyond, _ = step.far(found)
        self.doubts += allowed + undone(found, model.loss, step.step, beyond, self.intercept, self.kept)
        sampling = steadied(found) / found.counted * alike + self.doubts
        self.away, self.swung = self._away(classes, [one.column for one in marked])
        # So few count that a table of these alone is refused, and a tenth fewer, as their released number has noise.
        share = found.weight if facts.max_weight == 1.0 else 1.0
        self.drowned = float(settings.get("tail_noise") or 0.0) > 1.1 * BLURRED * share
        self.drowned |= self._drowned(bool(self.numbers.any()) and isinstance(model.loss, Squared))
        self.far = self.drowned or (not isinstance(model.loss, Squared) and self.away > NEAR)
        seen = likely.curvature, found.score, found.curvature_noise, found.score_noise, sampling, self.basis
        self.law = Debiased(Equations(*seen, found.scale, step.inverse, step.left, allowed))
        self.law = Debiased(replace(self.law.equations, left=self._left(step)))
        self.map, self.guess = self.project @ found.matrix, step.hidden
        self._weigh(model, found, ends, unit)
        self.others = tuple(one for one in (self._holding(), self._leaning()) if one is not None)

    def _away(self, classes: bool, levels: list[int]) -> tuple[float, npt.NDArray[np.bool_]]:
        """How far the estimates may be from the released coefficients, as far as the noisy curvature shows it; and of which numbers, no `levels`, the curvature may not be that of the way there, (p,)."""
        found, step = self.found, score_step(self.found, INFERENCE, DOUBT, self.basis)
        bounded = isinstance(self.model.loss, Logistic) and self.intercept
        swung = ~np.isin(np.arange(found.point.size), levels) & (step.swing(found) > SWING if bounded else False)
        away = max(*step.far(found), step.beyond(found) if bounded else 0.0)
        return math.inf if classes and unlike(found) else away, swung

    def _drowned(self, beside: bool) -> bool:
        """Whether the spectral radius of the curvature's noise is more than the curvature's mean, or `BESIDE` of it."""
        found, size = self.found, self.basis.shape[1]
        mean = float(np.sum((found.curvature @ self.basis) * self.basis)) / max(size, 1)
        return bool(radius(found, size) > (BESIDE if beside else 1.0) * mean)

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
        self.separating = separating(model, found, self.doubts)
        self.held, self.beside_held = np.zeros(found.point.size, dtype=bool), np.zeros((found.point.size,) * 2)

    def _holding(self) -> "FromScore | None":
        """The same with those columns held where they were released that decide what is told of others (`decided_by`), where the curvature shows what they say themselves; None where there are none.

        With R their rows of the matrix and `C = HRᵀ(RHRᵀ)⁻¹` it is the step without their part, `(I − CR)Hb̃`: a record at an end of theirs has no influence, and the estimate is off by `C d`, d what they are
        off by. The first step says that this is d̃, so that `d̃d̃ᵀ` and its covariance, with what few records may hide of them, is taken as its second moment. Nothing is told so of a column that decides others
        itself, as either of two that are nearly the same. (Of intervals that only this tells, n = 20 000, an expert's bounds, ε = 1 and 3, 99 % of 313 of the development half of
        `benchmarks/inference.py` hold and 97 % of 189 of the report half, 7 and 8 robust errors wide; holding alone covers 78 to 85 % on California, abalone and noaa.)
        """
        eye, H = np.eye(len(self.faint)), self.law.inverse
        seen, shares = self.shares_at_ends(eye)
        decide = (LONE * shares > seen[:, None]) & (seen[:, None] > 0.0)
        held = np.isin(np.arange(len(eye)), self.columns[decide.any(axis=0)]) & (seen > 0.0) & ~self.faint
        if not held.any():
            return None
        other, rows = copy(self), self.found.matrix[held]
        along = H @ rows.T @ np.linalg.pinv(rows @ H @ rows.T)
        off, apart = rows @ self.law.theta, np.eye(len(H)) - along @ rows
        wrong = np.outer(off, off) + rows @ self.law.covariance @ rows.T + np.diag(self.hidden_at_ends(eye[held]))
        other.law = Debiased(replace(self.law.equations, inverse=apart @ H, left=apart @ self.law.left @ apart.T))
        other.held, other.beside_held = held, self.map @ along @ wrong @ along.T @ self.map.T
        other.guess = apart @ self.guess @ apart.T
        return other

    def _leaning(self) -> "FromScore | None":
        """The same where the step reckons, beside noise, with all other errors that are told but those of sampling, and where few records could change what is told of a column with one at each end.

        Of linear estimates of δ*, as likely as any step takes it to be, with such errors H has the least mean square (Donoho 1994; Armstrong & Kolesár 2018). Sampling is left out: where noise is low, least squares is told.
        Where a set or penalty kept coefficients of a loss that bends far from their optimum it would lean on what bending may hide for most of the way: it is not asked there (slopes of 5 in a ball of 1 or 2: none of 28 held, 22 with it wider, all
        without it). Records at ends are there since the less noise, the fewer of them decide what
        directions say that records hardly show: intervals grew with the budget, California's from 2.0 robust errors at ε = 3 to 7.1 at 10. (Chosen on the development half of `benchmarks/inference.py`: without this estimate but where records at ends
        ask for one, intervals are 3 and 2 % longer at ε = 1 and 3, 97.0 % of 1 412 hold, and 97.0 of 1 420 with it, 96.2 of 3 440, and 96.5 of 3 445; of 1 851 that are 3 % shorter 1 811, on the report half 548 of 557.)
        """
        if self.kept:
            return None
        law, other, likely = self.law, copy(self), replace(self.found, curvature=self.law.equations.gram)
        few = bool(np.any(self.hidden_at_ends(np.eye(len(self.faint)))))
        beside = INFERENCE * self.doubts + few * self.aside[0] * self.longest.T @ self.longest
        step = score_step(likely, INFERENCE, DOUBT, self.basis, beside=beside)
        equations = replace(law.equations, inverse=step.inverse, left=self._left(step))
        other.law, other.guess = Debiased(equations), step.hidden
        return other

    def _left(self, step: ScoreStep) -> Array:
        """What a step leaves undone, (q, q): as likely as of any step, and besides as the first one moves, `(I − HG̃)δ̃`, squared, in so far as that is more than its errors make it (James & Stein 1961).

        Where the coefficients were released far off more is left than is likely: bike at ε = 3 holds 87 % without it, 95 with it.
        """
        rest = np.eye(len(step.inverse)) - step.inverse @ self.law.equations.gram
        off, errors = rest @ self.law.theta, rest @ self.law.covariance @ rest.T
        more = 1.0 - float(self.found.scale**2 @ np.diag(errors)) / max(moved(self.found, off) ** 2, 1e-300)
        return np.asarray(step.left + max(more, 0.0) * np.outer(off, off), dtype=np.float64)

    @property
    def kept(self) -> bool:
        """Whether a set or penalty may keep the coefficients of a loss that bends far from their optimum."""
        held = self.model.constraint is not None or not isinstance(self.model.penalty, NoPenalty)
        return held and not isinstance(self.model.loss, Squared)

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
        seen = -ndtri(ndtr(-TOGETHER) / max(self.hidden.shape[1], 1))
        return np.asarray(np.any(np.abs(along) > seen * noise, axis=1), dtype=np.bool_)

    def rests_on_guess(self, functions: Array) -> npt.NDArray[np.bool_]:
        """Whether `functions @ θ`, (m,), is told by how little is supposed of directions that noise hides: were each to explain `GUESSED`, what is left of them would be more than all other errors."""
        asked, known = functions @ self.map, self.law.covariance - self.law.left
        return np.asarray(forms(asked, self.guess) > forms(asked, known), dtype=np.bool_)

    @property
    def theta(self) -> Array:
        """The estimate, (p,)."""
        return np.asarray(self.project @ self.found.point + self.map @ self.law.theta, dtype=np.float64)

    @property
    def covariance(self) -> Array:
        """Of the estimate, (p, p): privacy, sampling and what is left undone."""
        return np.asarray(self.map @ self.law.covariance @ self.map.T, dtype=np.float64)

    def intervals(self, functions: Array, quantile: float, own: float = 0.0) -> Intervals:
        """Of `functions @ θ`, functions (m, p): of the fit beside all columns and those that lean less on records at ends of wide bounds, or on what may be off (`_holding`, `_leaning`), the shortest."""
        beyond = self.hidden_at_ends(functions) - self.spared(functions) + forms(functions, self.beside_held)
        told = self.law.intervals(functions @ self.map, quantile, own + beyond)
        at = functions @ self.project @ self.found.point
        if self.far:
            return Intervals(*np.full((6, len(functions)), np.nan))
        beside = functions[:, self.numbers].any(axis=1) | self.goes_with_hidden(functions)
        beside |= self.rests_on_guess(functions)
        # Of a prediction such a number is a part as it is released; of such a level nothing is known.
        beside &= (functions[:, -1] == 0.0) | (not self.intercept)
        beside |= functions[:, self.held | self.swung | (self.faint & ~self.numbers)].any(axis=1)
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
