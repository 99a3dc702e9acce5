"""Check a ledger row by row: does each row still follow from the one before it, and does it still mean, and cost, what it says?

Rows are only ever added. So the state of a dataset is its row at one moment, which names the last charge and its head; all pages up to
that charge are read afterwards, each in a short transaction, and must lead to that head. What a damaged cell holds is never repeated.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import groupby
from typing import Any

from sqlalchemy import Column, LargeBinary, RowMapping, Text, cast, func, literal, or_, select

from hullabaloo.errors import HullabalooError
from hullabaloo.ledger import advisories, chain, claims, rows, schema
from hullabaloo.ledger.address import Address
from hullabaloo.ledger.names import shown
from hullabaloo.ledger.records import Charge, Dataset, Finding, Verification
from hullabaloo.ledger.store import Run, Session, pages
from hullabaloo.privacy import NOTHING, Budget, Capacity, Cost, Event, Totals, event_from_dict, filter_named

_TOLERANCE = 1e-9  # relative; another machine's special functions may differ in the last digits
_SHOWN = 12  # numbers of rows in one finding
_charges, _streams = schema.charges.c, schema.streams.c


def verify(
    run: Run, address: Address, models: Sequence[claims.Claim] = (), known: Sequence[advisories.Advisory] | None = None
) -> Verification:
    """Examine every dataset, every charge and the row of every model; raises only when the tables themselves cannot be read."""
    faults = advisories.shipped() if known is None else tuple(known)

    def opened(session: Session) -> tuple[str, list[object], list[Finding]]:
        database = schema.require_current(session.connection)
        at = schema.datasets.c
        names: list[object] = list(session.connection.scalars(select(at.name).order_by(at.name)))
        return database, names, schema.acting(session.connection)

    database, names, found = run(opened)
    count = 0
    for name in names:
        made = _Dataset(run, database, name, faults)
        found += made.findings()
        count += made.rows
    found += run(lambda session: _strays(session, names))
    return Verification(address.shown, len(names), count, (*found, *claims.check(run, models)))


class _Dataset:
    """One dataset on its way through its pages."""

    def __init__(self, run: Run, database: str, name: object, known: Sequence[advisories.Advisory]) -> None:
        self._run, self._database, self._known = run, database, known
        self._key, self._name = _sent(name), _label(name)
        self._terms: Dataset | None = None
        self._head: object = None
        self._sums: Mapping[str, object] = rows.from_totals(NOTHING)
        self._totals: Totals | None = NOTHING
        self._today: Totals = NOTHING
        self._next, self._gaps = 1, list[str]()
        self.rows = 0

    def findings(self) -> Iterator[Finding]:
        """Give what is found; the object is used once."""
        row, last, streams = self._run(self._open)
        if row is None:
            return  # removed since the names were read, which its charges will tell
        try:
            self._terms = rows.to_dataset(row)
        except rows.Garbled as error:
            for fault in error.faults:
                yield self._fault(None, f"cannot be understood: {fault}")
        counted, top = row["charges"], last if isinstance(last, int) else 0
        count = counted if isinstance(counted, int) and counted >= 0 else top
        self._head = chain.first(self._database, row)
        yield from self._paid(streams)
        for page in pages(self._run, self._key, count):
            self.rows += len(page)
            between = _streams.charge.between(page[0]["number"], page[-1]["number"])
            yield from self._paid(self._run(partial(self._of_streams, between)))
            for one in page:
                yield from self._row(one)
        yield from self._end(row, count, last or 0)
        if self._terms is not None:
            yield from _capacity(self._terms, self._today)

    def _end(self, row: RowMapping, count: int, last: object) -> Iterator[Finding]:
        """The rows are those that were counted, and lead to the dataset's head and sums."""
        if self._next <= count:
            self._gaps.append(_span(self._next, count))
        if self._gaps or last != count:
            found = f"number {', '.join(self._gaps[:_SHOWN])} not there" if self._gaps else "more than that"
            text = f"has counted {count} charge(s), and of its rows {found}: rows are missing or were added by something else"
            yield self._fault(None, text)
        elif row["head"] != self._head or any(row[name] != value for name, value in self._sums.items()):
            text = "does not end where its rows end: its terms, head or sums were changed, or rows were written anew"
            yield self._fault(None, text)

    def _fault(self, number: object, text: str) -> Finding:
        return Finding("fault", self._name, number if isinstance(number, int) else None, text)

    def _open(self, session: Session) -> tuple[RowMapping | None, Any, Sequence[RowMapping]]:
        """The dataset's row, the last row's number, and streams on no charge of its own, all of one moment."""
        row = session.first(select(schema.datasets).where(schema.datasets.c.name == self._key))
        last = session.connection.scalar(select(func.max(_charges.number)).where(_charges.dataset == self._key))
        beyond = or_(_streams.charge < 1, _streams.charge > (last if isinstance(last, int) else 0))
        return row, last, self._of_streams(beyond, session)

    def _of_streams(self, which: Any, session: Session) -> Sequence[RowMapping]:
        """Streams and whether the charge that each names is there."""
        there = select(_charges.number).where(_charges.dataset == _streams.dataset, _charges.number == _streams.charge)
        query = select(schema.streams, there.exists().label("there")).where(_streams.dataset == self._key, which)
        return session.all(query.order_by(_streams.charge, _streams.stream))

    def _paid(self, streams: Sequence[Any]) -> Iterator[Finding]:
        """Each stream stands on a charge of its own, at a position and a save that can be read."""
        for number, found in groupby(streams, key=lambda row: row["charge"]):
            for place, row in enumerate(found):
                try:
                    rows.to_stream(row)
                except rows.Garbled as error:
                    for fault in error.faults:
                        yield self._fault(number, f"pays for a stream that cannot be understood: {fault}")
                if place or not row["there"]:
                    text = f"should pay for stream {shown(row['stream'])} and is not there, or pays for another stream as well"
                    yield self._fault(number, text)

    def _row(self, row: RowMapping) -> Iterator[Finding]:
        number, follows = row["number"], True
        if number != self._next:
            self._gaps.append(_span(self._next, number - 1) if isinstance(number, int) and number > self._next else "?")
            follows = False
        self._next = number + 1 if isinstance(number, int) else self._next
        yield from self._links(row, follows)
        try:
            charge, event = rows.to_charge(row, self._database), None
        except rows.Garbled as error:
            for fault in error.faults:
                yield self._fault(number, f"cannot be understood: {fault}")
            return
        try:
            event = _event(row["event"])
        except Exception:  # reason: whatever a damaged event provokes is the same finding
            yield self._fault(number, "holds an event that no version of this library wrote")
            return
        yield from _advised(charge, event, self._known)
        if self._terms is not None:
            yield from _terms(self._terms, charge)
            yield from self._price(self._terms, charge, row)

    def _links(self, row: RowMapping, follows: bool) -> Iterator[Finding]:
        """The row's head and sums follow from those of the row before it; what comes next is held against what is stored here."""
        head = chain.following(self._head, row)
        if follows and head != row["head"]:
            before = "the terms of its dataset" if row["number"] == 1 else "the row before it"
            text = f"does not follow from {before}: one of the two was changed, or its salt or head"
            yield self._fault(row["number"], text)
        self._head = row["head"]
        sums = {name: row[name] for name in ("sum_main", "sum_tail")}
        if self._terms is not None:
            added = self._added(self._terms, row["cost"]) if follows else None
            if added is not None and rows.from_totals(added) == sums:
                self._totals = added
            else:
                self._totals = _totals(sums)
                if follows:
                    yield self._fault(row["number"], "has running sums that are not those before it and its cost")
        self._sums = sums

    def _added(self, dataset: Dataset, cost: object) -> Totals | None:
        try:
            return None if self._totals is None else filter_named(dataset.filter).add(self._totals, rows.to_cost(cost))
        except (rows.Garbled, HullabalooError):
            return None

    def _price(self, dataset: Dataset, charge: Charge, row: RowMapping) -> Iterator[Finding]:
        """Price the exact event again, as if it were asked for today; the same event and budget once."""
        rule = filter_named(dataset.filter)
        try:
            cost = _cost(dataset.filter, dataset.capacity, row["event"], charge.budget)
        except HullabalooError:
            self._today = rule.add(self._today, charge.cost)
            yield self._fault(
                charge.number,
                "would be refused by today's accountant: its event cannot be priced, or costs more than was declared",
            )
            return
        self._today = rule.add(self._today, cost)
        said = f"was charged {_numbers(charge.cost)}, and today's accountant finds {_numbers(cost)}"
        if any(now > then * (1.0 + _TOLERANCE) for now, then in zip(cost, charge.cost, strict=True)):
            yield self._fault(charge.number, f"{said}: it cost more than was taken")
        elif any(now < then * (1.0 - _TOLERANCE) for now, then in zip(cost, charge.cost, strict=True)):
            yield Finding("note", self._name, charge.number, f"{said}: more was taken than needed")


