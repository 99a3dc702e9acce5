"""A column of any kind, in any source: read to the bits of Arrow's table in memory, or refused in the same sentence before the charge.

NumPy-backed dataframes know some kinds as objects only, which declare nothing: there cells are read by rule, in parts as in memory.
"""

import datetime
import decimal
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

import hullabaloo as hb
from hullabaloo.data.scan import ScannedTable
from hullabaloo.errors import SchemaError

N = 60
_RNG = np.random.default_rng(0)
_MISSING = _RNG.random(N) < 0.2
_MISSING[20:40] = True  # no cell of the second part is there
_WHOLE = _RNG.integers(0, 4, N).tolist()
_REAL = (np.array(_WHOLE) / 4 - 0.125 * _RNG.random(N)).tolist()
_DAYS = [datetime.datetime(2020, 1, 1 + one) for one in _WHOLE]
_TEXTS = [["u", "v", "1", "2020-01-01"][one] for one in _WHOLE]


def _column(cells: Any, kind: Any) -> pa.Array:
    return pa.array([None if gone else cell for cell, gone in zip(cells, _MISSING, strict=True)], kind)


_TRUE = [one > 1 for one in _WHOLE]
_DECIMALS = [decimal.Decimal(int(1000 * one)) / 1000 for one in _REAL]
READ: dict[str, pa.Array] = {
    "double": _column(_REAL, pa.float64()),
    "float": _column(_REAL, pa.float32()),
    "half": _column(np.array(_REAL, dtype=np.float16), pa.float16()),
    "bool": _column(_TRUE, pa.bool_()),
    "bool, none missing": pa.array(_TRUE),
    "int8": _column(_WHOLE, pa.int8()),
    "int64": _column([2**53 + one for one in _WHOLE], pa.int64()),
    "uint64": _column([2**64 - 1 - 999 * one for one in _WHOLE], pa.uint64()),
    "decimal128": _column(_DECIMALS, pa.decimal128(10, 3)),
    "decimal256": _column(_DECIMALS, pa.decimal256(40, 3)),
    "string": _column(_TEXTS, pa.string()),
    "large_string": _column(_TEXTS, pa.large_string()),
    "string_view": _column(_TEXTS, pa.string_view()),
    "dictionary": _column(_TEXTS, pa.string()).dictionary_encode(),
    "dictionary of numbers": _column(_WHOLE, pa.int64()).dictionary_encode(),
    "null": pa.nulls(N),
}
REFUSED: dict[str, pa.Array] = {
    "date32": _column([one.date() for one in _DAYS], pa.date32()),
    "timestamp": _column(_DAYS, pa.timestamp("us")),
    "timestamp of a zone": _column(_DAYS, pa.timestamp("us", tz="Europe/Berlin")),
    "time64": _column([one.time() for one in _DAYS], pa.time64("us")),
    "duration": _column([datetime.timedelta(one) for one in _WHOLE], pa.duration("us")),
    "list": _column([[one] for one in _REAL], pa.list_(pa.float64())),
    "struct": _column([{"Anna": one} for one in _REAL], pa.struct([("Anna", pa.float64())])),
    "map": _column([[("Anna", one)] for one in _REAL], pa.map_(pa.string(), pa.float64())),
    "binary": _column([one.encode() for one in _TEXTS], pa.binary()),
    "large_binary": _column([one.encode() for one in _TEXTS], pa.large_binary()),
}
OBJECTS = ("date32", "time64", "list", "struct", "map", "binary", "large_binary")
"""What NumPy's dataframes know as objects."""
Open = Callable[[pa.Table, Path], Any]
SOURCES: dict[str, Open] = {
    "arrow": lambda table, _: table,
    "parquet": lambda _, place: place,
    "arrow in parts": lambda table, _: hb.scan(table, batch_rows=20),
    "parquet in parts": lambda _, place: hb.scan(place, batch_rows=20),
    "dataset": lambda _, place: hb.scan(dataset.dataset(place), batch_rows=20),
    "function": lambda table, _: hb.scan(lambda: iter(table.to_batches(20))),
    "pandas of arrow": lambda table, _: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas of arrow in parts": lambda table, _: hb.scan(table.to_pandas(types_mapper=pd.ArrowDtype), batch_rows=20),
    "polars": lambda table, _: pl.from_arrow(table),
    "polars in parts": lambda table, _: hb.scan(pl.from_arrow(table), batch_rows=20),
    "polars, lazily": lambda _, place: hb.scan(pl.scan_parquet(place), batch_rows=20),
    "duckdb": lambda _, place: _query(place),
    "duckdb in parts": lambda _, place: hb.scan(_query(place), batch_rows=20),
    "pandas": lambda table, _: table.to_pandas(),
    "pandas in parts": lambda table, _: hb.scan(table.to_pandas(), batch_rows=20),
}
OTHERS = {("polars", "decimal256"), ("duckdb", "duration")}
"""What another library does not read, or reads as another kind."""
ROLES = {
    "number": hb.Domain({"x": (0, 2.0**64), "z": (-1, 1)}, target={"y": (-2, 2)}, records=N),
    "small number": hb.Domain({"x": (0, 3), "z": (-1, 1)}, target={"y": (-2, 2)}, records=N),
    "level": hb.Domain({"x": ["u", 1, False, "2020-01-01", "1.0"], "z": (-1, 1)}, target={"y": (-2, 2)}, records=N),
    "target": hb.Domain({"z": (-1, 1), "y": (-2, 2)}, target={"x": (0, 3)}, records=N),
    "class": hb.Domain({"z": (-1, 1)}, classes={"x": ["u", "v", 0, 1, 2, 3]}, records=N),
}


def _query(place: Path) -> Any:
    import duckdb

    return duckdb.connect().read_parquet(str(place))


def made(kind: str, place: Path) -> tuple[pa.Table, Path]:
    """A table with such a column beside two others, and its file."""
    table = pa.table({"x": (READ | REFUSED)[kind], "z": _REAL, "y": _REAL[::-1]})
    parquet.write_table(table, place / "table.parquet", row_group_size=20)
    return table, place / "table.parquet"


def told(source: Any, roles: Iterable[str] = ROLES) -> Iterator[Any]:
    """What each of the roles makes of the column: the bits of rows and targets, or the sentence without the word for the type, which each library spells its own way."""
    for domain in (ROLES[role] for role in roles):
        try:
            encoding = domain.encoding_for(source)
        except SchemaError as refusal:
            yield re.sub(r"declared type \w+", "declared type", str(refusal))
            continue
        names = [*encoding.feature_names_in, *(str(one.column) for one in domain.targets)]
        parts = [
            encoding.encode(one) for one in (source.parts(names) if isinstance(source, ScannedTable) else [source])
        ]
        yield b"".join(part.X.tobytes() for part in parts), b"".join(part.Y.tobytes() for part in parts)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", [*READ, *REFUSED])
def test_a_column_of_any_kind_is_read_or_refused_alike_in_all_sources(kind: str, tmp_path: Path) -> None:
    table, place = made(kind, tmp_path)
    wanted, objects = list(told(table)), list(told(table.to_pandas()))
    assert [isinstance(one, str) for one in wanted] == [kind in REFUSED] * len(ROLES)
    assert (objects == wanted) == (kind not in OBJECTS)
    for name, open_it in SOURCES.items():
        if (name.split()[0].rstrip(","), kind) not in OTHERS:
            assert list(told(open_it(table, place))) == (objects if name in ("pandas", "pandas in parts") else wanted)
