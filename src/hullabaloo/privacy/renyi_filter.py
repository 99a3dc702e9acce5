"""The renyi filter: divergences of one order, fixed beforehand, add up."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, final

from hullabaloo.errors import BudgetError, EventRefused
from hullabaloo.privacy._rounding import float_at_most
from hullabaloo.privacy.budget import TAIL_ALLOWANCE, Budget
from hullabaloo.privacy.events import Event
from hullabaloo.privacy.filters import (
    Capacity,
    Cost,
    Filter,
    Remaining,
    Totals,
    refuse_infinite,
    refuse_unpaid,
    reserved,
)
from hullabaloo.privacy.renyi import best_order, order_capacity


@final
@dataclass(frozen=True, slots=True)
class RenyiFilter(Filter):
    """Σ D_α at one order α fixed when the dataset is created, or Σρ for a zCDP budget.

    **Guarantee.** Claim: all releases together satisfy the dataset's budget, however each was chosen. Proof: at a fixed order
    the divergences of fully adaptive releases add while their sum stays below a bound fixed beforehand (Feldman & Zrnic 2021,
    Thm 3.1); the capacity is what that order allows at δ(1 − 2^-20) and an ε' ≤ ε as for gdp, and tails take the rest. For zCDP the same
    holds at every order at once. α is the order at which a Gaussian release may be largest.
    """

    name: ClassVar[str] = "renyi"
    power: ClassVar[int] = 1

    def capacity(self, budget: Budget) -> Capacity:
        """Give (divergence, tail, order)."""
        return _renyi_capacity(budget)

    def cost(self, event: Event, declared: Budget, capacity: Capacity) -> Cost:
        """Give the event's divergence at the dataset's order, and its tail."""
        refuse_unpaid(event, declared, self.name)
        divergence = event.renyi(capacity[2]) if capacity[2] else event.zcdp_rho()
        if divergence is None or not (math.isfinite(divergence) and divergence >= 0.0):
            raise EventRefused(
                f"The dataset's renyi filter prices a release by its Rényi divergence, and the event of kind {event.kind!r} has none "
                "that is known and finite. Use a solver whose noise is Gaussian or a selection, or charge a dataset that was "
                "created with filter='basic', which takes every event."
            )
        return divergence, event.delta0

    def left(self, capacity: Capacity, totals: Totals) -> Totals:
        """Give the exact divergence and tail that are left."""
        return Fraction(capacity[0]) - totals[0], Fraction(capacity[1]) - totals[1]

    def remaining(self, capacity: Capacity, totals: Totals) -> Remaining:
        """Give the divergence that is left."""
        exact = self.left(capacity, totals)
        left, tail = float_at_most(exact[0]), float_at_most(exact[1])
        what = f"Rényi divergence of order {capacity[2]:g}" if capacity[2] else "rho"
        sentence = f"{what}: {left:.6g} of {capacity[0]:.6g} remains."
        budget = None if capacity[2] or left == 0.0 else Budget.zcdp(left)
        return Remaining((left, tail), capacity[:2], sentence, budget)


@lru_cache(maxsize=1024)
def _renyi_capacity(budget: Budget) -> Capacity:
    refuse_infinite(budget, "renyi")
    if budget.rho is not None:
        return budget.rho, TAIL_ALLOWANCE, 0.0
    if budget.mu is not None:
        raise BudgetError(
            f"{budget!r} was stated under the renyi filter, and a bound on Rényi divergences does not imply "
            "Gaussian differential privacy. Create the dataset with filter='gdp', or state the budget as Budget(epsilon, "
            "delta) or Budget.zcdp(rho)."
        )
    epsilon, delta, tail = reserved(budget, "renyi")
    order = best_order(epsilon, delta)
    limit = order_capacity(order, epsilon, delta)
    if limit <= 0.0:
        raise BudgetError(
            f"{budget!r} is too small for the renyi filter: no order allows any release. Use filter='gdp'."
        )
    return limit, tail, order
