"""Units whose records lie in several parts: the bits of memory, in any order and parts, and few of their records held."""

import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hullabaloo as hb
from hullabaloo.data import open_table, scan
from hullabaloo.data.engines import cluster, turns
from hullabaloo.data.engines import units as module
from hullabaloo.data.engines.base import Reading
from hullabaloo.data.engines.units import Shuffle
from hullabaloo.data.sparse_lists import SparsePart
from hullabaloo.errors import SchemaError
from tests.sampling import sampled

N = 1_500


def table(n: int = N, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    a, unit = rng.uniform(-1, 1, n).round(1), (rng.pareto(0.7, n) * 20).astype(int) % 400
    names: Any = [None if one == 3 else f"p{one}" for one in unit]
    y = np.clip(a + rng.normal(0, 0.2, n), -1, 1).round(1)
    return pa.table({"a": a, "b": rng.integers(0, 3, n).astype(float), "y": y, "w": rng.uniform(0, 2, n), "who": names})


def domain(share: int, weighted: bool = False, n: int = N) -> hb.Domain:
    more: dict[str, Any] = {"weight": ("w", 2.0)} if weighted else {}
    return hb.Domain(
        {"a": (-1, 1), "b": (0, 2)}, target={"y": (-1, 1)}, unit="who", records_per_unit=share, records=n, **more
    )


P = 60


def sparse_table() -> pa.Table:
    """Beside persons, lists of 0 to 50 cells, and of exactly one or two lines of words; few different ones, so that equal rows compete, too."""
    rng = np.random.default_rng(3)
    lengths = rng.choice([0, 1, 3, module.CELLS, module.CELLS + 1, 2 * module.CELLS, 50], 90)
    cells = [(rng.permutation(P)[:many].tolist(), rng.normal(size=many).round(1).tolist()) for many in lengths]
    drawn = rng.integers(len(cells), size=N)
    lists = {name: [cells[at][side] for at in drawn] for side, name in enumerate(("indices", "values"))}
    kinds = {"indices": pa.list_(pa.int32()), "values": pa.list_(pa.float64())}
    return (
        table()
        .drop_columns(["a", "b"])
        .append_column("indices", pa.array(lists["indices"], kinds["indices"]))
        .append_column("values", pa.array(lists["values"], kinds["values"]))
    )


def sparse_domain(share: int) -> hb.Domain:
    return hb.Domain(
        row_norm=3.0, target={"y": (-1, 1)}, unit="who", records_per_unit=share, weight=("w", 2.0), records=N
    )


@pytest.mark.slow
def test_sparse_rows_of_units_are_those_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order and parts, whether a line of words is spilled in the middle of a row or not; and so are the bits of a fit."""
    from scipy import sparse

    whole, about, found = sparse_table(), sparse_domain(2), set()
    indices, values = (whole[name].combine_chunks() for name in ("indices", "values"))
    parts = values.flatten().to_numpy(), indices.flatten().to_numpy(), indices.offsets.to_numpy()
    given = {"weight": whole["w"].to_numpy(), "unit": whole["who"].to_pylist()}
    encoding = about.encoding(n_features=P)
    rows = encoding.encode(sparse.csr_array(parts, shape=(N, P)), whole["y"].to_numpy(), **given)
    zero = rows.weight == 0.0
    expected = Counter(counting(rows)) - Counter(
        counting(replace(rows, X=rows.X[zero], Y=rows.Y[zero], weight=rows.weight[zero]))
    )  # type: ignore[index]
    model = hb.LinearRegression(
        domain=about,
        solver=hb.MirrorDescentSolver(max_passes=2),
        constraint=hb.L2Ball(1.0),
        budget=hb.Budget(1.0, 1e-6),
        test_key=bytes(32),
    )
    other = whole.take(np.random.default_rng(1).permutation(N))
    for source, size, spill, keep in ((whole, 100, 1 << 19, 0), (other, 777, 500, 1 << 30), (other, N, 1, 0)):
        monkeypatch.setattr(module, "_SPILL", spill)
        monkeypatch.setattr(module, "_ROWS", 300)
        assert Counter(shuffled(source, about, tmp_path, size)) == expected
        scanned = hb.scan(lambda source=source: source, sparse=P, cache=tmp_path, batch_rows=size, keep_bytes=keep)
        found.add(model.fit(scanned).release_.theta.tobytes())
    assert len(found) == 1


def theta(source: Any, about: hb.Domain, solver: str) -> bytes:
    model = hb.LinearRegression(domain=about, solver=solver, budget=hb.Budget(1.0, 1e-6), test_key=bytes(32))
    return bytes(model.fit(source).release_.theta.tobytes())


@pytest.mark.few(1)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("share", [1, 3])
@pytest.mark.parametrize(
    "solver", ["moments", "gradient", pytest.param("preconditioned_gradient", marks=pytest.mark.slow)]
)
def test_bits_are_those_of_memory_in_any_order_and_parts(
    solver: str, share: int, weighted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about, whole = domain(share, weighted), table()
    expected = theta(whole, about, solver)
    other = whole.take(np.random.default_rng(1).permutation(N))
    assert theta(other, about, solver) == expected
    for source, rows, spill in ((whole, 100, 1 << 19), (other, 777, 500), (other, N, 1)):
        monkeypatch.setattr(module, "_SPILL", spill)
        monkeypatch.setattr(module, "_ROWS", 300)
        scanned = hb.scan(lambda source=source: source, cache=tmp_path, batch_rows=rows, keep_bytes=0)
        assert theta(scanned, about, solver) == expected


def check_sparse_units(frame: Any, folder: Path, **given: Any) -> None:
    """An engine brings the persons of a sparse table together as a folder does."""
    model = hb.Ridge(domain=sparse_domain(2), solver="moments", budget=hb.Budget(1.0, 1e-6), test_key=bytes(32))
    sources = hb.scan(frame, sparse=P, **given), hb.scan(sparse_table, sparse=P, cache=folder)
    assert len({model.fit(source).release_.theta.tobytes() for source in sources}) == 1


def reading_of(whole: pa.Table, about: hb.Domain) -> Reading:
    sparse = "indices" in whole.column_names
    return Reading(about.encoding(n_features=P) if sparse else about.encoding(), sparse=sparse)


def opened(whole: pa.Table, start: int, rows: int) -> Any:
    part = open_table(whole.slice(start, rows))
    return SparsePart(part, P) if "indices" in whole.column_names else part  # type: ignore[arg-type]


def counting(rows: Any) -> list[tuple[Any, ...]]:
    """As tuples."""
    X = rows.X if isinstance(rows.X, np.ndarray) else rows.X.toarray()
    return [(tuple(x), *y, w) for x, y, w in zip(X, rows.Y, rows.weight, strict=True)]


def shuffled(whole: pa.Table, about: hb.Domain, folder: Path, rows: int) -> list[tuple[Any, ...]]:
    parts = lambda: (opened(whole, start, rows) for start in range(0, whole.num_rows, rows))  # noqa: E731
    found, counted = list[tuple[Any, ...]](), 0
    for part in Shuffle(parts, reading_of(whole, about), folder).parts():
        counted += part.count
        unit, found = part.rows.unit, found + counting(part.rows)
        if unit is not None and len(unit):
            assert max(Counter(unit.tolist()).values()) <= about.records_per_unit
    assert counted == whole.num_rows
    return sorted(found)


@pytest.mark.few(3)
@pytest.mark.parametrize("limit", [module._LIMIT, 1 << 14])
@pytest.mark.parametrize("share", [1, 2, 5])
def test_neighbours_differ_in_one_units_share(
    share: int, limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person taken out, whatever they have: the others' rows stay what they are, and so they do where what counts is asked of a bucket in the midst of its lines."""
    for name, few in {"_BUCKETS": 2, "_SPILL": 1 << 11, "_LIMIT": limit}.items():
        monkeypatch.setattr(module, name, few)
    about, whole = (sparse_domain(share), sparse_table()) if share == 2 else (domain(share, weighted=True), table())
    every = Counter(shuffled(whole, about, tmp_path, 200))
    names = whole["who"].to_pylist()
    for name in [one for one, _ in Counter(names).most_common(2)] + ["p17"]:
        places = [place for place, one in enumerate(names) if one != name]
        without = Counter(shuffled(whole.take(places), about, tmp_path, 170))
        assert not without - every
        assert (every - without).total() <= (0 if name is None else share)


@pytest.mark.few(1)
@sampled("rows,share", product([10, 100], [2, 500]), kind=lambda case: case[0])
def test_memory_grows_neither_with_records_nor_with_the_largest_unit(
    rows: int, share: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine tenths of the records are one person's, the others have one each: four times as many take no more, however few come at once."""
    for name, few in {"_BUCKETS": 2, "_SPILL": 1 << 11, "_LIMIT": 1 << 12, "_ROWS": 100}.items():
        monkeypatch.setattr(module, name, few)
    monkeypatch.setattr(turns, "cores", lambda: 1)
    about = hb.Domain({"x": (0, 1e6)}, target={"y": (0, 1)}, unit="who", records_per_unit=share, records=9)
    encoding, peaks = about.encoding(), list[int]()

    def parts(n: int) -> Iterator[Any]:
        for start in range(0, n, rows):
            x = np.arange(start, start + rows)
            yield open_table(pa.table({"x": x * 1.0, "y": x * 0.0, "who": np.where(x % 10, -1, x)}))

    list(Shuffle(lambda: parts(1_000), Reading(encoding), tmp_path).parts())
    for n in (1_000, 4_000):
        counted, largest = 0, 0
        tracemalloc.start()
        for part in Shuffle(lambda n=n: parts(n), Reading(encoding), tmp_path).parts():  # type: ignore[misc]
            counted, largest = counted + len(part.rows.Y), max(largest, len(part.rows.Y))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert counted == n // 10 + min(share, 9 * n // 10)
        assert largest < 300 + share
    assert peaks[1] - peaks[0] < 3_000 * 72 / 4, peaks  # a quarter of what the further records take


@pytest.mark.parametrize("columns", [1, 100, 20_000])
def test_what_is_held_of_all_buckets_is_bounded_however_wide_rows_are(columns: int, tmp_path: Path) -> None:
    about = hb.Domain(row_norm=1.0, target=(0, 1), unit="who", records_per_unit=2, records=9)
    reading = Reading(about.encoding(n_features=columns))
    assert Shuffle(lambda: iter([]), reading, tmp_path)._held.nbytes <= module._BUCKETS * module._SPILL


@pytest.mark.few(1)
@pytest.mark.parametrize("share", [None, 2])
def test_few_records_are_brought_together_at_once(
    share: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many a part may have otherwise."""
    monkeypatch.setattr(scan, "FEWER", 170)
    about = domain(share) if share else hb.Domain({"a": (-1, 1)}, target={"y": (-1, 1)}, records=N)
    engine = hb.scan(table, cache=tmp_path, batch_rows=500).engine(Reading(about.encoding()))
    assert max(part.n_rows for part in engine._tables()) == (170 if share else 500)


def far(whole: pa.Table, about: hb.Domain, ends: Any, order: Any, buckets: int) -> list[tuple[Any, ...]]:
    """As an engine of several machines does: pieces of parts, brought together in any order, some of them twice."""
    reading = reading_of(whole, about)
    parts = [opened(whole, start, stop - start) for start, stop in pairwise(ends)]
    dealt = [module.dealt(reading, part, buckets) for part in parts]
    found, counted = list[tuple[Any, ...]](), 0
    for bucket in range(buckets):
        pieces = [dealt[place][bucket] for place in order]
        pieces = [module.gathered(reading, pieces[:2]), *pieces[2:]]
        part = module.part(reading, module.gathered(reading, [module.gathered(reading, iter(pieces))]))
        found, counted = found + counting(part.rows), counted + part.count
    assert counted == whole.num_rows
    return sorted(found)


@pytest.mark.few(1)
@pytest.mark.parametrize("sparse", [False, True])
def test_machines_bring_units_together_as_a_folder_does(sparse: bool, tmp_path: Path) -> None:
    about, whole, rng = domain(3, weighted=True), table(), np.random.default_rng(2)
    if sparse:
        about, whole = sparse_domain(3), sparse_table()
    expected = shuffled(whole, about, tmp_path, 500)
    for parts, buckets in ((2, 1), (9, 4), (30, 64)):
        ends = [0, *sorted(rng.choice(N, parts - 1, replace=False).tolist()), N]
        assert far(whole.take(rng.permutation(N)), about, ends, rng.permutation(parts), buckets) == expected


def test_an_empty_table_has_no_units(tmp_path: Path) -> None:
    assert shuffled(table().slice(0, 0), domain(2), tmp_path, 10) == []
    nobody = table().set_column(4, "who", pa.array([None] * N, pa.string()))
    assert shuffled(nobody, domain(2), tmp_path, 500) == []


def test_units_need_a_folder(tmp_path: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("records", hb.Budget(2.0, 1e-5))
    model = hb.LinearRegression(domain=domain(2), budget=hb.Budget(1.0, 1e-6), ledger=ledger, dataset="records")
    with pytest.raises(SchemaError, match="cache="):
        model.fit(hb.scan(table))
    assert not ledger.charges("records")


def test_a_fault_among_pieces_is_what_is_said_and_nothing_of_a_record() -> None:
    about = domain(2)
    sent, shape = cluster.sent(Reading(about.encoding())), (None, cluster.kinds_of(open_table(table()).schema))
    good = cluster.deal(sent, table(100), shape, 3)
    assert cluster.deal(sent, table(100).drop_columns("b"), shape, 3) == [b"!columns"] * 3
    assert cluster.deal(b"SECRET", table(100), shape, 2) == [b"!failed"] * 2
    for bad in (b"!columns", b"!memory"):
        assert cluster.gather(sent, [good[0], bad, b"!failed"]) == cluster.bring(sent, [good[0], bad]) == bad
    assert cluster.bring(sent, [good[0], b"=cut off"]) == b"!failed"


def test_an_engine_that_brings_no_units_together_is_refused_before_the_charge() -> None:
    class Elsewhere(cluster.Remote):
        schema = open_table(table()).schema

        def engine(self, reading: Any, keep_bytes: int) -> Any:
            raise AssertionError

    model = hb.LinearRegression(domain=domain(2), budget=hb.Budget(1.0, 1e-6), test_key=bytes(32))
    with pytest.raises(SchemaError, match="several parts"):
        model.fit(hb.scan(Elsewhere()))  # type: ignore[abstract]
