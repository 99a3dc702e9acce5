"""The law of names (`column_names.py`) of whatever is read on this machine; of clusters in `engines/`."""

import contextlib
import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import hullabaloo as hb
from hullabaloo.errors import SchemaError
from tests.data.column_names import NAMES, Case, broken, cases, domain_of, table_of

ARROWS = tuple(name for name in NAMES if name.startswith("__") and name != "__index_level_0__")
"""With one of them PyArrow reads no Parquet file: they would hide what happens to others."""
KEYED = {"twice, needed", "twice, not needed"}
"""Cases that a source of keys does not have: its writer drops or renames the second."""


def a_file(table: pa.Table, folder: Path) -> str:
    parquet.write_table(table, folder / "table.parquet")
    return str(folder / "table.parquet")


def a_folder(table: pa.Table, folder: Path) -> str:
    """Of two files and one without records."""
    (folder / "files").mkdir(exist_ok=True)
    for number, part in enumerate((table.slice(0, 40), table.slice(0, 0), table.slice(40))):
        parquet.write_table(part, folder / "files" / f"{number}.parquet")
    return str(folder / "files")


def a_csv(table: pa.Table, folder: Path) -> str:
    with (folder / "table.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(table.schema.names)
        lines.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return str(folder / "table.csv")


def some_json(table: pa.Table, folder: Path) -> Any:
    with (folder / "table.jsonl").open("w") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in table.to_pylist())
    return hb.scan(folder / "table.jsonl", columns=table.schema.names)


def cached(table: pa.Table, folder: Path) -> Any:
    (folder / "cache").mkdir(exist_ok=True)
    return hb.scan(a_file(table, folder), cache=folder / "cache", keep_bytes=0, batch_rows=25)


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "pandas": lambda table, _: table.to_pandas(),
    "Parquet": a_file,
    "Parquet, scanned": lambda table, folder: hb.scan(a_file(table, folder)),
    "Parquet, cached": cached,
    "a folder": a_folder,
    "a folder, scanned": lambda table, folder: hb.scan(a_folder(table, folder)),
    "CSV, scanned": lambda table, folder: hb.scan(a_csv(table, folder), quoted_line_breaks=True),
    "batches": lambda table, _: hb.scan(table.to_reader),
    "JSON Lines": some_json,
    "DuckDB": lambda table, _: hb.scan(duckdb.connect().from_arrow(table)),
    "Polars, lazily": lambda table, _: hb.scan(pl.from_arrow(table).lazy()),
}
OF_KEYS = {"JSON Lines", "DuckDB", "Polars, lazily"}
UNREAD = {
    "CSV, scanned": {"a\nb", "a\rb", "\x00"},  # the line of names is one line, of text
    "Polars, lazily": {"\x00"},  # refused below, which would hide what happens to others
}


@pytest.mark.few(8)
@pytest.mark.parametrize("kind", SOURCES)
def test_a_column_may_have_any_name(kind: str, tmp_path: Path) -> None:
    """A column of a Parquet file that was called __filename, or one twice beside a file without records, ended a fit after its charge."""
    names = [name for name in NAMES if name not in {*ARROWS, *UNREAD.get(kind, ())}]
    tried = {name: case for name, case in cases(names).items() if kind not in OF_KEYS or name not in KEYED}
    for each in ARROWS:
        tried |= {f"{each}, {name}": cases([each, "other"])[name] for name in ("needed", "not needed")}
    assert not list(broken(lambda table: SOURCES[kind](table, tmp_path), tmp_path, tried))


STREAMED: dict[str, Callable[[pa.Table], Any]] = {
    "PyArrow": lambda table: table,
    "PyArrow, from a function": lambda table: lambda: table,
    "Polars": lambda table: pl.DataFrame(table.to_pydict()),
    "Polars, lazily": lambda table: pl.DataFrame(table.to_pydict()).lazy(),
    "Polars, from a function": lambda table: lambda: pl.DataFrame(table.to_pydict()),
    "Polars, in batches": lambda table: lambda: iter([pl.DataFrame(table.to_pydict())]),
}
"""Who hands batches on through Arrow's C stream."""


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", STREAMED)
def test_no_name_is_cut_off_where_batches_are_handed_on(kind: str, tmp_path: Path) -> None:
    """Texts of C end at a NUL: Polars ended the process, and a column of PyArrow was read as another one."""
    tried = {
        f"{name!r}, {role}": case for name in ("\x00", "plain\x00", "age\x00b") for role, case in cases([name]).items()
    }
    tried = {name: case for name, case in tried.items() if "twice" not in name}
    cut = [Case(domain_of([name]), (f"{name}\x00more", "y")) for name in ("age", "")]
    tried |= {f"cut {number}": case for number, case in enumerate(cut)}
    assert not list(broken(lambda table: hb.scan(STREAMED[kind](table)), tmp_path, tried))
    table = table_of(Case(domain_of(["plain"]), ("plain", "y")))
    for cells in ([{"a\x00b": 1.0}] * len(table), [[{"a\x00b": 1.0}]] * len(table)):
        with contextlib.suppress(SchemaError):
            hb.scan(STREAMED[kind](table.append_column("field", pa.array(cells))))
    assert hb.scan(STREAMED[kind](table)).n_rows == len(table)


@pytest.mark.parametrize("name", ARROWS)
def test_a_name_that_arrow_keeps_for_its_own_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    table = table_of(cases([name, "other"])["not needed"])
    with pytest.raises(SchemaError, match="keeps for its own"):
        hb.scan(a_folder(table, tmp_path))
