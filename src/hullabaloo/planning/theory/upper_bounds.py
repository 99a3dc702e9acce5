"""Upper bounds of plans, from the theorems at the plans' own numbers: what a plan loses at most, beside what it is expected to.

A bound stands beside a plan where its theorem holds for what the plan does, and nowhere else: Frank–Wolfe's where a step sees all of the
intercept's interval, output perturbation's where a set is projected onto or a penalty's rise by noise is known, coordinate descent's for constants
that are declared, coordinates that are drawn and clips that cut nothing. For the other solvers none is known.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from hullabaloo.geometry import HasElasticForm, NoPenalty, Penalty, Projectable, SubmodularPenalty
from hullabaloo.losses import Loss
from hullabaloo.planning.forecasts import Forecast
from hullabaloo.planning.theory.certified_width import planned_width
from hullabaloo.planning.theory.coordinate_bounds import convex_bound
from hullabaloo.solvers import Plan, Problem
from hullabaloo.solvers.coordinate.coordinate_rule import Schedule
from hullabaloo.solvers.frank_wolfe.frank_wolfe_rule import Iterates
from hullabaloo.solvers.mirror.mirror_descent import Descent
from hullabaloo.solvers.mirror.mirror_rule import NEAR, Rule, prediction_bound, slope_bound
from hullabaloo.solvers.perturbation.objective_perturbation import ZERO, faint_reach, reference_terms
from hullabaloo.solvers.perturbation.output_bounds import loss_rise, perturbed_rise, projected_rise, ridge_rise

_TTZ = "Talwar, Thakurta, Zhang 2014"
_KD = "Kumar, Deisenroth 2019"


@dataclass(frozen=True, slots=True)
class UpperBound:
    """A plan loses no more in expectation, whatever the table.

    Minimisers count as found: they are, to 1e-4 of what a record can move them by.

    Attributes:
        solver: whose plan.
        value: the bound of the expected excess risk.
        noise: the part of it that the noise makes; the rest is the optimisation's or a ridge's.
        clipped: whether the risk is that of the loss with clipped derivatives, because the plan clips some over its set.
        width: the Gaussian width in it, where there is one.
        size: the Euclidean norm up to which coefficients are compared with, that of the reference table's or of the set; infinite for all of the set.
        holds: the bound in words.
        source: where it is from.
    """

    solver: str
    value: float
    noise: float
    clipped: bool
    width: float | None
    size: float
    holds: str
    source: str


def upper_bounds(problem: Problem, found: Iterable[Forecast]) -> tuple[UpperBound, ...]:
    """Those of the plans whose theorem holds for the problem."""
    made = (_bound(problem, one.plan) for one in found if one.plan is not None)
    return tuple(bound for bound in made if bound is not None and math.isfinite(bound.value))


def _bound(problem: Problem, plan: Plan) -> UpperBound | None:
    """Of the coefficients' own plan, where inference shares the budget: it moves those alone that nothing holds. Of what the constant holds up none is known."""
    if plan.solver not in _OF or "floor" in plan.settings:
        return None
    own = plan.settings.get("solver settings")
    if own is None:
        return _OF[plan.solver](problem, plan)
    return None if problem.free else _OF[plan.solver](problem, replace(plan, settings=own))


