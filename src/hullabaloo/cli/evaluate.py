"""`hullabaloo evaluate`: how good a released model is on a table of sensitive records, privately, for one charge."""

from pathlib import Path
from typing import Annotated

import typer

from hullabaloo.cli import build, options, paid
from hullabaloo.cli.voice import Voice, table

METRICS = (
    "squared_error, absolute_error, r2 (numbers); pinball_loss (quantiles); poisson_deviance (counts); log_loss, accuracy, brier_score "
    "(classes); calibration (a table)"
)


@options.grouped
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
    spend: options.Spend,
    neighbours: Annotated[
        options.Relation | None,
        typer.Option(rich_help_panel="Privacy", help="What is hidden, as for fit; else as the model was fitted."),
    ] = None,
    book: options.Book,
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
    budget = build.budget(*spend)
    ledger = build.ledger(*book)
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
            ledger=ledger,
            dataset=book.dataset,
            confidence=confidence,
            largest_error=largest,
            probability_floor=floor,
            bins=bins,
        )
    if out is not None:
        paid.save(out, found.save, "The evaluation was made", "evaluating")
    remaining, sentence = paid.left(ledger, book.dataset)
    voice.result(
        {
            "evaluation": found.to_dict(),
            "guarantee": found.statement.lines(),
            "out": None if out is None else str(out),
            "remaining": remaining,
        },
        *(table(head, body, left=1) for head, body in found.tables()),
        *(f"{note}." for note in found.notes),
        paid.guarantee(found.statement),
        *sentence,
        *([] if out is None else [f"Saved {out}."]),
    )
