"""A column is read in one way, which its declared type says: whether a faster way worked for all of it, a value would decide.

Arrow casts a decimal to a float64 beside the nearest, and each column had a second way for when the first failed as a whole. What
failed in none of the ways that were foreseen (a text of Polars' that is no UTF-8: a panic) ended a fit after the charge.
"""

import math
import random
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hullabaloo as hb
from hullabaloo.data import Domain, open_table
from hullabaloo.data.labels import LevelIndex, label_of, memo
from hullabaloo.data.numbers import number_of, numbers_of
from hullabaloo.data.records import RecordTable
from hullabaloo.data.scan import ScannedTable
from hullabaloo.data.sources import CsvSource, JsonLinesSource, redis_stream
from hullabaloo.errors import SchemaError

FLOATS = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -2.2e-308, 1.7e308, 0.1, 1 / 3, 2**53 + 1.0]
SMALL = [0, 1, -1, 127, -128]
LARGE = [*SMALL, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]
DECIMALS = [
    Decimal(text) for text in ("0", "-0.1", "0.10", "123456789012345.678", "98765432109876543.211", "0.001", "-1")
]
TEXTS = [
    "",
    " ",
    "1",
    "1.50",
    "nan",
    "inf",
    "-1e999",
    "9" * 400,
    "1_0",
    "é",
    "\ud800",
    "a\x00b",
    "True",
    "yes",
    "\u0661",
]
UTF8 = [text for text in TEXTS if text != "\ud800"]
CELLS = [
    *FLOATS, *LARGE, *DECIMALS, *TEXTS, None, True, False, 10**400, -(10**400), Decimal("NaN"), Decimal("sNaN"), b"1", b"\xff", pd.NA, pd.NaT,
    np.float32(0.1), np.int8(3), np.bool_(True), [1], {}, 1j, datetime(2020, 1, 1, tzinfo=UTC), object(), np.array(1.0), np.array([1.0]),
]  # fmt: skip
Maker = Callable[[list[Any]], Any]


def objects(cells: list[Any]) -> np.ndarray:
    return np.fromiter(cells, dtype=object, count=len(cells))


def of_numpy(dtype: str) -> Maker:
    return lambda cells: np.array(cells, dtype=dtype)[:, None]


def of_pandas(dtype: Any) -> Maker:
    return lambda cells: pd.DataFrame({"a": pd.Series(cells, dtype=dtype)})


def of_polars(dtype: Any) -> Maker:
    return lambda cells: pl.DataFrame({"a": pl.Series(cells, dtype=dtype)})


def of_arrow(dtype: Any) -> Maker:
    return lambda cells: pa.table({"a": pa.array(cells, dtype)})


def of_bytes(dtype: Any, kept: Any) -> Maker:
    """Text that may not be UTF-8."""
    return lambda cells: pa.table({"a": pa.array(cells, kept).view(dtype)})


def masked(cells: list[Any]) -> Any:
    return np.ma.array([0.5 if cell is None else cell for cell in cells], mask=[cell is None for cell in cells])[
        :, None
    ]


def of_pandas_bytes(dtype: str) -> Maker:
    def make(cells: list[Any]) -> Any:
        kind = pd.array(["a"], dtype=dtype)
        return pd.DataFrame(
            {"a": kind._from_pyarrow_array(pa.chunked_array([pa.array(cells, pa.binary()).view(pa.string())]))}
        )

    return make


