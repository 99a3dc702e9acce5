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
from typing import ClassVar

from hullabaloo.errors import BudgetError, EventRefused, InvalidParameter
from hullabaloo.privacy._rounding import float_at_most, root_at_most
from hullabaloo.privacy.budget import TAIL_ALLOWANCE, Budget
from hullabaloo.privacy.composition import ComposedEvent
from hullabaloo.privacy.events import Event
from hullabaloo.privacy.gaussian_dp import gdp_mu
from hullabaloo.privacy.noise_events import NotPrivateEvent
from hullabaloo.privacy.renyi import best_order, order_capacity

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
    room: ClassVar[Fraction] = Fraction(1)

    def capacity(self, budget: Budget) -> Capacity:
        """Give what a dataset of this budget may spend; raise BudgetError when this filter cannot keep the budget."""
        return _capacity(self, budget)

    @abstractmethod
    def keeps(self, budget: Budget) -> Capacity:
        """Work the capacity of a finite budget out."""

    @abstractmethod
    def cost(self, event: Event, declared: Budget, capacity: Capacity) -> Cost:
        """Give what a charge takes; raise EventRefused, with the remedy, when this filter cannot price it."""

    def left(self, capacity: Capacity, totals: Totals) -> Totals:
        """Give exactly what is left, in the units that add up (μ² under gdp), room for rounding included; negative when overspent."""
        main, tail = _exact(capacity[:2], self.power)
        return self.room * main - totals[0], self.room * tail - totals[1]

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


@lru_cache(maxsize=1024)
def _capacity(rule: Filter, budget: Budget) -> Capacity:
    if not budget.is_private:
        raise BudgetError(
            f"A budget of epsilon = ∞ was stated under the {rule.name} filter. Such a budget never runs out, so nothing is kept "
            "by recording charges against it. State a finite budget."
        )
    return rule.keeps(budget)


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


# The basic filter: declared epsilons and deltas add up.


BASIC_ROOM = Fraction(1) + Fraction(1, 2**51)
"""How far the basic filter's exact sums of floats may pass the capacity, once and for all charges together."""


@dataclass(frozen=True, slots=True)
class BasicFilter(Filter):
    """Σε and Σδ of the declared budgets; takes every private event. The default.

    **Guarantee.** Claim: all releases together are (ε, δ)-DP for the dataset's budget, each number up to a relative 2^-51, however
    each was chosen. Proof: a charge's event is admitted by the (ε_i, δ_i) it declares; basic composition is a valid filter (Rogers,
    Roth, Ullman & Vadhan 2016, Thm 3.6); the floats are summed exactly and the sum is at most (1 + 2^-51) times the capacity,
    however many charges there are. That room is what rounding needs: reals r_i with Σ r_i ≤ R, written as the nearest floats
    x_i and X, have ``Σ x_i ≤ (1 + 2^-53) R ≤ (1 + 2^-51) X``. So ten charges of 0.1 and seven of 1/7 fill 1, and no further one
    above 2^-51 fits.

    A charge that declares a GDP or zCDP budget is refused, not converted: which δ to convert at is the user's choice.
    """

    name: ClassVar[str] = "basic"
    power: ClassVar[int] = 1
    room: ClassVar[Fraction] = BASIC_ROOM

    def keeps(self, budget: Budget) -> Capacity:
        """Give (ε, δ)."""
        if budget.pair is None:
            raise BudgetError(
                f"{budget!r} was stated under the basic filter, which adds up epsilons and deltas and "
                f"finds none in it. State the budget as Budget(epsilon, delta), or create the dataset with filter='{'gdp' if budget.mu is not None else 'renyi'}'."
            )
        return budget.pair

    def cost(self, event: Event, declared: Budget, capacity: Capacity) -> Cost:
        """Give the (ε, δ) that the charge declares."""
        refuse_unpaid(event, declared, self.name)
        if declared.pair is None:
            raise EventRefused(
                f"A charge declares {declared!r}, and the dataset's basic filter adds up epsilons and deltas, of which it has none; "
                "at which delta to convert it is not the filter's choice. Declare Budget(epsilon, delta), for example with the epsilon that budget.epsilon_at(delta) gives."
            )
        return declared.pair

    def remaining(self, capacity: Capacity, totals: Totals) -> Remaining:
        """Give the ε and δ that are left, differences below the room for rounding counted as none."""
        gross, limits = self.left(capacity, totals), capacity[:2]
        rounding = [(BASIC_ROOM - 1) * Fraction(limit) for limit in limits]
        net = [
            0.0 if rest <= 2 * more else float_at_most(rest - more) for rest, more in zip(gross, rounding, strict=True)
        ]
        sentence = f"epsilon {net[0]:.6g} of {limits[0]:.6g} and delta {net[1]:.6g} of {limits[1]:.6g} remain."
        if net[0] > 0.0 and net[1] == 0.0 and limits[1] > 0.0:
            sentence += " As no delta is left, only releases of delta 0 fit."
        return Remaining(tuple(net), limits, sentence, Budget(net[0], net[1]) if net[0] > 0.0 else None)


