"""What is forecast of a fit before any record is read, beside what fits then give; `inference.py` measures both on the same draws.

A range counts as its middle, and by whether it holds what was found; "known" is with standard deviations of the columns and of what is left of the target given to one digit. Standard errors: the forecast of a coefficient over the median that the fits state, where half of them
or more tell it, else over the deviation of the released coefficient from draw to draw (the table's own sampling included). Share kept: also
as what is lost, one minus it. Total: the forecast deviation of predicted over observed total over what it was from draw to draw.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray
WITHIN = (2.0, 5.0)
LEAST = 0.01
"""Shares kept and lost are not told apart below this."""


@dataclass(frozen=True)
class Forecast:
    """Ranges of standard errors by name in the user's units, the share of the gain kept, the deviation of predicted over observed total; NaN is unsaid."""

    errors: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    share: float = np.nan
    total: float = np.nan


def forecast(model: Any, n: int | None, known: dict[str, float]) -> Forecast:
    """What `model.price` says of a fit, of which this is known: the one place that knows its words."""
    price = model.price(n, known=known)
    kept = re.search(r"expected to keep about (\d+) %", price.expectation)
    share = 0.0 if kept is None else int(kept[1]) / 100
    return Forecast({one.name: (one.low, one.likely, one.high) for one in price.errors}, share)


def compared(
    said: Forecast, sharp: Forecast, names: Sequence[str], errors: Array, share: float, total: float
) -> dict[str, Any]:
    """Forecast over found: the median over coefficients with its spread, shares kept and lost, totals; None where nothing was said."""
    ranges = _over(said, names, errors)
    ratios, sharper = ranges[:, 1], _over(sharp, names, errors)
    return {
        "forecast": said.share if np.isfinite(said.share) else None,
        "forecast errors": float(np.median(ratios)) if ratios.size else None,
        "forecast errors known": float(np.median(sharper[:, 1])) if len(sharper) else None,
        "in range": _held(ranges),
        "in range known": _held(sharper),
        **{
            f"coefficients within {by:g}": float(np.mean(_within(ratios, by))) if ratios.size else None for by in WITHIN
        },
        "forecast share": _ratio(said.share, share),
        "forecast loss": _ratio(1.0 - said.share, 1.0 - share),
        "forecast total": said.total / total if np.isfinite(said.total) and total > 0.0 else None,
    }


def _over(said: Forecast, names: Sequence[str], errors: Array) -> Array:
    """Ranges over what was found, (m, 3)."""
    nothing = (np.nan, np.nan, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.array([said.errors.get(name, nothing) for name in names]).reshape(-1, 3) / errors[:, None]
    return np.asarray(found[np.isfinite(found).all(axis=1) & (found > 0.0).all(axis=1)])


def _held(ranges: Array) -> float | None:
    return float(np.mean((ranges[:, 0] <= 1.0) & (ranges[:, 2] >= 1.0))) if len(ranges) else None


def text(line: dict[str, Any]) -> str:
    """One line of the printed table: shares forecast and kept, and the ratios."""
    head = f"{line['table']:17s} {line['loss']:8s} {line['bounds']:6s} {line['n']:8,} {line['epsilon']:4g} {line['neighbours'][:3]}"
    cells = [line["forecast"], line["share"], *(line[f"forecast {what}"] for what in ("share", "loss", "errors"))]
    cells += [line["in range"], line["forecast errors known"], line["in range known"]]
    cells += [*(line[f"coefficients within {by:g}"] for by in WITHIN), line["forecast total"]]
    return f"{head} {line['solver that ran'][:12]:12s} " + " ".join(
        "      –" if one is None else f"{one:7.3g}" for one in cells
    )


HEAD = (
    f"{'table':17s} {'loss':8s} {'bounds':6s} {'n':>8s} {'ε':>4s} rel {'solver':12s} forecast   kept  ratio   lost errors, in range, both with known deviations, "
    "within 2, 5 of coefficients, total"
)


def summary(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of both halves: how many (table, bounds, estimator, n, ε) are within a factor 2 and 5, what is unsaid counted as outside."""
    out = []
    for half in dict.fromkeys(line["half"] for line in lines):
        for what in ("errors", "errors known", "share", "loss", "total"):
            found = [line[f"forecast {what}"] for line in lines if line["half"] == half]
            said = np.array([one for one in found if one is not None])
            one: dict[str, Any] = {"half": half, "forecast of": what, "lines": len(found), "said": len(said)}
            one |= {f"within {by:g}": float(_within(said, by).sum() / len(found)) for by in WITHIN}
            one["median ratio"] = float(np.median(said)) if said.size else None
            one["farthest"] = float(np.exp(np.abs(np.log(said)).max())) if said.size else None
            if what.startswith("errors"):
                held = [line[what.replace("errors", "in range")] for line in lines if line["half"] == half]
                one["in range"] = float(np.mean([value or 0.0 for value in held]))
            out.append(one)
    return out


def _ratio(said: float, found: float) -> float | None:
    return max(said, LEAST) / max(found, LEAST) if np.isfinite(said) else None


def _within(ratios: Array, by: float) -> Array:
    return np.asarray((ratios >= 1.0 / by) & (ratios <= by))
