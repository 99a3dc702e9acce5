"""Privacy filters: how the charges of a dataset add up when each may depend on all releases before it.

A dataset's filter is fixed when the dataset is created. A filter turns a charge (an event and the budget it declares) into
a pair of costs, the main one and one of tails, and admits it while the exact sums stay within a capacity. Here is the
arithmetic; the ledger stores and enforces it. Sums are exact rationals: no rounding, no order dependence, so a sum that was
carried on from charge to charge is the sum of all charges. A float is a multiple of 2^-1074 below 2^1024, so the sums of n charges
have denominators that divide 2^2148 and numerators below n 2^4196: what is written down of them does not grow with the charges.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, final

from hullabaloo.errors import BudgetError, EventRefused, InvalidParameter
from hullabaloo.privacy.budget import Budget
from hullabaloo.privacy.composition import ComposedEvent
from hullabaloo.privacy.events import Event
from hullabaloo.privacy.noise_events import NotPrivateEvent

TAIL_SHARE = 2.0**-20
"""Part of δ that the gdp and renyi filters keep for the cut tails of lattice noise."""
TAIL_KEPT = 2.0**-89
"""The total variation that tails may always take, 2^41 draws: a large ε is treated as one small enough for e^ε to allow it."""

Capacity = tuple[float, ...]
"""What a dataset may spend: (ε, δ), (μ, tail) or (divergence, tail, order), order 0 standing for every order (zCDP)."""
Cost = tuple[float, ...]
"""What one charge takes: (ε, δ), (μ, tail) or (divergence, tail)."""
Totals = tuple[Fraction, Fraction]
"""What earlier charges took together, exactly: the sum of their main costs, each to the filter's `power`, and that of their tails."""
NOTHING: Totals = (Fraction(0), Fraction(0))


@final
@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left: amounts rounded down, the limits, a sentence, and the largest budget still chargeable, if one says it."""

    amounts: Cost
    limits: Cost
    sentence: str
    budget: Budget | None


class Filter(ABC):
    """A rule by which fully adaptive charges add up. Capacities and costs are tuples of floats, safe in JSON."""

    __slots__ = ()
    name: ClassVar[str]
    power: ClassVar[int]

    @abstractmethod
    def capacity(self, budget: Budget) -> Capacity:
        """Give what a dataset of this budget may spend; raise BudgetError when this filter cannot keep the budget."""

    @abstractmethod
    def cost(self, event: Event, declared: Budget, capacity: Capacity) -> Cost:
        """Give what a charge takes; raise EventRefused, with the remedy, when this filter cannot price it."""

    @abstractmethod
    def left(self, capacity: Capacity, totals: Totals) -> Totals:
        """Give exactly what is left, in the units that add up (μ² under gdp); negative when overspent."""

    @abstractmethod
    def remaining(self, capacity: Capacity, totals: Totals) -> Remaining:
        """Give what is left, for people."""

    def add(self, totals: Totals, cost: Cost, count: int = 1) -> Totals:
        """Give the totals after so many more charges of one cost; raise InvalidParameter for what is no cost."""
        if len(cost) != 2 or not all(math.isfinite(part) and part >= 0.0 for part in cost) or count < 0:
            raise InvalidParameter(
                f"A charge was to be added up whose cost is {cost!r}, {count!r} times. A cost is two finite numbers of at least 0; "
                "anything else would make what is left unknown, so nothing is admitted."
            )
        main, tail = _exact(cost, self.power)
        return totals[0] + count * main, totals[1] + count * tail

    def fits(self, capacity: Capacity, totals: Totals) -> bool:
        """Tell whether what was spent fits into a capacity."""
        return min(self.left(capacity, totals)) >= 0

    def admits(self, capacity: Capacity, totals: Totals, new: Cost) -> bool:
        """Tell whether one more charge fits on top of others."""
        return self.fits(capacity, self.add(totals, new))

    def takes(self, event: Event, budget: Budget) -> bool:
        """Tell whether a fresh dataset of this budget would take this event as one charge that declares all of it."""
        capacity = self.capacity(budget)
        return budget.admits(event) and self.admits(capacity, NOTHING, self.cost(event, budget, capacity))


@lru_cache(maxsize=1024)
def _exact(cost: Cost, power: int) -> Totals:
    return Fraction(cost[0]) ** power, Fraction(cost[1])


@lru_cache(maxsize=1)
def _filters() -> dict[str, Filter]:
    from hullabaloo.privacy.basic_filter import BasicFilter
    from hullabaloo.privacy.gdp_filter import GdpFilter
    from hullabaloo.privacy.renyi_filter import RenyiFilter

    return {f.name: f for f in (BasicFilter(), GdpFilter(), RenyiFilter())}


def filter_named(name: str) -> Filter:
    """Give the filter of a name: "basic", "gdp" or "renyi"."""
    filters = _filters()
    if not isinstance(name, str) or name not in filters:
        raise InvalidParameter(
            f"filter={name!r} names no privacy filter, and how charges add up cannot be guessed. Write 'basic' (epsilons and "
            "deltas add up; takes every release), 'gdp' (best for many Gaussian releases) or 'renyi'."
        )
    return filters[name]


def reserved(budget: Budget, name: str) -> tuple[float, float, float]:
    """Give the ε and δ left for exact laws, and the total variation that the rest of δ pays for."""
    if budget.delta == 0.0:
        raise BudgetError(
            f"{budget!r} was stated under the {name} filter, which needs a positive delta. State one well below "
            "one over the number of records, for example 1/n², or create the dataset with filter='basic' for pure releases only."
        )
    reserve = budget.delta * TAIL_SHARE
    epsilon = min(budget.epsilon, max(1.0, math.log(reserve / (2.0 * TAIL_KEPT)))) if reserve > 0.0 else budget.epsilon
    return epsilon, budget.delta - reserve, reserve * (1.0 - 2.0**-20) / (1.0 + math.exp(epsilon))


def refuse_infinite(budget: Budget, name: str) -> None:
    """Refuse a budget that never runs out."""
    if not budget.is_private:
        raise BudgetError(
            f"A budget of epsilon = ∞ was stated under the {name} filter. Such a budget never runs out, so nothing is kept "
            "by recording charges against it. State a finite budget."
        )


def refuse_unpaid(event: Event, declared: Budget, name: str) -> None:
    """Refuse a release that is not private, and one that costs more than its charge declares."""
    parts = event.parts if isinstance(event, ComposedEvent) else ((event, 1),)
    if not declared.is_private or any(isinstance(part, NotPrivateEvent) for part, _ in parts):
        raise EventRefused(
            f"A release that is not private (epsilon = ∞) was to be charged under the {name} filter. No finite budget pays for it; "
            "fit with a finite budget and without a test key, or without this ledger."
        )
    if not declared.admits(event):
        raise EventRefused(
            f"A charge declares {declared!r} and its event of kind {event.kind!r} costs more than that, so the ledger would record "
            "less than was spent. Declare a budget that admits the event, or plan the release with more noise."
        )
