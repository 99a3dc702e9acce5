"""How well a model fits, as far as a release tells: predicted over observed totals, of a squared loss R² and the residuals' standard deviation; post-processing, at no price.

*From a score.* In its coordinates the last one is a constant a, so that the released spread has `E r²` at its last place, over a²: r the residual at the
released point θ₁. With `z = ⟨x, θ₁⟩` the curvature has Var z and the score Cov(z, r), so that `Var y = Var z + 2 Cov(z, r) + Var r`; at the coefficients that
predict, d away, `E r²` is `⟨d, Gd⟩ − 2⟨d, b⟩` further, and `2t² tr H` for what noise the step follows. Errors: the upper half of Fieller's interval for the spread's noise,
which Var r and Var y share, and by the delta method noise of score and curvature, what shortening may take of the score, sampling as of normal residuals, and of the squares what is lost: `SHORTENED`, or, near a bound of the target and where that is more, `E(L² − c²)₊ ≥ 2c E(L − c)₊` over their sum, by the released loss of gradients longer than c. On
the tables of the report half of `benchmarks/inference.py` with a squared loss (n = 20 000, both declarations, ε = 1 and 3, 8 draws) the range held the population's R² in 150 of 151 fits that tell one (146 of 149 of
the development half), the residuals' standard deviation in 101 of 103 (93 of 96). Both are told from a strength on that noise may have made: the lower end of the deviation's range and the upper one of R² are those of one so told. (Quality of 6 497 wines within (0, 10), R² 0.29, ε = 1, 1.5 and 2: 46 of 48 ranges of R², 38 without that.) Where that upper end is 1, which no R² is above, the lower end alone is told, and nothing where it is not above 0.

*Totals.* The score's last place over a is the mean of observed less predicted targets at θ₁, `⟨G̃_last, d⟩` less at the coefficients that predict, and as the loss bends
(`solvers/score/step.py`). Its errors are the noise of both, what shortening may take of the score and of the curvature, and `BENT` of what bending alone adds.
That place is told by two means of the same residuals (`solvers/score/with_inference.py`): of the score, in which records are shortened by the length of their whole gradient, and of that
coordinate alone, with more noise, whose residuals may be longer. What the first may lose is as much as it loses of all, times the root of the share of `‖v‖²` along the constant, G̃_cc/tr G̃; what the second may is
reckoned on the residuals themselves, up to the declared bounds. Both for a tail that may fall as slowly as one without a mean, and for residuals of one sign, as of amounts of which most are 0: their difference shows it, and the
weights are those of least squares for both losses with one unknown factor. (Of counts the error is at least that of the score without the second mean, as of releases that have none: their long gradients are those of high rates, and take as much of the curvature.) Of the curvature shortening to R takes `E(1 − R²/L²)₊ φ''⟨v, d⟩`, L² = φ''‖v‖², from the mean, which by the inequality
of Cauchy and Schwarz is at most `l ‖d‖ √(qh)/R` where it takes l in each of q directions and h is the mean of φ'' (and l ‖d‖ is taken where that is more). (Development half of
`benchmarks/inference.py`, expert's bounds, ε = 1 and 3, 8 draws: told and realised ratios are 0.70 and 0.81 errors apart, root mean square, and 184 of 187 within two; report half 0.90 and 0.77, 185 of 192. Of simulated numbers with residuals
of one sign alone it is 1.0; without the second mean it was 1.4. What is told of the tail was chosen with both halves in view.) Of classes and counts none is told where predictions have moved further than `CLOSE`; all levels of a category without a baseline
alike move none (of a bank's campaigns, five such categories, 36 000 records, ε = 1: told and realised ratios 0.79 errors apart in 25 of 25 fits; 1.2 in the 16 that told one where these moves counted). Of several classes, each learned against
the rest, it is that of the chances brought to sum 1, by the answer of `solvers/class_totals.py`.

*Pseudo-R².* Of two classes `E ℓ = E H(p) − ⟨E(y − p)v, w⟩`, H the entropy, w the predictions' coefficients in the score's coordinates, and a constant's is `H(E y)`. So McFadden's `1 − E ℓ/E ℓ₀`, as statsmodels prints it, takes E H(p) and E p beside the score:
those of the normal law of log-odds whose E φ'' and E φ''z are the released curvature's (`NormalPredictions.bent`; that of the records' centre and covariance was .15 off where a column has a heavy tail). Errors: noise of the score, what shortening may take of it, sampling, and `SHAPE` of it for the law.
On the logistic lines of `benchmarks/inference.py` (n = 20 000, ε = 0.5 to 10) the range held the population's in 107 of 110 fits that tell one of the development half and 145 of 145 of the report half, whose electricity had shown the fault of the other law (n = 200 000: 110 of 112); all misses are of
`bank`, 0.13 for 0.17. Of eleven other tables with a target of two classes (ε = 1 and 3, 3 draws) it held the table's own in 58 of 58. Of counts the release lacks E y log y and E log y!: none is told.

*From moments.* `solvers/moments/explained.py`.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import entr, log_ndtr, logit

from hullabaloo.data.reference import columns_of, undetermined
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.losses import Logistic, Poisson, Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.answers import NoisyScore
from hullabaloo.solvers import Explained, explained
from hullabaloo.solvers.score.lengths import DOUBT_SCORE
from hullabaloo.solvers.score.normal_predictions import WEIGHTS, NormalPredictions
from hullabaloo.solvers.score.step import PREDICTION, change, level_told, moved, score_step

SHORTENED = 0.09
"""Share of the residuals' squares that may be lost where the longest hundredth of the gradients is shortened: 0.4 to 22 % in nine fits of ten, 9 % root mean square, on the tables of the
development half of `benchmarks/inference.py` (n = 20 000, ε = 1 and 3; 7 % on the report half). What the histogram of gradients shows to be cut is mostly long records, and tells nothing of it."""
WIDEST = 0.25
"""Half of the widest range of R² that is shown, and of a standard deviation over itself."""
QUANTILE = 1.96
NEAREST = 2.0
"""Standard deviations of the residuals from the mean prediction to the nearer bound of the target within which long residuals are of one sign: no target lies beyond its bound, so that to that
side none is among the longest. So it is of amounts of which most are 0."""
BENT = 0.3
"""Share of what bending alone adds to a mean chance or count that is taken as unknown: records are not normal."""
SHAPE, LEAST = 0.14, 1e-4
"""Share of a pseudo-R² that is taken as unknown, as records are not normal and noise hides some of their curvature; and the least share of a class that is reckoned with."""
CLOSE = 0.5
"""How far predictions of classes and counts may move in the last step, root mean square on the scale of the link, before no total is told."""
UNTOLD = "not told; an evaluation tells {}"


def quality(model: FittedModel) -> Iterator[tuple[str, str]]:
    """Lines of the summary's header, of each target."""
    names, score = model.encoding.facts.targets, model.release.score
    totals = [total(model, k) for k in range(len(model.release.scores))]
    for name, of in zip(names, totals, strict=False):
        if any(totals) or (len(names) == 1 and adds_up(model, True)):  # what noise hides is not left out without a word
            value, error = of or (math.nan, math.inf)
            title = "Predicted / observed total" + f" of {name}" * (len(names) > 1)
            yield title, _range(value, QUANTILE * error, WIDEST)
    if isinstance(model.loss, Logistic | Poisson):
        pseudo, loss = mcfadden(model), "poisson_deviance" if isinstance(model.loss, Poisson) else "log_loss"
        text = _range(pseudo[0], QUANTILE * pseudo[1], WIDEST, 1.0) if pseudo else UNTOLD.format(loss)
        yield "Pseudo-R²" + " (McFadden)" * (loss == "log_loss"), text
    for k, name in enumerate(names if isinstance(model.loss, Squared) else ()):
        fit, told = _fit(model, k), f" of {name}" * (len(names) > 1)
        if fit is None:
            if score is not None:
                yield f"R²{told}", UNTOLD.format("r2")
            continue
        half = QUANTILE * fit.standard_error
        of_noise = _highest(fit, model.release.scores[k]) if score is not None and half <= WIDEST else -math.inf
        high, low = min(max(fit.r2 + half, of_noise), 1.0), fit.r2 - half
        text = _range(fit.r2, half if of_noise < 1.0 else math.inf, WIDEST, 1.0, ends=(low, high))
        yield f"R²{told}", text if of_noise < 1.0 or low <= 0.0 else f"above {low:.3f}: noise hides how far"
        if math.isfinite(fit.residual) and not math.isnan(fit.residual_error):
            scale, most = float(model.encoding.target_scale[k]), fit.residual + QUANTILE * fit.residual_error
            deviation = math.sqrt(max(fit.residual, 0.0)) * scale
            strength = min(max(fit.residual, 0.0) / max(fit.residual_error, 1e-300), 1e6)
            half = math.inf if math.isinf(fit.residual_error) else 0.5 * QUANTILE / max(strength, 1e-300) * deviation
            low = math.sqrt(_least(strength, 0.5 * QUANTILE / WIDEST) / max(strength, 1e-300)) * deviation
            # As R² and the target's variance have it, that noise shares.
            beside = (1.0 - high) * (fit.variance - QUANTILE * fit.residual_error)
            ends = (max(low, math.sqrt(max(beside, 0.0)) * scale), math.sqrt(max(most, 0.0)) * scale)
            text = _range(deviation, half, WIDEST * deviation, ends=ends)
            # R² is of the target's spread, which is larger
            if WIDEST * deviation < half and math.isfinite(most) and QUANTILE * fit.standard_error <= WIDEST:
                text = f"below {float(f'{math.sqrt(most) * scale:.2g}'):,.10g}: noise hides how far"
            yield f"Residual s.d.{told}", text


