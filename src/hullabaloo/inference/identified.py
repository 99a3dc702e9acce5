"""Why a coefficient is not identified: by what was released of the column's variance, of its own and beside the others, in words."""

import numpy as np

from hullabaloo.data import Encoding
from hullabaloo.inference.crowded import crowded
from hullabaloo.inference.debiased import Debiased
from hullabaloo.inference.fitted import Array, FittedModel
from hullabaloo.inference.from_score import FromScore
from hullabaloo.inference.refit import kept_columns
from hullabaloo.losses import Logistic
from hullabaloo.solvers.score.step import SEEN, variances

SHOWN = 12
"""Columns named for one reason."""
ALONE = 0.3
"""Share of a column's variance that others do not explain from which it is not called one that goes with them."""
LEFT_OUT = "the refit left the column out"
EXACT = "the column is constant, or a sum of others"
SELDOM = "values are never or too seldom missing"
ALWAYS = "for this noise values are missing in nearly all records"
RARE = "for this noise the records of the level are too few, or tell too little"
COMMON = "for this noise nearly all records have the level"
CONSTANT = "it goes with columns that are not identified"
HIDDEN = "for this noise the column varies too little within its bounds"
SURE = ", or among the records of which the model is not sure, which are few"
CROWDED = ", most of its values lie near its {} bound or beyond it"
TOGETHER = "noise hides what the column has beside others that it goes with"
GUESS = "it rests on how columns that go together differ, which noise hides"
FAINT = "the column is seen to vary, but noise hides its effect"
LONE, FEW = "one or two records at an end of the bounds of ", "one or two records of "
ENDLESS = "noise may hide that none of the level's records, or all of them, have an event, or of the baseline that it is compared with, so that there is no end on one side"
UNKNOWN = "noise hides it, and the release does not say of which column"

REMEDIES: dict[str | tuple[str, ...], str] = {
    (HIDDEN, LONE): "bounds closer around its values, transform='log1p' for a long tail, and cells that are numbers",
    (TOGETHER, GUESS): "fewer columns that go together",
    (RARE, FEW): "fewer and larger levels",
    SELDOM: "indicators=False where nothing is missing",
}
"""What tells such a column, beside more budget."""


def reasons(model: FittedModel, estimator: object) -> list[str]:
    """For each coefficient of the summary, why it would not be told."""
    encoding, release = model.encoding, model.release
    kept = set(kept_columns(encoding, (release.plan.get("refit") or {}).get("features")))
    found = _seen(model, estimator) if release.statement.budget.is_private else [EXACT] * encoding.facts.width
    return [why if place in kept else LEFT_OUT for place, why in enumerate(found)]


def _seen(model: FittedModel, estimator: object) -> list[str]:
    """By the released variance of each encoded column against its noise, and by what of it others leave."""
    encoding, release = model.encoding, model.release
    width, intercept = encoding.facts.width, encoding.facts.intercept
    if isinstance(estimator, FromScore):
        found, law, back = estimator.found, estimator.law, estimator.map
        own, noise = variances(found.curvature, found.matrix, found.curvature_noise * found.scale**2, intercept)
        share = found.centre if intercept else np.zeros(width)
        noise, lone = np.where(estimator.faint | estimator.swung, np.inf, noise), estimator.decided_by(np.eye(width))
        beside, guess = estimator.goes_with_hidden(np.eye(width)), estimator.rests_on_guess(np.eye(width))
    elif isinstance(estimator, Debiased) and release.moments is not None:
        gram, law, back, lone = release.moments.gram, estimator, np.eye(width), np.full(width, -1)
        beside = guess = lone >= 0
        own, noise = variances(gram, back, np.full(width, release.moments.gram_noise), intercept)
        share = gram[:-1, -1] / max(float(gram[-1, -1]), 1e-12) if intercept else np.zeros(width)
    else:
        return [UNKNOWN] * width
    alone, words = _alone(law, back) >= ALONE * own, np.array(_words(encoding), dtype=object)
    unseen = np.where(np.append(share > 0.5, [False] * intercept), words[:, 1], words[:, 0])
    names = words[:, 2] + np.array(encoding.facts.columns, dtype=object) + " could decide it"
    why = np.where(guess, GUESS, np.where(alone, FAINT, TOGETHER))
    why = np.where(lone >= 0, names[lone], np.where(beside, CONSTANT, why))
    told = np.where(own < SEEN * noise, unseen, why)[: width - intercept]
    more = dict.fromkeys(encoding.facts.columns, SURE if isinstance(model.loss, Logistic) else "")
    more |= {name: CROWDED.format(side) for name, side in crowded(model).items()}
    named = zip(map(str, told), encoding.facts.columns, strict=False)
    return [*(one + more[name] * (one == HIDDEN) for one, name in named), *[CONSTANT] * intercept]


def _alone(law: Debiased, back: Array) -> Array:
    """The variance that other columns do not explain, (p,), as far as noise lets it be seen: over `back δ`."""
    basis, equations = law.equations.basis, law.equations
    values, vectors = np.linalg.eigh(basis.T @ equations.gram @ basis)
    edge = equations.gram_noise * float(np.mean(law.scale**2)) * np.sqrt(2.0 * len(values))
    spread = back @ basis @ vectors
    return np.asarray(1.0 / np.maximum((spread**2 / np.maximum(values, max(edge, 1e-300))).sum(axis=1), 1e-300))


def _words(encoding: Encoding) -> list[tuple[str, str, str]]:
    """What it means that a column does not vary: of 0/1 columns that few records have it, or that nearly all do; and which records could decide it."""
    found = [(HIDDEN, HIDDEN, LONE)] * encoding.facts.width
    for one in encoding.layout.numeric if encoding.layout is not None else ():
        if one.indicator >= 0:
            found[one.indicator] = SELDOM, ALWAYS, FEW
    for block in encoding.layout.onehot if encoding.layout is not None else ():
        for place in block.columns:
            found[place] = RARE, COMMON, FEW
        if block.missing >= 0:
            found[block.missing] = SELDOM, ALWAYS, FEW
    return found


def named(pairs: list[tuple[str, str]]) -> str:
    """Columns by reason in one sentence, from pairs of name and reason; "" without any."""
    by_reason: dict[str, list[str]] = {}
    for name, why in pairs:
        by_reason.setdefault(why, []).append(name)
    parts = []
    for why, names in by_reason.items():
        several = list(dict.fromkeys(names))
        more = f" and {len(several) - SHOWN} more" if len(several) > SHOWN else ""
        parts.append(f"{', '.join(several[:SHOWN])}{more}, because {why}")
    helps = "; ".join(text for start, text in REMEDIES.items() if any(why.startswith(start) for why in by_reason))
    remedy = f" What helps beside more budget: {helps}." if helps else ""
    return f"Not identified{' at this budget' * (EXACT not in by_reason)}: {'; '.join(parts)}.{remedy}" if parts else ""
