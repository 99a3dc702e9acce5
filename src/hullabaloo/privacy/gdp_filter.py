"""The gdp filter: μ adds up as the root of a sum of squares."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, final

from hullabaloo.errors import BudgetError, EventRefused
from hullabaloo.privacy._rounding import float_at_most, root_at_most
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
from hullabaloo.privacy.gaussian_dp import gdp_mu


@final
@dataclass(frozen=True, slots=True)
class GdpFilter(Filter):
    """√Σμ² ≤ μ: best for many Gaussian releases.

    **Guarantee.** Claim: all releases together satisfy the dataset's budget, however each was chosen. Proof: μ-GDP composes
    under full adaptivity while Σμ² stays below a bound fixed beforehand (Smith & Thakurta 2022, Thm 1), the tails add in total
    variation, and μ is calibrated to δ(1 − 2^-20), the tails to the rest, at an ε' ≤ ε (ε itself unless e^ε 2^-89 is above that rest).
    """

    name: ClassVar[str] = "gdp"
    power: ClassVar[int] = 2

    def capacity(self, budget: Budget) -> Capacity:
        """Give (μ, tail)."""
        return _gdp_capacity(budget)

    def cost(self, event: Event, declared: Budget, capacity: Capacity) -> Cost:
        """Give the event's μ and tail."""
        refuse_unpaid(event, declared, self.name)
        mu = event.gdp_mu()
        if mu is None or not math.isfinite(mu):
            raise EventRefused(
                f"The dataset's gdp filter prices a release by its Gaussian-DP parameter mu, and the event of kind {event.kind!r} has "
                "none that is known. Use a solver whose noise is Gaussian or a selection, or charge a dataset that was created "
                "with filter='basic', which takes every event."
            )
        return mu, event.delta0

    def left(self, capacity: Capacity, totals: Totals) -> Totals:
        """Give the exact μ² and tail that are left."""
        return Fraction(capacity[0]) ** 2 - totals[0], Fraction(capacity[1]) - totals[1]

    def remaining(self, capacity: Capacity, totals: Totals) -> Remaining:
        """Give the μ that is left."""
        square, tail = self.left(capacity, totals)
        mu = root_at_most(square)
        sentence = f"mu {mu:.6g} of {capacity[0]:.6g} remains (mu adds up as the root of a sum of squares)."
        budget = Budget.gdp(mu) if mu > 0.0 else None
        return Remaining((mu, float_at_most(tail)), capacity[:2], sentence, budget)


@lru_cache(maxsize=1024)
def _gdp_capacity(budget: Budget) -> Capacity:
    refuse_infinite(budget, "gdp")
    if budget.mu is not None:
        return budget.mu, TAIL_ALLOWANCE
    if budget.rho is not None:
        raise BudgetError(
            f"{budget!r} was stated under the gdp filter, which keeps Gaussian differential privacy. Create it "
            f"with filter='renyi', or with Budget.gdp({root_at_most(2 * Fraction(budget.rho))!r}), which implies this budget."
        )
    epsilon, delta, tail = reserved(budget, "gdp")
    return gdp_mu(epsilon, delta), tail
