"""NoisyProjGrad: the paper's own way from a noisy gradient to a model, `r` projected steps of one size, averaged."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet, Projectable
from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.solvers import Problem, Solution
from hullabaloo.streaming.private_gradient import PrivateGradient

Array = npt.NDArray[np.float64]

FAILURE = 0.01
"""Probability with which the noise may exceed α; a smaller one makes smaller steps."""
MOST_STEPS = 4_096


@dataclass(frozen=True, slots=True)
class StepConstants:
    """The constants of a run, all public.

    The objective is `f(θ) = (1/2n) Σ (⟨x, θ⟩ − y)²` and its noisy gradient `g(θ) = Gθ − c`, G and c the released means.

    Attributes:
        diameter: ‖C‖, the largest distance of two points of C (at most twice the largest norm).
        lipschitz: L, the largest ‖∇f‖ over C: `W B(B R + 1)` for rows of norm ≤ B, targets in [−1, 1], weights ≤ W and ‖θ‖ ≤ R.
        error: α, which `max_{θ ∈ C} ‖g(θ) − ∇f(θ)‖` exceeds with probability at most `FAILURE`.
        steps: r.
    """

    diameter: float
    lipschitz: float
    error: float
    steps: int

    @property
    def size(self) -> float:
        """The constant step `‖C‖/(√r (α + L))`."""
        return self.diameter / (math.sqrt(self.steps) * (self.error + self.lipschitz))

    @property
    def excess(self) -> float:
        """Proposition B.1: `f(θ̄) − min_C f ≤ (α + L)‖C‖/√r + α‖C‖` with probability at least 1 − `FAILURE`."""
        return ((self.error + self.lipschitz) / math.sqrt(self.steps) + self.error) * self.diameter


def step_constants(moments: NoisyMoments, problem: Problem) -> StepConstants:
    """The constants for released moments: from declared bounds, the set and the known noise alone; α is that of `PrivateGradient`."""
    feasible = problem.feasible
    check_bounded(problem.constraint)
    assert feasible is not None
    p, rows = problem.dimension, problem.norm_l2
    radius = feasible.max_norm(2.0, p)
    error = PrivateGradient(moments).error(radius, FAILURE)
    lipschitz = problem.max_weight * rows * (rows * radius + 1.0)
    wanted = (1.0 + lipschitz / error) ** 2 if error > 0.0 else math.inf
    return StepConstants(2.0 * radius, lipschitz, error, math.ceil(min(wanted, MOST_STEPS)))


def noisy_projected_gradient(moments: NoisyMoments, problem: Problem) -> Solution:
    """All targets of `problem` from released moments by `θ ← P_C(θ − η(Gθ − c))`, r times; gives the mean of the iterates.

    Post-processing: free of charge. r is that of Corollary B.2, `(1 + L/α)²`, `MOST_STEPS` at most. Source: Kasiviswanathan,
    Nissim and Jin (2017), Appendix B; the gradient is that of the mean, not of the sum, which changes no iterate.
    """
    plan, feasible = step_constants(moments, problem), problem.feasible
    assert isinstance(feasible, Projectable)
    columns, size = [], plan.size
    for target in range(problem.targets):
        cross = moments.cross[:, target]
        theta, total = feasible.start(cross.size), np.zeros(cross.size)
        for _ in range(plan.steps):
            total += theta
            theta = feasible.project(theta - size * (moments.gram @ theta - cross))
        columns.append(total / plan.steps)
    settings = {"diameter": plan.diameter, "lipschitz": plan.lipschitz, "error": plan.error, "steps": plan.steps}
    trace = tuple({"target": target, **settings, "step": size} for target in range(problem.targets))
    return Solution(theta=np.stack(columns, axis=1), moments=moments, trace=trace)


def check_bounded(constraint: ConvexSet | None) -> None:
    """Refuse to run without a set: the size of the steps is a multiple of its diameter.

    Raises:
        InvalidParameter: there is no set, or it cannot be projected onto.
    """
    if not isinstance(constraint, Projectable):
        found = "none was given" if constraint is None else f"{type(constraint).__name__} has no projection"
        raise InvalidParameter(
            f"solver='noisy_projected_gradient' projects onto a convex set and takes its diameter for the size of its steps; {found}. "
            "Pass constraint=hb.L2Ball(1.0) or another set with a projection, or leave solver='moments'."
        )
