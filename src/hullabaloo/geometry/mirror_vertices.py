"""The potential of a polytope: negative entropy of the weights on its vertices."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.geometry.base import MirrorMap
from hullabaloo.geometry.checks import Vector
from hullabaloo.geometry.hull import least_weight
from hullabaloo.geometry.width import Width, expected_largest_magnitude


@final
@dataclass(frozen=True, slots=True, eq=False)
class VertexMap(MirrorMap):
    """Ψ(w) = Σ w_i ln w_i for the state w, weights on the k vertices (rows) v_i; θ = Σ w_i v_i.

    1-strongly convex in ‖w‖₁ (Pinsker's inequality), and ‖θ‖ ≤ ‖w‖₁ for the norm whose unit ball is conv(±v_i), as that
    is the least ‖w‖₁ over the weights of θ. Its dual norm is max|⟨v_i, g⟩|, what a step in the weights sees of g.
    """

    vertices: Vector

    @property
    def range(self) -> float:
        """ln k, at a vertex."""
        return math.log(len(self.vertices))

    @property
    def unit_width(self) -> Width:
        """E max|⟨v_i, g⟩|, between E of the largest alone and the value for independent ones (Šidák 1967); value = high."""
        radius = self.unit_radius
        low, high = radius * math.sqrt(2.0 / math.pi), radius * expected_largest_magnitude(len(self.vertices))
        return Width(high, low * (1.0 - 1e-12), high * (1.0 + 1e-12), "Šidák bound")

    @property
    def unit_radius(self) -> float:
        """The largest ‖v_i‖₂."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    def norm(self, v: Vector) -> float:
        """min{Σ|w_i| : Σ w_i v_i = v}, by a linear program."""
        return least_weight(np.concatenate([self.vertices, -self.vertices]), v)

    def dual_norm(self, g: Vector) -> float:
        """max|⟨v_i, g⟩|."""
        return float(np.abs(self.vertices @ g).max())

    def dual_bound(self, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
        """The largest over i of the least of ‖v_i‖₂‖x‖₂ and ‖v_i‖₁‖x‖_∞ (Hölder's inequality; ‖x‖₂² ≤ ‖x‖₁‖x‖_∞)."""
        norm_l2 = min(norm_l2, math.sqrt(norm_l1) * math.sqrt(norm_linf))
        size = np.abs(self.vertices)
        return float(np.minimum(np.linalg.norm(size, axis=1) * norm_l2, size.sum(axis=1) * norm_linf).max())

    def start(self) -> Vector:
        """Equal weights."""
        return np.full(len(self.vertices), 1.0 / len(self.vertices))

    def point(self, state: Vector) -> Vector:
        """Σ w_i v_i."""
        theta: Vector = state @ self.vertices
        return theta

    def value(self, state: Vector) -> float:
        """Σ w_i ln w_i, with 0 ln 0 = 0."""
        inside = state[state > 0.0]
        return float(inside @ np.log(inside))

    def divergence(self, state: Vector, origin: Vector) -> float:
        """Σ w_i ln(w_i/origin_i); infinity where w_i > 0 = origin_i."""
        inside = state > 0.0
        if np.any(origin[inside] <= 0.0):
            return math.inf
        return max(0.0, float(state[inside] @ np.log(state[inside] / origin[inside])))

    def step(self, state: Vector, g: Vector) -> Vector:
        """Multiplicative weights: proportional to w_i exp(−⟨v_i, g⟩)."""
        with np.errstate(divide="ignore"):
            exponent = np.log(state) - self.vertices @ g
        weight: Vector = np.exp(exponent - exponent.max())
        return weight / float(weight.sum())
