"""Minimise a strongly convex objective over private rows, to a distance from the minimiser that holds for every table.

Two forms of evidence. *Certificate*: if `v ∈ ∂F(θ)` and F is λ-strongly convex, `‖θ − θ*‖ ≤ ‖v‖/λ` (strong monotonicity:
`λ‖θ − θ*‖² ≤ ⟨v − 0, θ − θ*⟩`). *Contraction*: a proximal gradient step with step size `1/M`, M ≥ the largest curvature of S, brings
any point nearer to θ* by the factor `1 − λ/M` (a gradient step of a function with curvature in [λ, M] contracts so, and a prox does
not expand), so K of them from distance D leave `D (1 − λ/M)^K ≤ D e^{−Kλ/M}`.

Newton steps, then proximal steps with momentum, reach the certificate on every table that we met. Should they not, plain
proximal steps follow, as many as the contraction needs from public constants, after which no certificate is needed.

Without a set (the l1 part of a penalty counts as none) θ is a doubled number and ∇S is computed in doubled precision
(`doubled.py`): rounding is some 2^-80 of the terms, and any distance above the rounding of the released double can be
reached. A set is projected onto in plain doubles: `reach` says what is left.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.newton import newton, solve, with_momentum
from hullabaloo.curator.objective import Objective, doubled_sum, euclidean

Array = npt.NDArray[np.float64]

PROJECTION = 2.0**-44
"""How far a computed projection or prox may be from the exact one, relative to its argument and the set's radius."""

_POLISH = 8
_MOMENTUM = 1000
_BURSTS = 4


@dataclass(frozen=True, slots=True)
class Reach:
    """Public constants of a family of objectives: λ ≤ curvature of S ≤ M, every minimiser within the radius R."""

    ridge: float
    curvature: float
    radius: float
    largest_gradient: float

    @property
    def limit(self) -> float:
        """The distance that plain proximal steps reach with a set, whatever the table.

        **Guarantee.** A step's point is off by `e = PROJECTION · (‖argument‖ + R) + 2^-80`, its argument being within
        `R + G/M`. Errors add up to at most `e Σ (1 − λ/M)^k ≤ eM/λ`; K steps leave as much of the first distance 2R.
        """
        argument = self.radius + self.largest_gradient / self.curvature
        return 2.0 * (PROJECTION * (argument + self.radius) + 2.0**-80) * self.curvature / self.ridge

    def steps(self, distance: float) -> int:
        """K with `2R (1 − λ/M)^K ≤ distance/2`."""
        return math.ceil(self.curvature / self.ridge * math.log(max(4.0 * self.radius / distance, 2.0)))


def minimise(objective: Objective, reach: Reach, distance: float, *, slack: float) -> Array:
    """A point within `distance` of the minimiser, or the nearest double of it, `u·R` further away; PRIVATE.

    Where there is a set, `slack` is the limit that the distance, at least twice it, was stated with.
    """
    if objective.shape.kinks is not None:
        return _doubled(objective, reach, distance)
    return _proximal(objective, reach, distance, slack)


def _doubled(objective: Objective, reach: Reach, distance: float) -> Array:
    """Without a set: Newton steps in doubles, corrected with gradients in doubled precision."""
    kinks = objective.shape.kinks
    assert kinks is not None
    goal = 0.5 * distance * reach.ridge
    local, hessian = newton(objective, np.zeros(objective.dimension), 0.0)
    for burst in range(_BURSTS + 1):
        theta, low, done = _corrected(objective, local.theta, hessian, goal)
        if done:
            return theta
        if burst < _BURSTS:
            local = with_momentum(objective, objective.at(theta, objective.predictions(theta)), _MOMENTUM)
            local, hessian = newton(objective, local.theta, 0.0)
    size = 1.0 / reach.curvature
    for _ in range(reach.steps(distance)):
        slope, slope_low = objective.careful_gradient(theta, low)
        if euclidean(_subgradient(objective, theta, low, slope, slope_low)) <= goal:
            break
        theta, low = _soft(*doubled_sum(theta, low, -size * slope, -size * slope_low), size * kinks)
    return theta


