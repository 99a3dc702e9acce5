"""Minimise a strongly convex objective over private rows, to a distance from the minimiser that holds for every table.

Two forms of evidence. *Certificate*: if `v ∈ ∂F(θ)` and F is λ-strongly convex, `‖θ − θ*‖ ≤ ‖v‖/λ` (strong monotonicity:
`λ‖θ − θ*‖² ≤ ⟨v − 0, θ − θ*⟩`). *Contraction*: a proximal gradient step with step size `1/M`, M ≥ the largest curvature of S, brings
any point nearer to θ* by the factor `1 − λ/M` (a gradient step of a function with curvature in [λ, M] contracts so, and a prox does
not expand), so K of them from distance D leave `D (1 − λ/M)^K ≤ D e^{−Kλ/M}`.

Newton steps, then proximal steps with momentum, reach the certificate on every table that we met. Should they not, or fail in
any way, plain proximal steps follow, at most as many as the contraction needs, after which no certificate is needed.

Without a set (the l1 part of a penalty counts as none) θ is a doubled number and ∇S is computed in doubled precision
(`doubled.py`): rounding is some 2^-80 of the terms, and any distance above the rounding of the released double can be
reached. A set is projected onto in plain doubles: `reach` says what is left.
"""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.erm.newton import conjugate_gradients, model_minimiser, newton, with_momentum
from hullabaloo.erm.objective import Objective, doubled_sum
from hullabaloo.geometry.numerics import euclidean_norm
from hullabaloo.quadratic.linear_system import Array, factorise

PROJECTION = 2.0**-48
"""How far a computed projection or prox may be from the exact one, relative to its argument and the set's radius; the worst seen of any set
is 2^-50.3, of arguments made to be the worst (tests/curator/test_projection_precision.py), but of singular values 2^-46.8: LAPACK takes what is below 90 units
of 2^-53 beside its diagonal for 0, so that of these it is `COARSE` times as much."""

COARSE = 8.0

_MOMENTUM = 1000
_BURSTS = 4
_POLISH = 8
_FINE = 1e-8
_ROUNDS = 20
_SETTLING = 500
_LEAST = 1e-18
"""A fall of the mean objective that is none. Where classes can be told apart without error, or columns tell every zero count,
there is no minimiser, and the objective falls for ever, by some factor a step."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Public constants of a family of objectives: λ ≤ curvature of S ≤ M, every minimiser within the radius R."""

    ridge: float
    curvature: float
    radius: float
    largest_gradient: float
    precision: float = PROJECTION

    @property
    def limit(self) -> float:
        """The distance that plain proximal steps reach with a set, whatever the table.

        **Guarantee.** A step's point is off by `e = precision · (‖argument‖ + R) + 2^-80`, its argument being within
        `R + G/M`. Errors add up to at most `e Σ (1 − λ/M)^k ≤ eM/λ`; K steps leave as much of the first distance 2R.
        """
        argument = self.radius + self.largest_gradient / self.curvature
        return 2.0 * (self.precision * (argument + self.radius) + 2.0**-80) * (self.curvature / self.ridge + 1.0)

    def steps(self, distance: float) -> int:
        """K with `2R (1 − λ/M)^K ≤ distance/2`."""
        return math.ceil(self.curvature / self.ridge * math.log(max(4.0 * self.radius / distance, 2.0)))


class Doubled:
    """Without a set: the shortest subgradient at a doubled number, its gradient in doubled precision."""

    def __init__(self, objective: Objective, distance: float) -> None:
        assert objective.shape.kinks is not None
        self.objective, self.kinks = objective, objective.shape.kinks
        self.goal = 0.5 * distance * float(objective.squares.min())

    def improved(self, theta: Array, hessian: Array | None) -> tuple[Array, bool]:
        """Newton corrections on the support of θ, which gain what doubles alone cannot hold."""
        low, last = np.zeros_like(theta), math.inf
        for _ in range(_POLISH):
            v, _, _ = self._subgradient(theta, low)
            size = euclidean_norm(v)
            if size <= self.goal:
                return theta, True
            if not size < 0.9 * last:
                break
            last = size
            moved, moved_low = doubled_sum(theta, low, self._correction(theta, v, hessian), np.zeros_like(v))
            if np.any((self.kinks > 0.0) & (moved * theta < 0.0)):
                break
            theta, low = moved, moved_low
        return theta, False

    def step(self, theta: Array, low: Array, largest: float) -> tuple[Array, Array, bool]:
        """The soft threshold of a gradient step, in doubled precision."""
        v, slope, slope_low = self._subgradient(theta, low)
        if euclidean_norm(v) <= self.goal:
            return theta, low, True
        threshold, size = self.kinks / largest, 1.0 / largest
        theta, low = doubled_sum(theta, low, -size * slope, -size * slope_low)
        nearer = doubled_sum(theta, low, -np.sign(theta) * threshold, np.zeros_like(low))
        kept = (np.abs(theta) > threshold) | (threshold == 0.0)
        return np.where(kept, nearer[0], 0.0), np.where(kept, nearer[1], 0.0), False

    def _subgradient(self, theta: Array, low: Array) -> tuple[Array, Array, Array]:
        """The shortest subgradient of F at θ + low, rounded once, and ∇S."""
        slope, slope_low = self.objective.careful_gradient(theta, low)
        signed = doubled_sum(slope, slope_low, self.kinks * np.sign(theta), np.zeros_like(low))[0]
        at_zero = np.sign(slope) * np.maximum(np.abs(slope) - self.kinks, 0.0)
        return np.where(theta != 0.0, signed, at_zero), slope, slope_low

    def _correction(self, theta: Array, v: Array, hessian: Array | None) -> Array:
        support = (theta != 0.0) | (self.kinks == 0.0)
        if hessian is None:
            local = self.objective.at(theta, self.objective.predictions(theta))
            return conjugate_gradients(self.objective, local, -v, support, _FINE)
        move = np.zeros_like(theta)
        move[support] = factorise(hessian[np.ix_(support, support)]).solve(-v[support])
        return move


