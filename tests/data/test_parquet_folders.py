"""Files of one folder: a cell is read as its own file declares it, and what is refused is refused from the footers.

PyArrow takes the first file's types for all and casts the others when they are read, after the charge: a value decided whether
that failed (2.5 beside whole numbers, a text beside numbers, 300 beside numbers of 8 bits).
"""

import traceback
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hullabaloo as hb
from hullabaloo.data import Domain, open_table
from hullabaloo.data.sources import ParquetSource
from hullabaloo.data.table import TornTable
from hullabaloo.errors import SchemaError
from hullabaloo.noise import TestKey

DOMAIN = Domain(features={"a": (0, 10)}, target={"y": (0, 1)})
COLUMNS: dict[str, Any] = {
    "int8": pa.array([1, 2, None], pa.int8()),
    "int64": pa.array([3, 2**53 + 1, None], pa.int64()),
    "uint64": pa.array([3, 2**64 - 1, None], pa.uint64()),
    "double": pa.array([2.5, float("nan"), None], pa.float64()),
    "float": pa.array([0.1, float("inf"), None], pa.float32()),
    "half": pa.array(np.array([0.1, 7.0, 1.0], dtype=np.float16)),
    "decimal": pa.array([Decimal("0.10"), Decimal("9.99"), None], pa.decimal128(10, 2)),
    "long decimal": pa.array([Decimal("0.1"), Decimal("3"), None], pa.decimal256(60, 30)),
    "bool": pa.array([True, False, None]),
    "text": pa.array(["1", "SECRET", None]),
    "large text": pa.array(["1", "SECRET", None], pa.large_string()),
    "levels": pa.array(["1", "SECRET", None]).dictionary_encode(),
    "levels of numbers": pa.array([1, 2, None]).dictionary_encode(),
    "null": pa.nulls(3),
    "time": pa.array([0, 1, None], pa.timestamp("us", tz="Europe/Vienna")),
}
NUMBERS = {"int8", "int64", "uint64", "double", "float", "half", "decimal", "long decimal", "levels of numbers"}
TEXTS = {"text", "large text", "levels"}


def family(name: str) -> str:
    return "number" if name in NUMBERS else "text" if name in TEXTS else name


def folder(path: Path, *columns: Any) -> Path:
    path.mkdir(exist_ok=True)
    for number, column in enumerate(columns):
        table = pa.table(
            {"y": pa.array([0.5] * len(column))} if column is None else {"y": [0.5] * len(column), "a": column}
        )
        pq.write_table(table, path / f"SECRET-{number}.parquet", row_group_size=2)
    return path


def streamed(path: Path) -> list[tuple[bytes, bytes]]:
    encoding, found = DOMAIN.encoding(), []
    for batch in ParquetSource(path).batches():
        rows = encoding.encode(batch.table)
        found += [(x.tobytes(), y.tobytes()) for x, y in zip(rows.X, rows.Y, strict=True)]
    return found


def read(path: Path) -> list[tuple[bytes, bytes]]:
    rows = DOMAIN.encoding_for(path).encode(path)
    return [(x.tobytes(), y.tobytes()) for x, y in zip(rows.X, rows.Y, strict=True)]


@pytest.mark.few(20)
@pytest.mark.parametrize("second", COLUMNS)
@pytest.mark.parametrize("first", COLUMNS)
def test_a_cell_depends_on_its_own_file_or_its_column_is_refused(tmp_path: Path, first: str, second: str) -> None:
    """All pairs of types, as a table and as a stream."""
    path = folder(tmp_path / "both", COLUMNS[first], COLUMNS[second])
    families = {family(first), family(second)} - {"null"}
    if len(families) > 1 or "time" in families:
        for check in (DOMAIN.encoding_for, lambda path: DOMAIN.encoding_for(ParquetSource(path).empty()), streamed):
            with pytest.raises(SchemaError, match="declared type") as refused:
                check(path)
            assert "SECRET" not in str(refused.value)
            assert "Vienna" not in str(refused.value)
        return
    alone = [folder(tmp_path / name, COLUMNS[name]) for name in dict.fromkeys((first, second))]
    wanted = [*read(alone[0]), *read(alone[-1])]
    assert read(path) == wanted
    assert streamed(path) == wanted


