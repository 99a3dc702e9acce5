"""The work of each ledger transaction: plain functions of a connection that is already inside one."""

import getpass
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, RowMapping, Select, func, insert, select, update

from hullabaloo._version import __version__
from hullabaloo.errors import InvalidParameter, LedgerError, RelationRefused, TestKeyRefused, UnknownDataset
from hullabaloo.ledger import chain, names, pricing, rows, schema
from hullabaloo.ledger.address import Address
from hullabaloo.ledger.records import Charge, Dataset, PricedQuery, Remaining, Request, Upgrade, Versions, describe_unit
from hullabaloo.ledger.transact import backend_of
from hullabaloo.privacy import ACCOUNTING_VERSION, NOTHING, Budget, Event, Neighbours, Totals, filter_named

T = TypeVar("T")
V = TypeVar("V")


class Run(Protocol):
    """Runs work in a read transaction of its own."""

    def __call__(self, work: "Callable[[Session], T]", /) -> T:
        """Give what the work gives."""


VERSIONS = Versions(__version__, ACCOUNTING_VERSION, schema.VERSION)


@dataclass(frozen=True, slots=True)
class Account:
    """A dataset, what its charges took together, and the head of the last one, which was held against its row."""

    dataset: Dataset
    totals: Totals
    head: str
    database: str


def new_terms(
    name: str, budget: Budget, neighbours: Neighbours, unit: str, records_per_unit: int, rule: str, who: str | None
) -> Dataset:
    """Check the terms of a new dataset before the database is opened."""
    names.require_line("unit", unit)
    name = names.recordable("dataset", name)
    if not isinstance(budget, Budget):
        raise InvalidParameter(
            f"The budget of dataset {name!r} must be a Budget, such as hb.Budget(1.0, 1e-9), but a {type(budget).__name__} was "
            "given: a number alone does not say which guarantee it counts."
        )
    if type(records_per_unit) is not int or not 1 <= records_per_unit < 2**31:
        raise InvalidParameter(
            f"records_per_unit={records_per_unit!r} was given for dataset {name!r}, but it bounds how many records one "
            f"{unit} has and multiplies every sensitivity: it must be a whole number, at least 1 and below 2^31."
        )
    capacity = filter_named(rule).capacity(budget)
    opened = (0, schema.now(), _user(who), VERSIONS)
    return Dataset(name, budget, neighbours, unit, records_per_unit, rule, capacity, *opened)