def _output(problem: Problem, plan: Plan) -> UpperBound | None:
    """The noise on the minimiser.

    Source: 001, Theorem 1.
    """
    sigma, p = float(plan.settings["sigma"]), problem.dimension
    if sigma == 0.0 or not _alone(problem):
        return None
    ridge, clip, size = float(plan.settings["ridge"]), float(plan.settings["clip"]), _size(problem)
    lipschitz, body = problem.max_weight * clip, problem.feasible
    width = None
    if body is None:
        added, width = _penalty_rise(problem.penalty, sigma, p - problem.intercept)
        bend = problem.max_weight * problem.loss.constants(math.inf, 1.0, clip).smoothness
        noise = loss_rise(sigma, lipschitz=lipschitz, smoothness=bend, norm=problem.norm_l2) + added
        holds, source = f"noise {sigma:.2g} on each coefficient", f"{_KD}, Theorem 1"
    elif isinstance(body, Projectable) and isinstance(problem.penalty, NoPenalty):
        width = planned_width(body, p)
        noise = projected_rise(sigma, lipschitz=lipschitz, norm=problem.norm_l2, width=width, coordinates=p)
        holds, source = f"noise {sigma:.2g} on each coefficient, projected onto the set", f"as {_KD}, Theorem 1"
    else:
        return None
    return _compared(problem, plan, noise, ridge, width, size, holds, source)


def _objective(problem: Problem, plan: Plan) -> UpperBound | None:
    """The noise in the objective.

    Source: 002, Theorem 4.1 (1); 001, Section 4.3, Lipschitz case.
    """
    sigma, faint = float(plan.settings["sigma"]), float(plan.settings["output_sigma"])
    if sigma == 0.0 or not _alone(problem):
        return None
    ridge, n, p, size = float(plan.settings["ridge"]), problem.records, problem.dimension, _size(problem)
    body = problem.feasible
    if body is not None and not isinstance(problem.penalty, NoPenalty):  # projected, whatever that does to the penalty
        return None
    width = None if body is None else planned_width(body, p)
    noise = perturbed_rise(sigma, ridge, n, width=math.inf if width is None else width, coordinates=p)
    reach = faint_reach(problem, faint) + ZERO * faint * math.sqrt(p)
    noise += problem.max_weight * float(plan.settings["clip"]) * problem.norm_l2 * reach
    noise += _penalty_rise(problem.penalty, faint, p - problem.intercept)[0]
    holds = f"linear noise {sigma / n:.2g} on each coordinate of the mean slope"
    return _compared(problem, plan, noise, ridge / n, width, size, holds, f"{_TTZ}, Theorem 4.1")


def _compared(
    problem: Problem, plan: Plan, noise: float, ridge: float, width: float | None, size: float, holds: str, source: str
) -> UpperBound:
    value, cut = noise + ridge_rise(ridge, size), _cuts(problem, float(plan.settings["clip"]))
    if problem.feasible is not None and size >= problem.feasible.max_norm(2.0, problem.dimension):
        size = math.inf
    return UpperBound(plan.solver, value, noise, cut, width, size, holds, source)


def _mirror(problem: Problem, plan: Plan) -> UpperBound:
    """The bound that the plan's own rule is chosen by.

    Source: 002, Theorem 3.2; 002, Theorem A.1.
    """
    about = Descent(**plan.settings)
    curved = about.rule in (Rule.STRONGLY_CONVEX, Rule.COMPOSITE)
    holds = f"{about.steps} {about.rule} steps"
    if about.composite:
        holds += f" with {about.composite:.3g} times the potential, {about.missed:.2g} of it for that"
    low, high = problem.loss.intercept_bounds if problem.intercept else (0.0, 0.0)
    far = max(-low, high) > NEAR
    if far:
        holds += f", against intercepts within {NEAR:g} of 0"
    source = f"{_TTZ}, Theorem {'A.1' if curved else '3.2'}"
    if about.rule == Rule.SMOOTH:
        source = f"Lan 2012, as {source}"
    cut = _cuts(problem, about.clip)
    value, size = about.risk, NEAR if far else math.inf
    return UpperBound(plan.solver, value, min(about.noise, value), cut, None, size, holds, source)