BYTES = [b"1", b"\xff\xfe", b"\xed\xa0\x80", "é".encode(), b"", None]
CASES: dict[str, tuple[Maker, list[Any]]] = {
    **{f"numpy {kind}": (of_numpy(kind), FLOATS) for kind in ("f8", "g")},
    "numpy f4": (of_numpy("f4"), [cell for cell in FLOATS if not 3e38 < abs(cell) < math.inf]),
    "numpy f2": (of_numpy("f2"), [0.0, -0.0, math.nan, math.inf, 0.1, 6e-8]),
    "numpy big-endian": (of_numpy(">f8"), FLOATS),
    "numpy i1": (of_numpy("i1"), SMALL),
    "numpy i8": (of_numpy("i8"), LARGE),
    "numpy u8": (of_numpy("u8"), [0, 2**53 + 1, 2**64 - 1, 2**63 + 1025]),
    "numpy ?": (of_numpy("?"), [True, False]),
    "numpy O": (lambda cells: objects(cells)[:, None], CELLS),
    "numpy U": (of_numpy("U"), TEXTS),
    "numpy S": (of_numpy("S"), [cell for cell in BYTES if cell]),
    "numpy T": (lambda cells: np.array(cells, dtype=np.dtypes.StringDType())[:, None], UTF8),
    "numpy masked": (masked, [*FLOATS, None]),
    "list": (lambda cells: [[cell] for cell in cells], CELLS),
    "flat list": (list, [cell for cell in CELLS if not isinstance(cell, list | np.ndarray)]),
    "records": (lambda cells: RecordTable([cells], ("a",), len(cells)), CELLS),
    "pandas object": (of_pandas(object), CELLS),
    "pandas float32": (of_pandas("float32"), [0.1, math.nan, math.inf, -0.0]),
    "pandas Int64": (of_pandas("Int64"), [*LARGE, None]),
    "pandas UInt64": (of_pandas("UInt64"), [0, 2**53 + 1, 2**64 - 1, None]),
    "pandas Float64": (of_pandas("Float64"), [0.1, 5e-324, math.inf, None]),
    "pandas boolean": (of_pandas("boolean"), [True, False, None]),
    "pandas str": (of_pandas("str"), [*UTF8, None]),
    "pandas string": (of_pandas("string"), [*UTF8, None]),
    "pandas category": (of_pandas("category"), [*UTF8, None]),
    "pandas category of numbers": (of_pandas("category"), [*SMALL, None]),
    "pandas Sparse[float]": (of_pandas(pd.SparseDtype("float64", math.nan)), FLOATS),
    "pandas Sparse[int]": (of_pandas(pd.SparseDtype("int64", 0)), LARGE),
    "pandas Sparse[bool]": (of_pandas(pd.SparseDtype("bool", False)), [True, False]),
    "pandas arrow int64": (of_pandas(pd.ArrowDtype(pa.int64())), [*LARGE, None]),
    "pandas arrow double": (of_pandas(pd.ArrowDtype(pa.float64())), [0.1, math.inf, -0.0, None]),
    "pandas arrow decimal": (of_pandas(pd.ArrowDtype(pa.decimal128(38, 3))), [*DECIMALS, None]),
    "pandas arrow bool": (of_pandas(pd.ArrowDtype(pa.bool_())), [True, None]),
    "pandas arrow string": (of_pandas(pd.ArrowDtype(pa.string())), [*UTF8, None]),
    "pandas arrow levels": (of_pandas(pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))), [*UTF8, None]),
    "pandas arrow bytes": (lambda cells: of_bytes(pa.string(), pa.binary())(cells).to_pandas(types_mapper=pd.ArrowDtype), BYTES),
    "pandas str bytes": (of_pandas_bytes("str"), BYTES),
    "pandas string bytes": (of_pandas_bytes("string[pyarrow]"), BYTES),
    "polars bytes": (lambda cells: pl.from_arrow(of_bytes(pa.string(), pa.binary())(cells)), BYTES),
    "polars lazy bytes": (lambda cells: pl.from_arrow(of_bytes(pa.string(), pa.binary())(cells)).lazy(), BYTES),
    **{f"polars {t}": (of_polars(t), [*SMALL, None]) for t in (pl.Int8, pl.Int16, pl.Int32)},
    **{f"polars {t}": (of_polars(t), [*LARGE, None]) for t in (pl.Int64, pl.Int128)},
    "polars UInt64": (of_polars(pl.UInt64), [0, 2**53 + 1, 2**64 - 1, None]),
    "polars Float64": (of_polars(pl.Float64), [*FLOATS, None]),
    "polars Float32": (of_polars(pl.Float32), [0.1, math.nan, math.inf, None]),
    "polars Decimal": (of_polars(pl.Decimal(38, 3)), [*DECIMALS, None]),
    "polars Boolean": (of_polars(pl.Boolean), [True, False, None]),
    "polars String": (of_polars(pl.String), [*UTF8, None]),
    "polars Categorical": (of_polars(pl.Categorical), [*UTF8, None]),
    "polars Enum": (of_polars(pl.Enum(UTF8)), [*UTF8, None]),
    "polars Null": (of_polars(pl.Null), [None]),
    "polars Object": (lambda cells: pl.DataFrame({"a": pl.Series(cells, dtype=pl.Object)}), [cell for cell in CELLS if cell is not None]),
    **{f"arrow {t}": (of_arrow(t), [*SMALL, None]) for t in (pa.int8(), pa.int16(), pa.int32())},
    "arrow int64": (of_arrow(pa.int64()), [*LARGE, None]),
    "arrow uint64": (of_arrow(pa.uint64()), [0, 2**53 + 1, 2**64 - 1, 2**63 + 1025, None]),
    "arrow half": (lambda cells: pa.table({"a": pa.array(np.array(cells, dtype="f2"))}), [0.1, math.nan, math.inf]),
    "arrow double": (of_arrow(pa.float64()), [*FLOATS, None]),
    "arrow bool": (of_arrow(pa.bool_()), [True, False, None]),
    **{f"arrow {t}": (of_arrow(t), [*DECIMALS, None]) for t in (pa.decimal128(38, 3), pa.decimal256(76, 30))},
    **{f"arrow {t}": (of_arrow(t), [*UTF8, None]) for t in (pa.string(), pa.large_string(), pa.string_view())},
    "arrow bytes": (of_bytes(pa.string(), pa.binary()), BYTES),
    "arrow large bytes": (of_bytes(pa.large_string(), pa.large_binary()), BYTES),
    "arrow view bytes": (of_bytes(pa.string_view(), pa.binary_view()), BYTES),
    "arrow levels": (lambda cells: pa.table({"a": pa.array(cells).dictionary_encode()}), [*UTF8, None]),
    "arrow levels of numbers": (lambda cells: pa.table({"a": pa.array(cells, pa.int64()).dictionary_encode()}), [*LARGE, None]),
    "arrow null": (of_arrow(pa.null()), [None]),
}  # fmt: skip
DOMAIN = Domain(features={"a": (-10, 10)}, target=(-1e6, 1e6))
LEVELS = Domain(features={"a": ["1", 2.5, False, "yes", "é"]}, target=(0, 1))


