"""The guarantee of an event in numbers that people can weigh, all computed from its exact profile δ(ε).

Nothing here sees a release, let alone a record: everything is a function of what was paid for.
"""

import math
from collections.abc import Sequence
from typing import Any

from hullabaloo.privacy import Event, delta_of, epsilon_of

PRIORS = (0.001, 0.01, 0.1, 0.5, 0.9)
GROUPS = (1, 2, 5, 10)
DELTAS = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)


def best_guess(event: Event) -> float:
    """The largest chance of telling two neighbouring tables apart, when each is as likely before.

    **Guarantee.** Claim: whoever must name one of the two tables is right with probability at most `(1 + δ(0))/2`. Proof:
    a test is right with probability `½P(S) + ½(1 − Q(S)) = ½ + ½(P(S) − Q(S))`, and `P(S) − Q(S) ≤ δ(0)` is (0, δ)-DP.
    """
    return (1.0 + delta_of(event, 0.0)) / 2.0


def loss_bound(event: Event, chance: float) -> float:
    """An ε that the privacy loss exceeds with probability at most `chance`, over the noise; ∞ when none is known.

    **Guarantee.** Claim: with L = log(dP/dQ), `P(L > ε) ≤ chance` for neighbouring tables whose releases have laws P and Q.
    Proof: for ε' < ε, `δ(ε') ≥ E_P[(1 − e^{ε'−L})₊] ≥ P(L > ε)(1 − e^{ε'−ε})`. Solving for ε gives
    `ε = ε' − log(1 − δ(ε')/chance)`, valid for every ε' with δ(ε') < chance, so the smallest of some trials is valid.
    It also holds against any mixture of neighbours (δ is convex in Q), hence for a reader with any prior over what a
    record may say.
    """
    start = epsilon_of(event, chance)
    if math.isinf(start):
        return math.inf
    end = epsilon_of(event, chance * 1e-3)
    width = max(start, 1e-3) if math.isinf(end) else max(end - start, 1e-9)
    best = math.inf
    for _ in range(3):  # a grid, refined around its best point
        trials = [start + width * j / 64.0 for j in range(1, 65)]
        found, place = min((_loss(event, trial, chance), trial) for trial in trials)
        best = min(best, found)
        width, start = width / 16.0, max(0.0, place - width / 32.0)
    return best


def _loss(event: Event, epsilon: float, chance: float) -> float:
    share = delta_of(event, epsilon) / chance
    return epsilon - math.log1p(-share) if share < 1.0 else math.inf


def belief_after(prior: float, loss: float) -> float:
    """The largest belief in the truth after the release, from a belief before and a privacy loss: Bayes' rule."""
    return 1.0 if math.isinf(loss) else prior / (prior + (1.0 - prior) * math.exp(-loss))


def readings(event: Event, delta: float) -> dict[str, Any]:
    """What the guarantee means for somebody who knows every other record."""
    loss = loss_bound(event, delta)
    return {
        "best_guess": best_guess(event),
        "exception_probability": delta,
        "loss_bound": finite(loss),
        "beliefs": [{"before": prior, "after": belief_after(prior, loss)} for prior in PRIORS],
    }


def groups(event: Event, delta: float, sizes: Sequence[int] = GROUPS) -> list[dict[str, Any]]:
    """The guarantee for somebody with k units in the table."""
    return [{"k": k, **_one_group(event.group(k), delta)} for k in sizes]


def _one_group(event: Event, delta: float) -> dict[str, Any]:
    return {
        "epsilon": finite(epsilon_of(event, delta)),
        "mu": finite(event.gdp_mu()),
        "best_guess": best_guess(event),
        "even_odds_after": belief_after(0.5, loss_bound(event, delta)),
    }


def other_deltas(event: Event, delta: float) -> list[dict[str, Any]]:
    """ε at some other δ: for noise without a cliff it grows slowly as δ shrinks."""
    values = [(chosen, epsilon_of(event, chosen)) for chosen in sorted({*DELTAS, delta}, reverse=True)]
    return [{"delta": chosen, "epsilon": epsilon} for chosen, epsilon in values if math.isfinite(epsilon)]


def trade_off(event: Event, rates: Sequence[float]) -> list[float]:
    """The largest hit rate of any attack at given false-alarm rates.

    **Guarantee.** Claim: an upper bound on the power of every test of one table against a neighbouring one. Proof: by
    (ε, δ(ε))-DP both ways, `hit ≤ δ + e^ε·alarm` and `1 − alarm ≤ δ + e^ε(1 − hit)`; the smallest over a grid of ε is kept.
    """
    reach = max(epsilon_of(event, 1e-6), 1e-3) if math.isfinite(epsilon_of(event, 1e-6)) else 50.0
    curve = [(e, delta_of(event, e)) for e in (reach * (j / 96.0) ** 2 for j in range(97))]
    return [min(1.0, *(_power(rate, e, d) for e, d in curve)) for rate in rates]


def _power(alarm: float, epsilon: float, delta: float) -> float:
    grow = math.exp(min(epsilon, 700.0))
    return min(delta + grow * alarm, 1.0 - (1.0 - delta - alarm) / grow)


def cost(event: Event, delta: float) -> dict[str, Any]:
    """What an event costs, at a δ."""
    return {"epsilon": finite(epsilon_of(event, delta)), "delta": delta, "mu": finite(event.gdp_mu())}


def finite(value: float | None) -> float | None:
    """A number for JSON: infinity is null."""
    return None if value is None or not math.isfinite(value) else float(value)
