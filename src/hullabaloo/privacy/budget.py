"""Budget: what may be spent."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hullabaloo.codec import made, settle
from hullabaloo.errors import BudgetError
from hullabaloo.privacy._rounding import as_float, least
from hullabaloo.privacy.events import Event
from hullabaloo.privacy.gaussian_dp import gdp_delta, gdp_epsilon
from hullabaloo.privacy.renyi import Curve, renyi_delta

TAIL_ALLOWANCE = 2.0**-64
"""Total variation that a GDP or zCDP budget, which has no δ of its own, leaves to the cut tails of lattice noise."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Budget:
    """What may be spent: ``Budget(1.0, 1e-6)``, ``Budget.gdp(0.24)``, ``Budget.zcdp(0.024)``, ``Budget(math.inf)``.

    δ has no default: it bounds the probability that the guarantee at ε fails altogether, so it must be well below one over
    the number of records, for example 1/n². δ = 0 is pure differential privacy, which Gaussian noise cannot give.
    ``Budget(math.inf)`` is *not private*: no noise.

    Attributes:
        pair: (ε, δ), None for the other kinds; read it as ``epsilon`` and ``delta``.
        mu: the μ of a GDP budget, else None.
        rho: the ρ of a zCDP budget, else None.

    Raises BudgetError for ε ≤ 0, δ outside [0, 1), NaN, or a missing δ.

    Source: 000, Definition 1.3; 001, Definition 1; 001, Definition 2; 002, Definition 2.1.
    """

    pair: tuple[float, float] | None
    mu: float | None
    rho: float | None

    def __init__(self, epsilon: float, delta: float | None = None) -> None:
        """Check and store (ε, δ)."""
        eps = _number("epsilon", epsilon)
        if not eps > 0.0:
            raise BudgetError(
                f"A budget of epsilon={epsilon!r} was asked for. Epsilon bounds how much a release may depend on one record: "
                "at 0 or below nothing could be released at all. Choose a positive number, for example 1."
            )
        if delta is None:
            if not math.isinf(eps):
                raise BudgetError(
                    f"Budget(epsilon={eps:g}) states no delta. Delta bounds the probability that the guarantee fails "
                    "altogether, so it has no safe default: choose it well below one over the number of records, for example "
                    f"1/n² (for ten thousand records: Budget({eps:g}, 1e-8), in a shell --delta 1e-8)."
                )
            delta = 0.0
        dlt = _number("delta", delta)
        if not 0.0 <= dlt < 1.0:
            raise BudgetError(
                f"A budget of delta={delta!r} was asked for. Delta is the probability that the guarantee may fail: it lies "
                "between 0 and 1, and at 1 nothing is promised. Choose it well below one over the number of records, for example 1/n²."
            )
        settle(self, pair=(eps, dlt + 0.0), mu=None, rho=None)

    @classmethod
    def gdp(cls, mu: float) -> "Budget":
        """Give the budget of μ-Gaussian differential privacy (up to a total variation of 2^-64, see `TAIL_ALLOWANCE`)."""
        return cls._other("mu", mu)

    @classmethod
    def zcdp(cls, rho: float) -> "Budget":
        """Give the budget of ρ-zero-concentrated differential privacy (up to a total variation of 2^-64)."""
        return cls._other("rho", rho)

    @classmethod
    def _other(cls, name: str, value: float) -> "Budget":
        number = _number(name, value)
        if not (number > 0.0 and math.isfinite(number)):
            raise BudgetError(
                f"A budget of {name}={value!r} was asked for; it must be a positive finite number, as nothing can be released at "
                "0. For a fit without privacy write Budget(math.inf)."
            )
        budget = object.__new__(cls)
        settle(budget, **({"pair": None, "mu": None, "rho": None} | {name: number}))
        return budget

    @property
    def kind(self) -> str:
        """Give "dp", "gdp" or "zcdp"."""
        return "dp" if self.pair is not None else "gdp" if self.mu is not None else "zcdp"

    @property
    def epsilon(self) -> float:
        """Give ε; a GDP or zCDP budget has none of its own and raises BudgetError (ask `epsilon_at`)."""
        return self._pair()[0]

    @property
    def delta(self) -> float:
        """Give δ; a GDP or zCDP budget has none of its own and raises BudgetError (ask `delta_at`)."""
        return self._pair()[1]

    def _pair(self) -> tuple[float, float]:
        if self.pair is None:
            raise BudgetError(
                f"{self!r} has no single epsilon and delta: it fixes a whole curve of them. Ask budget.epsilon_at(delta) for the epsilon at a delta of your choice."
            )
        return self.pair

    @property
    def is_private(self) -> bool:
        """Tell whether anything is promised: False for ε = ∞ only."""
        return self.pair is None or math.isfinite(self.pair[0])

    def admits(self, event: Event) -> bool:
        """Tell whether an event costs at most this budget.

        **Guarantee.** Claim: True only if the release satisfies this budget. Proof: its own bound, rounded up, is compared.
        """
        if not self.is_private:
            return True
        if self.pair is not None:
            return event.profile(*self.pair) <= self.pair[1]
        cost, limit = (event.gdp_mu(), self.mu) if self.mu is not None else (event.zcdp_rho(), self.rho)
        return cost is not None and limit is not None and cost <= limit and event.delta0 <= TAIL_ALLOWANCE

    def delta_at(self, epsilon: float) -> float:
        """Give a δ that this budget implies at ε."""
        if self.pair is not None:
            return self.pair[1] if epsilon >= self.pair[0] else 1.0
        if self.mu is not None:
            return gdp_delta(self.mu, epsilon)
        return renyi_delta(_line(self.rho), epsilon)

    def epsilon_at(self, delta: float) -> float:
        """Give an ε that this budget implies at δ, ∞ when it implies none."""
        if self.pair is not None:
            return self.pair[0] if delta >= self.pair[1] else math.inf
        if self.mu is not None:
            return gdp_epsilon(self.mu, delta)
        return least(lambda epsilon: self.delta_at(epsilon) <= delta, most=1e12)

    def describe(self) -> str:
        """Give the budget in words."""
        if not self.is_private:
            return "not private (ε = ∞: no noise, nothing is promised)"
        if self.pair is not None:
            eps, delta = self.pair
            pure = f"ε = {eps:g}, pure differential privacy"
            return pure if delta == 0 else f"(ε = {eps:g}, δ = {delta:g})-differential privacy"
        if self.mu is not None:
            return f"μ = {self.mu:g} Gaussian differential privacy"
        return f"ρ = {self.rho:g} zero-concentrated differential privacy"

    def __repr__(self) -> str:
        if self.pair is None:
            return f"Budget.{self.kind}({self.mu if self.mu is not None else self.rho!r})"
        eps, delta = self.pair
        return f"Budget(epsilon={eps!r}, delta={delta!r})" if self.is_private else "Budget(epsilon=inf)"

    def to_dict(self) -> dict[str, Any]:
        """Give a dictionary of strict JSON (ε = ∞ is a kind of its own)."""
        if not self.is_private:
            return {"kind": "not-private"}
        if self.pair is not None:
            return {"kind": "dp", "epsilon": self.pair[0], "delta": self.pair[1]}
        return {"kind": "gdp", "mu": self.mu} if self.mu is not None else {"kind": "zcdp", "rho": self.rho}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> "Budget":
        """Read what `to_dict` wrote."""
        kinds: dict[str, Callable[..., Budget]] = {"dp": cls, "gdp": cls.gdp, "zcdp": cls.zcdp}
        return made(kinds | {"not-private": lambda: cls(math.inf)}, state, "budget")


def _line(rho: float | None) -> Curve:
    """Give the Rényi curve of ρ-zCDP."""
    return lambda alpha: math.inf if rho is None else alpha * rho * (1.0 + 2.0**-50)


def _number(name: str, value: float) -> float:
    """Give a public number as a float, or refuse what is none."""
    number = as_float(value)
    if math.isnan(number):
        raise BudgetError(
            f"A budget of {name}={value!r} was asked for, which is no number; nothing could be promised by it. Write numbers, such as Budget(1.0, 1e-8)."
        )
    return number
