"""What privacy costs, on public data: a score against ε beside the fit without privacy."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.report.drawing import BLUE, GRID, INK, MUTED, ORANGE, PALE, SIZE, SMALL, heading, new_figure
from hullabaloo.report.numbers import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PUBLIC_DATA = "public demonstration data: never do this with real records"


def error_against_epsilon_plot(
    points: Mapping[float, float | Sequence[float]] | Iterable[tuple[float, float]],
    *,
    non_private: float,
    metric: str = "R²",
    mean_only: float | None = None,
    chosen: float | None = None,
    title: str | None = None,
) -> "Figure":
    """A score against ε beside the fit without privacy. For public demonstration data only, and it says so.

    The curve costs a release per point, and the fit without privacy has no guarantee at all: on sensitive records
    neither may be published.

    Args:
        points: ε → score, or the scores of several noise draws; or pairs (ε, score).
        non_private: the score of the fit without privacy.
        metric: the score's name, as on the axis.
        mean_only: the score of predicting the mean, if it is to be drawn.
        chosen: an ε to mark.
        title: the picture's heading; by default "`metric` against ε".
    """
    draws = _draws(points)
    figure, axes = new_figure(3.6)
    epsilons = sorted(draws)
    means = [float(np.mean(draws[e])) for e in epsilons]
    for e in epsilons:
        if len(draws[e]) > 1:
            axes.plot([e] * len(draws[e]), draws[e], "o", color=PALE, ms=4, mew=0, zorder=1)
    axes.plot(epsilons, means, "-", color=BLUE, lw=2.2, zorder=2)
    axes.plot(epsilons, means, "o", color=BLUE, ms=5, zorder=3)
    axes.set_xscale("log")
    axes.set_xlim(epsilons[0] / 1.15, epsilons[-1] * 1.15)
    _level(axes, non_private, f"without privacy: {shown(non_private, 3)}", INK, (0, (5, 3)), above=True)
    if mean_only is not None:
        _level(axes, mean_only, "predicting the mean", MUTED, (0, (1, 2)), above=False)
    if chosen is not None and chosen in draws:
        value = float(np.mean(draws[chosen]))
        axes.plot([chosen], [value], "o", color=ORANGE, ms=8, zorder=4)
        axes.annotate(
            f"ε = {chosen:g}: {shown(value, 3)}", (chosen, value), (8, -8), textcoords="offset points", fontsize=SIZE, color=ORANGE,
            fontweight="bold", va="top",
        )  # fmt: skip
    axes.set_xticks(epsilons, [f"{e:g}" for e in epsilons], fontsize=SMALL)
    axes.minorticks_off()
    axes.margins(y=0.12)
    axes.grid(axis="y", color=GRID, lw=0.6)
    axes.set_xlabel("ε of one private release (smaller protects better)", fontsize=SMALL, color=INK)
    axes.set_ylabel(metric, fontsize=SMALL, color=INK)
    heading(axes, title if title is not None else f"{metric} against ε", PUBLIC_DATA, colour=ORANGE)
    return figure


def _level(axes: Any, value: float, text: str, colour: str, style: Any, *, above: bool) -> None:
    axes.axhline(value, color=colour, lw=1.1, ls=style, zorder=0)
    axes.annotate(
        text, (1.0, value), (-2, 3 if above else -3), xycoords=axes.get_yaxis_transform(), textcoords="offset points",
        fontsize=SMALL, color=colour, ha="right", va="bottom" if above else "top",
    )  # fmt: skip


def _draws(points: Mapping[float, float | Sequence[float]] | Iterable[tuple[float, float]]) -> dict[float, list[float]]:
    found: dict[float, list[float]] = {}
    for epsilon, value in points.items() if isinstance(points, Mapping) else points:
        scores = [float(value)] if isinstance(value, int | float) else [float(one) for one in value]
        if not (epsilon > 0.0 and math.isfinite(epsilon)) or not scores or not all(map(math.isfinite, scores)):
            raise InvalidParameter(
                f"A curve of error against epsilon was given {epsilon!r}: {value!r}. Each epsilon must be positive and finite and have "
                "at least one finite score; the fit without privacy is passed as non_private=…."
            )
        found.setdefault(float(epsilon), []).extend(scores)
    if not found:
        raise InvalidParameter("A curve of error against epsilon needs at least one point, and none was given.")
    return found
