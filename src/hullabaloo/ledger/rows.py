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

from hullabaloo.errors import bare, once
from hullabaloo.ledger.names import shown
from hullabaloo.ledger.records import Charge, Dataset, Stream, Versions
from hullabaloo.privacy import Budget, Cost, Neighbours, Totals

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
    return Stream(**_read(f"stream {shown(row['stream'])} on dataset {shown(row['dataset'])}", row, _STREAM))


def to_totals(row: Row) -> Totals:
    """Read running sums; raises Garbled."""
    cell = _read(f"dataset {shown(row['name'])}" if "name" in row else "", row, _SUMS)
    return cell["sum_main"], cell["sum_tail"]


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


def _reader(
    words: str, make: Callable[[Any], Any] = lambda cell: cell, fits: Callable[[Any], bool] = lambda made: True
) -> Callable[[object], Any]:
    """A reader of cells: what `make` makes of one; raises Garbled in these words where that fails or does not fit."""

    def read(cell: object) -> Any:
        try:
            made = make(cell)
            fine = fits(made)
        except Garbled:
            raise
        except Exception:  # reason: whatever a damaged cell provokes is the same finding
            fine = False
        if not fine:
            raise Garbled("", words)
        return made

    return read


def _json(text: object) -> Any:
    try:
        return json.loads(text if isinstance(text, str) else "", object_pairs_hook=once)
    except (ValueError, RecursionError):
        bare(Garbled("", "not JSON"))


def _whole(least: int) -> Callable[[object], int]:
    words = f"not a whole number of at least {least}"
    return _reader(words, fits=lambda one: isinstance(one, int) and not isinstance(one, bool) and one >= least)


def _amounts(*lengths: int) -> Callable[[object], Cost]:
    words = f"not {' or '.join(map(str, lengths))} finite numbers of at least 0"
    return _reader(words, lambda text: tuple(map(_amount, _json(text))), lambda found: len(found) in lengths)


def _amount(value: Any) -> float:
    if isinstance(value, bool | str) or not 0.0 <= float(value) < math.inf:
        raise ValueError(value)
    return float(value)


def _sum(text: object) -> Fraction:
    if isinstance(text, str) and len(text) <= _LONGEST_SUM and fullmatch(r"[0-9]+(/0*[1-9][0-9]*)?", text, ASCII):
        value = Fraction(text)
        if str(value) == text and value.denominator & (value.denominator - 1) == 0:
            return value
    raise Garbled("", "not an exact sum of costs")


to_object = _reader("not a JSON object", _json, lambda value: isinstance(value, dict))
"""Read a JSON object; raises Garbled."""
to_cost = _amounts(2)
"""Read two finite numbers ≥ 0; raises Garbled."""
_budget = _reader("not a budget", lambda text: Budget.from_dict(to_object(text)))
_relation = _reader(f"none of {', '.join(Neighbours)}", Neighbours)
_filter = _reader(f"none of {', '.join(_CAPACITY_LENGTH)}", fits=_CAPACITY_LENGTH.__contains__)
_text = _reader(
    "no text", fits=lambda one: isinstance(one, str) and not any("\ud800" <= letter <= "\udfff" for letter in one)
)
_word = _reader("empty", _text, bool)
_WORDS = {
    "neighbours": "relation",
    "charges": "number of charges",
    "token": "name of its last save",
    "sum_main": "running sum of costs",
    "sum_tail": "running sum of tails",
}
Cells = dict[str, Callable[[object], Any]]


def _each(read: Callable[[object], Any], names: str) -> Cells:
    return dict.fromkeys(names.split(), read)


_TERMS = _each(_text, "unit library_version") | _each(_whole(0), "accounting_version schema_version")
_TERMS |= {"budget": _budget, "neighbours": _relation, "records_per_unit": _whole(1)}
_DATASET = _TERMS | _each(_text, "name created_at created_by")
_DATASET |= {"filter": _filter, "capacity": _amounts(2, 3), "charges": _whole(0)}
_CHARGE = _TERMS | _each(_text, "dataset charged_at who what head") | _each(to_object, "event detail")
_CHARGE |= {"number": _whole(1), "cost": to_cost}
_STREAM = _each(_text, "dataset stream opened_at advanced_at")
_STREAM |= {"charge": _whole(1), "position": _whole(0), "token": _word}
_SUMS = _each(_sum, "sum_main sum_tail")