def _highest(fit: Explained, found: NoisyScore) -> float:
    """The upper end of R² as far as the spread's noise goes: what is explained, over the least spread with which one is told.

    Where noise hides R² in most draws it is told in those that make the spread large, and R² small: from the strength s on at which `QUANTILE E/(s(s − QUANTILE))` is `WIDEST`, E what is explained over the noise.
    """
    strength = min(fit.variance * float(found.matrix[-1, -1]) ** 2 / max(found.spread_noise, 1e-300), 1e6)
    explained = max(fit.r2, 0.0) * strength
    told = 0.5 * QUANTILE + math.sqrt((0.5 * QUANTILE) ** 2 + QUANTILE * explained / WIDEST)
    return explained / max(_least(strength, told), explained, 1e-300)


def _least(strength: float, told: float) -> float:
    """The lower end, at least 0, of a strength with normal noise that is told from `told` on: that from which one that is told is as large with chance Φ(−`QUANTILE`)."""

    def beyond(mean: float) -> float:
        return float(log_ndtr(mean - strength) - log_ndtr(mean - told) - log_ndtr(-QUANTILE))

    low = max(strength - 40.0, 0.0)
    return low if beyond(low) >= 0.0 else float(brentq(beyond, low, strength))


def _range(
    value: float, half: float, widest: float, highest: float = math.inf, ends: tuple[float, float] | None = None
) -> str:
    """A value with the ends of its range, in two digits of its half; at most 1, in three or four."""
    if not half <= widest:
        return "not told: noise hides it at this budget"
    digits = max(3 * (highest == 1.0), 1 - math.floor(math.log10(max(half, 1e-3 if highest == 1.0 else 1e-9))), 0)
    low, high = ends or (value - half, min(value + half, highest))
    return f"{min(max(value, low), high):.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def _shortened(model: FittedModel, found: NoisyScore, target: int) -> float:
    """What may be lost of the residuals' squares, over what is left of them."""
    deviation = math.sqrt(max(float(found.spread[-1, -1]), found.spread_noise)) / float(found.matrix[-1, -1])
    if 1.0 - abs(float(np.append(found.centre, 1.0) @ model.release.theta[:, target])) > NEAREST * deviation:
        return SHORTENED
    unit = (model.release.plan.get("settings") or {}).get("score_noise") or math.inf
    clip = found.weight * found.score_noise / unit
    return max(SHORTENED, 2.0 * clip * found.excess / max(float(np.trace(found.spread)), 1e-300))


