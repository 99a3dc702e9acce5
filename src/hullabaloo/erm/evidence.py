"""Evidence that a point is near the minimiser: a short subgradient, with and without a set."""

import math
from abc import ABC, abstractmethod
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.erm.newton import conjugate_gradients, model_minimiser, solve
from hullabaloo.erm.objective import Objective, doubled_sum, euclidean

Array = npt.NDArray[np.float64]

_POLISH = 8
_FINE = 1e-8


class Evidence(ABC):
    """How nearness to the minimiser is shown, and what plain steps are."""

    @abstractmethod
    def improved(self, theta: Array, hessian: Array | None) -> tuple[Array, bool]:
        """A better point, and whether it is shown to be near enough."""

    @abstractmethod
    def step(self, theta: Array, low: Array, largest: float) -> tuple[Array, Array, bool]:
        """One plain proximal step of size `1/largest`, unless the point is shown to be near enough."""


@final
class Doubled(Evidence):
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
            size = euclidean(v)
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
        if euclidean(v) <= self.goal:
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
        move[support] = solve(hessian[np.ix_(support, support)], -v[support])
        return move


@final
class Stepped(Evidence):
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
        return new, after, euclidean(largest * (theta - new) + bend)
