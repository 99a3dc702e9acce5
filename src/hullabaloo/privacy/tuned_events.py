"""The event of tuning: the best of a random number of runs of a Gaussian-DP mechanism."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

from hullabaloo.privacy._rounding import float_at_least, padded
from hullabaloo.privacy.events import TAIL_MASS, Event, group_size, set_count, set_positive, with_tail
from hullabaloo.privacy.renyi import checked_order, renyi_delta
from hullabaloo.privacy.repeats import Repeats
from hullabaloo.privacy.tuned_bound import TunedBound, tuned_bound

_RENYI_HELPS = 0.01
"""The δ from which on the Rényi bounds, the mixture's above all, can be the smaller ones."""


@final
@dataclass(frozen=True, slots=True)
class TunedEvent(Event):
    """The best of K runs of a μ-GDP mechanism, each with ``samples`` lattice draws; nothing else of the runs is released, K neither.

    K has the law `Repeats(expected, shape)`, whatever the records are; runs are independent; the best is the first in a total order
    of outputs that does not depend on the records. A mechanism that draws one of several candidates at random, and releases which, is
    μ-GDP where each candidate is: so tuning costs the same however many candidates there are.

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

    def gdp_mu(self) -> None:
        """Give None: the choice has heavier losses than any Gaussian that is worth its price."""

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

    def pure_epsilon(self) -> float:
        """Give ∞."""
        return math.inf

    def profile(self, epsilon: float) -> float:
        """Give the profile's bound, or the converted Rényi bound where that can be smaller, plus the tail."""
        return with_tail(lambda e: _exact(self, e), self.delta0, epsilon)

    def group(self, k: int) -> "TunedEvent":
        """Give the event between tables k records apart: the runs are kμ-GDP (Dong, Roth & Su 2022, Thm 2.14), K is as before."""
        mu = float_at_least(Fraction(self.mu) * group_size(k))
        return TunedEvent(mu, self.expected, self.shape, self.samples)

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