class CurveFilter(Filter):
    """A filter that prices an event by one number of its own, whatever its charge declares."""

    __slots__ = ()
    currency: ClassVar[str]

    def cost(self, event: Event, declared: Budget, capacity: Capacity) -> Cost:
        """Give the main cost of the event, and its tail."""
        refuse_unpaid(event, declared, self.name)
        main = self.main(event, capacity)
        if main is None or not (math.isfinite(main) and main >= 0.0):
            raise EventRefused(
                f"The dataset's {self.name} filter prices a release by its {self.currency}, and the event of kind {event.kind!r} has none "
                "that is known and finite. Use a solver whose noise is Gaussian or a selection, or charge a dataset that was "
                "created with filter='basic', which takes every event."
            )
        return main, event.delta0

    @abstractmethod
    def main(self, event: Event, capacity: Capacity) -> float | None:
        """Give the main cost of an event; None where there is none that is known."""


# The gdp filter: μ adds up as the root of a sum of squares.


@dataclass(frozen=True, slots=True)
class GdpFilter(CurveFilter):
    """√Σμ² ≤ μ: best for many Gaussian releases.

    **Guarantee.** Claim: all releases together satisfy the dataset's budget, however each was chosen. Proof: μ-GDP composes
    under full adaptivity while Σμ² stays below a bound fixed beforehand (Smith & Thakurta 2022, Thm 1), the tails add in total
    variation, and μ is calibrated to δ(1 − 2^-20), the tails to the rest, at an ε' ≤ ε (ε itself unless e^ε 2^-89 is above that rest).
    """

    name: ClassVar[str] = "gdp"
    currency: ClassVar[str] = "Gaussian-DP parameter mu"
    power: ClassVar[int] = 2

    def keeps(self, budget: Budget) -> Capacity:
        """Give (μ, tail)."""
        if budget.mu is not None:
            return budget.mu, TAIL_ALLOWANCE
        if budget.rho is not None:
            raise BudgetError(
                f"{budget!r} was stated under the gdp filter, which keeps Gaussian differential privacy. Create it "
                f"with filter='renyi', or with Budget.gdp({root_at_most(2 * Fraction(budget.rho))!r}), which implies this budget."
            )
        epsilon, delta, tail = reserved(budget, "gdp")
        return gdp_mu(epsilon, delta), tail

    def main(self, event: Event, capacity: Capacity) -> float | None:
        """Give the event's μ."""
        return event.gdp_mu()

    def remaining(self, capacity: Capacity, totals: Totals) -> Remaining:
        """Give the μ that is left."""
        square, tail = self.left(capacity, totals)
        mu = root_at_most(square)
        sentence = f"mu {mu:.6g} of {capacity[0]:.6g} remains (mu adds up as the root of a sum of squares)."
        budget = Budget.gdp(mu) if mu > 0.0 else None
        return Remaining((mu, float_at_most(tail)), capacity[:2], sentence, budget)


# The renyi filter: divergences of one order, fixed beforehand, add up.


@dataclass(frozen=True, slots=True)
class RenyiFilter(CurveFilter):
    """Σ D_α at one order α fixed when the dataset is created, or Σρ for a zCDP budget.

    **Guarantee.** Claim: all releases together satisfy the dataset's budget, however each was chosen. Proof: at a fixed order
    the divergences of fully adaptive releases add while their sum stays below a bound fixed beforehand (Feldman & Zrnic 2021,
    Thm 3.1); the capacity is what that order allows at δ(1 − 2^-20) and an ε' ≤ ε as for gdp, and tails take the rest. For zCDP the same
    holds at every order at once. α is the order at which a Gaussian release may be largest.
    """

    name: ClassVar[str] = "renyi"
    currency: ClassVar[str] = "Rényi divergence"
    power: ClassVar[int] = 1

    def keeps(self, budget: Budget) -> Capacity:
        """Give (divergence, tail, order)."""
        if budget.rho is not None:
            return budget.rho, TAIL_ALLOWANCE, 0.0
        if budget.mu is not None:
            raise BudgetError(
                f"{budget!r} was stated under the renyi filter, and a bound on Rényi divergences does not imply "
                "Gaussian differential privacy. Create the dataset with filter='gdp', or state the budget as Budget(epsilon, delta) or Budget.zcdp(rho)."
            )
        epsilon, delta, tail = reserved(budget, "renyi")
        order = best_order(epsilon, delta)
        limit = order_capacity(order, epsilon, delta)
        if limit <= 0.0:
            raise BudgetError(f"{budget!r} is too small for the renyi filter: no order allows a release. Use 'gdp'.")
        return limit, tail, order

    def main(self, event: Event, capacity: Capacity) -> float | None:
        """Give the event's divergence at the dataset's order."""
        return event.renyi(capacity[2]) if capacity[2] else event.zcdp_rho()

    def remaining(self, capacity: Capacity, totals: Totals) -> Remaining:
        """Give the divergence that is left."""
        exact = self.left(capacity, totals)
        left, tail = float_at_most(exact[0]), float_at_most(exact[1])
        what = f"Rényi divergence of order {capacity[2]:g}" if capacity[2] else "rho"
        sentence = f"{what}: {left:.6g} of {capacity[0]:.6g} remains."
        budget = None if capacity[2] or left == 0.0 else Budget.zcdp(left)
        return Remaining((left, tail), capacity[:2], sentence, budget)


FILTERS: dict[str, Filter] = {one.name: one for one in (BasicFilter(), GdpFilter(), RenyiFilter())}


def filter_named(name: str) -> Filter:
    """Give the filter of a name: "basic", "gdp" or "renyi"."""
    if not isinstance(name, str) or name not in FILTERS:
        raise InvalidParameter(
            f"filter={name!r} names no privacy filter, and how charges add up cannot be guessed. Write 'basic' (epsilons and "
            "deltas add up; takes every release), 'gdp' (best for many Gaussian releases) or 'renyi'."
        )
    return FILTERS[name]
