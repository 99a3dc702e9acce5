"""`hullabaloo predict`: apply a released model to a table."""

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hullabaloo.cli import build
from hullabaloo.cli.options import command
from hullabaloo.cli.output import Output
from hullabaloo.errors import InvalidParameter

if TYPE_CHECKING:
    from hullabaloo.linear_model.base import PrivateLinearModel

UNNAMED = "target"
NOTE = (
    "The model is private with respect to the records it was fitted on. Predictions say something about the records in "
    "this table: they are as confidential as the table."
)


@command
def predict(
    model: Path,
    source: Path,
    *,
    out: Path | None = None,
    probabilities: bool = False,
    overwrite: bool = False,
    json_: bool = False,
) -> None:
    """Predict the target of every row of a table, in the table's order: a number or a class; spends nothing.

    Args:
        out FILE: Write .csv or .parquet there instead of printing a CSV.
        probabilities: Of classes: a column of probabilities for each, beside the label.
    """
    build.output(out, overwrite)
    if out is not None and out.suffix.lower() not in {".csv", ".parquet"}:
        raise InvalidParameter(f"Predictions are written as .csv or .parquet, and {out.name!r} is neither. Rename it.")
    fitted = build.model(build.existing(model, "saved model"))
    output = Output("predict", json_)
    with output.working("Predicting"):
        columns = _columns(fitted, str(build.existing(source, "table")), probabilities)
    if out is None:
        output.result({"predictions": columns, "note": NOTE}, *([] if json_ else [_csv(columns).rstrip()]))
        return
    _write(out, columns)
    output.result({"out": str(out), "columns": list(columns), "note": NOTE}, f"Wrote {out}. {NOTE}")


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


def _csv(columns: dict[str, Any]) -> str:
    written = io.StringIO()
    rows = zip(*[column.tolist() for column in columns.values()], strict=True)
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