def _totals(sums: Mapping[str, object]) -> Totals | None:
    try:
        return rows.to_totals(sums)
    except rows.Garbled:
        return None


@lru_cache(maxsize=4096)
def _event(text: str) -> Event:
    return event_from_dict(rows.to_object(text))


@lru_cache(maxsize=4096)
def _cost(filter_name: str, capacity: Capacity, event: str, budget: Budget) -> Cost:
    return filter_named(filter_name).cost(_event(event), budget, capacity)


def _strays(session: Session, names: Sequence[object]) -> list[Finding]:
    """Charges and streams whose dataset is not there; the distinct names are found by the key, one look each."""
    found, there = [], set(names)
    for column, number, what in ((_charges.dataset, _charges.number, "belongs"), (_streams.dataset, _streams.charge, "pays for a stream that belongs")):  # fmt: skip
        for name in _distinct(session, column):
            if name not in there:
                first = session.connection.scalar(select(func.min(number)).where(column == _sent(name)))
                text = f"{what} to a dataset that is not there, and so do those after it"
                found.append(Finding("fault", _label(name), first if isinstance(first, int) else None, text))
    return found


def _label(name: object) -> str:
    return name if isinstance(name, str) and shown(name) == repr(name) else shown(name)


def _sent(name: object) -> Any:
    """A stored name as the database knows it again: SQLite may hold bytes as text that are none."""
    damaged = isinstance(name, str) and any("\ud800" <= letter <= "\udfff" for letter in name)
    return cast(literal(str(name).encode("utf-8", "surrogateescape"), LargeBinary), Text) if damaged else name


