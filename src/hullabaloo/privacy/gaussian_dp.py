"""Gaussian differential privacy (GDP): its exact (ε, δ) profile and the two inverses, for every range.

``δ(ε; μ) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2)`` (Balle & Wang 2018, Thm 8; Dong, Roth & Su 2022, Cor. 2.13).

With ``a = ε/μ − μ/2``, ``b = a + μ``, φ the normal density and ``R(x) = (1 − Φ(x))/φ(x)`` Mills' ratio,
``e^ε φ(b) = φ(a)`` and hence ``δ = φ(a) [R(a) − R(b)]``: no overflow, and for small μ the difference is the integral of
``−R'(x) = 1 − x R(x) > 0`` over [a, b], so nothing cancels. Only the standard library is used.
"""

import math
from functools import lru_cache

from hullabaloo.errors import CalibrationError, InvalidParameter
from hullabaloo.privacy._rounding import bisect, least

_ROOT_HALF_PI = math.sqrt(math.pi / 2.0)
_TINY = math.ulp(0.0)
# Gauss-Legendre nodes and weights of order 8 on [0, 1], in symmetric pairs about 1/2.
_NODES = (
    (0.1834346424956498 / 2, 0.3626837833783620 / 2),
    (0.5255324099163290 / 2, 0.3137066458778873 / 2),
    (0.7966664774136267 / 2, 0.2223810344533745 / 2),
    (0.9602898564975362 / 2, 0.1012285362903763 / 2),
)


def gdp_delta(mu: float, epsilon: float) -> float:
    """Give the smallest δ for which μ-GDP implies (ε, δ)-DP, rounded up.

    **Guarantee.** Precondition: μ ≥ 0, ε ≥ 0 (checked). Claim: the returned float is at least the exact δ(ε; μ), and at
    most a relative 1e-9 above it wherever δ ≥ 1e-300. Proof: both forms above are sums of terms of one sign, or differences in
    which at most a factor (1 + a)/μ ≤ 80 cancels; the relative error is at most ``(|a| + 2)`` times the rounding of a,
    plus a few hundred ulps, and that bound is added. For a > 39 the value is below the smallest positive float.
    Source: Balle & Wang 2018, Thm 8; checked against mpmath in the tests.
    """
    mu, epsilon = _nonnegative("mu", mu), _nonnegative("epsilon", epsilon)
    if mu == 0.0 or (math.isinf(epsilon) and math.isfinite(mu)):
        return 0.0
    if math.isinf(mu):
        return 1.0
    ratio = epsilon / mu
    a = ratio - mu / 2.0
    if a > 39.0:
        return _TINY
    if a < -40.0:
        return 1.0
    density = math.exp(-a * a / 2.0) / math.sqrt(2.0 * math.pi)
    if a < -1.0:
        value = math.erfc(a / math.sqrt(2.0)) / 2.0 - density * _mills(a + mu)[0]
    elif mu > 0.5:
        value = density * (_mills(a)[0] - _mills(a + mu)[0])
    else:
        middle = a + mu / 2.0
        parts = [w * (_mills(middle - mu * x)[1] + _mills(middle + mu * x)[1]) for x, w in _NODES]
        value = density * mu * math.fsum(parts)
    if not value >= 0.0:
        raise CalibrationError(f"The Gaussian profile at mu={mu!r}, epsilon={epsilon!r} came out as {value!r}.")
    error = 2.0**-53 * (2000.0 + 4.0 * (ratio + mu + abs(a)) * (abs(a) + 2.0))
    return min(1.0, value * (1.0 + error) + _TINY)


@lru_cache(maxsize=4096)
def gdp_epsilon(mu: float, delta: float) -> float:
    """Give the smallest ε ≥ 0 for which μ-GDP implies (ε, δ)-DP, rounded up; ∞ when there is none.

    **Guarantee.** Claim: ``gdp_delta(mu, result) ≤ delta``. Proof: the upper end of a bisection is returned, and it was
    evaluated.
    """
    mu, delta = _nonnegative("mu", mu), _nonnegative("delta", delta)
    if gdp_delta(mu, 0.0) <= delta:
        return 0.0
    if delta == 0.0 or math.isinf(mu):
        return math.inf
    return least(lambda epsilon: gdp_delta(mu, epsilon) <= delta)


@lru_cache(maxsize=4096)
def gdp_mu(epsilon: float, delta: float) -> float:
    """Give the largest μ for which μ-GDP implies (ε, δ)-DP, rounded down; ``gdp_mu(1, 1e-6)`` is 0.2367.

    Raises CalibrationError for δ = 0, which no Gaussian mechanism satisfies.

    **Guarantee.** Claim: ``gdp_delta(result, epsilon) ≤ delta``, hence the exact profile is below δ too. Proof: the lower
    end of a bisection down to neighbouring floats is returned, and it was evaluated.
    """
    epsilon, delta = _nonnegative("epsilon", epsilon), _nonnegative("delta", delta)
    if delta == 0.0:
        raise CalibrationError(
            f"A Gaussian mechanism was asked for at epsilon={epsilon:g} with delta = 0. Gaussian noise of any size leaves "
            "a small probability outside every ε, so no noise level meets that. Declare a delta well below one over the "
            "number of records (1/n², for example 1e-8 for ten thousand records), or use a mechanism of pure differential privacy."
        )
    if delta >= 1.0 or math.isinf(epsilon):
        return math.inf
    bad, good = 1.0, 1.0
    if gdp_delta(good, epsilon) <= delta:
        while gdp_delta(bad, epsilon) <= delta:
            good, bad = bad, 2.0 * bad
    else:
        while gdp_delta(good, epsilon) > delta:
            bad, good = good, good / 2.0
    return bisect(bad, good, lambda mu: gdp_delta(mu, epsilon) <= delta)


def _mills(x: float) -> tuple[float, float]:
    """Give Mills' ratio R(x) and 1 − x R(x) for x ≥ −1, each to a relative few dozen ulps.

    From 4 on by the continued fraction ``R = 1/(x + 1/(x + 2/(x + 3/…)))``, all of whose terms are positive.
    """
    if x < 4.0:
        ratio = _ROOT_HALF_PI * math.exp(x * x / 2.0) * math.erfc(x / math.sqrt(2.0))
        return ratio, 1.0 - x * ratio
    terms = 60
    tail = (math.sqrt(x * x + 4.0 * terms) - x) / 2.0
    for k in range(terms, 0, -1):
        tail = k / (x + tail)
    ratio = 1.0 / (x + tail)
    return ratio, ratio * tail


def _nonnegative(name: str, value: float) -> float:
    """Give a number as a float, or refuse a NaN or a negative one."""
    number = float(value)
    if not number >= 0.0:
        raise InvalidParameter(f"{name}={value!r} is no number of at least 0; privacy parameters are never negative.")
    return number
