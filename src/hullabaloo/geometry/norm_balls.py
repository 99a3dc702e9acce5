"""The balls of the l1, l2 and l_q norms: sparse models, spread models, and what lies between."""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import width
from hullabaloo.geometry.base import ConvexSet, Face, HasFaces, HasMirrorMap, HasVertices, NormBall
from hullabaloo.geometry.checks import Vector, dimension_number, finite_number, vector
from hullabaloo.geometry.mirror import EuclideanMap, power_bound
from hullabaloo.geometry.mirror_power import LpMap, PowerMap, radial_point
from hullabaloo.geometry.numerics import absolute_sum, euclidean_norm, increasing_root, norm_exponent, power_norm


@dataclass(frozen=True, slots=True)
class L1Ball(NormBall, HasVertices, HasFaces, HasMirrorMap):
    """C = {θ ∈ R^p : ‖θ‖₁ ≤ radius}, in the unit domain; radius > 0 and finite, else `InvalidParameter`.

    Support radius·max|g_j|; 2p vertices ±radius·e_j; projection by threshold in expected O(p); Gaussian width
    radius·E max|g_j| by quadrature; potential ‖θ‖_q²/(2(q−1)), q = k/(k−1), k = max(2, 2 ln p).

    >>> L1Ball(2.0).support(np.array([1.0, -3.0]))
    6.0
    """

    radius: float
    kind = "l1-ball"
    dimension = None

    def support(self, g: Vector) -> float:
        """radius · max|g_j|."""
        return self.radius * float(np.abs(vector(g)).max(initial=0.0))

    def vertex(self, g: Vector) -> Vector:
        """−radius·sign(g_j) e_j at the first largest |g_j|; −radius·e_0 for g = 0."""
        g = vector(g)
        j = int(np.abs(g).argmax())
        s = np.zeros(g.size)
        s[j] = self.radius if g[j] < 0.0 else -self.radius
        return s

    def vertex_count(self, p: int) -> int:
        """2p."""
        return 2 * dimension_number(p)

    def vertex_at(self, index: int, p: int) -> Vector:
        """+radius·e_j for index j < p, −radius·e_j for index p + j."""
        if not 0 <= index < self.vertex_count(p):
            raise InvalidParameter(f"{self} has {2 * p} vertices in {p} coordinates, so there is no number {index}.")
        s = np.zeros(p)
        s[index % p] = self.radius if index < p else -self.radius
        return s

    def vertex_scores(self, g: Vector) -> Vector:
        """radius·(g, −g), of length 2p."""
        scaled = self.radius * vector(g)
        return np.concatenate([scaled, -scaled])

    def project(self, theta: Vector) -> Vector:
        """Soft threshold sign(θ_j) max(|θ_j| − τ, 0), τ such that the l1 norm is the radius; a copy inside the ball."""
        theta = vector(theta)
        if absolute_sum(theta) <= self.radius:
            return theta.copy()
        from hullabaloo.geometry.kernels import project_simplex

        return np.copysign(project_simplex(np.abs(theta), self.radius), theta) + 0.0

    def face(self, theta: Vector) -> Face:
        """On the sphere: the nonzero coordinates, their signed sum fixed; inside: everything may move."""
        if absolute_sum(theta) < self.radius * (1.0 - 1e-12):
            return Face(np.ones(theta.size, dtype=bool), None)
        return Face(theta != 0.0, np.sign(theta))

    def norm(self, theta: Vector) -> float:
        """‖θ‖₁."""
        return absolute_sum(vector(theta))

    def max_norm(self, q: float, p: int) -> float:
        """The radius, for every q, attained at a vertex."""
        norm_exponent(q)
        dimension_number(p)
        return self.radius

    def gaussian_width(self, p: int) -> width.Width:
        """radius · E max|g_j|, about radius·√(2 ln 2p)."""
        return width.by_quadrature(self.radius * width.expected_largest_magnitude(dimension_number(p)))

    def mirror_map(self, p: int) -> PowerMap:
        """‖θ‖_q²/(2(q−1)), 1-strongly convex in l_q, of range radius²(k−1)/2 with k = max(2, 2 ln p)."""
        return PowerMap(self.radius, dimension_number(p))


