"""Objective perturbation: its privacy profile in closed form, its quadrature bounded from above, and its event.

The release is ``argmin_{θ ∈ C} Σ φ(⟨x_i, θ⟩, y_i) + ψ(θ) + (λ/2)‖θ‖² + ⟨b, θ⟩``, ``b ~ N(0, σ² I)``. Per record ``|φ'| ‖x‖₂ ≤ L`` and
``0 ≤ φ'' ‖x‖₂² ≤ β``; ``s = L/σ``, ``κ = β/λ``. The claims, for every ε ≥ 0, every convex C and ψ and every dimension:

    add-or-remove:  δ(ε) = max{2 H(s), H(s) + m ∫₀^s M(g) dg},  m = 1 if κ ≤ e^ε − 1, else 2
    replace-one:    δ(ε) = F(s) + 2 ∫₀^s [M(s + g) + M(√(s² + g²))] dg

with H the Gaussian profile, F(s) = 2 H(2s) for ε ≥ 2s², and ``M(m) = max_{0≤η≤log(1+κ)} φ((ε − η)/m − m/2) (1 + κ − e^η)/κ``, φ
the normal density, its argument cut at 0. The proofs are in docs/objective-perturbation.md.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hullabaloo.privacy._rounding import padded
from hullabaloo.privacy.answers import Array
from hullabaloo.privacy.events import Event, group_size, set_count, set_positive, shrunk
from hullabaloo.privacy.gaussian_dp import gdp_delta
from hullabaloo.privacy.neighbours import Neighbours
from hullabaloo.privacy.renyi import checked_order

_PEAK = 1.0 / math.sqrt(2.0 * math.pi)
"""φ(0)."""
_ROUNDING = 1.0 + 1e-9
"""Covers the rounding of a few thousand operations on positive terms."""
_SMALLEST, _LARGEST, _STEEPEST = 1e-140, 1e4, 1e200
"""s below the first is priced as the first; s above the second, and κ above the third, as not private."""


@lru_cache(maxsize=65536)
def objective_delta(noise_multiplier: float, curvature: float, neighbours: Neighbours, epsilon: float) -> float:
    """Give a δ for which one objective perturbation is (ε, δ)-DP, rounded up.

    **Guarantee.** Precondition: the curator enforces L and β per record, λ and σ are public and the minimiser is exact (a certified
    approximate one is a composition, see `objective_noise_multiplier`). Claim: (ε, result)-DP for the relation. Proof:
    docs/objective-perturbation.md; the integrals are bounded from above by `_integral`. Falls with ε and σ, rises with κ.
    """
    return float(objective_deltas(noise_multiplier, curvature, neighbours, (epsilon,))[0])


def objective_deltas(
    noise_multiplier: float, curvature: float, neighbours: Neighbours, epsilons: tuple[float, ...] | Array
) -> Array:
    """Give `objective_delta` at many ε, shape (len(epsilons),)."""
    s = max(1.0 / noise_multiplier, _SMALLEST) * (1.0 + 2.0**-52)
    eps = np.asarray(epsilons, dtype=np.float64)
    if s > _LARGEST or curvature > _STEEPEST:
        return np.ones(len(eps))
    at = np.minimum(eps, 1e6)
    if neighbours is Neighbours.REPLACE_ONE:
        plain = np.array([_shift_profile(s, float(e)) for e in at])
        delta = plain + 2.0 * (_far_integral(s, at, curvature) + _near_integral(s, at, curvature))
    else:
        plain = np.array([gdp_delta(s, float(e)) for e in at])
        sides = np.where(math.log1p(curvature) * (1.0 + 2.0**-50) <= at, 1.0, 2.0)
        delta = plain + np.maximum(plain, sides * _whole_integral(s, at, curvature))
    return np.minimum(1.0, delta * _ROUNDING + math.ulp(0.0))


def _shift_profile(s: float, epsilon: float) -> float:
    """Give ``F(s) = 2 ∫₀^∞ [φ(max(t − s, 0)) − e^ε φ(t + s)]₊ dt``, which is ``2 H(2s)`` when ε ≥ 2s².

    Below that the integrand is positive from ``t = r − s`` on, ``r = max(s, √(2ε))``.
    """
    if epsilon >= 2.0 * s * s:
        return 2.0 * gdp_delta(2.0 * s, epsilon)
    r = max(s, math.sqrt(2.0 * epsilon))
    tail = math.erfc(r / math.sqrt(2.0)) / 2.0
    flat, body = max(2.0 * s - r, 0.0) * _PEAK, math.erf(r / math.sqrt(2.0)) / 2.0
    return min(1.0, 2.0 * (flat + body - math.expm1(min(epsilon, 700.0)) * tail) * _ROUNDING)


def peak(m: Array, epsilon: Array, curvature: float) -> Array:
    """Give an upper bound of M(m) for broadcast m > 0 and ε, within a relative 1e-9.

    With ``z = log(1 + κ) − η`` the logarithm is concave on [0, log(1 + κ)]: its maximum solves the convex equation
    ``(z + e) (e^z − 1) = m²``, ``e = ε − log(1 + κ) − m²/2``, by Newton's method from the right.

    **Guarantee.** Claim: at least M(m). Proof: a concave function is below its tangent at whatever point Newton's method stopped,
    so slope times the distance to the end of the interval is added; x is lowered by its rounding.
    """
    end = math.log1p(curvature)
    m, epsilon = np.broadcast_arrays(m, epsilon)
    square = m * m
    start = epsilon - end - square / 2.0
    root = np.hypot(start, 2.0 * m)
    with np.errstate(all="ignore"):
        z = np.minimum(end, np.where(start > 0.0, 2.0 * square / (start + root), (root - start) / 2.0))
        for _ in range(40):
            grown = np.expm1(z)
            slope = grown + (z + start) * (grown + 1.0)
            step = ((z + start) * grown - square) / slope
            before, z = z, np.clip(z - np.where(slope > 0.0, step, 0.0), 0.0, end)
            if not np.any(np.abs(z - before) > 1e-13 * z):
                break
        z = np.maximum(z, 1e-300)
        x = np.maximum((z + start) / m, 0.0)
        uphill = 1.0 / np.expm1(z) - x / m
        slack = np.where(uphill > 0.0, uphill * (end - z), -uphill * z)
        x = np.maximum(x - 2.0**-50 * (epsilon + end + square) / m, 0.0)
        height = np.exp(np.minimum(slack, 1.0) - x * x / 2.0) * (1.0 + curvature) * (-np.expm1(-z) / curvature)
    return _PEAK * np.where((square >= 2.0 * epsilon) | ~(height < 1.0) | ~(slack < 1.0), 1.0, height)


@lru_cache(maxsize=4)
def _steps(first: float, growth: float, last: float) -> Array:
    """Give increasing numbers from 1 to ``last``, ``first`` apart at 1 and growing by ``growth`` per step."""
    scale = first / (growth - 1.0)
    count = math.ceil(math.log1p((last - 1.0) / scale) / math.log(growth))
    steps: Array = 1.0 + scale * np.expm1(np.arange(count + 1) * math.log(growth))
    steps[-1] = last
    return steps


def _integral(m: Array, epsilon: Array, curvature: float) -> Array:
    """Give an upper bound of ``∫ M`` between the ends of decreasing nodes m, one value per ε.

    **Guarantee.** Claim: at least the integral. Proof: M increases with m, so a cell's integral is at most its length times the
    value at its right end. And in ``u = 1/m`` the logarithm of M is a maximum over η of functions whose second derivative is at
    least ``−(ε² + ¾ m⁴)``; with ``dm = −du/u²`` that of the integrand is ``K``-semiconvex, ``K = ε² + ¾ m⁴ − 2m²`` (the largest in
    the cell), hence below its chord plus ``K h²/8``. The integral of the exponential of the chord is h times the logarithmic
    mean of the ends, which is at most ``(2 √(ab) + (a + b)/2)/3`` (Pólya & Szegő 1951).
    """
    u = 1.0 / m
    value = peak(m[None, :], epsilon[:, None], curvature)
    ends = value * m * m
    left, right = ends[:, 1:], ends[:, :-1]
    pitch = u[1:] - u[:-1]
    bend = np.maximum(0.0, epsilon[:, None] ** 2 + 0.75 * m[:-1] ** 4 - 2.0 * m[1:] ** 2) * pitch**2 / 8.0
    mean = (2.0 * np.sqrt(left) * np.sqrt(right) + (left + right) / 2.0) / 3.0
    smooth = pitch * mean * np.exp(np.minimum(bend, 50.0))
    crude = (m[:-1] - m[1:]) * value[:, :-1]
    return np.minimum(np.where(bend < 50.0, smooth, crude), crude).sum(axis=1)  # type: ignore[no-any-return]


def _whole_integral(s: float, epsilon: Array, curvature: float) -> Array:
    """Bound ``∫₀^s M``: quadrature down to s/1000, the rest by its largest value."""
    nodes = s / _steps(0.004, 1.05, 1000.0)
    rest: Array = nodes[-1] * peak(np.full(1, nodes[-1]), epsilon, curvature)
    return _integral(nodes, epsilon, curvature) + rest


def _far_integral(s: float, epsilon: Array, curvature: float) -> Array:
    """Bound ``∫₀^s M(s + g) dg``."""
    return _integral(2.0 * s / _steps(0.002, 1.05, 2.0), epsilon, curvature)


def _near_integral(s: float, epsilon: Array, curvature: float) -> Array:
    """Bound ``∫₀^s M(√(s² + g²)) dg`` by rectangles: the integrand increases, and it matters little."""
    g = s * (1.0 - np.linspace(1.0, 0.0, 33) ** 2)
    return peak(np.hypot(s, g[1:])[None, :], epsilon[:, None], curvature) @ np.diff(g)


@dataclass(frozen=True, slots=True, eq=False)
class ObjectiveCurve:
    """A bound on the Rényi divergences of objective perturbation between tables ``records`` apart.

    Attributes:
        epsilon: nodes from 0 on, shape (n + 1,).
        left, right: logarithms of the weights of the kernel's values at a cell's ends, shape (n,): with the line's values l and r
            there, ``h (2l + r)/6`` and ``h (l + 2r)/6``.
        last: the logarithm of the profile at the last node.
        shift: the Gaussian shift that dominates the tail: 2s under replace-one, s under add-or-remove.
        loss: log(1 + κ).
        records: K.
    """

    epsilon: Array
    left: Array
    right: Array
    last: float
    shift: float
    loss: float
    records: int

    def divergence(self, alpha: float) -> float:
        """Give an upper bound of D_α, α > 1.

        **Guarantee.** Claim: ``D_α(P‖Q), D_α(Q‖P) ≤ result``. Proof: between nodes the profile of a pair is convex in e^ε, hence below
        the chord of its bounds; that chord is below a line in ε from the left value δ₀ to ``δ₀ − (δ₀ − δ₁) h/(e^h − 1)``, since
        ``(e^z − 1)/(e^h − 1) ≥ z/(e^h − 1)``. The kernels are convex, hence below their chords; a product of two lines is
        integrated exactly. Beyond the last node, and for the cap, `_tail`. All terms are positive.
        """
        k, last = alpha - 1.0, float(self.epsilon[-1])
        beyond = self.last - alpha * last - math.log(alpha)
        parts = [self._cells(k), self._cells(-alpha), self._tail(k, last), beyond]
        inner = _log_sum(parts) + math.log(alpha) + math.log(k)
        grown = max(inner, 0.0) + math.log1p(math.exp(-abs(inner)))
        return min(self.cap(alpha), padded(grown + 1e-9 * min(1.0, math.exp(min(inner, 0.0))), 4096.0) / k)

    def cap(self, alpha: float) -> float:
        """Give a bound of D_α in closed form, good for large α.

        With the profile at most 1 up to where its tail bound starts, at S, the moment is at most
        ``1 + α e^{(α−1)S} + α(α−1) tail + (α − 1)``.
        """
        k, start = alpha - 1.0, self.records * self._start
        terms = [0.0, math.log(k), math.log(alpha) + k * start, math.log(alpha) + math.log(k) + self._tail(k, start)]
        return padded(_log_sum(terms), 4096.0) / k

    @property
    def _start(self) -> float:
        return self.loss + self.shift * self.shift / 2.0

    def _cells(self, k: float) -> float:
        """Give the logarithm of a bound of ``∫ e^{kε} δ(ε) dε`` up to the last node."""
        low, high = k * self.epsilon[:-1], k * self.epsilon[1:]
        terms = np.concatenate((low + self.left, high + self.right))
        top = float(terms.max())
        return top + math.log(float(np.exp(terms - top).sum()))

    def _tail(self, k: float, start: float) -> float:
        """Give the logarithm of a bound of ``∫ e^{kε} δ_K(ε) dε`` from ``start`` on.

        **Guarantee.** For ``ε = K(ε₀ + τ y)``, ``ε₀ = log(1 + κ) + τ²/2``, τ the shift, y ≥ 0, every M(m) with m ≤ τ is at most ``φ(y)`` and
        the plain profile at most ``e^{−y²/2}``; the integral has length at most 2τ in all. So ``δ(ε/K) ≤ (1 + 2τ φ(0)) e^{−y²/2}``,
        ``δ_K ≤ K e^{ε(K−1)/K} δ(ε/K)``, and a Gaussian integral remains.
        """
        from scipy.special import log_ndtr

        records, tau, origin = self.records, self.shift, self._start
        y = max(0.0, (start / records - origin) / tau - 1e-12 - 4.0 * math.ulp(origin) / tau)
        rate = (k * records + records - 1) * tau
        front = 2.0 * math.log(records) + math.log(tau) + math.log1p(2.0 * tau / math.sqrt(2.0 * math.pi))
        moment = (k * records + records - 1) * origin + 0.5 * math.log(2.0 * math.pi)
        return front + moment + rate * rate / 2.0 + float(log_ndtr(rate - y))


def _log_sum(logarithms: list[float]) -> float:
    """Give the logarithm of a sum of positive numbers."""
    top = max(logarithms)
    return top + math.log(math.fsum(math.exp(one - top) for one in logarithms))


@lru_cache(maxsize=64)
def objective_curve(
    noise_multiplier: float, curvature: float, neighbours: Neighbours, records: int = 1
) -> ObjectiveCurve:
    """Tabulate the profile at the nodes of the integral."""
    shift = neighbours.copies / noise_multiplier
    loss = math.log1p(curvature)
    first = np.linspace(0.0, loss, min(160, 2 + math.ceil(loss / (0.15 * shift))))
    second = loss + shift * np.linspace(0.0, 39.0 + shift / 2.0, 261)
    nodes = np.unique(np.concatenate([first, second]))
    with np.errstate(divide="ignore"):
        table = np.minimum.accumulate(objective_deltas(noise_multiplier, curvature, neighbours, nodes))
        log_delta = np.log(np.maximum(table, 1e-320))
    epsilon = records * nodes
    if records > 1:
        log_delta = np.minimum(0.0, log_delta + log_group_factor(epsilon, records))
    pitch = np.diff(epsilon)
    with np.errstate(over="ignore"):
        fall = -np.expm1(np.minimum(log_delta[1:] - log_delta[:-1], 0.0)) * pitch / np.expm1(pitch)
    drop = np.maximum(1.0 - fall, 2.0**-52)
    base = log_delta[:-1] + np.log(pitch / 6.0)
    left, right = base + np.log(2.0 + drop), base + np.log(1.0 + 2.0 * drop)
    return ObjectiveCurve(epsilon, left, right, float(log_delta[-1]), shift, loss, records)


def log_group_factor(epsilon: Array, records: int) -> Array:
    """Give ``log Σ_{i<K} e^{iε/K}`` from above."""
    powers = np.arange(records)[:, None] * (epsilon / records)[None, :]
    return np.logaddexp.reduce(powers, axis=0) + 1e-12 * (1.0 + epsilon)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class ObjectivePerturbationEvent(Event):
    """One minimiser of a noisily perturbed objective, θ̂ = argmin Σ losses + ψ + (λ/2)‖θ‖² + ⟨b, θ⟩ over C.

    Neither μ nor ρ is given: at small orders the Rényi curve is far above a line through 0.

    Attributes:
        noise_multiplier: σ/L, the standard deviation of b over the bound of one record's gradient norm. No factor for the relation.
        curvature: κ = β/λ, the bound of one record's curvature over the strong convexity.
        neighbours: the relation, which the price depends on.
        samples: lattice draws (one per coordinate of b).
        records: how many records apart the tables are, see `group`.
    """

    noise_multiplier: float
    curvature: float
    neighbours: Neighbours
    samples: int = 0
    records: int = 1
    kind = "objective-perturbation"

    def __post_init__(self) -> None:
        """Refuse what cannot be priced."""
        set_positive(self, "noise_multiplier")
        set_positive(self, "curvature")
        set_count(self, "samples")
        object.__setattr__(self, "neighbours", Neighbours.parse(self.neighbours))
        object.__setattr__(self, "records", group_size(self.records))

    def renyi(self, alpha: float) -> float:
        """Give a bound from the integral of the profile, `ObjectiveCurve.divergence`."""
        order = checked_order(alpha)
        return objective_curve(self.noise_multiplier, self.curvature, self.neighbours, self.records).divergence(order)

    def exact(self, epsilon: float) -> float:
        """Give the profile of the exact law; for K records ``Σ_{i<K} e^{iε/K} δ(ε/K)`` (Dwork & Roth 2014, Thm 2.2)."""
        if math.isinf(epsilon):
            return 0.0
        share = shrunk(epsilon, self.records)
        delta = objective_delta(self.noise_multiplier, self.curvature, self.neighbours, share)
        if self.records == 1:
            return delta
        if epsilon > 700.0:
            return 1.0
        steps = math.fsum(math.exp(epsilon * i / self.records) for i in range(self.records))
        return min(1.0, padded(steps * delta))

    def group(self, k: int) -> "ObjectivePerturbationEvent":
        """Give the event between tables k times as far apart: a chain of k neighbours, Σ e^{iε/k} δ(ε/k)."""
        return replace(self, records=self.records * group_size(k))
