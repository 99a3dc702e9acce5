"""Whatever gives Arrow batches anew, and files wherever they lie, give the bits of the table in memory."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, dataset, parquet

import hullabaloo as hb
from hullabaloo.data.batches import TornSource
from hullabaloo.errors import SchemaError
from hullabaloo.noise import TestKey

N = 900
DOMAIN = hb.Domain({"a": (-1, 1), "g": ["u", "v", "w"], "year": ["2020", "2021"]}, target={"y": (-2, 2)}, records=N)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(0)
    holes = pa.array(np.where(rng.random(N) < 0.05, np.nan, rng.uniform(-1, 1, N)), from_pandas=True)
    year = np.where(rng.random(N) < 0.5, "2020", "2021")
    return pa.table({"a": holes, "g": rng.choice(["u", "v", "w"], N), "y": rng.uniform(-2, 2, N), "year": year})


def theta(source: Any) -> bytes:
    model = hb.LinearRegression(
        domain=DOMAIN, solver="moments", budget=hb.Budget(1.0, 1e-6), test_key=TestKey(bytes(32))
    )
    return bytes(model.fit(source).release_.theta.tobytes())


class Anew:
    """Batches for whoever iterates over it."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self.table.to_batches(max_chunksize=400))


class Once(Anew):
    """The same iterator for whoever iterates over it: what one reading took, the next lacks."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__(table)
        self.batches = super().__iter__()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches


class Failing(Anew):
    """Fails over a cell, before it gives a batch."""

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        {"1": 1}[self.table["a"][0].as_py()] + int(self.table["a"][1].as_py())
        yield from super().__iter__()


def lines(table: pa.Table) -> str:
    return "".join(json.dumps(row) + "\n" for row in table.to_pylist())


@pytest.fixture(scope="module")
def sources(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Callable[[], Any]]:
    place = tmp_path_factory.mktemp("sources")
    whole = place / "t.parquet"
    parquet.write_table(table, whole, row_group_size=300)
    dataset.write_dataset(
        table,
        place / "hive",
        format="parquet",
        partitioning=dataset.partitioning(pa.schema([("year", pa.string())]), flavor="hive"),
    )
    (place / "t.jsonl").write_text(lines(table))
    store = fsspec.filesystem("memory")
    for name in ("t.parquet", "t.csv", "t.jsonl"):
        with store.open(f"/{place.name}/{name}", "wb") as file:
            if name.endswith("parquet"):
                file.write(whole.read_bytes())
            elif name.endswith("csv"):
                csv.write_csv(table, file)
            else:
                file.write(lines(table).encode())
    address = f"memory://{place.name}"
    store.put(str(place / "hive"), f"/{place.name}/hive", recursive=True)
    base = duckdb.connect()
    lazy = pl.scan_parquet(whole)
    names = ["a", "g", "y", "year"]
    return {
        "duckdb file": lambda: base.sql(f"select * from '{whole}'"),
        "duckdb query, other order": lambda: base.sql(f"select y, g, a, year from '{whole}' order by y"),
        "duckdb by function": lambda: lambda: base.sql(f"select * from '{whole}'"),
        "polars lazy": lambda: lazy,
        "polars frame": lambda: pl.read_parquet(whole),
        "polars frames by function": lambda: lambda: iter(pl.read_parquet(whole).iter_slices(200)),
        "pandas": table.to_pandas,
        "arrow table": lambda: table,
        "arrow dataset": lambda: dataset.dataset(whole),
        "arrow batches, a list": lambda: table.to_batches(max_chunksize=250),
        "arrow batches, anything that has them anew": lambda: Anew(table),
        "hive": lambda: place / "hive",
        "json": lambda: hb.scan(place / "t.jsonl", columns=names, batch_rows=77),
        "remote parquet": lambda: f"{address}/t.parquet",
        "remote csv": lambda: f"{address}/t.csv",
        "remote hive": lambda: f"{address}/hive/",
        "remote json": lambda: hb.scan(f"{address}/t.jsonl", columns=names),
    }


@pytest.mark.parametrize("kind", ["duckdb", "polars", "pandas", "arrow", "hive", "json", "remote"])
def test_every_source_gives_the_bits_of_memory(kind: str, table: pa.Table, sources: dict[str, Any]) -> None:
    found = {name: made() for name, made in sources.items() if name.startswith(kind)}
    whole = theta(table)
    for name, source in found.items():
        assert theta(source if isinstance(source, hb.data.Table) else hb.scan(source, keep_bytes=0)) == whole, name


@pytest.mark.parametrize("cell", [2, 2.5, True, None, b"2", (1, 2), date(2020, 1, 1), Decimal("1.50"), 2**70, "\ud800"])
def test_a_cell_of_pandas_decides_about_its_own_row_alone(cell: Any) -> None:
    """Arrow takes the types of objects from cells, and an index for a column where a row was left out: neither is asked of it."""
    frame = pd.DataFrame({"a": pd.Series([0.5, "1", cell, "u", "v"], dtype=object), "y": np.linspace(-1, 1, 5)})[1:]
    domain = hb.Domain({"a": ["u", "v", "1", "2"]}, target={"y": (-2, 2)})
    for encoding in (domain.encoding(), hb.Domain(row_norm=("l2", 1.0)).encoding(n_features=2)):
        parts = [encoding.encode(part).X for part in hb.scan(frame, batch_rows=2).parts()]
        assert np.array_equal(np.vstack(parts), encoding.encode(frame).X)
    with pytest.raises(SchemaError, match="a cell would decide"):
        hb.scan(lambda: iter([frame]))


def test_a_partition_that_is_missing_is_a_missing_cell(tmp_path: Path, table: pa.Table) -> None:
    for folder in ("year=2020", "year=__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / folder).mkdir()
        parquet.write_table(table.drop_columns(["year"]), tmp_path / folder / "1.parquet")
    cells = [cell for part in hb.scan(tmp_path).parts(["year"]) for cell in part.cells(part.schema.named("year")[0])]
    assert cells == ["2020"] * N + [None] * N


def test_which_folders_there_are_is_not_told(tmp_path: Path, table: pa.Table) -> None:
    """Records decide it, so a refusal has the same words of one that has a level more."""
    said = set()
    for number, folders in enumerate((["year=2020", "else"], ["year=2019", "year=SECRET", "else"])):
        for folder in folders:
            (tmp_path / str(number) / folder).mkdir(parents=True)
            parquet.write_table(table.drop_columns(["year"]), tmp_path / str(number) / folder / "1.parquet")
        with pytest.raises(SchemaError) as caught:
            theta(hb.scan(tmp_path / str(number)))
        said.add(str(caught.value))
    assert len(said) == 1
    assert "no such column in some files, string in some files" in said.pop()


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (lambda: pa.table({"a": [1.0]}).to_reader(), "can be read once"),
        (lambda: "memory://nowhere/t.parquet", "nothing at the address"),
        (lambda: "nosuchscheme://user:SECRET@host/t.parquet", "nothing at the address"),
        (lambda: "nowhere.jsonl", "declares no columns"),
        (lambda: iter(pa.table({"a": [1.0]}).to_batches()), "again and again"),
        (lambda: [np.zeros(2)], "again and again"),
        (lambda: [], "again and again"),
        (lambda: Once(pa.table({"a": [1.0]})), "again and again"),
    ],
)
def test_what_cannot_be_read_again_and_again_is_refused(source: Callable[[], Any], says: str) -> None:
    with pytest.raises(SchemaError, match=says) as caught:
        hb.scan(source())
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("how", [lambda one: one, lambda one: one.__iter__], ids=["iterable", "function"])
def test_by_which_error_the_first_batch_fails_is_not_said(how: Callable[[Any], Any]) -> None:
    """A list's or function's first batch is made of records, so what fails over it may be told by none: of iterables the type was."""
    said = set()
    for cells in (["SECRET", "1"], ["1", "SECRET"]):
        with pytest.raises(TornSource, match="could not be read") as caught:
            hb.scan(how(Failing(pa.table({"a": cells}))))
        assert caught.value.__context__ is None
        said.add(str(caught.value))
    (told,) = said
    assert not [word for word in ("SECRET", "KeyError", "ValueError", "charged or read") if word in told]


GROWN = """
import sys
import duckdb, polars as pl
import hullabaloo as hb
n, how, place = int(sys.argv[1]), sys.argv[2], sys.argv[3]
query = duckdb.sql(f"select sin(range) as a, cos(range) as b, sin(2 * range) as c, cos(3 * range) as y from range({n})")
if how == "polars":
    query.write_parquet(place, row_group_size=50_000)
    query = pl.scan_parquet(place).with_columns(b=pl.col("b") ** 2)