# The ball {‖θ‖₂ ≤ radius}: models of bounded size, ridge's constraint.


@dataclass(frozen=True, slots=True)
class L2Ball(NormBall, HasMirrorMap):
    """C = {θ ∈ R^p : ‖θ‖₂ ≤ radius}, in the unit domain; radius > 0 and finite, else `InvalidParameter`.

    Support radius·‖g‖₂; Gaussian width radius·√2 Γ((p+1)/2)/Γ(p/2); potential ½‖θ‖².

    >>> L2Ball(2.0).support(np.array([3.0, -4.0]))
    10.0
    """

    radius: float
    kind = "l2-ball"
    dimension = None

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

    def norm(self, theta: Vector) -> float:
        """‖θ‖₂."""
        return euclidean_norm(vector(theta))

    def max_norm(self, q: float, p: int) -> float:
        """radius·√p for q = 1, the radius for q = 2 and infinity."""
        p = dimension_number(p)
        return self.radius * math.sqrt(p) if norm_exponent(q) == 1.0 else self.radius

    def gaussian_width(self, p: int) -> width.Width:
        """radius · E‖g‖₂, in closed form."""
        return width.closed_form(self.radius * width.expected_norm(dimension_number(p)))

    def mirror_map(self, p: int) -> EuclideanMap:
        """½‖θ‖², of range radius²/2."""
        return EuclideanMap(self, dimension_number(p), 0.5 * self.radius**2)


# The ball {‖θ‖_q ≤ radius} for 1 < q < 2: between sparse and spread models.


@dataclass(frozen=True, slots=True)
class LpBall(NormBall, HasMirrorMap):
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
                f"An LpBall has an exponent between 1 and 2, but it is {q}, and {why}; use an exponent such as 1.5, an L1Ball, an L2Ball or a Box."
            )
        object.__setattr__(self, "exponent", q)
        NormBall.__post_init__(self)

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
        return np.copysign(u / power_norm(u, q) * self.radius, theta)

    def norm(self, theta: Vector) -> float:
        """‖θ‖_q."""
        return power_norm(vector(theta), self.exponent)

    def max_norm(self, q: float, p: int) -> float:
        """radius·p^{1−1/exponent} for q = 1 (coordinates alike), the radius for q = 2 and infinity."""
        p = dimension_number(p)
        return self.radius * p ** (1.0 - 1.0 / self.exponent) if norm_exponent(q) == 1.0 else self.radius

    def gaussian_width(self, p: int) -> width.Width:
        """radius · E‖g‖_k, at most radius·(E Σ|g_j|^k)^{1/k}."""
        return width.expected_power_norm(dimension_number(p), self.dual_exponent).scaled(self.radius)

    def mirror_map(self, p: int) -> LpMap:
        """‖θ‖_q²/(2(q−1)), 1-strongly convex in l_q, of range radius²/(2(q−1))."""
        return LpMap(self.exponent, self.radius, dimension_number(p))


def product_bound(body: ConvexSet, p: int, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
    """At least `max |⟨x, θ⟩|` over the set and rows of these norms: `max_C ‖θ‖_q ‖x‖_r`, 1/q + 1/r = 1, for the best q of 1, 2, ∞ and the ball's own.

    Source: 002, Remark 4.
    """
    found = [body.max_norm(q, p) * norm for q, norm in ((1.0, norm_linf), (2.0, norm_l2), (math.inf, norm_l1))]
    if isinstance(body, LpBall):
        found.append(body.radius * power_bound(body.exponent / (body.exponent - 1.0), p, norm_l1, norm_l2, norm_linf))
    return min(found)
