"""Greedy selection and refit: k coordinates chosen privately, one after the other, then one private model on these alone.

Orthogonal matching pursuit (Pati, Rezaiifar & Krishnaprasad 1993) with the exponential mechanism in place of the largest score. Each score is of the
residuals of a model of the coordinates chosen so far, itself made of noisy partial derivatives; the choices take most of the budget, as a coordinate's
update costs one number where a gradient costs p. The refit faces k columns, whose rows are short, and is nearly exact: the adaptive gradient,
whose noise follows the residuals that are left. (Objective perturbation of the same budget composes with selections at a loss and
has to reckon with residuals as large as declared.)
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hullabaloo import geometry
from hullabaloo.errors import CapabilityError
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Answers, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.coordinate import greedy_search as greedy
from hullabaloo.solvers.gradient.measured_gradient import AdaptiveGradientSolver
from hullabaloo.solvers.options import WHOLE, check_options
from hullabaloo.solvers.perturbation.output_perturbation import OutputPerturbationSolver
from hullabaloo.solvers.reference import Reference

SHARES = greedy.Parts(choices=0.65, partials=0.12, squares=0.03, lengths=0.01, refit=0.19)
OPTIMUM = OutputPerturbationSolver()
REFIT = AdaptiveGradientSolver(uneven=True)
"""Of the chosen columns, most of which may be 0 in most records."""


@dataclass(frozen=True, slots=True)
class GreedySelectionSolver(Solver):
    """One model of few coefficients, for tables of many columns: all others are exactly 0.

    Attributes:
        selected: k, how many coordinates are chosen; None for the public rule of `greedy_search.py`.

    **Guarantee.** The plan buys k selections of range ε₀ (ε₀²/8-zCDP each) and Gaussian answers; the allowance takes their composition, in which
    each question may depend on every answer before it. The point at which scores are taken, the columns of the refit and its steps are
    functions of those answers. Without noise it is orthogonal matching pursuit, with the exact optimum on the chosen columns after each choice.
    """

    selected: int | None = None
    name: ClassVar[str] = "greedy_selection"

    def __post_init__(self) -> None:
        check_options(self, selected=WHOLE)

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """k selections, partial derivatives, second moments and the queries of the refit.

        Raises:
            CapabilityError: several targets, a set or a penalty whose part on a selection of coordinates is not known, or both.
            CalibrationError: a budget of δ = 0.
        """
        greedy.check(problem, "Greedy selection")
        known = geometry.NoPenalty | geometry.L1Penalty | geometry.SquaredL2Penalty | geometry.ElasticNetPenalty
        if not isinstance(problem.penalty, known):
            raise CapabilityError(
                f"Greedy selection was given the penalty {problem.penalty!r}, whose part on a selection of coordinates it does not know. Use L1Penalty, "
                "SquaredL2Penalty or ElasticNetPenalty, or another solver."
            )
        if problem.constraint is not None and not isinstance(problem.penalty, geometry.NoPenalty):
            raise CapabilityError("Greedy selection takes a set or a penalty, not both; keep one of them.")
        count = min(self.selected or greedy.picks(problem, allowance, SHARES.choices), problem.slopes)
        parts = greedy.prices_of(allowance, SHARES, count)
        if not allowance.is_private:
            return self._exact(problem, prices, allowance, count)
        search, queries = greedy.bought(problem, prices, parts, count, window=greedy.WINDOW, again=False)
        refit = REFIT.plan(restricted(problem, count), prices.restricted(count), Allowance.gdp(parts.refit))
        settings = {**asdict(search), "refit": dict(refit.settings)}
        reason = f"{count} of {problem.slopes} coordinates chosen one by one, then a refit of these: {refit.reason}"
        return Plan(self.name, (*queries, *refit.queries), settings, reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Search, then refit."""
        settings = dict(plan.settings)
        refit = settings.pop("refit")
        if "optimum" in settings:
            return _pursued(problem, settings["optimum"], settings["picks"], curator)
        search = greedy.GreedySearch(problem, greedy.Search(**settings), curator)
        search.walk()
        found = _on_chosen(REFIT, refit, problem, search.picked, curator)
        return replace(found, trace=({"selected": search.picked, "cut of scores": search.clip}, *found.trace))

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """What is not selected (`expected_loss`), and the refit's risk on the reference table of k columns, of a signal of sparse coefficients."""
        settings = dict(plan.settings)
        refit = settings.pop("refit")
        if "optimum" in settings:
            return 0.0
        search, signal = greedy.Search(**settings), Reference.of(problem).signal
        on_them = REFIT.predicted_risk(restricted(problem, settings["picks"]), Plan(REFIT.name, (), refit))
        return min(greedy.expected_loss(problem, search, signal) + on_them, 0.5 * signal + on_them)

    def _exact(self, problem: Problem, prices: QueryPrices, allowance: Allowance, count: int) -> Plan:
        """Without noise: the exact optimum on the columns chosen so far, after each choice."""
        if isinstance(problem.constraint, geometry.Box) and problem.constraint.dimension is not None:
            raise CapabilityError(
                "Without noise greedy selection asks for the exact optimum on columns that are not known beforehand, and the bounds of "
                "each are then not either. Use a box of one pair of bounds, or solver='output_perturbation'."
            )
        choices = prices.price("select", loss=problem.loss, clip=greedy.UNCUT, epsilon=math.inf, count=count)
        parts = [
            OPTIMUM.plan(restricted(problem, size), prices.restricted(size), allowance)
            for size in range(1 - problem.intercept, count + 1)
        ]
        queries = (choices, *(query for part in parts for query in part.queries))
        settings = {"picks": count, "optimum": dict(parts[-1].settings), "refit": {}}
        return Plan(self.name, queries, settings, f"no noise: orthogonal matching pursuit, {count} steps")


