"""Sparse rows in lists: the bits of the same table in memory, and rows that are functions of their own lists, whatever these hold."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyarrow import parquet

import hullabaloo as hb
from hullabaloo.data.parts import ChangedTable
from hullabaloo.data.readers.arrow import ArrowTable
from hullabaloo.data.sparse_lists import SparseLists
from hullabaloo.errors import InvalidParameter, SchemaError
from hullabaloo.noise import TestKey

N, P, KEY, ONE = 400, 30, TestKey(bytes(32)), hb.Budget(1.0, 1e-6)
DOMAIN = hb.Domain(row_norm=1.5, target={"y": (-1, 1)}, weight=("w", 2.0), records=N)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return lists_table()


def lists_table() -> pa.Table:
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 6, N)
    starts = np.append(0, np.cumsum(lengths)).astype(np.int32)
    size = int(starts[-1])
    parts = rng.integers(0, P, size, dtype=np.int32), rng.normal(size=size).astype(np.float32)
    columns = {
        name: pa.ListArray.from_arrays(starts, part) for name, part in zip(("indices", "values"), parts, strict=True)
    }
    return pa.table({"w": rng.uniform(0, 2, N), **columns, "y": rng.uniform(-1, 1, N)})


def matrix(table: pa.Table) -> sp.csr_array:
    """The same cells as SciPy holds them, those of one place not summed."""
    indices, values = (table[name].combine_chunks() for name in ("indices", "values"))
    parts = values.flatten().to_numpy().astype(np.float64), indices.flatten().to_numpy(), indices.offsets.to_numpy()
    return sp.csr_array(parts, shape=(table.num_rows, P))


FITS: dict[str, Callable[[], Any]] = {
    "descent": lambda: hb.LinearRegression(
        domain=DOMAIN, solver=hb.MirrorDescentSolver(max_passes=5), constraint=hb.L2Ball(1.0)
    ),
    "moments": lambda: hb.Ridge(domain=DOMAIN, solver="moments", fit_intercept=False),
}


@pytest.mark.parametrize("name", FITS)
def test_bits_are_those_of_the_table_in_memory(
    name: str, table: pa.Table, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the parts are, in whichever order they come, kept or read anew."""
    parquet.write_table(table, tmp_path / "one.parquet", row_group_size=150)
    shuffled = table.take(np.random.default_rng(1).permutation(N))
    given = {
        "file": hb.scan(tmp_path / "one.parquet", sparse=P, batch_rows=67),
        "read anew": hb.scan(str(tmp_path), sparse=P, keep_bytes=0),
        "sealed": hb.scan(tmp_path / "one.parquet", sparse=P, keep_bytes=0, cache=tmp_path_factory.mktemp("cache")),
        "tables, in another order": hb.scan(lambda: (shuffled.slice(at, 90) for at in range(0, N, 90)), sparse=P),
    }

    for source in given.values():
        check_as_in_memory(name, table, source)


def check_as_in_memory(name: str, table: pa.Table, source: Any) -> Any:
    """Its fit has the bits of the matrix in memory, and so have its predictions, in whichever order; the model."""
    whole, found = (FITS[name]().set_params(budget=ONE, test_key=KEY) for _ in range(2))
    whole.fit(matrix(table), table["y"].to_numpy(), sample_weight=table["w"].to_numpy())
    found.fit(source)
    assert found.coef_.tobytes() == whole.coef_.tobytes()
    assert found.intercept_ == whole.intercept_
    np.testing.assert_array_equal(np.sort(found.predict(source)), np.sort(whole.predict(matrix(table))))
    return found


ITEMS = [0, 3, P - 1, P, -1, 2**31, 2**62, None]
NUMBERS = [1.0, -2.5, 0.0, -0.0, 1e308, 5e-324, math.inf, -math.inf, math.nan, None]


def lists(rng: np.random.Generator, count: int, items: list[Any]) -> list[Any]:
    made = [[items[at] for at in rng.integers(len(items), size=rng.integers(0, 7))] for _ in range(count)]
    return [None if rng.random() < 0.1 else one for one in made]


KINDS = {
    "as declared": (pa.list_(pa.int64()), pa.list_(pa.float64())),
    "large lists": (pa.large_list(pa.int64()), pa.large_list(pa.float64())),
    "places as doubles": (pa.list_(pa.float64()), pa.list_(pa.float64())),
}


def rows_of(batch: Any) -> sp.csr_array:
    (part,) = SparseLists(Given(batch), [batch.schema], P).parts_of(None, 10**6)
    return part.rows()  # type: ignore[attr-defined,no-any-return]


