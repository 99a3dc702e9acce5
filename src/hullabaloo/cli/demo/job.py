"""The demo's work: the same calls that a user would make, in the same order, in a folder of whose files `--fresh` removes these and nothing else."""

from dataclasses import dataclass
from pathlib import Path

from hullabaloo.cli.demo import survey
from hullabaloo.cli.demo.page import write_page
from hullabaloo.cli.demo.survey import Curve, measure
from hullabaloo.cli.output import Output
from hullabaloo.data import Domain, write_whole
from hullabaloo.errors import BudgetExhausted, InvalidParameter
from hullabaloo.ledger import Ledger, Remaining
from hullabaloo.linear_model import LinearRegression, PrivateLinearModel, load
from hullabaloo.privacy import Budget

LOST = (
    " The ledger of this folder was charged, but the release is not here: an earlier run was stopped in between, and a charge "
    "stays charged. For this public survey, --fresh begins again."
)
# The files with a word on each, the most interesting first.
KEPT = {
    "page.html": "the page to look at: what was found, and what privacy cost (its last picture is not private)",
    "model.json": "the release: coefficients and the plan, no record",
    "domain.toml": "what was declared about the table, and why",
    "privacy.db": "the ledger: who spent what",
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

    def prepare(self, fresh: bool) -> None:
        """Make the folder; with `fresh`, remove the demo's own files from it."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InvalidParameter(f"The demo writes into a folder, and {self.folder} is a file. Name another place.")
        self.folder.mkdir(parents=True, exist_ok=True)
        if fresh:
            for name in (*KEPT, *(f"privacy.db{end}" for end in ("-wal", "-shm", "-journal"))):
                self[name].unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the demo has to tell."""

    model: PrivateLinearModel
    curve: Curve | None
    price: str
    remaining: Remaining
    refusal: str
    reused: bool


def run(files: Files, output: Output) -> Outcome:
    """Do the whole job in a folder, or show again what an earlier run released there."""
    table = survey.load()
    write_whole(files["domain.toml"], survey.domain())
    table.to_csv(files["affairs.csv"], index=False)
    domain, budget = Domain.from_toml(files["domain.toml"]), Budget(survey.EPSILON, survey.DELTA)
    ledger = Ledger(files.url)
    if not files["privacy.db"].exists() or survey.DATASET not in {one.name for one in ledger.datasets()}:
        ledger.create(survey.DATASET, budget, neighbours="replace-one")
    asked = LinearRegression(domain=domain, budget=budget, ledger=ledger, dataset=survey.DATASET)
    price = asked.price(n=len(table)).expectation
    reused = files["model.json"].exists()
    with output.working("Charging the ledger, reading the survey, drawing noise"):
        model = load(files["model.json"]) if reused else _fit(asked, files)
        refusal = _second_fit(asked, files)
    remaining, curve = ledger.remaining(survey.DATASET), None
    if not (reused and files["page.html"].exists()):
        with output.steps("Accuracy against epsilon, on public data", len(survey.EPSILONS)) as advance:
            curve = measure(model, domain, table, survey.DELTA, advance)
        write_page(files["page.html"], model, curve, remaining.describe(), refusal)
    return Outcome(model, curve, price, remaining, refusal, reused)


def _fit(model: PrivateLinearModel, files: Files) -> PrivateLinearModel:
    try:
        model.fit(str(files["affairs.csv"]))
    except BudgetExhausted as refused:
        raise BudgetExhausted(str(refused) + LOST) from None
    model.save(files["model.json"])
    return model


def _second_fit(model: PrivateLinearModel, files: Files) -> str:
    """Ask for one more release of the same survey: the ledger refuses, and the table is not read."""
    try:
        LinearRegression(**model.get_params()).fit(str(files["affairs.csv"]))
    except BudgetExhausted as refused:
        return str(refused)
    return "it was accepted, which is a fault of the ledger"
