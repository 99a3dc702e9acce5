"""`hullabaloo summary`, `card`, `predict` and `evaluate`: what is done with a saved model."""

import csv
import io
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hullabaloo as hb
from hullabaloo.cli import build
from hullabaloo.cli.fit import coefficients
from hullabaloo.cli.options import BudgetOptions, LedgerOptions, PartsOptions, Relation, command
from hullabaloo.cli.output import NOTHING, ORDER, Output, guarantee, left, save, table, visible
from hullabaloo.errors import InvalidParameter

NOTE = "The model is private with respect to the records it was fitted on. Predictions say something about the records in this table: they are as confidential as the table."


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
    places = list(out or [])
    for place in places:
        build.output(place, overwrite)
        build.suffix(place, "A card is", ".html", ".json")
    entries = [hb.report.entry_from_json(build.existing(path, "entry")) for path in entry or []]
    made = hb.report.card(build.model(model), entries=entries)
    for place in places:
        (made.to_html if place.suffix.lower() == ".html" else made.to_json)(place)
    files = list(map(str, places))
    shown = f"Wrote {', '.join(files)}." if files else str(made)
    Output("card", json_).result({"card": made.to_dict(), "out": files}, shown)


@command
def predict(
    model: Path,
    source: str,
    *,
    out: Path | None = None,
    keep: list[str] | None = None,
    parts: PartsOptions,
    probabilities: bool = False,
    interval: float | None = None,
    observation: bool = False,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Predict the target of every row of a table, in the table's order: a number or a class; spends nothing.

    Args:
        out FILE: Write .csv or .parquet there instead of printing a CSV. In parts, or with --keep: .parquet, or a folder of Parquet files.
        keep NAME: A column that stands beside predictions, so that they can be told apart; once for each.
        probabilities: Of classes: a column of probabilities for each, beside the label.
        interval LEVEL: Both ends of intervals of that level, such as 0.95, for each row's mean, of two classes the second's probability; empty where noise leaves none.
        observation: With --interval: for one more record instead, by its residual variance.
    """
    if observation and interval is None:
        raise InvalidParameter("--observation was given without --interval, which it is of. Pass both, or neither.")
    build.output(out, overwrite)
    parted = bool(keep or any(parts) or "://" in source or (out is not None and out.suffix.lower() in {"", ".parquet"}))
    if parted and out is None:
        raise InvalidParameter(
            "Predictions in parts, or beside kept columns, are written while the table is read. Name where: --out predictions/, a folder, or --out predictions.parquet."
        )
    if parted and out is not None and out.suffix:
        build.suffix(out, "Predictions in parts, or beside kept columns, are", ".parquet")
    elif out is not None and out.suffix:
        build.suffix(out, "Predictions are", ".csv", ".parquet")
    fitted, kind = build.model(model), "observation" if observation else "mean"
    how: dict[str, Any] = {"probabilities": probabilities, "interval": interval, "kind": kind}
    output = Output("predict", json_)
    from hullabaloo.data.saving import write_whole
    from hullabaloo.linear_model import predicted

    with output.working("Predicting"):
        rows: Any = build.table(source, fitted.encoding_.domain, parts._replace(in_parts=parted))
        if parted and out is not None:
            made: Any = predicted.predict(fitted, rows, keep=keep or (), **how)
            _write(made, rows.frame, out.absolute())
        else:
            made = predicted.columns_of(fitted, rows, **how)
            if out is not None:
                write_whole(out, _csv(made))
    if out is not None:
        names = made if not parted else made.schema.names if rows.frame is None else made.columns
        output.result({"out": out, "columns": list(names), "note": NOTE}, f"Wrote {out}. {NOTE}")
    elif json_:
        output.result({"predictions": {name: one.tolist() for name, one in made.items()}, "note": NOTE})
    else:
        text = _csv(made)
        sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


@command
def evaluate(
    model: Path,
    source: str,
    *,
    target: str | None = None,
    metric: list[str] | None = None,
    records: int | None = None,
    budget: BudgetOptions,
    neighbours: Relation | None = None,
    ledger: LedgerOptions,
    confidence: float = 0.95,
    largest_error: float | None = None,
    probability_floor: float | None = None,
    bins: int | None = None,
    parts: PartsOptions,
    cache: Path | None = None,
    out: Path | None = None,
    price: bool = False,
    known: float | None = None,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Measure a released model on held-out sensitive records, privately, with intervals.

    All metrics come from one noisy answer, charged once. Take records that the model was not fitted on.

    A refusal comes before the charge and spends nothing; what was charged stays charged.

    Args:
        metric NAME: Once for each: squared_error, absolute_error, r2 (numbers); pinball_loss (quantiles); poisson_deviance (counts);
            log_loss, accuracy, brier_score (classes), roc_auc (of two); calibration, residuals (tables). Else the one that the model was fitted to be good at. J of
            them take √J times the noise.
        records N: About how many records there are, where their number is hidden, and for --price: a public guess.
        confidence LEVEL: Level of the intervals.
        largest_error NUMBER: Errors and residuals beyond it count as it: known without looking, it takes much noise off.
        probability_floor CHANCE: log_loss: chances are held within this and one less it; poisson_deviance: predictions above so much of their bound. Else it takes no more than the noise.
        bins M: calibration, residuals: rows of the table; else 10.
        out FILE: Save the evaluation there (JSON).
        price: Say what it would cost and which errors to expect; reads and spends nothing.
        known NUMBER: The same, and narrower: the target's standard deviation where it is publicly known, of two classes √(s(1 − s)) of the rarer one's share s.

    Privacy options:
        neighbours: What is hidden, as for fit; else as the model was fitted.
    """
    build.output(out, overwrite, lost="a release that was paid for")
    fitted = build.model(model)
    asked = build.target(fitted.encoding_.domain, target)
    terms = build.terms(budget, ledger)
    metrics = [name.replace("-", "_") for name in metric] if metric else None
    if bins is not None and not {"calibration", "residuals"}.intersection(metrics or ()):
        raise InvalidParameter("--bins goes with --metric calibration or residuals: name one, or leave --bins out.")
    limits: dict[str, Any] = {"largest_error": largest_error, "probability_floor": probability_floor}
    limits |= {"metrics": metrics, "neighbours": neighbours, "bins": 10 if bins is None else bins}
    output = Output("evaluate", json_)
    if price or known is not None:
        if out is not None:
            raise InvalidParameter(
                "A price makes no evaluation, so nothing can be saved at --out. Leave --out out, or --price and --known."
            )
        priced = hb.model_selection.price_evaluation(fitted, records, known=known, **terms, **limits)  # type: ignore[arg-type]  # None is refused
        output.result({"price": priced.to_dict()}, str(priced), NOTHING)
        return
    rows = build.table(source, fitted.encoding_.domain, parts, cache=cache)
    with output.working(ORDER):
        found = hb.evaluate(fitted, rows, asked, records=records, confidence=confidence, **terms, **limits)
    save(out, found.save, "The evaluation was made", "evaluating")
    remaining, sentence = left(terms)
    told = {"evaluation": found.to_dict(), "guarantee": found.statement.lines(), "out": out, "remaining": remaining}
    output.result(
        told,
        *(table(head, body, left=1) for head, body in found.tables()),
        *(f"{note}." for note in found.notes),
        guarantee(found.statement),
        sentence,
        out and f"Saved {out}. Next: hullabaloo card {model} --entry {out} --out card.html",
    )


def _csv(columns: dict[str, Any]) -> str:
    written = io.StringIO()
    listed = [column.tolist() for column in columns.values()]
    rows = zip(*[["" if one != one else one for one in column] for column in listed], strict=True)  # noqa: PLR0124  # no end
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(columns)
    lines.writerows(rows)
    return written.getvalue()


def _write(made: Any, far: Any, out: Path) -> None:
    """Write predictions while they are made: under their name once they are whole, or by the workers of a cluster."""
    if far is not None:
        far.write(made, str(out))
        return
    from pyarrow import parquet

    with TemporaryDirectory(prefix=".", dir=out.parent) as folder:
        draft = Path(folder) / out.stem
        draft.mkdir()
        with parquet.ParquetWriter(draft / "0.parquet", made.schema) as written:
            for batch in made:
                written.write_batch(batch)
        if out.exists():
            (draft / "0.parquet").chmod(out.stat().st_mode & 0o777)
        (draft / "0.parquet" if out.suffix else draft).replace(out)
