"""Tables that hold a mark wherever a reader finds a text: in names, levels, types, file names, keys, records and what is damaged."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

import hullabaloo as hb

# Made here and not written out: a traceback quotes the lines of a program, and these must not be taken for a file's.
HEAD, BODY = "".join(("kNr", "Y7f", "HEAD")), "".join(("kNr", "Y7f", "BODY"))


@dataclass(frozen=True)
class Marks:
    """What marks a text in a place of names, and a text in a record. Two sets of marks make two tables that nobody may tell apart."""

    head: str = HEAD
    body: str = BODY

    def found(self, said: str) -> list[str]:
        """The marks in a text, whatever was done to their letters."""
        plain = said.lower()
        return [mark for mark in (self.head, self.body) if mark.lower() in plain]


OTHERS = Marks("".join(("zW", "q3 x'head")), "".join(("zW", "q3 x'body no.2")))
VALID = "age,ward,stay"


def csv_files(marks: Marks) -> dict[str, str]:
    """Text files, by what is odd in them. Where a file has no line of names its first record has the mark of names."""
    head, body = marks.head, marks.body
    records = f"31,{body},7.5\n{body},surgery,{body}\n44,medicine,3\n"
    return {
        "no names": f"{head} Meier,hiv {head},positive\n{body},b,c\n",
        "no names, a number": f"47.5,{head},yes\n48,{body},no\n",
        "no names, one column": f"{head}\n{body}\n",
        "no names, semicolons": f"{head};hiv;3\n{body};flu;4\n",
        "no names, tabs": f"{head}\thiv\t3\n{body}\tflu\t4\n",
        "no names, a declared word": f"age,{head},positive\n{body},b,c\n",
        "a torn quote": f'age,"ward,stay {head}\n{records}',
        "a torn first name": f'"age,ward,stay {head}\n{records}',
        "a column more": f"{VALID},{head}\n31,{body},7.5,{body}\n{body},surgery,{body},{body}\n44,medicine,3,1\n",
        "a name twice": f"age,ward,age,stay,{head}\n{records}",
        "controls in a name": f"age,ward,\x1b[31m{head}\x07\x9b,stay2\n{records}",
        "markup in a name": f"age,ward,[red]{head}[/red]<b>,stay2\n{records}",
        "a blank first line": f"\n{head},b\n{records}",
        "zeros": f"\0{head},\0\n{records}",
        "marked cells": f"{VALID}\n{records}",
    }


def json_lines(marks: Marks) -> dict[str, str]:
    """JSON Lines, by what is odd in them."""
    head, body = marks.head, marks.body
    return {
        "other keys": f'{{"{head}": "{body}"}}\n{{"age": "{body}", "{head}": {{"{head}": 1}}}}\n',
        "torn lines": f'{{"age": "{head}\n{body}\n"{head}"\n[["{body}"]]\n{{"age": {"[" * 2000}"{head}"\n',
    }


def parquet_tables(marks: Marks) -> dict[str, pa.Table]:
    """Parquet files, by what is odd in them."""
    head, body = marks.head, marks.body
    stay, ward = pa.array([1.0, 2.0]), pa.array([body, "surgery"])
    valid = {"age": [30.0, 40.0], "ward": ward, "stay": stay}
    struct = pa.array([{head: body}] * 2, pa.struct([(head, pa.string())]))
    listed = pa.array([[body]] * 2, pa.list_(pa.field(head, pa.string())))
    dated = pa.array([1, 2], pa.timestamp("us", tz="Europe/Berlin")).dictionary_encode()
    marked = pa.table(valid).replace_schema_metadata({head: body})
    indexed = pd.DataFrame({"age": [1.0, 2.0], "stay": [1.0, 2.0]}, index=pd.Index([body, head], name=head))
    return {
        "other names": pa.table({head: [body, "x"], f"{head}2": [1, 2]}),
        "names twice": pa.Table.from_arrays([stay, stay, ward, stay], names=["age", "age", head, head]),
        "a struct": pa.table({**valid, "age": struct}),
        "a list": pa.table({**valid, "age": listed}),
        "a dictionary of dates": pa.table({**valid, "age": dated}),
        "marked levels": pa.table({**valid, "ward": ward.dictionary_encode()}),
        "metadata": marked,
        "an index": pa.Table.from_pandas(indexed),
        "a column more": pa.table({**valid, head: [body, head]}),
    }


def write_files(folder: Path, marks: Marks) -> dict[str, Path]:
    """All tables that are files, by "suffix: what is odd"; what a caller names, a path, has no mark."""
    made: dict[str, Path] = {}
    for suffix in (".csv", ".tsv"):
        for odd, text in csv_files(marks).items():
            made[f"{suffix}: {odd}"] = _write(folder, suffix, odd, text.encode())
    made[".csv: not UTF-8"] = _write(
        folder, ".csv", "bytes", marks.head.encode() + b",\xff\xfe\n" + marks.body.encode()
    )
    for odd, text in json_lines(marks).items():
        made[f".jsonl: {odd}"] = _write(folder, ".jsonl", odd, text.encode())
    for odd, table in parquet_tables(marks).items():
        path = made[f".parquet: {odd}"] = folder / f"{_plain(odd)}.parquet"
        pq.write_table(table, path)
    whole = made[".parquet: marked levels"].read_bytes()
    mark = marks.body.encode()
    damaged = {
        "no Parquet": b"PAR1" + mark + marks.head.encode(),
        "torn pages": whole[:4] + (mark * 40)[:100] + whole[104:],
        "a torn end": whole[:-60] + (mark * 9)[:52] + whole[-8:],
    }
    for odd, content in damaged.items():
        made[f".parquet: {odd}"] = _write(folder, ".parquet", odd, content)
    for odd, second in (("a torn file", None), ("another type", pa.table({"age": [marks.body], marks.head: [1]}))):
        place = made[f"folder: {odd}"] = folder / f"folder {_plain(odd)}.parquet"
        place.mkdir()
        name = f"{marks.head}-{marks.body}".replace("'", "")
        (place / "a.parquet").write_bytes(whole)
        if second is None:
            (place / f"{name}.parquet").write_bytes(damaged["torn pages"])
            (place / f"{name}2.parquet").write_bytes(damaged["a torn end"])
        else:
            pq.write_table(second, place / f"{name}.parquet")
    return made


READERS = {
    "ArrayTable": "numpy: objects",
    "ArrowTable": "arrow: a struct",
    "ChosenColumns": "pandas: other names",  # of private_bounds, under declared names
    "CsvTable": ".csv: no names",
    "FrameTable": "polars: a struct",
    "ListTable": "lists",
    "ParquetPart": ".parquet: other names",
    "CsvPart": ".csv: no names",
    "ParquetTable": ".parquet: other names",
    "RecordTable": ".jsonl: other keys",
    "ScannedTable": "scan: other names",
    "RowWise": "pandas: other names",  # of private_pipeline, without names
    "SparseTable": "sparse",
    "SparsePart": "scan: sparse, other names",
    "CsvSource": ".csv: no names",
    "JsonLinesSource": ".jsonl: other keys",
    "ParquetSource": ".parquet: other names",
    "RedisSource": "",  # needs a server: `test_what_a_redis_stream_holds_is_not_heard`
}
"""Every reader and source, and a table that reaches it."""


def _plain(odd: str) -> str:
    return odd.replace(" ", "-").replace(",", "")


def _write(folder: Path, suffix: str, odd: str, content: bytes) -> Path:
    path = folder / f"{_plain(odd)}{suffix}"
    path.write_bytes(content)
    return path


def in_memory(marks: Marks) -> dict[str, Callable[[], Any]]:
    """Tables that are objects, made when they are asked for."""
    head, body = marks.head, marks.body
    frame = pd.DataFrame({"age": [30, body], "ward": [body, "surgery"], "stay": [1.0, 2.0]})
    enum = pl.Enum([head, body])
    fails = pl.LazyFrame({"age": [body, "1"], "ward": ["a", "b"], "stay": [1.0, 2.0]})
    return {
        "pandas: other names": lambda: pd.DataFrame({head: [1.0], f"{head}2": [body]}),
        "pandas: a column more": lambda: frame.assign(**{head: body}),
        "pandas: names twice": lambda: pd.DataFrame([[1, 2, body]], columns=["age", "age", head]),
        "pandas: names of two levels": lambda: pd.DataFrame(
            [[1, 2]], columns=pd.MultiIndex.from_tuples([("age", head), (head, body)])
        ),
        "pandas: an index": lambda: frame.set_axis(pd.Index([head, body], name=head)),
        "pandas: marked levels": lambda: frame.assign(age=pd.Categorical([head, body])),
        "pandas: a period": lambda: frame.assign(age=pd.interval_range(0, 2)).rename(columns={"ward": head}),
        "polars: a struct": lambda: pl.DataFrame({"age": [{head: body}], "ward": [body], "stay": [1.0]}),
        "polars: an enum": lambda: pl.DataFrame({"age": pl.Series([head, body], dtype=enum), head: [1, 2]}),
        "polars: a query that fails": lambda: fails.with_columns(pl.col("age").cast(pl.Int64, strict=True)),
        "polars: other names": lambda: pl.DataFrame({head: [body]}).lazy(),
        "arrow: a struct": lambda: parquet_tables(marks)["a struct"],
        "arrow: other names": parquet_tables(marks)["other names"].to_reader,
        "scan: other names": lambda: hb.scan(parquet_tables(marks)["other names"].to_reader),
        "scan: sparse, other names": lambda: hb.scan(
            pa.table({"indices": [[0]], "values": [[1.0]], head: [body]}).to_reader, sparse=2
        ),
        "scan: a column more": lambda: hb.scan(lambda: iter(parquet_tables(marks)["a column more"].to_batches())),
        "numpy: objects": lambda: np.array([[30, body, 1.0], [head, "surgery", body]], dtype=object),
        "numpy: texts": lambda: np.array([[head, body]] * 3),
        "numpy: fields": lambda: np.array([(1, body)], dtype=[("age", "i8"), (head, "U30")]),
        "numpy: fields of fields": lambda: np.array([((1,), 2)], dtype=[("age", [(head, "i8")]), ("stay", "f8")]),
        "numpy: a number of columns": lambda: np.zeros((3, 7)),
        "lists": lambda: [[head, body, 1.0], [body], [{head: body}] * 5],
        "a list of texts": lambda: [head, body],
        "sparse": lambda: sparse.csr_array(np.eye(3)),
        "no table": lambda: {head: [body]},
        "a text": lambda: f"{'nowhere'}.csv",
    }
