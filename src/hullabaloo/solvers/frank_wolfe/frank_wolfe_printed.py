"""Private Frank–Wolfe with the step number and the noise that its papers print, at the cost that this really has."""

import math

from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import Allowance
from hullabaloo.solvers.base import Menu, PricedQuery, Problem
from hullabaloo.solvers.frank_wolfe.frank_wolfe_rule import MOST_STEPS, Terms, Walk, noise_error, selection_error, terms
from hullabaloo.solvers.mirror.mirror_blocks import prediction_bound, slope_bound


def _printed(problem: Problem, allowance: Allowance, formula: str) -> tuple[float, float, Terms]:
    """ε, δ and the paper's constants: nothing is clipped, ends are the interval's own."""
    pair = allowance.budget.pair
    if pair is None or not pair[1] > 0.0:
        raise InvalidParameter(
            f"calibration='paper' was asked with the budget {allowance.budget.describe()}, but the paper's noise is "
            f"{formula}: it needs ε and a δ above 0. Pass epsilon and delta, or calibration='exact'."
        )
    slope = slope_bound(problem, prediction_bound(problem))
    return pair[0], pair[1], terms(problem, slope, window=math.inf)


def printed_selections(problem: Problem, menu: Menu, allowance: Allowance) -> tuple[Walk, PricedQuery, str]:
    """`T = (Γnε/(L₁‖C‖₁))^{2/3}` points; the temperature is the Laplace scale `b = L₁‖C‖₁ √(8T ln(1/δ))/(nε)`."""
    epsilon, delta, about = _printed(problem, allowance, "Lap(L₁‖C‖₁ √(8T ln(1/δ))/(nε)) on each score")
    assert problem.feasible is not None
    n = problem.records
    size = problem.max_weight * about.clip * problem.norm_linf * problem.feasible.max_norm(1.0, problem.dimension)
    wanted = (about.curvature * n * epsilon / size) ** (2.0 / 3.0)
    points = min(max(round(wanted), 2), MOST_STEPS + 1)
    scale = size * math.sqrt(8.0 * points * math.log(1.0 / delta)) / (n * epsilon)
    feasible, count = problem.feasible, points - 1
    unit = menu.price("vertex", constraint=feasible, loss=problem.loss, clip=about.clip, epsilon=1.0, count=count)
    epsilon = 2.0 * unit.sensitivity / (n * scale)
    quote = menu.price("vertex", constraint=feasible, loss=problem.loss, clip=about.clip, epsilon=epsilon, count=count)
    error = selection_error(problem, quote, about)
    short = "" if points == round(wanted) else f" (the paper's T is {wanted:.3g}: cut to what can be run)"
    reason = (
        f"scale and T as printed by Talwar, Thakurta, Zhang 2015, Algorithm 2: b = L₁‖C‖₁√(8T ln(1/δ))/(nε) = {scale:.3g} with "
        f"L₁‖C‖₁ = {size:.3g}, T = {points}{short}. Scores get Gumbel noise of that scale (the exponential mechanism), not Laplace "
        "noise: the same ε a selection, cheaper composed; the paper's own noise is about (2ε, δ) under replace-one"
    )
    return Walk.of("polytope", points - 1, about, error, None), quote, reason


def printed_gradients(problem: Problem, menu: Menu, allowance: Allowance) -> tuple[Walk, PricedQuery, str]:
    """`T = (Γnε/(L₂ w(C)))^{2/3}` points, `σ² = 32 L₂² T ln²(T/δ)/(nε)²`."""
    epsilon, delta, about = _printed(problem, allowance, "32 L₂² T ln²(T/δ)/(nε)²")
    n, size = problem.records, (problem.dimension - problem.intercept) * problem.targets
    lipschitz = problem.max_weight * about.clip * problem.norm_l2
    assert problem.constraint is not None
    width = (problem.constraint.gaussian_width(size).value if size else 0.0) + about.half
    wanted = (about.curvature * n * epsilon / (lipschitz * width)) ** (2.0 / 3.0)
    points = min(max(round(wanted), 2), MOST_STEPS + 1)
    sigma = math.sqrt(32.0 * points) * lipschitz * math.log(points / delta) / (n * epsilon)
    unit = menu.price("gradient", loss=problem.loss, clip=about.clip, mu=1.0, count=points - 1)
    quote = menu.price("gradient", loss=problem.loss, clip=about.clip, mu=unit.sigma / (n * sigma), count=points - 1)
    short = "" if points == round(wanted) else f" (the paper's T is {wanted:.3g}: cut to what can be run)"
    reason = (
        "as printed by Talwar, Thakurta, Zhang 2014, Algorithm 5, but for the step 2/(t+2): σ² = 32 L₂² T ln²(T/δ)/(nε)² with "
        f"L₂ = {lipschitz:.3g}, T = {points}{short}"
    )
    return Walk.of("general", points - 1, about, noise_error(problem, sigma, about), None), quote, reason