def _frank_wolfe(problem: Problem, plan: Plan) -> UpperBound | None:
    """The theorem's terms at the plan's own steps.

    Source: 002, Theorem 5.5; 002, Theorem B.2; 000, Theorem 2.5.
    """
    walk = Iterates(**plan.settings)
    low, high = problem.loss.intercept_bounds
    if problem.intercept and walk.window is not None and high - low > walk.window:
        return None
    holds = (
        f"{walk.steps} steps, {2.0 * walk.curvature / (walk.steps + 2.0):.2g} of it by curvature {walk.curvature:.3g}"
    )
    source = f"{_TTZ}, Theorem {'5.5' if walk.form == 'polytope' else 'B.2'}"
    noise = min(walk.slope_error, walk.risk)
    return UpperBound(plan.solver, walk.risk, noise, _cuts(problem, walk.clip), None, math.inf, holds, source)


def _coordinates(problem: Problem, plan: Plan) -> UpperBound | None:
    """`(p/K)(G⁰ + D⁰/2s) + sS` with `G⁰ ≤ LB‖θ‖`, `D⁰ ≤ max M ‖θ‖²`, for one round; any θ serves the proof in place of the minimiser.

    Source: 004, Utility, convex.
    """
    about, p = Schedule(**plan.settings), problem.dimension
    plain = about.order == "uniform" and about.constants == "declared" and about.rounds == 1 and not about.exact
    plain = plain and not about.centred and not problem.intercept and problem.max_weight == 1.0
    if not plain or not isinstance(problem.loss, Loss):
        return None
    curved = problem.loss.constants(math.inf, 1.0).smoothness
    constants = np.full(p, about.smoothness * problem.records_per_unit * problem.norm_linf**2)  # as the steps have them
    clips = about.clips(constants, intercept=False)
    steep = _steepest(problem)
    if curved > about.smoothness or steep * problem.norm_linf > clips.min():
        return None
    size = _size(problem)
    start, far = steep * problem.norm_l2 * size, float(constants.max()) * size**2
    value = convex_bound(start, far, about.sigma * clips, constants, about.updates, step=about.step)
    quiet = convex_bound(start, far, 0.0 * clips, constants, about.updates, step=about.step)
    holds = f"{about.updates} updates of coordinates drawn at random, noise {about.sigma * clips.max():.2g}"
    source = "Mangold, Bellet, Salmon, Tommasi 2022, convex case"
    return UpperBound(plan.solver, value, value - quiet, False, None, size, holds, source)


_OF: dict[str, Callable[[Problem, Plan], UpperBound | None]] = {
    "output_perturbation": _output,
    "objective_perturbation": _objective,
    "mirror_descent": _mirror,
    "frank_wolfe": _frank_wolfe,
    "coordinate_descent": _coordinates,
}


def _alone(problem: Problem) -> bool:
    return problem.targets == 1 and isinstance(problem.loss, Loss)


def _steepest(problem: Problem) -> float:
    """The largest |φ'| (‖∇φ‖₂) over the set, if any."""
    return slope_bound(problem, math.inf if problem.constraint is None else prediction_bound(problem))


def _cuts(problem: Problem, clip: float) -> bool:
    return _steepest(problem) > clip * (1.0 + 1e-9)


def _penalty_rise(penalty: Penalty, sigma: float, slopes: int) -> tuple[float, float | None]:
    """`E ψ(θ + b) − ψ(θ)` at most, b ~ N(0, σ²I), and the Gaussian width in it; infinite where it is not known."""
    if isinstance(penalty, SubmodularPenalty):
        width = penalty.function.gaussian_width(slopes).high
        return sigma * penalty.strength * width, width
    if not isinstance(penalty, HasElasticForm):
        return math.inf, None
    flat, round_ = (float(one.sum()) for one in penalty.elastic_weights(slopes))
    length = math.sqrt(2.0 / math.pi)  # of a coordinate of g, in expectation
    return sigma * length * flat + 0.5 * sigma**2 * round_, slopes * length if flat else None


def _size(problem: Problem) -> float:
    """‖θ‖₂ of the reference table's best coefficients, or the largest in the set where that is less."""
    size = math.sqrt(float(reference_terms(problem)[1].sum()))
    return size if problem.feasible is None else min(size, problem.feasible.max_norm(2.0, problem.dimension))
