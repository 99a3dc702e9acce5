"""Calibration of what is not plain Gaussian: objective perturbation, as an allowance takes it and as papers print it, and runs of a tuned mechanism."""

import math
from contextlib import suppress
from functools import lru_cache

from hullabaloo.errors import CalibrationError
from hullabaloo.privacy._rounding import bisect
from hullabaloo.privacy.allowance import DRAWS, Allowance
from hullabaloo.privacy.budget import Budget
from hullabaloo.privacy.calibrate import ROUNDING_ROOM, _smallest, _uses, refuse_pure
from hullabaloo.privacy.composition import best_split, compose
from hullabaloo.privacy.events import Event
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
    draws in all. Proof: evaluated with that many draws. The composition is valid for an approximate minimiser: for the neighbours'
    noises that lead to the same exact θ̂ the two approximate ones are within 2r, so the release is an adaptive composition of
    (the noise's preimage of) θ̂ and a Gaussian of sensitivity 2r.
    """
    if not allowance.is_private:
        return 0.0
    relation, uses = Neighbours.parse(neighbours), _uses(count)
    _refuse(allowance)

    def alone(noise: float) -> Event:
        return ObjectivePerturbationEvent(noise, curvature, relation, DRAWS // uses)

    def holds(noise: float) -> bool:
        return allowance.takes(compose(alone(noise), *([] if output is None else [output]), count=uses))

    epsilon, delta = allowance.budget.epsilon, allowance.budget.delta
    start = 1.25 * (2.0 if relation is Neighbours.REPLACE_ONE else 1.0) * math.sqrt(uses) / gdp_mu(epsilon, delta)
    if output is not None and allowance.beside is None and allowance.filter != "renyi":
        # Where to look, by one split of ε: the best at a noise near by, where the event looks for the best at each. It proves nothing,
        # so both ends are looked at; between them bisection from this start ends, too, as more noise never costs more.
        with suppress(CalibrationError):
            near = _smallest(lambda noise: alone(noise).exact(epsilon) <= delta, start, 1e-3)
            share, fits = best_split(alone(near), output, epsilon)[1], dict[float, bool]()
            left = delta - output.exact(share)
            found = _smallest(lambda x: fits.setdefault(x, alone(x).exact(epsilon - share) <= left), start, 1e-6)
            if holds(found) and not holds(max(noise for noise in fits if not fits[noise])):
                return found
    return _smallest(holds, start, 1e-6 if allowance.beside is None else 1e-4)


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
    if budget.pair is None or not budget.is_private or budget.delta == 0.0:
        raise CalibrationError(
            f"The paper's objective perturbation was asked for at {budget!r}; its formula needs a finite epsilon and a delta > 0. "
            "State Budget(epsilon, delta), or use calibration='exact'."
        )
    return math.sqrt(2.0 * math.log(1.0 / budget.delta)) / budget.epsilon, budget.epsilon / 2.0


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
    if budget.delta == 0.0:
        raise CalibrationError(
            f"Objective perturbation was to be calibrated at {budget!r}, and its Gaussian noise leaves a small probability outside every "
            "epsilon. State a delta well below one over the number of records, for example 1/n²."
        )


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
    allowance = Allowance(budget, filter)

    def fits(mu: float) -> bool:
        return allowance.takes(TunedEvent(mu, expected, shape, DRAWS))

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
