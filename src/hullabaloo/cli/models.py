"""`hullabaloo summary`, `card`, `predict` and `evaluate`: what is done with a saved model."""

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hullabaloo.cli import build
from hullabaloo.cli.fit import coefficients
from hullabaloo.cli.options import BudgetOptions, LedgerOptions, Relation, command
from hullabaloo.cli.output import ORDER, Output, guarantee, left, save, table, visible
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.linear_model.base import PrivateLinearModel

UNNAMED = "target"
NOTE = (
    "The model is private with respect to the records it was fitted on. Predictions say something about the records in "
    "this table: they are as confidential as the table."
)


@command
def summary(
    model: Path,
    *,
    confidence: float = 0.95,
    exponentiate: bool = False,
    adjust: str | None = None,
    test: list[str] | None = None,
    joint: bool = False,
    json_: bool = False,
) -> None:
    """Show a model's coefficients with errors, tests and intervals. Spends nothing.

    Args:
        confidence LEVEL: Level of the intervals.
        exponentiate: Odds ratios (logistic) or rate ratios (Poisson).
        adjust HOW: p-values for the number of columns: holm, bh or bonferroni.
        test EQUATIONS: Test linear hypotheses together, 'age = 0' or 'x1 = x2, x3 = 1'; once for each test.
        joint: Test each column of the table, all levels of a category together, and the whole model.
    """
    fitted = build.model(model)
    found = fitted.summary(confidence=confidence, exponentiate=exponentiate, adjust=adjust)
    tests = [fitted.test(one) for one in test or []] + ([fitted.joint_tests(adjust=adjust)] if joint else [])
    told = {"summary": found.to_dict(), "tests": [one.to_dict() for one in tests]}
    shown = [part for one in tests for part in (table(one.cells()[0], one.cells()[1:]), one.note)]
    Output("summary", json_).result(told, coefficients(found), *shown)


