"""How often a tuned mechanism is run: K at random, at least once, from a public law that knows nothing of the records."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy._rounding import as_float, bisect

MOST = 10_000.0
"""The largest expected number of runs."""
NAMES = {"geometric": 1.0, "logarithmic": 0.0}
_GRID = 2.0**40


@dataclass(frozen=True, slots=True)
class Repeats:
    """The law of K ≥ 1, with ``E K ≤ expected`` and next to it.

    ``shape`` is "geometric" (η = 1), "logarithmic" (η = 0), any η in between of the truncated negative binomial law
    ``P(K = k) ∝ (1 − γ)^k Π_{l<k} (l + η)/(l + 1)``. The smaller η, the less a tuned release costs, and the oftener K is small.
    "poisson", ``P(K = k) ∝ λ^k/k!``, k ≥ 1, is priced where a ledger or a card holds it; no search draws by it any more.

    With f the generating function of K and G in [0, 1], ``f'(1 − G) = E K · s(G)``, where

        s(G) = (γ/(γ + (1 − γ) G))^(1 + η),   or   exp(−λ G).

    **Guarantee** (of the parameter). Claim: ``E K ≤ expected`` for the float γ (or λ) that `parameter` gives, which is the very number that K is
    drawn with. Proof: E K falls in γ and grows in λ; the root of ``E K = expected`` is found to a relative 2^-50 and then moved by up
    to 2^-40 to the side of smaller E K, which moves E K by far more than the rounding of its formula.
    """

    expected: float
    shape: float | str

    def __post_init__(self) -> None:
        """Bring the shape into canonical form: a number, or "poisson"."""
        object.__setattr__(self, "expected", _expected(self.expected))
        object.__setattr__(self, "shape", _shape(self.shape))

    @property
    def eta(self) -> float | None:
        """η, None for the Poisson law."""
        return None if isinstance(self.shape, str) else self.shape

    @property
    def parameter(self) -> float:
        """γ in (0, 1], or λ ≥ 0."""
        return _parameter(self.expected, self.eta)

    def chance(self, candidates: int) -> float:
        """Give the probability that one of so many candidates, drawn at random in each run, is tried at all: ``1 − E (1 − 1/c)^K``."""
        parameter, eta, rest = self.parameter, self.eta, 1.0 - 1.0 / candidates
        if eta is None:
            return 1.0 / candidates if not parameter else math.expm1(-parameter / candidates) / math.expm1(-parameter)
        if parameter == 1.0:
            return 1.0 / candidates
        ends = math.log1p(-(1.0 - parameter) * rest), math.log(parameter)
        if eta == 0.0:
            return 1.0 - ends[0] / ends[1]
        return 1.0 - math.expm1(-eta * ends[0]) / math.expm1(-eta * ends[1])

    def log_slope(self, upper: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give ``log(expected · s(G))``."""
        top, parameter, eta = math.log(self.expected), self.parameter, self.eta
        if eta is None:
            return top - parameter * upper
        return top - (1.0 + eta) * np.log1p((1.0 - parameter) / parameter * upper)

    def log_transform(self, u: float) -> float:
        """Give ``log E e^{uK}`` for u ≥ 0, rounded up; ∞ where it does not exist."""
        parameter, eta = self.parameter, self.eta
        if (parameter == 1.0 and eta is not None) or parameter == 0.0 or u == 0.0:
            return u
        if u > 700.0:
            return math.inf
        grown = math.expm1(u)
        if eta is None:  # (e^{λx} − 1)/(e^λ − 1) at x = e^u
            more = parameter * grown
            value = more + math.log1p(-math.exp(-parameter - more)) - math.log1p(-math.exp(-parameter))
        else:
            short = 1.0 - parameter  # exact: γ is a multiple of 2^-40
            reach = short + short * grown  # (1 − γ) x
            if not reach < 1.0 - 1e-6:
                return math.inf
            ends = math.log1p(-reach), math.log1p(-short)
            if eta == 0.0:
                value = math.log(ends[0] / ends[1])
            else:
                value = math.log(math.expm1(-eta * ends[0]) / math.expm1(-eta * ends[1]))
        return max(u, value) + 1e-9 * abs(value) + 2.0**-44


@lru_cache(maxsize=256)
def _parameter(expected: float, eta: float | None) -> float:
    if eta is None:
        rate = bisect(2.0 * expected, 0.0, lambda x: x / -math.expm1(-x) <= expected)  # E K without 0
        return max(0.0, math.floor(rate * _GRID - 1.0) / _GRID)
    shortage = bisect(1.0, 0.0, lambda x: _mean(x, eta) <= expected)
    return min(1.0, math.ceil((1.0 - shortage) * _GRID + 1.0) / _GRID)


def _mean(shortage: float, eta: float) -> float:
    """E K of the truncated negative binomial law, of 1 − γ below 1."""
    gamma = 1.0 - shortage
    if gamma == 1.0:
        return 1.0
    log = math.log1p(-shortage)
    return shortage / gamma / -log if eta == 0.0 else eta * shortage / gamma / -math.expm1(eta * log)


def _expected(value: object) -> float:
    number = as_float(value)
    if not 1.0 <= number <= MOST:
        raise InvalidParameter(
            f"expected={value!r} was given as the expected number of runs of a tuned release. It is a number from 1 (one candidate, drawn "
            f"at random) to {MOST:g}; about the number of candidates is a good choice."
        )
    return number


def _shape(value: object) -> float | str:
    if isinstance(value, str):
        if value == "poisson":
            return value
        number = NAMES.get(value, math.nan)
    else:
        number = as_float(value) if isinstance(value, int | float) else math.nan
    if not 0.0 <= number <= 1.0:
        raise InvalidParameter(
            f"shape={value!r} names no law of the number of runs. Write 'logarithmic' (cheapest; often few runs), 'geometric' (more even), "
            "or a number between 0 (logarithmic) and 1 (geometric)."
        )
    return number + 0.0
