"""Objective perturbation: one minimiser of the clipped loss, a ridge and a random linear term, released once.

`argmin Σ_i φ_c(⟨x_i, θ⟩, y_i) + nψ(θ) + (λ/2)‖θ‖² + ⟨b, θ⟩` over C, `b ~ N(0, σ²I)` (Talwar, Thakurta & Zhang 2014, Algorithm 2;
Chaudhuri, Monteleoni & Sarwate 2011), with the noise of docs/objective-perturbation.md.

The public rule. The ridge buys noise: at `κ = β/λ` the least σ/L is that of the Gaussian mechanism times a factor that falls from
1.5 at κ = 0.6 ε to 1.04 as κ → 0. On the reference table (`reference.py`), with curvature `h_j` of the sum in its jth direction,

    excess risk ≈ ½ Σ_j h_j/n · [σ²/(h_j + λ)² + (λ θ_j/(h_j + λ))²],

and the λ that makes it least is taken: β/λ is near ε/6 where noise is small, ε/20 and less where `nε` is small against p. Signal
and intercept of the reference table are those of typical slopes φ' and curvatures φ'' (`typical`). On 23 real tables with
declared domains (replace-one, δ = 1/n²) the rule kept, median over tables, 29 / 89 / 98 % (regression) and 44 / 90 / 96 %
(classification) of what the optimum gains over a constant, at ε = 0.1 / 1 / 3; the best of eight κ/ε, chosen for each table and ε in
hindsight, 30 / 92 / 98 and 50 / 92 / 98.

The shape that a set function promises, given back to a minimiser that faint noise was added to: public post-processing.

Minimisers with Ω have exact zeros, and coefficients of exactly equal magnitude; the faint noise on what the curator releases hides both. Its
coordinates are within `ZERO` standard deviations, but for a chance of 2e-9 each. What is so small was zero, or may as well be. And
the prox of Ω at the weight that takes every vector of such noise to 0, `ZERO·σ·Ω*(1, …, 1)` (Ω* does not fall with magnitudes), ties again what was tied,
moving nothing by more than noise of that size did. It keeps zeros: no magnitude grows in it.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from hullabaloo import geometry
from hullabaloo.errors import CalibrationError, CapabilityError, InvalidParameter
from hullabaloo.geometry.submodular.norm import prox
from hullabaloo.losses import AnyLoss, Huber, Poisson, SmoothedHinge, Squared, VectorLoss
from hullabaloo.privacy import Allowance, Calibration, GaussianEvent, event_calibrate
from hullabaloo.solvers.base import Answers, Array, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.options import POSITIVE, check_options, no_jump, one_prediction
from hullabaloo.solvers.reference import Reference

RATIOS = (0.02, 0.05, 0.1, 0.1667, 0.25, 0.3333, 0.4, 0.5, 0.6)
DEARER = (1.066, 1.067, 1.076, 1.10, 1.16, 1.23, 1.30, 1.41, 1.55)
"""κ/ε, and σ/L at it relative to a Gaussian release (replace-one, ε = 1; add-or-remove and other ε are within 10 %)."""

EXPLAINED = 0.4
"""Share of the variance of slopes that the reference table's best model explains."""

INTERCEPT = 0.3
"""Square of its intercept for a squared loss."""


