"""`hullabaloo evaluate`: how good a released model is on a table of sensitive records, privately, for one charge."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.panel import Panel
from rich.text import Text

from hullabaloo.cli import build, options
from hullabaloo.cli.boundary import NotSaved
from hullabaloo.cli.voice import Voice, table

if TYPE_CHECKING:
    from hullabaloo.model_selection import Evaluation

METRICS = (
    "squared_error, absolute_error, r2 (numbers); pinball_loss (quantiles); poisson_deviance (counts); log_loss, accuracy, brier_score "
    "(classes); calibration (a table)"
)


def evaluate(
    *,
    model: options.Model,
    source: options.Table,
    target: options.Target = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help=f"Once for each: {METRICS}. Else the one that the model was fitted to be good at. J of them take √J times the noise.",
        ),
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(
            "--records",
            metavar="N",
            help="About how many records there are, where their number is hidden: a public guess.",
        ),
    ] = None,
    epsilon: options.Epsilon = None,
    delta: options.Delta = None,
    mu: options.Mu = None,
    rho: options.Rho = None,
    neighbours: Annotated[
        options.Relation | None,
        typer.Option(rich_help_panel="Privacy", help="What is hidden, as for fit; else as the model was fitted."),
    ] = None,
    ledger: options.LedgerUrl = None,
    dataset: options.Dataset = None,
    confidence: Annotated[float, typer.Option(metavar="LEVEL", help="Level of the intervals.")] = 0.95,
    largest: Annotated[
        float | None,
        typer.Option(
            "--largest-error",
            metavar="NUMBER",
            help="Errors beyond it count as it: known without looking, it takes much noise off squared errors.",
        ),
    ] = None,
    floor: Annotated[
        float,
        typer.Option(
            "--probability-floor", metavar="CHANCE", help="log_loss: chances are held within this and one less it."
        ),
    ] = 0.01,
    bins: Annotated[int, typer.Option("--bins", metavar="M", help="calibration: rows of the table.")] = 10,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Save the evaluation there (JSON).")] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Measure a released model on held-out sensitive records, privately, with intervals.

    All metrics come from one noisy answer, charged once. Take records that the model was not fitted on.

    A refusal comes before the charge and spends nothing; what was charged stays charged.
    """
    build.output(out, overwrite, lost="a release that was paid for")
    fitted = build.model(build.existing(model, "saved model"))
    asked = build.target(fitted.encoding_.domain, target)
    budget = build.budget(epsilon, delta, mu, rho)
    book = build.ledger(ledger, dataset)
    path = str(build.existing(source, "table"))
    from hullabaloo.model_selection import evaluate as measure

    voice = Voice("evaluate", as_json)
    with voice.working("Charging, reading, drawing noise"):
        found = measure(
            fitted,
            path,
            asked,
            budget=budget,
            metrics=[name.replace("-", "_") for name in metric] if metric else None,
            records=records,
            neighbours=None if neighbours is None else neighbours.value,
            ledger=book,
            dataset=dataset,
            confidence=confidence,
            largest_error=largest,
            probability_floor=floor,
            bins=bins,
        )
    _save(found, out)
    remaining = None if book is None or dataset is None else book.remaining(dataset)
    voice.result(
        {
            "evaluation": found.to_dict(),
            "guarantee": found.statement.lines(),
            "out": None if out is None else str(out),
            "remaining": remaining and remaining.to_dict(),
        },
        *(table(head, body, left=1) for head, body in found.tables()),
        *(f"{note}." for note in found.notes),
        _guarantee(found),
        *([] if remaining is None else [f"Left for dataset {dataset!r}: {remaining.sentence}"]),
        *([] if out is None else [f"Saved {out}."]),
    )


def _save(found: "Evaluation", out: Path | None) -> None:
    """Save it; where that fails, rescue it: it was paid for."""
    if out is None:
        return
    try:
        found.save(out)
    except OSError as error:
        rescue = Path(tempfile.mkdtemp(prefix="hullabaloo-")) / out.name
        found.save(rescue)
        raise NotSaved(
            f"The evaluation was made, but {out} could not be written ({error.strerror}). It was saved as {rescue} instead; move it "
            "from there rather than evaluating again, which would cost the budget a second time."
        ) from None


def _guarantee(found: "Evaluation") -> Any:
    statement = found.statement
    colour = "red" if not statement.private else "yellow" if statement.ledger is None else "green"
    text = Text("\n").join(Text(f"{line[:1].upper()}{line[1:]}.") for line in statement.lines())
    return Panel(text, title="What this release guarantees", title_align="left", border_style=colour)
