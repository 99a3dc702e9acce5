"""Check a ledger row by row: does each row still mean, and cost, what it says?"""

import math
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, RowMapping, select

from hullabaloo.errors import HullabalooError
from hullabaloo.ledger import advisories, rows, schema
from hullabaloo.ledger.address import Address
from hullabaloo.ledger.records import Charge, Dataset, Finding, Verification
from hullabaloo.privacy import Event, event_from_dict
from hullabaloo.privacy.filters import Capacity, Cost, filter_named

_TOLERANCE = 1e-9  # relative; another machine's special functions may differ in the last digits


def verify(
    connection: Connection, address: Address, known: Sequence[advisories.Advisory] | None = None
) -> Verification:
    """Examine every dataset and every charge; raises only when the tables themselves cannot be read."""
    schema.require_current(connection)
    faults = advisories.shipped() if known is None else tuple(known)
    stored = connection.execute(select(schema.datasets).order_by(schema.datasets.c.name)).mappings().all()
    columns = schema.charges.c
    made = connection.execute(select(schema.charges).order_by(columns.dataset, columns.number)).mappings().all()
    found: list[Finding] = []
    by_dataset: dict[object, list[RowMapping]] = {row["name"]: [] for row in stored}
    for row in made:
        if row["dataset"] in by_dataset:
            by_dataset[row["dataset"]].append(row)
        else:
            found.append(Finding("fault", str(row["dataset"]), row["number"], "belongs to a dataset that is not there"))
    for row in stored:
        found += _dataset(row, by_dataset[row["name"]], faults)
    found += _streams(connection, {(row["dataset"], row["number"]) for row in made})
    return Verification(address.shown, len(stored), len(made), tuple(found))


def _dataset(row: RowMapping, made: Sequence[RowMapping], known: Iterable[advisories.Advisory]) -> list[Finding]:
    name = str(row["name"])
    found: list[Finding] = []
    try:
        dataset = rows.to_dataset(row)
    except rows.Garbled as error:
        return [Finding("fault", name, None, f"cannot be understood: {error}")]
    numbers = [one["number"] for one in made]
    if numbers != list(range(1, dataset.charges + 1)):
        found.append(
            Finding(
                "fault", name, None,
                f"has counted {dataset.charges} charge(s), but its rows are numbered {_ranges(numbers)}: rows are missing or "
                "were added by something else",
            )
        )  # fmt: skip
    today: list[tuple[Cost, int]] = []
    for one in made:
        number = one["number"]
        try:
            charge = rows.to_charge(one)
            event = event_from_dict(dict(charge.event))
        except rows.Garbled as error:
            found.append(Finding("fault", name, number, f"cannot be understood: {error}"))
        except Exception as error:  # reason: whatever a damaged event provokes is the same finding
            found.append(
                Finding("fault", name, number, f"holds an event that no version of this library wrote: {error}")
            )
        else:
            found += _terms(dataset, charge)
            found += _advised(charge, event, known)
            found += _price(dataset, charge, event, today)
    return found + _sums(dataset, today)


def _streams(connection: Connection, charged: set[tuple[object, object]]) -> list[Finding]:
    """Each stream stands on a charge of its own, at a position and a save that can be read."""
    columns = schema.streams.c
    found: list[Finding] = []
    for row in connection.execute(select(schema.streams).order_by(columns.dataset, columns.charge)).mappings():
        name, number = str(row["dataset"]), row["charge"]
        try:
            rows.to_stream(row)
        except rows.Garbled as error:
            found.append(Finding("fault", name, number, f"pays for a stream that cannot be understood: {error}"))
        if (row["dataset"], number) not in charged:
            text = f"should pay for stream {row['stream']!r} and is not there, or pays for another stream as well"
            found.append(Finding("fault", name, number, text))
        charged.discard((row["dataset"], number))
    return found


def _terms(dataset: Dataset, charge: Charge) -> list[Finding]:
    mine = (charge.neighbours, charge.unit, charge.records_per_unit)
    if mine == (dataset.neighbours, dataset.unit, dataset.records_per_unit):
        return []
    return [Finding("fault", dataset.name, charge.number, "was made for another relation or unit than its dataset")]


def _price(dataset: Dataset, charge: Charge, event: Event, today: list[tuple[Cost, int]]) -> list[Finding]:
    """Price the exact event again, as if it were asked for today."""
    try:
        cost = filter_named(dataset.filter).cost(event, charge.budget, dataset.capacity)
    except HullabalooError as error:
        today.append((charge.cost, 1))
        return [Finding("fault", dataset.name, charge.number, f"would be refused by today's accountant: {error}")]
    today.append((cost, 1))
    if any(now > then * (1.0 + _TOLERANCE) for now, then in zip(cost, charge.cost, strict=True)):
        text = f"was charged {_numbers(charge.cost)}, and today's accountant finds {_numbers(cost)}: it cost more than was taken"
        return [Finding("fault", dataset.name, charge.number, text)]
    if any(now < then * (1.0 - _TOLERANCE) for now, then in zip(cost, charge.cost, strict=True)):
        text = f"was charged {_numbers(charge.cost)}, and today's accountant finds {_numbers(cost)}: more was taken than needed"
        return [Finding("note", dataset.name, charge.number, text)]
    return []


def _advised(charge: Charge, event: Event, known: Iterable[advisories.Advisory]) -> list[Finding]:
    kinds = frozenset(_kinds(charge.event)) | {event.kind}
    return [
        Finding(
            "advisory", charge.dataset, charge.number,
            f"({charge.what}, {charge.charged_at}, hullabaloo {charge.versions.library}) is touched by {one.id}: "
            f"{one.summary} {one.remedy}",
        )
        for one in known
        if one.touches(str(charge.versions.library), kinds)
    ]  # fmt: skip


def _sums(dataset: Dataset, today: Sequence[tuple[Cost, int]]) -> list[Finding]:
    found = []
    try:
        capacity = filter_named(dataset.filter).capacity(dataset.budget)
        fits = filter_named(dataset.filter).fits(dataset.capacity, today)
    except HullabalooError as error:
        return [Finding("fault", dataset.name, None, f"has terms that today's accountant refuses: {error}")]
    if _larger(dataset.capacity, capacity):
        text = (
            f"was given the capacity {_numbers(dataset.capacity)}, and today's accountant allows {_numbers(capacity)}"
        )
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


def _ranges(numbers: Sequence[object]) -> str:
    shown = ", ".join(map(str, numbers[:12]))
    return (shown or "none") + (", …" if len(numbers) > 12 else "")
