"""`hullabaloo ledger`: budgets of datasets, and who spent them on what."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hullabaloo.cli import build, options
from hullabaloo.cli.boundary import ExitCode
from hullabaloo.cli.voice import Voice, facts, table

app = typer.Typer(help="Keep privacy budgets that outlive a process.", no_args_is_help=True)
Url = Annotated[
    str,
    typer.Argument(metavar="LEDGER", help="sqlite:///privacy.db or postgresql://user@host/db."),
]
Name = Annotated[str, typer.Argument(metavar="DATASET", help="The dataset's name in the ledger.")]


@app.command("create")
@options.grouped
def create(
    *,
    url: Url,
    dataset: Name,
    spend: options.Spend,
    neighbours: options.Neighbours = options.Relation.REPLACE_ONE,
    unit: Annotated[
        str, typer.Option(help="Whose records a table may differ in: `record`, or the domain's unit column.")
    ] = "record",
    records_per_unit: Annotated[int, typer.Option(metavar="K", help="At most so many records of a unit count.")] = 1,
    filter_: Annotated[
        options.Filter,
        typer.Option(
            "--filter", help="How charges add up: basic (sums), or gdp and renyi, tighter for Gaussian noise."
        ),
    ] = options.Filter.BASIC,
    as_json: options.Json = False,
) -> None:
    """Open a dataset's budget. Budget, relation, unit and filter are fixed for ever."""
    from hullabaloo.ledger import Ledger

    made = Ledger(url).create(
        dataset,
        build.budget(*spend),
        neighbours=neighbours.value,
        unit=unit,
        records_per_unit=records_per_unit,
        filter=filter_.value,
    )
    Voice("ledger create", as_json).result({"dataset": made.to_dict()}, made.describe())


@app.command("show")
def show(
    *,
    url: Url,
    dataset: Annotated[str | None, typer.Argument(metavar="DATASET", help="One dataset; else all of them.")] = None,
    as_json: options.Json = False,
) -> None:
    """Show what datasets were given, have spent and have left."""
    from hullabaloo.ledger import Ledger

    ledger = Ledger(url)
    datasets = ledger.datasets() if dataset is None else (ledger.dataset(dataset),)
    left = [ledger.remaining(one.name) for one in datasets]
    head = ["dataset", "budget", "neighbours", "unit", "filter", "charges", "remaining"]
    body = [
        (one.name, one.budget.describe(), one.neighbours.value, one.unit, one.filter, one.charges, rest.sentence)
        for one, rest in zip(datasets, left, strict=True)
    ]
    data = [{**one.to_dict(), "remaining": rest.to_dict()} for one, rest in zip(datasets, left, strict=True)]
    shown: list[Any] = [facts([("ledger", ledger.address)])]
    if not body:
        shown.append("It holds no dataset yet; `hullabaloo ledger create` opens one.")
    for line in body:
        shown += ["", facts(list(zip(head, line, strict=True)))]
    Voice("ledger show", as_json).result({"ledger": ledger.address, "datasets": data}, *shown)


@app.command("log")
def log(*, url: Url, dataset: Name, as_json: options.Json = False) -> None:
    """List every charge on a dataset (who, when, what, at what cost), and where its streams stand."""
    from hullabaloo.ledger import Ledger

    ledger = Ledger(url)
    charges, streams = ledger.charges(dataset), ledger.streams(dataset)
    body = [
        (one.number, one.charged_at, one.who, one.what, one.budget.describe(), one.versions.library) for one in charges
    ]
    shown: list[Any] = [table(["#", "when", "who", "what", "budget", "version"], body, left=6)]
    if streams:
        kept = [(one.charge, one.stream, one.position, one.advanced_at) for one in streams]
        shown += ["", table(["#", "stream", "position", "saved"], kept, left=4)]
    Voice("ledger log", as_json).result(
        {
            "ledger": ledger.address,
            "dataset": dataset,
            "charges": [one.to_dict() for one in charges],
            "streams": [one.to_dict() for one in streams],
        },
        *(shown if body else [f"Nothing has been charged to {dataset!r} yet."]),
    )


@app.command("upgrade")
def upgrade(*, url: Url, as_json: options.Json = False) -> None:
    """Bring an older ledger's tables to this version, in one transaction. Make a backup first."""
    from hullabaloo.ledger import Ledger

    done = Ledger(url).upgrade()
    Voice("ledger upgrade", as_json).result({"upgrade": done.to_dict()}, done.describe())


@app.command("verify")
def verify(
    *,
    url: Url,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            metavar="FILE",
            help="A saved model that was charged here, once for each: tells whether its row is still there, or a backup was put back.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Follow the chain of rows and price each again; name faults, and releases made by versions with known faults."""
    from hullabaloo.ledger import Ledger

    found = Ledger(url).verify({str(path): build.model(build.existing(path, "model")) for path in models or ()})
    sound = found.status == "sound"
    Voice("ledger verify", as_json).result({"verification": found.to_dict()}, *found.lines(), ok=sound)
    if not sound:
        raise typer.Exit(ExitCode.FAULTS)