@dataclass(frozen=True, slots=True)
class Session:
    """A transaction that has begun, on the ledger at an address."""

    connection: Connection
    address: Address

    def first(self, query: Select[Any]) -> RowMapping | None:
        """The first row that a query finds, if any."""
        return self.connection.execute(query).mappings().first()

    def all(self, query: Select[Any]) -> Sequence[RowMapping]:
        """Every row that a query finds."""
        return self.connection.execute(query).mappings().all()

    def create(self, terms: Dataset) -> Dataset:
        """Write a new dataset; the first one makes the tables."""
        backend_of(self.address).lock_creation(self.connection)
        schema.write_tables(self.connection)
        database = schema.require_current(self.connection)
        known = self.first(select(schema.datasets).where(schema.datasets.c.name == terms.name))
        if known is not None:
            raise LedgerError(
                f"Dataset {terms.name!r} was to be created in {self.address.shown}, but it exists there: {_describe_row(known)} Its "
                "terms are fixed for ever, and a second budget for the same records would make the first one meaningless. Use "
                "it as it is, or give another table another name."
            )
        self.require_no_look_alike("Dataset", terms.name, self.connection.scalars(select(schema.datasets.c.name)))
        row = rows.from_record(terms) | {"salt": chain.fresh_salt()} | rows.from_totals(NOTHING)
        self.connection.execute(insert(schema.datasets).values(row | {"head": chain.first(database, row)}))
        return terms

    def charge(self, request: Request) -> Charge:
        """Decide and write; the caller commits."""
        require_recordable(request)
        event = _json(request, "event", request.event.to_dict())
        detail = _json(request, "detail", dict(request.detail or {}))
        account = self.read_account(request.dataset, lock=True)
        dataset = account.dataset
        require_same_terms(dataset, request)
        cost = pricing.price(dataset, account.totals, request.event, request.budget)
        made = Charge(
            dataset=dataset.name,
            number=dataset.charges + 1,
            charged_at=schema.now(),
            who=_user(request.who),
            what=request.what,
            event=event,
            budget=request.budget,
            cost=cost,
            neighbours=dataset.neighbours,
            unit=dataset.unit,
            records_per_unit=dataset.records_per_unit,
            detail=detail,
            versions=VERSIONS,
            database=account.database,
            head="",
        )
        sums = rows.from_totals(filter_named(dataset.filter).add(account.totals, cost))
        row = rows.from_record(made) | {"salt": chain.fresh_salt()} | sums
        row["head"] = chain.following(account.head, row)
        self.connection.execute(insert(schema.charges).values(row))
        self.connection.execute(
            update(schema.datasets)
            .where(schema.datasets.c.name == dataset.name)
            .values(charges=schema.datasets.c.charges + 1, head=row["head"], **sums)
        )
        return replace(made, head=row["head"])

    def check(self, request: Request) -> PricedQuery:
        """Decide and write nothing."""
        require_recordable(request)
        account = self.read_account(request.dataset)
        require_same_terms(account.dataset, request)
        return pricing.quote(account.dataset, account.totals, request.event, request.budget)

    def remaining(self, name: str) -> Remaining:
        """What a dataset has left."""
        account = self.read_account(name)
        return pricing.remaining(account.dataset, account.totals)

    def upgrade(self) -> Upgrade:
        """Climb to this library's schema version while nobody charges."""
        backend_of(self.address).lock_schema(self.connection)
        return Upgrade(self.address.shown, *schema.climb(self.connection))

    def read_dataset(self, name: str) -> Dataset:
        """Read a dataset's terms."""
        return trusted(self.address, rows.to_dataset, self.dataset_row(name)[1])

    def read_datasets(self) -> tuple[Dataset, ...]:
        """Every dataset's terms, by name."""
        schema.require_current(self.connection)
        found = self.all(select(schema.datasets).order_by(schema.datasets.c.name))
        return tuple(trusted(self.address, rows.to_dataset, row) for row in found)

    def read_account(self, name: str, *, lock: bool = False) -> Account:
        """Read a dataset and what was spent, from its row and the ends of its chain: no more rows however many there are."""
        database, row = self.dataset_row(name, lock=lock)
        dataset = trusted(self.address, rows.to_dataset, row)
        at, count, start = schema.charges.c, dataset.charges, chain.first(database, row)
        mine = at.dataset == dataset.name
        ends = self.all(select(schema.charges).where(mine & at.number.in_({1, count - 1, count})))
        found = {one["number"]: one for one in ends}
        last = found.get(count, {"head": start, **rows.from_totals(NOTHING)} if count == 0 else None)
        agrees = (
            (self.connection.scalar(select(func.max(at.number)).where(mine)) or 0) == count
            and last is not None
            and all(last[name] == row[name] for name in ("head", "sum_main", "sum_tail"))
            and (count < 1 or (1 in found and chain.following(start, found[1]) == found[1]["head"]))
            and (count < 2 or (count - 1 in found and chain.following(found[count - 1]["head"], last) == last["head"]))
        )
        if not agrees:
            raise LedgerError(
                f"Dataset {dataset.name!r} in {self.address.shown} says that it has {count} charge(s), and its rows do not agree with it: rows or "
                "terms were added, changed or removed by something else, so what is left is not known and nothing can be charged. Run "
                "`hullabaloo ledger verify` to see which, and restore the ledger from a backup."
            )
        return Account(dataset, trusted(self.address, rows.to_totals, row), row["head"], database)

    def dataset_row(self, name: str, *, lock: bool = False) -> tuple[str, RowMapping]:
        """The database id and a dataset's row, by its name as given (as older ledgers may hold it) or as names are spelled."""
        database = schema.require_current(self.connection)
        self.require_name("dataset", name)
        if not names.storable(name):
            raise UnknownDataset(
                f"The ledger {self.address.shown} was asked for the dataset {name!r}, which is no text that a database can hold. Nothing was read. Check the name."
            )
        row = None
        for spelling in dict.fromkeys((name, names.spelled(name))):
            query = select(schema.datasets).where(schema.datasets.c.name == spelling)
            row = row or self.first(query.with_for_update() if lock else query)
        if row is None:
            at = schema.datasets.c
            known = self.connection.scalars(select(at.name).order_by(at.name).limit(20)).all()
            raise UnknownDataset(
                f"The ledger {self.address.shown} has no dataset {name!r} (it has {', '.join(map(names.shown, known)) or 'none'}), so there "
                "is no budget to charge, and nothing was read. Check the name, or open a budget once with "
                f"Ledger.create({name!r}, budget, neighbours=…) or `hullabaloo ledger create`."
            )
        return database, row

    def require_name(self, kind: str, name: object) -> str:
        """Refuse what cannot be a name in any ledger."""
        if not isinstance(name, str):
            raise InvalidParameter(
                f"The ledger {self.address.shown} was asked for a {kind} by a {type(name).__name__}, but names are text. Nothing was read. Pass the "
                f"{kind}'s name, such as 'clinic-2026'."
            )
        return name

    def require_no_look_alike(self, kind: str, name: str, known: Iterable[object]) -> None:
        """Refuse a name that is not seen, and one that people take for one that is there."""
        mine = names.skeleton(name)
        if not mine:
            raise InvalidParameter(
                f"{kind} {name!a} (escaped here) has no letter that is seen, so nobody could tell it from another. Use a name that is seen."
            )
        like = next((one for one in known if isinstance(one, str) and names.skeleton(one) == mine), None)
        if like is not None:
            raise LedgerError(
                f"{kind} {name!a} was to be opened in {self.address.shown}, where {like!a} exists (both in ASCII here): the two differ in case, blanks, "
                "unseen letters or letters of other alphabets only, so people take them for one, and budgets of the same records would be "
                "spent twice. Use the one that exists, or a name that looks different."
            )


