"""Gaussian width w(C) = E h_C(g): the record that states it, and the expectations it comes from.

`expected_largest(p)` = E max_j g_j and `expected_largest_magnitude(p)` = E max_j |g_j| for p independent standard
normals, by Gauss–Legendre quadrature of the tail probabilities:
E max|g_j| = ∫₀^∞ 1 − (1 − erfc(t/√2))^p dt,  E max g_j = ∫₀^∞ 1 − Φ(t)^p dt − ∫₀^∞ Φ(−t)^p dt.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_END = 16.0  # for p ≤ 1e12 what lies beyond is below 1e-40
_PANELS = 80
_NODES = 20
_RELATIVE = 1e-12  # error of the quadrature, tested against 40-digit values


@dataclass(frozen=True, slots=True)
class Width:
    """A Gaussian width: `low ≤ w(C) ≤ high`, with `value` the number to use and `method` how it was found."""

    value: float
    low: float
    high: float
    method: str

    def scaled(self, factor: float) -> "Width":
        """The width of the set times `factor` ≥ 0."""
        return Width(factor * self.value, factor * self.low, factor * self.high, self.method)

    def plus(self, other: "Width") -> "Width":
        """The width of the Cartesian product (or Minkowski sum) with another set."""
        method = self.method if self.method == other.method else f"{self.method} and {other.method}"
        return Width(self.value + other.value, self.low + other.low, self.high + other.high, method)


def closed_form(value: float) -> Width:
    """A width known exactly, up to rounding."""
    slack = 1e-14 * abs(value)
    return Width(value, value - slack, value + slack, "closed form")


def by_quadrature(value: float) -> Width:
    """A width by the quadrature of this file."""
    slack = _RELATIVE * abs(value)
    return Width(value, value - slack, value + slack, "quadrature")


def expected_norm(p: int) -> float:
    """E‖g‖₂ = √2 Γ((p+1)/2)/Γ(p/2)."""
    if p > 10**7:  # the logarithms below would cancel; this series is good to 1e-21 there
        return math.sqrt(p) * (1.0 - 0.25 / p + 1.0 / (32.0 * p * p))
    ratio = 1.0 / math.sqrt(math.pi) if p % 2 else math.sqrt(math.pi) / 2.0  # Γ((p+1)/2)/Γ(p/2) at p = 1, 2
    if p > 300:
        x = p / 2.0  # Γ(x+½)/Γ(x), asymptotic series in 1/x (Tricomi and Erdélyi 1951)
        ratio = math.sqrt(x) * (
            1.0 - 1.0 / (8 * x) + 1.0 / (128 * x**2) + 5.0 / (1024 * x**3) - 21.0 / (32768 * x**4)
            - 399.0 / (262144 * x**5) + 869.0 / (4194304 * x**6)
        )  # fmt: skip
        return math.sqrt(2.0) * ratio
    for k in range(1 + (p + 1) % 2, p, 2):  # from k to k + 2 both Gammas gain a factor
        ratio *= (k + 1.0) / k
    return math.sqrt(2.0) * ratio


@lru_cache(maxsize=256)
def expected_largest_magnitude(p: int) -> float:
    """E max_j |g_j| over p independent standard normals."""
    from scipy.special import erfc

    t, weight = quadrature_nodes()
    return float(weight @ -np.expm1(p * np.log1p(-erfc(t / math.sqrt(2.0)))))


@lru_cache(maxsize=256)
def expected_largest(p: int) -> float:
    """E max_j g_j over p independent standard normals; 0 for p = 1."""
    from scipy.special import log_ndtr

    if p == 1:
        return 0.0
    t, weight = quadrature_nodes()
    return float(weight @ -np.expm1(p * log_ndtr(t)) - weight @ np.exp(p * log_ndtr(-t)))


def simulated_width(
    support: Callable[[NDArray[np.float64]], float],
    p: int,
    euclidean_radius: float,
    *,
    generator: np.random.Generator,
    draws: int = 1000,
    failure: float = 1e-6,
) -> Width:
    """Mean of h_C over `draws` normal vectors; [low, high] holds w(C) with probability at least 1 − `failure`.

    h_C is Lipschitz with constant r = max‖θ‖₂ over C, so the mean m obeys P(|m − w| ≥ r u) ≤ 2 exp(−draws u²/2)
    (Gaussian concentration; Boucheron, Lugosi, Massart 2013, Theorem 5.6).
    """
    mean = float(np.mean([support(generator.standard_normal(p)) for _ in range(draws)]))
    slack = euclidean_radius * math.sqrt(2.0 * math.log(2.0 / failure) / draws)
    return Width(mean, mean - slack, mean + slack, "simulation")


@lru_cache(maxsize=1)
def quadrature_nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes t in [0, 16] and weights, for integrals of tails of the normal distribution."""
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    half = _END / _PANELS / 2.0
    middles = half * (2.0 * np.arange(_PANELS) + 1.0)
    t = (middles[:, None] + half * node).ravel()
    return t, np.tile(half * weight, _PANELS)
