"""The basic filter: declared epsilons and deltas add up."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

from hullabaloo.errors import BudgetError, EventRefused
from hullabaloo.privacy._rounding import float_at_most
from hullabaloo.privacy.budget import Budget
from hullabaloo.privacy.events import Event
from hullabaloo.privacy.filters import Capacity, Cost, Filter, Remaining, Totals, refuse_infinite, refuse_unpaid

BASIC_ROOM = Fraction(1) + Fraction(1, 2**51)
"""How far the basic filter's exact sums of floats may pass the capacity, once and for all charges together."""


@final
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

    def capacity(self, budget: Budget) -> Capacity:
        """Give (ε, δ)."""
        refuse_infinite(budget, self.name)
        if budget.pair is None:
            raise BudgetError(
                f"{budget!r} was stated under the basic filter, which adds up epsilons and deltas and "
                "finds none in it. State the budget as Budget(epsilon, delta), or create the dataset with filter='"
                f"{'gdp' if budget.mu is not None else 'renyi'}'."
            )
        return budget.pair

    def cost(self, event: Event, declared: Budget, capacity: Capacity) -> Cost:
        """Give the (ε, δ) that the charge declares."""
        refuse_unpaid(event, declared, self.name)
        if declared.pair is None:
            raise EventRefused(
                f"A charge declares {declared!r}, and the dataset's basic filter adds up epsilons and deltas, of which it has none; "
                "at which delta to convert it is not the filter's choice. Declare Budget(epsilon, delta), for example with "
                "the epsilon that budget.epsilon_at(delta) gives."
            )
        return declared.pair

    def left(self, capacity: Capacity, totals: Totals) -> Totals:
        """Give the exact differences, the room for rounding included."""
        return BASIC_ROOM * Fraction(capacity[0]) - totals[0], BASIC_ROOM * Fraction(capacity[1]) - totals[1]

    def remaining(self, capacity: Capacity, totals: Totals) -> Remaining:
        """Give the ε and δ that are left, differences below the room for rounding counted as none."""
        gross, limits = self.left(capacity, totals), capacity[:2]
        rounding = [(BASIC_ROOM - 1) * Fraction(limit) for limit in limits]
        net = [
            0.0 if rest <= 2 * more else float_at_most(rest - more) for rest, more in zip(gross, rounding, strict=True)
        ]
        sentence = f"epsilon {net[0]:.6g} of {limits[0]:.6g} and delta {net[1]:.6g} of {limits[1]:.6g} remain."
        return Remaining(tuple(net), limits, sentence, Budget(net[0], net[1]) if net[0] > 0.0 else None)
