"""Events: frozen records of what one noisy release, or a composition of them, can reveal at most.

An event states the cost of **one** use; `composition.compose` counts. The noise of a lattice sampler is cut in its far
tail: each draw differs from the exact law by at most `TAIL_MASS` in total variation, which every event with draws carries
as ``delta0`` and every profile adds as ``(1 + e^ε) delta0``.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, final

from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import bounded_range, pure_dp
from hullabaloo.privacy._rounding import float_at_least, float_at_most, padded, reciprocal_at_least
from hullabaloo.privacy.gaussian_dp import gdp_delta
from hullabaloo.privacy.renyi import checked_order

TAIL_MASS = 2.0**-130
"""Total variation between one draw of the lattice sampler and the law it stands for (`NOISE`: cut at 13.25 σ)."""


class Event(ABC):
    """The cost of one release, or of a composition: what plans, ledgers and cards use, and nothing else."""

    __slots__ = ()
    kind: ClassVar[str]

    @property
    @abstractmethod
    def delta0(self) -> float:
        """Give the probability mass outside the exact law that the other methods describe."""

    @abstractmethod
    def gdp_mu(self) -> float | None:
        """Give a μ for which the exact law is μ-GDP, rounded up; None when none is known."""

    @abstractmethod
    def renyi(self, alpha: float) -> float:
        """Give an upper bound of the Rényi divergence of order α > 1 of the exact law, both ways."""

    @abstractmethod
    def zcdp_rho(self) -> float | None:
        """Give a ρ for which the exact law is ρ-zCDP (``renyi(α) ≤ ρα`` for all α > 1); None when none is known."""

    @abstractmethod
    def pure_epsilon(self) -> float:
        """Give an ε for which the exact law is (ε, 0)-DP; ∞ when there is none."""

    @abstractmethod
    def profile(self, epsilon: float) -> float:
        """Give a δ for which the release, its tail included, is (ε, δ)-DP."""

    @abstractmethod
    def group(self, k: int) -> "Event":
        """Give the event of the same release between tables k records apart."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Give a JSON-safe dictionary from which `event_from_dict` makes an equal event."""


def with_tail(exact: Callable[[float], float], mass: float, epsilon: float) -> float:
    """Add the tail to an exact profile.

    **Guarantee.** Claim: if the exact law is (ε, δ(ε))-DP and the released law within ``mass`` of it in total variation for
    every table, the release is (ε, δ(ε') + (1 + e^ε') mass)-DP for every ε' ≤ ε. Proof: ``P̃(S) ≤ P(S) + m ≤ e^ε' Q(S) + δ + m
    ≤ e^ε'(Q̃(S) + m) + δ + m``, and (ε', δ)-DP implies (ε, δ)-DP. Where the tail counts, a search finds a good ε'; every ε' tried
    is valid.
    """
    epsilon = float(epsilon)
    if not epsilon >= 0.0:
        raise InvalidParameter(f"epsilon={epsilon!r} is not a number of at least 0; a privacy loss is never negative.")
    if mass == 0.0:
        return exact(epsilon)
    if mass >= 0.5:
        return 1.0

    def total(e: float) -> float:
        return min(1.0, padded(exact(e) + (1.0 + math.exp(e)) * mass, 16.0))

    high = min(epsilon, -math.log(mass))  # beyond it the tail alone is above 1
    best, at_high = total(high), exact(high)
    if (1.0 + math.exp(high)) * mass <= 1e-9 * at_high:
        return best
    low, ratio = 0.0, (math.sqrt(5.0) - 1.0) / 2.0
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        at_left, at_right = total(left), total(right)
        best = min(best, at_left, at_right)
        low, high = (low, right) if at_left < at_right else (left, high)
    return best


@final
@dataclass(frozen=True, slots=True)
class GaussianEvent(Event):
    """One Gaussian release: noise multiplier ``σ/Δ₂`` for the relation in force, ``samples`` lattice draws."""

    noise_multiplier: float
    samples: int = 0
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        """Refuse what is not a noise multiplier."""
        _set_positive(self, "noise_multiplier")
        _set_count(self, "samples")

    @property
    def delta0(self) -> float:
        """Give ``samples · 2^-130``."""
        return self.samples * TAIL_MASS

    def gdp_mu(self) -> float:
        """Give ``1/noise_multiplier``, exact up to one rounding (Dong, Roth & Su 2022, Thm 2.7)."""
        return reciprocal_at_least(self.noise_multiplier)

    def renyi(self, alpha: float) -> float:
        """Give ``α μ²/2`` (Mironov 2017, Prop. 7)."""
        return padded(checked_order(alpha) * self.gdp_mu() ** 2 / 2.0, 4.0)

    def zcdp_rho(self) -> float:
        """Give ``μ²/2`` (Bun & Steinke 2016, Prop. 1.6)."""
        return padded(self.gdp_mu() ** 2 / 2.0, 4.0)

    def pure_epsilon(self) -> float:
        """Give ∞."""
        return math.inf

    def profile(self, epsilon: float) -> float:
        """Give the exact Gaussian profile plus the tail."""
        mu = self.gdp_mu()
        return with_tail(lambda e: gdp_delta(mu, e), self.delta0, epsilon)

    def group(self, k: int) -> "GaussianEvent":
        """Give the event of a shift k times as long (kμ-GDP; Dong, Roth & Su 2022, Thm 2.14)."""
        return GaussianEvent(_shrunk(self.noise_multiplier, k), self.samples)

    def to_dict(self) -> dict[str, Any]:
        """Give kind, noise_multiplier, samples."""
        return _fields(self)


