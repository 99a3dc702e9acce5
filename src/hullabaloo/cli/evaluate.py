"""`hullabaloo evaluate`: how good a released model is on a table of sensitive records, privately, for one charge."""

from pathlib import Path

from hullabaloo.cli import build, charge
from hullabaloo.cli.options import BudgetOptions, LedgerOptions, Relation, command
from hullabaloo.cli.output import Output, table


@command
def evaluate(
    model: Path,
    source: Path,
    *,
    target: str | None = None,
    metric: list[str] | None = None,
    records: int | None = None,
    budget: BudgetOptions,
    neighbours: Relation | None = None,
    ledger: LedgerOptions,
    confidence: float = 0.95,
    largest_error: float | None = None,
    probability_floor: float = 0.01,
    bins: int = 10,
    out: Path | None = None,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Measure a released model on held-out sensitive records, privately, with intervals.

    All metrics come from one noisy answer, charged once. Take records that the model was not fitted on.

    A refusal comes before the charge and spends nothing; what was charged stays charged.

    Args:
        metric NAME: Once for each: squared_error, absolute_error, r2 (numbers); pinball_loss (quantiles); poisson_deviance (counts);
            log_loss, accuracy, brier_score (classes); calibration (a table). Else the one that the model was fitted to be good at. J of
            them take √J times the noise.
        records N: About how many records there are, where their number is hidden: a public guess.
        confidence LEVEL: Level of the intervals.
        largest_error NUMBER: Errors beyond it count as it: known without looking, it takes much noise off squared errors.
        probability_floor CHANCE: log_loss: chances are held within this and one less it.
        bins M: calibration: rows of the table.
        out FILE: Save the evaluation there (JSON).

    Privacy options:
        neighbours: What is hidden, as for fit; else as the model was fitted.
    """
    build.output(out, overwrite, lost="a release that was paid for")
    fitted = build.model(build.existing(model, "saved model"))
    asked = build.target(fitted.encoding_.domain, target)
    terms = build.terms(budget, ledger)
    path = str(build.existing(source, "table"))
    from hullabaloo.model_selection import evaluate as measure

    output = Output("evaluate", json_)
    with output.working(charge.ORDER):
        found = measure(
            fitted,
            path,
            asked,
            metrics=[name.replace("-", "_") for name in metric] if metric else None,
            records=records,
            neighbours=neighbours,
            confidence=confidence,
            largest_error=largest_error,
            probability_floor=probability_floor,
            bins=bins,
            **terms,
        )
    if out is not None:
        charge.save(out, found.save, "The evaluation was made", "evaluating")
    remaining, sentence = charge.left(terms)
    output.result(
        {
            "evaluation": found.to_dict(),
            "guarantee": found.statement.lines(),
            "out": None if out is None else str(out),
            "remaining": remaining,
        },
        *(table(head, body, left=1) for head, body in found.tables()),
        *(f"{note}." for note in found.notes),
        charge.guarantee(found.statement),
        *sentence,
        *([] if out is None else [f"Saved {out}."]),
    )
