"""The ball {‖θ‖₂ ≤ radius}: models of bounded size, ridge's constraint."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.codec import Written
from hullabaloo.geometry.base import ConvexSet, HasGauge, HasMirrorMap, Projectable
from hullabaloo.geometry.checks import Vector, dimension_number, euclidean_norm, norm_exponent, positive_number, vector
from hullabaloo.geometry.mirror import EuclideanMap
from hullabaloo.geometry.width import Width, closed_form, expected_norm


@final
@dataclass(frozen=True, slots=True)
class L2Ball(Written, ConvexSet, Projectable, HasGauge, HasMirrorMap):
    """C = {θ ∈ R^p : ‖θ‖₂ ≤ radius}, in the unit domain; radius > 0 and finite, else `InvalidParameter`.

    Support radius·‖g‖₂; Gaussian width radius·√2 Γ((p+1)/2)/Γ(p/2); potential ½‖θ‖².

    >>> L2Ball(2.0).support(np.array([3.0, -4.0]))
    10.0
    """

    radius: float
    kind = "l2-ball"
    dimension = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive_number(self.radius, "The radius of an L2Ball"))

    def support(self, g: Vector) -> float:
        """radius · ‖g‖₂."""
        return self.radius * euclidean_norm(vector(g))

    def vertex(self, g: Vector) -> Vector:
        """−radius·g/‖g‖₂; −radius·e_0 for g = 0."""
        g = vector(g)
        norm = euclidean_norm(g)
        if norm == 0.0:
            s = np.zeros(g.size)
            s[0] = -self.radius
            return s
        return self._scaled(g, norm, -self.radius)

    def project(self, theta: Vector) -> Vector:
        """θ min(1, radius/‖θ‖₂)."""
        theta = vector(theta)
        norm = euclidean_norm(theta)
        return theta.copy() if norm <= self.radius else self._scaled(theta, norm, self.radius)

    @staticmethod
    def _scaled(v: Vector, norm: float, length: float) -> Vector:
        if norm < 1e-290:  # dividing by a subnormal norm loses digits: normalise in two steps
            v = v * 1e100 * 1e100
            norm = euclidean_norm(v)
        return (v / norm) * length

    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """‖θ‖₂ ≤ radius (1 + tolerance)."""
        return euclidean_norm(vector(theta)) <= self.radius * (1.0 + tolerance)

    def gauge(self, theta: Vector) -> float:
        """‖θ‖₂/radius."""
        return euclidean_norm(vector(theta)) / self.radius

    def max_norm(self, q: float, p: int) -> float:
        """radius·√p for q = 1, the radius for q = 2 and infinity."""
        p = dimension_number(p)
        return self.radius * math.sqrt(p) if norm_exponent(q) == 1.0 else self.radius

    def gaussian_width(self, p: int) -> Width:
        """radius · E‖g‖₂, in closed form."""
        return closed_form(self.radius * expected_norm(dimension_number(p)))

    def start(self, p: int) -> Vector:
        """Zero."""
        return np.zeros(dimension_number(p))

    def mirror_map(self, p: int) -> EuclideanMap:
        """½‖θ‖², of range radius²/2."""
        return EuclideanMap(self, dimension_number(p), 0.5 * self.radius**2)