@command
def card(
    model: Path,
    *,
    out: list[Path] | None = None,
    entry: list[Path] | None = None,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Write the privacy card: what the release guarantees, to whom, under which assumptions. Spends nothing.

    Args:
        out FILE: Write .html (a page to show) or .json; may be repeated.
        entry FILE: Also show what else was released from these records (bounds or an evaluation, JSON); may be repeated.
    """
    from hullabaloo import report

    places = list(out or [])
    for place in places:
        build.output(place, overwrite)
        build.suffix(place, "A card is", ".html", ".json")
    entries = [report.entry_from_json(build.existing(path, "entry")) for path in entry or []]
    made = report.card(build.model(model), entries=entries)
    for place in places:
        (made.to_html if place.suffix.lower() == ".html" else made.to_json)(place)
    files = list(map(str, places))
    shown = f"Wrote {', '.join(files)}." if files else str(made)
    Output("card", json_).result({"card": made.to_dict(), "out": files}, shown)


@command
def predict(
    model: Path,
    source: Path,
    *,
    out: Path | None = None,
    probabilities: bool = False,
    interval: float | None = None,
    observation: bool = False,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Predict the target of every row of a table, in the table's order: a number or a class; spends nothing.

    Args:
        out FILE: Write .csv or .parquet there instead of printing a CSV.
        probabilities: Of classes: a column of probabilities for each, beside the label.
        interval LEVEL: Both ends of intervals of that level, such as 0.95, for each row's mean, of two classes the second's probability; empty where noise leaves none.
        observation: With --interval: for one more record instead, by its residual variance.
    """
    if observation and interval is None:
        raise InvalidParameter("--observation was given without --interval, which it is of. Pass both, or neither.")
    build.output(out, overwrite)
    build.suffix(out, "Predictions are", ".csv", ".parquet")
    fitted = build.model(model)
    output = Output("predict", json_)
    with output.working("Predicting"):
        path = build.existing(source, "table")
        columns = _columns(fitted, path, probabilities)
        if interval is not None:
            columns |= _ends(fitted, path, interval, "observation" if observation else "mean")
    if out is None and json_:
        output.result({"predictions": columns, "note": NOTE})
    elif out is None:
        text = _csv(columns)
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)
    if out is None:
        return
    _write(out, columns)
    output.result({"out": out, "columns": list(columns), "note": NOTE}, f"Wrote {out}. {NOTE}")


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
            log_loss, accuracy, brier_score (classes); calibration, residuals (tables). Else the one that the model was fitted to be good at. J of
            them take √J times the noise.
        records N: About how many records there are, where their number is hidden: a public guess.
        confidence LEVEL: Level of the intervals.
        largest_error NUMBER: Errors and residuals beyond it count as it: known without looking, it takes much noise off.
        probability_floor CHANCE: log_loss: chances are held within this and one less it.
        bins M: calibration, residuals: rows of the table.
        out FILE: Save the evaluation there (JSON).

    Privacy options:
        neighbours: What is hidden, as for fit; else as the model was fitted.
    """
    build.output(out, overwrite, lost="a release that was paid for")
    fitted = build.model(model)
    asked = build.target(fitted.encoding_.domain, target)
    terms = build.terms(budget, ledger) | {"records": records, "neighbours": neighbours, "confidence": confidence}
    limits: dict[str, Any] = {"largest_error": largest_error, "probability_floor": probability_floor, "bins": bins}
    metrics = [name.replace("-", "_") for name in metric] if metric else None
    path = build.existing(source, "table")
    from hullabaloo.model_selection import evaluate as measure

    output = Output("evaluate", json_)
    with output.working(ORDER):
        found = measure(fitted, path, asked, metrics=metrics, **terms, **limits)
    save(out, found.save, "The evaluation was made", "evaluating")
    remaining, sentence = left(terms)
    told = {"evaluation": found.to_dict(), "guarantee": found.statement.lines(), "out": out, "remaining": remaining}
    output.result(
        told,
        *(table(head, body, left=1) for head, body in found.tables()),
        *(f"{note}." for note in found.notes),
        guarantee(found.statement),
        sentence,
        out and f"Saved {out}.",
    )


def _columns(fitted: "PrivateLinearModel", source: str, probabilities: bool) -> dict[str, Any]:
    """The predicted columns: a number for each target, or the label of a class and, when asked for, probabilities."""
    from hullabaloo.linear_model.classification import PrivateClassifier

    if probabilities and not hasattr(fitted, "predict_proba"):
        raise InvalidParameter(
            f"--probabilities was given, and a {type(fitted).__name__} has none: only a logistic regression models them. Leave "
            "the option out."
        )
    values = fitted.predict(source)
    if not isinstance(fitted, PrivateClassifier):
        names = list(fitted.encoding_.facts.targets)
        return {f"predicted_{name}": values if values.ndim == 1 else values[:, i] for i, name in enumerate(names)}
    name = fitted.encoding_.targets[0].column or UNNAMED
    columns = {f"predicted_{name}": values}
    if probabilities:
        chances = fitted.predict_proba(source)
        columns |= {f"probability_{name}={label}": chances[:, j] for j, label in enumerate(fitted.classes_.tolist())}
    return columns


def _ends(fitted: "PrivateLinearModel", source: str, level: float, kind: str) -> dict[str, Any]:
    """The ends of intervals, two columns for each target."""
    ends = fitted.predict_interval(source, confidence=level, kind=kind)
    ends = ends if ends.ndim == 3 else ends[:, None]
    classes = getattr(fitted, "classes_", None)
    names = list(fitted.encoding_.facts.targets)
    names = names if classes is None else [f"probability_{names[0]}={classes[1]}"]
    return {f"{end}_{name}": ends[:, i, j] for i, name in enumerate(names) for j, end in enumerate(("low", "high"))}


def _csv(columns: dict[str, Any]) -> str:
    written = io.StringIO()
    listed = [column.tolist() for column in columns.values()]
    rows = zip(*[["" if one != one else one for one in column] for column in listed], strict=True)  # noqa: PLR0124  # no end
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(rows)
    return written.getvalue()


def _write(out: Path, columns: dict[str, Any]) -> None:
    from hullabaloo.data.saving import write_whole

    if out.suffix.lower() == ".csv":
        write_whole(out, _csv(columns))
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    written = io.BytesIO()
    pq.write_table(pa.table(columns), written)
    write_whole(out, written.getvalue())
