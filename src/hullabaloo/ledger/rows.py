"""Records to rows and back. Floats pass as JSON text, which Python writes and reads without losing a bit."""

import json
import math
from typing import Any

from sqlalchemy import RowMapping

from hullabaloo.ledger.records import Charge, Dataset, Stream, Versions
from hullabaloo.privacy import Budget, Neighbours
from hullabaloo.privacy.filters import Capacity, Cost

_CAPACITY_LENGTH = {"basic": 2, "gdp": 2, "renyi": 3}  # the Rényi filter keeps its order


class Garbled(Exception):
    """A stored value is not what this library writes."""


def dump(value: object) -> str:
    """Give JSON text; raises TypeError or ValueError for what JSON cannot hold."""
    return json.dumps(value, allow_nan=False, sort_keys=True)


def from_dataset(record: Dataset) -> dict[str, Any]:
    """Give the columns of hullabaloo_dataset."""
    return {
        "name": record.name,
        "filter": record.filter,
        "capacity": dump(list(record.capacity)),
        "charges": record.charges,
        "created_at": record.created_at,
        "created_by": record.created_by,
        **_common(record),
    }


def from_charge(record: Charge) -> dict[str, Any]:
    """Give the columns of hullabaloo_charge."""
    return {
        "dataset": record.dataset,
        "number": record.number,
        "charged_at": record.charged_at,
        "who": record.who,
        "what": record.what,
        "event": dump(record.event),
        "cost": dump(list(record.cost)),
        "detail": dump(record.detail),
        **_common(record),
    }


def _common(record: Dataset | Charge) -> dict[str, Any]:
    return {
        "budget": dump(record.budget.to_dict()),
        "neighbours": record.neighbours.value,
        "unit": record.unit,
        "records_per_unit": record.records_per_unit,
        "library_version": record.versions.library,
        "accounting_version": record.versions.accounting,
        "schema_version": record.versions.schema,
    }


def to_dataset(row: RowMapping) -> Dataset:
    """Read a row of hullabaloo_dataset; raises Garbled."""
    label = f"dataset {row['name']!r}"
    count = row["charges"]
    if not isinstance(count, int) or count < 0:
        raise Garbled(f"{label}: its number of charges reads {count!r}")
    return Dataset(
        name=row["name"],
        budget=_budget(label, row["budget"]),
        neighbours=_neighbours(label, row["neighbours"]),
        unit=row["unit"],
        records_per_unit=row["records_per_unit"],
        filter=row["filter"],
        capacity=_capacity(label, row),
        charges=count,
        created_at=row["created_at"],
        created_by=row["created_by"],
        versions=_versions(row),
    )


def to_charge(row: RowMapping) -> Charge:
    """Read a row of hullabaloo_charge; raises Garbled."""
    label = f"charge {row['number']} on {row['dataset']!r}"
    return Charge(
        dataset=row["dataset"],
        number=row["number"],
        charged_at=row["charged_at"],
        who=row["who"],
        what=row["what"],
        event=_object(f"{label}: its event", row["event"]),
        budget=_budget(label, row["budget"]),
        cost=to_cost(row["cost"], f"{label}: its cost"),
        neighbours=_neighbours(label, row["neighbours"]),
        unit=row["unit"],
        records_per_unit=row["records_per_unit"],
        detail=_object(f"{label}: its detail", row["detail"]),
        versions=_versions(row),
    )


def to_stream(row: RowMapping) -> Stream:
    """Read a row of hullabaloo_stream; raises Garbled."""
    label = f"stream {row['stream']!r} on {row['dataset']!r}"
    position, token = row["position"], row["token"]
    if not isinstance(position, int) or position < 0:
        raise Garbled(f"{label}: its position reads {_excerpt(position)}")
    if not isinstance(token, str) or not token:
        raise Garbled(f"{label}: the name of its last save reads {_excerpt(token)}")
    return Stream(row["dataset"], row["stream"], row["charge"], position, token, row["opened_at"], row["advanced_at"])


def to_cost(text: object, label: str = "a cost", length: int = 2) -> Cost:
    """Read so many finite numbers ≥ 0 (two, for a cost); raises Garbled."""
    value = _load(label, text)
    if not isinstance(value, list) or len(value) != length or not all(map(_is_amount, value)):
        raise Garbled(f"{label} reads {_excerpt(text)}, not {length} finite numbers of at least 0")
    return tuple(map(float, value))


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


def _capacity(label: str, row: RowMapping) -> Capacity:
    if row["filter"] not in _CAPACITY_LENGTH:
        raise Garbled(
            f"{label}: its filter reads {_excerpt(row['filter'])}, which is none of {', '.join(_CAPACITY_LENGTH)}"
        )
    return to_cost(row["capacity"], f"{label}: its capacity", _CAPACITY_LENGTH[row["filter"]])


def _load(label: str, text: object) -> Any:
    try:
        return json.loads(text)  # type: ignore[arg-type]  # a TypeError is a finding like any other
    except (TypeError, ValueError, RecursionError):
        raise Garbled(f"{label} reads {_excerpt(text)}, not JSON") from None


def _object(label: str, text: object) -> dict[str, Any]:
    value = _load(label, text)
    if not isinstance(value, dict):
        raise Garbled(f"{label} reads {_excerpt(text)}, not a JSON object")
    return value


def _budget(label: str, text: object) -> Budget:
    value = _object(f"{label}: its budget", text)
    try:
        return Budget.from_dict(value)
    except Exception as error:  # reason: whatever a damaged dictionary provokes is the same finding
        raise Garbled(f"{label}: its budget reads {_excerpt(text)}, not a budget") from error


def _neighbours(label: str, text: object) -> Neighbours:
    try:
        return Neighbours(text)  # type: ignore[arg-type]
    except ValueError:
        raise Garbled(f"{label}: its relation reads {_excerpt(text)}") from None


def _versions(row: RowMapping) -> Versions:
    return Versions(row["library_version"], row["accounting_version"], row["schema_version"])


def _excerpt(text: object) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else shown[:57] + "…"
