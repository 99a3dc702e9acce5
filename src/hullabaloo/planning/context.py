"""What the planner knows of a fit, all of it public."""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from hullabaloo.planning.synthetic import SyntheticTable
from hullabaloo.privacy import Allowance
from hullabaloo.solvers import Plan, Problem, QueryPrices, Solution, Solver, WithInference

Perform = Callable[[Problem, Solver, Plan, SyntheticTable, int], Solution]
"""Carry a plan out on a synthetic table; the last argument numbers the draw of noise."""

Kept = MutableMapping[str, float]
"""What was measured of one problem, by a digest of plan, scenario and draw: `Rehearsals` looks there first."""


@dataclass(frozen=True, slots=True)
class PlanContext:
    """A task as solvers see it, and how plans are tried out.

    Attributes:
        problem: the problem.
        prices: what can be bought, `QueryPrices`.
        allowance: what may be spent.
        perform: how plans are tried out; None where the formulas decide.
        kept: what was measured before: whatever it holds, "auto" takes a plan that a solver makes by itself within the allowance, or refuses.
        held: whether a solver by name, or briefly that of "auto", may be held up by the constant (`solvers/floored.py`), and `moments`, by name or of "auto", holds slopes against the mean.
    """

    problem: Problem
    prices: Any
    allowance: Allowance
    perform: Perform | None = field(default=None, compare=False)
    kept: Kept = field(default_factory=dict, compare=False)
    held: bool = False

    @property
    def facts(self) -> tuple[Problem, QueryPrices, Allowance]:
        """What plans are made of."""
        return self.problem, self.prices, self.allowance

    def beside(self, inference: WithInference | None) -> Self:
        """With what inference leaves of the allowance."""
        return self if inference is None else replace(self, allowance=inference.inner_allowance(self.allowance))
