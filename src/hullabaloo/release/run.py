"""The order of every release: validate → plan → charge → read → draw noise → post-process.

Fits, private bounds and private evaluation say what they buy and what they make of the answers; nothing else of theirs reaches the records.
What can fail before the charge depends on public arguments and on the table's declared schema; after the charge nothing fails because
of a record's value, and a failure of the machine leaves the charge in place.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from hullabaloo.curator import Curator, Query
from hullabaloo.data import Encoding, Rows
from hullabaloo.data.parts import PartedRows, check_parts, rows_of
from hullabaloo.errors import BudgetError, InvalidParameter
from hullabaloo.ledger import Charge
from hullabaloo.noise import Key
from hullabaloo.privacy import Allowance, Budget, Calibration, Event, compose_answers, epsilon_of
from hullabaloo.queries import PricedQueries
from hullabaloo.release.release import PrivacyStatement
from hullabaloo.release.request import ReleaseRequest, machine_failures, refuse_overspent
from hullabaloo.solvers import Plan

T = TypeVar("T")
Buy = Callable[[PricedQueries, Allowance], Sequence[Query]]
"""What is to be bought, from public facts and what may be spent."""
Read = Callable[[Curator], T]
"""What is asked, and what is made of the answers: how often and what is asked follows from what was bought. It must not fail, whatever they are."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Purchase:
    """Queries within the budget, made anew so that nobody else has a hold on them; by `buy_plan` and `buy_queries`.

    Attributes:
        queries: what may be asked.
        event: the composition of all answers.
        noise: what is said of each query.
        records: the public number of records.
        budget: what is declared for them.
        claimed: the budget that a paper claims for its noise, where it is that one.
        parted: whether the table is read in parts.
    """

    queries: tuple[Query, ...]
    event: Event
    noise: tuple[Mapping[str, Any], ...]
    records: int
    budget: Budget
    claimed: Budget | None = None
    parted: bool = False


@dataclass(frozen=True, slots=True)
class Released(Generic[T]):
    """What was made of the answers, and what it cost.

    Attributes:
        found: post-processing of the answers.
        statement: what is guaranteed.
        queries: what was bought.
    """

    found: T
    statement: PrivacyStatement
    queries: tuple[Query, ...]


def run_release(
    request: ReleaseRequest,
    encoding: Encoding,
    bought: Purchase,
    read: Read[T],
    table: Any,
    target: Any = None,
    weight: Any = None,
    *,
    detail: Mapping[str, Any] = _NOTHING,
) -> Released[T]:
    """Charge what was bought, then read the records, once; a failure of the machine leaves the charge in place.

    Args:
        request: budget, relation, ledger; the domain is that of the encoding.
        encoding: `domain.encoding_for` of the table, from its declared schema alone.
        bought: what may be asked.
        read: asks, and makes something of the answers.
        table, target, weight: as in an estimator's `fit`.
        detail: public facts for the ledger's readers.
    """
    known = bought.records if request.count_is_public else None
    taken = partial(rows_of, counted=known, questions=sum(one.count for one in bought.queries))
    charge = request.charge(bought.event, bought.budget, dict(detail))
    statement = stated(request, bought, charge)  # not made at a time that tells how long it took
    with machine_failures():
        found = answered(taken(encoding, table, target, weight), bought, read, request.key)
    return Released(found, statement, bought.queries)


def run_question(
    request: ReleaseRequest,
    encoding: Encoding,
    buy: Buy,
    read: Read[T],
    table: Any,
    target: Any = None,
    weight: Any = None,
    *,
    detail: Mapping[str, Any] = _NOTHING,
) -> Released[T]:
    """Buy and ask once, a question that is no fit; what can fail fails before the charge."""
    source = encoding.domain.open(table, parts=True)
    check_parts(encoding, source, target, weight)
    known = source.n_rows if request.count_is_public else None
    bought = buy_queries(request, encoding, buy, known, parted=source.parted)
    return run_release(request, encoding, bought, read, source, target, weight, detail=detail)