def read(maker: Maker, cells: list[Any]) -> list[tuple[bytes, bytes, object]]:
    """Each record as a number, as a level and as a name."""
    table = open_table(maker(cells))
    numbers = DOMAIN.encoding().encode(table, np.zeros(len(cells))).X
    levels = LEVELS.encoding().encode(table, np.zeros(len(cells))).X
    return [(x.tobytes(), z.tobytes(), label_of(c)) for x, z, c in zip(numbers, levels, table.cells(0), strict=True)]


@pytest.mark.few(5)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("most", [40, pytest.param(2_000, marks=pytest.mark.slow)])
def test_a_cell_is_what_it_is_alone(case: str, most: int) -> None:
    """Beside other cells of its type, before it and behind it (in full, beside every one), and all together in ten orders."""
    maker, cells = CASES[case]
    alone = [read(maker, [cell])[0] for cell in cells]
    rng = random.Random(case)
    pairs = [(i, j) for i in range(len(cells)) for j in range(len(cells))]
    for order in [
        *rng.sample(pairs, min(len(pairs), most)),
        *(rng.sample(range(len(cells)), len(cells)) for _ in range(10)),
    ]:
        assert read(maker, [cells[i] for i in order]) == [alone[i] for i in order]


@pytest.mark.few(12)
@pytest.mark.parametrize("case", CASES)
def test_a_number_is_that_of_its_cell(case: str) -> None:
    """What a column gives as numbers is what its cells are as numbers, to the last bit."""
    maker, cells = CASES[case]
    table = open_table(maker(cells))
    wanted = np.array([number_of(cell) for cell in table.cells(0)])
    found = table.numbers([0])[:, 0]
    assert np.array_equal(found, wanted, equal_nan=True)
    assert (np.signbit(found) == np.signbit(wanted))[~np.isnan(wanted)].all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), st.lists(st.floats(), max_size=5), st.integers(0, 30))
