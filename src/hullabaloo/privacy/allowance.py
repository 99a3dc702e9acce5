"""What one fit may spend, in the terms that solvers plan with: Gaussian μ, an ε₀ for selections, or a check of any event."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from hullabaloo.errors import CalibrationError, EventRefused, InvalidParameter
from hullabaloo.privacy.budget import Budget
from hullabaloo.privacy.calibrate import ROUNDING_ROOM, gaussian_mu, selection_epsilon
from hullabaloo.privacy.composition import compose
from hullabaloo.privacy.events import TAIL_MASS, Event
from hullabaloo.privacy.filters import filter_named

DRAWS = 1 << 40
"""More lattice draws than any plan can ask for: their truncation costs δ · (1 + e^ε) · 2^-90, charged in advance."""


class Calibration(StrEnum):
    """How noise is computed from a budget: by exact accounting, or as a paper prints it."""

    EXACT = "exact"
    PAPER = "paper"

    @classmethod
    def parse(cls, value: object) -> "Calibration":
        """Read "exact" or "paper"."""
        try:
            return cls(str(value))
        except ValueError:
            raise InvalidParameter(
                f"calibration={value!r} was given. Write 'exact' (the least noise that the budget allows) or 'paper' (the "
                "noise that the method's paper prints; the statement says what that really guarantees)."
            ) from None


@dataclass(frozen=True, slots=True)
class Allowance:
    """A budget as a plan sees it.

    Attributes:
        budget: what the caller allows.
        filter: the rule by which the dataset's ledger adds charges up, which the plan must fit into; None without a ledger.
        calibration: exact, or as printed in the paper of the solver in question.
        beside: what else the budget pays for, an event of a known μ; None for nothing. All that is told is of what it leaves: costs that do not add up
            as squares, of choices and of objective perturbation, are so composed with it once, in place of a search for how much of ε to set aside.
    """

    budget: Budget
    filter: str | None = None
    calibration: Calibration = Calibration.EXACT
    beside: Event | None = None

    @classmethod
    def gdp(cls, mu: float) -> "Allowance":
        """The allowance of μ-Gaussian differential privacy; ∞ for none at all."""
        return cls(Budget(math.inf) if math.isinf(mu) else Budget.gdp(mu))

    @property
    def is_private(self) -> bool:
        """Whether noise is needed."""
        return self.budget.is_private

    @property
    def mu(self) -> float:
        """The Gaussian-DP cost that releases may compose to; ∞ when the budget is not private.

        Raises:
            CalibrationError: none, or `beside` leaves nothing.
        """
        whole = gaussian_mu(self.budget, samples=DRAWS, filter=self.filter)
        if self.beside is None:
            return whole
        taken = self.beside.gdp_mu()
        if taken is None or not taken < whole:
            raise CalibrationError(f"{self.budget.describe()} leaves nothing beside {self.beside!r}. Raise it.")
        return math.sqrt(whole**2 - taken**2) * (1.0 - ROUNDING_ROOM)

    @property
    def useful(self) -> float:
        """The share of ε that noise can make use of: beyond −log(`DRAWS` · 2^-130) the cut tails of draws alone cost more than any δ. 1 of other budgets."""
        return 1.0 if self.budget.pair is None else min(-math.log(DRAWS * TAIL_MASS) / self.budget.pair[0], 1.0)

    def selection_epsilon(self, count: int) -> float:
        """The largest ε₀ of each of `count` adaptive exponential mechanisms; ∞ when the budget is not private."""
        return selection_epsilon(self.budget, count, filter=self.filter, rest=self.beside)

    def takes(self, event: Event) -> bool:
        """Whether a plan of this cost may be charged."""
        if not self.is_private:
            return True
        event = event if self.beside is None else compose(event, self.beside)
        if self.filter is None:
            return self.budget.admits(event)
        try:
            return filter_named(self.filter).takes(event, self.budget)
        except EventRefused:
            return False

    def scaled(self, factor: float) -> "Allowance":
        """The allowance with ε (or μ; ρ by its square) multiplied, and nothing beside it."""
        budget = self.budget
        if not budget.is_private:
            return self
        if budget.pair is not None:
            scaled = Budget(budget.pair[0] * factor, budget.pair[1])
        elif budget.mu is not None:
            scaled = Budget.gdp(budget.mu * factor)
        else:
            assert budget.rho is not None
            scaled = Budget.zcdp(budget.rho * factor**2)
        return replace(self, budget=scaled, beside=None)