domain = hb.Domain({"a": (-1, 1), "b": (-1, 1), "c": (-1, 1)}, target={"y": (-1, 1)}, records=n)
terms = {"solver": "moments", "budget": hb.Budget(1.0, 1e-9), "neighbours": "add-or-remove"}
hb.LinearRegression(domain=domain, **terms).fit(hb.scan(query, keep_bytes=0))
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="what a process held at most is asked of Linux")
@pytest.mark.parametrize("how", ["duckdb", "polars"])
def test_memory_does_not_grow_with_what_a_query_gives(how: str, tmp_path: Path) -> None:
    """Ten million further records of four columns are 320 MB."""
    held = []
    for n in (2_000_000, 12_000_000):
        words = [sys.executable, "-c", GROWN, str(n), how, str(tmp_path / "t.parquet")]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        held.append(int(done.stdout.split()[-1]) / 1e3)
    assert held[1] - held[0] < 100, held


def test_what_a_query_says_when_it_fails_is_never_heard(tmp_path: Path) -> None:
    base = duckdb.connect()
    base.sql("create table t as select range::varchar as a, 0.0 as y from range(3000)")
    base.sql("insert into t values ('SECRET', 1.0)")
    source = hb.scan(base.sql("select a::double as a, y from t"))
    domain = hb.Domain({"a": (0, 1)}, target={"y": (0, 1)})
    with pytest.raises(OSError, match="could not be read") as caught:
        hb.LinearRegression(domain=domain, budget=hb.Budget(1.0, 1e-6)).fit(source)
    error: BaseException | None = caught.value
    while error is not None:
        assert "SECRET" not in str(error)
        error = error.__cause__ or error.__context__


def test_stopping_a_fit_closes_what_gives_its_batches(table: pa.Table) -> None:
    ended = []

    def read() -> Iterator[pa.RecordBatch]:
        try:
            yield from table.to_batches(max_chunksize=100)
            raise KeyboardInterrupt
        finally:
            ended.append(True)

    source = hb.scan(read)
    before = len(ended)
    with pytest.raises(KeyboardInterrupt):
        theta(source)
    assert len(ended) > before


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_what_a_store_says_while_it_is_read_is_not_heard(
    sources: dict[str, Callable[[], Any]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store's errors are of any kind, and hold addresses with passwords, or what was read."""
    scanned = sources["remote json"]() if name == "t.jsonl" else hb.scan(sources["remote csv"]())

    def failing(self: Any, *size: Any) -> bytes:
        raise RuntimeError("SECRET")

    for method in ("read", "readline", "__next__"):
        monkeypatch.setattr(f"fsspec.implementations.memory.MemoryFile.{method}", failing, raising=False)
    with pytest.raises(TornSource) as caught:
        hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=DOMAIN, test_key=TestKey(b"\1" * 32)).fit(scanned)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None