def test_arrow_and_numpy_round_whole_numbers_as_python_does(whole: list[int], real: list[float], scale: int) -> None:
    exact = [float(number) for number in whole]
    assert open_table(pa.table({"a": pa.array(whole, pa.int64())})).numbers([0])[:, 0].tolist() == exact
    assert open_table(pl.DataFrame({"a": pl.Series(whole, dtype=pl.Int64)})).numbers([0])[:, 0].tolist() == exact
    assert open_table(np.array(whole, dtype=np.int64)[:, None]).numbers([0])[:, 0].tolist() == exact
    decimals = [Decimal(number).scaleb(-scale) for number in whole]
    table = pa.table(
        {
            "a": pa.array(decimals, pa.decimal128(38, scale))
            if scale < 20
            else pa.array(decimals, pa.decimal256(70, scale))
        }
    )
    assert open_table(table).numbers([0])[:, 0].tolist() == [float(number) for number in decimals]
    mixed: list[Any] = [*whole, *real, None, True]
    assert np.array_equal(numbers_of(mixed), [number_of(cell) for cell in mixed], equal_nan=True)


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(-2, 2, width=16)
    | st.sampled_from(["1", "1.0", "", "True"])
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PLAIN | st.sampled_from(CELLS), max_size=8))
def test_what_is_remembered_of_a_cell_is_what_it_is(cells: list[Any]) -> None:
    index = LevelIndex([True, 2, "yes", 0.5])
    assert memo(cells, label_of) == [label_of(cell) for cell in cells]
    assert memo(cells, index.place) == [index.place(cell) for cell in cells]


def test_a_place_outside_of_a_dictionary_is_a_missing_cell() -> None:
    """Arrow's cast trusts it, and read another memory's text."""
    places = pa.array([0, 5, -1, None, 1, -128, 127], pa.int8())
    found = pa.DictionaryArray.from_arrays(places, pa.array(["a", "b"]), safe=False)
    assert open_table(pa.table({"a": found})).cells(0) == ["a", None, None, None, "b", None, None]


@pytest.mark.parametrize("offsets", [[0, 3, 1, 2**30, 3], [0, 1, 2, 3, 900], [-5, 0, 1, 2, 3], [3, 2, 1, 0, 0]])
def test_a_broken_column_of_arrow_is_refused_when_it_is_opened(offsets: list[int]) -> None:
    """Its offsets were trusted: reading failed after the charge, or read another memory."""
    buffers = [None, pa.py_buffer(np.array(offsets, dtype=np.int32)), pa.py_buffer(b"abc")]
    try:
        text = pa.Array.from_buffers(pa.string(), 4, buffers)
    except pa.ArrowInvalid:
        return  # Arrow saw it itself
    levels = pa.DictionaryArray.from_arrays(pa.array([0, 1]), text, safe=False)
    for column in (text, levels, pa.chunked_array([text, text])):
        table = pa.table({"a": column})
        for made in (table, table.to_batches()[0]):
            with pytest.raises(SchemaError, match="broken"):
                open_table(made)
    with pytest.raises(SchemaError, match="broken"):
        open_table(pd.DataFrame({"a": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([text])))}))