@dataclass(frozen=True, slots=True)
class ObjectivePerturbationSolver(Solver):
    """One perturbed minimiser for all of the budget.

    **Guarantee.** The plan buys one answer, priced by `ObjectivePerturbationEvent`; the ridge, the clip and the noise come from
    public facts.

    Attributes:
        ratio: κ/ε, the share of the budget that the ridge λ = β/κ may cost; None for the public rule.

    Source: 001, Proposition 2.
    """

    name: ClassVar[str] = "objective_perturbation"
    ratio: float | None = None

    def __post_init__(self) -> None:
        check_options(self, ratio=POSITIVE)

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """One perturbed minimiser.

        Raises:
            CapabilityError: several targets, a loss without a Lipschitz derivative, a set without a projection, no noise.
            CalibrationError: a budget or filter in which objective perturbation has no price.
        """
        one_prediction(problem, "Objective perturbation", "solver='moments' or 'gradient'")
        if not allowance.is_private:
            raise CapabilityError(
                "Objective perturbation is a way of adding noise, and none was asked for. Use solver='output_perturbation', which gives the exact optimum then."
            )
        clip = clip_for(problem)
        smoothness = smoothness_of(problem, clip)
        output = event_calibrate.output_noise_multiplier(allowance)
        if allowance.calibration is Calibration.PAPER:
            if self.ratio is not None:
                raise InvalidParameter(
                    f"calibration='paper' was asked with ratio={self.ratio!r}, but the paper prints its ridge, 2β/ε. Nothing was charged or read. Leave out either."
                )
            multiplier, curvature = event_calibrate.paper_objective_perturbation(allowance.budget)
            ridge = smoothness / curvature
            reason = f"noise √(2 ln(1/δ))·L/ε and ridge 2β/ε as printed (Talwar, Thakurta & Zhang 2014, Algorithm 2): {multiplier:.4g} L and {ridge:.4g}"
        else:
            ridge = _best_ridge(problem, allowance, clip, smoothness)
            if self.ratio is not None:
                ridge = smoothness / (self.ratio * allowance.budget.epsilon)
            curvature = max(smoothness / ridge, RATIOS[0] * allowance.useful * allowance.budget.epsilon)
            faint = GaussianEvent(output, samples=problem.dimension)
            asked_of = allowance, curvature, problem.neighbours
            multiplier = event_calibrate.objective_noise_multiplier(*asked_of, output=faint)
            how = f"derivatives clipped at {clip:.3g}, ridge {ridge:.3g} on the sum of losses"
            reason = f"one perturbed minimiser, {how}"
        asked: dict[str, Any] = {"loss": problem.loss, "clip": clip, "ridge": ridge, "feasible": problem.feasible}
        asked |= {"penalty": problem.regulariser, "noise_multiplier": multiplier, "curvature": curvature}
        query = prices.price("objective_perturbation", output_multiplier=output, **asked)
        settings = {"clip": clip, "ridge": ridge, "sigma": query.sigma, "output_sigma": query.output_sigma}
        return Plan(self.name, (query,), settings, reason)

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Ask for the minimiser; undo what the faint noise on it did to the set's and the penalty's shape."""
        theta = curator.answer("objective_perturbation")
        function = structure_of(problem)
        if function is not None:
            theta = restored(problem, function, theta, plan.settings["output_sigma"])
        if isinstance(problem.penalty, geometry.HasElasticForm):
            kinks = problem.penalty.elastic_weights(problem.slopes)[0]
            slopes = theta[: kinks.size]
            slopes[(kinks > 0.0) & (np.abs(slopes) <= ZERO * plan.settings["output_sigma"])] = 0.0
        if isinstance(problem.feasible, geometry.Projectable):
            theta = problem.feasible.project(theta)
        return Solution(theta=theta[:, None])

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """Excess risk on the reference table: the formula above."""
        noise, bias = _risk(problem, plan.settings["ridge"], plan.settings["sigma"])
        faint = 0.5 * plan.settings["output_sigma"] ** 2 * problem.norm_l2**2
        return noise + bias + float(faint)


def clip_for(problem: Problem) -> float:
    """The public clip of |φ'|: half the unit target for squared residuals (all of it with an intercept), else 1; of a loss of several, the whole gradient's bound."""
    if isinstance(problem.loss, Squared):
        return 1.0 if problem.intercept else 0.5
    if isinstance(problem.loss, Huber):
        return float(problem.loss.h)
    most = 1e6 if isinstance(problem.loss, VectorLoss) else 1.0
    return min(most, problem.loss.constants(math.inf, 1.0).lipschitz)


def smoothness_of(problem: Problem, clip: float) -> float:
    """β = W sup φ_c'' B², with room for the rounding of norms.

    Source: 002, Remark 2.
    """
    bound = no_jump(problem.loss, "Objective perturbation", problem.loss.constants(math.inf, 1.0, clip).smoothness)
    return problem.max_weight * bound * problem.norm_l2**2 * (1.0 + 1e-9)


def _best_ridge(problem: Problem, allowance: Allowance, clip: float, smoothness: float) -> float:
    """The λ of the least predicted risk."""
    epsilon = allowance.useful * allowance.budget.epsilon
    gaussian = problem.neighbours.copies * clip * problem.max_weight * problem.norm_l2 / allowance.mu
    best, least = 0.0, math.inf
    for ratio in np.geomspace(1e-4, RATIOS[-1], 70):
        ridge = smoothness / (ratio * epsilon)
        noise, bias = _risk(problem, ridge, gaussian * float(np.interp(ratio, RATIOS, DEARER)))
        if noise + bias < least:
            best, least = ridge, noise + bias
    if not best > 0.0:
        raise CalibrationError(
            f"Objective perturbation was planned at {allowance.budget!r} for {problem.records} records, and whatever the ridge, its risk "
            "or the ridge itself is beyond what a double can hold. State a larger budget, or a loss and bounds of a usual size, or use another solver."
        )
    return float(best)


def _risk(problem: Problem, ridge: float, sigma: float) -> tuple[float, float]:
    """Predicted excess risk on the reference table: what noise adds and what the ridge misses."""
    values, theta2, bend = reference_terms(problem)
    curved = problem.records * bend * values
    with np.errstate(over="ignore"):  # of a ridge far too small the risk is infinite
        noise = 0.5 * bend * float((values * (sigma / (curved + ridge)) ** 2).sum())
        bias = 0.5 * bend * float((values * theta2 * (ridge / (curved + ridge)) ** 2).sum())
    return noise, bias


def reference_terms(problem: Problem) -> tuple[Array, Array, float]:
    """Second moments and squared coefficients of the reference table along its directions, as encoded, the intercept last; and the typical φ''."""
    scale2 = max(problem.norm_l2**2 - 1.0, 1.0) if problem.intercept and problem.dimension > 1 else problem.norm_l2**2
    values = Reference.of(problem).eigenvalues * scale2
    bend, slope = typical(problem.loss)
    theta2 = np.full(values.size, EXPLAINED * slope / bend**2 / float(values.sum()))
    if problem.intercept and problem.dimension > 1:
        values, theta2 = np.append(values, 1.0), np.append(theta2, INTERCEPT * 2.0 * math.sqrt(slope) / bend)
    return values, theta2, bend


def typical(loss: AnyLoss) -> tuple[float, float]:
    """φ'' and the variance of φ' over records at the best constant prediction, of a typical table."""
    if isinstance(loss, Squared | Huber):
        return 1.0, 0.25
    if isinstance(loss, Poisson):  # means near a fifth of the upper bound
        return 0.2, 0.05
    if isinstance(loss, SmoothedHinge):  # half of the records in the rounded corner's reach
        return min(0.5, 0.25 / loss.h), 0.5
    return loss.constants(1.0, 1.0).smoothness, 0.25


