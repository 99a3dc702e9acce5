"""Potentials for mirror descent: Euclidean, powers of l_q norms for the l1 ball, negative entropy for the simplex."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry.base import ConvexSet, MirrorMap, Projectable
from hullabaloo.geometry.checks import Vector, absolute_sum, dimension_number, euclidean_norm, power_norm
from hullabaloo.geometry.expected import expected_power_norm
from hullabaloo.geometry.roots import increasing_root
from hullabaloo.geometry.width import (
    Width,
    by_quadrature,
    closed_form,
    expected_largest_magnitude,
    expected_norm,
)


def euclidean_map(body: ConvexSet, p: int) -> "EuclideanMap":
    """½‖θ‖² on `body` in R^p, which must have a projection, else `CapabilityError`."""
    if not isinstance(body, Projectable):
        raise CapabilityError(
            f"The Euclidean mirror map was asked for on {body!r}, which cannot be projected onto, and each of its steps "
            "is a projection; use a set with a projection."
        )
    nearest, farthest = euclidean_norm(body.start(p)), body.max_norm(2, p)
    return EuclideanMap(body, dimension_number(p), 0.5 * (farthest - nearest) * (farthest + nearest))


@final
@dataclass(frozen=True, slots=True)
class EuclideanMap(MirrorMap):
    """Ψ(θ) = ½‖θ‖² on any set that can be projected onto: mirror descent is then projected gradient descent.

    `spread` is max − min of Ψ over the set.
    """

    body: Projectable
    p: int
    spread: float
    exponent = 2.0
    unit_radius = 1.0

    @property
    def range(self) -> float:
        """Half the difference of the largest and the smallest ‖θ‖² over the set."""
        return self.spread

    @property
    def unit_width(self) -> Width:
        """E‖g‖₂."""
        return closed_form(expected_norm(self.p))

    def norm(self, v: Vector) -> float:
        """‖v‖₂."""
        return euclidean_norm(v)

    def dual_norm(self, g: Vector) -> float:
        """‖g‖₂."""
        return euclidean_norm(g)

    def dual_bound(self, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
        """The bound of ‖x‖₂."""
        return power_bound(2.0, self.p, norm_l1, norm_l2, norm_linf)

    def start(self) -> Vector:
        """The point of the set nearest to zero."""
        return self.body.project(np.zeros(self.p))

    def point(self, state: Vector) -> Vector:
        """The state itself."""
        return state

    def value(self, state: Vector) -> float:
        """½‖θ‖²."""
        return 0.5 * float(state @ state)

    def divergence(self, state: Vector, origin: Vector) -> float:
        """½‖state − origin‖²."""
        move = state - origin
        return 0.5 * float(move @ move)

    def step(self, state: Vector, g: Vector) -> Vector:
        """The projection of state − g."""
        return self.body.project(state - g)


@final
@dataclass(frozen=True, slots=True)
class PowerMap(MirrorMap):
    """Ψ(θ) = ‖θ‖_q²/(2(q−1)) on the l1 ball, q = k/(k−1), k = max(2, 2 ln p): 1-strongly convex in l_q.

    Its conjugate is Ψ*(ζ) = (q−1)‖ζ‖_k²/2. The step maximises ⟨ζ, u⟩ − Ψ(u) over ‖u‖₁ ≤ r for ζ = ∇Ψ(θ) − g; by the
    optimality condition ∇Ψ(u) = ζ − λ sign(u), u = ∇Ψ*(ζ softened by λ), λ = 0 or the root of ‖u‖₁ = r.
    Strong convexity: Ball, Carlen, Lieb 1994; use in mirror descent: Ben-Tal, Margalit, Nemirovski 2001.
    """

    radius: float
    p: int
    # 1, as ‖·‖₂ ≤ ‖·‖_q for q ≤ 2
    unit_radius = 1.0

    @property
    def dual_exponent(self) -> float:
        """The k of the dual norm: max(2, 2 ln p)."""
        return max(2.0, 2.0 * math.log(self.p))

    @property
    def exponent(self) -> float:
        """The q of the norm: k/(k−1)."""
        return self.dual_exponent / (self.dual_exponent - 1.0)

    @property
    def range(self) -> float:
        """radius²(k−1)/2: the largest l_q norm in the l1 ball is the radius."""
        return 0.5 * self.radius**2 * (self.dual_exponent - 1.0)

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
        return 0.5 * (self.dual_exponent - 1.0) * power_norm(state, self.exponent) ** 2

    def divergence(self, state: Vector, origin: Vector) -> float:
        """Ψ(state) + Ψ(origin) − ⟨∇Ψ(origin), state⟩, as ⟨∇Ψ(x), x⟩ = 2Ψ(x)."""
        slope = self._dual(origin)
        return max(0.0, self.value(state) + self.value(origin) - float(slope @ state))

    def step(self, state: Vector, g: Vector) -> Vector:
        """The Bregman step, its threshold by a one-dimensional root."""
        zeta = self._dual(state) - g
        size = np.abs(zeta)
        top = float(size.max())
        if top == 0.0:
            return np.zeros(self.p)
        depth = top - size  # the softened ζ is t − depth with t = top − λ: no digits lost for large λ
        level = top
        if self._length(depth, top) > self.radius:
            level = increasing_root(lambda t: self._length(depth, t) - self.radius, 0.0, top)
        shape: Vector = np.maximum(0.0, 1.0 - depth / level) ** (self.dual_exponent - 1.0)
        length = min(self.radius, self._length(depth, level))
        moved: Vector = np.sign(zeta) * shape * (length / float(shape.sum()))
        return moved

    def _length(self, depth: Vector, level: float) -> float:
        """‖∇Ψ*(s)‖₁ for s = max(0, level − depth); ∇Ψ*(s) = (q−1)‖s‖_k^{2−k} s^{k−1}."""
        if level <= 0.0:
            return 0.0
        k = self.dual_exponent
        s = np.maximum(0.0, 1.0 - depth / level)
        powers = s ** (k - 1.0)
        norm = float(powers @ s) ** (1.0 / k)
        return float(level / (k - 1.0) * norm ** (2.0 - k) * powers.sum())

    def _dual(self, theta: Vector) -> Vector:
        """∇Ψ(θ) = (k−1)‖θ‖_q^{2−q}|θ|^{q−1} sign θ."""
        norm = power_norm(theta, self.exponent)
        if norm == 0.0:
            return np.zeros(self.p)
        scaled = (self.dual_exponent - 1.0) * norm * (np.abs(theta) / norm) ** (self.exponent - 1.0)
        slope: Vector = np.copysign(scaled, theta)
        return slope


@final
@dataclass(frozen=True, slots=True)
class EntropyMap(MirrorMap):
    """Ψ(θ) = r Σ θ_j ln(θ_j/r) on the simplex of radius r: 1-strongly convex in l1 (Pinsker's inequality)."""

    radius: float
    p: int
    exponent = 1.0
    unit_radius = 1.0

    @property
    def range(self) -> float:
        """radius² ln p."""
        return self.radius**2 * math.log(self.p)

    @property
    def unit_width(self) -> Width:
        """E max|g_j|."""
        return by_quadrature(expected_largest_magnitude(self.p))

    def norm(self, v: Vector) -> float:
        """‖v‖₁."""
        return absolute_sum(v)

    def dual_norm(self, g: Vector) -> float:
        """max|g_j|."""
        return float(np.abs(g).max(initial=0.0))

    def dual_bound(self, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
        """The bound of max|x_j|."""
        return min(norm_l1, norm_l2, norm_linf)

    def start(self) -> Vector:
        """The centre of the simplex."""
        return np.full(self.p, self.radius / self.p)

    def point(self, state: Vector) -> Vector:
        """The state itself."""
        return state

    def value(self, state: Vector) -> float:
        """r Σ θ_j ln(θ_j/r), with 0 ln 0 = 0."""
        inside = state[state > 0.0]
        return self.radius * float(inside @ np.log(inside / self.radius))

    def divergence(self, state: Vector, origin: Vector) -> float:
        """r Σ u_j ln(u_j/origin_j) for u = state; infinity where u_j > 0 = origin_j."""
        inside = state > 0.0
        if np.any(origin[inside] <= 0.0):
            return math.inf
        return max(0.0, self.radius * float(state[inside] @ np.log(state[inside] / origin[inside])))

    def step(self, state: Vector, g: Vector) -> Vector:
        """Multiplicative weights: proportional to state_j exp(−g_j/r)."""
        with np.errstate(divide="ignore"):
            exponent = np.log(state) - g / self.radius
        weight: Vector = np.exp(exponent - exponent.max())
        return weight * (self.radius / float(weight.sum()))


def power_bound(k: float, p: int, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
    """The least of the bounds of ‖x‖_k, k ≥ 2, that three norms of x in R^p imply.

    ‖x‖_k ≤ ‖x‖_1^{1/k} ‖x‖_∞^{1−1/k}, ‖x‖_k ≤ ‖x‖_2^{2/k} ‖x‖_∞^{1−2/k} (as |x_j|^k ≤ |x_j|^a ‖x‖_∞^{k−a}), and
    ‖x‖_k ≤ p^{1/k} ‖x‖_∞. For a matrix x ⊗ v with ‖v‖₂ ≤ 1, ‖x ⊗ v‖_k = ‖x‖_k ‖v‖_k ≤ ‖x‖_k.
    """
    largest = min(norm_l1, norm_l2, norm_linf)
    if largest == 0.0:
        return 0.0
    counts = (norm_l1 / largest, (norm_l2 / largest) ** 2, float(p))  # bounds of Σ(|x_j|/largest)^k
    return largest * math.pow(max(1.0, min(counts)), 1.0 / k)