def test_what_has_to_be_read_to_be_known_is_no_table(tmp_path: Any) -> None:
    """A value decided whether a reader or a dataset of PyArrow's could be read, in words that held it."""
    import pyarrow.csv
    from pyarrow import dataset

    (tmp_path / "t.csv").write_text("a\n" + "1\n" * 200_000 + "SECRET\n")
    small = pyarrow.csv.ReadOptions(block_size=1000)
    for made in (
        dataset.dataset(tmp_path / "t.csv", format="csv"),
        pyarrow.csv.open_csv(tmp_path / "t.csv", read_options=small),
        pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), []),
    ):
        with pytest.raises(SchemaError, match="cells are at hand"):
            open_table(made)


def test_a_matrix_of_numpy_has_columns() -> None:
    with pytest.warns(PendingDeprecationWarning):
        made = np.matrix([["1", "2"], ["3", "x"]])
    assert open_table(made).cells(1) == ["2", "x"]


class Telling(np.ndarray):
    """An array that says what it is not: of fewer rows than it has memory for, or of more."""

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (5, 2)

    def __len__(self) -> int:
        return 5


@pytest.mark.parametrize("rows", [3, 400])
def test_an_array_has_the_rows_that_it_holds_whatever_its_class_says(rows: int) -> None:
    """Compiled code would read and write as many as it was told."""
    held = np.random.default_rng(0).uniform(size=(rows, 2))
    domain = Domain({"a": (0, 1), "b": (0, 1)})
    for made in (held.view(Telling), np.ma.asarray(held).view(type("Masked", (np.ma.MaskedArray, Telling), {}))):
        assert open_table(made).n_rows == rows
        np.testing.assert_array_equal(domain.encoding().features(made), domain.encoding().features(held))


def _arrow(ids: Any) -> Any:
    return pa.array(np.asarray(ids))


def _listed(ids: Any) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array([0, 1]), _arrow(ids))


UNITS: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda ids: pd.DataFrame({"who": ids}),
    "nullable": lambda ids: pd.DataFrame({"who": pd.array(ids, dtype=f"Float{8 * max(ids.itemsize, 4)}")}),
    "pandas of Arrow": lambda ids: pd.DataFrame({"who": pd.arrays.ArrowExtensionArray(_arrow(ids))}),
    "sparse": lambda ids: pd.DataFrame({"who": pd.arrays.SparseArray(ids, fill_value=0)}),
    "objects": lambda ids: pd.DataFrame({"who": objects(list(ids))}),
    "categories": lambda ids: pd.DataFrame({"who": pd.Categorical(ids.astype("f4"))}),
    "categories, nullable": lambda ids: pd.DataFrame(
        {"who": pd.Categorical(pd.array(ids.astype("f4"), dtype="Float32"))}
    ),
    "categories of Arrow": lambda ids: pd.DataFrame(
        {"who": pd.Categorical(pd.arrays.ArrowExtensionArray(_arrow(ids.astype("f4"))))}
    ),
    "a dictionary in pandas": lambda ids: pd.DataFrame({"who": pd.arrays.ArrowExtensionArray(_listed(ids))}),
    "a dictionary": lambda ids: pa.table({"who": _listed(ids)}),
    "Arrow": lambda ids: pa.table({"who": _arrow(ids)}),
    "Polars": lambda ids: pl.DataFrame({"who": ids.astype(np.float32)}),
    "apart": lambda ids: ids,
}


@pytest.mark.parametrize("kind", UNITS)
@pytest.mark.parametrize("short", [np.float32, np.float16])
def test_two_persons_whose_numbers_a_type_rounds_are_not_one(kind: str, short: Any) -> None:
    """Else which of a person's records count would depend on another's: in floats of 32 bits 2^24 and 2^24 + 1 are one number."""
    first = 2 ** (np.finfo(short).nmant + 1)
    ids = np.array([first, first + 1]).astype(short)
    domain, rest = Domain(features={"x": (0, 1)}, unit="who"), pd.DataFrame({"x": [0.1, 0.9]})
    made = UNITS[kind](ids)
    unit = made if isinstance(made, np.ndarray) else made["who"]
    try:
        encoding = domain.encoding_for(rest, unit=unit)
    except SchemaError as error:
        assert "unit" in str(error)  # noqa: PT017
    else:
        weight = encoding.encode(rest, unit=unit).weight
        assert weight is not None
        assert weight[0] == weight[1]