ZERO = 6.0
"""Coefficients within so many standard deviations of the faint noise are the zeros they were."""


def structure_of(problem: Problem) -> geometry.SetFunction | None:
    """The set function that shapes the coefficients, if any."""
    if isinstance(problem.constraint, geometry.SubmodularBall):
        return problem.constraint.function
    if isinstance(problem.penalty, geometry.SubmodularPenalty) and problem.penalty.strength > 0.0:
        return problem.penalty.function
    return None


def restored(problem: Problem, function: geometry.SetFunction, theta: Array, sigma: float) -> Array:
    """θ with the zeros and ties that it had before noise of σ."""
    head = theta[: theta.size - problem.intercept]
    if not head.size:
        return theta
    kept = np.where(np.abs(head) > ZERO * sigma, head, 0.0)
    return np.append(prox(function, kept, _weight(function, head.size, sigma)), theta[head.size :])


def faint_reach(problem: Problem, sigma: float) -> float:
    """At least the expected distance that noise of σ, what rounding hides beside it and its undoing move a minimiser."""
    function, slopes = structure_of(problem), problem.slopes
    moved = sigma * (1.0 + math.sqrt(problem.dimension))
    if function is None or not slopes:
        return moved
    longest = geometry.SubmodularPolyhedron(function, 1.0).max_norm(2.0, slopes)
    return moved + ZERO * sigma * math.sqrt(slopes) + _weight(function, slopes, sigma) * longest


def _weight(function: geometry.SetFunction, p: int, sigma: float) -> float:
    return ZERO * sigma * geometry.dual_omega(function, np.ones(p)).value
