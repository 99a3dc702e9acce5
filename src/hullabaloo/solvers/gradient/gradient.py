"""Noisy projected gradient: T noisy gradients of equal price, steps by the public rule of `travel.py`.

`θ_{t+1} = prox_{sψ + I_C}(θ_t − s_t g̃_t)`, `g̃_t` the curator's noisy mean of clipped gradients ("Noisy
gradient with a public rule": mirror descent with the Euclidean potential). Slopes and intercept have their own step: a
diagonal preconditioner, under which sets and penalties, which never join the two, are still projected onto exactly.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.losses import Squared, VectorLoss
from hullabaloo.privacy import Allowance
from hullabaloo.quadratic import minimise_quadratic
from hullabaloo.solvers.base import Answers, Array, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.gradient.travel import ProjectedSchedule, projected_schedule, smooth_and_steep
from hullabaloo.solvers.loop import Averaging, iterate, proximal, require_proximal
from hullabaloo.solvers.options import one_prediction
from hullabaloo.solvers.reference import Reference


@dataclass(frozen=True, slots=True)
class GradientSolver(Solver):
    """One model by plain noisy gradient steps, whose total length is so short that noise does little harm on any table; of several predictions, a matrix.

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
            CapabilityError: several targets of a loss of one prediction, a set without a projection, or a loss that needs noise to be planned.
        """
        if not isinstance(problem.loss, VectorLoss):
            one_prediction(problem, "The gradient solver", "solver='moments', whose one release serves them all")
        require_proximal(problem, "The gradient solver")
        mu = allowance.mu
        if math.isinf(mu):
            if not isinstance(problem.loss, Squared):
                raise CapabilityError(
                    f"Without noise the gradient solver reads the exact quadratic off its answers, which the loss "
                    f"{problem.loss.name!r} is not. Use solver='auto' or 'output_perturbation', which give the exact optimum, or a finite budget."
                )
            clip = 1.0 + problem.norm_linf
            query = prices.price("gradient", loss=problem.loss, clip=clip, mu=math.inf, count=problem.dimension + 1)
            return Plan(self.name, (query,), {"exact": True}, "no noise: exact least squares")
        path = projected_schedule(problem, prices, mu)
        query = prices.price(
            "gradient", loss=problem.loss, clip=path.clip, mu=mu / math.sqrt(path.steps), count=path.steps
        )
        reason = f"{path.steps} noisy gradients, residuals clipped at {path.clip:.3g} of half the target's range"
        return Plan(self.name, (query,), asdict(path), reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Walk by the schedule."""
        if plan.settings.get("exact"):
            return Solution(_exact(problem, curator)[:, None])
        path = ProjectedSchedule(**plan.settings)
        q, (low, high) = problem.slopes, problem.loss.intercept_bounds
        shape = (problem.dimension, problem.targets) if isinstance(problem.loss, VectorLoss) else (problem.dimension,)
        start = np.zeros(shape)
        if problem.constraint is not None and q:
            start[:q] = problem.constraint.start(start[:q].size).reshape(start[:q].shape)

        def walk(slope_step: float) -> Callable[[int, Array], Array]:
            size = slope_step / path.scale**2

            def step(_: int, theta: Array) -> Array:
                gradient = curator.answer("gradient", theta)
                moved: Array = theta - size * gradient
                if q:
                    moved[:q] = proximal(problem, moved[:q].ravel(), size).reshape(moved[:q].shape)
                if problem.intercept:
                    moved[q:] = np.minimum(np.maximum(theta[q:] - path.middle * gradient[q:], low), high)
                return moved

            return step

        theta = iterate(start, walk(path.warmup_step), steps=path.first, averaging=Averaging.LAST)
        evidence = float(np.sum((theta - start)[:q] ** 2)) * path.scale**2 / path.variance
        w = path.signal_weight(evidence, start[:q].size)
        last = iterate(theta, walk(path.later(w)), steps=path.steps - path.first, averaging=Averaging.SECOND_HALF)
        told = {"step": path.first, "evidence": evidence, "boldness": w}
        return Solution(last.reshape(problem.dimension, -1), trace=(told,))

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """Excess risk on the reference table, of a quadratic loss as smooth as this one."""
        if plan.settings.get("exact"):
            return 0.0
        reference, path = _reference(problem), ProjectedSchedule(**plan.settings)
        law, eigenvalues = PathLaw.of(path, reference), reference.eigenvalues
        missed = (reference.coefficient * law.bias(eigenvalues)) ** 2
        one = 0.5 * (float(eigenvalues @ (missed + law.variance(eigenvalues))) + law.middle_variance)
        return one * (problem.targets if isinstance(problem.loss, VectorLoss) else 1)


