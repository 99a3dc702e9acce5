"""Newton's steps of classes along the released covariance: nothing is whitened, and no curvature is asked for.

Where log-odds z are normal, as those of many columns nearly are, their curvature follows from the covariance Σ of the records (`bent`). Steps along it are asked of records as they are, whose last gradients are cut at the
greatest length that there is: noise of one size in all columns costs `½ s² tr(M⁻¹)`, which is known. How far a point is from the minimum, and the noise of g, is in `f = ½ gᵀM⁻¹g`; of two points, how fast
steps come there. So two further ones leave at most about `f₂ (f₂/f₁)²`. Both together are the *claim* of what is left. Where it is too much, or a direction is hidden in the covariance's noise, whitened steps follow.

On twelve tables of classes of `benchmarks/share_kept.py` beside the noise of a million records nearly always a direction is hidden; made columns that fill their bounds hide none. The constants were chosen on these.
"""

import math
from dataclasses import replace

import numpy as np

from hullabaloo.solvers.base import Answers, Array, Plan, Problem
from hullabaloo.solvers.gradient.coordinates import Coordinates
from hullabaloo.solvers.gradient.descent import Descent
from hullabaloo.solvers.gradient.schedule import GradientSchedule
from hullabaloo.solvers.score.normal_predictions import NODES, WEIGHTS, NormalPredictions

CHEAP, TOLD, SHARE = 2, 2, 0.08
"""Steps at the noise of the first phase, and those that tell how near the minimum is and how fast steps come there, for a share of μ²; two more make the result."""
CLEAR, SUFFICES, FARTHEST = 2.0 / 3.0, 0.002, 4.0
"""Λ/(Λ + λ) of the covariance's least eigenvalue from which it hides no direction; what is claimed to be left at most, over the fall of the loss that the first step promises; and by how much predictions vary by a step at most."""


def bent(covariance: Array, point: Array) -> Array:
    """`E φ''(z) vvᵀ`, v = (x − m, 1), of normal records at slopes θ and a level: with E φ'', E φ''' and E φ'''' it is `aΣ + c Σθθᵀ Σ`, `d Σθ` and a (Stein 1981)."""
    along = covariance @ point[:-1]
    size = math.sqrt(max(float(point[:-1] @ along), 1e-12))
    bends = WEIGHTS * NormalPredictions(float(point[-1]), np.array([size])).curvatures
    a, d, c = bends.sum(), bends @ NODES / size, bends @ (NODES**2 - 1.0) / size**2
    return np.block([[a * covariance + c * np.outer(along, along), d * along[:, None]], [d * along, a]])


def brief(
    problem: Problem, path: GradientSchedule, view: Coordinates, curator: Answers, plan: Plan
) -> tuple[Array, dict[str, float]]:
    """The point in whitened coordinates after such steps, the last two of which are asked, what the plan bought before them given up, if they suffice, or else after whitened ones; and what was measured."""
    covariance = view.inverse.T @ (view.gain[:, None] * view.inverse)
    plain = replace(view, typical=math.sqrt(np.trace(covariance)), matrix=None)
    descent, level = Descent(problem, path, plain, curator, curator).opened()
    point, path, falls = np.append(np.zeros(view.slopes), level), descent.path, []

    def step(point: Array, cut: float) -> Array:
        gradient = descent.gradient(point, cut)
        move = np.linalg.solve(bent(covariance, point), gradient)
        falls.append(0.5 * float(gradient @ move))
        found = point - move / max(math.sqrt(move[:-1] @ covariance @ move[:-1]) / FARTHEST, 1.0)
        return np.append(found[:-1], np.clip(found[-1], *descent.loss.intercept_bounds))

    longest = math.hypot(path.bound + float(np.linalg.norm(view.centre)), plain.intercept_weight)
    for cut in (*(descent.natural,) * CHEAP, *(longest,) * TOLD):
        point = step(point, cut)
    spread = np.diag(np.linalg.inv(bent(covariance, point)))
    noise = 0.5 * (path.result_noise * longest) ** 2 * (spread[:-1].sum() + spread[-1] / plain.intercept_weight**2)
    if enough := falls[-1] ** 3 <= (SUFFICES * falls[0] - noise) * falls[-2] ** 2:
        bought = [query.name for query in plan.queries].index("gradient_moments")
        curator.give_up(bought + path.late)  # up to the last two of the walk
        point = step(step(point, longest), longest)
        curator.give_up(len(plan.queries))  # and the level's own, for which who asks next would take its own
    point[:-1], told = view.inward(point[:-1]), {"gradients cut at": 0.0, "farther": 1.0}
    if not enough:
        path = replace(path, first=path.first - CHEAP - TOLD)
        whitened = Descent(problem, path, view, view.seen(curator), curator)
        start, bend = whitened.bent(point, 0.0)
        point, told = whitened.second_phase(start, told, bend)
    return point, {**told, "brief steps enough": float(enough)}
