"""What is forecast of a fit before any record is read, beside what fits then give; `inference.py` measures both on the same draws.

A range counts as its middle, and by whether it holds what was found; "known" is with standard deviations of the columns and of what is left of the target given to one digit, "mean known" with the target's mean (of a class its share) to two digits besides. Standard errors: the forecast of a coefficient over the median that the fits state, where half of them
or more tell it, else over the deviation of the released coefficient from draw to draw (the table's own sampling included); "told" is of those alone that are told, as a price promises no
other, over the lines with any. Share kept: also as what is lost, one minus it. Total: the forecast over the median that the fits state of predicted over observed total, over the lines whose
fits state it in half of the draws or more; and how often what came is no farther from 1 than the end of the range.
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


FORECASTS = {
    "errors": ("in range", None),
    "errors known": ("in range known", None),
    "errors told": ("in range told", "errors told"),
    "errors told known": ("in range told known", "errors told"),
    "share": (None, None),
    "loss": (None, None),
    "total": ("in range total", "total told"),
    "total known": ("in range total known", "total told"),
    "total mean known": ("in range total mean known", "total told"),
}
"""What is forecast: whether ranges held it, and which lines tell it."""


@dataclass(frozen=True)
class Forecast:
    """Ranges of standard errors by name in the user's units, the share of the gain kept, the range of the error of predicted over observed total; NaN is unsaid."""

    errors: dict[str, tuple[float, float, float]] = field(default_factory=dict)
    share: float = np.nan
    total: tuple[float, float, float] = (np.nan, np.nan, np.nan)


def forecast(model: Any, n: int | None, known: dict[str, float]) -> Forecast:
    """What `model.price` says of a fit, of which this is known: the one place that knows its words."""
    price = model.price(n, known=known)
    kept = re.search(r"expected to keep about (\d+) %", price.expectation)
    share = 0.0 if kept is None else int(kept[1]) / 100
    errors, totals = ([(one.low, one.likely, one.high) for one in part] for part in (price.errors, price.totals))
    return Forecast(
        {one.name: ends for one, ends in zip(price.errors, errors, strict=True)}, share, *totals[:1] or [Forecast.total]
    )


def compared(
    said: Forecast,
    sharp: Forecast,
    sure: Forecast,
    names: Sequence[str],
    errors: Array,
    told: Array,
    share: float,
    totals: tuple[Array, Array],
) -> dict[str, Any]:
    """Forecast over found: the median over coefficients with its spread, of those `told` besides, shares kept and lost, totals; None where nothing was said.

    `totals` are, of each draw, predicted over observed total and its error as the fit states it, NaN where it states none.
    """
    ranges = _over(said, names, errors)
    ratios, sharper = ranges[:, 1], _over(sharp, names, errors)
    ours, ours_known = (_over(one, names, np.where(told, errors, np.nan)) for one in (said, sharp))
    stated = np.median(np.where(np.isfinite(totals[1]), totals[1], np.inf))  # infinite where half tell none
    total, total_known, total_sure = (
        _over(Forecast({"": one.total}), [""], np.array([stated])) for one in (said, sharp, sure)
    )
    came = np.abs(totals[0] - 1.0)
    return {
        "forecast": said.share if np.isfinite(said.share) else None,
        "forecast errors": _middle(ranges),
        "forecast errors known": _middle(sharper),
        "in range": _held(ranges),
        "in range known": _held(sharper),
        "errors told": bool(told.any()),
        "forecast errors told": _middle(ours),
        "forecast errors told known": _middle(ours_known),
        "in range told": _held(ours),
        "in range told known": _held(ours_known),
        **{
            f"coefficients within {by:g}": float(np.mean(_within(ratios, by))) if ratios.size else None for by in WITHIN
        },
        "forecast share": _ratio(said.share, share),
        "forecast loss": _ratio(1.0 - said.share, 1.0 - share),
        "total told": bool(np.isfinite(stated)),
        "forecast total": _middle(total),
        "forecast total known": _middle(total_known),
        "forecast total mean known": _middle(total_sure),
        "in range total": _held(total),
        "in range total known": _held(total_known),
        "in range total mean known": _held(total_sure),
        "total no farther": float(np.mean(came <= said.total[2])) if np.isfinite(said.total[2]) else None,
    }


def _over(said: Forecast, names: Sequence[str], errors: Array) -> Array:
    """Ranges over what was found, (m, 3)."""
    nothing = (np.nan, np.nan, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.array([said.errors.get(name, nothing) for name in names]).reshape(-1, 3) / errors[:, None]
    return np.asarray(found[np.isfinite(found).all(axis=1) & (found > 0.0).all(axis=1)])


def _middle(ranges: Array) -> float | None:
    return float(np.median(ranges[:, 1])) if len(ranges) else None


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
    """Of both halves: how many (table, bounds, estimator, n, ε), of those that tell it, are within a factor 2 and 5, what is unsaid counted as outside."""
    out = []
    for half in dict.fromkeys(line["half"] for line in lines):
        for what, (held, told) in FORECASTS.items():
            every = [line for line in lines if line["half"] == half]
            part = [line for line in every if told is None or line[told]]
            said = np.array([line[f"forecast {what}"] for line in part if line[f"forecast {what}"] is not None])
            one: dict[str, Any] = {"half": half, "forecast of": what, "lines": len(part), "said": len(said)}
            one |= {f"within {by:g}": float(_within(said, by).sum() / max(len(part), 1)) for by in WITHIN}
            one["median ratio"] = float(np.median(said)) if said.size else None
            one["farthest"] = float(np.exp(np.abs(np.log(said)).max())) if said.size else None
            if held is not None:
                one["in range"] = float(np.mean([line[held] or 0.0 for line in part])) if part else None
            if what == "total" and said.size:
                came = [line["total no farther"] for line in part if line["total no farther"] is not None]
                one["no farther than its end"] = float(np.mean(came))
            out.append(one)
    return out


def _ratio(said: float, found: float) -> float | None:
    return max(said, LEAST) / max(found, LEAST) if np.isfinite(said) else None


def _within(ratios: Array, by: float) -> Array:
    return np.asarray((ratios >= 1.0 / by) & (ratios <= by))
