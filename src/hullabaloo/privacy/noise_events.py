"""The events of single releases: numbers with noise, choices of one candidate out of many, and numbers without noise."""

import math
from dataclasses import dataclass
from typing import Self

from hullabaloo.privacy import bounded_range, pure_dp
from hullabaloo.privacy._rounding import padded, reciprocal_at_least
from hullabaloo.privacy.events import Event, group_size, grown, set_count, set_positive, shrunk
from hullabaloo.privacy.gaussian_dp import gdp_delta
from hullabaloo.privacy.renyi import checked_order


@dataclass(frozen=True, slots=True)
class NoiseEvent(Event):
    """One release of numbers with noise: its scale over the sensitivity, and how many lattice draws it takes."""

    noise_multiplier: float
    samples: int = 0

    def __post_init__(self) -> None:
        """Refuse what is not a noise multiplier."""
        set_positive(self, "noise_multiplier")
        set_count(self, "samples")

    def group(self, k: int) -> Self:
        """Give the event of a shift k times as long (of Gaussian noise kμ-GDP; Dong, Roth & Su 2022, Thm 2.14)."""
        return type(self)(shrunk(self.noise_multiplier, k), self.samples)


@dataclass(frozen=True, slots=True)
class GaussianEvent(NoiseEvent):
    """One Gaussian release: noise multiplier ``σ/Δ₂`` for the relation in force, ``samples`` lattice draws."""

    kind = "gaussian"

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


@dataclass(frozen=True, slots=True)
class LaplaceEvent(NoiseEvent):
    """One Laplace release: noise multiplier ``b/Δ₁``, pure ε = 1/noise_multiplier apart from the tail of its draws."""

    kind = "laplace"

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


@dataclass(frozen=True, slots=True)
class ChoiceEvent(Event):
    """One choice of pure ε."""

    epsilon: float

    def __post_init__(self) -> None:
        """Refuse what is not a positive ε."""
        set_positive(self, "epsilon")

    def pure_epsilon(self) -> float:
        """Give ε: a range of losses of length ε contains 0."""
        return self.epsilon

    def group(self, k: int) -> Self:
        """Give kε: ranges of k neighbouring steps add up, and so does pure ε (Dwork & Roth 2014, Thm 2.2)."""
        return type(self)(grown(self.epsilon, k))


@dataclass(frozen=True, slots=True)
class SelectionEvent(ChoiceEvent):
    """One exponential mechanism: ε-bounded range, hence ε-DP and ``ε²/8``-zCDP."""

    kind = "selection"

    def gdp_mu(self) -> float:
        """Give `bounded_range.range_mu`, about 0.63 ε."""
        return bounded_range.range_mu(self.epsilon)

    def renyi(self, alpha: float) -> float:
        """Give `bounded_range.range_renyi`, at most ``α ε²/8``."""
        return bounded_range.range_renyi(self.epsilon, checked_order(alpha))

    def zcdp_rho(self) -> float:
        """Give ``ε²/8`` (Cesar & Rogers 2021)."""
        return padded(self.epsilon**2 / 8.0, 4.0)

    def exact(self, epsilon: float) -> float:
        """Give the profile of the worst bounded-range pair."""
        return bounded_range.range_profile(self.epsilon, epsilon)


@dataclass(frozen=True, slots=True)
class PermuteAndFlipEvent(ChoiceEvent):
    """One permute-and-flip selection: ε-DP, priced as randomised response of that strength (McKenna & Sheldon 2020)."""

    kind = "permute-and-flip"

    def gdp_mu(self) -> float:
        """Give `pure_dp.pure_mu`."""
        return pure_dp.pure_mu(self.epsilon)

    def renyi(self, alpha: float) -> float:
        """Give the curve of randomised response."""
        return pure_dp.response_renyi(self.epsilon, checked_order(alpha))

    def zcdp_rho(self) -> float:
        """Give ``ε²/2`` (Bun & Steinke 2016, Prop. 1.4)."""
        return padded(self.epsilon**2 / 2.0, 4.0)

    def exact(self, epsilon: float) -> float:
        """Give the profile of randomised response."""
        return pure_dp.response_profile(self.epsilon, epsilon)
