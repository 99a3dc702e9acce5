"""How a reader checks a card: commands to run, and the recomputation that `Card.check` does."""

import math
from collections.abc import Mapping
from typing import Any

from hullabaloo.errors import HullabalooError
from hullabaloo.privacy import epsilon_of, event_from_dict
from hullabaloo.release import PrivacyStatement
from hullabaloo.report import entries, guarantee
from hullabaloo.report.numbers import up

_TOLERANCE = 1e-9  # relative: another machine's special functions may differ in the last digits


def commands(statement: PrivacyStatement) -> list[dict[str, str]]:
    """Each with what it shows and what to type."""
    if not statement.private:
        return []
    found = []
    if statement.ledger is not None:
        found.append({
            "shows": "Every row of the ledger still costs what it says, no budget is overspent, and the charge of this model (put in its file) is there.",
            "type": f"hullabaloo ledger verify {_quoted(statement.ledger)} --model model.json",
            "language": "shell",
        })  # fmt: skip
    found.append({
        "shows": "Every number of the guarantee on this card follows from the recorded event. Prints an empty tuple.",
        "type": 'from hullabaloo.report import card_from_json\nprint(card_from_json("card.json").check())',
        "language": "python",
    })  # fmt: skip
    epsilon, delta = statement.epsilon(), statement.delta
    if statement.mu is not None and math.isfinite(statement.mu) and math.isfinite(epsilon):
        found.append({
            "shows": "The same without this library: the exact profile of Gaussian noise (Balle and Wang, 2018). "
            f"Prints at most {up(delta)}, up to rounding.",
            "type": (
                "from math import erfc, exp, sqrt\n"
                f"mu, epsilon = {statement.mu!r}, {epsilon!r}\n"
                "phi = lambda x: erfc(-x / sqrt(2)) / 2\n"
                "print(phi(mu / 2 - epsilon / mu) - exp(epsilon) * phi(-mu / 2 - epsilon / mu))"
            ),
            "language": "python",
        })  # fmt: skip
    return found


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


def _quoted(text: str) -> str:
    """One word for a POSIX shell."""
    import shlex

    return shlex.quote(text)
