"""Gaussian width w(C) = E h_C(g): the record that states it, and the expectations it comes from.

`expected_largest(p)` = E max_j g_j and `expected_largest_magnitude(p)` = E max_j |g_j| for p independent standard
normals, by Gauss–Legendre quadrature of the tail probabilities:
E max|g_j| = ∫₀^∞ 1 − (1 − erfc(t/√2))^p dt,  E max g_j = ∫₀^∞ 1 − Φ(t)^p dt − ∫₀^∞ Φ(−t)^p dt.
l_k norms, largest blocks and sums of sorted magnitudes are integrals of a smooth function of one level s.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import scipy

from hullabaloo.geometry.checks import Vector

if TYPE_CHECKING:
    from hullabaloo.geometry.base import ConvexSet

_END = 16.0  # for p ≤ 1e12 what lies beyond is below 1e-40
_PANELS = 80
_NODES = 20
_RELATIVE = 1e-12  # error of the quadrature of one tail, tested against 40-digit values
_NEAR = 1e-10  # of the others, tested against 30-digit values


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
    """A width by the quadrature of one tail."""
    slack = _RELATIVE * abs(value)
    return Width(value, value - slack, value + slack, "quadrature")


def near_quadrature(value: float) -> Width:
    """A width by the other quadratures of this file."""
    return Width(value, value * (1.0 - _NEAR), value * (1.0 + _NEAR), "quadrature")


def expected_norm(p: int) -> float:
    """E‖g‖₂ = √2 Γ((p+1)/2)/Γ(p/2).

    Source: 002, Section 2.2, Gaussian width.
    """
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
    """E max_j |g_j| over p independent standard normals.

    Source: 002, Section 2.2, Gaussian width.
    """
    t, weight = quadrature_nodes()
    return float(weight @ -np.expm1(p * np.log1p(-scipy.special.erfc(t / math.sqrt(2.0)))))


@lru_cache(maxsize=256)
def expected_largest(p: int) -> float:
    """E max_j g_j over p independent standard normals; 0 for p = 1.

    Source: 002, Section 2.2, Gaussian width.
    """
    if p == 1:
        return 0.0
    t, weight = quadrature_nodes()
    return float(weight @ -np.expm1(p * scipy.special.log_ndtr(t)) - weight @ np.exp(p * scipy.special.log_ndtr(-t)))


def simulated_width(
    support: Callable[[Vector], float],
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

    Source: 002, Fact 2.3.
    """
    mean = float(np.mean([support(generator.standard_normal(p)) for _ in range(draws)]))
    slack = euclidean_radius * math.sqrt(2.0 * math.log(2.0 / failure) / draws)
    return Width(mean, mean - slack, mean + slack, "simulation")


@lru_cache(maxsize=1)
def quadrature_nodes() -> tuple[Vector, Vector]:
    """Nodes t in [0, 16] and weights, for integrals of tails of the normal distribution."""
    return _panels(0.0, _END, _PANELS, _NODES)


# Norms that need more than the quadrature of one tail.


@lru_cache(maxsize=256)
def expected_power_norm(p: int, exponent: float) -> Width:
    """E‖g‖_k for k = `exponent` ≥ 2 and g standard normal in R^p.

    For S = Σ|g_j|^k and 0 < a < 1, S^a = a/Γ(1−a) ∫₀^∞ (1 − e^{−tS}) t^{−a−1} dt. At a = 1/k and t = s^{−k}:
    E‖g‖_k = 1/Γ(1−1/k) ∫₀^∞ 1 − φ(s)^p ds with φ(s) = E exp(−(|g|/s)^k), and by parts
    1 − φ(s) = ∫ exp(z − e^z) erfc(s e^{z/k}/√2) dz, which the trapezoidal rule sums to the last digits.
    """
    if exponent == 2.0:
        return closed_form(expected_norm(p))
    k = exponent
    log_moment = 0.5 * k * math.log(2.0) + math.lgamma((k + 1.0) / 2.0) - 0.5 * math.log(math.pi)  # of E|g|^k
    log_top = (math.log(1e13 * p) + log_moment) / k  # beyond, 1 − φ^p is p E|g|^k/s^k, or less: below 1e-13
    z = np.arange(-48.0 - math.log(p), 4.5, 0.2)
    density, stretch = 0.2 * np.exp(z - np.exp(z)), np.exp(z / k) / math.sqrt(2.0)
    low = -24.0  # below, φ^p ≤ 1e-10 is nothing
    x, weight = _panels(low, log_top, 300, 12)
    s = np.exp(x)
    missing = np.array([density @ scipy.special.erfc(level * stretch) for level in s])  # 1 − φ
    inner = float(weight @ (s * -np.expm1(p * np.log1p(-np.minimum(missing, 1.0 - 1e-16)))))
    tail = math.exp(math.log(p) + log_moment + (1.0 - k) * log_top) / (k - 1.0)
    return near_quadrature((math.exp(low) + inner + tail) / math.gamma(1.0 - 1.0 / k))


