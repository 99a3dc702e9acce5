"""Readers of what is in memory: arrays, lists, sparse matrices, dataframes, Arrow, and tables made of these."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse
from sklearn.preprocessing import Binarizer, FunctionTransformer, Normalizer, PolynomialFeatures

import hullabaloo as hb
from hullabaloo.data import open_table
from hullabaloo.data.records import ChosenColumns, table_of
from hullabaloo.linear_model.pipeline import _ELEMENTWISE, RowWise
from tests.laws import hostile
from tests.laws.encoded import CLASSES, EQUALS, MATRICES, WIDTH, Given
from tests.laws.hostile import COLUMNS, FLOATS, INTEGERS, NUMBERS, OBJECTS, SAME_INSTANT, TEXTS
from tests.laws.reader import Reader, Records

Generator = np.random.Generator
SHORT = [text for text in NUMBERS + TEXTS if len(text) < 50]
LONG = NUMBERS + TEXTS


def pool(cells: Sequence[Any], plain: tuple[Any, ...], width: int = 6) -> Callable[[int, int], list[Any]]:
    return lambda count, seed: [plain, *hostile.spread(cells, count, seed, width)][:count]


def objects_array(rows: Sequence[Sequence[Any]]) -> Any:
    """Cells as they are: NumPy asks none of them what it is."""
    made = np.empty((len(rows), len(rows[0])), dtype=object)
    for place, column in enumerate(zip(*rows, strict=True)):
        made[:, place] = np.fromiter(column, dtype=object, count=len(rows))
    return made


def apart(array: Any) -> Given:
    """Features without names, and the last two columns given apart."""
    return Given(array[:, :4], array[:, 4], array[:, 5])


def numpy(name: str, cells: Sequence[Any], dtype: Any, plain: tuple[Any, ...]) -> Reader:
    def give(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
        with np.errstate(all="ignore"):
            array = objects_array(records)
            array = array if dtype is object else array.astype(dtype)
        yield apart(np.asfortranarray(array) if rng.random() < 0.5 else array)

    return Reader(f"NumPy, {name}", pool(cells, plain), give, "ArrayTable")


def masked(name: str, cells: Sequence[Any], dtype: Any) -> Reader:
    def give(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
        values = np.array([[cell for cell, _ in record] for record in records], dtype=dtype)
        mask = np.array([[hidden for _, hidden in record] for record in records])
        yield apart(np.ma.array(values, mask=mask))

    pairs = [(cell, hidden) for cell in cells for hidden in (False, True)]
    return Reader(f"NumPy, masked {name}", pool(pairs, ((1, False),) * 6), give, "ArrayTable")


STRUCTURE = [("a", "f8"), ("b", "f4"), ("c", "O"), ("e", "i2"), ("t", "U9"), ("w", "?")]


def structured(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
    table = np.empty(len(records), dtype=STRUCTURE)
    for i, (a, b, c, e, t, w) in enumerate(records):
        table["c"][i : i + 1] = np.fromiter([c], dtype=object, count=1)
        with np.errstate(all="ignore"):
            for name, cell in (("a", a), ("b", b), ("e", e), ("t", t), ("w", w)):
                table[name][i] = cell
    yield Given(table)


def structures(count: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    kinds: list[list[Any]] = [FLOATS, FLOATS, OBJECTS, [0, 1, -(2**15), 2**15 - 1], SHORT, [True, False]]
    drawn = [tuple(kind[rng.integers(len(kind))] for kind in kinds) for _ in range(count)]
    return [(1.5, 20.0, "x", 2, "3", True), *drawn][:count]


def lists(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
    yield Given([row for row, _, _ in records], [y for _, y, _ in records], [w for _, _, w in records])


def ragged(count: int, seed: int) -> list[Any]:
    """Rows of lists too short, too long, or none at all."""
    rng = np.random.default_rng(seed)
    odd: list[Any] = [
        [],
        [1],
        [1, 2, "x"],
        [1, 2, "x", 2, 5, 6],
        (1, 2, "x", 2),
        np.array([1.0, 2.0, 3.0, 4.0]),
        None,
        5,
        "text",
        b"1234",
        {0: 1},
        hostile.Sly(),
    ]
    rows: list[Any] = [([1.5, 20.0, "x", 2.0], 3.0, 1.0), *((row, 3.0, 1.0) for row in odd)]
    for record in hostile.objects(count, seed):
        row = list(record[:4])
        rows.append((row if rng.random() < 0.8 else odd[rng.integers(len(odd))], *record[4:]))
    return rows[:count]


def entries(count: int, seed: int) -> list[Any]:
    """Rows of a sparse matrix: indices out of range, twice and in any order."""
    rng = np.random.default_rng(seed)
    far = [*range(WIDTH)] * 3 + [WIDTH, WIDTH + 1, -1, -2, 2**31 - 1, -(2**31), 1000]
    rows: list[Any] = [
        ([(0, 1.5), (2, -1.0)], 3.0, 1.0),
        ([], 1.0, 1.0),
        ([(WIDTH, 4.0)], 1.0, 1.0),
        ([(-1, 4.0), (0, 1.0)], 1.0, 1.0),
        (
            [(1, one) for one in (0.1, 1e16, 0.2, -1e16, 0.3, 3e15, 0.4, -3e15) * 3],
            1.0,
            1.0,
        ),  # whose sum tells their order
    ]
    while len(rows) < count:
        places = rng.choice(len(far), rng.integers(0, 25))
        row = [(far[j], FLOATS[rng.integers(len(FLOATS))]) for j in places]
        rows.append((row, *(FLOATS[j] for j in rng.integers(len(FLOATS), size=2))))
    return rows[:count]


def matrix(kind: str, index: Any, dtype: Any) -> Reader:
    """Sparse matrices as SciPy's constructors take them: it checks no index of a CSR matrix."""

    def give(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
        rows = [
            [(i, *entry) for entry in record[0] if kind != "csc" or 0 <= entry[0] < WIDTH]
            for i, record in enumerate(records)
        ]
        flat = [entry for row in rows for entry in row]
        if kind == "coo":  # those of all records in turn
            flat = [entry for turn in itertools.zip_longest(*rows) for entry in turn if entry]
        if kind == "csc":
            flat.sort(key=lambda entry: entry[1])
        row, column = (np.array([entry[axis] for entry in flat], dtype=index) for axis in (0, 1))
        with np.errstate(all="ignore"):
            data = np.array([entry[2] for entry in flat], dtype=np.float64).astype(dtype)
        shape = (len(records), WIDTH)
        made: Any
        if kind == "coo":
            made = sparse.coo_array(shape, dtype=dtype)
            made.data, made.coords = data, (row, column)
        elif kind == "csc":
            ends = np.searchsorted(column, np.arange(WIDTH + 1)).astype(index)
            made = sparse.csc_array((data, row, ends), shape=shape)
        else:
            ends = np.cumsum([0, *map(len, rows)]).astype(index)
            made = (sparse.csr_matrix if kind == "csr_matrix" else sparse.csr_array)((data, column, ends), shape=shape)
        yield Given(made, np.array([record[1] for record in records]), np.array([record[2] for record in records]))

    return Reader(
        f"sparse {kind}, {np.dtype(dtype)} at {np.dtype(index)}", entries, give, "SparseTable", domain=MATRICES[1]
    )


def sparse_lists(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
    """Parts of any size, of lists with places of any kind; now and then one list is longer than the other."""
    places, values = ([[entry[at] for entry in record[0]] for record in records] for at in (0, 1))
    places = [[*line, 1] if line == [] else line for line in places]
    whole = pa.table(
        [pa.array(places, pa.list_(pa.int64())), pa.array(values, pa.large_list(pa.float64()))],
        names=["indices", "values"],
    )
    start, size = 0, int(rng.integers(1, 600))
    for part in hb.scan(lambda: iter(whole.to_batches(max_chunksize=size)), sparse=WIDTH).parts():
        some = records[start : start + part.n_rows]
        start += part.n_rows
        yield Given(part, *(np.array([record[at] for record in some]) for at in (1, 2)))


def columns(records: Records) -> Iterator[tuple[str, list[Any]]]:
    return zip(COLUMNS, map(list, zip(*records, strict=True)), strict=True)


def pandas(name: str, cells: Sequence[Any], dtype: Any) -> Reader:
    def give(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
        made = {}
        for column, values in columns(records):
            held = objects_array([[value] for value in values])[:, 0]
            kind = pd.CategoricalDtype(cells) if dtype == "category" else dtype
            made[column] = (
                pd.Series(held, dtype=kind)
                if dtype in {object, "category"}
                else pd.Series(pd.array(values, dtype=kind))
            )
        yield Given(pd.DataFrame(made))

    return Reader(f"pandas, {name}", pool(cells, tuple(cells[:1] * 6)), give, "FrameTable")


def pandas_series(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
    array = objects_array(records)
    yield Given(array[:, :4], pd.Series(array[:, 4], dtype=object), pd.Series(array[:, 5], dtype=object))


def polars(name: str, cells: Sequence[Any], dtype: Any, lazy: bool = False) -> Reader:
    def give(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
        frame = pl.DataFrame(
            [pl.Series(column, values, dtype, strict=dtype != pl.Object) for column, values in columns(records)]
        )
        yield Given(frame.lazy() if lazy else frame)

    return Reader(f"Polars{', lazy' * lazy}, {name}", pool(cells, tuple(cells[:1] * 6)), give, "FrameTable")


def arrow_array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """An array of a declared type; texts are not checked to be UTF-8, as in files of others."""
    if kind in {pa.string(), pa.large_string()}:
        raw = [
            None if value is None else value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
            for value in values
        ]
        plain = pa.array(raw, pa.binary() if kind == pa.string() else pa.large_binary())
        return (
            type(pa.array([], kind)).from_buffers(len(plain), *plain.buffers()[1:], plain.buffers()[0])
            if len(plain)
            else pa.array([], kind)
        )
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


def arrow(name: str, cells: Sequence[Any], kind: pa.DataType, how: str = "table") -> Reader:
    def give(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
        made: Any = pa.table({column: arrow_array(values, kind) for column, values in columns(records)})
        if how == "batch":
            made = made.combine_chunks().to_batches()[0]
        elif how == "chunks":
            cuts = [0, *sorted(rng.integers(0, len(records) + 1, 3).tolist()), len(records)]
            made = pa.concat_tables([made.slice(start, stop - start) for start, stop in itertools.pairwise(cuts)])
        yield Given(made)

    return Reader(f"Arrow {how}, {name}", pool([*cells, None], tuple(cells[:1] * 6)), give, "ArrowTable")


def recorded(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
    yield Given(table_of(list(records), COLUMNS, len(COLUMNS)))


def chosen(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
    table, floats = open_table(objects_array(records)), open_table(np.arange(3.0 * len(records)).reshape(-1, 3))
    yield Given(ChosenColumns([(name, table, place) for place, name in enumerate(COLUMNS)] + [("more", floats, 1)]))


def row_wise(step: Any) -> Reader:
    def give(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
        values = np.array(records)
        yield Given(RowWise(open_table(values[:, :4]), (step,)), values[:, 4], values[:, 5])

    name = getattr(step, "func", type(step)).__name__
    more = f" {step.norm}" if isinstance(step, Normalizer) else ""
    return Reader(
        f"pipeline, {name}{more}", pool(FLOATS, (1.5, 0.1, 0.7, 2.0, 3.0, 1.0)), give, "RowWise", domain=MATRICES[1]
    )


STEPS = [
    PolynomialFeatures(2),
    Binarizer(),
    *(Normalizer(norm) for norm in ("l1", "l2", "max")),
    *map(FunctionTransformer, _ELEMENTWISE),
]
DECIMALS = [
    None if text is None else pa.scalar(text).cast(pa.decimal128(38, 10)).as_py()
    for text in ("1.5", "0", "-2.25", "99999999999", "0.1")
]
BROKEN = [*LONG, b"\xff", b"x\xc3", b"\xed\xa0\x80"]

IN_MEMORY = (
    numpy("float64", FLOATS, np.float64, (1.5, 20.0, 1.0, 2.0, 3.0, 1.0)),
    numpy("float32", FLOATS, np.float32, (1.5, 20.0, 1.0, 2.0, 3.0, 1.0)),
    numpy("float16", FLOATS, np.float16, (1.5, 20.0, 1.0, 2.0, 3.0, 1.0)),
    numpy("long double", [*FLOATS, np.longdouble(2) ** 2000], np.longdouble, (1.5, 20.0, 1.0, 2.0, 3.0, 1.0)),
    numpy("int64", INTEGERS, np.int64, (1,) * 6),
    numpy("uint64", [0, 1, 2**64 - 1, 2**53 + 1], np.uint64, (1,) * 6),
    numpy("bool", [True, False], np.bool_, (True,) * 6),
    numpy("text", SHORT, np.str_, ("1",) * 6),
    numpy("bytes", [text.encode() for text in SHORT] + [b"\xff"], np.bytes_, (b"1",) * 6),
    numpy("StringDType", LONG, np.dtypes.StringDType(), ("1",) * 6),
    numpy("objects", OBJECTS, object, hostile.PLAIN),
    replace(numpy("equal numbers", [0, 1.0, True, 0.0, False, "1"], object, (1,) * 6), domain=EQUALS),
    replace(numpy("equal instants", SAME_INSTANT, object, ("1",) * 6), domain=EQUALS),
    masked("float64", FLOATS, np.float64),
    masked("int64", INTEGERS, np.int64),
    Reader("NumPy, structured", structures, structured, "ArrayTable"),
    Reader("lists", ragged, lists, "ListTable"),
    *(matrix(kind, np.int32, np.float64) for kind in ("csr", "csc", "coo", "csr_matrix")),
    matrix("csr", np.int64, np.float32),
    Reader("sparse lists in parts", entries, sparse_lists, "SparsePart", domain=MATRICES[1]),
    pandas("float64", FLOATS, "float64"),
    pandas("int64", INTEGERS, "int64"),
    pandas("Float64", [*FLOATS, None], "Float64"),
    pandas("Int64", [*INTEGERS, None], "Int64"),
    pandas("boolean", [True, False, None], "boolean"),
    pandas("string", [*LONG, None], "string"),
    pandas("double[pyarrow]", [*FLOATS, None], "double[pyarrow]"),
    pandas("int64[pyarrow]", [*INTEGERS, None], "int64[pyarrow]"),
    pandas("string[pyarrow]", [*LONG, None], "string[pyarrow]"),
    pandas("category", ["1", "x", " 1 ", "é", 1, 2.5, "0.1", "nan", b"x"], "category"),
    pandas("sparse", FLOATS, pd.SparseDtype("float64", np.nan)),
    pandas("objects", OBJECTS, object),
    Reader("pandas, series apart", hostile.objects, pandas_series, "ArrayTable"),
    polars("Float64", [*FLOATS, None], pl.Float64),
    polars("Float32", [1.0, 0.1, -0.0, np.inf, np.nan, None], pl.Float32),
    polars("Int64", [*INTEGERS, None], pl.Int64),
    polars("Boolean", [True, False, None], pl.Boolean),
    polars("String", [*LONG, None], pl.String),
    polars("Categorical", [*SHORT, None], pl.Categorical),
    polars("Enum", [*sorted(set(SHORT)), None], pl.Enum(sorted(set(SHORT)))),
    polars("Decimal", DECIMALS, pl.Decimal(38, 10)),
    polars("Null", [None], pl.Null),
    polars("Float64", [*FLOATS, None], pl.Float64, lazy=True),
    polars("String", [*LONG, None], pl.String, lazy=True),
    arrow("float64", FLOATS, pa.float64()),
    arrow("float64", FLOATS, pa.float64(), "batch"),
    arrow("float64", FLOATS, pa.float64(), "chunks"),
    arrow("float32", FLOATS, pa.float32()),
    arrow("float16", [np.float16(value) for value in (0.0, 1.0, np.nan, np.inf, 6e-8)], pa.float16()),
    arrow("int64", INTEGERS, pa.int64()),
    arrow("uint64", [1, 0, 2**64 - 1, 2**53 + 1], pa.uint64()),
    arrow("bool", [True, False], pa.bool_()),
    arrow("decimal128", DECIMALS, pa.decimal128(38, 10)),
    arrow("decimal256", DECIMALS, pa.decimal256(76, 30)),
    arrow("string", BROKEN, pa.string()),
    arrow("string", BROKEN, pa.string(), "chunks"),
    arrow("large_string", BROKEN, pa.large_string()),
    arrow("string_view", LONG, pa.string_view()),
    arrow("dictionary of strings", SHORT, pa.dictionary(pa.int32(), pa.string())),
    arrow("dictionary of strings", SHORT, pa.dictionary(pa.int32(), pa.string()), "chunks"),
    arrow("dictionary of float64", FLOATS, pa.dictionary(pa.int32(), pa.float64())),
    arrow("null", [None], pa.null()),
    Reader("records one by one", hostile.objects, recorded, "RecordTable"),
    Reader("records one by one, classes", hostile.objects, recorded, "RecordTable", domain=CLASSES),
    Reader("columns of several tables", hostile.objects, chosen, "ChosenColumns"),
    *map(row_wise, STEPS),
)