def adds_up(model: FittedModel, weighted: bool = False) -> bool:
    """Whether a constant column makes sums of residuals part of the score, of records whose number is known and that count alike or, where one asks for it and there is one target, by their weights."""
    facts, alike = model.encoding.facts, isinstance(model.loss, Squared | Logistic | Poisson)
    alike &= facts.max_weight == 1.0 or (weighted and len(model.release.scores) == 1)
    return alike and facts.intercept and model.neighbours is Neighbours.REPLACE_ONE


def total(model: FittedModel, target: int) -> tuple[float, float] | None:
    """Predicted over observed total of the fit's own records, of weighted ones and a single target that of weighted sums, and its standard error; None where the release does not tell it."""
    mean, seen, error = means(model, target) if adds_up(model, True) else (math.nan, math.nan, math.inf)
    return (mean / seen, error / abs(seen)) if abs(seen) > 4.0 * error else None


def means(model: FittedModel, target: int) -> tuple[float, float, float]:
    """Of records that add up the mean prediction and the mean target, over the target's scale, and their standard error; it is ∞ where they are not told."""
    facts, found = model.encoding.facts, model.release.scores[target]
    theta, a, G = model.release.theta[:, target], float(found.matrix[-1, -1]), found.curvature
    both = np.column_stack([found.point, theta - found.point])
    w, d = np.linalg.solve(found.matrix, both).T.astype(np.float64)
    off, s = float(G[-1] @ d - found.score[-1]) / a, found.scale * d
    of_curvature = found.curvature_noise * float(found.scale[-1] * np.sqrt(0.5 * (s @ s + s[-1] ** 2)))
    h, still = float(G[-1, -1]) / a**2, _still(model, found)
    far = max(moved(found, d - still @ d), math.sqrt(max(float(d @ G @ d), 0.0) / max(h, 1e-12)))
    lost = found.excess * math.sqrt(max(float(G[-1, -1]), 0.0) / max(float(np.trace(G)), 1e-300))
    whole = math.hypot(found.score_noise, lost) if isinstance(model.loss, Poisson) or not found.level else 0.0
    error = math.hypot(max(found.level, whole), of_curvature) / a
    unit = ((model.release.plan.get("settings") or {}).get("noises") or (0.0, math.inf))[1]  # of records of length 1
    within = min(len(d) * max(h, 1e-12) * unit / found.weight / max(found.curvature_noise, 1e-300), 1.0)
    error = math.hypot(error, found.shortened * far * math.sqrt(within))
    if not isinstance(model.loss, Logistic | Poisson):
        mean = float(np.append(found.centre, 1.0) @ theta)
        mean += float(model.encoding.target_offset[target] / model.encoding.target_scale[target])
        seen = mean - off
    else:
        found = replace(found, point=found.point - found.matrix @ (still @ w))
        by = change(found, d - still @ d, model.loss)
        mean = h if isinstance(model.loss, Poisson) else NormalPredictions.of(found, found.point).chance
        seen, mean = mean + float(found.score[-1]) / a, mean + h * by.bent + float(G[-1] @ still @ d) / a
        error = math.hypot(error, BENT * h * by.still)
    near = isinstance(model.loss, Squared) or far <= CLOSE
    if isinstance(model.loss, Logistic) and len(facts.targets) > 1:
        of = next((one for one in model.release.trace if "totals off" in one), None)
        near, n = of is not None and seen > 4.0 * error, found.counted
        mean, error = (seen + of["totals off"][target] / n, of["totals error"] / n) if of else (mean, error)
    return mean, seen, error if near else math.inf


