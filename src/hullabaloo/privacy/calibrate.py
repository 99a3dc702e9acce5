"""Calibration: from a budget to the noise that it allows. Everything returned was evaluated and found admitted."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from hullabaloo.errors import CalibrationError, as_whole
from hullabaloo.privacy._rounding import bisect, float_at_most
from hullabaloo.privacy.bounded_range import MAX_COUNT
from hullabaloo.privacy.budget import Budget
from hullabaloo.privacy.composition import compose
from hullabaloo.privacy.events import Event
from hullabaloo.privacy.filters import NOTHING, CurveFilter, filter_named
from hullabaloo.privacy.noise_events import GaussianEvent, SelectionEvent
from hullabaloo.privacy.renyi import zcdp_rho

ROUNDING_ROOM = 2.0**-36
"""Relative part of μ left unspent, so that a solver may split μ among any releases in floating point and still fit."""


@lru_cache(maxsize=4096)
def gaussian_mu(budget: Budget, *, samples: int = 0, filter: str | None = None) -> float:
    """Give the largest μ such that μ-GDP plus the tails of ``samples`` lattice draws is admitted.

    With a filter's name, what is admitted must also fit into a dataset of the same budget under that filter: under "gdp" about
    the same, under "renyi" less (0.2207 in place of 0.2367 for (1, 1e-6)). Gives ∞ for a budget that is not private.
    A relative 2^-36 of μ stays unspent (`ROUNDING_ROOM`): the events may be split and recombined in floating point.

    **Guarantee.** Claim: for every family of Gaussian events with ``Σ μ_t² ≤ result² (1 + 2^-36)`` and ``samples`` draws in all,
    the budget admits the composition. Proof: `Budget.admits` and `Filter.admits` were evaluated at ``result (1 + 2^-36)``; both
    are monotone in μ. Source: Balle & Wang 2018; Dong, Roth & Su 2022, Cor. 3.3.
    """
    if not budget.is_private:
        return math.inf
    refuse_pure(budget, GaussianEvent(1.0))

    def holds(noise: float) -> bool:
        return budget.admits(GaussianEvent(noise, samples)) and _fits(filter, GaussianEvent(noise, samples), budget)

    return (1.0 - ROUNDING_ROOM) / _smallest(holds, 1.0)


@lru_cache(maxsize=1024)
def selection_epsilon(budget: Budget, count: int = 1, *, filter: str | None = None, rest: Event | None = None) -> float:
    """Give the largest ε₀ for which ``count`` adaptive exponential mechanisms, and the `rest` of what is bought, fit into the budget; ∞ for ε = ∞.

    The best of pure, GDP, Rényi and exact bounded-range composition, to a relative 1e-4 where the last one decides.

    **Guarantee.** Claim: ``compose(SelectionEvent(result), count=count)``, composed with `rest`, is admitted. Proof: it was evaluated.
    """
    if not budget.is_private:
        return math.inf
    uses = _uses(count)

    def event(epsilon: float) -> Event:
        return compose(compose(SelectionEvent(epsilon), count=uses), *([] if rest is None else [rest]))

    def holds(epsilon: float) -> bool:
        return budget.admits(event(epsilon)) and _fits(filter, event(epsilon), budget)

    rule = None if filter is None else filter_named(filter)
    if isinstance(rule, CurveFilter):
        best = 1.0 / _smallest(lambda x: _costs_fit(rule, event(1.0 / x), budget), float(uses))
        return best if holds(best) else 1.0 / _smallest(lambda x: holds(1.0 / x), 1.0 / best, 1e-4)
    if rest is None and budget.pair is not None and budget.pair[1] == 0.0:
        return float_at_most(Fraction(budget.pair[0]) / uses)
    exact = rest is None and budget.pair is not None and 1 < uses <= MAX_COUNT
    if not exact or uses <= 16:
        return 1.0 / _smallest(lambda x: holds(1.0 / x), float(uses), 1e-12 if rest is None and not exact else 1e-5)
    eps, delta = budget.epsilon, budget.delta
    base = max(eps / uses, math.sqrt(8.0 * zcdp_rho(eps, delta) / uses)) * (1.0 - 2.0**-30)
    # Δ(ε) of a large ε is 0.
    best = _secant(lambda e: math.log(max(event(e).profile(eps), 5e-324)) - math.log(delta), base)
    return best if holds(best) else 1.0 / _smallest(lambda x: holds(1.0 / x), 1.0 / best, 1e-4)


def _secant(excess: Callable[[float], float], base: float) -> float:
    """Give the largest point at which a rising function was seen to be ≤ 0, by a few secant steps up from ``base``."""
    best, last, at_last, point = base, base, excess(base), base * 1.05
    for _ in range(6):
        at_point = excess(point)
        if at_point <= 0.0:
            best = max(best, point)
            if at_point > -1e-3:
                break
        slope = (at_point - at_last) / (point - last)
        if not slope > 0.0:
            break
        last, at_last = point, at_point
        point -= (at_point + 5e-4) / slope
        if not best < point < 1.5 * base:
            break
    return best


def refuse_pure(budget: Budget, event: Event) -> None:
    """Refuse a budget of δ = 0 for an event that is not pure, with the remedy."""
    if budget.pair is not None and budget.pair[1] == 0.0 and budget.is_private:
        if event.delta0 == 0.0 and math.isfinite(event.pure_epsilon()):
            return
        raise CalibrationError(
            f"{budget!r} asks for pure differential privacy (delta = 0), and what is to be calibrated is not pure: Gaussian "
            "noise, and any noise whose far tail is cut, leaves a small probability outside every ε, so no noise level meets "
            "it. State a delta well below one over the number of records (1/n², for example "
            f"Budget({budget.pair[0]:g}, 1e-8) for ten thousand records), or, to fit a model on an l1 ball, solver='frank_wolfe', whose selections are pure."
        )


def paper_pair(budget: Budget, printed: str) -> tuple[float, float]:
    """ε and δ, which what a paper prints is a formula of.

    Raises:
        CalibrationError: the budget is not stated by them.
    """
    if budget.pair is None or not budget.is_private or budget.pair[1] == 0.0:
        raise CalibrationError(
            f"calibration='paper' was asked with the budget {budget.describe()}, but what the paper prints is {printed}: "
            "it needs ε and a δ above 0. Pass epsilon and delta, or calibration='exact'."
        )
    return budget.pair


def _fits(name: str | None, event: Event, budget: Budget) -> bool:
    """Tell whether an event is the one charge that a fresh dataset of this budget could take under a filter."""
    return name is None or filter_named(name).takes(event, budget)


def _costs_fit(rule: CurveFilter, event: Event, budget: Budget) -> bool:
    """Tell the same from the costs alone, without the check of what the charge declares."""
    capacity = rule.capacity(budget)
    main = rule.main(event, capacity)
    return main is not None and math.isfinite(main) and rule.admits(capacity, NOTHING, (main, event.delta0))


def _smallest(holds: Callable[[float], bool], start: float, tolerance: float = 1e-12) -> float:
    """Give the smallest x > 0 at which a condition that is monotone in x was seen to hold."""
    good = start
    for _ in range(100):
        if holds(good):
            break
        good *= 2.0
    else:
        raise CalibrationError(
            f"No noise up to {good:.3g} times the sensitivity meets the budget. The part of the cost that noise cannot lower, "
            "the cut tails of the draws or a fixed event, already exceeds it: raise delta, or release fewer numbers."
        )
    bad = good / 2.0
    while holds(bad):
        good, bad = bad, bad / 2.0
        if bad < 1e-200:
            return good
    return bisect(bad, good, holds, tolerance=tolerance)


def _uses(count: int) -> int:
    """Give a number of uses, or refuse what is none."""
    return as_whole(count, "Noise was asked for count={!r} releases; a count is a whole number from 1 on.")
