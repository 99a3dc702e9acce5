"""Why a coefficient is not identified: from the declaration and from what was released, in words."""

import numpy as np

from hullabaloo.data import Encoding
from hullabaloo.inference.fitted import FittedModel
from hullabaloo.inference.refit import kept_columns

SHOWN = 12
"""Columns named for one reason."""
LEFT_OUT = "the refit left the column out"
EXACT = "the column is constant, or a sum of others"
SELDOM = "values are never or too seldom missing"
RARE = "for this noise the level is too rare, or too like others"
CONSTANT = "it goes with columns that are not identified"
HIDDEN = "for this noise the column varies too little within its bounds, or too much as others do"

REMEDIES = {
    HIDDEN: "narrower bounds, transform='log1p' for a long tail, or fewer columns that go together",
    RARE: "fewer and larger levels",
    SELDOM: "indicators=False where nothing is missing",
}
"""What tells such a column, beside more budget."""


def reasons(model: FittedModel) -> list[str]:
    """For each coefficient of the summary, why it would not be told."""
    encoding, release = model.encoding, model.release
    kept = set(kept_columns(encoding, (release.plan.get("refit") or {}).get("features")))
    found = _kinds(encoding) if release.statement.budget.is_private else [EXACT] * encoding.facts.width
    return [why if place in kept else LEFT_OUT for place, why in enumerate(found)]


def _kinds(encoding: Encoding) -> list[str]:
    """By what an encoded column is."""
    found = np.full(encoding.facts.width, HIDDEN, dtype=object)
    for one in encoding.layout.numeric if encoding.layout is not None else ():
        found[[place for place in (one.indicator,) if place >= 0]] = SELDOM
    for block in encoding.layout.onehot if encoding.layout is not None else ():
        found[list(block.columns)] = RARE
        found[[place for place in (block.missing,) if place >= 0]] = SELDOM
    found[encoding.facts.width - encoding.facts.intercept :] = CONSTANT
    return [str(why) for why in found]


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
    helps = "; ".join(REMEDIES[why] for why in by_reason if why in REMEDIES)
    remedy = f" What helps beside more budget: {helps}." if helps else ""
    return f"Not identified{' at this budget' * (EXACT not in by_reason)}: {'; '.join(parts)}.{remedy}" if parts else ""
