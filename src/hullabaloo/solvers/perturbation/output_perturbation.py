"""Output perturbation: the minimiser of the clipped loss with a ridge, plus Gaussian noise at its sensitivity.

`argmin f + (λ/2)‖θ‖² + ψ` over C, `+ N(0, (Δ/μ)² I)`, `Δ = 2G/(nλ)` (Chaudhuri, Monteleoni & Sarwate 2011; with sparsity-inducing ψ
Kumar & Deisenroth 2019, section 4.1). The noise is the same in every direction whatever the curvature, so objective perturbation is nearly always
better; this one takes Gaussian budgets and filters, losses of several predictions, and, without noise, gives the exact optimum.
The ridge is the one of the least predicted risk on the reference table. What the noise costs at most under a norm of a set function is in
`output_bounds.py`.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hullabaloo.geometry import ConvexSet, Penalty, PenaltyWithFreeIntercept, Projectable, with_intercept
from hullabaloo.losses import Loss
from hullabaloo.privacy import Allowance, Calibration, paper_pair
from hullabaloo.solvers.base import Answers, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.options import one_prediction
from hullabaloo.solvers.perturbation.objective_perturbation import clip_for, reference_terms


@dataclass(frozen=True, slots=True)
class OutputPerturbationSolver(Solver):
    """One noisy minimiser for all of the budget; the exact optimum without noise.

    The ridge that its noise asks for falls slowly as budgets grow: along columns much narrower than their bounds it ends short of the optimum where gradients do not.

    **Guarantee.** The plan buys one `μ`-GDP answer; ridge and clip come from public facts.

    Source: 001, Equation (17).
    """

    name: ClassVar[str] = "output_perturbation"

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """One minimiser.

        Raises:
            CapabilityError: a set without a projection, or beside a penalty whose prox over it is not known; with noise, several targets under a loss of
                one prediction, a loss without a Lipschitz derivative or without a bound of its gradient.
        """
        if isinstance(problem.loss, Loss):
            one_prediction(problem, "Output perturbation", "solver='moments' or 'gradient'")
        feasible, penalty = _with_intercepts(problem)
        common: dict[str, Any] = {"loss": problem.loss, "feasible": feasible, "penalty": penalty}
        if not allowance.is_private:
            query = prices.price("output_perturbation", clip=math.inf, ridge=0.0, mu=math.inf, **common)
            return Plan(self.name, (query,), {"clip": None, "ridge": 0.0, "sigma": 0.0}, "no noise: the exact optimum")
        clip = clip_for(problem)
        mu = _paper_mu(allowance) if allowance.calibration is Calibration.PAPER else allowance.mu
        ridge = _best_ridge(problem, clip, mu)
        query = prices.price("output_perturbation", clip=clip, ridge=ridge, mu=mu, **common)
        reason = f"one noisy minimiser, derivatives clipped at {clip:.3g}, ridge {ridge:.3g} on the mean loss"
        if allowance.calibration is Calibration.PAPER:
            reason += "; noise √(2 ln(1.25/δ))·Δ/ε, the classical Gaussian mechanism (Dwork & Roth 2014, Theorem A.1)"
        return Plan(self.name, (query,), {"clip": clip, "ridge": ridge, "sigma": query.sigma}, reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Ask for the minimiser; bring it back to the set."""
        theta = curator.answer("output_perturbation")
        feasible, _ = _with_intercepts(problem)
        if isinstance(feasible, Projectable) and plan.settings["sigma"] > 0.0:
            theta = feasible.project(theta.ravel()).reshape(theta.shape)
        return Solution(theta=theta[:, None] if theta.ndim == 1 else theta)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """`½ φ̄'' Σ_j v_j (σ² + (λ θ_j/(φ̄'' v_j + λ))²)` on the reference table, v_j its second moments."""
        noise, bias = _risk(problem, plan.settings["ridge"], plan.settings["sigma"])
        return noise + bias


def _with_intercepts(problem: Problem) -> tuple[ConvexSet | None, Penalty]:
    """Set and penalty on θ flattened by rows, whose last row holds the intercepts."""
    feasible, penalty, k = problem.constraint, problem.penalty, problem.targets
    if not problem.intercept:
        return feasible, penalty
    if feasible is not None:
        feasible = with_intercept(feasible, *problem.loss.intercept_bounds, k)
    return feasible, PenaltyWithFreeIntercept(penalty, k)


def _paper_mu(allowance: Allowance) -> float:
    """The μ that the classical formula amounts to."""
    epsilon, delta = paper_pair(allowance.budget, "√(2 ln(1.25/δ))·Δ/ε")
    return epsilon / math.sqrt(2.0 * math.log(1.25 / delta))


def _best_ridge(problem: Problem, clip: float, mu: float) -> float:
    """The λ of the least predicted risk."""
    moved = problem.change * clip * problem.norm_l2 / problem.records
    ridges: list[float] = (np.geomspace(1e-6, 1e3, 91) * problem.norm_l2**2).tolist()
    return min(ridges, key=lambda ridge: sum(_risk(problem, ridge, moved / (ridge * mu))))


def _risk(problem: Problem, ridge: float, sigma: float) -> tuple[float, float]:
    """Predicted excess risk: what noise adds and what the ridge misses."""
    values, theta2, bend = reference_terms(problem)
    noise = 0.5 * bend * problem.targets * sigma**2 * float(values.sum())
    bias = 0.5 * bend * float((values * theta2 * (ridge / (bend * values + ridge)) ** 2).sum())
    return noise, bias
