"""NoisyProjGrad: the paper's own way from a noisy gradient to a model, `r` projected steps of one size, averaged.

Its steps `‖C‖/(√r (α + L))` are short: from zero they would need `r ≫ (L/(λ‖C‖))²` to travel along a direction of curvature λ, which is more than
Corollary B.2 asks for where its bound is loose, and the mean of all iterates never forgets the way. But Proposition B.1 is for "any θ₁ in C".
So θ₁ is the minimiser over C of the released quadratic less its negative curvature. Where there was none θ₁ is a fixed point of the
steps, and their mean.
"""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import ConvexSet, Penalty, Projectable
from hullabaloo.privacy.answers import Array, NoisyMoments
from hullabaloo.quadratic import minimise_quadratic
from hullabaloo.solvers import Problem, Solution, quadratic_weights
from hullabaloo.streaming.private_gradient import PrivateGradient
from hullabaloo.streaming.sketched_solve import mended

FAILURE = 0.01
"""Probability with which the noise may exceed α; a smaller one makes smaller steps."""
MOST_STEPS = 200_000
"""Steps that are run, in a second or two; where r is larger θ₁ itself is the result, with the same bound."""
STILL = 1e-13
"""A step that moves nothing by more, in parts of ‖C‖, ends them: negative curvature is at most α/R, so that r steps let moves grow e² times at most."""


@dataclass(frozen=True, slots=True)
class StepConstants:
    """The constants of a run, all public.

    The objective is `f(θ) = (1/2n) Σ (⟨x, θ⟩ − y)²` and its noisy gradient `g(θ) = Gθ − c`, G and c the released means.

    Attributes:
        diameter: ‖C‖, the largest distance of two points of C (at most twice the largest norm).
        lipschitz: L, the largest ‖∇f‖ over C: `W B(B R + 1)`, and λR with a ridge, for rows of norm ≤ B, targets in [−1, 1], weights ≤ W and ‖θ‖ ≤ R.
        error: α, which `max_{θ ∈ C} ‖g(θ) − ∇f(θ)‖` exceeds with probability at most `FAILURE`.
        steps: r of Corollary B.2, `(1 + L/α)²`; ∞ without noise.
    """

    diameter: float
    lipschitz: float
    error: float
    steps: float

    @property
    def size(self) -> float:
        """The constant step `‖C‖/(√r (α + L))`."""
        return self.diameter / (math.sqrt(self.steps) * (self.error + self.lipschitz))

    @property
    def excess(self) -> float:
        """Proposition B.1: `f(θ̄) − min_C f ≤ (α + L)‖C‖/√r + α‖C‖`, at most 2α‖C‖, with probability at least 1 − `FAILURE`.

        Source: 003, Proposition B.1.
        """
        return ((self.error + self.lipschitz) / math.sqrt(self.steps) + self.error) * self.diameter


def step_constants(moments: NoisyMoments, problem: Problem) -> StepConstants:
    """The constants for released moments: from declared bounds, the set and the known noise alone; α is that of `PrivateGradient`.

    Source: 003, Corollary B.2.
    """
    feasible = problem.feasible
    check_bounded(problem.constraint, problem.penalty)
    assert feasible is not None
    p, rows = problem.dimension, problem.norm_l2
    radius = feasible.max_norm(2.0, p)
    error = PrivateGradient(moments).error(radius, FAILURE)
    lipschitz = problem.max_weight * rows * (rows * radius + 1.0) + _ridge(problem).max(initial=0.0) * radius
    steps = float(math.ceil((1.0 + lipschitz / error) ** 2)) if error > 0.0 else math.inf
    return StepConstants(2.0 * radius, lipschitz, error, steps)


def noisy_projected_gradient(moments: NoisyMoments, problem: Problem) -> Solution:
    """All targets of `problem` from released moments by `θ ← P_C(θ − η(Gθ − c))`, r times; gives the mean of the iterates.

    Post-processing: free of charge. Source: Kasiviswanathan, Nissim and Jin (2017), Appendix B; the gradient is that of the mean, not of
    the sum, which changes no iterate.

    *Claim*: `f − min_C f ≤ StepConstants.excess` or 2α‖C‖ where no step is run. *Proof*: the first is Proposition B.1 from θ₁. For the
    second let G₊ be G without its negative eigenvalues. As Ḡ has none, `‖G₊ − G‖ ≤ ‖G − Ḡ‖`, so that `g₊(θ) = G₊θ − c` is within 2α of
    ∇f(θ); θ₁ minimises over C, `⟨g₊(θ₁), θ₁ − θ*⟩ ≤ 0`, and by convexity `f(θ₁) − f(θ*) ≤ ⟨∇f(θ₁), θ₁ − θ*⟩ ≤ 2α‖C‖`.

    Source: 003, Proposition B.1.
    """
    plan, feasible = step_constants(moments, problem), problem.feasible
    assert isinstance(feasible, Projectable)
    steps = int(plan.steps) if plan.steps <= MOST_STEPS else 0
    gram = moments.gram + np.diag(_ridge(problem))
    size, convex = plan.size if steps else 0.0, mended(gram, 0.0)
    columns = []
    for target in range(problem.targets):
        cross = moments.cross[:, target]
        theta = feasible.project(minimise_quadratic(convex, cross, feasible=feasible).theta)
        total = np.zeros(cross.size)
        for done in range(steps):
            total += theta
            before, theta = theta, feasible.project(theta - size * (gram @ theta - cross))
            if float(np.abs(theta - before).max()) <= STILL * plan.diameter:
                total += (steps - done - 1) * theta
                break
        columns.append(total / steps if steps else theta)
    settings = {"diameter": plan.diameter, "lipschitz": plan.lipschitz, "error": plan.error, "steps": steps}
    trace = tuple({"target": target, **settings, "step": size} for target in range(problem.targets))
    return Solution(theta=np.stack(columns, axis=1), moments=moments, trace=trace)


def _ridge(problem: Problem) -> Array:
    """λ of each coordinate: f has (1/2) Σ λ_j θ_j² added where a squared l2 penalty is asked for beside the set."""
    found = quadratic_weights(problem.penalty, problem.slopes, problem.intercept)
    assert found is not None  # the check saw to it
    return found


def check_bounded(constraint: ConvexSet | None, penalty: Penalty) -> None:
    """Refuse to run without a set, whose diameter the size of the steps is a multiple of, and with a penalty that has no gradient.

    Raises:
        InvalidParameter: there is no set, it cannot be projected onto, or the penalty has corners.
    """
    if quadratic_weights(penalty, 1, False) is None:
        raise InvalidParameter(
            f"solver='noisy_projected_gradient' takes steps that follow a gradient, and {penalty!r} has none. Pass penalty=hb.SquaredL2Penalty(0.1) or none, or leave solver='moments'."
        )
    if not isinstance(constraint, Projectable):
        found = "none was given" if constraint is None else f"{type(constraint).__name__} has no projection"
        raise InvalidParameter(
            f"solver='noisy_projected_gradient' projects onto a convex set of known diameter; {found}. Pass constraint=hb.L2Ball(1.0), for example, or leave solver='moments'."
        )
