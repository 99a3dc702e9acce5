"""Privacy filters: how the charges of a dataset add up when each may depend on all releases before it.

A dataset's filter is fixed when the dataset is created. A filter turns a charge (an event and the budget it declares) into
a pair of costs, the main one and one of tails, and admits it while the exact sums stay within a capacity. Here is the
arithmetic; the ledger stores and enforces it. Sums are exact rationals: no rounding, no order dependence.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, final

from hullabaloo.errors import BudgetError, EventRefused, InvalidParameter
from hullabaloo.privacy._rounding import float_at_most, root_at_most
from hullabaloo.privacy.budget import TAIL_ALLOWANCE, Budget
from hullabaloo.privacy.composition import ComposedEvent
from hullabaloo.privacy.events import Event, NotPrivateEvent
from hullabaloo.privacy.gaussian_dp import gdp_mu
from hullabaloo.privacy.renyi import best_order, order_capacity

TAIL_SHARE = 2.0**-20
"""Part of δ that the gdp and renyi filters keep for the cut tails of lattice noise."""
LARGEST_EPSILON = 40.0
"""The gdp and renyi filters treat a larger ε as this one: beyond it e^ε would make the tails count."""

Cost = tuple[float, float]
"""What one charge takes: (ε, δ), (μ, tail) or (divergence, tail)."""
Total = tuple[Fraction, Fraction]
"""Exact sums of what costs measure; ``str`` of a Fraction stores it, ``Fraction(text)`` reads it."""


@final
@dataclass(frozen=True, slots=True)
class Capacity:
    """What a dataset may spend under its filter, stored with the dataset; ``order`` is the Rényi order, None for zCDP."""

    filter: str
    limits: Cost
    order: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give a JSON-safe dictionary."""
        return {"filter": self.filter, "limits": list(self.limits), "order": self.order}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "Capacity":
        """Read what `to_dict` wrote."""
        main, rest = state["limits"]
        order = state["order"]
        return cls(
            filter_named(state["filter"]).name, (float(main), float(rest)), None if order is None else float(order)
        )


@final
@dataclass(frozen=True, slots=True)
class Remaining:
    """What is left: amounts rounded down, the capacity's limits, a sentence, and the largest budget still chargeable."""

    amounts: Cost
    limits: Cost
    sentence: str
    budget: Budget | None


class Filter(ABC):
    """A rule by which fully adaptive charges add up."""

    __slots__ = ()
    name: ClassVar[str]

    @abstractmethod
    def capacity(self, budget: Budget) -> Capacity:
        """Give what a dataset of this budget may spend; raise BudgetError when this filter cannot keep the budget."""

    @abstractmethod
    def cost(self, event: Event, declared: Budget, capacity: Capacity) -> Cost:
        """Give what a charge takes; raise EventRefused, with the remedy, when this filter cannot price it."""

    @abstractmethod
    def measure(self, cost: Cost) -> Total:
        """Give the exact amounts in which costs, and limits, are summed."""

    @abstractmethod
    def remaining(self, capacity: Capacity, spent: Iterable[Cost]) -> Remaining:
        """Give what is left after some charges."""

    def total(self, costs: Iterable[Cost]) -> Total:
        """Give the exact sums of some costs."""
        main, rest = Fraction(0), Fraction(0)
        for cost in costs:
            more = self.measure(cost)
            main, rest = main + more[0], rest + more[1]
        return main, rest

    def has_room(self, capacity: Capacity, total: Total, new: Cost) -> bool:
        """Tell whether one more cost fits on top of exact sums."""
        limit, more = self.measure(capacity.limits), self.measure(new)
        return total[0] + more[0] <= limit[0] and total[1] + more[1] <= limit[1]

    def admits(self, capacity: Capacity, spent: Iterable[Cost], new: Cost) -> bool:
        """Tell whether one more cost fits on top of others."""
        return self.has_room(capacity, self.total(spent), new)

    def takes(self, event: Event, budget: Budget) -> bool:
        """Tell whether a fresh dataset of this budget would take this event as one charge that declares all of it."""
        capacity = self.capacity(budget)
        return budget.admits(event) and self.admits(capacity, (), self.cost(event, budget, capacity))


