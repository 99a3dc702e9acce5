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
from hullabaloo.reproduce.claims import check_folder

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


def prepare(folder: Path, fresh: bool) -> None:
    """Make the folder, or know it by its domain; with `fresh`, remove the demo's own files from it, but no ledger that others are charged in."""
    domain, ledger = folder / "domain.toml", folder / "privacy.db"
    if not (domain.is_file() and domain.read_bytes() == survey.domain().encode()):
        check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if fresh:
        if ledger.exists() and {one.name for one in Ledger(f"sqlite:///{ledger}").datasets()} - {survey.DATASET}:
            raise InvalidParameter(
                f"The ledger {ledger} holds datasets that are not the demo's, and --fresh would lose what was spent on them. Nothing was changed. Name another folder."
            )
        for name in (*KEPT, *(f"privacy.db{end}" for end in ("-wal", "-shm", "-journal"))):
            (folder / name).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of the demo has to tell."""

    model: PrivateLinearModel
    curve: Curve | None
    price: str
    remaining: Remaining
    refusal: str
    reused: bool


def run(folder: Path, output: Output) -> Outcome:
    """Do the whole job in a folder, or show again what an earlier run released there."""
    table = survey.load()
    write_whole(folder / "domain.toml", survey.domain())
    table.to_csv(folder / "affairs.csv", index=False)
    domain, budget = Domain.from_toml(folder / "domain.toml"), Budget(survey.EPSILON, survey.DELTA)
    ledger = Ledger(f"sqlite:///{folder / 'privacy.db'}")
    if not (folder / "privacy.db").exists() or survey.DATASET not in {one.name for one in ledger.datasets()}:
        ledger.create(survey.DATASET, budget, neighbours="replace-one")
    asked = LinearRegression(domain=domain, budget=budget, ledger=ledger, dataset=survey.DATASET)
    price = asked.price(n=len(table)).expectation
    reused = (folder / "model.json").exists()
    with output.working("Charging the ledger, reading the survey, drawing noise"):
        model = load(folder / "model.json") if reused else _fit(asked, folder)
        refusal = _second_fit(asked, folder)
    remaining, curve = ledger.remaining(survey.DATASET), None
    if not (reused and (folder / "page.html").exists()):
        with output.steps("Accuracy against epsilon, on public data", len(survey.EPSILONS)) as advance:
            curve = measure(model, domain, table, advance)
        write_page(folder / "page.html", model, curve, remaining.describe(), refusal)
    return Outcome(model, curve, price, remaining, refusal, reused)


def _fit(model: PrivateLinearModel, folder: Path) -> PrivateLinearModel:
    try:
        model.fit(str(folder / "affairs.csv"))
    except BudgetExhausted as refused:
        raise BudgetExhausted(str(refused) + LOST) from None
    model.save(folder / "model.json")
    return model


def _second_fit(model: PrivateLinearModel, folder: Path) -> str:
    """Ask for one more release of the same survey: the ledger refuses, and the table is not read."""
    try:
        LinearRegression(**model.get_params()).fit(str(folder / "affairs.csv"))
    except BudgetExhausted as refused:
        return str(refused)
    return "it was accepted, which is a fault of the ledger"