@dataclass(frozen=True, slots=True)
class PathLaw:
    """Second-half step `step` as expected on the reference table; formulas for unclipped squared loss.

    `θ_{t+1} = (1 − sλ)θ_t + s(b + noise)`: the bias is a power of `1 − sλ`, the noise an autoregression whose average over
    the last m iterates keeps about `min(1, 2/(sλm))` of its variance.
    """

    path: ProjectedSchedule
    step: float

    @classmethod
    def of(cls, path: ProjectedSchedule, reference: Reference) -> "PathLaw":
        """Expect the evidence that the reference's signal would give."""
        grown = 1.0 - (1.0 - path.warmup_step * reference.eigenvalues) ** path.first
        p = reference.eigenvalues.size
        q = p + float(np.sum((reference.coefficient * grown) ** 2)) / path.variance
        return cls(path, path.later(path.signal_weight(q, p)))

    @property
    def sigma(self) -> float:
        """Noise of one answer for rows of norm ≤ 1."""
        return self.path.sigma / self.path.scale

    def bias(self, eigenvalues: Array) -> Array:
        """Share of θ that is not reached, in the middle of the averaged iterates."""
        later = self.path.steps - self.path.first - 0.5 * self.path.averaged
        left = np.abs(1.0 - self.path.warmup_step * eigenvalues) ** self.path.first
        return np.asarray(left * np.abs(1.0 - self.step * eigenvalues) ** later, dtype=np.float64)

    def variance(self, eigenvalues: Array) -> Array:
        """Variance of the averaged iterate from noise."""
        path = self.path
        early = _gathered(path.warmup_step, eigenvalues, path.first)
        later = path.steps - path.first
        kept = (1.0 - self.step * eigenvalues) ** (2 * later)
        late = _gathered(self.step, eigenvalues, later)
        averaging = np.minimum(1.0, 2.0 / np.maximum(self.step * eigenvalues * path.averaged, 1e-300))
        return np.asarray(self.sigma**2 * (early * kept + late * averaging), dtype=np.float64)

    @property
    def middle_variance(self) -> float:
        """Variance of the intercept from noise: its curvature is 1 by definition."""
        path = self.path
        if path.middle == 0.0:
            return 0.0
        gathered = float(_gathered(path.middle, np.ones(1), path.steps)[0])
        return path.sigma**2 * gathered * min(1.0, 2.0 / (path.middle * path.averaged))


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
    gram = np.stack([curator.answer("gradient", unit) - zero for unit in np.eye(problem.dimension)], axis=1)
    gram = 0.5 * (gram + gram.T)
    return minimise_quadratic(gram, -zero, feasible=problem.feasible, penalty=problem.regulariser).theta


def _gathered(step: float, eigenvalues: Array, count: int) -> Array:
    """`Σ_{t<count} s²(1 − sλ)^{2t}`."""
    ratio = (1.0 - step * eigenvalues) ** 2
    close = np.abs(1.0 - ratio) < 1e-9
    total = np.where(close, count, (1.0 - ratio**count) / np.where(close, 1.0, 1.0 - ratio))
    return np.asarray(step**2 * total, dtype=np.float64)