@final
@dataclass(frozen=True, slots=True)
class LaplaceEvent(Event):
    """One Laplace release: noise multiplier ``b/Δ₁``, pure ε = 1/noise_multiplier apart from the tail of its draws."""

    noise_multiplier: float
    samples: int = 0
    kind: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        """Refuse what is not a noise multiplier."""
        _set_positive(self, "noise_multiplier")
        _set_count(self, "samples")

    @property
    def delta0(self) -> float:
        """Give ``samples · 2^-130``."""
        return self.samples * TAIL_MASS

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

    def profile(self, epsilon: float) -> float:
        """Give the exact profile of a one-coordinate shift, the worst of its l1 norm, plus the tail."""
        strength = self.pure_epsilon()
        return with_tail(lambda e: pure_dp.laplace_profile(strength, e), self.delta0, epsilon)

    def group(self, k: int) -> "LaplaceEvent":
        """Give the event of a shift k times as long."""
        return LaplaceEvent(_shrunk(self.noise_multiplier, k), self.samples)

    def to_dict(self) -> dict[str, Any]:
        """Give kind, noise_multiplier, samples."""
        return _fields(self)


@final
@dataclass(frozen=True, slots=True)
class SelectionEvent(Event):
    """One exponential mechanism: ε-bounded range, hence ε-DP and ``ε²/8``-zCDP."""

    epsilon: float
    kind: ClassVar[str] = "selection"

    def __post_init__(self) -> None:
        """Refuse what is not a range."""
        _set_positive(self, "epsilon")

    @property
    def delta0(self) -> float:
        """Give 0: the selection is drawn exactly."""
        return 0.0

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
        return SelectionEvent(_grown(self.epsilon, k))

    def to_dict(self) -> dict[str, Any]:
        """Give kind, epsilon."""
        return _fields(self)


@final
@dataclass(frozen=True, slots=True)
class PermuteAndFlipEvent(Event):
    """One permute-and-flip selection: ε-DP, priced as randomised response of that strength (McKenna & Sheldon 2020)."""

    epsilon: float
    kind: ClassVar[str] = "permute-and-flip"

    def __post_init__(self) -> None:
        """Refuse what is not a positive ε."""
        _set_positive(self, "epsilon")

    @property
    def delta0(self) -> float:
        """Give 0: the selection is drawn exactly."""
        return 0.0

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
        return PermuteAndFlipEvent(_grown(self.epsilon, k))

    def to_dict(self) -> dict[str, Any]:
        """Give kind, epsilon."""
        return _fields(self)


@final
@dataclass(frozen=True, slots=True)
class NotPrivateEvent(Event):
    """A release without noise, or under a test key: ε = ∞. Every filter and every finite budget refuses it."""

    kind: ClassVar[str] = "not-private"

    @property
    def delta0(self) -> float:
        """Give 0."""
        return 0.0

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

    def pure_epsilon(self) -> float:
        """Give ∞."""
        return math.inf

    def profile(self, epsilon: float) -> float:
        """Give 1."""
        return with_tail(lambda _: 1.0, 0.0, epsilon)

    def group(self, k: int) -> "NotPrivateEvent":
        """Give itself."""
        _group_size(k)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Give kind."""
        return _fields(self)


def atom_from_dict(state: Mapping[str, Any]) -> Event:
    """Read an event that is not a composition; fail on an unknown kind or a wrong field."""
    kinds: dict[str, type[Event]] = {
        k.kind: k for k in (GaussianEvent, LaplaceEvent, SelectionEvent, PermuteAndFlipEvent, NotPrivateEvent)
    }
    rest = {name: value for name, value in state.items() if name != "kind"}
    cls = kinds.get(str(state.get("kind")))
    if cls is None:
        raise InvalidParameter(
            f"An event of kind {state.get('kind')!r} was read, and this version of the library prices only {sorted(kinds)} and "
            "'composed'. An unknown event cannot be priced, so it is not skipped: read it with the version that wrote it."
        )
    try:
        return cls(**rest)
    except TypeError:
        raise InvalidParameter(f"An event of kind {cls.kind!r} was read with the fields {sorted(rest)}.") from None


def _fields(event: Any) -> dict[str, Any]:
    return {"kind": event.kind} | {f.name: getattr(event, f.name) for f in fields(event)}


def _set_positive(event: Any, name: str) -> None:
    """Store a field as a float after checking that it is positive and finite."""
    given = getattr(event, name)
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = math.nan
    if not (number > 0.0 and math.isfinite(number)) or isinstance(given, (bool, str)):
        raise InvalidParameter(
            f"{type(event).__name__} was given {name}={given!r}, which is not a positive finite number. A cost that cannot "
            "be computed must not be recorded; state a release without noise as NotPrivateEvent()."
        )
    object.__setattr__(event, name, number)


def _set_count(event: Any, name: str) -> None:
    """Store a field as an int after checking that it is a count."""
    given = getattr(event, name)
    if isinstance(given, bool) or not hasattr(given, "__index__") or given < 0:
        raise InvalidParameter(
            f"{type(event).__name__} was given {name}={given!r}, which is not a whole number from 0 on."
        )
    object.__setattr__(event, name, int(given))


def _group_size(k: int) -> int:
    """Give k, or refuse what is not a number of records."""
    if isinstance(k, bool) or not hasattr(k, "__index__") or k < 1:
        raise InvalidParameter(f"A group of k={k!r} records was asked for; k must be a whole number from 1 on.")
    return int(k)


def _grown(epsilon: float, k: int) -> float:
    """Give kε rounded up."""
    return float_at_least(Fraction(epsilon) * _group_size(k))


def _shrunk(noise_multiplier: float, k: int) -> float:
    """Give noise_multiplier/k rounded down."""
    return float_at_most(Fraction(noise_multiplier) / _group_size(k))
