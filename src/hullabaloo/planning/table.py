"""The table that `hb.plan` gives: what each solver would do for a problem, what it can be expected to lose, and how close
that is to the best that any private method can do."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hullabaloo.codec import arguments, plain
from hullabaloo.errors import library
from hullabaloo.planning.forecasts import Forecast
from hullabaloo.planning.synthetic import WIDE
from hullabaloo.planning.theory.lower_bound import LowerBound
from hullabaloo.planning.theory.upper_bounds import UpperBound
from hullabaloo.privacy import Allowance, epsilon_of
from hullabaloo.solvers import Plan
from hullabaloo.solvers.reference import EXPLAINED, TARGET_VARIANCE
from hullabaloo.tables import Printed, text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTHING = 1e-12
"""Excess risk of a constant below which it is the optimum but for rounding."""

UNCONFIRMED = "Forecasts are of synthetic tables, whose records confirm next to nothing of the public table: they hold where it is wrong, and where it is right more is kept"

UNTOLD = "That is of a fit without errors (inference=False). Where errors are told they take part of the budget, and auto may take another: price says which."
HEAD = ("solver", "keeps", "excess risk", "harm", "formula", "bound", "answers", "epsilon")


def asks_public(plan: Plan | None) -> bool:
    """Whether a plan asks records how right a public table is."""
    settings: Any = {} if plan is None else plan.settings
    return bool(settings.get("solver settings", settings).get("check_noise"))


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One solver's line.

    Attributes:
        solver: its name.
        able: whether it can solve the problem within the budget.
        kept: share of what the non-private model gains over a constant that it can be expected to keep, the mean over
            the scenarios; None where nothing was rehearsed.
        risk: expected excess empirical risk on the unit domain, the geometric mean over the scenarios.
        low, high: the least and largest excess risk of any rehearsal.
        harm: expected excess risk where there is nothing to learn; None where nothing was rehearsed.
        formula: the solver's own prediction of the excess risk, with explicit constants; of mirror descent its bound.
        bound: what it loses at most in expectation, on any table, by its theorem (`PlanTable.upper_bounds`); ∞ where none is known.
        clipped: whether that is of the loss with derivatives as the plan clips them.
        answers: how many answers of the curator it buys; each is a pass over the records, a minimiser some dozens.
        epsilon: what it costs at the budget's δ.
        reason: its settings in words, or why it cannot.
    """

    solver: str
    able: bool
    kept: float | None = None
    risk: float = math.inf
    low: float = math.inf
    high: float = math.inf
    harm: float | None = None
    formula: float = math.inf
    bound: float = math.inf
    answers: int = 0
    epsilon: float = math.inf
    reason: str = ""
    clipped: bool = False

    @classmethod
    def of(cls, one: Forecast, allowance: Allowance, delta: float, bound: UpperBound | None = None) -> "PlanRow":
        """Read a line off a forecast."""
        if one.plan is None:
            return cls(one.solver.name, False, reason=str(one.refusal))
        runs = one.rehearsed
        return cls(
            solver=one.solver.name,
            able=True,
            kept=1.0 - one.lost if runs else None,
            risk=one.risk,
            low=min((run.low for run in runs), default=one.risk),
            high=max((run.high for run in runs), default=one.risk),
            harm=None if one.silent is None else one.silent.risk,
            formula=one.predicted,
            bound=math.inf if bound is None else bound.value,
            clipped=bound is not None and bound.clipped,
            answers=sum(query.count for query in one.plan.queries),
            epsilon=epsilon_of(one.plan.event, delta) if allowance.is_private else math.inf,
            reason=one.plan.reason,
        )

    def cells(self) -> tuple[str, ...]:
        """The line's texts, as in `HEAD`."""
        if not self.able:
            return (self.solver, "left out", *[""] * (len(HEAD) - 2))
        kept = "" if self.kept is None else "nothing" if self.kept < 0.005 else f"{self.kept:.0%}"
        return (
            self.solver,
            kept,
            f"{0.0 if self.risk < NOTHING**2 else self.risk:.2g}",
            "" if self.harm is None else f"{self.harm:.2g}",
            f"{self.formula:.2g}" if math.isfinite(self.formula) else "",
            f"{self.bound:.2g}{'*' if self.clipped else ''}" if math.isfinite(self.bound) else "",
            f"{self.answers:,}",
            f"{self.epsilon:.3g}",
        )


def bound_lines(lower: Sequence[LowerBound], upper: Sequence[UpperBound]) -> list[str]:
    """Bounds as lines: "bound" where the constant is proved, "rate" where 1 stands for it."""
    lines = []
    for most in upper:
        over = "" if math.isinf(most.size) or "against" in most.holds else f"against norms up to {most.size:.2g}"
        width = "" if most.width is None else f"Gaussian width {most.width:.3g}"
        said = [f"{most.noise:.2g} by noise", most.holds, width, over, most.source]
        value = f"≤ {most.value:.2g}{'*' if most.clipped else ''}"
        lines.append(("bound", most.solver, value, "; ".join(filter(None, said))))
    for least in lower:
        kind = "bound" if least.explicit else "rate"
        said = [least.law, least.name, least.holds, least.source]
        lines.append((kind, "any private method", f"≥ {least.value:.2g}", "; ".join(said)))
    if not lines:
        return []
    what = (
        "Excess risk in expectation: of a plan (≤) on any table, of any private method (≥) on the worst of this class."
    )
    if any(most.clipped for most in upper):
        what += " * By the loss with derivatives as the plan clips them."
    if not all(least.explicit for least in lower):
        what += " A rate's constant is taken as 1: its slope is to be compared, not its size."
    return [what, *text_table(lines)]


