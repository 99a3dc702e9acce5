"""Moments beside any solver: a public share of the budget buys what intervals are computed from.

A solver that releases coefficients alone leaves open how far they are from the truth: how curved the loss is where they lie, how much
of them the solver shrank, and what sampling did. Three answers tell it: the noisy second moments of the records, for the
curvature; after the fit, one noisy gradient at the released coefficients, from which a Newton step takes out what the solver
left (`inference/from_score.py`; Avella-Medina, Bradshaw & Loh 2023 step likewise); and the coefficients. Under the squared loss the
moments alone do.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from hullabaloo.errors import BudgetError, InvalidParameter
from hullabaloo.losses import Loss, Squared, SquaredTargets
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Answers, Array, Plan, PricedQuery, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.moments.moments import TARGET_SCALE
from hullabaloo.solvers.options import Kind, check_options, number
from hullabaloo.solvers.perturbation.objective_perturbation import clip_for
from hullabaloo.solvers.separate_targets import largest_share

FOR_GRADIENT = 0.7
"""Share of what `share` buys that goes to the gradient: the curvature is known well enough from less."""


@final
@dataclass(frozen=True, slots=True)
class WithMoments(Solver):
    """`solver` on most of the budget, and on the rest what intervals of its coefficients are computed from.

    `model.summary()` and `model.predict_interval()` then work whatever the solver, for the losses squared, logistic, Huber and Poisson.

    Attributes:
        solver: the solver of the coefficients, by name or with options of its own; "auto" for the planner's choice.
        share: of the budget (of μ², where noise is Gaussian) for the moments and, where the loss is not squared, one gradient.

    **Guarantee.** The plan buys one answer of moments, what `solver` buys, and one gradient for each target, at the point that `solver`
    released; the allowance takes their adaptive composition. What is computed from them is post-processing.

    Example:
        >>> import hullabaloo as hb
        >>> solver = hb.WithMoments("objective_perturbation", share=0.5)
        >>> solver.name
        'with_moments'
    """

    solver: str | Solver = "auto"
    share: float = 0.5

    name: ClassVar[str] = "with_moments"

    def __post_init__(self) -> None:
        solver = Kind(
            lambda value: isinstance(value, str | Solver) and not isinstance(value, WithMoments),
            lambda value: value,
            "pass the name of a solver, such as 'objective_perturbation', a solver with options of its own, or 'auto'",
        )
        share = Kind(
            lambda value: 0.0 < number(value) < 1.0,
            float,
            "it is the share of the budget that intervals are bought with: pass a number between 0 and 1, such as 0.5",
        )
        check_options(self, solver=solver, share=share)

    def inner_allowance(self, allowance: Allowance) -> Allowance:
        """What the solver of the coefficients may spend, about: for the planner's choice of it."""
        return allowance.scaled(math.sqrt(1.0 - self.share))

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """Moments, the solver's own plan, gradients.

        Raises:
            CapabilityError: the solver cannot do what is asked, or the budget has no Gaussian part.
        """
        inner = self._resolved()
        if not allowance.is_private:
            return self._composed(problem, prices, inner.plan(problem, prices, allowance), math.inf)

        def fits(factor: float) -> Plan | None:
            """The plan whose solver may spend `factor` of its share, where the allowance takes it."""
            own = inner.plan(problem, prices, allowance.scaled(math.sqrt(1.0 - self.share) * factor))
            made = self._composed(problem, prices, own, allowance.mu)
            return made if allowance.takes(made.event) else None

        found = largest_share(fits, 1.0, 1.0, shorter=0.85, least=1e-3, fine=1.02)
        if found is None:
            raise BudgetError(
                f"The budget is too small to be shared between moments and the solver {inner.name!r}. Raise epsilon or delta, or "
                "leave WithMoments out."
            )
        return found

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Moments, coefficients, gradients."""
        moments = curator.answer("moments")
        solution = self._resolved().run(problem, self._own(plan), curator)
        trace = tuple(solution.trace)
        if plan.settings["gradient noise"] is not None:
            trace = (*trace, {"scores": _gradients(problem, solution.theta, curator).tolist()})
        return replace(solution, moments=moments, trace=trace)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """That of the solver of the coefficients."""
        return self._resolved().predicted_risk(problem, self._own(plan))

    def predicted_noise(self, problem: Problem, plan: Plan, gram: Array) -> Array:
        """That of the solver of the coefficients."""
        return self._resolved().predicted_noise(problem, self._own(plan), gram)

    def _resolved(self) -> Solver:
        if isinstance(self.solver, Solver):
            return self.solver
        raise InvalidParameter(
            f"WithMoments({self.solver!r}) names its solver, and names are looked up by the planner. Pass it to an estimator, or pass the "
            "solver itself, such as WithMoments(ObjectivePerturbationSolver())."
        )

    def _own(self, plan: Plan) -> Plan:
        """The plan of the solver of the coefficients."""
        scored = plan.settings["gradient noise"] is not None
        queries = plan.queries[1 : len(plan.queries) - scored]
        return Plan(self._resolved().name, queries, plan.settings["solver settings"])

    def _composed(self, problem: Problem, prices: QueryPrices, own: Plan, mu: float) -> Plan:
        scored = not isinstance(problem.loss, Squared | SquaredTargets)
        for_gradient = self.share * FOR_GRADIENT if scored else 0.0
        moments = prices.price("moments", mu=mu * math.sqrt(self.share - for_gradient), target_scale=TARGET_SCALE)
        queries: list[PricedQuery] = [moments, *own.queries]
        settings: dict[str, Any] = {"solver settings": dict(own.settings), "gradient noise": None}
        if scored:
            separate = problem.targets if isinstance(problem.loss, Loss) else 1
            price = mu * math.sqrt(for_gradient / separate)
            gradient = prices.price("gradient", loss=problem.loss, clip=clip_for(problem), mu=price, count=separate)
            queries.append(gradient)
            settings["gradient noise"] = gradient.sigma / problem.records
        reason = f"{self.share:.0%} of the budget for moments{' and a gradient' * scored}, that intervals come from; {own.reason}"
        return Plan(self.name, tuple(queries), settings, reason)


def _gradients(problem: Problem, theta: Array, curator: Answers) -> Array:
    """The noisy mean gradient at the released coefficients, (p, k)."""
    if not isinstance(problem.loss, Loss):
        together: Array = curator.answer("gradient", theta)
        return together
    if problem.targets == 1:
        return np.column_stack([curator.answer("gradient", theta[:, 0])])
    return np.column_stack([curator.of_target(j).answer("gradient", theta[:, j]) for j in range(problem.targets)])


def point_of_scores(trace: tuple[Mapping[str, Any], ...], theta: Array) -> Array:
    """The coefficients at which these gradients were taken, (p, k): the released ones, unless some were set to 0 afterwards."""
    return next((np.asarray(line["at"], dtype=np.float64) for line in trace if "at" in line), theta)


def scores_in(trace: tuple[Mapping[str, Any], ...]) -> Array | None:
    """The gradients that a release's trace holds, (p, k); None where it holds none."""
    for line in trace:
        if "scores" in line:
            return np.asarray(line["scores"], dtype=np.float64)
    return None