def trusted(address: Address, read: Callable[[V], T], value: V) -> T:
    """Read a stored value; a garbled one stops everything but `verify`."""
    try:
        return read(value)
    except rows.Garbled as error:
        raise LedgerError(
            f"A row of the ledger {address.shown} cannot be understood ({error}), so what is left of the budget is not known "
            "and nothing can be charged. Run `hullabaloo ledger verify` to see which rows, and restore a backup."
        ) from error


def read_charges(run: Run, address: Address, name: str) -> tuple[Charge, ...]:
    """A dataset's charges, oldest first, read in pages: rows are only ever added, so those of a moment are those up to its number."""

    def opened(session: Session) -> tuple[str, str, int]:
        database, row = session.dataset_row(name)
        return database, row["name"], trusted(address, rows.to_dataset, row).charges

    database, stored, count = run(opened)
    made: list[Charge] = []
    for page in pages(run, stored, count):
        made += [trusted(address, lambda one: rows.to_charge(one, database), row) for row in page]
    return tuple(made)


def pages(run: Run, dataset: Any, last: int) -> Iterator[Sequence[RowMapping]]:
    """The rows of a dataset up to a number, each page in a transaction of its own, so that nobody waits for more than one."""
    at, seen = schema.charges.c, None
    while True:
        mine = (at.dataset == dataset) & (at.number <= last)
        query = select(schema.charges).where(mine if seen is None else mine & (at.number > seen)).order_by(at.number)
        page = run(partial(Session.all, query=query.limit(schema.PAGE)))
        if not page:
            return
        yield page
        seen = page[-1]["number"]


def require_same_terms(dataset: Dataset, request: Request) -> None:
    """Refuse a charge for another relation or another unit than the dataset's."""
    if request.neighbours is not dataset.neighbours:
        raise RelationRefused(
            f"The charge is for neighbours {request.neighbours.value!r}, but dataset {dataset.name!r} was created for "
            f"{dataset.neighbours.value!r}: guarantees for two relations do not add up. Nothing was read. Fit with neighbours={dataset.neighbours.value!r}."
        )
    if (request.unit, request.records_per_unit) != (dataset.unit, dataset.records_per_unit):
        raise RelationRefused(
            f"The charge protects the {describe_unit(request.unit, request.records_per_unit)}, but dataset "
            f"{dataset.name!r} was created for the {describe_unit(dataset.unit, dataset.records_per_unit)}: guarantees for "
            f"two units do not add up. Nothing was read. {_same_unit(dataset)}"
        )


def _same_unit(dataset: Dataset) -> str:
    """What to change in the domain."""
    if dataset.unit == "record":
        return "Leave unit and records_per_unit out of the domain, or open a dataset whose unit is the domain's: one for records protects less than you ask."
    return f"Declare unit={dataset.unit!r}, records_per_unit={dataset.records_per_unit} in the domain."


_KINDS: dict[str, Any] = {
    "event": Event, "budget": Budget, "unit": str, "records_per_unit": Integral, "detail": Mapping | None,
}  # fmt: skip


def require_recordable(request: Request) -> None:
    """Refuse what is not private or no charge at all, before the database is asked."""
    if request.test_key is not False:
        raise TestKeyRefused(
            f"A release about {request.dataset!r} was to be charged while its noise comes from a test key: whoever knows the "
            "key can subtract the noise, so the release protects nobody and a ledger row would say that it does. Nothing "
            "was read. Leave out test_key, or leave out the ledger."
        )
    names.require_line("what", request.what)
    for name, kind in _KINDS.items():
        if not isinstance(found := getattr(request, name), kind):
            raise InvalidParameter(
                f"The {name} of a charge on {request.dataset!r} is a {type(found).__name__}. A charge takes an Event of hullabaloo.privacy, its Budget, a unit's "
                "name, a whole number of its records, and as detail a dictionary of JSON values or None. Nothing was charged. Pass those."
            )


def _json(request: Request, name: str, value: object) -> Any:
    """What will be read of a value that is written as JSON."""
    try:
        return json.loads(rows.dump(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidParameter(
            f"The {name} of a charge on {request.dataset!r} cannot be written as JSON ({error}), so the row could not be read "
            "again. Use numbers (finite), strings, lists and dictionaries."
        ) from error


def _describe_row(row: RowMapping) -> str:
    try:
        return rows.to_dataset(row).describe()
    except rows.Garbled:
        return "(its row cannot be understood)."


def _user(who: str | None) -> str:
    if who is not None:
        names.require_line("who", who)
        return who
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user without a name
        name = f"uid {os.getuid()}"
    return name.encode("ascii", "backslashreplace").decode() or "unknown"
