"""Pictures of a card. Each function gives a matplotlib `Figure` of its own.

All need `pip install "hullabaloo[report]"`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hullabaloo.privacy import Event, delta_of, epsilon_of
from hullabaloo.report.drawing import BLUE, GRID, INK, MUTED, ORANGE, PALE, dots, frame, heading, line, new_figure, note
from hullabaloo.report.guarantee import trade_off
from hullabaloo.report.words import percent, up

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 30
_NAME = 24


def draw_coefficients(rows: Sequence[Mapping[str, Any]], target: str, confidence: float) -> "Figure":
    """Each feature's effect over its declared range, from the rows of a card, with the part of its interval that is privacy noise drawn thick.

    An effect is the coefficient times the length of the feature's declared range (1 for a level), so that features in
    different units can be compared; it is in the target's units, or in those of a prediction's logarithm or odds. The intercept is left out.
    """
    from scipy.special import ndtri

    bars = [row for row in rows if row["span"] is not None]
    bars.sort(key=lambda row: -abs(_middle(row) * row["span"]))
    left_out, bars = len(bars) - MOST_ROWS, bars[:MOST_ROWS][::-1]
    figure, axes = new_figure(1.75 + 0.29 * max(len(bars), 1))
    z = float(ndtri(0.5 + confidence / 2.0))
    beside = any(row.get("estimate") is not None for row in bars)
    untold = [beside and all(row.get(part) is None for part in ("estimate", "low", "privacy_std")) for row in bars]
    for place, row in enumerate(bars):
        span, level = row["span"], [place, place]
        middle = _middle(row) * span
        if row["low"] is not None:
            line(axes, [row["low"] * span, row["high"] * span], level, INK, 1.2, 2, solid_capstyle="butt")
        if row["privacy_std"] is not None:
            half = z * row["privacy_std"] * span
            line(axes, [middle - half, middle + half], level, PALE, 8, 1, solid_capstyle="butt")
        if not untold[place]:
            dots(axes, [middle], [place], BLUE, 5.5, 3)
        if untold[place] or row.get("estimate") is not None:
            axes.plot([row["coefficient"] * span], [place], "|", color=ORANGE, ms=9, mew=1.6, zorder=4)
    axes.axvline(0.0, color=MUTED, lw=0.8, zorder=0)
    axes.set_yticks(range(len(bars)), [shortened(str(row["name"])) for row in bars])
    axes.set_ylim(-0.7, max(len(bars), 1) - 0.3)
    axes.tick_params(axis="y", length=0)
    axes.set_axisbelow(True)
    axes.locator_params(axis="x", nbins=5)
    dot = "dot: estimate; stroke: coefficient that predicts" if beside else "dot: released coefficient"
    legend = [dot, "no dot: no estimate is told"] if any(untold) else [dot]
    if any(row["privacy_std"] is not None for row in bars):
        legend.append(f"bar: {100 * confidence:g} % privacy noise")
        if any(row["low"] is not None for row in bars):
            legend[-1] += "; line: with sampling error as well"
    if left_out > 0:
        legend.append(f"the {MOST_ROWS} largest; {left_out} more are not drawn")
    measures = str(rows[0].get("measures", target)) if rows else target
    x = f"change in {shortened(measures, _NAME + 10)}\nover the declared range"
    frame(axes, "Released effects", "\n".join(legend), x=x, grid="x", place="right")
    return figure


def _middle(row: Mapping[str, Any]) -> float:
    """Where a row's interval has its centre: its estimate, else the coefficient that was released."""
    return float(row["coefficient"] if row.get("estimate") is None else row["estimate"])


