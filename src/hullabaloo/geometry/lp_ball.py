"""The ball {‖θ‖_q ≤ radius} for 1 < q < 2: between sparse and spread models."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.base import ConvexSet, HasGauge, HasMirrorMap, Projectable
from hullabaloo.geometry.checks import (
    Vector,
    dimension_number,
    finite_number,
    norm_exponent,
    positive_number,
    power_norm,
    vector,
)
from hullabaloo.geometry.expected import expected_power_norm
from hullabaloo.geometry.mirror_lp import LpMap, radial_point
from hullabaloo.geometry.roots import increasing_root
from hullabaloo.geometry.width import Width


@final
@dataclass(frozen=True, slots=True)
class LpBall(Written, ConvexSet, Projectable, HasGauge, HasMirrorMap):
    """C = {θ ∈ R^p : ‖θ‖_q ≤ radius} for q = `exponent`, 1 < q < 2, in the unit domain; k = q/(q−1) is the dual exponent.

    Another exponent or a radius that is not positive and finite is an `InvalidParameter`: q = 1 is the L1Ball, q = 2
    the L2Ball, q = ∞ a Box, and below 1 the set is not convex.

    Support radius·‖g‖_k; vertex where Hölder's inequality is an equality; projection by a one-dimensional root around
    one for each coordinate; Gaussian width radius·E‖g‖_k by quadrature; potential ‖θ‖_q²/(2(q−1)).

    >>> LpBall(1.5, 2.0).support(np.array([1.0, 0.0]))
    2.0
    """

    exponent: float
    radius: float
    kind = "lp-ball"
    dimension = None

    def __post_init__(self) -> None:
        q = self.exponent
        if isinstance(q, int | float) and not isinstance(q, bool) and q in (1.0, 2.0, math.inf):
            instead = {1.0: "L1Ball(radius)", 2.0: "L2Ball(radius)", math.inf: "Box(-radius, radius)"}[float(q)]
            raise InvalidParameter(f"An LpBall has an exponent between 1 and 2, but it is {q}; use {instead} for that.")
        q = finite_number(q, "The exponent of an LpBall")
        if not 1.0 < q < 2.0:
            why = "the set would not be convex" if q < 1.0 else "no potential of small range is known there"
            raise InvalidParameter(
                f"An LpBall has an exponent between 1 and 2, but it is {q}, and {why}; "
                "use an exponent such as 1.5, an L1Ball, an L2Ball or a Box."
            )
        object.__setattr__(self, "exponent", q)
        object.__setattr__(self, "radius", positive_number(self.radius, "The radius of an LpBall"))

    @property
    def dual_exponent(self) -> float:
        """k = q/(q−1)."""
        return self.exponent / (self.exponent - 1.0)

    def support(self, g: Vector) -> float:
        """radius · ‖g‖_k."""
        return self.radius * power_norm(vector(g), self.dual_exponent)

    def vertex(self, g: Vector) -> Vector:
        """−radius·sign(g_j)(|g_j|/‖g‖_k)^{k−1}; −radius·e_0 for g = 0."""
        g = vector(g)
        return -radial_point(g, self.exponent, self.radius)

    def project(self, theta: Vector) -> Vector:
        """u with u_j + λ u_j^{q−1} = |θ_j| and the signs of θ, λ > 0 such that ‖u‖_q is the radius; a copy inside.

        λ radius^{q−1} is between ‖θ‖_k − radius and ‖θ‖_k: it is ‖θ − u‖_k, and ‖u‖_k ≤ ‖u‖_q = radius.
        """
        theta = vector(theta)
        if power_norm(theta, self.exponent) <= self.radius:
            return theta.copy()
        from hullabaloo.geometry.kernels import power_shrunk

        q, size = self.exponent, np.ascontiguousarray(np.abs(theta))
        unit = self.radius ** (q - 1.0)
        dual = power_norm(theta, self.dual_exponent)

        def room(multiplier: float) -> float:
            return self.radius - power_norm(power_shrunk(size, multiplier, q - 1.0), q)

        multiplier = increasing_root(room, max(0.0, dual - self.radius) / unit, dual / unit)
        u: Vector = power_shrunk(size, multiplier, q - 1.0)
        length = power_norm(u, q)
        return np.copysign(u / length * self.radius, theta)

    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """‖θ‖_q ≤ radius (1 + tolerance)."""
        return power_norm(vector(theta), self.exponent) <= self.radius * (1.0 + tolerance)

    def gauge(self, theta: Vector) -> float:
        """‖θ‖_q/radius."""
        return power_norm(vector(theta), self.exponent) / self.radius

    def max_norm(self, q: float, p: int) -> float:
        """radius·p^{1−1/exponent} for q = 1 (coordinates alike), the radius for q = 2 and infinity."""
        p = dimension_number(p)
        return self.radius * p ** (1.0 - 1.0 / self.exponent) if norm_exponent(q) == 1.0 else self.radius

    def gaussian_width(self, p: int) -> Width:
        """radius · E‖g‖_k, at most radius·(E Σ|g_j|^k)^{1/k}."""
        return expected_power_norm(dimension_number(p), self.dual_exponent).scaled(self.radius)

    def start(self, p: int) -> Vector:
        """Zero."""
        return np.zeros(dimension_number(p))

    def mirror_map(self, p: int) -> LpMap:
        """‖θ‖_q²/(2(q−1)), 1-strongly convex in l_q, of range radius²/(2(q−1))."""
        return LpMap(self.exponent, self.radius, dimension_number(p))
