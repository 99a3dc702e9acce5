"""`hb.predict`: predictions of a table that is read in parts, beside the columns that tell whose they are, in memory that its records do not make grow."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import partial
from typing import Any

from hullabaloo.data import UNNAMED, names_of, table_of
from hullabaloo.data.scan import ScannedTable, scan
from hullabaloo.errors import InvalidParameter, SchemaError, library
from hullabaloo.release.parameters import found

_KEPT = re.compile("(u?int(8|16|32|64)|float(32|64)?|double|bool|date32|string)", re.IGNORECASE)
KEPT = "A column that was to be kept has a cell that its declared type cannot hold, so predictions end here. Write the column as text, or leave it out of keep=."
_OF_FITS = {"ledger", "dataset", "test_key", "public"}


def predict(
    model: Any,
    source: Any,
    *,
    keep: Sequence[str] = (),
    probabilities: bool = False,
    interval: float | None = None,
    kind: str = "mean",
) -> Any:
    """Predictions of a table of any size, as columns beside those that are kept; spends nothing.

    Of a Dask or Spark dataframe a lazy dataframe of that engine, whose workers apply the released model; of anything else a `pyarrow.RecordBatchReader`, which reads a
    part at a time. A prediction follows from its row alone, and is as confidential as the table.

    Args:
        model: a fitted estimator, or the model of a stream.
        source: `hb.scan(…)`, or what it takes.
        keep: names of columns that are kept: keys, by which predictions are told apart. Numbers, truths, text and dates keep their declared type, what has another becomes text.
        probabilities: of classes: a column for each.
        interval, kind: both ends of intervals of that level, as of `predict_interval`.

    Raises:
        InvalidParameter, SchemaError: the model or the table's declared schema does not fit.

    Example:
        >>> import pyarrow as pa, hullabaloo as hb
        >>> table = pa.table({"id": range(1000), "a": [0.0, 1.0] * 500, "y": [1.0, 3.0] * 500})
        >>> domain = hb.Domain({"a": (0, 1)}, target={"y": (0, 4)}, indicators=False)
        >>> model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain).fit(table)
        >>> hb.predict(model, hb.scan(table), keep=["id"]).read_all().schema.names
        ['id', 'predicted_y']
    """
    encoding = getattr(model, "encoding_", None)
    if encoding is None:
        raise InvalidParameter(
            f"Predictions were asked of {found(model)}. Pass a fitted estimator; of a search its best_estimator_, of a stream model_at()."
        )
    table = source if isinstance(source, ScannedTable) else scan(source)
    kept, names = names_of(keep, "columns"), encoding.feature_names_in
    encoding.places(table)
    bare = copy(getattr(model, "estimator", model))  # what only fits need is not sent to workers
    vars(bare).update(dict.fromkeys(_OF_FITS & vars(bare).keys()))
    work = partial(columns_of, bare, probabilities=probabilities, interval=interval, kind=kind)
    made = work(table_of([], names, encoding.n_features_in))
    if wrong := [name for name in kept if len(table.schema.named(name)) != 1 or name in made]:
        raise SchemaError(
            f"The column {wrong[0]!r} was to be kept, and the table has not one column of that name, or predictions have it. Rename it, or leave it out."
        )
    read = None if names is None else tuple(dict.fromkeys((*names, *kept)))
    far = table.frame
    return _batches(table, work, read, kept, made) if far is None else far.mapped(work, read, kept)


def columns_of(
    model: Any, table: Any, *, probabilities: bool = False, interval: float | None = None, kind: str = "mean"
) -> dict[str, Any]:
    """The columns that are predicted of a table, an array each: a number for each target, or a class; what else is asked for."""
    if probabilities and not hasattr(model, "predict_proba"):
        raise InvalidParameter(
            f"Probabilities were asked of a {type(model).__name__}, which has none: only a logistic regression models them. Leave them out."
        )
    values, classes, names = model.predict(table), getattr(model, "classes_", None), list(model.encoding_.facts.targets)
    if classes is None:
        columns = dict(zip([f"predicted_{name}" for name in names], values.reshape(-1, len(names)).T, strict=True))
    else:
        name = model.encoding_.targets[0].column or UNNAMED
        of_class = [f"probability_{name}={label}" for label in classes.tolist()]
        columns, names = {f"predicted_{name}": values.astype(str) if values.dtype == object else values}, of_class[1:2]
        columns |= dict(zip(of_class, model.predict_proba(table).T, strict=True)) if probabilities else {}
    if interval is not None:
        ends = model.predict_interval(table, confidence=interval, kind=kind)
        both = [f"{end}_{name}" for name in names for end in ("low", "high")]
        columns |= dict(zip(both, ends.reshape(len(ends), len(both)).T, strict=True))
    return columns


def _batches(
    table: ScannedTable, work: Any, read: Sequence[str] | None, keep: Sequence[str], made: dict[str, Any]
) -> Any:
    """A reader of the kept columns and the predicted ones, a batch for each part."""
    pa = library("pyarrow", "hullabaloo[parquet]", "Predictions in parts")
    words = [table.schema.types[table.schema.named(name)[0]].lower() for name in keep]
    types = [pa.type_for_alias(word) if _KEPT.fullmatch(word) else pa.string() for word in words]
    schema = pa.schema([*zip(keep, types, strict=True), *((name, pa.array(one).type) for name, one in made.items())])

    def batches() -> Iterator[Any]:
        for part in table.parts(read):
            cells = work(part)
            batch = None
            with suppress(Exception):  # reason: what is said of a cell may quote it
                for name, dtype in zip(keep, types, strict=True):
                    found = part.cells(part.schema.named(name)[0])
                    cells[name] = [None if x is None else str(x) for x in found] if dtype == pa.string() else found
                batch = pa.RecordBatch.from_pydict(cells, schema)
            if batch is None:
                raise SchemaError(KEPT)
            yield batch

    return pa.RecordBatchReader.from_batches(schema, batches())
