"""Potentials that are powers of a norm: l_q norms, for the balls of l1 and l_q, and sums of powers of sizes."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import numpy as np

from hullabaloo.geometry.checks import Vector
from hullabaloo.geometry.mirror import OfCoordinates, power_bound
from hullabaloo.geometry.numerics import increasing_root, power_norm
from hullabaloo.geometry.sizes import Parts, Split
from hullabaloo.geometry.width import Width, expected_power_norm


class _OfPower(OfCoordinates):
    """Half the square of an l_q norm, 1 < q ≤ 2, over q − 1: 1-strongly convex in l_q (Ball, Carlen, Lieb 1994)."""

    __slots__ = ()
    # 1, as ‖·‖₂ ≤ ‖·‖_q for q ≤ 2
    unit_radius = 1.0

    @property
    @abstractmethod
    def exponent(self) -> float:
        """The q of the norm."""

    @property
    @abstractmethod
    def dual_exponent(self) -> float:
        """The k = q/(q−1) of the dual norm."""

    @property
    def unit_width(self) -> Width:
        """E‖g‖_k."""
        return expected_power_norm(self.p, self.dual_exponent)

    def dual_bound(self, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
        """A bound of ‖x‖_k by interpolation."""
        return power_bound(self.dual_exponent, self.p, norm_l1, norm_l2, norm_linf)

    def value(self, state: Vector) -> float:
        """‖θ‖_q²/(2(q−1))."""
        return 0.5 * power_norm(state, self.exponent) ** 2 / (self.exponent - 1.0)

    @final
    def _slope(self, theta: Vector) -> Vector:
        """∇Ψ(θ) = (k−1)‖θ‖_q^{2−q}|θ|^{q−1} sign θ, k−1 = 1/(q−1)."""
        norm = power_norm(theta, self.exponent)
        if norm == 0.0:
            return np.zeros(self.p)
        scaled = (self.dual_exponent - 1.0) * norm * (np.abs(theta) / norm) ** (self.exponent - 1.0)
        return np.copysign(scaled, theta)


def softened(sizes: Vector, radius: float, exponent: float, total: Callable[[Vector, float], float]) -> Vector:
    """(sizes − λ)₊^exponent, scaled, λ ≥ 0 zero or such that the sum is at most the radius, a root in one dimension.

    `total(depth, t)` is that sum for lowered sizes t − depth, where t = max sizes − λ: no digits are lost for large λ.
    """
    top = float(sizes.max())
    if top == 0.0:
        return np.zeros(sizes.size)
    depth = top - sizes
    level = top
    if total(depth, top) > radius:
        level = increasing_root(lambda t: total(depth, t) - radius, 0.0, top)
    shape: Vector = np.maximum(0.0, 1.0 - depth / level) ** exponent
    return shape * (min(radius, total(depth, level)) / float(shape.sum()))


@dataclass(frozen=True, slots=True)
class PowerMap(_OfPower):
    """Ψ(θ) = ‖θ‖_q²/(2(q−1)) on the l1 ball, q = k/(k−1), k = max(2, 2 ln p): 1-strongly convex in l_q.

    Its conjugate is Ψ*(ζ) = (q−1)‖ζ‖_k²/2. The step maximises ⟨ζ, u⟩ − Ψ(u) over ‖u‖₁ ≤ r for ζ = ∇Ψ(θ) − g; by the
    optimality condition ∇Ψ(u) = ζ − λ sign(u), u = ∇Ψ*(ζ softened by λ), λ = 0 or the root of ‖u‖₁ = r.
    Strong convexity: Ball, Carlen, Lieb 1994; use in mirror descent: Ben-Tal, Margalit, Nemirovski 2001.

    Source: 002, Claim 3.5.
    """

    radius: float
    p: int

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

    def step(self, state: Vector, g: Vector) -> Vector:
        """The Bregman step, its threshold by a one-dimensional root."""
        zeta = self._slope(state) - g
        return np.sign(zeta) * softened(np.abs(zeta), self.radius, self.dual_exponent - 1.0, self._length)

    def _length(self, depth: Vector, level: float) -> float:
        """‖∇Ψ*(s)‖₁ for s = max(0, level − depth); ∇Ψ*(s) = (q−1)‖s‖_k^{2−k} s^{k−1}."""
        if level <= 0.0:
            return 0.0
        k = self.dual_exponent
        s = np.maximum(0.0, 1.0 - depth / level)
        powers = s ** (k - 1.0)
        norm = float(powers @ s) ** (1.0 / k)
        return float(level / (k - 1.0) * norm ** (2.0 - k) * powers.sum())


@dataclass(frozen=True, slots=True)
class LpMap(_OfPower):
    """Ψ(θ) = ‖θ‖_q²/(2(q−1)) on ‖θ‖_q ≤ radius: 1-strongly convex in l_q (Ball, Carlen, Lieb 1994).

    Its conjugate is Ψ*(ζ) = (q−1)‖ζ‖_k²/2 with k = q/(q−1); potential and ball share their norm, so that the step
    only shortens ∇Ψ*(ζ).
    """

    exponent: float = field()
    radius: float
    p: int

    @property
    def dual_exponent(self) -> float:
        """The k of the dual norm: q/(q−1)."""
        return self.exponent / (self.exponent - 1.0)

    @property
    def range(self) -> float:
        """radius²/(2(q−1)), on the whole sphere."""
        return 0.5 * self.radius**2 / (self.exponent - 1.0)

    def step(self, state: Vector, g: Vector) -> Vector:
        """The point where ⟨ζ, ·⟩ meets its bound, ζ = ∇Ψ(state) − g, of length min(radius, (q−1)‖ζ‖_k)."""
        zeta = self._slope(state) - g
        length = min(self.radius, (self.exponent - 1.0) * power_norm(zeta, self.dual_exponent))
        return radial_point(zeta, self.exponent, length)


def radial_point(g: Vector, q: float, length: float) -> Vector:
    """argmax of ⟨g, u⟩ over ‖u‖_q = length: u_j = length·sign(g_j)(|g_j|/‖g‖_k)^{k−1}; length·e_0 for g = 0."""
    norm = power_norm(g, q / (q - 1.0))
    if norm == 0.0:
        first = np.zeros(g.size)
        first[0] = length
        return first
    with np.errstate(under="ignore"):
        shape = (np.abs(g) / norm) ** (1.0 / (q - 1.0))
        return np.copysign(shape / power_norm(shape, q) * length, g) + 0.0


@dataclass(frozen=True, slots=True)
class SizesMap(OfCoordinates):
    """Ψ(θ) = r²/(Mξ) Σ_j (a_j/r)^M for the m sizes a_j of θ, on the ball Σ a_j ≤ r; ξ = (M−1)/m^{M−1}.

    M = 2 up to seven sizes and 1 + 1/ln m beyond (then ξ = 1/(e ln m)): the smaller of the two ranges r²/(Mξ).

    **Guarantee.** Ψ is 1-strongly convex on the ball in the norm ‖θ‖ = Σ a_j. *Proof.* Let q = M − 1 and r = 1 (the
    scaling by r keeps second derivatives). *Blocks*: along h the second derivative is at least (q/ξ) Σ a_j^{q−1} ‖h_j‖²,
    and (Σ‖h_j‖)² ≤ Σ a_j^{q−1}‖h_j‖² · Σ a_j^{1−q} ≤ Σ a_j^{q−1}‖h_j‖² · m^q by the Cauchy–Schwarz inequality and the
    concavity of a^{1−q} where Σ a_j ≤ 1; qm^{−q}/ξ = 1. *Singular values*, for symmetric X with eigenvalues λ_i (in
    whose basis H is written) first: D²Σ|λ|^{1+q}[H,H] = (1+q) Σ d_ij H_ij², d_ij the divided difference of
    sign(λ)|λ|^q. For q ≤ ½ one has 1/d_ij ≤ (|λ_i|^{1−q} + |λ_j|^{1−q})/(2q): for equal signs with x = |λ_i|^q,
    y = |λ_j|^q it is the mean of the convex function z^{1/q−1}/q over [x, y], at most the mean of its ends
    (Hermite–Hadamard inequality); for opposite signs (|λ_i| + |λ_j|)/(x + y) is a mean of |λ_i|^{1−q} and |λ_j|^{1−q}, and
    2q ≤ 1. So for every Y of spectral norm 1, ⟨Y, H⟩² ≤ Σ d_ij H_ij² · Σ Y_ij²/d_ij ≤ Σ d_ij H_ij² · Σ|λ_i|^{1−q}/q, as
    rows of Y have norm at most 1. Applied to [[0, Θ], [Θᵀ, 0]], whose eigenvalues are ±σ_j and zeros:
    ‖H‖² ≤ D²Σσ^{1+q}[H,H] · Σσ_j^{1−q}/(q(1+q)) ≤ D²Σσ^{1+q}[H,H] · m^q/(q(1+q)). For q = 1: ‖H‖² ≤ m‖H‖_F². ∎
    Both constants are attained (equal sizes, equal or diagonal moves).
    *Source*: the family is Ben-Tal and Nemirovski's (Lectures on modern convex optimization, 2013, sections 5.2.3 and
    5.3.3; Talwar, Thakurta, Zhang 2014, section 3.2, for r = 1), who take M = 2 up to two blocks only, and for matrices
    M = 1 + 1/(2 ln 2m) with about twice the constant needed.

    Attributes:
        parts: how a vector is taken apart.
        radius: r.
        p: the number of coordinates.
        count: m, the largest number of sizes above zero.
        unit_width: Gaussian width of {Σ a_j ≤ 1}, E of the largest size of a standard normal vector.
        spread: a bound of (dual norm of x)/‖x‖_∞ for vectors, √(length of the longest block); infinity where none is.

    Source: 002, Equation (15).
    """

    parts: Parts
    radius: float
    p: int
    count: int
    unit_width: Width = field()
    spread: float
    # 1, as ‖θ‖₂ is the l2 norm of the sizes
    unit_radius = 1.0

    @property
    def power(self) -> float:
        """M."""
        return 2.0 if self.count <= 7 else 1.0 + 1.0 / math.log(self.count)

    @property
    def xi(self) -> float:
        """ξ = (M−1)/m^{M−1}."""
        return (self.power - 1.0) / math.pow(self.count, self.power - 1.0)

    @property
    def range(self) -> float:
        """radius²/(Mξ), at a single size: about e·radius²·ln m."""
        return self.radius**2 / (self.power * self.xi)

    def dual_bound(self, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
        """No size exceeds ‖x‖₂ ≤ (‖x‖₁‖x‖_∞)^{1/2}, nor √(length)·‖x‖_∞ for blocks; ‖x ⊗ v‖ = ‖x‖₂‖v‖₂ for matrices."""
        return min(norm_l2, math.sqrt(norm_l1) * math.sqrt(norm_linf), self.spread * norm_linf)

    def value(self, state: Vector) -> float:
        """range · Σ (a_j/radius)^M."""
        return self.range * float(((self.parts.norms(state) / self.radius) ** self.power).sum())

    def step(self, state: Vector, g: Vector) -> Vector:
        """Maximises ⟨ζ, u⟩ − Ψ(u), ζ = ∇Ψ(state) − g: directions of ζ, sizes a with (r/ξ)(a_j/r)^{M−1} = ζ_j − λ.

        λ ≥ 0 is zero or such that the sizes sum to r, a root in one dimension.
        """
        split = self.parts.split(self._slope(self.parts.split(state)) - g)
        return split.joined(softened(split.sizes, self.radius, 1.0 / (self.power - 1.0), self._total))

    def eased(self, state: Vector, factor: float) -> Vector:
        """∇Ψ is homogeneous of degree M − 1."""
        return np.asarray(state / factor ** (1.0 / (self.power - 1.0)))

    def _total(self, depth: Vector, level: float) -> float:
        """Σ a_j for the level t = top − λ."""
        if level <= 0.0:
            return 0.0
        height = level * self.xi / self.radius  # of the largest size, (a/r)^{M−1}
        inverse = 1.0 / (self.power - 1.0)
        if inverse * math.log(height) > 300.0:
            return math.inf
        return self.radius * math.pow(height, inverse) * float((np.maximum(0.0, 1.0 - depth / level) ** inverse).sum())

    def _slope(self, split: Split) -> Vector:
        """∇Ψ: the directions of θ with sizes (r/ξ)(a_j/r)^{M−1}."""
        return split.joined(self.radius / self.xi * (split.sizes / self.radius) ** (self.power - 1.0))