@lru_cache(maxsize=64)
def expected_largest_block(lengths: tuple[tuple[int, int], ...]) -> float:
    """E max over blocks of ‖g_block‖₂, for pairs (length of a block, how many blocks have it).

    ∫₀^∞ 1 − Π P(χ_length ≤ t)^count dt.
    """
    typical = math.sqrt(max(length for length, _ in lengths))
    low = max(0.0, typical - 16.0)  # the longest block alone is above with probability 1 − 1e-50
    t, weight = _panels(low, typical + 16.0, 160, 16)
    log_below = np.zeros_like(t)
    with np.errstate(divide="ignore"):
        for length, count in lengths:
            log_below += count * np.log1p(-scipy.special.gammaincc(0.5 * length, 0.5 * t * t))
    return low + float(weight @ -np.expm1(log_below))


def expected_sorted_sum(steps: Vector) -> float:
    """E Σ_k steps_k |g|_(k), |g|_(k) the k-th largest of p = steps.size magnitudes.

    P(|g|_(k) > t) is that of at least k of p being above t, so that the sum is ∫₀^∞ E G(N_t) dt with G(n) the sum of
    the first n steps and N_t binomial of p and erfc(t/√2).
    """
    return _expected_sorted_sum(np.ascontiguousarray(steps, dtype=np.float64).tobytes())


@lru_cache(maxsize=64)
def _expected_sorted_sum(steps: bytes) -> float:
    total = np.concatenate([[0.0], np.cumsum(np.frombuffer(steps))])
    p = total.size - 1
    t, weight = _panels(0.0, 16.0, 80, 20)
    above = scipy.special.erfc(t / math.sqrt(2.0))
    return float(sum(w * _binomial_mean(total, p, q) for w, q in zip(weight, above, strict=True)))


def _binomial_mean(values: Vector, p: int, q: float) -> float:
    """E values[N] for N binomial of p trials of chance 0 < q < 1: what lies 12 deviations away is below 1e-16."""
    middle = min(p, int((p + 1) * q))
    reach = 40.0 + 12.0 * math.sqrt(p * q * (1.0 - q))
    low, high = max(0, int(middle - reach)), min(p, int(middle + reach))
    up = np.arange(middle, high)
    down = np.arange(middle, low, -1)
    odds = q / (1.0 - q)
    above = np.cumprod((p - up) / (up + 1.0) * odds)  # P(N = n)/P(N = middle) for n beyond the middle
    below = np.cumprod(down / (p - down + 1.0) / odds)
    mean = values[middle] + above @ values[middle + 1 : high + 1] + below @ values[low:middle][::-1]
    return float(mean / (1.0 + above.sum() + below.sum()))


def _panels(low: float, high: float, panels: int, nodes: int) -> tuple[Vector, Vector]:
    node, weight = np.polynomial.legendre.leggauss(nodes)
    half = 0.5 * (high - low) / panels
    middles = low + half * (2.0 * np.arange(panels) + 1.0)
    return (middles[:, None] + half * node).ravel(), np.tile(half * weight, panels)


# Gaussian widths by simulation where no closed form and no quadrature is known.


def measured_width(
    body: "ConvexSet", p: int, *, generator: np.random.Generator, draws: int = 1000, failure: float = 1e-6
) -> Width:
    """The width of `body` in R^p: as it is where it is known exactly, else the mean of the support of normal vectors.

    Between the proved bounds of `body.gaussian_width(p)` the confidence interval of `simulated_width` applies: the
    true width is in [low, high] with probability at least 1 − `failure`.
    """
    known = body.gaussian_width(p)
    if known.high - known.low <= 1e-9 * abs(known.high) or not np.isfinite(known.high):
        return known
    seen = simulated_width(body.support, p, body.max_norm(2, p), generator=generator, draws=draws, failure=failure)
    low, high = max(seen.low, known.low), min(seen.high, known.high)
    return Width(min(max(seen.value, low), high), low, high, f"{seen.method} within a {known.method}")