def _distinct(session: Session, column: Column[Any]) -> Iterator[object]:
    name = session.connection.scalar(select(func.min(column)))
    while name is not None:
        yield name
        name = session.connection.scalar(select(func.min(column)).where(column > _sent(name)))


def _terms(dataset: Dataset, charge: Charge) -> list[Finding]:
    mine = (charge.neighbours, charge.unit, charge.records_per_unit)
    if mine == (dataset.neighbours, dataset.unit, dataset.records_per_unit):
        return []
    return [Finding("fault", dataset.name, charge.number, "was made for another relation or unit than its dataset")]


def _advised(charge: Charge, event: Event, known: Iterable[advisories.Advisory]) -> list[Finding]:
    if not known:
        return []
    kinds = frozenset(_kinds(charge.event)) | {event.kind}
    return [
        Finding(
            "advisory", charge.dataset, charge.number,
            f"({charge.what}, {charge.charged_at}, hullabaloo {charge.versions.library}) is touched by {one.id}: {one.summary} {one.remedy}",
        )
        for one in known
        if one.touches(str(charge.versions.library), kinds)
    ]  # fmt: skip


def _capacity(dataset: Dataset, today: Totals) -> list[Finding]:
    found = []
    try:
        capacity = filter_named(dataset.filter).capacity(dataset.budget)
        fits = filter_named(dataset.filter).fits(dataset.capacity, today)
    except HullabalooError:
        return [Finding("fault", dataset.name, None, "has terms that today's accountant refuses")]
    if _larger(dataset.capacity, capacity):
        then, now = _numbers(dataset.capacity), _numbers(capacity)
        text = f"was given the capacity {then}, and today's accountant allows {now}"
        found.append(Finding("fault", dataset.name, None, text))
    if not fits:
        found.append(Finding("fault", dataset.name, None, "is overspent: its charges do not fit into its budget"))
    return found


def _larger(then: Capacity, now: Capacity) -> bool:
    """Tell whether a stored capacity promises more than its budget allows today."""
    if len(then) != len(now) or not math.isclose(sum(then[2:]), sum(now[2:]), rel_tol=_TOLERANCE):
        return True  # another order
    return any(old > new * (1.0 + _TOLERANCE) for old, new in zip(then[:2], now[:2], strict=True))


def _kinds(event: object) -> Iterable[str]:
    """Every event kind in a (composed) event's dictionary."""
    if isinstance(event, Mapping):
        if isinstance(event.get("kind"), str):
            yield event["kind"]
        for value in event.values():
            yield from _kinds(value)
    elif isinstance(event, list | tuple):
        for value in event:
            yield from _kinds(value)


def _numbers(cost: Sequence[float]) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in cost) + ")"


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"