@dataclass(frozen=True, slots=True, repr=False)
class PlanTable(Printed):
    """What `hb.plan` gives. Printing shows the table; `chosen` is the solver that `solver="auto"` takes.

    Attributes:
        title: the problem in words.
        chosen: the solver's name.
        why: why it, in words.
        rows: a line for each solver, the best first.
        lower_bounds: what no private method can do better than, in the worst case.
        constant: excess risk of the best constant prediction in each scenario, by the scenario's name.
        upper_bounds: what plans lose at most, in expectation over their noise, where a theorem says it.
    """

    title: str
    chosen: str
    why: str
    rows: tuple[PlanRow, ...]
    lower_bounds: tuple[LowerBound, ...]
    constant: tuple[tuple[str, float], ...]
    upper_bounds: tuple[UpperBound, ...] = ()

    def __str__(self) -> str:
        lines = [HEAD, *[one.cells() for one in self.rows]]
        table = text_table(lines, right=True, marks=["→ " if line[0] == self.chosen else "  " for line in lines])
        return "\n".join([self.title, "", *table, "", *self.notes()])

    def notes(self) -> list[str]:
        """Sentences below the table."""
        lines = [f"auto takes {self.chosen}: {self.why}.", UNTOLD]
        if self.constant and all(value <= NOTHING for _, value in self.constant):
            lines.append(
                "On synthetic tables of this domain the penalty or set leaves nothing better than a constant, so there is nothing to keep, whatever the budget. Where that is not what you want, ask for a weaker penalty or a larger set."
            )
        if not self.constant:
            lines.append(
                "Plans for so many coefficients, or such a set, are not rehearsed: the formulas decide. They speak of a table whose features explain a tenth of a target "
                f"of variance ¼, on the unit domain: there the excess squared loss of a constant is {0.5 * EXPLAINED * TARGET_VARIANCE:.2g}, and what is not well "
                "below it is expected to learn next to nothing."
            )
        for name, value in self.constant:
            lines.append(
                f"On synthetic tables of this domain with a {name}, a constant prediction has excess risk {value:.2g}."
            )
        lines += bound_lines(self.lower_bounds, self.upper_bounds)
        lines += [f"{one.solver} is left out: {one.reason}" for one in self.rows if not one.able]
        if any(name == WIDE[0].name for name, _ in self.constant):
            lines.append(
                "So many columns are rehearsed on fewer, with the same records, bounds and noise; there excess risk is on fresh rows, over the model that made them."
            )
        lines.append(
            "Excess risk is that of the training objective over its minimum, on the unit domain, harm the same where there is nothing to learn"
            + (": rehearsed on synthetic tables, in the columns up to harm." if self.constant else ", by the formula.")
            + " Nothing was read or spent."
        )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values; what is infinite or unknown is None."""
        written = {"prospects" if name == "rows" else name: value for name, value in arguments(self).items()}
        return written | {"constant": {name: plain(value) for name, value in self.constant}}

    def plot(self) -> "Figure":
        """Draw every solver's expected excess risk with the constant's and the lower bounds; a matplotlib `Figure`."""
        drawn = library("matplotlib.figure", "hullabaloo[report]", "A picture")
        able = [one for one in self.rows if one.able][::-1]
        figure: Figure = drawn.Figure(figsize=(7.6, 2.3 + 0.42 * len(able)), layout="constrained")
        axes = figure.add_subplot()
        for place, one in enumerate(able):
            mine = one.solver == self.chosen
            band, dot = ("#9db7d5", "#1f5fa8") if mine else ("#d9dfe6", "#7d8da0")
            axes.plot([one.low, one.high], [place, place], color=band, lw=8, solid_capstyle="butt", zorder=1)
            label = "rehearsed (band: least and largest)" if mine else None
            axes.plot([one.risk], [place], "o", color=dot, ms=7, zorder=3, label=label)
            if math.isfinite(one.formula):
                axes.plot(
                    [one.formula], [place], "|", color="#222222", ms=13, mew=1.6, label="the formula" if mine else None
                )
            if math.isfinite(one.bound):
                axes.plot([one.bound], [place], "<", color="#222222", ms=5, mfc="none")
        for (name, value), style in zip(self.constant, ("--", "-."), strict=False):
            axes.axvline(value, color="#b0562a", lw=1, ls=style, label=f"a constant, {name}")
        for place, bound in enumerate(one for one in self.lower_bounds if 0.0 < one.value < math.inf):
            axes.axvline(bound.value, color="#555555", lw=1, ls=":", label=None if place else "lower bounds")
        axes.set_yticks(range(len(able)), [one.solver for one in able])
        axes.set_ylim(-0.6, len(able) - 0.4)
        axes.set_xscale("log")
        axes.set_xlabel("excess risk on the unit domain")
        problem, _, budget = self.title.partition(", (")
        axes.set_title(f"{problem}\n({budget}" if budget else problem, fontsize=9, loc="left")
        figure.legend(loc="outside lower center", ncols=3, fontsize=7.5, frameon=False)
        return figure
