"""Other releases on a card: what private bounds, an evaluation or a search said, and what all of them cost together."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from hullabaloo.data.documents import kind_of
from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import compose, epsilon_of, event_from_dict
from hullabaloo.release import NOT_PRIVATE, PrivacyStatement
from hullabaloo.release.parameters import found as named
from hullabaloo.report import words
from hullabaloo.report.guarantee import cost, finite

Document = dict[str, Any]
_KEYS = {"title", "lines", "table"}
_AGAIN = "It is the same release as one above, so its cost is counted once."


class Entry(Protocol):
    """What a card can hold beside a model: `hb.PrivateBounds`, `hb.Evaluation`, a search."""

    @property
    def statement(self) -> PrivacyStatement: ...  # noqa: D102
    def card_entry(self) -> Document: ...  # noqa: D102


def entry_from_json(path: str | Path) -> Any:
    """Read an entry of a card that its `save` wrote: private bounds or an evaluation.

    Raises:
        InvalidParameter: the file is none.
    """
    from hullabaloo.bounds.record import PrivateBounds
    from hullabaloo.model_selection.evaluation import Evaluation

    bounds = kind_of(path) == PrivateBounds.FORMAT.name
    return (PrivateBounds if bounds else Evaluation).load(path)


def section(statement: PrivacyStatement, entries: Iterable[Entry]) -> Document | None:
    """The section "Also released from these records"; None without entries."""
    if not isinstance(entries, Iterable) or isinstance(entries, str | Mapping):
        raise InvalidParameter(
            f"The entries of a card are a list, entries=[bounds, evaluation], and {named(entries)} was given. Put it into a list."
        )
    found: list[Document] = []
    seen, counted = [statement], [statement]
    for entry in entries:
        about = _statement(entry)
        note = _note(statement, about, seen)
        seen.append(about)
        counted += [] if note else [about]
        found.append({**_shown(entry, about), "counted": not note, "note": note})
    if not found:
        return None
    private, known = all(one.private for one in counted), all(one.dataset is not None for one in counted)
    facts = {"alone": len(counted) < 2, "all_private": private, "known": known, "dataset": statement.dataset}
    facts["apart"] = any(one["note"] not in ("", _AGAIN) for one in found)  # something here is no part of the total
    together = None
    if len(counted) > 1 and private:  # composed, at the largest δ at which one of them is quoted
        event = compose(*(one.event for one in counted))
        together = {"releases": len(counted), **cost(event, max(one.delta for one in counted))}
    return {"entries": found, "together": together, "text": words.text("also", facts)}


def warnings(also: Document | None) -> list[dict[str, str]]:
    """What has to be read first about the entries."""
    text = "{}, which this card mentions as well, has no privacy guarantee, so nothing bounds what all of it reveals."
    open_ = [one["title"] for one in (also["entries"] if also else []) if not one["private"]]
    return [{"kind": "not-private", "head": "NOT PRIVATE", "text": text.format(title)} for title in open_]


def problems(card: Mapping[str, Any], close: Any) -> list[str]:
    """What of the entries does not follow from their events."""
    also = card.get("also")
    wrong: list[str] = []
    if not also:
        return wrong
    counted = [event_from_dict(card["guarantee"]["event"])]
    for one in also["entries"]:
        event = event_from_dict(one["event"])
        counted += [event] * one["counted"]
        now = finite(epsilon_of(event, one["delta"])) if one["private"] else None
        if not close(one["epsilon"], now):
            wrong.append(
                f"The card says epsilon = {one['epsilon']!r} of {one['title']!r}, and its event gives {now!r}."
            )
    said = also["together"]
    if said is not None:
        now = finite(epsilon_of(compose(*counted), said["delta"]))
        if not close(said["epsilon"], now) or said["releases"] != len(counted):
            wrong.append(f"The card says epsilon = {said['epsilon']!r} of all together, and their events give {now!r}.")
    return wrong


def _statement(entry: Any) -> PrivacyStatement:
    statement = getattr(entry, "statement", getattr(entry, "statement_", None))
    if not isinstance(statement, PrivacyStatement) or not callable(getattr(entry, "card_entry", None)):
        raise InvalidParameter(
            f"An entry of a card was given as {named(entry)}, which carries no privacy statement or says nothing for a card. "
            "Pass private bounds, an evaluation or a search; saved ones as hb.PrivateBounds.load or hb.Evaluation.load gives them."
        )
    return statement


def _shown(entry: Entry, statement: PrivacyStatement) -> Document:
    """An entry as JSON values. One without privacy has none of its numbers on a card."""
    said = dict(entry.card_entry())
    if set(said) != _KEYS:
        raise InvalidParameter(
            f"The entry of a card {type(entry).__name__} gave has the fields {sorted(said)}; there are {sorted(_KEYS)}."
        )
    private, table = statement.private, said["table"]
    if table is not None:
        table = {"head": [*map(str, table["head"])], "body": [[*map(str, line)] for line in table["body"]]}
    withheld = [] if private else [f"{NOT_PRIVATE[statement.not_private]}; its numbers are left out of this card"]
    return {
        "title": str(said["title"]),
        "lines": [str(line) for line in said["lines"]] if private else withheld,
        "table": table if private else None,
        "private": private,
        "epsilon": finite(statement.epsilon()) if private else None,
        "delta": statement.delta if private else None,
        "budget_text": words.budget_text(statement.budget),
        "relation_text": words.facts_of(statement)["relation_text"],
        "dataset": statement.dataset,
        "charge": statement.charge,
        "made": statement.made,
        "event": statement.event.to_dict() if statement.not_private != "epsilon" else {"kind": "not-private"},
    }


def _note(model: PrivacyStatement, other: PrivacyStatement, seen: Sequence[PrivacyStatement]) -> str:
    """Why a release is not added to the total; "" where it is."""
    if any(_same(other, one) for one in seen):
        return _AGAIN
    if None not in (model.dataset, other.dataset) and (model.ledger, model.dataset) != (other.ledger, other.dataset):
        return f"It was charged to another dataset, {other.dataset!r}, so its cost is not added to this model's."
    if (model.neighbours, model.unit) != (other.neighbours, other.unit):
        return "It protects something else (another relation or unit), so its cost and this model's do not add up to one number."
    return ""


def _same(one: PrivacyStatement, other: PrivacyStatement) -> bool:
    """Whether two statements are of one release. Without a charge only one object is: two releases of a second can say the same."""
    first, second = ((each.ledger, each.dataset, each.charge) for each in (one, other))
    return one is other if first[2] is None and second[2] is None else first == second
