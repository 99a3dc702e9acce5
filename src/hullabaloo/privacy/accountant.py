"""The accountant: from events to (ε, δ) and back."""

import math

from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy._search import least
from hullabaloo.privacy.events import Event

ACCOUNTING_VERSION = 1
"""Raised whenever a price changes; ledger rows carry it."""


def delta_of(event: Event, epsilon: float) -> float:
    """Give the smallest δ known for which the event is (ε, δ)-DP, rounded up.

    **Guarantee.** Claim: (ε, result)-DP. Proof: `Event.profile`, whose bounds are proved beside them; a value that is no
    probability is an error.
    """
    delta = event.profile(epsilon)
    if not 0.0 <= delta <= 1.0:
        raise InvalidParameter(
            f"The profile of {event!r} at epsilon={epsilon!r} came out as {delta!r}, which is no probability."
        )
    return delta


def epsilon_of(event: Event, delta: float) -> float:
    """Give the smallest ε known for which the event is (ε, δ)-DP, rounded up; ∞ when there is none.

    **Guarantee.** Claim: ``delta_of(event, result) ≤ delta``, or the result is ∞. Proof: the upper end of a bisection is
    returned, and it was evaluated.
    """
    if not 0.0 <= delta < 1.0:
        raise InvalidParameter(
            f"An epsilon was asked for at delta={delta!r}; delta is a probability from 0 up to but not 1."
        )
    if delta == 0.0:
        return event.pure_epsilon() if event.delta0 == 0.0 else math.inf
    if delta_of(event, 0.0) <= delta:
        return 0.0
    return least(lambda epsilon: delta_of(event, epsilon) <= delta, most=1e9, tolerance=1e-11)


def group(event: Event, k: int) -> Event:
    """Give the event as it protects a person who contributes k records.

    **Guarantee.** Claim: between tables that differ in k records the release costs at most the result. Proof: each noise is
    additive with a sensitivity, or a range, that at most multiplies by k along a chain of k neighbours (objective perturbation:
    its profile grows along the chain, Dwork & Roth 2014, Thm 2.2), and every step of a composition faces the same two tables. For Gaussian releases it is kμ-GDP (Dong, Roth & Su 2022, Thm 2.14).
    """
    return event.group(k)
