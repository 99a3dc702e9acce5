"""Upper bounds by Gaussian width for structured problems: what a plan's noise and ridge cost at most, beside what it is expected to."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from hullabaloo.geometry import ConvexSet, SubmodularPenalty
from hullabaloo.losses import Loss
from hullabaloo.planning.forecasts import Forecast
from hullabaloo.solvers import Plan, Problem
from hullabaloo.solvers.perturbation.objective_perturbation import faint_reach, reference_terms, structure_of
from hullabaloo.solvers.perturbation.output_bounds import penalised_rise, perturbed_rise, projected_rise, ridge_rise

_PROOF = "`solvers/perturbation/output_bounds.py`"
_PAPER = "Kumar & Deisenroth 2019 (Differentially Private Empirical Risk Minimization with Sparsity-Inducing Norms)"


@dataclass(frozen=True, slots=True)
class UpperBound:
    """A plan loses no more in expectation, whatever the table, but for how near the minimiser is found: 1e-4 of what a record can move it by.

    Attributes:
        solver: whose plan.
        value: the bound of the expected excess risk of the clipped loss, over the best coefficients of norm at most `size`.
        noise: the part of it that the noise makes; the rest is the ridge's.
        width: the Gaussian width in it.
        size: the Euclidean norm up to which coefficients are compared with, that of the reference table's.
        holds: the bound in words.
        source: where it is from.
    """

    solver: str
    value: float
    noise: float
    width: float
    size: float
    holds: str
    source: str


def upper_bounds(problem: Problem, found: Iterable[Forecast]) -> tuple[UpperBound, ...]:
    """Those of the plans whose noise is one minimiser's, for one target under a norm of a set function; empty for other problems."""
    if structure_of(problem) is None or problem.targets != 1 or not isinstance(problem.loss, Loss):
        return ()
    made = []
    for one in found:
        if one.plan is None or not one.plan.settings.get("sigma"):
            continue
        if one.solver.name == "output_perturbation":
            made.append(_output(problem, one.plan))
        elif one.solver.name == "objective_perturbation" and problem.feasible is not None:
            made.append(_objective(problem, one.plan, problem.feasible))
    return tuple(made)


def _output(problem: Problem, plan: Plan) -> UpperBound:
    sigma, ridge, clip = (float(plan.settings[name]) for name in ("sigma", "ridge", "clip"))
    size, norm, p = _size(problem), problem.norm_l2, problem.dimension
    lipschitz = problem.max_weight * clip
    if isinstance(problem.penalty, SubmodularPenalty):
        function, strength = problem.penalty.function, problem.penalty.strength
        width = function.gaussian_width(p - problem.intercept).high
        bend = problem.max_weight * problem.loss.constants(math.inf, 1.0, clip).smoothness
        noise = penalised_rise(sigma, lipschitz=lipschitz, smoothness=bend, norm=norm, strength=strength, width=width)
        holds = f"noise {sigma:.2g} on each coefficient, a penalty of strength {strength:.3g} whose polyhedron has Gaussian width {width:.3g}"
        source = f"{_PAPER}, Theorem 1, its constants in {_PROOF}"
    else:
        assert problem.feasible is not None
        width = problem.feasible.gaussian_width(p).high
        noise = projected_rise(sigma, lipschitz=lipschitz, norm=norm, width=width, coordinates=p)
        holds = f"noise {sigma:.2g} on each coefficient, projected onto a set of Gaussian width {width:.3g}"
        source = f"As {_PAPER}, Theorem 1, for a set; proof in {_PROOF}"
    value = noise + ridge_rise(ridge, size)
    return UpperBound("output_perturbation", value, noise, width, size, holds, source)


def _objective(problem: Problem, plan: Plan, body: ConvexSet) -> UpperBound:
    sigma, ridge, clip = (float(plan.settings[name]) for name in ("sigma", "ridge", "clip"))
    n, p, size = problem.records, problem.dimension, _size(problem)
    width = body.gaussian_width(p).high
    noise = perturbed_rise(sigma, ridge, n, width=width, coordinates=p)
    noise += problem.max_weight * clip * problem.norm_l2 * faint_reach(problem, float(plan.settings["output_sigma"]))
    holds = (
        f"linear noise {sigma / n:.2g} on each coordinate of the mean slope, over a set of Gaussian width {width:.3g}"
    )
    source = f"{_PAPER}, section 4.3, the Lipschitz case, its constants in {_PROOF}"
    return UpperBound("objective_perturbation", noise + ridge_rise(ridge / n, size), noise, width, size, holds, source)


def _size(problem: Problem) -> float:
    """‖θ‖₂ of the reference table's best coefficients."""
    return math.sqrt(float(reference_terms(problem)[1].sum()))