@settings(max_examples=12, deadline=None)
@given(st.data())
def test_a_row_is_that_of_its_cell_alone(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Any cells of any numbers, in files of their own types, in row groups of any size."""
    kinds = {
        pa.int8(): st.integers(-128, 127),
        pa.int64(): st.integers(-(2**63), 2**63 - 1),
        pa.float64(): st.floats(),
        pa.float32(): st.floats(width=32),
        pa.decimal128(20, 9): st.decimals(-(10**10), 10**10, places=9, allow_nan=False),
    }
    path = tmp_path_factory.mktemp("any")
    names = data.draw(st.lists(st.sampled_from(list(kinds)), min_size=1, max_size=3))
    columns = [pa.array(data.draw(st.lists(st.none() | kinds[t], min_size=1, max_size=5)), t) for t in names]
    found = read(folder(path / "all", *columns))
    assert streamed(path / "all") == found
    alone = [read(folder(path / "one", column.slice(i, 1)))[0] for column in columns for i in range(len(column))]
    assert found == alone


@pytest.mark.parametrize("other", ["text", "bool", "time", None])
def test_files_that_disagree_are_counted_not_quoted_and_nothing_is_charged(tmp_path: Path, other: str | None) -> None:
    """With whole numbers first a text beyond them failed after the charge, if and only if it was no number."""
    second = None if other is None else COLUMNS[other]
    path = folder(tmp_path / "both", COLUMNS["int64"], COLUMNS["int64"])
    lacking = {"y": [0.5] * 3} if second is None else {"y": [0.5] * 3, "a": second}
    pq.write_table(pa.table(lacking), path / "SECRET-2.parquet")
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("ward", hb.Budget(1.0, 1e-6))
    model = hb.LinearRegression(
        budget=hb.Budget(1.0, 1e-6), domain=DOMAIN, ledger=ledger, dataset="ward", solver="moments"
    )
    with pytest.raises(SchemaError, match=r"'a' has the declared type .*int64 in some files.*,") as refused:
        model.fit(path)
    assert "SECRET" not in str(refused.value)
    assert not ledger.charges("ward")
    assert DOMAIN.check_schema(folder(tmp_path / "sound", COLUMNS["int64"], COLUMNS["double"])) is None


@pytest.mark.parametrize("cell", [1, 2.5, 300, "SECRET"])
def test_no_value_decides_whether_a_fit_fails(tmp_path: Path, cell: Any) -> None:
    columns = [pa.array([1] * 30, pa.int8()), pa.array([cell] * 30)]
    path = folder(tmp_path / "both", *columns)
    model = hb.LinearRegression(
        budget=hb.Budget(1.0, 1e-6), domain=DOMAIN, solver="moments", test_key=TestKey(bytes(32))
    )
    if isinstance(cell, str):
        with pytest.raises(SchemaError):
            model.fit(path)
    else:
        model.fit(path)


def test_columns_that_are_not_used_may_differ(tmp_path: Path) -> None:
    for number, more in enumerate(({"b": [1]}, {"b": ["x"]}, {"c": [1.0]}, {"b": [1], "z": [2]})):
        pq.write_table(pa.table({"a": [float(number)], "y": [0.5], **more}), tmp_path / f"{number}.parquet")
    assert len(read(tmp_path)) == len(streamed(tmp_path)) == 4
    assert open_table(tmp_path).schema.names == ("a", "y", "b", "c", "z")


def test_a_file_that_is_none_is_refused_before_the_charge(tmp_path: Path) -> None:
    """Only the first file of a folder was looked at; the others failed when they were read."""
    whole = folder(tmp_path / "whole", COLUMNS["double"], COLUMNS["double"])
    content = (whole / "SECRET-1.parquet").read_bytes()
    torn = {"cut": content[:-20], "empty": b"", "text": b"SECRET,1\n2,3\n", "grown": content[:-8] + content[-8:] * 3}
    for name, found in torn.items():
        (whole / "SECRET-1.parquet").write_bytes(found)
        for opened in (open_table, ParquetSource):
            with pytest.raises(SchemaError, match="cannot be read as Parquet") as refused:
                opened(whole)
            assert "SECRET" not in str(refused.value).replace(str(whole), ""), name
    (whole / "SECRET-1.parquet").unlink()
    (whole / "SECRET-0.parquet").unlink()
    with pytest.raises(SchemaError, match="holds no file"):
        open_table(whole)


def test_a_footer_that_points_outside_of_its_file_is_refused(tmp_path: Path) -> None:
    """The middle of the file is gone, and its footer is whole."""
    column = pa.array(np.random.default_rng(0).uniform(size=4000))
    path = folder(tmp_path / "one", column) / "SECRET-0.parquet"
    content = path.read_bytes()
    path.write_bytes(content[:100] + content[-2000:])
    with pytest.raises(SchemaError, match="cannot be read as Parquet"):
        open_table(path)


def test_a_footer_that_tells_another_number_of_records_is_not_believed(tmp_path: Path) -> None:
    """Each number of its footer that is the number of records, and all of them: columns of other lengths would be matched."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"y": np.linspace(0, 1, 50), "a": np.linspace(0, 9, 50)}), path)
    wanted, content = read(path), path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    places = [
        place for place in range(footer, len(content)) if content[place : place + 2] == b"\x16\x64"
    ]  # 50 in Thrift
    assert len(places) >= 4
    for chosen in (*([place] for place in places), places):
        for count in (49, 51):
            damaged = bytearray(content)
            for place in chosen:
                damaged[place + 1] = 2 * count
            path.write_bytes(damaged)
            for look in (read, streamed):
                try:
                    found = look(path)
                except (SchemaError, TornTable):
                    continue
                assert found == wanted[: len(found)]


def test_a_file_that_changes_while_it_is_read_tells_no_number(tmp_path: Path) -> None:
    path = folder(tmp_path / "one", pa.array([1.0] * 50)) / "SECRET-0.parquet"
    table = open_table(path)
    assert table.n_rows == 50
    pq.write_table(pa.table({"y": [0.5] * 7, "a": [1.0] * 7}), path)
    model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=DOMAIN, solver="moments")
    with pytest.raises(OSError, match="could not be read to its end") as failed:
        model.fit(table)
    assert "50" not in str(failed.value)
    assert failed.value.__context__ is None


def test_what_a_failing_disk_says_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **named: object) -> None:
        raise OSError(5, "SECRET", "SECRET.parquet")

    monkeypatch.setattr("hullabaloo.data.encoding.Encoding.encode", fail)
    model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=DOMAIN, solver="moments")
    with pytest.raises(OSError, match="could not be read to its end") as failed:
        model.fit(pa.table({"a": [1.0] * 9, "y": [0.5] * 9}))
    assert "SECRET" not in "".join(traceback.format_exception(failed.value))


def test_the_type_of_a_column_is_told_in_a_word(tmp_path: Path) -> None:
    """The rest may hold names of fields and levels, which come from the file."""
    columns = {"a": pa.array([{"SECRET": 1}]), "b": pa.array(["SECRET"]).dictionary_encode()}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    assert open_table(tmp_path / "t.parquet").schema.types == ("struct", "dictionary")
