"""What a guarantee means, in sentences for people: chosen from `words.toml` by the facts of a statement and of its readings."""

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

from hullabaloo.privacy import Budget, Neighbours
from hullabaloo.privacy.schedule import FOREVER
from hullabaloo.release import NOT_PRIVATE, NOT_RECORDED, PrivacyStatement
from hullabaloo.report.numbers import one_in, percent, up

WEAK_GUESS = 0.9
CLEAR_GUESS = 0.6
CLAUSES = (
    "place",
    "release",
    "act",
    "parsed",
    "span",
    "unit_text",
    "whose",
    "relation_text",
    "records_text",
    "theirs",
    "says",
)
"""Texts that other texts are made of, in this order."""


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
        "recorded": bool(statement.ledger), "not_recorded": NOT_RECORDED, "dataset": statement.dataset, "charge": statement.charge,
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
