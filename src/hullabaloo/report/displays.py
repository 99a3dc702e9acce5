"""Pictures in the manner of scikit-learn's displays: a model's coefficients, and of a private evaluation calibration and residuals by bins of the prediction."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from hullabaloo.data.encoding import INTERCEPT
from hullabaloo.errors import InvalidParameter
from hullabaloo.inference.identified import ENDLESS
from hullabaloo.inference.summary import ALONE, Row, Summary
from hullabaloo.model_selection.evaluation import Evaluation, inside
from hullabaloo.release.parameters import found
from hullabaloo.report.drawing import BLUE, INK, MUTED, ORANGE, SMALL, WIDTH, new_figure
from hullabaloo.report.plots import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Display:
    """A picture in the manner of scikit-learn's displays: after `plot` it has matplotlib's axes, figure and container of error bars."""

    ax_: "Axes"
    figure_: "Figure"
    errorbar_: Any

    def _errorbars(self, ax: "Axes", x: Any, y: Any, **given: Any) -> None:
        self.errorbar_ = ax.errorbar(x, y, fmt="o", color=BLUE, ecolor=INK, ms=5, capsize=2, **given)
        self.ax_, self.figure_ = ax, self.errorbar_.lines[0].get_figure(root=True)


class CoefficientDisplay(Display):
    """Unpenalised estimates with their intervals, one line a coefficient, beside the coefficients that predict.

    Make one with `from_model`, draw it with `plot`. What is not identified has no error bar, and says so; a bar without an end on one side goes to the edge, and says so.
    Levels without a baseline have no mark of the coefficient that predicts, whose zero is another: only their differences count. Needs `pip install "hullabaloo[report]"`.

    Parameters:
        rows: those of a summary, in the order in which they are drawn from the top.
        confidence: the level of the intervals.
        exponentiated: whether the rows are odds or rate ratios, whose nothing is 1, on a logarithmic axis.

    Attributes after `plot`:
        ax_, figure_: matplotlib's axes and figure.
        errorbar_: matplotlib's container of the error bars.

    Example:
        >>> import hullabaloo as hb
        >>> hb.report.CoefficientDisplay.from_model(model).plot().figure_.savefig("coefficients.svg")  # doctest: +SKIP
    """

    def __init__(self, rows: Sequence[Row], *, confidence: float = 0.95, exponentiated: bool = False) -> None:
        self.rows, self.confidence, self.exponentiated = tuple(rows), confidence, exponentiated

    @classmethod
    def from_model(
        cls,
        model: Any,
        *,
        target: str | None = None,
        confidence: float = 0.95,
        exponentiate: bool = False,
        intercept: bool = False,
    ) -> Self:
        """The display of a fitted model, of all of its targets or of one; `confidence` and `exponentiate` are those of `summary`.

        Raises:
            InvalidParameter: the model has no such target.
        """
        summary: Summary = inside(model, "A picture")[0].summary(confidence=confidence, exponentiate=exponentiate)
        known = sorted({row.target for row in summary.rows})
        if target is not None and not (isinstance(target, str) and target in known):
            raise InvalidParameter(f"The model has no target {target!r}; it has {known}.")
        mine = [row for row in summary.rows if target in (None, row.target) and (intercept or row.name != INTERCEPT)]
        return cls(mine, confidence=summary.confidence, exponentiated=exponentiate)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw on `ax`, or on a figure of its own."""
        if ax is None:
            _, ax = new_figure(1.2 + 0.29 * max(len(self.rows), 1), 1.4 * WIDTH)
        places = range(len(self.rows))[::-1]
        told = [(row, place) for row, place in zip(self.rows, places, strict=True) if not math.isnan(row.low)]
        seen = [x for r in self.rows for x in (0.0, r.low, r.estimate, r.coefficient, r.high) if math.isfinite(x)]
        wide = max(seen) - min(seen)
        ends = [[min(r.estimate - r.low, wide) for r, _ in told], [min(r.high - r.estimate, wide) for r, _ in told]]
        self._errorbars(ax, [row.estimate for row, _ in told], [at for _, at in told], xerr=ends, label="estimate")
        released = [math.nan if row.reason == ALONE else row.coefficient for row in self.rows]
        ax.plot(released, places, "|", color=ORANGE, ms=9, mew=1.6, label="coefficient that predicts")
        if self.exponentiated:
            from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

            ax.set_xscale("log")
            low, high = ax.get_xlim()
            ticks = LogLocator(subs=(1.0, 2.0, 5.0)) if high > 5.0 * low else MaxNLocator(6, steps=[1, 2, 5, 10])
            ax.xaxis.set_major_locator(ticks)
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_formatter(NullFormatter())
        elif any(row.reason == ENDLESS for row in self.rows):
            ax.set_xlim(min(seen) - 0.05 * wide, max(seen) + 0.05 * wide)
        ax.axvline(1.0 if self.exponentiated else 0.0, color=MUTED, lw=0.8, zorder=0)
        several = len({row.target for row in self.rows}) > 1
        of = [shortened(f" of {row.target}") if several else "" for row in self.rows]
        notes = [" (not identified)" * (not r.identified) + " (no end)" * (r.reason == ENDLESS) for r in self.rows]
        names = [shortened(row.name) + target + note for row, target, note in zip(self.rows, of, notes, strict=True)]
        ax.set_yticks(places, names)
        ax.set_xlabel(f"{'ratio' if self.exponentiated else 'coefficient'}, {100 * self.confidence:g} % intervals")
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, fontsize=SMALL)
        return self


