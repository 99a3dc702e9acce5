"""The privacy card of a model: one document, as JSON and as a page."""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from hullabaloo.data.files import place_in
from hullabaloo.data.given import path_of
from hullabaloo.data.saving import write_whole
from hullabaloo.errors import InvalidParameter
from hullabaloo.report.checking import problems
from hullabaloo.report.numbers import percent, up

if TYPE_CHECKING:
    from hullabaloo.ledger import Ledger
    from hullabaloo.linear_model.base import PrivateLinearModel
    from hullabaloo.report.entries import Entry

_SECTIONS = {
    "title": str, "private": bool, "not_private": str, "warnings": list, "model": dict, "plain": dict, "guarantee": dict,
    "trust": dict, "mechanism": dict, "coefficients_text": str, "ledger": dict, "check": list, "methods": str,
    "sources": list, "versions": dict,
}  # fmt: skip


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Card:
    """A privacy card. Holds only what was released, what was declared, and what the ledger says; make one with `card`.

    The document follows `card.schema.json`, which is shipped beside this file (`schema()` reads it).
    """

    document: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The card as JSON-ready values; a copy."""
        return copy.deepcopy(dict(self.document))

    def to_json(self, path: str | Path | None = None) -> str:
        """The card as JSON text, written to `path` when one is given; `card_from_json` reads it back unchanged."""
        text = json.dumps(self.document, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
        return _written(text, path)

    def to_html(self, path: str | Path | None = None) -> str:
        """The card as one self-contained page (no scripts, nothing fetched), written to `path` when one is given.

        Needs `pip install "hullabaloo[report]"`.
        """
        from hullabaloo.report.page import page

        return _written(page(self.document), path)

    def check(self) -> tuple[str, ...]:
        """What on the card does not follow from its own event, recomputed now; empty when everything does."""
        return problems(self.document)

    def __str__(self) -> str:
        card, stated = self.document, self.document["guarantee"]
        lines = [
            card["title"],
            *(f"{one['head']}: {one['text']}" for one in card["warnings"]),
            card["plain"]["headline"],
        ]
        if card["private"]:
            lines += [
                f"epsilon {up(stated['epsilon'])} at delta {up(stated['delta'])}, {stated['neighbours']}, {stated['unit_text']}; "
                f"the best attacker guesses right at most {percent(stated['readings']['best_guess'])} of the time",
            ]
        also = card.get("also")
        if also is not None:
            lines += [f"also released: {', '.join(one['title'] for one in also['entries'])}. {also['text']}"]
            if also["together"] is not None:
                lines += [
                    f"together: epsilon {up(also['together']['epsilon'])} at delta {up(also['together']['delta'])}"
                ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Card({self.document['title']!r})"

    def _repr_html_(self) -> str:
        import html

        inside = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{inside}" sandbox="" style="width:100%;height:40rem;border:1px solid #888"></iframe>'


def card(
    model: "PrivateLinearModel",
    *,
    entries: "Sequence[Entry]" = (),
    ledger: "Ledger | str | None" = None,
    title: str | None = None,
) -> Card:
    """The privacy card of a fitted model: what it guarantees, to whom, on what assumptions, and how to check it.

    Args:
        model: a fitted estimator of hullabaloo, or one read by `hb.load`; or a stream, whose card is that of its last release.
        entries: what else was released from these records: private bounds, evaluations, a search. Each is shown with what it costs,
            and with what all of it costs together.
        ledger: where the charge was recorded; by default where the model says. Read, never written.
        title: the card's title; by default the estimator, its target and the dataset's name.

    Raises:
        InvalidParameter: the model is not fitted, or the ledger that was passed does not hold its charge.
        LedgerError: the ledger that was passed cannot be read. (A ledger found through the model that cannot be read is
            said so on the card instead.)

    **Guarantee.** Every number on a card is a function of the release, of public declarations and of the ledger's rows,
    so a card costs no budget (post-processing). A release without privacy has none of its coefficients on its card. Under
    add-or-remove nothing on it depends on the number of rows other than through the noisy answers themselves.

    Example:
        >>> import hullabaloo as hb
        >>> hb.report.card(model).to_html("card.html")  # doctest: +SKIP
    """
    from hullabaloo.report.document import document
    from hullabaloo.report.released import estimator_of

    return Card(document(estimator_of(model), ledger, title, entries))


def card_from_json(path: str | Path) -> Card:
    """Read a card that `Card.to_json` wrote; `check()` then recomputes its numbers."""
    from hullabaloo.report.document import FORMAT, FORMAT_VERSION

    place = path_of(path)
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidParameter(
            f"There is no card at {path}. Check the path, or write one with card.to_json(path)."
        ) from None
    except (ValueError, RecursionError, OSError) as error:
        raise InvalidParameter(
            f"{path} cannot be read as a card: it is not JSON{place_in(error)}. Check the path."
        ) from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InvalidParameter(
            f"{path} is JSON but not a privacy card of Hullabaloo. A saved model becomes a card with "
            "hb.report.card(hb.load(path)); a card is written by card.to_json(path)."
        )
    if found.get("format_version") != FORMAT_VERSION:
        raise InvalidParameter(
            f"{path} has card format {found.get('format_version')!r}, and this library reads format {FORMAT_VERSION}. Use the "
            "library version named in the card, or a newer one."
        )
    broken = [name for name, kind in _SECTIONS.items() if not isinstance(found.get(name), kind)]
    try:
        str(Card(found))
    except (AttributeError, LookupError, TypeError, ValueError):  # a section that is there, and not what it was
        broken.append("guarantee")
    if broken:
        raise InvalidParameter(
            f"{path} says it is a privacy card, but its section {broken[0]!r} is missing or malformed. It was changed or cut off "
            "after it was written; restore the original file."
        )
    return Card(found)


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) that every card follows."""
    from importlib.resources import files

    read: dict[str, Any] = json.loads((files("hullabaloo.report") / "card.schema.json").read_text(encoding="utf-8"))
    return read


def _written(text: str, path: str | Path | None) -> str:
    """Write atomically: a reader sees the old file or the new one."""
    if path is not None:
        write_whole(path_of(path), text)
    return text
