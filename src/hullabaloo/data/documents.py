"""Documents: what was released, as versioned JSON files that hold no record."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from hullabaloo.data.files import place_in
from hullabaloo.data.given import path_of
from hullabaloo.data.saving import write_whole
from hullabaloo.errors import HullabalooError, InvalidParameter, UnknownParameter, bare, once

T = TypeVar("T")

READERS = {
    "hullabaloo model": "hb.load",
    "hullabaloo stream model": "hb.streaming.load",
    "hullabaloo evaluation": "hb.Evaluation.load",
    "hullabaloo private bounds": "hb.PrivateBounds.load",
    "hullabaloo privacy card": "hb.report.card_from_json",
}
"""Every kind of document, and what reads it."""
ENTRIES = ("hb.Evaluation.load", "hb.PrivateBounds.load")
"""Of what stands on a card beside a model."""


def kind_of(path: str | Path) -> str | None:
    """Of which kind a file says it is; None where it is no document that can be read."""
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads(path_of(path).read_text(encoding="utf-8"), object_pairs_hook=once)
        return str(found.get("format")) if isinstance(found, dict) else None
    return None


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON, and no document is written with it")


def _whole(text: str) -> int:
    return int(text if len(text) < 300 else _no_number("a number beyond floats"))


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of document.

    Attributes:
        name: by which files of it say what they are, one of `READERS`.
        noun: what one is, in a sentence after "no".
        writer: the call that writes one.
        version: of its layout; no other is read.
    """

    name: str
    noun: str
    writer: str
    version: int = 1

    @property
    def head(self) -> dict[str, Any]:
        """The entries that such a document begins with."""
        return {"format": self.name, "format_version": self.version}

    def write(self, data: Mapping[str, Any], path: str | Path) -> None:
        """Write as `write_whole` does: a reader sees the old file or the new one."""
        write_whole(path_of(path), json.dumps(data, indent=1, allow_nan=False) + "\n")

    def read(self, path: str | Path, make: Callable[[dict[str, Any]], T]) -> T:
        """What `make` makes of the document in a file.

        Raises:
            InvalidParameter: there is no such file, or it is no such document, of another version, or damaged.
        """
        try:
            text = path_of(path).read_text(encoding="utf-8")
            found = json.loads(text, parse_constant=_no_number, parse_int=_whole, object_pairs_hook=once)
        except FileNotFoundError:
            raise InvalidParameter(f"There is no {self.noun} at {path}. Check it; {self.writer} writes one.") from None
        except HullabalooError:
            raise
        except (OSError, ValueError, RecursionError) as error:
            why = error.strerror if isinstance(error, OSError) else f"it is not JSON{place_in(error)}"
            bare(InvalidParameter(f"{path} cannot be read, so it is no {self.noun} ({why}). Check the path."))
        self.check(found, str(path))
        try:
            return make(found)
        except Exception as error:  # reason: a page's template has errors of its own
            # Whose name is the file's.
            if isinstance(error, HullabalooError) and not isinstance(error, UnknownParameter):
                raise
            bare(
                InvalidParameter(
                    f"{path} says it is a {self.name} file, but an entry is missing or malformed ({type(error).__name__}). It was changed or cut off after it was written; restore the original file."
                )
            )

    def check(self, data: Any, where: str = "This") -> None:
        """Refuse what is another thing, or of another version, and say what reads it; `where` it was found begins the sentence."""
        name = data.get("format") if isinstance(data, Mapping) else None
        if name != self.name:
            reader = READERS.get(str(name))
            if reader is not None:
                card = ", or show it on a card beside one: hullabaloo card MODEL --entry FILE" * (reader in ENTRIES)
                raise InvalidParameter(f"{where} is a {name} file, no {self.noun}. Read it with {reader}(path){card}.")
            raise InvalidParameter(f"{where} is JSON, but no {self.noun}; {self.writer} writes one. Check the path.")
        if data.get("format_version") != self.version:
            wrote = data.get("library_version")
            raise InvalidParameter(
                f"{where} has format version {data.get('format_version')!r}, and this library reads version {self.version}. Use the "
                f"library version that wrote it{'' if wrote is None else f' ({wrote})'}, or a newer one."
            )


class Saved(ABC):
    """What writes itself as a document of its class's format."""

    __slots__ = ()
    FORMAT: ClassVar[Format]

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""

    def save(self, path: str | Path) -> None:
        """Write it as versioned JSON, atomically: released numbers and declarations, no records."""
        self.FORMAT.write(self.to_dict(), path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote.

        Raises:
            InvalidParameter: there is no such file, or it is none that `save` wrote, or of another version.
        """
        return cls.FORMAT.read(path, cls.from_dict)
