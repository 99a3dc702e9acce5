"""`hullabaloo predict`: apply a released model to a table."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hullabaloo.cli import build, options
from hullabaloo.cli.voice import Voice
from hullabaloo.errors import InvalidParameter

NOTE = (
    "The model is private with respect to the records it was fitted on. Predictions say something about the records in "
    "this table: they are as confidential as the table."
)


def predict(
    *,
    model: options.Model,
    source: options.Table,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write .csv or .parquet there instead of printing a CSV.")
    ] = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
) -> None:
    """Predict the target of every row of a table, in the table's order; spends nothing."""
    from hullabaloo.linear_model import load

    build.output(out, overwrite)
    if out is not None and out.suffix.lower() not in {".csv", ".parquet"}:
        raise InvalidParameter(f"Predictions are written as .csv or .parquet, and {out.name!r} is neither. Rename it.")
    fitted = load(build.existing(model, "saved model"))
    voice = Voice("predict", as_json)
    with voice.working("Predicting"):
        values = fitted.predict(str(build.existing(source, "table")))
    names = list(fitted.encoding_.facts.targets)
    columns = {f"predicted_{name}": values if values.ndim == 1 else values[:, i] for i, name in enumerate(names)}
    if out is None:
        voice.result({"predictions": columns, "note": NOTE}, *([] if as_json else [_csv(columns).rstrip()]))
        return
    _write(out, columns)
    voice.result({"out": str(out), "columns": list(columns), "note": NOTE}, f"Wrote {out}. {NOTE}")


def _csv(columns: dict[str, Any]) -> str:
    rows = zip(*[column.tolist() for column in columns.values()], strict=True)
    return "\n".join([",".join(columns), *[",".join(map(repr, row)) for row in rows]]) + "\n"


def _write(out: Path, columns: dict[str, Any]) -> None:
    if out.suffix.lower() == ".csv":
        out.write_text(_csv(columns), encoding="utf-8")
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), out)