def _corrected(objective: Objective, theta: Array, hessian: Array | None, goal: float) -> tuple[Array, Array, bool]:
    """θ as a doubled number after Newton corrections on its support, and whether the certificate is reached."""
    kinks = objective.shape.kinks
    assert kinks is not None
    low, last = np.zeros_like(theta), math.inf
    for _ in range(_POLISH):
        slope, slope_low = objective.careful_gradient(theta, low)
        v = _subgradient(objective, theta, low, slope, slope_low)
        size = euclidean(v)
        if size <= goal:
            return theta, low, True
        if not size < 0.9 * last:
            break
        last = size
        support = np.flatnonzero((theta != 0.0) | (kinks == 0.0))
        move = np.zeros_like(theta)
        if hessian is not None:
            move[support] = solve(hessian[np.ix_(support, support)], -v[support])
        else:
            move = _conjugate(objective, theta, v, support)
        moved, moved_low = doubled_sum(theta, low, move, np.zeros_like(move))
        if np.any((kinks > 0.0) & (moved * theta < 0.0)):
            break
        theta, low = moved, moved_low
    return theta, low, False


def _conjugate(objective: Objective, theta: Array, v: Array, support: npt.NDArray[np.intp]) -> Array:
    """`−H⁻¹v` on the support to a few digits, by conjugate gradients."""
    local = objective.at(theta, objective.predictions(theta))
    held = np.zeros_like(theta)
    held[support] = 1.0
    move, residual = np.zeros_like(theta), -v * held
    direction, size = residual.copy(), float(residual @ residual)
    goal = 1e-8 * size
    for _ in range(10 * theta.size):
        if size <= goal:
            break
        image = held * objective.curve(local, direction)
        length = size / float(direction @ image)
        move += length * direction
        residual -= length * image
        new = float(residual @ residual)
        direction, size = residual + (new / size) * direction, new
    return move


def _subgradient(objective: Objective, theta: Array, low: Array, slope: Array, slope_low: Array) -> Array:
    """The shortest subgradient of F at θ + low, rounded once."""
    kinks = objective.shape.kinks
    assert kinks is not None
    signed = doubled_sum(slope, slope_low, kinks * np.sign(theta), np.zeros_like(low))[0]
    at_zero = np.sign(slope) * np.maximum(np.abs(slope) - kinks, 0.0)
    return np.where(theta != 0.0, signed, at_zero)


def _soft(theta: Array, low: Array, threshold: Array) -> tuple[Array, Array]:
    """The soft threshold of a doubled number."""
    nearer = doubled_sum(theta, low, -np.sign(theta) * threshold, np.zeros_like(low))
    kept = (np.abs(theta) > threshold) | (threshold == 0.0)
    return np.where(kept, nearer[0], 0.0), np.where(kept, nearer[1], 0.0)


def _proximal(objective: Objective, reach: Reach, distance: float, slack: float) -> Array:
    """With a set, or a penalty known by its prox alone: the certificate after a proximal step of size 1/M."""
    start = objective.shape.proximal(np.zeros(objective.dimension), 1.0 / reach.curvature)
    local, _ = newton(objective, start, 0.0)
    goal = (distance - slack) * reach.ridge  # the slack is what the rounding of the certifying step can hide
    for burst in range(_BURSTS + 1):
        theta, done = _certified(objective, reach, local.theta, goal)
        if done or burst == _BURSTS:
            break
        local = with_momentum(objective, objective.at(theta, objective.predictions(theta)), _MOMENTUM)
        local, _ = newton(objective, local.theta, 0.0)
    if not done:
        for _ in range(reach.steps(distance)):
            theta, done = _certified(objective, reach, theta, goal)
            if done:
                break
    return theta


def _certified(objective: Objective, reach: Reach, theta: Array, goal: float) -> tuple[Array, bool]:
    """The point after one proximal step, and whether the subgradient there is short enough."""
    low, largest = np.zeros_like(theta), reach.curvature
    before, before_low = objective.careful_gradient(theta, low)
    new = objective.shape.proximal(theta - before / largest, 1.0 / largest)
    after, after_low = objective.careful_gradient(new, low)
    bend = doubled_sum(after, after_low, -before, -before_low)[0]
    return new, euclidean(largest * (theta - new) + bend) <= goal
