"""Records to rows and back. Floats pass as JSON text, which Python writes and reads without losing a bit.

What a damaged cell holds is never repeated: a message names the row and the column.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from fractions import Fraction
from re import ASCII, fullmatch
from typing import Any

from hullabaloo.ledger.names import shown
from hullabaloo.ledger.records import Charge, Dataset, Stream, Versions
from hullabaloo.privacy import Budget, Neighbours
from hullabaloo.privacy.filters import Cost, Totals

_CAPACITY_LENGTH = {"basic": 2, "gdp": 2, "renyi": 3}  # the Rényi filter keeps its order
_VERSIONS = ("library", "accounting", "schema")
_LONGEST_SUM = 4000  # digits; see privacy/filters.py
Row = Mapping[Any, Any]


class Garbled(Exception):
    """Stored values are not what this library writes; one fault a cell."""

    def __init__(self, row: str, *faults: str) -> None:
        super().__init__(f"{row}: {'; '.join(faults)}" if row else "; ".join(faults))
        self.faults = faults


def dump(value: object) -> str:
    """Give JSON text; raises TypeError, ValueError or RecursionError for what JSON cannot hold."""
    return json.dumps(value, allow_nan=False, sort_keys=True)


def from_record(record: Dataset | Charge) -> dict[str, Any]:
    """Give the columns of a dataset's row or a charge's, all but salt, head and sums."""
    names = {one.name for one in fields(record)} - {"versions", "database", "head"}
    unsaid = ("analyst", "purpose", "approval", "project") if isinstance(record, Charge) else ()
    versions = {f"{one}_version": getattr(record.versions, one) for one in _VERSIONS}
    return dict.fromkeys(unsaid) | {name: _written(getattr(record, name)) for name in names} | versions


def _written(value: Any) -> Any:
    """A cell: texts and whole numbers as they are, everything else as JSON."""
    if isinstance(value, Neighbours):
        return value.value
    return value if isinstance(value, str | int) else dump(value.to_dict() if isinstance(value, Budget) else value)


def from_totals(totals: Totals) -> dict[str, str]:
    """Give the columns of running sums."""
    return {"sum_main": str(totals[0]), "sum_tail": str(totals[1])}


def to_dataset(row: Row) -> Dataset:
    """Read a row of hullabaloo_dataset; raises Garbled."""
    label = f"dataset {shown(row['name'])}"
    cell = _read(label, row, _DATASET)
    if len(cell["capacity"]) != _CAPACITY_LENGTH[cell["filter"]]:
        raise Garbled(label, f"its capacity is not {_CAPACITY_LENGTH[cell['filter']]} finite numbers of at least 0")
    return Dataset(**cell)


def to_charge(row: Row, database: str) -> Charge:
    """Read a row of hullabaloo_charge; raises Garbled."""
    number = row["number"] if isinstance(row["number"], int) else "without a number"
    return Charge(**_read(f"charge {number} on dataset {shown(row['dataset'])}", row, _CHARGE), database=database)


def to_stream(row: Row) -> Stream:
    """Read a row of hullabaloo_stream; raises Garbled."""
    label = f"stream {shown(row['stream'])} on dataset {shown(row['dataset'])}"
    return Stream(**_read(label, row, _STREAM))


def to_totals(row: Row) -> Totals:
    """Read running sums; raises Garbled."""
    cell = _read(f"dataset {shown(row['name'])}" if "name" in row else "", row, _SUMS)
    return cell["sum_main"], cell["sum_tail"]


def to_cost(text: object) -> Cost:
    """Read two finite numbers ≥ 0; raises Garbled."""
    return _amounts(text, (2,))


def _read(label: str, row: Row, cells: Mapping[str, Callable[[object], Any]]) -> dict[str, Any]:
    """Read every cell; raises Garbled with all that cannot be."""
    found, faults = {}, []
    for name, read in cells.items():
        try:
            found[name] = read(row[name])
        except Garbled as error:
            faults.append(f"its {_WORDS.get(name, name.replace('_', ' '))} is {error}")
    if faults:
        raise Garbled(label, *faults)
    if "library_version" in found:
        found["versions"] = Versions(*(found.pop(f"{one}_version") for one in _VERSIONS))
    return found


def _amounts(text: object, lengths: tuple[int, ...]) -> Cost:
    value = _json(text)
    if not isinstance(value, list) or len(value) not in lengths or not all(map(_is_amount, value)):
        raise Garbled("", f"not {' or '.join(map(str, lengths))} finite numbers of at least 0")
    return tuple(map(float, value))


def _is_amount(value: object) -> bool:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(number) and number >= 0


def _json(text: object) -> Any:
    try:
        return json.loads(text if isinstance(text, str) else "")
    except (ValueError, RecursionError):
        raise Garbled("", "not JSON") from None


def to_object(text: object) -> dict[str, Any]:
    """Read a JSON object; raises Garbled."""
    value = _json(text)
    if not isinstance(value, dict):
        raise Garbled("", "not a JSON object")
    return value


def _budget(text: object) -> Budget:
    try:
        return Budget.from_dict(to_object(text))
    except Garbled:
        raise
    except Exception:  # reason: whatever a damaged dictionary provokes is the same finding
        raise Garbled("", "not a budget") from None


def _relation(text: object) -> Neighbours:
    try:
        return Neighbours(text)  # type: ignore[arg-type]
    except ValueError:
        raise Garbled("", f"none of {', '.join(Neighbours)}") from None


def _filter(text: object) -> str:
    if isinstance(text, str) and text in _CAPACITY_LENGTH:
        return text
    raise Garbled("", f"none of {', '.join(_CAPACITY_LENGTH)}")


def _text(text: object) -> str:
    if isinstance(text, str) and (text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)):
        return text
    raise Garbled("", "no text")


def _word(text: object) -> str:
    if not _text(text):
        raise Garbled("", "empty")
    return _text(text)


def _whole(least: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        raise Garbled("", f"not a whole number of at least {least}")

    return read


def _sum(text: object) -> Fraction:
    if isinstance(text, str) and len(text) <= _LONGEST_SUM and fullmatch(r"[0-9]+(/0*[1-9][0-9]*)?", text, ASCII):
        value = Fraction(text)
        if str(value) == text and value.denominator & (value.denominator - 1) == 0:
            return value
    raise Garbled("", "not an exact sum of costs")


_WORDS = {
    "neighbours": "relation",
    "charges": "number of charges",
    "token": "name of its last save",
    "sum_main": "running sum of costs",
    "sum_tail": "running sum of tails",
}
_TERMS: dict[str, Callable[[object], Any]] = {
    "budget": _budget,
    "neighbours": _relation,
    "unit": _text,
    "records_per_unit": _whole(1),
    "library_version": _text,
    "accounting_version": _whole(0),
    "schema_version": _whole(0),
}
_DATASET: dict[str, Callable[[object], Any]] = _TERMS | {
    "name": _text,
    "filter": _filter,
    "capacity": lambda text: _amounts(text, (2, 3)),
    "charges": _whole(0),
    "created_at": _text,
    "created_by": _text,
}
_CHARGE: dict[str, Callable[[object], Any]] = _TERMS | {
    "dataset": _text,
    "number": _whole(1),
    "charged_at": _text,
    "who": _text,
    "what": _text,
    "event": to_object,
    "cost": to_cost,
    "detail": to_object,
    "head": _text,
}
_STREAM: dict[str, Callable[[object], Any]] = {
    "dataset": _text,
    "stream": _text,
    "charge": _whole(1),
    "position": _whole(0),
    "token": _word,
    "opened_at": _text,
    "advanced_at": _text,
}
_SUMS: dict[str, Callable[[object], Any]] = {"sum_main": _sum, "sum_tail": _sum}
