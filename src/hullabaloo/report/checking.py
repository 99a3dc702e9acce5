"""How a reader checks a card: commands to run, and the recomputation that `Card.check` does."""

import math
import shlex
from collections.abc import Mapping
from typing import Any

from hullabaloo.errors import HullabalooError
from hullabaloo.privacy import epsilon_of, event_from_dict
from hullabaloo.release import PrivacyStatement
from hullabaloo.report import entries, guarantee
from hullabaloo.report.numbers import up
from hullabaloo.report.words import pieces

_TOLERANCE = 1e-9  # relative: another machine's special functions may differ in the last digits


def commands(statement: PrivacyStatement) -> list[dict[str, str]]:
    """Each with what it shows and what to type."""
    mu, epsilon = statement.mu, statement.epsilon()
    facts = {
        "private": statement.private,
        "recorded": statement.ledger is not None,
        "exact": mu is not None and math.isfinite(mu) and math.isfinite(epsilon),
        "ledger": shlex.quote(statement.ledger or ""),
        "delta": up(statement.delta),
        "mu": mu,
        "epsilon": epsilon,
    }
    return [
        {"shows": one.pop("shows").format_map(facts), "type": one.pop("text"), **one} for one in pieces("check", facts)
    ]


def problems(card: Mapping[str, Any]) -> tuple[str, ...]:
    """What on a card does not follow from its own event; empty when everything does.

    Recomputes ε, μ, the readings, the guarantee for several records, and what other releases cost, with this version's accountant.
    """
    try:
        return _problems(card)
    except (HullabalooError, AttributeError, LookupError, TypeError, ValueError) as error:
        return (f"The event on the card cannot be priced: {error}",)


def _problems(card: Mapping[str, Any]) -> tuple[str, ...]:
    stated = card["guarantee"]
    if not card["private"]:
        lies = (
            ["The card says that it is not private, and yet states an epsilon."]
            if stated["epsilon"] is not None
            else []
        )
        return (*lies, *entries.problems(card, _close))
    event = event_from_dict(stated["event"])
    delta = float(stated["delta"])
    now = {
        "epsilon": guarantee.finite(epsilon_of(event, delta)),
        "mu": event.gdp_mu(),
        "readings": guarantee.readings(event, delta),
        "groups": guarantee.groups(event, delta, [one["k"] for one in stated["groups"]]),
        "other_deltas": guarantee.other_deltas(event, delta),
    }
    others = entries.problems(card, _close)
    wrong = [
        f"The card says {name} = {stated.get(name)!r}, and its event gives {value!r}."
        for name, value in now.items()
        if not _close(stated.get(name), value)
    ]
    return (*wrong, *others)


def _close(left: Any, right: Any) -> bool:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_close(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_close(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, int | float) and isinstance(right, int | float):
        return math.isclose(left, right, rel_tol=_TOLERANCE, abs_tol=0.0)
    return bool(left == right)
