"""Events: frozen records of what one noisy release, or a composition of them, can reveal at most.

An event states the cost of **one** use; `composition.compose` counts. The noise of a lattice sampler is cut in its far
tail: each draw differs from the exact law by at most `TAIL_MASS` in total variation, which every event with draws carries
as ``delta0`` and every profile adds as ``(1 + e^ε) delta0``.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter, as_whole
from hullabaloo.privacy._rounding import as_float, crossing, float_at_least, float_at_most, golden, least, padded

ACCOUNTING_VERSION = 1
"""Raised whenever a price changes; ledger rows carry it."""
TAIL_MASS = 2.0**-130
"""Total variation between one draw of the lattice sampler and the law it stands for (`NOISE`: cut at 13.25 σ)."""


class Event(Written, ABC):
    """The cost of one release, or of a composition: what plans, ledgers and cards use, and nothing else."""

    __slots__ = ()

    samples: int = 0
    """How many draws of the lattice sampler the release takes."""

    @property
    def delta0(self) -> float:
        """Give the probability mass outside the exact law that the other methods describe, ``samples · 2^-130``."""
        return self.samples * TAIL_MASS

    def gdp_mu(self) -> float | None:
        """Give a μ for which the exact law is μ-GDP, rounded up; None when none is known that is worth its price."""
        return None

    @abstractmethod
    def renyi(self, alpha: float) -> float:
        """Give an upper bound of the Rényi divergence of order α > 1 of the exact law, both ways."""

    def zcdp_rho(self) -> float | None:
        """Give a ρ for which the exact law is ρ-zCDP (``renyi(α) ≤ ρα`` for all α > 1); None when none is known."""
        return None

    def pure_epsilon(self) -> float:
        """Give an ε for which the exact law is (ε, 0)-DP; ∞ when there is none."""
        return math.inf

    @abstractmethod
    def exact(self, epsilon: float) -> float:
        """Give a δ for which the exact law is (ε, δ)-DP, ε ≥ 0."""

    def profile(self, epsilon: float, asked: float | None = None) -> float:
        """Give a δ for which the release, its tail included, is (ε, δ)-DP; no closer than tells whether it is at most what is `asked`."""
        return with_tail(self.exact, self.delta0, epsilon, asked)

    @abstractmethod
    def group(self, k: int) -> "Event":
        """Give the event of the same release between tables k records apart."""


def with_tail(exact: Callable[[float], float], mass: float, epsilon: float, asked: float | None = None) -> float:
    """Add the tail to an exact profile; no closer than tells whether the sum is at most what is `asked`.

    **Guarantee.** Claim: if the exact law is (ε, δ(ε))-DP and the released law within ``mass`` of it in total variation for
    every table, the release is (ε, δ(ε') + (1 + e^ε') mass)-DP for every ε' ≤ ε. Proof: ``P̃(S) ≤ P(S) + m ≤ e^ε' Q(S) + δ + m
    ≤ e^ε'(Q̃(S) + m) + δ + m``, and (ε', δ)-DP implies (ε, δ)-DP. Where the tail counts, a search finds a good ε'; every ε' tried
    is valid.
    """
    epsilon = float(epsilon)
    if not epsilon >= 0.0:
        raise InvalidParameter(f"epsilon={epsilon!r} is not a number of at least 0; a privacy loss is never negative.")
    if mass == 0.0:
        return exact(epsilon)
    if mass >= 0.5:
        return 1.0

    def total(e: float, at: float) -> float:
        return min(1.0, padded(at + (1.0 + math.exp(e)) * mass, 16.0))

    high = min(epsilon, -math.log(mass))  # beyond it the tail alone is above 1
    at_high = exact(high)
    best = total(high, at_high)
    # No ε' gives less than δ(high) + 2 mass: a millionth at most is to be gained.
    if (asked is not None and not at_high <= asked < best) or math.expm1(high) * mass <= 1e-6 * at_high:
        return best
    # Mirrored: where both are 1, on towards larger ε'.
    return min(best, golden(lambda x: total(-x, exact(-x)), -high, 0.0, 52, asked or 0.0))


def set_positive(event: Any, name: str) -> None:
    """Store a field as a float after checking that it is positive and finite."""
    number = as_float(given := getattr(event, name))
    if not 0.0 < number < math.inf:
        raise InvalidParameter(
            f"{type(event).__name__} was given {name}={given!r}, which is not a positive finite number. A cost that cannot "
            "be computed must not be recorded; state a release without noise as NotPrivateEvent()."
        )
    object.__setattr__(event, name, number)


def set_count(event: Any, name: str) -> None:
    """Store a field as an int after checking that it is a count."""
    said = f"{type(event).__name__} was given {name}={{!r}}, not a whole number from 0 on."
    object.__setattr__(event, name, as_whole(getattr(event, name), said, 0))


def group_size(k: int) -> int:
    """Give k, or refuse what is not a number of records."""
    return as_whole(k, "A group of k={!r} records was asked for; k must be a whole number from 1 on.")


def grown(epsilon: float, k: int) -> float:
    """Give kε rounded up."""
    return float_at_least(Fraction(epsilon) * group_size(k))


def shrunk(noise_multiplier: float, k: int) -> float:
    """Give noise_multiplier/k rounded down."""
    return float_at_most(Fraction(noise_multiplier) / group_size(k))


def delta_of(event: Event, epsilon: float, asked: float | None = None) -> float:
    """Give the smallest δ known for which the event is (ε, δ)-DP, rounded up; no closer than tells whether it is at most what is `asked`.

    **Guarantee.** Claim: (ε, result)-DP. Proof: `Event.profile`, whose bounds are proved beside them; a value that is no
    probability is an error.
    """
    delta = event.profile(epsilon, asked)
    if not 0.0 <= delta <= 1.0:
        raise InvalidParameter(f"The profile of {event!r} at epsilon={epsilon!r} is {delta!r}, no probability.")
    return delta


def epsilon_of(event: Event, delta: float) -> float:
    """Give the smallest ε known for which the event is (ε, δ)-DP, rounded up; ∞ when there is none.

    **Guarantee.** Claim: ``delta_of(event, result) ≤ delta``, or the result is ∞. Proof: the upper end of a bracket is
    returned, and it was evaluated.
    """
    if not 0.0 <= delta < 1.0:
        raise InvalidParameter(f"An epsilon was asked at delta={delta!r}; delta is a probability from 0 to below 1.")
    if delta == 0.0:
        return event.pure_epsilon() if event.delta0 == 0.0 else math.inf
    return _epsilon_of(event, float(delta))


@lru_cache(maxsize=256)
def _epsilon_of(event: Event, delta: float) -> float:
    """The search, which takes a second where noise of several kinds is small, and is asked for by statements, summaries and cards alike."""
    if delta_of(event, 0.0) <= delta:
        return 0.0

    @cache
    def above(epsilon: float) -> float:
        found = delta_of(event, epsilon, delta)
        steep = math.log(found) - math.log(delta) if found > 0.0 else -700.0
        # Logarithms round, and a profile may be NaN: the claim is of δ itself.
        return min(steep, 0.0) if found <= delta else max(steep, math.ulp(1.0))

    high = least(lambda epsilon: above(epsilon) <= 0.0, most=1e9, tolerance=1.0)
    return high if math.isinf(high) else crossing(above, 0.0 if high == 1.0 else 0.5 * high, high, 1e-11)


def group(event: Event, k: int) -> Event:
    """Give the event as it protects a person who contributes k records.

    **Guarantee.** Claim: between tables that differ in k records the release costs at most the result. Proof: each noise is
    additive with a sensitivity, or a range, that at most multiplies by k along a chain of k neighbours (objective perturbation:
    its profile grows along the chain, Dwork & Roth 2014, Thm 2.2), and every step of a composition faces the same two tables. For Gaussian releases it is kμ-GDP (Dong, Roth & Su 2022, Thm 2.14).
    """
    return event.group(k)