def answered(rows: Rows | PartedRows, bought: Purchase, read: Read[T], key: Key | None) -> T:
    """What `read` makes of answers about encoded rows. What they cost has been charged, or is part of what was."""
    curator = Curator(rows, bought.queries, key=key)
    del rows  # whoever fails below finds none in this frame
    return read(curator)


def stated(request: ReleaseRequest, bought: Purchase, charge: Charge | None) -> PrivacyStatement:
    """What is guaranteed of answers to what was bought."""
    marked = "epsilon" if not request.budget.is_private else "" if request.key is None else "test_key"
    return PrivacyStatement(
        event=bought.event,
        budget=bought.budget,
        neighbours=request.neighbours,
        unit=request.unit,
        records_per_unit=request.domain.records_per_unit,
        records=bought.records,
        not_private=marked,
        ledger=None if request.ledger is None else request.ledger.address,
        dataset=request.dataset if charge is None else charge.dataset,
        charge=None if charge is None else charge.number,
        database=None if charge is None else charge.database,
        head=None if charge is None else charge.head,
        query_noise=bought.noise,
        claimed=bought.claimed,
        quoted_line_breaks=request.domain.quoted_line_breaks,
        parted=bought.parted,
    )


def buy_queries(
    request: ReleaseRequest, encoding: Encoding, buy: Buy, rows: int | None, *, parted: bool = False
) -> Purchase:
    """What `buy` takes, checked: queries of these prices, within the budget. Reads and charges nothing."""
    request.check()
    records = request.number_of_records(rows)
    prices = PricedQueries(encoding.facts, request.neighbours, records, parted)
    queries = _owned(prices, tuple(buy(prices, request.allowance())) or None, "A question")
    event = compose_answers(queries)
    refuse_overspent(f"The plan of {request.what}", request.budget, request.budget.admits(event))
    noise = tuple(query.to_dict() for query in queries)
    return Purchase(queries, event, noise, records, request.budget, parted=parted)


def buy_plan(request: ReleaseRequest, prices: PricedQueries, plan: Plan, calibration: Calibration) -> Purchase:
    """What a solver's plan takes, checked: the solver may be the user's own. Reads and charges nothing.

    The noise that a paper prints may be less than its claim needs: then the budget that the plan really costs is declared.
    """
    told = plan.queries if type(plan) is Plan and type(plan.solver) is str else None
    queries = _owned(prices, told, f"The plan of solver {plan.solver!r}")
    claimed = request.budget if calibration is Calibration.PAPER and request.budget.is_private else None
    budget, event = request.budget, compose_answers(queries)
    if claimed is None:
        refuse_overspent(f"The plan of solver {plan.solver!r}", budget, budget.admits(event))
    elif not budget.admits(event):
        budget = _real_budget(claimed, plan.solver, event)
    noise = tuple(query.to_dict() for query in queries)
    return Purchase(queries, event, noise, prices.records, budget, claimed, prices.parted)


def _owned(prices: PricedQueries, queries: object, who: str) -> tuple[Query, ...]:
    """These queries as they are made here; refused where one of them is not."""
    found = [prices.own(query) for query in queries] if type(queries) is tuple else [None]
    known = tuple(query for query in found if query is not None)
    if len(known) < len(found):
        raise InvalidParameter(
            f"{who} holds a query that was not made by the prices it was given, so its price cannot be relied on. Nothing was charged or read. Make every query by prices.price(...)."
        )
    return known


def _real_budget(claimed: Budget, solver: str, event: Event) -> Budget:
    delta = claimed.delta if claimed.kind == "dp" else 1e-6
    epsilon = epsilon_of(event, delta) * (1.0 + 1e-9)
    real = Budget(epsilon, delta) if math.isfinite(epsilon) else None
    if real is None or not real.admits(event):
        raise BudgetError(
            f"The noise that the paper of solver {solver!r} prints for {claimed.describe()} has no known guarantee at delta = {delta:g}. Nothing was charged or read. Use calibration='exact'."
        )
    return real