def draw_profile(event: Event, epsilon: float, delta: float, records: Sequence[int] = (1, 2, 5)) -> "Figure":
    """δ against ε: the release satisfies (ε, δ)-differential privacy at every point of its curve.

    One curve for a person with each number of `records`; the quoted (ε, δ) is marked.
    """
    figure, axes = new_figure(3.4)
    floor = min(1e-12, delta * 1e-3)
    ends = [epsilon_of(event.group(k), floor) for k in records]
    reach = max([end for end in ends if math.isfinite(end)], default=10.0)
    for place, k in enumerate(records):
        grid = np.linspace(0.0, min(ends[place], reach) if math.isfinite(ends[place]) else reach, 161)
        values = [max(delta_of(event.group(k), float(e)), floor) for e in grid]
        colour, width, label = (BLUE, 2.2, "1 record") if k == 1 else (MUTED, 1.2, f"{k} records")
        line(axes, grid, values, colour, width)
        level = floor * 10 ** (1.2 + 2.2 * place)
        spot = min(range(len(values)), key=lambda i: abs(math.log(values[i] / level)))
        box = {"facecolor": figure.get_facecolor(), "edgecolor": "none", "pad": 0.8}
        note(axes, label, (float(grid[spot]), values[spot]), (5, 2), colour=colour, va="bottom", bbox=box)
    dots(axes, [epsilon], [delta], ORANGE, 7, 4)
    arrow = {"arrowstyle": "-", "color": ORANGE, "lw": 0.9, "shrinkB": 4, "relpos": (0.0, 0.5)}
    where: dict[str, Any] = {"va": "center", "ha": "right", "textcoords": "axes fraction", "arrowprops": arrow}
    quoted = f"quoted: ε = {up(epsilon)}, δ = {up(delta)}"
    note(axes, quoted, (epsilon, delta), (0.98, 0.93), colour=ORANGE, strong=True, **where)
    axes.set(yscale="log", ylim=(floor, 1.0), xlim=(0.0, reach * 1.12))
    axes.locator_params(axis="x", nbins=6)
    axes.minorticks_off()
    below = "any point on a curve is a valid (ε, δ)"
    frame(axes, "The whole guarantee", below, x="ε", y="δ", large=True, rotation=0, labelpad=10)
    return figure


def draw_trade_off(event: Event, records: Sequence[int] = (1, 5)) -> "Figure":
    """The best attack on a person with so many records: hits against false alarms. On the diagonal it is a guess."""
    figure, axes = new_figure(4.3)
    rates = np.concatenate([[0.0], np.geomspace(1e-4, 0.05, 30), np.linspace(0.06, 1.0, 95)])
    line(axes, [0, 1], [0, 1], MUTED, 1.0, ls=(0, (4, 3)))
    note(axes, "learns nothing", (0.74, 0.74), (4, -4), colour=MUTED, va="top", ha="left")
    for k in records:
        hits = trade_off(event.group(k), [float(rate) for rate in rates])
        colour, width, who = (BLUE, 2.4, "1 record") if k == 1 else (ORANGE, 1.6, f"{k} records")
        line(axes, rates, hits, colour, width, label=f"best attack, {who}")
        if k == 1:
            axes.fill_between(rates, rates, hits, color=PALE, lw=0, alpha=0.55)
    axes.legend(loc="lower right", frameon=False, fontsize=10, labelcolor="linecolor")
    axes.set_aspect("equal")
    ticks, names = [0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"]
    axes.set(xlim=(0, 1), xticks=ticks, xticklabels=names, ylim=(0, 1), yticks=ticks, yticklabels=names)
    below = "hits it can reach for the false alarms it accepts"
    frame(axes, "The best possible attack on one person", below, x="false alarms", y="hits")
    return figure


def draw_budget(shares: Mapping[str, float]) -> "Figure":
    """Parts of a dataset's budget: what this charge took, what others took, and what is left."""
    figure, axes = new_figure(1.35)
    start = 0.0
    for name, key, colour in (
        ("this release", "this", BLUE),
        ("other charges", "others", MUTED),
        ("left", "left", GRID),
    ):
        share = shares[key]
        said = percent(share) if key != "left" else f"{math.floor(1000 * share + 1e-6) / 10:g} %"
        axes.barh([0], [share], left=start, height=0.62, color=colour, lw=0, label=f"{name}\n{said}")
        start += share
    axes.legend(loc="lower left", ncols=3, frameon=False, fontsize=10, labelcolor=INK, borderaxespad=0.0)
    axes.set(xlim=(0, 1), ylim=(-1.3, 0.4))
    axes.axis("off")
    heading(axes, "Budget of the dataset")
    return figure


def shortened(name: str, most: int = _NAME) -> str:
    """A label that fits, both of its ends kept, as levels of one category differ in the last; and that matplotlib does not take for a formula."""
    text = name if len(name) <= most else f"{name[: (most - 1) // 2]}…{name[-(most // 2) :]}"
    return text.replace("$", r"\$")
