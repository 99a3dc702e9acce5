"""The privacy card of a model: one document, as JSON and as a page."""

import copy
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hullabaloo.data import path_of, write_whole
from hullabaloo.errors import HullabalooError, MissingLibrary
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.model_selection.evaluation import inside
from hullabaloo.privacy import epsilon_of, event_from_dict
from hullabaloo.report import entries, guarantee
from hullabaloo.report.document import FORMAT, document
from hullabaloo.report.entries import Entry
from hullabaloo.report.words import percent, up

_TOLERANCE = 1e-9  # relative: another machine's special functions may differ in the last digits


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
        if path is not None:
            write_whole(path_of(path), text)
        return text

    def to_html(self, path: str | Path | None = None) -> str:
        """The card as one self-contained page (no scripts, nothing fetched), written to `path` when one is given.

        Needs `pip install "hullabaloo[report]"`.
        """
        from hullabaloo.report.page import page

        text = page(self.document)
        if path is not None:
            write_whole(path_of(path), text)
        return text

    def check(self) -> tuple[str, ...]:
        """What on the card does not follow from its own event, recomputed with this version's accountant; empty when everything does."""
        try:
            return tuple(_problems(self.document))
        except (HullabalooError, AttributeError, LookupError, TypeError, ValueError) as error:
            return (f"The event on the card cannot be priced: {error}",)

    def __str__(self) -> str:
        card, stated, also = self.document, self.document["guarantee"], self.document.get("also")
        warned = [f"{one['head']}: {one['text']}" for one in card["warnings"]]
        lines = [card["title"], *warned, card["plain"]["headline"]]
        if card["private"]:
            lines.append(
                f"epsilon {up(stated['epsilon'])} at delta {up(stated['delta'])}, {stated['neighbours']}, {stated['unit_text']}; "
                f"the best attacker guesses right at most {percent(stated['readings']['best_guess'])} of the time"
            )
        if also is not None:
            lines.append(f"also released: {', '.join(one['title'] for one in also['entries'])}. {also['text']}")
            together = also["together"]
            if together is not None:
                lines.append(f"together: epsilon {up(together['epsilon'])} at delta {up(together['delta'])}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Card({self.document['title']!r})"

    def _repr_html_(self) -> str:
        import html

        inside = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{inside}" sandbox="" style="width:100%;height:40rem;border:1px solid #888"></iframe>'


def card(model: PrivateLinearModel, *, entries: Sequence[Entry] = (), ledger: Ledger | str | None = None) -> Card:
    """The privacy card of a fitted model: what it guarantees, to whom, on what assumptions, and how to check it.

    Args:
        model: a fitted estimator of hullabaloo, or one read by `hb.load`; or a stream, whose card is that of its last release.
        entries: what else was released from these records: private bounds, evaluations, a search. Each is shown with what it costs,
            and with what all of it costs together.
        ledger: where the charge was recorded; by default where the model says. Read, never written.

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
    return Card(document(inside(model, "A card")[0], ledger, entries))


def card_from_json(path: str | Path) -> Card:
    """Read a card that `Card.to_json` wrote; `check()` then recomputes its numbers."""

    def made(found: dict[str, Any]) -> Card:
        card = Card(found)
        str(card)  # what cannot be shown was changed
        with suppress(MissingLibrary):  # without which no page is ever seen
            card.to_html()
        return card

    return FORMAT.read(path, made)


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) that every card follows."""
    from importlib.resources import files

    return json.loads((files("hullabaloo.report") / "card.schema.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def _problems(card: Mapping[str, Any]) -> list[str]:
    stated, others = card["guarantee"], entries.problems(card, _close)
    if not card["private"]:
        lie = "The card says that it is not private, and yet states an epsilon."
        return [lie] * (stated["epsilon"] is not None) + others
    event = event_from_dict(stated["event"])
    delta = float(stated["delta"])
    now = {
        "epsilon": guarantee.finite(epsilon_of(event, delta)),
        "mu": event.gdp_mu(),
        "readings": guarantee.readings(event, delta),
        "groups": guarantee.groups(event, delta, [one["k"] for one in stated["groups"]]),
        "other_deltas": guarantee.other_deltas(event, delta),
    }
    wrong = [
        f"The card says {name} = {stated.get(name)!r}, and its event gives {value!r}."
        for name, value in now.items()
        if not _close(stated.get(name), value)
    ]
    return wrong + others


def _close(left: Any, right: Any) -> bool:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_close(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_close(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, int | float) and isinstance(right, int | float):
        return math.isclose(left, right, rel_tol=_TOLERANCE, abs_tol=0.0)
    return bool(left == right)
