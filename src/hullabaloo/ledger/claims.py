"""What saved models say of the rows that paid for them, held against the ledger: whether it was put back, or rewritten; or the model."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import select

from hullabaloo.errors import InvalidParameter, UnknownDataset
from hullabaloo.ledger import rows, schema, store
from hullabaloo.ledger.records import Finding

_TERMS = "event", "budget", "neighbours", "unit", "records_per_unit"


@dataclass(frozen=True, slots=True)
class Claim:
    """One model's row: its number on a dataset of a database, its head, and what was charged. None where the statement has none."""

    label: str
    dataset: str | None
    number: int | None
    database: str | None
    head: str | None
    terms: Mapping[str, Any]


def read(models: object) -> tuple[Claim, ...]:
    """The claims of models, by name or numbered from 1; raises InvalidParameter for what has no privacy statement."""
    if isinstance(models, Mapping):
        return tuple(_claim(str(name), model) for name, model in models.items())
    if isinstance(models, str | bytes) or not isinstance(models, Iterable):
        raise InvalidParameter(
            f"models must be a sequence of fitted models, or a dictionary of them by name, but a {type(models).__name__} was given. "
            "Nothing was verified. Pass for example models=[model]."
        )
    return tuple(_claim(f"model {place}", model) for place, model in enumerate(models, start=1))


def _claim(label: str, model: object) -> Claim:
    statement = getattr(model, "statement_", None) or getattr(model, "statement", model)
    found: list[Any] = [getattr(statement, name, 0) for name in ("dataset", "charge", "database", "head")]
    if any(
        not isinstance(one, kind | None) or isinstance(one, bool)
        for one, kind in zip(found, (str, int, str, str), strict=True)
    ):
        raise InvalidParameter(
            f"{label} is a {type(model).__name__} without a privacy statement, so it names no row of a ledger. Nothing was verified. Pass "
            "fitted models, or what hb.load gives."
        )
    found.append({name: getattr(statement, name) for name in _TERMS if hasattr(statement, name)})
    return Claim(label, *found)


def check(run: store.Run, claims: Sequence[Claim]) -> list[Finding]:
    """Look for the row of each claim."""
    found = [run(partial(_look, claim)) for claim in claims]
    return [one for one in found if one is not None]


def _look(claim: Claim, session: store.Session) -> Finding | None:
    label, number, database = claim.label, claim.number, schema.require_current(session.connection)
    if claim.dataset is None or number is None:
        return Finding("note", "", None, f"is not what {label} was charged to: it was charged to none")
    if claim.database is None or claim.head is None:
        text = f"cannot be held against {label}: it was saved before charges had heads, and holds none"
        return Finding("note", "", None, text)
    if claim.database != database:
        text = f"has another database id than the one that {label} was charged to: these are two ledgers"
        return Finding("fault", "", None, text)
    try:
        row = session.dataset_row(claim.dataset)[1]
    except UnknownDataset:
        text = f"does not have the dataset of {label}, to which it was charged: it was removed, or an older backup was put back"
        return Finding("fault", "", None, text)
    at = schema.charges.c
    mine = (at.dataset == row["name"]) & (at.number == min(max(number, 0), 2**31 - 1))
    return _compared(claim, number, row, session.first(select(schema.charges).where(mine)))


def _compared(claim: Claim, number: int, dataset: Mapping[Any, Any], row: Any) -> Finding | None:
    """What is wrong with the row that should have paid for a model; None when it is the same."""
    label, name, count = claim.label, dataset["name"], dataset["charges"]
    if row is not None and row["head"] == claim.head:
        other = _otherwise(claim, row)
        text = f"does not hold what {label} says of its {' and '.join(other)}: the model was edited, or the row"
        return Finding("fault", name, number, text) if other else None
    if row is not None:
        text = f"is another one than that which paid for {label}: rows were written anew, or an older backup was put back and went on"
        return Finding("fault", name, number, text)
    if not isinstance(count, int) or number <= count:
        return Finding("fault", name, number, f"paid for {label} and is not there")
    text = (
        f"ends at row {count}, and {label} was row {number}: at least {number - count} row(s) are missing, as after an older backup was put "
        "back. Less is left of the budget than the ledger says"
    )
    return Finding("fault", name, None, text)


def _otherwise(claim: Claim, row: Any) -> list[str]:
    """Which of its terms a model tells otherwise than the row that paid for it; none of a row that cannot be read, as that is a finding of its own."""
    try:
        charge = rows.to_charge(row, claim.database or "")
    except rows.Garbled:
        return []
    told = {name: value.to_dict() if name == "event" else value for name, value in claim.terms.items()}
    return [name.replace("_", " ") for name, value in told.items() if value != getattr(charge, name)]
