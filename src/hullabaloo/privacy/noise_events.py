"""The events of single releases: numbers with noise, choices of one candidate out of many, and numbers without noise."""

import math
from dataclasses import dataclass
from typing import final

from hullabaloo.privacy import bounded_range, pure_dp
from hullabaloo.privacy._rounding import padded, reciprocal_at_least
from hullabaloo.privacy.events import Event, group_size, grown, set_count, set_positive, shrunk
from hullabaloo.privacy.gaussian_dp import gdp_delta
from hullabaloo.privacy.renyi import checked_order


@final
@dataclass(frozen=True, slots=True)
class GaussianEvent(Event):
    """One Gaussian release: noise multiplier ``σ/Δ₂`` for the relation in force, ``samples`` lattice draws."""

    noise_multiplier: float
    samples: int = 0
    kind = "gaussian"

    def __post_init__(self) -> None:
        """Refuse what is not a noise multiplier."""
        set_positive(self, "noise_multiplier")
        set_count(self, "samples")

    def gdp_mu(self) -> float:
        """Give ``1/noise_multiplier``, exact up to one rounding (Dong, Roth & Su 2022, Thm 2.7)."""
        return reciprocal_at_least(self.noise_multiplier)

    def renyi(self, alpha: float) -> float:
        """Give ``α μ²/2`` (Mironov 2017, Prop. 7)."""
        return padded(checked_order(alpha) * self.gdp_mu() ** 2 / 2.0, 4.0)

    def zcdp_rho(self) -> float:
        """Give ``μ²/2`` (Bun & Steinke 2016, Prop. 1.6)."""
        return padded(self.gdp_mu() ** 2 / 2.0, 4.0)

    def exact(self, epsilon: float) -> float:
        """Give the exact Gaussian profile."""
        return gdp_delta(self.gdp_mu(), epsilon)

    def group(self, k: int) -> "GaussianEvent":
        """Give the event of a shift k times as long (kμ-GDP; Dong, Roth & Su 2022, Thm 2.14)."""
        return GaussianEvent(shrunk(self.noise_multiplier, k), self.samples)


@final
@dataclass(frozen=True, slots=True)
class LaplaceEvent(Event):
    """One Laplace release: noise multiplier ``b/Δ₁``, pure ε = 1/noise_multiplier apart from the tail of its draws."""

    noise_multiplier: float
    samples: int = 0
    kind = "laplace"

    def __post_init__(self) -> None:
        """Refuse what is not a noise multiplier."""
        set_positive(self, "noise_multiplier")
        set_count(self, "samples")

    def gdp_mu(self) -> float:
        """Give the μ of pure ε-DP, `pure_dp.pure_mu`."""
        return pure_dp.pure_mu(self.pure_epsilon())

    def renyi(self, alpha: float) -> float:
        """Give the exact curve, `pure_dp.laplace_renyi`."""
        return pure_dp.laplace_renyi(self.pure_epsilon(), checked_order(alpha))

    def zcdp_rho(self) -> float:
        """Give ``ε²/2`` (Bun & Steinke 2016, Prop. 1.4)."""
        return padded(self.pure_epsilon() ** 2 / 2.0, 4.0)

    def pure_epsilon(self) -> float:
        """Give ``1/noise_multiplier``."""
        return reciprocal_at_least(self.noise_multiplier)

    def exact(self, epsilon: float) -> float:
        """Give the exact profile of a one-coordinate shift, the worst of its l1 norm."""
        return pure_dp.laplace_profile(self.pure_epsilon(), epsilon)

    def group(self, k: int) -> "LaplaceEvent":
        """Give the event of a shift k times as long."""
        return LaplaceEvent(shrunk(self.noise_multiplier, k), self.samples)


@final
@dataclass(frozen=True, slots=True)
class NotPrivateEvent(Event):
    """A release without noise, or under a test key: ε = ∞. Every filter and every finite budget refuses it."""

    kind = "not-private"

    def gdp_mu(self) -> float:
        """Give ∞."""
        return math.inf

    def renyi(self, alpha: float) -> float:
        """Give ∞."""
        checked_order(alpha)
        return math.inf

    def zcdp_rho(self) -> float:
        """Give ∞."""
        return math.inf

    def exact(self, epsilon: float) -> float:
        """Give 1."""
        return 1.0

    def group(self, k: int) -> "NotPrivateEvent":
        """Give itself."""
        group_size(k)
        return self


# The events of choices: one candidate out of many.


@final
@dataclass(frozen=True, slots=True)
class SelectionEvent(Event):
    """One exponential mechanism: ε-bounded range, hence ε-DP and ``ε²/8``-zCDP."""

    epsilon: float
    kind = "selection"

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

    def exact(self, epsilon: float) -> float:
        """Give the profile of the worst bounded-range pair."""
        return bounded_range.range_profile(self.epsilon, epsilon)

    def group(self, k: int) -> "SelectionEvent":
        """Give range kε: ranges of k neighbouring steps add up."""
        return SelectionEvent(grown(self.epsilon, k))


@final
@dataclass(frozen=True, slots=True)
class PermuteAndFlipEvent(Event):
    """One permute-and-flip selection: ε-DP, priced as randomised response of that strength (McKenna & Sheldon 2020)."""

    epsilon: float
    kind = "permute-and-flip"

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

    def exact(self, epsilon: float) -> float:
        """Give the profile of randomised response."""
        return pure_dp.response_profile(self.epsilon, epsilon)

    def group(self, k: int) -> "PermuteAndFlipEvent":
        """Give kε-DP (Dwork & Roth 2014, Thm 2.2)."""
        return PermuteAndFlipEvent(grown(self.epsilon, k))
