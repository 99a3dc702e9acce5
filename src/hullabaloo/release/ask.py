"""A question that is not a fit: validate → plan → charge → read → draw noise → post-process, in this order.

What `release/fit.py` is to estimators, this is to private bounds and private evaluation: the caller says what to buy, and what to make of
the answers; nothing else reaches the records.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hullabaloo.curator import Curator
from hullabaloo.curator.query import Query
from hullabaloo.data import Encoding
from hullabaloo.errors import BudgetError, InvalidParameter
from hullabaloo.privacy import Allowance, Event, NotPrivateEvent, compose
from hullabaloo.queries import PricedQueries
from hullabaloo.release import PrivacyStatement
from hullabaloo.release.terms import Terms, machine_failures

T = TypeVar("T")
Buy = Callable[[PricedQueries, Allowance], Sequence[Query]]
"""What is to be bought, from public facts and what may be spent."""
Read = Callable[[Curator], T]
"""What is asked, and what is made of the answers: how often and what is asked follows from what was bought."""


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """What was made of the answers, and what it cost.

    Attributes:
        found: post-processing of the answers.
        statement: what is guaranteed.
        quotes: what was bought.
    """

    found: T
    statement: PrivacyStatement
    quotes: tuple[Query, ...]


def ask(
    terms: Terms,
    encoding: Encoding,
    buy: Buy,
    read: Read[T],
    table: Any,
    target: Any = None,
    weight: Any = None,
    *,
    detail: Mapping[str, Any] | None = None,
) -> Asked[T]:
    """Buy and ask once; what can fail fails before the charge, and a failure of the machine leaves the charge in place.

    Args:
        terms: budget, relation, ledger; the domain is that of the encoding.
        encoding: `domain.encoding_for` of the table, from its declared schema alone.
        buy: gives the quotes, all of them made by the menu that it is handed.
        read: asks for the answers; must not fail whatever they are.
        table, target, weight: as in an estimator's `fit`.
        detail: public facts for the ledger's readers.
    """
    source = encoding.domain.open(table)
    records = price_terms(terms, source.n_rows if terms.count_is_public else None)
    quotes = quoted(terms, encoding, buy, records)
    event = _event(quotes)
    charge = terms.charge(event, terms.budget, dict(detail or {}))
    with machine_failures():
        found = read(Curator(encoding.encode(source, target, weight=weight), quotes, key=terms.key))
    noise = tuple(quote.to_dict() for quote in quotes)
    return Asked(found, terms.statement(event, charge, records=records, noise=noise), quotes)


def price_terms(terms: Terms, rows: int | None) -> int:
    """The public number of records of a question, after checking its terms."""
    terms.check()
    return terms.records(rows)


def quoted(terms: Terms, encoding: Encoding, buy: Buy, records: int) -> tuple[Query, ...]:
    """What `buy` takes, checked: quotes of this menu, within the budget. Reads and charges nothing."""
    menu = PricedQueries(encoding.facts, terms.neighbours, records)
    quotes = tuple(buy(menu, terms.allowance()))
    if not quotes or not all(menu.owns(quote) for quote in quotes):
        raise InvalidParameter(
            "A question was planned with a query that was not made by the menu it was given, so its price cannot be relied on. "
            "Nothing was charged or read. Make every query by the menu's own methods."
        )
    if terms.budget.is_private and not terms.budget.admits(_event(quotes)):
        raise BudgetError(
            f"The plan of {terms.what} costs more than the budget {terms.budget.describe()} allows. Nothing was charged or read. "
            "This is a fault of the planner; please report it."
        )
    return quotes


def _event(quotes: Sequence[Query]) -> Event:
    events = [quote.event for quote in quotes]
    if any(isinstance(event, NotPrivateEvent) for event in events):
        return NotPrivateEvent()
    return compose(*(compose(event, count=quote.count) for event, quote in zip(events, quotes, strict=True)))