@final
@dataclass(frozen=True, slots=True)
class BasicFilter(Filter):
    """Σε and Σδ of the declared budgets; takes every private event. The default.

    **Guarantee.** Claim: all releases together are (ε, δ)-DP for the dataset's budget, however each was chosen. Proof: a
    charge's event is admitted by the (ε_i, δ_i) it declares, and basic composition is a valid filter (Rogers, Roth, Ullman &
    Vadhan 2016, Thm 3.6). Numbers are summed as the decimals that were written (the shortest that read back as the same float),
    exactly: ten charges of 0.1 fill 1 and nothing fits after them. A float is within a relative 2^-53 of its decimal,
    so the sum of the floats exceeds the capacity by at most a relative 2^-52, however many charges there are.

    A charge that declares a GDP or zCDP budget is refused, not converted: which δ to convert at is the user's choice.
    """

    name: ClassVar[str] = "basic"

    def capacity(self, budget: Budget) -> Capacity:
        """Give (ε, δ)."""
        _finite(budget, self.name)
        if budget.pair is None:
            raise BudgetError(
                f"A dataset was to be created with {budget!r} under the basic filter, which adds up epsilons and deltas and "
                "finds none in it. State the budget as Budget(epsilon, delta), or create the dataset with filter='"
                f"{'gdp' if budget.mu is not None else 'renyi'}'."
            )
        return Capacity(self.name, budget.pair)

    def cost(self, event: Event, declared: Budget, capacity: Capacity) -> Cost:
        """Give the (ε, δ) that the charge declares."""
        _checked(event, declared, self.name)
        if declared.pair is None:
            raise EventRefused(
                f"A charge declares {declared!r}, and the dataset's basic filter adds up epsilons and deltas, of which it has none; "
                "at which delta to convert it is not the filter's choice. Declare Budget(epsilon, delta), for example with "
                "the epsilon that budget.epsilon_at(delta) gives."
            )
        return declared.pair

    def measure(self, cost: Cost) -> Total:
        """Give the decimals that were written."""
        return Fraction(repr(cost[0])), Fraction(repr(cost[1]))

    def remaining(self, capacity: Capacity, spent: Iterable[Cost]) -> Remaining:
        """Give the ε and δ that are left."""
        left = _left(self, capacity, spent)
        amounts = float_at_most(left[0]), float_at_most(left[1])
        sentence = f"epsilon {amounts[0]:.6g} of {capacity.limits[0]:.6g} and delta {amounts[1]:.6g} of {capacity.limits[1]:.6g} remain."
        return Remaining(amounts, capacity.limits, sentence, Budget(*amounts) if amounts[0] > 0 else None)


@final
@dataclass(frozen=True, slots=True)
class GdpFilter(Filter):
    """√Σμ² ≤ μ: best for many Gaussian releases.

    **Guarantee.** Claim: all releases together satisfy the dataset's budget, however each was chosen. Proof: μ-GDP composes
    under full adaptivity while Σμ² stays below a bound fixed beforehand (Smith & Thakurta 2022, Thm 1), the tails add in total
    variation, and μ is calibrated to δ(1 − 2^-20), the tails to the rest, at min(ε, 40).
    """

    name: ClassVar[str] = "gdp"

    def capacity(self, budget: Budget) -> Capacity:
        """Give (μ, tail)."""
        return _gdp_capacity(budget)

    def cost(self, event: Event, declared: Budget, capacity: Capacity) -> Cost:
        """Give the event's μ and tail."""
        _checked(event, declared, self.name)
        mu = event.gdp_mu()
        if mu is None or not math.isfinite(mu):
            raise EventRefused(
                f"The dataset's gdp filter prices a release by its Gaussian-DP parameter mu, and the event of kind {event.kind!r} has "
                "none that is known. Use a solver whose noise is Gaussian or a selection, or charge a dataset that was created "
                "with filter='basic', which takes every event."
            )
        return mu, event.delta0

    def measure(self, cost: Cost) -> Total:
        """Give μ² and the tail."""
        return Fraction(cost[0]) ** 2, Fraction(cost[1])

    def remaining(self, capacity: Capacity, spent: Iterable[Cost]) -> Remaining:
        """Give the μ that is left."""
        left = _left(self, capacity, spent)
        amounts = root_at_most(left[0]), float_at_most(left[1])
        sentence = (
            f"mu {amounts[0]:.6g} of {capacity.limits[0]:.6g} remains (mu adds up as the root of a sum of squares)."
        )
        return Remaining(amounts, capacity.limits, sentence, Budget.gdp(amounts[0]) if amounts[0] > 0 else None)