class Given:
    """One part."""

    def __init__(self, batch: Any) -> None:
        self._part = ArrowTable(batch)
        self.schema = self._part.schema

    def parts_of(self, names: Any, rows: int) -> Any:
        yield self._part


@pytest.mark.parametrize("kind", KINDS)
@np.errstate(all="ignore")
def test_a_row_is_a_function_of_its_own_lists(kind: str) -> None:
    """Entries outside, without a place or a value, twice in a place, and of lists of different lengths; alone and among others."""
    rng, types = np.random.default_rng(2), KINDS[kind]
    told: Callable[[Any], Any] = float if kind == "places as doubles" else lambda item: item
    places, values = (
        [one and [item if item is None else told(item) for item in one] for one in lists(rng, 300, items)]
        for items in (ITEMS, NUMBERS)
    )
    batch = pa.record_batch([pa.array(places, types[0]), pa.array(values, types[1])], names=["indices", "values"])
    found = rows_of(batch)
    expected = np.zeros((300, P))
    for row, (here, what) in enumerate(zip(places, values, strict=True)):
        for j, v in zip(here or [], what or [], strict=False):
            if j is not None and 0 <= int(j) < P:
                expected[row, int(j)] += math.nan if v is None else float(v)
    np.testing.assert_array_equal(found.toarray(), expected)
    assert found.has_canonical_format
    for row in range(0, 300, 37):
        alone = rows_of(batch.slice(row, 1))
        assert alone.data.tobytes() == found[[row]].data.tobytes()
        assert alone.indices.tobytes() == found[[row]].indices.tobytes()


@pytest.mark.parametrize("where", ["values", "indices"])
def test_a_table_that_changes_is_noticed(where: str, table: pa.Table) -> None:
    """In one cell of one record."""
    asked = []

    def batches() -> Any:
        asked.append(1)
        found = table[where].combine_chunks()
        inner = found.values.to_numpy().copy()
        inner[7] = inner[7] if len(asked) < 4 else (inner[7] + 1) % P
        return iter(
            [
                table.set_column(
                    table.schema.get_field_index(where), where, pa.ListArray.from_arrays(found.offsets, inner)
                )
            ]
        )

    with pytest.raises(ChangedTable):
        FITS["descent"]().set_params(budget=ONE).fit(hb.scan(batches, sparse=P, keep_bytes=0))


def test_what_holds_no_sparse_rows_is_refused(table: pa.Table, tmp_path: Path) -> None:
    (tmp_path / "lines.csv").write_text("indices,values,y\n1,2,3\n", encoding="utf-8")
    parquet.write_table(table, tmp_path / "one.parquet")
    whole = tmp_path / "one.parquet"
    asked: list[tuple[Any, dict[str, Any]]] = [
        (whole, {"sparse": 0}),
        (whole, {"sparse": True}),
        (whole, {"sparse": 2.0}),
    ]
    asked += [(tmp_path / "lines.csv", {"sparse": P})]
    for source, options in asked:
        with pytest.raises(InvalidParameter, match="sparse"):
            hb.scan(source, **options)
    words = pa.array([["a"]] * N)
    for other in (
        table.drop_columns("values"),
        table.set_column(1, "indices", table["y"]),
        table.set_column(2, "values", words),
    ):
        with pytest.raises(SchemaError, match="indices"):
            hb.scan(lambda other=other: iter(other.to_batches()), sparse=P)
    (tmp_path / "folder").mkdir()
    parquet.write_table(table, tmp_path / "folder" / "one.parquet")
    parquet.write_table(table.drop_columns("values"), tmp_path / "folder" / "two.parquet")
    with pytest.raises(SchemaError, match="indices"):
        hb.scan(tmp_path / "folder", sparse=P)
    for domain in (hb.Domain(row_norm=1.0, target={"y": (-1, 1)}), hb.Domain({"x1": (0, 1)}, target={"y": (-1, 1)})):
        with pytest.raises(SchemaError, match="beside its lists"):
            hb.LinearRegression(domain=domain, budget=ONE).fit(hb.scan(whole, sparse=P))
    units = hb.Domain(row_norm=1.0, target={"y": (-1, 1)}, unit="w")
    with pytest.raises(SchemaError, match="cache='folder'"):
        hb.LinearRegression(domain=units, budget=ONE).fit(hb.scan(whole, sparse=P))


def test_a_broken_container_is_refused() -> None:
    broken = pa.ListArray.from_buffers(
        pa.list_(pa.int64()), 2, [None, pa.py_buffer(np.array([0, 9, 2], dtype=np.int32))], children=[pa.array([1, 2])]
    )
    batch = pa.record_batch([broken, pa.array([[1.0], [2.0]])], names=["indices", "values"])
    with pytest.raises(SchemaError, match="broken"):
        rows_of(batch)
