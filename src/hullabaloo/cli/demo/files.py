"""The files of a demo folder; `--fresh` removes these and nothing else."""

from dataclasses import dataclass
from pathlib import Path

from hullabaloo.errors import InvalidParameter

# The files with a word on each, the most interesting first.
KEPT = {
    "report.html": "the page to look at first",
    "card.html": "the privacy card, to show to a privacy officer",
    "card.json": "the same for programs",
    "model.json": "the release: coefficients and the plan, no record",
    "domain.toml": "what was declared about the table, and why",
    "privacy.db": "the ledger: who spent what",
    "error-against-epsilon.png": "accuracy against epsilon, not private",
    "curve.json": "the numbers of that picture, not private",
    "affairs.csv": "the survey (public)",
}


@dataclass(frozen=True, slots=True)
class Files:
    """Where the demo keeps what it makes."""

    folder: Path

    def __getitem__(self, name: str) -> Path:
        return self.folder / name

    @property
    def url(self) -> str:
        """The ledger's address."""
        return f"sqlite:///{self['privacy.db'].resolve()}"

    def described(self) -> list[tuple[Path, str]]:
        """The files with a word on each."""
        return [(self[name], what) for name, what in KEPT.items()]

    def prepare(self, fresh: bool) -> None:
        """Make the folder; with `fresh`, remove the demo's own files from it."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InvalidParameter(f"The demo writes into a folder, and {self.folder} is a file. Name another place.")
        self.folder.mkdir(parents=True, exist_ok=True)
        if fresh:
            for name in (*KEPT, *(f"privacy.db{end}" for end in ("-wal", "-shm", "-journal"))):
                self[name].unlink(missing_ok=True)
