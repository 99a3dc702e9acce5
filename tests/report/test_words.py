"""Laws of `words.toml`: each sentence is said of some release, and what is said of a stream speaks of no table of records."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from hullabaloo.privacy import Budget, GaussianEvent, Neighbours
from hullabaloo.privacy.schedule import FOREVER
from hullabaloo.release import PrivacyStatement
from hullabaloo.report import guarantee, words

TEXTS = [name for name, found in words.book().items() if isinstance(found, list)]
CLAUSES = ["methods_relation", "headline", "guess", "belief", "delta_text", "cannot", "can", "warnings", "model_text"]
OF_STATEMENTS = [*CLAUSES, *words.CLAUSES, "randomness", "assumptions", "covered", "not_covered", "methods_exact"]
MORE = (
    "selections",
    "bought",
    "objective",
    "gaussian",
    "ledger_read",
    "intervals",
    "alone",
    "apart",
    "all_private",
    "known",
    "exact",
    "norm",
    "products",
    "drops",
    "features",
    "indicators",
)
READINGS = {noise: guarantee.readings(GaussianEvent(noise), 1e-6) for noise in (0.3, 1.2, 20.0)}


def statements() -> Iterator[tuple[PrivacyStatement, dict[str, Any]]]:
    units, horizons, marks = ("record", "household"), (None, 500, FOREVER), ("", "test_key", "epsilon")
    budgets = (Budget(1.0, 1e-6), Budget.gdp(1.0))
    choices = product(Neighbours, units, horizons, (None, "sqlite:///x"), READINGS, (3, 10**7), budgets, marks)
    for relation, unit, horizon, ledger, noise, records, budget, mark in choices:
        made = PrivacyStatement(
            GaussianEvent(noise), budget, relation, unit, 3, records, mark, ledger, ledger and "data", ledger and 1,
            horizon=horizon, quoted_line_breaks=budget.kind == "dp",
        )  # fmt: skip
        yield made, words.facts_of(made, READINGS[noise] if made.private else None)


FACTS = list(statements())


@pytest.mark.parametrize("name", TEXTS)
def test_each_piece_is_said_of_some_release(name: str) -> None:
    said = set()
    rest = {"form": "", "target": "", "estimator": "", "solver": "", "regularisation": "", "epsilon": "1", "mu": "1"}
    rest |= {
        "charges": 1,
        "ledger_budget": "",
        "ledger_filter": "",
        "intervals_percent": 95.0,
        "norm_name": "",
        "radius": 1.0,
        "ledger": "",
    }
    for place, (_, facts) in enumerate(FACTS):
        others = {one: bool((place * 2654435761) >> bit & 1) for bit, one in enumerate(MORE, start=3)}
        known = {**facts, **rest, **others, "release": "release"}
        for number, one in enumerate(words.book()[name]):
            if all(
                bool(known.get(word.removeprefix("!"))) is not word.startswith("!")
                for word in one.get("when", "").split()
            ):
                said.add(number)
                one["text"].format_map(known)
    assert said == set(range(len(words.book()[name])))


@pytest.mark.parametrize("name", OF_STATEMENTS)
def test_a_stream_is_called_a_stream(name: str) -> None:
    """A card of a stream said that elapsed time was not covered "while the fit ran", and that "the fit was not recorded"."""
    on_the_card = re.compile(r"the table (below|of ε)|the row k of the table")
    for statement, facts in FACTS:
        other = r"\b(stream|streams)\b" if statement.horizon is None else r"\b(table|tables|fit)\b"
        assert not re.search(other, on_the_card.sub("", words.text(name, facts)))
