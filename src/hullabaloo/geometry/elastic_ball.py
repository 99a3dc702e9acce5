"""The ball {(1−α)‖θ‖₁ + α‖θ‖₂ ≤ radius}: sparse models whose large coefficients come together."""

import math
from dataclasses import dataclass

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.base import HasMirrorMap, NormBall
from hullabaloo.geometry.checks import Vector, dimension_number, finite_number, vector
from hullabaloo.geometry.mirror import EuclideanMap
from hullabaloo.geometry.numerics import absolute_sum, euclidean_norm, increasing_root, norm_exponent
from hullabaloo.geometry.width import Width, by_quadrature, closed_form, expected_largest_magnitude, expected_norm


@dataclass(frozen=True, slots=True)
class ElasticBall(NormBall, HasMirrorMap):
    """C = {θ ∈ R^p : (1−α)‖θ‖₁ + α‖θ‖₂ ≤ radius} for 0 ≤ α ≤ 1, in the unit domain.

    α outside [0, 1] or a radius that is not positive and finite is an `InvalidParameter`. α = 0 is the L1Ball, which
    also has vertices and a potential of its own; α = 1 the L2Ball.

    Support radius·t, t the root of ‖(|g| − (1−α)t)₊‖₂ = αt; projection by threshold and shrinkage, a one-dimensional
    root; Gaussian width between proved bounds (`measured_width` simulates it); potential ½‖θ‖².

    >>> ElasticBall(0.5, 2.0).gauge(np.array([3.0, -4.0]))
    3.0

    Source: 002, Section 3.2, interpolation norms.
    """

    alpha: float
    radius: float
    kind = "elastic-ball"
    dimension = None

    def __post_init__(self) -> None:
        alpha = finite_number(self.alpha, "The alpha of an ElasticBall")
        if not 0.0 <= alpha <= 1.0:
            raise InvalidParameter(
                f"The alpha of an ElasticBall is the share of the l2 norm and must be between 0 and 1, but it is {alpha}; put the size of the ball into radius."
            )
        object.__setattr__(self, "alpha", alpha)
        NormBall.__post_init__(self)

    def support(self, g: Vector) -> float:
        """radius·t, t the dual norm of g: the least t such that g = a + b, max|a_j| ≤ (1−α)t and ‖b‖₂ ≤ αt."""
        return self.radius * self._dual(np.abs(vector(g)))

    def vertex(self, g: Vector) -> Vector:
        """Along −sign(g_j)(|g_j| − (1−α)t)₊, at norm radius; at the first largest |g_j| for α = 0; −radius·e_0 for g = 0."""
        g = vector(g)
        size = np.abs(g)
        over = np.maximum(0.0, size - (1.0 - self.alpha) * self._dual(size)) if self.alpha > 0.0 else np.zeros(g.size)
        if not over.any():
            over[int(size.argmax())] = 1.0
        return np.where(g < 0.0, 1.0, -1.0) * self._scaled(over) + 0.0

    def project(self, theta: Vector) -> Vector:
        """The soft-thresholded θ, at norm radius: sign(θ_j)(|θ_j| − (1−α)λ)₊ shrunk by αλ in length; a copy inside.

        The length ‖s‖ − αλ of the shrunken vector must be that of norm radius along s = (|θ| − (1−α)λ)₊: a root in λ.
        """
        theta = vector(theta)
        if self.norm(theta) <= self.radius:
            return theta.copy()
        size = np.abs(theta)
        if self.alpha == 1.0:
            return np.copysign(self._scaled(size), theta)
        top = float(size.max())
        depth = top - size  # s = (t − depth)₊ with t = top − (1−α)λ: no digits lost for large λ
        pull = self.alpha / (1.0 - self.alpha)

        def excess(t: float) -> float:
            if t <= 0.0:
                return -math.inf
            s = np.maximum(0.0, t - depth)
            return euclidean_norm(s) - pull * (top - t) - euclidean_norm(self._scaled(s))

        low = self.radius / theta.size  # there ‖s‖₂ ≤ ‖s‖₁ ≤ radius, no longer than what norm radius allows
        level = increasing_root(excess, low, top) if low < top else top
        return np.copysign(self._scaled(np.maximum(0.0, level - depth)), theta) + 0.0

    def norm(self, theta: Vector) -> float:
        """(1−α)‖θ‖₁ + α‖θ‖₂."""
        theta = vector(theta)
        return (1.0 - self.alpha) * absolute_sum(theta) + self.alpha * euclidean_norm(theta)

    def max_norm(self, q: float, p: int) -> float:
        """radius/(1−α+α/√p) for q = 1 (coordinates alike), the radius for q = 2 and infinity (one coordinate)."""
        p = dimension_number(p)
        if norm_exponent(q) == 1.0:
            return self.radius / (1.0 - self.alpha + self.alpha / math.sqrt(p))
        return self.radius

    def gaussian_width(self, p: int) -> Width:
        """Between bounds; value = high. Exact for α = 0, α = 1 and p = 1.

        C holds the l1 ball of the radius and the l2 ball of radius/((1−α)√p + α); it lies in the l1 ball of
        radius/(1−α) and, as ‖·‖₂ ≤ ‖·‖₁, in the l2 ball of the radius. And w ≤ radius·(t + 1/(2α)) where
        E‖(|g| − (1−α)t)₊‖² = α²t²: the support is at most t + (X − αt)₊/α, X = ‖(|g| − (1−α)t)₊‖ is Lipschitz with
        constant 1, so that its variance is at most 1, and E(X − EX)₊ ≤ ½.
        """
        p = dimension_number(p)
        flat, round_ = expected_largest_magnitude(p), expected_norm(p)
        if self.alpha == 1.0:
            return closed_form(self.radius * round_)
        if self.alpha == 0.0 or p == 1:
            return by_quadrature(self.radius * flat)
        low = max(flat, round_ / ((1.0 - self.alpha) * math.sqrt(p) + self.alpha))
        high = min(flat / (1.0 - self.alpha), round_, self._typical(p) + 0.5 / self.alpha)
        return Width(high, low, high, "threshold bound").scaled(self.radius)

    def mirror_map(self, p: int) -> EuclideanMap:
        """½‖θ‖², of range radius²/2."""
        return EuclideanMap(self, dimension_number(p), 0.5 * self.radius**2)

    def _scaled(self, direction: Vector) -> Vector:
        """The direction at norm radius."""
        unit: Vector = direction / float(np.abs(direction).max())
        return unit * (self.radius / self.norm(unit))

    def _dual(self, size: Vector) -> float:
        top = float(size.max(initial=0.0))
        if top == 0.0 or self.alpha == 0.0:
            return top
        unit = size / top

        def excess(t: float) -> float:
            return self.alpha * t - euclidean_norm(np.maximum(0.0, unit - (1.0 - self.alpha) * t))

        return top * increasing_root(excess, 1.0, euclidean_norm(unit))  # ‖·‖₂ ≤ norm ≤ ‖·‖₁: between their duals

    def _typical(self, p: int) -> float:
        """The t with p·E(|g| − (1−α)t)₊² = α²t²; E(|g| − s)₊² = (1 + s²) erfc(s/√2) − s √(2/π) e^{−s²/2}."""

        def excess(t: float) -> float:
            s = (1.0 - self.alpha) * t
            tail = (1.0 + s * s) * math.erfc(s / math.sqrt(2.0)) - s * math.sqrt(2.0 / math.pi) * math.exp(-0.5 * s * s)
            return self.alpha * t - math.sqrt(p * max(0.0, tail))

        return increasing_root(excess, 0.0, math.sqrt(p) / self.alpha)
