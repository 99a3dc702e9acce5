"""What a guarantee means, in sentences for people: chosen from `words.toml` by the facts of a statement and of its readings.

And how a card writes numbers: privacy losses rounded up, what is left rounded down, everything else to the nearest.
"""

import math
import tomllib
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from importlib.resources import files
from typing import Any

from hullabaloo.privacy import FOREVER, Budget, Neighbours
from hullabaloo.release import NOT_PRIVATE, NOT_RECORDED, PrivacyStatement

WEAK_GUESS = 0.9
CLEAR_GUESS = 0.6
CLAUSES = (
    "place", "release", "act", "parsed", "span", "unit_text", "whose", "relation_text", "records_text", "theirs", "says",
)  # fmt: skip
"""Texts that other texts are made of, in this order."""
DIGITS = 4
_NOISE = 1e-9  # relative: 0.3 found by bisection as 0.3000000000002 is shown as 0.3, not as 0.3001


@lru_cache(maxsize=1)
def book() -> dict[str, Any]:
    """`words.toml`."""
    return tomllib.loads((files("hullabaloo.report") / "words.toml").read_text(encoding="utf-8"))


def pieces(name: str, facts: Mapping[str, Any]) -> list[dict[str, str]]:
    """The pieces of a text that are said, filled in."""
    found = []
    for one in book()[name]:
        words = one.get("when", "").split()
        if all(bool(facts[word.removeprefix("!")]) is not word.startswith("!") for word in words):
            rest = {key: value for key, value in one.items() if key != "when"}
            found.append({**rest, "text": one["text"].format_map(facts)})
    return found


def lines(name: str, facts: Mapping[str, Any]) -> list[str]:
    """A text as a list of sentences."""
    return [one["text"] for one in pieces(name, facts)]


def text(name: str, facts: Mapping[str, Any]) -> str:
    """A text in one."""
    return "".join(lines(name, facts))


def facts_of(statement: PrivacyStatement, readings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What sentences about a statement are chosen by and filled with; `readings` of its guarantee where it is private."""
    replaced, stream = statement.neighbours is Neighbours.REPLACE_ONE, statement.horizon is not None
    private, person, delta = statement.private, statement.unit != "record", statement.delta
    facts: dict[str, Any] = {
        "private": private, "noiseless": statement.not_private == "epsilon", "test_key": statement.not_private == "test_key",
        "why_not_private": NOT_PRIVATE[statement.not_private or "epsilon"].partition(": ")[2],
        "replaced": replaced, "neighbours": str(statement.neighbours), "stream": stream, "horizon": statement.horizon,
        "horizon_known": stream and (statement.horizon or 0) < FOREVER, "as_parsed": statement.quoted_line_breaks,
        "person": person, "unit": statement.unit, "per_unit": statement.records_per_unit,
        "records": statement.records, "public": stream or (replaced and not person),
        "recorded": bool(statement.ledger), "bought": False, "not_recorded": NOT_RECORDED, "dataset": statement.dataset, "charge": statement.charge,
        "delta": up(delta), "one_in_delta": one_in(delta), "large_delta": delta * statement.records >= 1.0,
        "budget": budget_text(statement.budget), "budget_in_delta": statement.budget.kind == "dp", "version": statement.version,
    }  # fmt: skip
    if readings is not None:
        even = next(one for one in readings["beliefs"] if one["before"] == 0.5)
        guess, chance = readings["best_guess"], readings["exception_probability"]
        facts |= {"best_guess": percent(guess), "near": guess < CLEAR_GUESS, "weak": guess >= WEAK_GUESS}
        facts |= {"chance": up(chance), "one_in_chance": one_in(chance), "even_after": percent(even["after"])}
    for name in CLAUSES:
        facts[name] = text(name, facts)
    return facts


def budget_text(budget: Budget) -> str:
    """A budget in words."""
    if budget.kind != "dp" or not budget.is_private:
        return budget.describe()
    return f"ε = {up(budget.epsilon)}, δ = {up(budget.delta)}"


def shown(value: float | None, digits: int = DIGITS, *, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number in at most `digits` significant digits; None is the word "unlimited"."""
    if value is None or math.isinf(value):
        return "unlimited"
    if isinstance(value, int) and abs(value) < 10**15:
        return f"{value:,}"
    number = Context(prec=digits, rounding=rounding).create_decimal(Decimal(repr(float(value))))
    return _plain(float(number), digits)


def up(value: float | None, digits: int = DIGITS) -> str:
    """A cost or a probability of harm, never understated."""
    return shown(_moved(value, -_NOISE), digits, rounding=ROUND_CEILING)


def down(value: float | None, digits: int = DIGITS) -> str:
    """What is left, never overstated."""
    return shown(_moved(value, _NOISE), digits, rounding=ROUND_FLOOR)


def _moved(value: float | None, share: float) -> float | None:
    return None if value is None or math.isinf(value) else value + abs(value) * share


def percent(value: float) -> str:
    """A probability of harm as a percentage, rounded up: to a tenth, and near certainty to the first digit that is missing."""
    missing = 1.0 - value
    if 1e-9 < missing < 1e-3:
        digits = -math.floor(math.log10(missing))
        rest = math.floor(missing * 10.0**digits * (1.0 + _NOISE))
        return f"{100.0 - rest * 10.0 ** (2 - digits):.{digits - 2}f} %"
    tenths = math.ceil(1000.0 * value * (1.0 - _NOISE))
    return f"{tenths / 10:.1f} %" if tenths % 10 else f"{tenths // 10} %"


def one_in(value: float) -> str:
    """A small probability as "1 in 1,000,000", rounded up."""
    if not 0.0 < value < 1.0:
        return percent(value)
    count = Context(prec=3, rounding=ROUND_FLOOR).create_decimal(Decimal(repr(1.0 / float(value) * (1.0 + _NOISE))))
    return f"1 in {int(count):,}" if count < 10**15 else f"1 in {_plain(float(count), 3)}"


def _plain(value: float, digits: int) -> str:
    if value == 0.0:
        return "0"
    if 1e-4 <= abs(value) < 10 ** max(digits + 2, 6):
        text = f"{value:,.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent)}"