def _still(model: FittedModel, found: NoisyScore) -> Array:
    """What takes of a step (q,) the part that moves no prediction, so that the rest is shortest: all levels of a category without a baseline alike, which add up to the constant."""
    features = undetermined(model.encoding)
    alike = np.zeros((len(found.point), len(features)))
    for number, feature in enumerate(features):
        alike[columns_of(model.encoding, feature), number] = 1.0
    ways = found.scale[:, None] * np.linalg.solve(found.matrix, alike)
    ways[-1] = 0.0  # of slopes alone, so that the mean prediction stays where a few records have no level
    return np.asarray(ways @ np.linalg.pinv(ways, rcond=1e-8) * found.scale / found.scale[:, None], dtype=np.float64)


def mcfadden(model: FittedModel) -> tuple[float, float] | None:
    """McFadden's pseudo-R² of two classes, of the coefficients that predict, and its error; None where the release does not tell it."""
    scores, theta = model.release.scores, model.release.theta
    if len(scores) != 1 or not (isinstance(model.loss, Logistic) and adds_up(model) and level_told(scores[0])):
        return None
    found, a, G, b = scores[0], float(scores[0].matrix[-1, -1]), scores[0].curvature, scores[0].score
    w, d = np.linalg.solve(found.matrix, np.column_stack([found.point, theta[:, 0] - found.point])).T
    p = NormalPredictions.of(found, found.point).bent(float(G[-1, -1]) / a**2, float(G[-1] @ w) / a).chances
    seen = min(max(float(WEIGHTS @ p + b[-1] / a), LEAST), 1.0 - LEAST)
    null, left = float(entr(seen) + entr(1.0 - seen)), float(WEIGHTS @ (entr(p) + entr(1.0 - p)))
    share = (left - float(b @ (w + d) - 0.5 * d @ G @ d) + _followed(found, float(np.linalg.norm(d)))) / null
    far = float(np.linalg.norm(w + d - share * logit(seen) / a * np.eye(len(w))[-1])) / null
    part, of_score = min(max(1.0 - share, 0.0), 1.0), far * math.hypot(found.score_noise, DOUBT_SCORE * found.excess)
    error = math.hypot(of_score, math.sqrt(2.0 * part / null / found.records), SHAPE * part)
    return (1.0 - share, error) if moved(found, d - _still(model, found) @ d) <= CLOSE else None


