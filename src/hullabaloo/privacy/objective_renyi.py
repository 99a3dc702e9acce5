"""The Rényi curve of objective perturbation, from its profile.

``e^{(α−1) D_α} = 1 + α(α − 1) ∫₀^∞ [e^{(α−1)ε} H_ε(P‖Q) + e^{−αε} H_ε(Q‖P)] dε`` (Liese & Vajda 2006): a bound on the profile both ways
bounds the curve. Groups of K records have the profile ``δ_K(ε) = Σ_{i<K} e^{iε/K} δ(ε/K)`` (Dwork & Roth 2014, Thm 2.2).
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from hullabaloo.privacy._rounding import padded
from hullabaloo.privacy.neighbours import Neighbours
from hullabaloo.privacy.objective_profile import objective_deltas

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


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

    epsilon: "Array"
    left: "Array"
    right: "Array"
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
        top = max(parts)
        inner = top + math.log(math.fsum(math.exp(part - top) for part in parts)) + math.log(alpha) + math.log(k)
        grown = max(inner, 0.0) + math.log1p(math.exp(-abs(inner)))
        return min(self.cap(alpha), padded(grown + 1e-9 * min(1.0, math.exp(min(inner, 0.0))), 4096.0) / k)

    def cap(self, alpha: float) -> float:
        """Give a bound of D_α in closed form, good for large α.

        With the profile at most 1 up to where its tail bound starts, at S, the moment is at most
        ``1 + α e^{(α−1)S} + α(α−1) tail + (α − 1)``.
        """
        k, start = alpha - 1.0, self.records * self._start
        terms = (0.0, math.log(k), math.log(alpha) + k * start, math.log(alpha) + math.log(k) + self._tail(k, start))
        top = max(terms)
        return padded(top + math.log(math.fsum(math.exp(term - top) for term in terms)), 4096.0) / k

    @property
    def _start(self) -> float:
        return self.loss + self.shift * self.shift / 2.0

    def _cells(self, k: float) -> float:
        """Give the logarithm of a bound of ``∫ e^{kε} δ(ε) dε`` up to the last node."""
        import numpy as np

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
        edge = float(log_ndtr(rate - y))
        return front + moment + rate * rate / 2.0 + edge


@lru_cache(maxsize=64)
def objective_curve(
    noise_multiplier: float, curvature: float, neighbours: Neighbours, records: int = 1
) -> ObjectiveCurve:
    """Tabulate the profile at the nodes of the integral."""
    import numpy as np

    shift = (2.0 if neighbours is Neighbours.REPLACE_ONE else 1.0) / noise_multiplier
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
    return ObjectiveCurve(
        epsilon, base + np.log(2.0 + drop), base + np.log(1.0 + 2.0 * drop), float(log_delta[-1]), shift, loss, records
    )


def log_group_factor(epsilon: "Array", records: int) -> "Array":
    """Give ``log Σ_{i<K} e^{iε/K}`` from above."""
    import numpy as np

    powers = np.arange(records)[:, None] * (epsilon / records)[None, :]
    given: Array = np.logaddexp.reduce(powers, axis=0) + 1e-12 * (1.0 + epsilon)
    return given
