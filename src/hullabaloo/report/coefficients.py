"""A forest plot of a model's coefficients, in the manner of scikit-learn's displays."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from hullabaloo.data.encoding import INTERCEPT
from hullabaloo.errors import InvalidParameter
from hullabaloo.inference.summary import ALONE, Row, Summary
from hullabaloo.report.drawing import MUTED, ORANGE, SMALL, WIDTH, Display, new_figure
from hullabaloo.report.plots import shortened
from hullabaloo.report.released import estimator_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class CoefficientDisplay(Display):
    """Unpenalised estimates with their intervals, one line a coefficient, beside the coefficients that predict.

    Make one with `from_model`, draw it with `plot`. What is not identified has no error bar, and says so.
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
        summary: Summary = estimator_of(model).summary(confidence=confidence, exponentiate=exponentiate)
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
        told = [(row, place) for row, place in zip(self.rows, places, strict=True) if math.isfinite(row.high)]
        ends = [[row.estimate - row.low for row, _ in told], [row.high - row.estimate for row, _ in told]]
        middles, heights = [row.estimate for row, _ in told], [place for _, place in told]
        self._errorbars(ax, middles, heights, xerr=ends, label="estimate")
        released = [math.nan if row.reason == ALONE else row.coefficient for row in self.rows]
        ax.plot(released, places, "|", color=ORANGE, ms=9, mew=1.6, label="coefficient that predicts")
        if self.exponentiated:
            from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

            ax.set_xscale("log")
            low, high = ax.get_xlim()
            wide = high > 5.0 * low
            ax.xaxis.set_major_locator(
                LogLocator(subs=(1.0, 2.0, 5.0)) if wide else MaxNLocator(6, steps=[1, 2, 5, 10])
            )
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_formatter(NullFormatter())
        ax.axvline(1.0 if self.exponentiated else 0.0, color=MUTED, lw=0.8, zorder=0)
        several = len({row.target for row in self.rows}) > 1
        of = [shortened(f" of {row.target}") if several else "" for row in self.rows]
        unknown = [" (not identified)" * (not row.identified) for row in self.rows]
        names = [shortened(row.name) + target + note for row, target, note in zip(self.rows, of, unknown, strict=True)]
        ax.set_yticks(places, names)
        ax.set_xlabel(f"{'ratio' if self.exponentiated else 'coefficient'}, {100 * self.confidence:g} % intervals")
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, fontsize=SMALL)
        return self