class _BinnedDisplay(Display, ABC):
    """A point with its error bar for each row of the table; made from an evaluation, drawn by `plot`.

    Parameters:
        rows: of one target, from low predictions to high ones.
        confidence: the level of the error bars, which hold privacy and sampling noise.

    Attributes after `plot`:
        ax_, figure_: matplotlib's axes and figure.
        errorbar_: matplotlib's container of the error bars.
    """

    metric: str
    drawn: str

    def __init__(self, rows: Sequence[Any], *, confidence: float = 0.95) -> None:
        self.rows, self.confidence = tuple(rows), confidence

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, *, target: str | None = None) -> Self:
        """The display of an evaluation's table, of one of its targets.

        Raises:
            InvalidParameter: it is no evaluation, has no such table, or no such target.
        """
        if not isinstance(evaluation, Evaluation):
            raise InvalidParameter(f"To draw an evaluation, pass what hb.evaluate gives, not {found(evaluation)}.")
        rows = getattr(evaluation, cls.metric)
        if not rows:
            raise InvalidParameter(
                f"The evaluation has no table of {cls.metric}. Ask for it, as a question of its own price: hb.evaluate(metrics={cls.metric!r})."
            )
        chosen = rows[0].target if target is None else target
        if not isinstance(chosen, str) or chosen not in {row.target for row in rows}:
            raise InvalidParameter(f"There is no target {chosen!r}, only {sorted({row.target for row in rows})}.")
        return cls([row for row in rows if row.target == chosen], confidence=evaluation.confidence)

    @abstractmethod
    def _reference(self, ax: "Axes") -> None:
        """The line of a model that is right on average."""

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw on `ax`, or on a figure of its own."""
        if ax is None:
            _, ax = new_figure(3.2, WIDTH)
        values = [getattr(row, self.drawn) for row in self.rows]
        ends = [[one.value - one.low for one in values], [one.high - one.value for one in values]]
        self._errorbars(ax, [row.prediction for row in self.rows], [one.value for one in values], yerr=ends)
        self._reference(ax)
        ax.locator_params(axis="x", nbins=5)
        ax.set_xlabel(f"mean prediction; {100 * self.confidence:g} % intervals")
        ax.set_ylabel(f"mean {self.drawn}")
        return self


class CalibrationDisplay(_BinnedDisplay):
    """Mean outcome against mean prediction, by bins of the prediction, as `hb.evaluate(metrics="calibration")` releases them; bins that noise hides are left out.

    Make one with `from_evaluation`, draw it with `plot`. Needs `pip install "hullabaloo[report]"`.

    Example:
        >>> import hullabaloo as hb
        >>> found = hb.evaluate(model, X, y, budget=hb.Budget(1.0, 1e-8), metrics="calibration")  # doctest: +SKIP
        >>> hb.report.CalibrationDisplay.from_evaluation(found).plot().figure_.savefig("calibration.svg")  # doctest: +SKIP
    """

    metric, drawn = "calibration", "outcome"

    def _reference(self, ax: "Axes") -> None:
        ends = [self.rows[0].low, self.rows[-1].high]
        ax.plot(ends, ends, color=MUTED, lw=0.8, zorder=0)


class ResidualDisplay(_BinnedDisplay):
    """Mean residual against mean prediction, by bins of the prediction, as `hb.evaluate(metrics="residuals")` releases them; bins that noise hides are left out.

    Make one with `from_evaluation`, draw it with `plot`. Needs `pip install "hullabaloo[report]"`.

    Example:
        >>> import hullabaloo as hb
        >>> found = hb.evaluate(model, X, y, budget=hb.Budget(1.0, 1e-8), metrics="residuals", largest_error=9.0)  # doctest: +SKIP
        >>> hb.report.ResidualDisplay.from_evaluation(found).plot().figure_.savefig("residuals.svg")  # doctest: +SKIP
    """

    metric, drawn = "residuals", "residual"

    def _reference(self, ax: "Axes") -> None:
        ax.axhline(0.0, color=MUTED, lw=0.8, zorder=0)