def restricted(problem: Problem, columns: int | list[int]) -> Problem:
    """The problem on these slopes (or any so many) and the intercept: bounds as `RowFacts.restricted` has them, set and penalty cut down."""
    places = None if isinstance(columns, int) else np.array(columns, dtype=np.int64)
    count = columns if isinstance(columns, int) else len(columns)
    return replace(problem.of_columns(count), constraint=cut_down(problem.constraint, places))


def cut_down(body: geometry.ConvexSet | None, columns: npt.NDArray[np.int64] | None) -> geometry.ConvexSet | None:
    """The points of a set that are 0 outside some columns, by those columns; of a box with columns None, a box around each such one.

    Raises:
        CapabilityError: a set whose cut is no set of the same kind, or a box without 0.
    """
    if body is None or isinstance(body, geometry.L1Ball | geometry.L2Ball | geometry.Simplex):
        return body
    if isinstance(body, geometry.Box):
        lower, upper = np.atleast_1d(body.lower), np.atleast_1d(body.upper)
        if np.any(lower > 0.0) or np.any(upper < 0.0):
            raise CapabilityError(
                f"Few coordinates were to be selected in {body!r}, in which some coefficients may not be 0. Use a box that holds 0, or another solver."
            )
        if body.dimension is None:
            return body
        if columns is None:
            return geometry.Box(float(lower.min()), float(upper.max()))
        return geometry.Box(tuple(lower[columns].tolist()), tuple(upper[columns].tolist()))
    raise CapabilityError(
        f"Few coordinates were to be selected in {body!r}, whose points on these alone are no set that a refit knows. Use L1Ball, "
        "L2Ball, Box, Simplex or a penalty, or another solver."
    )


def _on_chosen(
    model: Solver, settings: Mapping[str, Any], problem: Problem, picked: list[int], curator: Answers
) -> Solution:
    """What a solver finds on the chosen columns, with their own part of a box; coefficients of all others are 0."""
    found = model.run(restricted(problem, picked), Plan(model.name, (), settings), curator.restricted(picked))
    theta = np.zeros((problem.dimension, 1))
    theta[picked] = found.theta[: len(picked)]
    if problem.intercept:
        theta[-1] = found.theta[-1]
    return Solution(theta, trace=found.trace)


def _pursued(problem: Problem, optimum: Mapping[str, Any], count: int, curator: Answers) -> Solution:
    """Orthogonal matching pursuit."""
    picked: list[int] = []
    theta = np.zeros((problem.dimension, 1))
    excluded = np.arange(problem.dimension) >= problem.slopes
    if problem.intercept:
        theta = _on_chosen(OPTIMUM, optimum, problem, picked, curator).theta
    for _ in range(count):
        picked.append(curator.answer("select", theta[:, 0], excluded))
        excluded[picked[-1]] = True
        theta = _on_chosen(OPTIMUM, optimum, problem, picked, curator).theta
    return Solution(theta, trace=({"selected": picked},))
