"""`hullabaloo ledger`: budgets of datasets, and who spent them on what."""

import os
from pathlib import Path
from typing import Any, Literal

import typer
from typer.core import TyperGroup

import hullabaloo as hb
from hullabaloo.cli import build
from hullabaloo.cli.boundary import ExitCode
from hullabaloo.cli.options import BudgetOptions, Relation, command
from hullabaloo.cli.output import Output, facts, table


class Named(TyperGroup):
    """Takes the ledger's address and the dataset by name, too, and the address from the environment, as `fit` does."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put what is named into its place: the address after the command, the dataset last; no address among them is the environment's. After `--` nothing is a name."""
        end = args.index("--") if "--" in args else len(args)
        words, named, given = list[str](), dict[str, str](), iter(args[:end])
        for word in given:
            name, joined, value = word.partition("=")
            if name not in NAMES:
                words.append(word)
                continue
            value = value if joined else next(given, "")
            if not value or name in named:
                ctx.fail(f"{name} is given once, with a value.")
            named[name] = value
        if words and not any("://" in word for word in args):
            named |= {"--ledger": os.environ["HULLABALOO_LEDGER"]} if os.environ.get("HULLABALOO_LEDGER") else {}
        address, dataset = ([named[name]] if name in named else [] for name in NAMES)
        return super().parse_args(
            ctx, [*words[:1], *address, *words[1:], *(args[end:] or ["--"] * len(dataset)), *dataset]
        )


NAMES = ("--ledger", "--dataset")
app = typer.Typer(cls=Named, help="Keep privacy budgets that outlive a process.", no_args_is_help=True)


@app.command("create")
@command
def create(
    url: str,
    dataset: str,
    *,
    budget: BudgetOptions,
    neighbours: Relation = "replace-one",
    unit: str = "record",
    records_per_unit: int = 1,
    filter_: Literal["basic", "gdp", "renyi"] = "basic",
    json_: bool = False,
) -> None:
    """Open a dataset's budget. Budget, relation, unit and filter are fixed for ever.

    Args:
        unit: Whose records a table may differ in: `record`, or the domain's unit column.
        records_per_unit K: At most so many records of a unit count.
        filter_: How charges add up: basic (sums), or gdp and renyi, tighter for Gaussian noise.
    """
    about: dict[str, Any] = {"unit": unit, "records_per_unit": records_per_unit, "filter": filter_}
    made = hb.Ledger(url).create(dataset, build.budget(budget), neighbours=neighbours, **about)
    Output("ledger create", json_).result({"dataset": made.to_dict()}, made.describe())


@app.command("show")
@command
def show(url: str, dataset: str | None = None, *, json_: bool = False) -> None:
    """Show what datasets were given, have spent and have left.

    Args:
        dataset DATASET: One dataset; else all of them.
    """
    ledger = hb.Ledger(url)
    datasets = ledger.datasets() if dataset is None else (ledger.dataset(dataset),)
    data: list[Any] = []
    shown: list[Any] = [facts({"ledger": ledger.address})]
    if not datasets:
        shown.append("It holds no dataset yet; `hullabaloo ledger create` opens one.")
    for one in datasets:
        left = ledger.remaining(one.name)
        shown += ["", one.describe(), f"Left: {left.sentence}"]
        data.append({**one.to_dict(), "remaining": left.to_dict()})
    Output("ledger show", json_).result({"ledger": ledger.address, "datasets": data}, *shown)


@app.command("log")
@command
def log(url: str, dataset: str, *, json_: bool = False) -> None:
    """List every charge on a dataset (who, when, what, at what cost), and where its streams stand."""
    ledger = hb.Ledger(url)
    charges, streams = ledger.charges(dataset), ledger.streams(dataset)
    lines = [(c.number, c.charged_at[:19], c.who, c.what, c.budget.describe(), c.versions.library) for c in charges]
    shown: list[Any] = [f"Nothing has been charged to {dataset!r} yet."]
    if charges:
        shown = [table(["#", "when (UTC)", "who", "what", "budget", "version"], lines, left=6)]
    if streams:
        kept = [(one.charge, one.stream, one.position, one.advanced_at) for one in streams]
        shown += ["", table(["#", "stream", "position", "saved"], kept, left=4)]
    told = {"charges": [one.to_dict() for one in charges], "streams": [one.to_dict() for one in streams]}
    Output("ledger log", json_).result({"ledger": ledger.address, "dataset": dataset, **told}, *shown)


@app.command("upgrade")
@command
def upgrade(url: str, *, json_: bool = False) -> None:
    """Bring an older ledger's tables to this version, in one transaction. Make a backup first."""
    done = hb.Ledger(url).upgrade()
    Output("ledger upgrade", json_).result({"upgrade": done.to_dict()}, done.describe())


@app.command("verify")
@command
def verify(url: str, *, model: list[Path] | None = None, entry: list[Path] | None = None, json_: bool = False) -> None:
    """Follow the chain of rows and price each again; name faults, and releases made by versions with known faults.

    Args:
        model FILE: A saved model that was charged here, once for each: tells whether its row is still there, or a backup was put back.
        entry FILE: The same of bounds or an evaluation; may be repeated.
    """
    charged = {str(path): build.model(path, "model") for path in model or ()}
    charged |= {str(path): hb.report.entry_from_json(build.existing(path, "entry")) for path in entry or ()}
    found = hb.Ledger(url).verify(charged)
    Output("ledger verify", json_).result({"verification": found.to_dict()}, *found.lines(), ok=found.status == "sound")
    if found.status != "sound":
        raise typer.Exit(ExitCode.FAULTS)
