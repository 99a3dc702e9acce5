"""What privacy costs, on public data: a score against ε beside the fit without privacy."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.release.parameters import found as named
from hullabaloo.report.drawing import BLUE, INK, MUTED, ORANGE, PALE, SIZE, SMALL, frame, new_figure, note
from hullabaloo.report.numbers import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SMALLEST, LARGEST = 1e-100, 1e100
"""What can be drawn."""
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
    _check(non_private, mean_only, chosen, metric, title)
    non_private = float(non_private)
    mean_only, chosen = (None if value is None else float(value) for value in (mean_only, chosen))
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
        bold: dict[str, Any] = {"size": SIZE, "fontweight": "bold", "va": "top"}
        note(axes, f"ε = {chosen:g}: {shown(value, 3)}", (chosen, value), (8, -8), colour=ORANGE, **bold)
    axes.set_xticks(epsilons, [f"{e:g}" for e in epsilons], fontsize=SMALL)
    axes.minorticks_off()
    axes.margins(y=0.12)
    title = f"{metric} against ε" if title is None else title
    x = "ε of one private release (smaller protects better)"
    frame(axes, title, PUBLIC_DATA, x=x, y=metric, grid="y", colour=ORANGE)
    return figure


def _level(axes: Any, value: float, text: str, colour: str, style: Any, *, above: bool) -> None:
    axes.axhline(value, color=colour, lw=1.1, ls=style, zorder=0)
    where = {"xycoords": axes.get_yaxis_transform(), "ha": "right", "va": "bottom" if above else "top"}
    note(axes, text, (1.0, value), (-2, 3 if above else -3), colour=colour, **where)


def _finite(value: Any) -> bool:
    size: Any = value.item() if isinstance(value, np.generic) else value
    return isinstance(size, Real) and bool(abs(size) <= LARGEST)  # type: ignore[operator]


def _pairs(points: Any) -> list[tuple[Any, Any]]:
    pairs = points.items() if isinstance(points, Mapping) else points
    try:
        return [(epsilon, value) for epsilon, value in pairs]
    except (TypeError, ValueError):
        raise InvalidParameter(
            f"A curve of error against epsilon was given {named(points)}. Pass a mapping from epsilon to score, {{1.0: 0.52}}, or pairs of both."
        ) from None


def _check(non_private: object, mean_only: object, chosen: object, metric: object, title: object) -> None:
    numbers = {"non_private": non_private, "mean_only": mean_only, "chosen": chosen}
    for name, value in numbers.items():
        if not _finite(value) and (value is not None or name == "non_private"):
            raise InvalidParameter(
                f"{name}={value!r} was given to a curve of error against epsilon. Pass a finite number."
            )
    if not isinstance(metric, str) or not isinstance(title, str | None):
        raise InvalidParameter(
            f"The metric and the title of a picture are texts, and {named(metric)} and {named(title)} were given. Pass metric='R²', say."
        )


def _draws(points: Mapping[float, float | Sequence[float]] | Iterable[tuple[float, float]]) -> dict[float, list[float]]:
    found: dict[float, list[float]] = {}
    for epsilon, value in _pairs(points):
        scores = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
        if not _finite(epsilon) or not epsilon > SMALLEST or not scores or not all(map(_finite, scores)):
            raise InvalidParameter(
                f"A curve of error against epsilon was given {epsilon!r}: {value!r}. Each epsilon must be positive and finite and have "
                "at least one finite score; the fit without privacy is passed as non_private=…."
            )
        found.setdefault(float(epsilon), []).extend(map(float, scores))
    if not found:
        raise InvalidParameter("A curve of error against epsilon needs at least one point, and none was given.")
    return found
