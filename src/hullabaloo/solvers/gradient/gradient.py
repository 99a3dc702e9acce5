"""Noisy projected gradient: T noisy gradients of equal price, steps by the public rule of `travel.py`.

`θ_{t+1} = prox_{sψ + I_C}(θ_t − s_t g̃_t)`, `g̃_t` the curator's noisy mean of clipped gradients ("Noisy
gradient with a public rule": mirror descent with the Euclidean potential). Slopes and intercept have their own step: a
diagonal preconditioner, under which sets and penalties, which never join the two, are still projected onto exactly.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.losses import Squared
from hullabaloo.privacy import Allowance
from hullabaloo.quadratic import minimise_quadratic
from hullabaloo.solvers.base import Answers, Array, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.gradient.path_law import PathLaw
from hullabaloo.solvers.gradient.travel import ProjectedSchedule, projected_schedule, smooth_and_steep
from hullabaloo.solvers.loop import Averaging, iterate, proximal, require_proximal
from hullabaloo.solvers.reference import Reference


@dataclass(frozen=True, slots=True)
class GradientSolver(Solver):
    """One model by noisy gradient steps; the most accurate solver at small budgets, without errors of coefficients.

    **Guarantee.** The plan buys T answers of `μ/√T`-GDP each: `μ`-GDP for every adaptive sequence of points (Dong, Roth,
    Su 2022). Steps, clip and T come from public facts; the second half's steps are a function of earlier answers.

    Of counts, and of columns much narrower than their bounds, at most `MOST_STEPS` steps without momentum end short of the optimum even
    at large budgets: "adaptive_gradient" and "preconditioned_gradient" do not, and "auto" never takes this one for counts.
    Chances beyond 0.73 are cut where the budget is small: a rare class then comes to 0.8 of its rate; not cut, a balanced one would keep up to 0.14 less of the gain.
    """

    name: ClassVar[str] = "gradient"

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """T gradients at `μ/√T` each; without noise the p + 1 that determine a quadratic.

        Raises:
            CapabilityError: several targets, a set without a projection, or a loss that needs noise to be planned.
        """
        self._check(problem)
        mu = allowance.mu
        if math.isinf(mu):
            if not isinstance(problem.loss, Squared):
                raise CapabilityError(
                    f"Without noise the gradient solver reads the exact quadratic off its answers, which the loss "
                    f"{problem.loss.name!r} is not. Use solver='auto' or 'output_perturbation', which give the exact optimum, "
                    "or a finite budget."
                )
            clip = 1.0 + problem.norm_linf
            query = prices.price("gradient", loss=problem.loss, clip=clip, mu=math.inf, count=problem.dimension + 1)
            return Plan(self.name, (query,), MappingProxyType({"exact": True}), "no noise: exact least squares")
        path = projected_schedule(problem, prices, mu)
        query = prices.price(
            "gradient", loss=problem.loss, clip=path.clip, mu=mu / math.sqrt(path.steps), count=path.steps
        )
        reason = f"{path.steps} noisy gradients, residuals clipped at {path.clip:.3g} of half the target's range"
        return Plan(self.name, (query,), MappingProxyType(path.to_dict()), reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Walk by the schedule."""
        if plan.settings.get("exact"):
            return Solution(_exact(problem, curator)[:, None])
        path = ProjectedSchedule(**plan.settings)
        start = np.zeros(problem.dimension) if problem.feasible is None else problem.feasible.start(problem.dimension)
        low, high = problem.loss.intercept_bounds

        def walk(slope_step: float) -> Callable[[int, Array], Array]:
            size = slope_step / path.scale**2

            def step(_: int, theta: Array) -> Array:
                gradient = curator.answer("gradient", theta)
                if not problem.intercept:
                    return proximal(problem, theta - size * gradient, size)
                moved: Array = theta - size * gradient
                if moved.size > 1:
                    moved[:-1] = proximal(problem, moved[:-1], size)
                moved[-1] = min(max(theta[-1] - path.middle * gradient[-1], low), high)
                return moved

            return step

        theta = iterate(start, walk(path.warmup_step), steps=path.first, averaging=Averaging.LAST)
        slopes = problem.dimension - problem.intercept
        q = float(np.sum((theta - start)[:slopes] ** 2)) * path.scale**2 / path.variance
        w = path.signal_weight(q, slopes)
        last = iterate(theta, walk(path.later(w)), steps=path.steps - path.first, averaging=Averaging.SECOND_HALF)
        return Solution(last[:, None], trace=({"step": path.first, "evidence": q, "boldness": w},))

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """Excess risk on the reference table, of a quadratic loss as smooth as this one."""
        if plan.settings.get("exact"):
            return 0.0
        reference, path = _reference(problem), ProjectedSchedule(**plan.settings)
        law, eigenvalues = PathLaw.of(path, reference), reference.eigenvalues
        missed = (reference.coefficient * law.bias(eigenvalues)) ** 2
        return 0.5 * (float(eigenvalues @ (missed + law.variance(eigenvalues))) + law.middle_variance)

    def _check(self, problem: Problem) -> None:
        if problem.targets != 1:
            raise CapabilityError(
                f"The gradient solver fits one target, but {problem.targets} are declared. Use solver='moments', whose "
                "one release serves them all, or fit one target at a time."
            )
        require_proximal(problem, "The gradient solver")


def plain_level_noise(problem: Problem, plan: Plan) -> float:
    """Standard deviation of the noise in the intercept."""
    return math.sqrt(PathLaw.of(ProjectedSchedule(**plan.settings), _reference(problem)).middle_variance)


def _reference(problem: Problem) -> Reference:
    """The reference table, its curvatures those of the loss."""
    known = Reference.of(problem)
    return replace(known, eigenvalues=smooth_and_steep(problem.loss)[0] * known.eigenvalues)


def _exact(problem: Problem, curator: Answers) -> Array:
    """Without noise: G's columns are `g(e_j) − g(0)`, and the quadratic is minimised exactly."""
    zero = curator.answer("gradient", np.zeros(problem.dimension))
    columns = [curator.answer("gradient", unit) - zero for unit in np.eye(problem.dimension)]
    gram = np.stack(columns, axis=1)
    gram = 0.5 * (gram + gram.T)
    return minimise_quadratic(gram, -zero, feasible=problem.feasible, penalty=problem.regulariser).theta
