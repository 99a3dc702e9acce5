"""What commands do with what was charged: keep the release whatever happens, and say what it guarantees and what is left."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.panel import Panel
from rich.text import Text

from hullabaloo.cli.boundary import NotSaved

if TYPE_CHECKING:
    from hullabaloo.release import PrivacyStatement

ORDER = "Charging, reading, drawing noise"


def save(place: Path, write: Callable[[Path], Any], what: str, again: str) -> None:
    """Write it; where that fails, rescue it. `what` was done, and what would cost the budget `again`, in words."""
    try:
        write(place)
    except OSError as error:
        rescue = Path(tempfile.mkdtemp(prefix="hullabaloo-")) / place.name
        write(rescue)
        raise NotSaved(
            f"{what}, but {place} could not be written ({error.strerror}). It was saved as {rescue} instead; move the file from there "
            f"rather than {again} again, which would cost the budget a second time."
        ) from None


def guarantee(statement: "PrivacyStatement", of: str = "this release guarantees") -> Panel:
    """The privacy statement in a frame: green, yellow when nothing counts the release, red when nothing is protected."""
    colour = "red" if not statement.private else "yellow" if statement.ledger is None else "green"
    text = Text("\n").join(Text(f"{line[:1].upper()}{line[1:]}.") for line in statement.lines())
    return Panel(text, title=f"What {of}", title_align="left", border_style=colour)


def left(terms: Mapping[str, Any]) -> tuple[dict[str, Any] | None, list[str]]:
    """What remains of a dataset's budget, for scripts and as a sentence; nothing where nothing was charged. See `build.terms`."""
    if terms["ledger"] is None:
        return None, []
    found = terms["ledger"].remaining(terms["dataset"])
    return found.to_dict(), [f"Left for dataset {terms['dataset']!r}: {found.sentence}"]