NAMES = [
    b"M\xfcller",
    b"M\xf6ller",
    b"\xff",
    b"\xfe",
    b"\xed\xa0\x80",
    b"\xed\xa0\x81",
    "\ufffd".encode(),
    b"M\xc3",
    "Müller".encode(),
    b"A",
]
"""Of persons, in Latin-1, torn, and in UTF-8."""


def _file(suffix: str, line: bytes) -> Callable[[Path], Path]:
    def made(folder: Path) -> Path:
        path = folder / f"records{suffix}"
        path.write_bytes(b"who,x\n" * (suffix == ".csv") + b"".join(line % name + b"\n" for name in NAMES))
        return path

    return made


def _text(kind: Any) -> Any:
    return pa.array(NAMES, pa.large_binary() if kind == pa.large_string() else pa.binary()).view(kind)


def _column(made: Any) -> pa.Table:
    return pa.table({"who": made, "x": [0.5] * len(NAMES)})


def _parquet(folder: Path) -> Path:
    pq.write_table(_column(_text(pa.string())), folder / "records.parquet")
    return folder / "records.parquet"


CSV, JSON = _file(".csv", b"%s,0.5"), _file(".jsonl", b'{"who": "%s", "x": 0.5}')
SPELLED: dict[str, Callable[[Path], Any]] = {
    "CSV": CSV,
    "CSV, quoted": _file(".csv", b'"%s",0.5'),
    "CSV in parts": lambda folder: hb.scan(CSV(folder)),
    "CSV, streamed": lambda folder: next(CsvSource(CSV(folder)).batches()).table,
    "JSON Lines": lambda folder: hb.scan(JSON(folder), columns=["who", "x"]),
    "JSON Lines, streamed": lambda folder: next(JsonLinesSource(JSON(folder), ["who", "x"]).batches()).table,
    "Parquet": _parquet,
    "Parquet in parts": lambda folder: hb.scan(_parquet(folder)),
    "Arrow": lambda _: _column(_text(pa.string())),
    "Arrow, large": lambda _: _column(_text(pa.large_string())),
    "Arrow, a dictionary": lambda _: _column(
        pa.DictionaryArray.from_arrays(pa.array(range(len(NAMES))), _text(pa.string()))
    ),
    "pandas of Arrow": lambda _: pd.DataFrame({"who": pd.arrays.ArrowExtensionArray(_text(pa.string())), "x": 0.5}),
    "Redis": lambda _: RecordTable(
        [[redis_stream._cell(name) for name in NAMES], [0.5] * len(NAMES)], ("who", "x"), 10
    ),
    "bytes": lambda _: pd.DataFrame({"who": objects(NAMES), "x": 0.5}),
}


@pytest.mark.parametrize("kind", SPELLED)
def test_two_persons_whose_names_are_no_text_are_not_one(kind: str, tmp_path: Path) -> None:
    """In a file of Latin-1 two names became one text; with or without the one person, others of the other's records counted."""
    made = SPELLED[kind](tmp_path)
    encoding = Domain(features={"x": (0, 1)}, unit="who").encoding_for(made)
    owners = [
        owner
        for part in (made.parts() if isinstance(made, ScannedTable) else [made])
        for owner in encoding.owned(part)[1] or ()
    ]
    assert len(owners) == len(NAMES)
    assert owners[-2:] == ["Müller", "A"]
    known = [owner for owner in owners if owner is not None]
    assert len(set(known)) == len(known)