class Stepped:
    """With a set, or a penalty known by its prox alone: the subgradient that a proximal step leaves."""

    def __init__(self, objective: Objective, largest: float, goal: float) -> None:
        self.objective, self.largest, self.goal = objective, largest, goal

    def improved(self, theta: Array, hessian: Array | None) -> tuple[Array, bool]:
        """The point after one step; Newton steps with careful gradients where that is not near enough."""
        low, last = np.zeros_like(theta), math.inf
        while True:
            new, slope, size = self._stepped(theta, low, self.largest)
            if size <= self.goal or hessian is None or not size < 0.5 * last:
                return new, size <= self.goal
            theta, last = model_minimiser(self.objective, new, slope, hessian), size

    def step(self, theta: Array, low: Array, largest: float) -> tuple[Array, Array, bool]:
        """`θ⁺ = prox(θ − ∇S(θ)/M)`, where `M(θ − θ⁺) + ∇S(θ⁺) − ∇S(θ)` is a subgradient."""
        new, _, size = self._stepped(theta, low, largest)
        return new, low, size <= self.goal

    def _stepped(self, theta: Array, low: Array, largest: float) -> tuple[Array, Array, float]:
        """θ⁺, ∇S there, and the size of the subgradient."""
        before, before_low = self.objective.careful_gradient(theta, low)
        new = self.objective.shape.proximal(theta - before / largest, 1.0 / largest)
        after, after_low = self.objective.careful_gradient(new, low)
        bend = doubled_sum(after, after_low, -before, -before_low)[0]
        return new, after, euclidean_norm(largest * (theta - new) + bend)


Evidence = Doubled | Stepped
"""How nearness to the minimiser is shown (`improved`: a better point, and whether it is near enough), and what plain steps are (`step`)."""


def minimise(objective: Objective, reach: Reach, distance: float, *, slack: float) -> Array:
    """A point within `distance` of the minimiser, or the nearest double of it, `u·R` further away; PRIVATE.

    Where there is a set, `slack` is the limit that the distance, at least twice it, was stated with.

    **Guarantee.** Without a set: a point is returned when the shortest subgradient there, computed to an error below
    `distance·λ/4`, is at most `distance·λ/2` long, or after `reach.steps` plain steps in doubled precision from within 2R. With a
    set: when the subgradient that a step of size 1/M leaves is, computed with the rounded projection, at most
    `(distance − slack)·λ` long, the rounding hiding at most `2(M + λ)e = slack·λ`; or after as many plain steps, which leave
    `distance/2 + eM/λ`. Nothing is raised because of the data.
    """
    evidence: Evidence
    if objective.shape.kinks is not None:
        evidence = Doubled(objective, distance)
    else:
        evidence = Stepped(objective, reach.curvature, (distance - slack) * reach.ridge)
    start = np.zeros(objective.dimension)
    with np.errstate(all="ignore"):  # a warning would depend on the data, as any exception would
        try:
            theta, done = _quickly(objective, evidence)
        except Exception:  # the slow way: whatever it is would depend on the data
            theta, done = start, False
        if done:
            return theta
        return _surely(objective, evidence, reach, distance, theta if euclidean_norm(theta) <= reach.radius else start)


def _quickly(objective: Objective, evidence: Evidence) -> tuple[Array, bool]:
    """Newton steps and evidence, in turn with bursts of steps with momentum."""
    start = objective.shape.proximal(np.zeros(objective.dimension), 1.0)
    local, hessian = newton(objective, start)
    for burst in range(_BURSTS + 1):
        theta, done = evidence.improved(local.theta, hessian)
        if done or burst == _BURSTS:
            return theta, done
        local = with_momentum(objective, objective.at(theta, objective.predictions(theta)), _MOMENTUM)
        local, hessian = newton(objective, local.theta)
    return theta, done


def _surely(objective: Objective, evidence: Evidence, reach: Reach, distance: float, theta: Array) -> Array:
    """As many plain steps as the contraction needs, or fewer with evidence."""
    low = np.zeros_like(theta)
    for _ in range(reach.steps(distance)):
        theta, low, done = evidence.step(theta, low, reach.curvature)
        if done:
            break
    return theta


def settled(objective: Objective, start: Array) -> Array:
    """The exact optimum without noise, to some 1e-9 of its size: Newton steps and bursts of proximal steps with momentum, until neither moves the point."""
    local, _ = newton(objective, objective.shape.proximal(start, 1.0), _LEAST)
    smooth = objective.shape.kinks is not None and not objective.shape.kinks.any()
    for _ in range(_ROUNDS):
        before = local.theta
        moved = with_momentum(objective, local, _SETTLING).theta
        local, _ = newton(objective, moved, _LEAST)
        still = smooth and np.array_equal(local.theta, moved)  # no Newton step was worth taking
        if still or euclidean_norm(local.theta - before) <= 1e-10 * euclidean_norm(before):
            break
    return local.theta
