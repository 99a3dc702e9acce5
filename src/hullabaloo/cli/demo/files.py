"""The files of a demo folder; `--fresh` removes these and nothing else."""

from dataclasses import dataclass
from pathlib import Path

from hullabaloo.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Files:
    """Where the demo keeps what it makes."""

    folder: Path

    @property
    def table(self) -> Path:
        """The survey."""
        return self.folder / "affairs.csv"

    @property
    def domain(self) -> Path:
        """What was declared about it."""
        return self.folder / "domain.toml"

    @property
    def ledger(self) -> Path:
        """The SQLite ledger."""
        return self.folder / "privacy.db"

    @property
    def model(self) -> Path:
        """The release."""
        return self.folder / "model.json"

    @property
    def card_json(self) -> Path:
        """The privacy card for programs."""
        return self.folder / "card.json"

    @property
    def card_html(self) -> Path:
        """The privacy card for people."""
        return self.folder / "card.html"

    @property
    def curve(self) -> Path:
        """Accuracy against ε, measured on the public table."""
        return self.folder / "curve.json"

    @property
    def curve_picture(self) -> Path:
        """The same as a picture, with its warning."""
        return self.folder / "error-against-epsilon.png"

    @property
    def report(self) -> Path:
        """The page to look at first."""
        return self.folder / "report.html"

    @property
    def url(self) -> str:
        """The ledger's address."""
        return f"sqlite:///{self.ledger.resolve()}"

    def described(self) -> list[tuple[Path, str]]:
        """The files with a word on each, the most interesting first."""
        return [
            (self.report, "the page to look at first"),
            (self.card_html, "the privacy card, to show to a privacy officer"),
            (self.card_json, "the same for programs"),
            (self.model, "the release: coefficients and noisy moments, no record"),
            (self.domain, "what was declared about the table, and why"),
            (self.ledger, "the ledger: who spent what"),
            (self.curve_picture, "accuracy against epsilon, not private"),
            (self.curve, "the numbers of that picture, not private"),
            (self.table, "the survey (public)"),
        ]

    def prepare(self, fresh: bool) -> None:
        """Make the folder; with `fresh`, remove the demo's own files from it."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InvalidParameter(f"The demo writes into a folder, and {self.folder} is a file. Name another place.")
        self.folder.mkdir(parents=True, exist_ok=True)
        if fresh:
            beside = [self.ledger.with_name(self.ledger.name + end) for end in ("-wal", "-shm", "-journal")]
            for path in [*(path for path, _ in self.described()), *beside]:
                path.unlink(missing_ok=True)