@final
@dataclass(frozen=True, slots=True)
class RenyiFilter(Filter):
    """Σ D_α at one order α fixed when the dataset is created, or Σρ for a zCDP budget.

    **Guarantee.** Claim: all releases together satisfy the dataset's budget, however each was chosen. Proof: at a fixed order
    the divergences of fully adaptive releases add while their sum stays below a bound fixed beforehand (Feldman & Zrnic 2021,
    Thm 3.1); the capacity is what that order allows at δ(1 − 2^-20) and min(ε, 40), and tails take the rest. For zCDP the same
    holds at every order at once. α is the order at which a Gaussian release may be largest.
    """

    name: ClassVar[str] = "renyi"

    def capacity(self, budget: Budget) -> Capacity:
        """Give (divergence, tail) and the order."""
        return _renyi_capacity(budget)

    def cost(self, event: Event, declared: Budget, capacity: Capacity) -> Cost:
        """Give the event's divergence at the dataset's order, and its tail."""
        _checked(event, declared, self.name)
        divergence = event.zcdp_rho() if capacity.order is None else event.renyi(capacity.order)
        if divergence is None or not (math.isfinite(divergence) and divergence >= 0.0):
            raise EventRefused(
                f"The dataset's renyi filter prices a release by its Rényi divergence, and the event of kind {event.kind!r} has none "
                "that is known and finite. Use a solver whose noise is Gaussian or a selection, or charge a dataset that was "
                "created with filter='basic', which takes every event."
            )
        return divergence, event.delta0

    def measure(self, cost: Cost) -> Total:
        """Give the divergence and the tail."""
        return Fraction(cost[0]), Fraction(cost[1])

    def remaining(self, capacity: Capacity, spent: Iterable[Cost]) -> Remaining:
        """Give the divergence that is left."""
        left = _left(self, capacity, spent)
        amounts = float_at_most(left[0]), float_at_most(left[1])
        what = "rho" if capacity.order is None else f"Rényi divergence of order {capacity.order:g}"
        sentence = f"{what} {amounts[0]:.6g} of {capacity.limits[0]:.6g} remains."
        spendable = capacity.order is None and amounts[0] > 0
        return Remaining(amounts, capacity.limits, sentence, Budget.zcdp(amounts[0]) if spendable else None)


def filter_named(name: str) -> Filter:
    """Give the filter of a name: "basic", "gdp" or "renyi"."""
    filters: dict[str, Filter] = {f.name: f for f in (BasicFilter(), GdpFilter(), RenyiFilter())}
    if name not in filters:
        raise InvalidParameter(
            f"filter={name!r} names no privacy filter, and how charges add up cannot be guessed. Write 'basic' (epsilons and "
            "deltas add up; takes every release), 'gdp' (best for many Gaussian releases) or 'renyi'."
        )
    return filters[name]


@lru_cache(maxsize=1024)
def _gdp_capacity(budget: Budget) -> Capacity:
    _finite(budget, "gdp")
    if budget.mu is not None:
        return Capacity("gdp", (budget.mu, TAIL_ALLOWANCE))
    if budget.rho is not None:
        return Capacity("gdp", (root_at_most(2 * Fraction(budget.rho)), TAIL_ALLOWANCE))
    epsilon, delta, tail = _reserved(budget, "gdp")
    return Capacity("gdp", (gdp_mu(epsilon, delta), tail))


@lru_cache(maxsize=1024)
def _renyi_capacity(budget: Budget) -> Capacity:
    _finite(budget, "renyi")
    if budget.rho is not None:
        return Capacity("renyi", (budget.rho, TAIL_ALLOWANCE))
    if budget.mu is not None:
        raise BudgetError(
            f"A dataset was to be created with {budget!r} under the renyi filter, and a bound on Rényi divergences does not imply "
            "Gaussian differential privacy. Create the dataset with filter='gdp', or state the budget as Budget(epsilon, "
            "delta) or Budget.zcdp(rho)."
        )
    epsilon, delta, tail = _reserved(budget, "renyi")
    order = best_order(epsilon, delta)
    limit = order_capacity(order, epsilon, delta)
    if limit <= 0.0:
        raise BudgetError(
            f"{budget!r} is too small for the renyi filter: no order allows any release. Use filter='gdp'."
        )
    return Capacity("renyi", (limit, tail), order)


def _reserved(budget: Budget, name: str) -> tuple[float, float, float]:
    """Give the ε and δ left for exact laws, and the total variation that the rest of δ pays for."""
    if budget.delta == 0.0:
        raise BudgetError(
            f"A dataset was to be created with {budget!r} under the {name} filter, which needs a positive delta. State one well below "
            "one over the number of records, for example 1/n², or create the dataset with filter='basic' for pure releases only."
        )
    epsilon, reserve = min(budget.epsilon, LARGEST_EPSILON), budget.delta * TAIL_SHARE
    return epsilon, budget.delta - reserve, reserve * (1.0 - 2.0**-20) / (1.0 + math.exp(epsilon))


def _finite(budget: Budget, name: str) -> None:
    if not budget.is_private:
        raise BudgetError(
            f"A dataset was to be created with epsilon = ∞ under the {name} filter. Such a budget never runs out, so nothing is kept "
            "by recording charges against it. State a finite budget."
        )


def _checked(event: Event, declared: Budget, name: str) -> None:
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


def _left(rule: Filter, capacity: Capacity, spent: Iterable[Cost]) -> Total:
    limit, total = rule.measure(capacity.limits), rule.total(spent)
    return max(limit[0] - total[0], Fraction(0)), max(limit[1] - total[1], Fraction(0))
