"""Calibration of what is not plain Gaussian: objective perturbation, as an allowance takes it and as papers print it, and runs of a tuned mechanism."""

import math
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial

from hullabaloo.errors import CalibrationError
from hullabaloo.privacy._rounding import bisect, golden
from hullabaloo.privacy.allowance import DRAWS, Allowance
from hullabaloo.privacy.budget import Budget
from hullabaloo.privacy.calibrate import ROUNDING_ROOM, _smallest, _uses, paper_pair, refuse_pure
from hullabaloo.privacy.composition import best_split, compose
from hullabaloo.privacy.events import Event, with_tail
from hullabaloo.privacy.filters import filter_named
from hullabaloo.privacy.gaussian_dp import gdp_mu
from hullabaloo.privacy.neighbours import Neighbours
from hullabaloo.privacy.objective_events import ObjectivePerturbationEvent
from hullabaloo.privacy.tuned_events import TunedEvent

OUTPUT_SHARE = 1e-3
"""The part of ε and of δ that goes to the noise on an approximate minimiser."""


@lru_cache(maxsize=1024)
def objective_noise_multiplier(
    allowance: Allowance, curvature: float, neighbours: Neighbours | str, *, output: Event | None = None, count: int = 1
) -> float:
    """Give the smallest σ/L, to a relative 1e-6 (1e-4 where something is bought beside it), whose objective perturbation an allowance takes; 0 when it is not private.

    ``output`` is the event of the noise on the approximate minimiser (once per use), ``count`` the number of equal uses (one per
    class of a one-vs-rest fit). Raises CalibrationError, with the remedy, under Gaussian-DP and zCDP budgets and under the gdp filter.

    **Guarantee.** Claim: ``allowance.takes(compose(event, output, count=count))`` for the event of the result and up to 2^40 lattice
    draws in all. Proof: evaluated with that many draws; of a noise that was guessed (`_by_split`, `_by_order`), too, and the one below it costs more at the ε' that decides there, else
    the plain search decides. The composition is valid for an approximate minimiser: for the neighbours' noises that lead to the same exact θ̂ the
    two approximate ones are within 2r, so the release is an adaptive composition of (the noise's preimage of) θ̂ and a Gaussian of sensitivity 2r.
    """
    if not allowance.is_private:
        return 0.0
    relation, uses = Neighbours.parse(neighbours), _uses(count)
    _refuse(allowance)

    def alone(noise: float) -> Event:
        return ObjectivePerturbationEvent(noise, curvature, relation, DRAWS // uses)

    def holds(noise: float) -> bool:
        return allowance.takes(compose(alone(noise), *([] if output is None else [output]), count=uses))

    shift, tolerance, fits = relation.copies, 1e-6 if allowance.beside is None else 1e-4, dict[float, bool]()
    start = 1.25 * shift * math.sqrt(uses) / gdp_mu(allowance.budget.epsilon, allowance.budget.delta)
    if output is not None and allowance.filter != "renyi":
        # Where to look proves nothing, so its end is looked at, and the one below it where it decides; bisection from this start ends between them, too, as more noise never costs more.
        rest = compose(compose(output, count=uses), *filter(None, [allowance.beside]))
        look = _by_split if uses == 1 and allowance.beside is None else partial(_by_order, uses)
        with suppress(ArithmeticError, CalibrationError, RuntimeError, ValueError):
            near, at = look(alone, rest, allowance.budget, start)
            found = _smallest(lambda x: fits.setdefault(x, x >= near), start, tolerance)
            less = compose(compose(alone(max(x for x in fits if x < near)), count=uses), rest)
            if holds(found) and less.exact(at) + (1.0 + math.exp(at)) * less.delta0 > allowance.budget.delta:
                return found
    return _smallest(holds, start, tolerance)


def _by_split(alone: Callable[[float], Event], rest: Event, budget: Budget, start: float) -> tuple[float, float]:
    """Give the noise at which bisection from ``start`` likely ends, and the ε' that decides there: a guess.

    By one ε' of the tail and one split of it, the best at a noise near by, where the event looks for the best at each noise. Where the
    tail counts, ε' moves with the noise, so that it is done once more from where it led.
    """
    epsilon, delta, mass = budget.epsilon, budget.delta, compose(alone(start), rest).delta0

    def nearer(noise: float, share: float = 0.0, again: bool = True) -> tuple[float, float]:
        near, met = alone(noise), dict[float, float]()
        with_tail(lambda x: met.setdefault(x, near.exact(x - share)), mass, epsilon)
        at = min(met, key=lambda x: met[x] + math.exp(x) * mass)
        part = best_split(near, rest, at)[1]
        left = delta - rest.exact(part) - (1.0 + math.exp(at)) * mass
        found = _smallest(lambda x: alone(x).exact(at - part) <= left, start, 1e-6)
        return nearer(found, part, False) if again and len(met) > 1 else (found, at)

    return nearer(_smallest(lambda x: alone(x).profile(epsilon, delta) <= delta, start, 1e-3))


def _by_order(
    uses: int, alone: Callable[[float], Event], rest: Event, budget: Budget, noise: float
) -> tuple[float, float]:
    """Give the same where Rényi curves decide, as beside much else.

    Order α leaves ``ε' − log(1 − 1/α) + log(α (δ − (1 + e^ε') m))/(α − 1)`` less the rest's divergence, m the cut tails and ε' the best for them. What is left at the
    best order over what objective perturbation takes of it grows about like a power of σ, and is 1 where secants lead.
    """
    from scipy.optimize import newton

    epsilon, delta, mass = budget.epsilon, budget.delta, compose(compose(alone(noise), count=uses), rest).delta0

    def left(noise: float) -> tuple[float, float]:
        near, met = alone(noise), dict[float, float]()

        def over(x: float) -> float:
            alpha = 1.0 + math.exp(x)
            at = min(epsilon, math.log((delta / mass - 1.0) * (1.0 - 1.0 / alpha)))
            more = math.log(alpha * (delta - (1.0 + math.exp(at)) * mass)) / (alpha - 1.0)
            value = (rest.renyi(alpha) - at + math.log1p(-1.0 / alpha) - more) / near.renyi(alpha)
            met[value] = at
            return value

        least = golden(over, -6.0, 21.0)
        return math.log(-least / uses), met[least]

    first = math.log(noise)
    root = math.exp(newton(lambda x: left(math.exp(x))[0], first, x1=first - left(noise)[0], tol=1e-6))
    return root, left(root)[1]


@lru_cache(maxsize=1024)
def output_noise_multiplier(allowance: Allowance) -> float:
    """Give the ``σ_out/(2r)`` of the noise on an approximate minimiser within r of the exact one; 0 when not private.

    It costs (ε/1000, δ/1000) of the useful ε, and under the renyi filter at most a thousandth of the divergence too.
    """
    if not allowance.is_private:
        return 0.0
    _refuse(allowance)
    epsilon, delta = allowance.useful * allowance.budget.epsilon, allowance.budget.delta
    mu = gdp_mu(OUTPUT_SHARE * epsilon, OUTPUT_SHARE * delta)
    if allowance.filter == "renyi":
        limit, _, order = filter_named("renyi").capacity(allowance.budget)
        mu = min(mu, math.sqrt(2.0 * OUTPUT_SHARE * limit / order))
    return 1.0 / mu


def paper_objective_perturbation(budget: Budget) -> tuple[float, float]:
    """Give (σ/L, κ) as Talwar, Thakurta & Zhang 2014, Algorithm 2, prints them: ``σ = L √(2 log(1/δ))/ε``, ``λ = 2β/ε``.

    In their mean form, ``σ² = 2 L² log(1/δ)/(nε)²`` and ``ζ = 2β/(nε)``. **Not (ε, δ)-private as printed** under replace-one: even linear
    losses have δ(1) = 8e-4 there at a claimed 1e-6. `ObjectivePerturbationEvent` of the result states what it does cost.

    Source: 002, Algorithm 2.
    """
    epsilon, delta = paper_pair(budget, "σ = L √(2 ln(1/δ))/ε")
    return math.sqrt(2.0 * math.log(1.0 / delta)) / epsilon, epsilon / 2.0


def _refuse(allowance: Allowance) -> None:
    """Refuse the allowances whose currency has no price for objective perturbation."""
    budget = allowance.budget
    if budget.pair is None or allowance.filter == "gdp":
        what = "the gdp filter" if budget.pair is not None else repr(budget)
        raise CalibrationError(
            f"Objective perturbation was to be calibrated under {what}. Its cost is a profile of epsilon and delta and a Rényi curve; "
            "no Gaussian-DP or zCDP parameter that is worth its price is known for it. State Budget(epsilon, delta) on a dataset "
            "with filter='basic' or 'renyi', or use another solver (gradient, moments or output perturbation are Gaussian)."
        )
    refuse_pure(budget, ObjectivePerturbationEvent(1.0, 1.0, Neighbours.REPLACE_ONE))


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

    def fits(mu: float) -> bool:
        return Allowance(budget, filter).takes(TunedEvent(mu, expected, shape, DRAWS))

    good = 0.25
    while not fits(good):
        good /= 2.0
        if good < 2.0**-40:
            raise CalibrationError(
                f"{budget.describe()} pays for no tuning of {expected:g} expected runs, however much noise is drawn. State a larger budget, or expect fewer runs."
            )
    bad = 2.0 * good
    while bad < 2.0**10 and fits(bad):
        good, bad = bad, 2.0 * bad
    return bisect(bad, good, fits, tolerance=1e-4) / (1.0 + ROUNDING_ROOM)
