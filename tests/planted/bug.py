"""What a planted bug is: a text in a module of the library, and the text that a mistaken developer wrote there."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"


@dataclass(frozen=True, slots=True)
class Bug:
    """A privacy bug in one place.

    Attributes:
        name: what it is called.
        wrong: what goes wrong, in a sentence.
        module: where, below `hullabaloo`.
        old: the text that is right; it occurs once.
        new: the text in its place.
        caught_by: tests (by their pytest ids) of which each fails, the quickest first.
    """

    name: str
    wrong: str
    module: str
    old: str
    new: str
    caught_by: tuple[str, ...]

    @property
    def imported(self) -> str:
        """The module's whole name."""
        return f"hullabaloo.{self.module}"

    @property
    def path(self) -> Path:
        """The module's real file."""
        plain = SOURCE.joinpath(*self.imported.split("."))
        return plain / "__init__.py" if plain.is_dir() else plain.with_suffix(".py")

    def source(self) -> str:
        """The module with the bug in it.

        Raises:
            LookupError: the right text is not there, or there more than once: the code was changed, so change the bug with it.
        """
        text = self.path.read_text(encoding="utf-8")
        found = text.count(self.old)
        if found != 1:
            raise LookupError(
                f"The bug {self.name!r} replaces a text that occurs {found} times in {self.path.relative_to(ROOT)}, and must occur once. "
                f"The code was changed: write the bug anew.\n{self.old}"
            )
        return text.replace(self.old, self.new)
