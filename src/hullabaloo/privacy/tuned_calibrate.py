"""From a budget to what one run of a tuned mechanism may cost."""

import math
from functools import lru_cache

from hullabaloo.errors import CalibrationError
from hullabaloo.privacy._search import bisect
from hullabaloo.privacy.allowance import DRAWS, Allowance
from hullabaloo.privacy.budget import Budget
from hullabaloo.privacy.calibrate import ROUNDING_ROOM, refuse_pure
from hullabaloo.privacy.tuned_events import TunedEvent

_SMALLEST = 2.0**-40


@lru_cache(maxsize=1024)
def base_mu(budget: Budget, expected: float, shape: float | str, filter: str | None = None) -> float:
    """Give the largest μ of one run for which `TunedEvent(μ, expected, shape)` fits into a budget, to a relative 1e-4.

    With a filter's name, it must also fit as the one charge of a fresh dataset of this budget. Gives ∞ for a budget that is not private.

    Raises:
        CalibrationError: no μ does: a budget with δ = 0, one in Gaussian DP, or the gdp filter, for which a choice has no price.

    **Guarantee.** Claim: an `Allowance` of the budget and filter takes the event at ``result (1 + 2^-36)``, with `DRAWS` lattice draws a run.
    Proof: it was evaluated.
    """
    if not budget.is_private:
        return math.inf
    refuse_pure(budget, TunedEvent(1.0, expected, shape, DRAWS))
    if budget.mu is not None or filter == "gdp":
        raise CalibrationError(
            f"Tuning was to be paid from {budget!r} under the filter {filter or 'none'!r}, and the best of several runs has no Gaussian-DP "
            "parameter that is known. State the budget as Budget(epsilon, delta), and charge a dataset that was created with "
            "filter='basic' or filter='renyi'. Nothing was charged or read."
        )
    allowance = Allowance(budget, filter)

    def fits(mu: float) -> bool:
        return allowance.takes(TunedEvent(mu, expected, shape, DRAWS))

    good = 0.25
    while not fits(good):
        good /= 2.0
        if good < _SMALLEST:
            raise CalibrationError(
                f"{budget.describe()} pays for no tuning of {expected:g} expected runs, however much noise is drawn. State a larger budget, "
                "or expect fewer runs."
            )
    bad = 2.0 * good
    while bad < 2.0**10 and fits(bad):
        good, bad = bad, 2.0 * bad
    return bisect(bad, good, fits, tolerance=1e-4) / (1.0 + ROUNDING_ROOM)
