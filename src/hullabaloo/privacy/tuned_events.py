"""Tuning: the best of a random number of runs of a Gaussian-DP mechanism, its event and the bound of its profile."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hullabaloo.privacy._rounding import padded
from hullabaloo.privacy.events import TAIL_MASS, Event, grown, set_count, set_positive
from hullabaloo.privacy.gaussian_dp import gdp_delta
from hullabaloo.privacy.renyi import checked_order, renyi_delta
from hullabaloo.privacy.repeats import Repeats

_STEP = 2.0**-10
_LOWEST, _HIGHEST = -4.0, 9.0
_NODES = 16
_ROUND = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class TunedBound:
    """Bounds of the privacy of the best of K runs of a μ-GDP mechanism; `tuned_bound` makes them.

    **Setting.** A run has the law Q on one table and Q' on a neighbouring one; ``T(Q, Q') ≥ G_μ`` both ways. Outputs are totally ordered
    (score, then anything fixed; equal outputs by an independent uniform number, which costs nothing). With G(y) = Q(order above y),
    G' likewise, the best of K runs has the density ``A = Q · f'(1 − G)`` and ``A' = Q' · f'(1 − G')``, f the generating function
    of K (Koskela, Redberg & Wang 2024). Being above y is an event of one run, so ``G' ≤ h(G)``, ``h(g) = Φ(Φ^{-1}(g) + μ)``, and f' is
    increasing; so at every output, for some g in [0, 1],

        A ≤ a(g) Q,   A' ≥ b(g) Q',   a(g) = f'(1 − g),   b(g) = f'(1 − h(g)).                                   (*)

    [0, 1] is cut into intervals [g_j, g_{j+1}]; ``above_j ≥ log a(g_j)`` and ``below_j ≤ log b(g_{j+1})`` hold (*) on all of it, as a and
    b fall.

    **Guarantee 1** (`profile`). Claim: ``A(S) − e^ε A'(S) ≤ Σ_i c_i λ_i δ_μ(ε − log λ_i)`` for all S. Proof: by (*) the left side is at most ``∫ Q ψ(e^ε Q'/Q)``,
    ``ψ(λ) = max_j [a_j − λ b_j]₊``, convex and falling, 0 from ``Λ = max_j a_j/b_j`` on. Between nodes ``0 = λ_0 < … < λ_n = Λ`` its chords
    are above it: ``ψ(λ) ≤ Σ_i c_i [λ_i − λ]₊``, c_i the changes of slope, and leaving negative c_i out (rounding) enlarges the sum. Last,
    ``∫ Q [λ_i − e^ε Q'/Q]₊ = λ_i sup_S Q(S) − e^{ε − log λ_i} Q'(S) ≤ λ_i δ_μ(ε − log λ_i)``.

    With one node it is ``E K · δ_μ(ε − log Λ)``, in the form of Koskela, Redberg & Wang (2024, Thm 7), whose factor
    ``(e^{ε₁} + (1 − γ) δ(ε₁)/γ)^{1 + η}`` can be had smaller: ``Λ ≤ e^{(1 + η) r}`` for every r with ``(1 − γ) δ(r) ≤ γ (e^r − 1)``,
    because then ``γ + (1 − γ) G' ≤ γ + (1 − γ)(e^r G + δ(r)) ≤ e^r (γ + (1 − γ) G)``.

    **Guarantee 2** (`renyi`). Claim: ``D_α(A‖A') ≤ αμ²/2 + max_j [log a_j + (α − 1) log(a_j/b_j)]/(α − 1)``. Proof: ``A^α A'^{1−α} ≤ (a_j/b_j)^{α−1} a_j Q^α Q'^{1−α}``
    for the j of each output, and ``∫ Q^α Q'^{1−α} ≤ e^{(α−1)αμ²/2}``. Divergences grow with the order, so below the order at which the bound is least
    that one is given. It is below Theorem 2 of Papernot & Steinke (2022), and is their Theorem 6 up to the width of the intervals.
    """

    mu: float
    above: NDArray[np.float64]
    below: NDArray[np.float64]
    nodes: tuple[tuple[float, float], ...]
    least: float = 1.0

    def profile(self, epsilon: float, asked: float | None = None) -> float:
        """Give the bound of δ at ε ≥ 0, rounded up."""
        if not self.nodes:  # so much that no ε of use is left
            return 1.0
        terms = (weight * node * _delta(self.mu, epsilon - math.log(node)) for weight, node in self.nodes)
        return min(1.0, padded(math.fsum(terms), 1e6))

    def renyi(self, alpha: float) -> float:
        """Give the bound of D_α, rounded up."""
        alpha = max(alpha, self.least)
        excess = float((self.above + (alpha - 1.0) * (self.above - self.below)).max())
        return padded(alpha * self.mu**2 / 2.0 + max(excess, 0.0) / (alpha - 1.0), 64.0)


@lru_cache(maxsize=32)
def tuned_bound(mu: float, repeats: Repeats) -> TunedBound:
    """Enclose the levels of a law of runs; a few milliseconds."""
    ends = np.concatenate([[0.0], _tails(0.0), [1.0]])  # g from the top of the order down: 0, then Φ(−t), then 1
    reached = np.append(_tails(mu), 1.0)  # h at the far end of each interval
    above = repeats.log_slope(ends[:-1] * (1.0 - _ROUND)) + _ROUND
    below = repeats.log_slope(np.minimum(1.0, reached * (1.0 + _ROUND))) - _ROUND
    ratio = float((above - below).max())
    rough = TunedBound(mu, above, below, ())
    if ratio > 600.0:
        return rough
    least = min((1.0 + 2.0 ** (i / 4.0) for i in range(-20, 60)), key=rough.renyi)
    # Nodes lie densest at Λ, where most of δ comes from.
    places = np.exp(ratio) * (1.0 - np.linspace(1.0, 0.0, _NODES) ** 2)
    a, b = np.exp(above), np.exp(below)
    levels = np.array([max(0.0, float((a - place * b).max())) for place in places]) * (1.0 + _ROUND)
    levels[-1] = 0.0
    slopes = np.append(np.diff(levels) / np.diff(places), 0.0)
    weights = np.diff(slopes)
    kept = tuple((float(w), float(x)) for w, x in zip(weights, places[1:], strict=True) if w > 0.0)
    return TunedBound(mu, above, below, kept, least)


@lru_cache(maxsize=32)
def _tails(mu: float) -> NDArray[np.float64]:
    """``Φ(μ − t)`` on the grid of t, from its top down."""
    count = round((_HIGHEST - _LOWEST) / _STEP)
    points = ((_HIGHEST - i * _STEP - mu) / math.sqrt(2.0) for i in range(count + 1))
    return np.fromiter((0.5 * math.erfc(x) for x in points), np.float64, count + 1)


def _delta(mu: float, epsilon: float) -> float:
    """``sup_S Q(S) − e^ε Q'(S)`` of the Gaussian pair, ε of either sign: ``δ(ε) = 1 − e^ε + e^ε δ(−ε)``."""
    if epsilon >= 0.0:
        return gdp_delta(mu, epsilon)
    return min(1.0, 1.0 - math.exp(epsilon) * (1.0 - gdp_delta(mu, -epsilon)) + 1e-15)


# The event of tuning: the best of a random number of runs of a Gaussian-DP mechanism.


_RENYI_HELPS = 0.01
"""The δ from which on the Rényi bounds, the mixture's above all, can be the smaller ones."""


@dataclass(frozen=True, slots=True)
class TunedEvent(Event):
    """The best of K runs of a μ-GDP mechanism, each with ``samples`` lattice draws; nothing else of the runs is released, K neither.

    K has the law `Repeats(expected, shape)`, whatever the records are; runs are independent; the best is the first in a total order
    of outputs that does not depend on the records. A mechanism that draws one of several candidates at random, and releases which, is
    μ-GDP where each candidate is: so tuning costs the same however many candidates there are.

    No μ is given: the choice has heavier losses than any Gaussian that is worth its price.

    **Guarantee.** `TunedBound` for the exact laws; a third Rényi bound is the mixture over K of K-fold composition,
    ``D_α ≤ log E e^{(α−1) K αμ²/2}/(α − 1)`` (joint convexity of ``e^{(α−1)D_α}``), best at small orders. A run with lattice draws is within
    ``samples · 2^-130`` of the exact law; run by run coupled to exact ones and K independent of them, all K agree
    except with probability ``E K`` times as much.

    Attributes:
        mu: of one run.
        expected, shape: of the number of runs, see `Repeats`.
        samples: lattice draws of one run, at most.
    """

    mu: float
    expected: float
    shape: float | str
    samples: int = 0
    kind = "tuned"

    def __post_init__(self) -> None:
        """Refuse what cannot be priced; bring the law of runs into canonical form."""
        set_positive(self, "mu")
        set_count(self, "samples")
        repeats = Repeats(self.expected, self.shape)
        object.__setattr__(self, "expected", repeats.expected)
        object.__setattr__(self, "shape", repeats.shape)

    @property
    def repeats(self) -> Repeats:
        """The law of the number of runs."""
        return Repeats(self.expected, self.shape)

    @property
    def delta0(self) -> float:
        """Give ``expected · samples · 2^-130``."""
        return padded(self.expected * self.samples * TAIL_MASS, 4.0)

    def renyi(self, alpha: float) -> float:
        """Give the best of the Rényi bounds; divergences grow with the order, so that of a larger one is a bound, too."""
        order = max(checked_order(alpha), 1.0 + 2.0**-10)
        return min(self._bound().renyi(order), self._mixture(order))

    def zcdp_rho(self) -> float:
        """Give the largest ``D_α/α``, enclosed on a grid of orders.

        Between two orders ``D_α/α`` is at most D at the larger over the smaller one. Beyond the last, `TunedBound.renyi` is at most
        ``αμ²/2 + log Λ + log(E K)/(α − 1)``, which falls when divided by α.
        """
        return _rho(self)

    def exact(self, epsilon: float) -> float:
        """Give the profile's bound, or the converted Rényi bound where that can be smaller."""
        return _exact(self, epsilon)

    def group(self, k: int) -> "TunedEvent":
        """Give the event between tables k records apart: the runs are kμ-GDP (Dong, Roth & Su 2022, Thm 2.14), K is as before."""
        return TunedEvent(grown(self.mu, k), self.expected, self.shape, self.samples)

    def _bound(self) -> TunedBound:
        return tuned_bound(self.mu, self.repeats)

    def _mixture(self, order: float) -> float:
        rate = padded((order - 1.0) * order * self.mu**2 / 2.0, 8.0)
        return padded(self.repeats.log_transform(rate) / (order - 1.0), 8.0)


@lru_cache(maxsize=4096)
def _exact(event: TunedEvent, epsilon: float) -> float:
    """The profile of the exact law; readers of a profile ask for the same numbers again and again."""
    if math.isinf(epsilon):
        return 0.0
    bound = event._bound().profile(epsilon)
    return bound if bound < _RENYI_HELPS else min(bound, renyi_delta(event.renyi, epsilon))


@lru_cache(maxsize=256)
def _rho(event: TunedEvent) -> float:
    """See `TunedEvent.zcdp_rho`."""
    orders = [1.0 + 2.0**-10 * 1.02**i for i in range(1100)]  # up to about 3e6
    divergences = [event.renyi(order) for order in orders]
    inside = max(next_ / order for order, next_ in zip([1.0, *orders], divergences, strict=False))
    bound = event._bound()
    ratio = float((bound.above - bound.below).max())
    return padded(max(inside, event.mu**2 / 2.0 + (ratio + 1e-3) / orders[-1]), 64.0)
