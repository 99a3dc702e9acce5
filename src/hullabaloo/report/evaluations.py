"""Pictures of a private evaluation, in the manner of scikit-learn's displays: calibration, and residuals by bins of the prediction."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from hullabaloo.errors import InvalidParameter
from hullabaloo.model_selection.evaluation import Evaluation
from hullabaloo.release.parameters import found
from hullabaloo.report.drawing import MUTED, WIDTH, Display, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