def _followed(found: NoisyScore, far: float) -> float:
    """What so long a step along the score gains of its noise in the mean."""
    step = score_step(found, PREDICTION, evident=True)
    taken = min(far / max(float(np.linalg.norm(step.step)), 1e-300), 1.0)
    return taken * found.score_noise**2 * float(np.trace(step.inverse))


def _fit(model: FittedModel, target: int) -> Explained | None:
    """Of the coefficients that predict, on the unit domain; None where nothing is released that tells it."""
    release, facts = model.release, model.encoding.facts
    if release.scores:
        return from_score(model, target)
    if release.moments is None or len(release.moments.gram) != facts.width:
        return None
    ridge = next((float(line["ridge"]) for line in release.trace if "ridge" in line), math.inf)
    found = explained(release.moments, release.theta[:, target], facts, target=target, ridge=ridge)
    return found if math.isfinite(found.standard_error) else None


def from_score(model: FittedModel, target: int) -> Explained | None:
    """R² and residual variance; None where the release does not tell the residuals' mean square by itself.

    That takes an intercept, weights of 1, a known number of records and robust errors: of other kinds the spread is of units, or rests on lengths of records.
    """
    found = model.release.scores[target]
    if not adds_up(model) or found.errors not in ("robust", "bound"):
        return None
    a2, G, b = float(found.matrix[-1, -1]) ** 2, found.curvature, found.score
    mean, beside = G[:-1, -1] / a2, float(b[-1]) / a2
    z = np.linalg.solve(found.matrix, found.point)[:-1]
    d = np.linalg.solve(found.matrix, model.release.theta[:, target] - found.point)
    squares, noise = float(found.spread[-1, -1]) / a2, found.spread_noise / a2
    across, around = b[:-1] - a2 * mean * beside, G[:-1, :-1] - a2 * np.outer(mean, mean)
    variance = squares - a2 * beside**2 + float(z @ around @ z + 2.0 * z @ across)
    residual = squares + float(d @ G @ d - 2.0 * d @ b) + 2.0 * _followed(found, float(np.linalg.norm(d)))
    if not (variance > noise and residual > 0.0):
        return Explained(math.nan, math.inf, residual, variance, math.inf)
    left, part = residual / variance, min(max(1.0 - residual / variance, 0.0), 1.0)
    cut = _shortened(model, found, target)
    far = 2.0 * float(np.linalg.norm(np.append(left * z, 0.0) + d))
    of_score, of_excess = far * found.score_noise, far * DOUBT_SCORE * found.excess
    of_curvature = left * found.curvature_noise * float(np.sum((found.scale[:-1] * z) ** 2))
    sampling = 2.0 * math.sqrt(part / found.counted) * left * variance
    beside_noise = math.hypot(of_score, of_excess, of_curvature, sampling, cut * left * part * variance)
    known = 1.0 - (QUANTILE * noise / variance) ** 2  # Fieller's upper end
    upper = math.hypot(part * noise, math.sqrt(max(known, 0.0)) * beside_noise) / variance
    upper += part * (1.0 - known) / QUANTILE
    off = math.hypot(noise, 2.0 * found.score_noise * float(np.linalg.norm(d)))
    off = math.hypot(off, cut * residual if cut <= WIDEST else math.inf, math.sqrt(2.0 / found.counted) * residual)
    return Explained(1.0 - left, upper / known if known > 0.0 else math.inf, residual, variance, off)
