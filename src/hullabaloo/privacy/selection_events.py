"""The events of choices: one candidate out of many."""

from dataclasses import dataclass
from typing import final

from hullabaloo.privacy import bounded_range, pure_dp
from hullabaloo.privacy._rounding import padded
from hullabaloo.privacy.events import Event, grown, set_positive, with_tail
from hullabaloo.privacy.renyi import checked_order


@final
@dataclass(frozen=True, slots=True)
class SelectionEvent(Event):
    """One exponential mechanism: ε-bounded range, hence ε-DP and ``ε²/8``-zCDP."""

    epsilon: float
    kind = "selection"
    delta0 = 0.0

    def __post_init__(self) -> None:
        """Refuse what is not a range."""
        set_positive(self, "epsilon")

    def gdp_mu(self) -> float:
        """Give `bounded_range.range_mu`, about 0.63 ε."""
        return bounded_range.range_mu(self.epsilon)

    def renyi(self, alpha: float) -> float:
        """Give `bounded_range.range_renyi`, at most ``α ε²/8``."""
        return bounded_range.range_renyi(self.epsilon, checked_order(alpha))

    def zcdp_rho(self) -> float:
        """Give ``ε²/8`` (Cesar & Rogers 2021)."""
        return padded(self.epsilon**2 / 8.0, 4.0)

    def pure_epsilon(self) -> float:
        """Give ε: the interval of losses contains 0."""
        return self.epsilon

    def profile(self, epsilon: float) -> float:
        """Give the profile of the worst bounded-range pair."""
        return with_tail(lambda e: bounded_range.range_profile(self.epsilon, e), 0.0, epsilon)

    def group(self, k: int) -> "SelectionEvent":
        """Give range kε: ranges of k neighbouring steps add up."""
        return SelectionEvent(grown(self.epsilon, k))


@final
@dataclass(frozen=True, slots=True)
class PermuteAndFlipEvent(Event):
    """One permute-and-flip selection: ε-DP, priced as randomised response of that strength (McKenna & Sheldon 2020)."""

    epsilon: float
    kind = "permute-and-flip"
    delta0 = 0.0

    def __post_init__(self) -> None:
        """Refuse what is not a positive ε."""
        set_positive(self, "epsilon")

    def gdp_mu(self) -> float:
        """Give `pure_dp.pure_mu`."""
        return pure_dp.pure_mu(self.epsilon)

    def renyi(self, alpha: float) -> float:
        """Give the curve of randomised response."""
        return pure_dp.response_renyi(self.epsilon, checked_order(alpha))

    def zcdp_rho(self) -> float:
        """Give ``ε²/2`` (Bun & Steinke 2016, Prop. 1.4)."""
        return padded(self.epsilon**2 / 2.0, 4.0)

    def pure_epsilon(self) -> float:
        """Give ε."""
        return self.epsilon

    def profile(self, epsilon: float) -> float:
        """Give the profile of randomised response."""
        return with_tail(lambda e: pure_dp.response_profile(self.epsilon, e), 0.0, epsilon)

    def group(self, k: int) -> "PermuteAndFlipEvent":
        """Give kε-DP (Dwork & Roth 2014, Thm 2.2)."""
        return PermuteAndFlipEvent(grown(self.epsilon, k))
