"""Bounded range: what the exponential mechanism really costs, alone and in adaptive composition.

A release is η-bounded-range when ``log P/P'`` lies in some interval ``[t − η, t]``, 0 ≤ t ≤ η, for every pair of
neighbours (Durfee & Rogers 2019, Def. 1). Every such pair is a post-processing of the two-point pair with the losses t
(probability ``p(t) = (e^η − e^t)/(e^η − 1)`` under P) and t − η: the density ratio is a mean of the two end points, and
mixing the two points with those weights reproduces both laws. So each bound below is a maximum over t.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hullabaloo.privacy._rounding import padded
from hullabaloo.privacy.answers import Array
from hullabaloo.privacy.pure_dp import pure_mu

MAX_COUNT = 512
"""The longest composition priced by the dynamic programme; longer ones take the zCDP bound, within 3 % of it there."""


def priced(eta: float, count: int) -> bool:
    """Whether the dynamic programme prices so many releases: few enough, and losses whose exponentials are finite doubles."""
    return count <= MAX_COUNT and eta * (count + 2) <= 700.0


def range_profile(eta: float, epsilon: float) -> float:
    """Give δ(ε) of one η-bounded-range release: ``(e^{η/2} − e^{ε/2})²/(e^η − 1)`` below η, 0 from there on.

    **Guarantee.** Claim: exact for the worst pair. Proof: maximise ``p(t)(1 − e^{ε − t})`` over ``s = e^t``, that is
    ``(e^η − s)(1 − e^ε/s)``; the derivative vanishes at ``s = e^{(η+ε)/2}``. Source: Dong, Durfee & Rogers 2020, §3.
    """
    return 0.0 if epsilon >= eta else min(1.0, padded(math.expm1((epsilon - eta) / 2.0) ** 2 / -math.expm1(-eta)))


def range_renyi(eta: float, alpha: float) -> float:
    """Give the Rényi divergence of order α of the worst η-bounded-range pair, at most ``min(η, α η²/8)``.

    **Guarantee.** Claim: an upper bound. Proof: with s = e^t the moment is ``s^{α−1}(A − B s)/(e^η − 1)``,
    ``A = e^η − w``, ``B = 1 − w``, ``w = e^{−(α−1)η}``, largest at ``s = (α − 1)A/(αB)`` cut to [1, e^η]. That it is at most
    ``α η²/8`` is Cesar & Rogers 2021, Lemma 5; the smaller of the two is given.
    """
    cap = min(eta, padded(alpha * eta * eta / 8.0))
    if alpha * eta > 300.0:
        return cap
    shrink = -math.expm1(-(alpha - 1.0) * eta)
    step = math.expm1(eta)
    s = min(max((alpha - 1.0) / alpha * (1.0 + step / shrink), 1.0), 1.0 + step)
    moment_log = (alpha - 1.0) * math.log(s) + math.log((step + shrink - shrink * s) / step)
    rounding = 2.0**-46 * (1.0 + (alpha - 1.0) * (1.0 + math.log(s)))
    return min(cap, (max(moment_log, 0.0) + rounding) / (alpha - 1.0))


def range_mu(eta: float) -> float:
    """Give the μ for which η-bounded range implies μ-GDP: that of (η/2)-DP, about 0.6267 η for small η, rounded up.

    **Guarantee.** Claim: ``μ = max_t [Φ⁻¹(1 − α_t) − Φ⁻¹(β_t)]``, ``α_t = (e^t − 1)/E``, ``β_t = (e^{η−t} − 1)/E``,
    ``E = e^η − 1``, and the maximum is at t = η/2, where α = β = 1/(1 + e^{η/2}). Proof: a two-point pair's trade-off
    function has the one corner (α_t, β_t); the convex μ-Gaussian one that passes below it is below the chords. For the
    maximum: ``1 + Eβ = (1 − β)/α`` and ``1 + Eα = (1 − α)/β``, so the derivative in t has the sign of J(α) − J(β) with
    ``J(x) = φ(Φ⁻¹(x))/(x(1 − x))``. At x = Φ(u), J is ``λ(u) + λ(−u)`` for the normal hazard rate λ = φ/(1 − Φ), which is
    convex (Sampford 1953), so J grows with |x − ½|. For t ≤ η/2, α ≤ β ≤ 1 − α, so J(α) ≥ J(β): the maximand rises up to
    t = η/2 and, being symmetric, falls after it. ∎
    """
    return pure_mu(eta / 2.0)


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveProfile:
    """A bound on δ(ε) of ``count`` adaptive η-bounded-range releases, at the multiples of ``pitch``."""

    pitch: float
    values: Array

    def delta(self, epsilon: float) -> float:
        """Give the bound at ε by a chord; 1 beyond the table.

        The exact δ is convex in ε wherever it is a mean of ``(1 − e^{ε − L})₊`` read as a function of ``e^ε``; the chord is
        taken in ``e^ε``, above a convex function.
        """
        cell = int(epsilon / self.pitch)
        if cell * self.pitch > epsilon:
            cell -= 1
        if cell + 1 >= len(self.values):
            return 1.0
        left, right = float(self.values[cell]), float(self.values[cell + 1])
        share = math.expm1(max(epsilon - cell * self.pitch, 0.0)) / math.expm1(self.pitch)
        return min(1.0, padded(left + min(share, 1.0) * (right - left), 16.0)) if share < 1.0 else left


@lru_cache(maxsize=256)
def adaptive_profile(eta: float, count: int, cells: int | None = None) -> AdaptiveProfile:
    """Bound δ(ε) of ``count`` adaptive η-bounded-range releases by a dynamic programme over the accumulated loss.

    **Guarantee.** Claim: every value is at least the exact adaptive optimum
    ``V_k(x) = max_{0≤t≤η} p(t) V_{k−1}(x + t) + (1 − p(t)) V_{k−1}(x + t − η)``, ``V_0(x) = (1 − e^{−x})₊``,
    ``δ(ε) = V_count(−ε)``. That optimum bounds every adaptive choice, since t may depend on all that came before and each
    step is a post-processing of a two-point pair. Proof for the grid: V_k is nondecreasing in x and, a maximum of means of
    functions convex in e^{−x}, convex in e^{−x}; so a chord in e^{−x} between grid values is above it. Within a cell, with λ
    the chord's coordinate, p is concave in λ and at most ``κ = d² e^{3t}/(4E)`` above its own chord, d the cell's length in
    e^{−t}, t its upper end. The step is then at most a quadratic in λ plus κ(A − B), with A ≥ B the two continuations; a
    quadratic's maximum on [0, 1] is at most that of its ends plus a quarter of its negative leading coefficient. Left of the
    grid V is at most its value there, right of it at most 1. All operations are sums of positive terms: a relative
    ``count · 2^-44`` covers their rounding. Source: Dong, Durfee & Rogers 2020 (non-adaptive optimum); the adaptive
    programme and this enclosure are proved here and tested against the lower bound by grid points.
    """
    cells = cells or (64 if count <= 32 else 32 if count <= 128 else 16)
    pitch = eta / cells
    reach = min(float(count), 8.0 * math.sqrt(count) + count * eta / 4.0)
    half = math.ceil(reach * cells) + cells
    x = pitch * np.arange(-half, half + 1, dtype=np.float64)
    value = np.maximum(0.0, -np.expm1(-x))
    value[half] = 0.0
    t = pitch * np.arange(cells + 1, dtype=np.float64)
    whole = math.expm1(eta)
    up = np.exp(t) * np.expm1(eta - t) / whole
    up[-1] = 0.0
    down = np.expm1(t) / whole
    width = np.exp(-t[:-1]) * -math.expm1(-pitch)
    kappa = width**2 * np.exp(3.0 * t[1:]) / (4.0 * whole)
    for _ in range(count):
        value = _step(value, up, down, kappa, cells)
    value = np.minimum(1.0, value * (1.0 + count * 2.0**-44) + 1e-300)
    return AdaptiveProfile(pitch, np.ascontiguousarray(value[half::-1]))


def _step(value: Array, up: Array, down: Array, kappa: Array, cells: int) -> Array:
    """Apply one step of the programme to the grid values."""
    n = len(value)
    padded_value = np.concatenate([np.full(cells, value[0]), value, np.ones(cells)])
    best = np.zeros(n)
    low, high = padded_value[:n], padded_value[cells : cells + n]
    here = up[0] * high + down[0] * low
    for j in range(cells):
        next_low, next_high = padded_value[j + 1 : j + 1 + n], padded_value[cells + j + 1 : cells + j + 1 + n]
        there = up[j + 1] * next_high + down[j + 1] * next_low
        bend = (up[j] - up[j + 1]) / 4.0 * np.maximum(0.0, (next_high - high) - (next_low - low))
        np.maximum(best, np.maximum(here, there) + bend + kappa[j] * (next_high - low), out=best)
        low, high, here = next_low, next_high, there
    return np.maximum.accumulate(best)
