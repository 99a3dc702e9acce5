"""The potential of l_q balls, 1 < q < 2: half the square of the norm over q − 1."""

from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.geometry.base import MirrorMap
from hullabaloo.geometry.checks import Vector, power_norm
from hullabaloo.geometry.expected import expected_power_norm
from hullabaloo.geometry.mirror import power_bound
from hullabaloo.geometry.width import Width


@final
@dataclass(frozen=True, slots=True)
class LpMap(MirrorMap):
    """Ψ(θ) = ‖θ‖_q²/(2(q−1)) on ‖θ‖_q ≤ radius: 1-strongly convex in l_q (Ball, Carlen, Lieb 1994).

    Its conjugate is Ψ*(ζ) = (q−1)‖ζ‖_k²/2 with k = q/(q−1); potential and ball share their norm, so that the step
    only shortens ∇Ψ*(ζ).
    """

    exponent: float
    radius: float
    p: int
    # 1, as ‖·‖₂ ≤ ‖·‖_q for q ≤ 2
    unit_radius = 1.0

    @property
    def dual_exponent(self) -> float:
        """The k of the dual norm: q/(q−1)."""
        return self.exponent / (self.exponent - 1.0)

    @property
    def range(self) -> float:
        """radius²/(2(q−1)), on the whole sphere."""
        return 0.5 * self.radius**2 / (self.exponent - 1.0)

    @property
    def unit_width(self) -> Width:
        """E‖g‖_k."""
        return expected_power_norm(self.p, self.dual_exponent)

    def norm(self, v: Vector) -> float:
        """‖v‖_q."""
        return power_norm(v, self.exponent)

    def dual_norm(self, g: Vector) -> float:
        """‖g‖_k."""
        return power_norm(g, self.dual_exponent)

    def dual_bound(self, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
        """A bound of ‖x‖_k by interpolation."""
        return power_bound(self.dual_exponent, self.p, norm_l1, norm_l2, norm_linf)

    def start(self) -> Vector:
        """Zero."""
        return np.zeros(self.p)

    def point(self, state: Vector) -> Vector:
        """The state itself."""
        return state

    def value(self, state: Vector) -> float:
        """‖θ‖_q²/(2(q−1))."""
        return 0.5 * power_norm(state, self.exponent) ** 2 / (self.exponent - 1.0)

    def divergence(self, state: Vector, origin: Vector) -> float:
        """Ψ(state) + Ψ(origin) − ⟨∇Ψ(origin), state⟩, as ⟨∇Ψ(x), x⟩ = 2Ψ(x)."""
        slope = self._slope(origin)
        return max(0.0, self.value(state) + self.value(origin) - float(slope @ state))

    def step(self, state: Vector, g: Vector) -> Vector:
        """The point where ⟨ζ, ·⟩ meets its bound, ζ = ∇Ψ(state) − g, of length min(radius, (q−1)‖ζ‖_k)."""
        zeta = self._slope(state) - g
        length = min(self.radius, (self.exponent - 1.0) * power_norm(zeta, self.dual_exponent))
        return radial_point(zeta, self.exponent, length)

    def _slope(self, theta: Vector) -> Vector:
        """∇Ψ(θ) = ‖θ‖_q^{2−q}|θ|^{q−1} sign θ/(q−1)."""
        length = power_norm(theta, self.exponent)
        if length == 0.0:
            return np.zeros(self.p)
        powers = (np.abs(theta) / length) ** (self.exponent - 1.0)
        slope: Vector = np.copysign(length / (self.exponent - 1.0) * powers, theta)
        return slope


def radial_point(g: Vector, q: float, length: float) -> Vector:
    """argmax of ⟨g, u⟩ over ‖u‖_q = length: u_j = length·sign(g_j)(|g_j|/‖g‖_k)^{k−1}; length·e_0 for g = 0."""
    norm = power_norm(g, q / (q - 1.0))
    if norm == 0.0:
        first = np.zeros(g.size)
        first[0] = length
        return first
    with np.errstate(under="ignore"):
        shape = (np.abs(g) / norm) ** (1.0 / (q - 1.0))
        point: Vector = np.copysign(shape / power_norm(shape, q) * length, g) + 0.0
    return point
