"""Encoded rows on disk: sealed, without a name, the bits of memory, and nothing released where somebody changed them."""

import mmap
import os
import pickle
import resource
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_array

import hullabaloo as hb
from hullabaloo.data.engines import cache as module
from hullabaloo.data.engines import turns
from hullabaloo.data.engines.base import part_of
from hullabaloo.data.engines.cache import Cache, TornCache
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter

N = 2_000


def rows(n: int, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    return Rows(rng.normal(size=(n, 4)), rng.normal(size=(n, 1)), rng.random(n), None, np.arange(n))


def table() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table({"a": rng.uniform(-1, 1, N), "b": rng.uniform(-1, 1, N), "y": rng.uniform(-1, 1, N)})


def model(**more: Any) -> Any:
    domain = hb.Domain({"a": (-1, 1), "b": (-1, 1)}, target={"y": (-1, 1)}, records=N)
    return hb.LinearRegression(
        domain=domain, solver="preconditioned_gradient", budget=hb.Budget(1.0, 1e-6), test_key=bytes(32), **more
    )


WAYS = {"mapped": True, "read": False}


def mapped(cache: Cache, way: str) -> Cache:
    """A cache whose parts are opened in one way."""
    cache._maps = WAYS[way]
    return cache


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at_once", [1, 100, 1 << 20])
def test_parts_come_back_as_they_were(at_once: int, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts begin anywhere in a block, and reach over several."""
    monkeypatch.setattr(module, "_BLOCK", mmap.PAGESIZE)
    monkeypatch.setattr(module, "_READ", at_once)
    cache, maps = Cache(tmp_path), list[Any]()
    plain = cache._mapped
    monkeypatch.setattr(cache, "_mapped", lambda *where: maps.append(plain(*where)) or maps[-1])
    held = [(part, cache.held(part)) for part in (part_of(rows(n, n)) for n in (50, 0, 1, 500, 90, 74))]
    for part, sealed in reversed(held):
        found = mapped(cache, way) and sealed.opened()
        assert (found.count, found.checksum, found.size) == (part.count, part.checksum, part.size)
        for name in ("X", "Y", "weight", "unit"):
            assert np.array_equal(getattr(found.rows, name), getattr(part.rows, name))
            assert getattr(found.rows, name).flags.writeable
        assert found.rows.offset is None
    assert sum(one is not None for one in maps) == (3 if way == "mapped" else 0)


@pytest.mark.parametrize("n", [0, 1, 74])
@pytest.mark.parametrize("kind", ["dense", "sparse", "without columns"])
def test_any_part_may_be_the_first_that_a_thread_opens(n: int, kind: str, tmp_path: Path) -> None:
    """Also one without rows, as a file without records is: how many a part has is private, so nothing may fail by it."""
    given, cache = rows(n), Cache(tmp_path)
    if kind != "dense":
        given = replace(given, X=csr_array(given.X) if kind == "sparse" else np.zeros((n, 0)))
    sealed = cache.held(part_of(given))
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(sealed.opened).result()
    assert (found.count, found.rows.X.shape) == (n, given.X.shape)
    assert part_of(found.rows).checksum == part_of(given).checksum


def test_a_part_without_rows_changes_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that is alone in its part comes and goes, and fits of both tables end alike; a thread's first part is any."""
    monkeypatch.setattr(turns, "cores", lambda: 2)
    whole, found = table(), []
    for name, sizes in (("one", [N]), ("several", [0, N - 1, 0, 1, 0])):
        folder = tmp_path / name
        folder.mkdir()
        for place, (start, size) in enumerate(zip(np.cumsum([0, *sizes[:-1]]).tolist(), sizes, strict=True)):
            pq.write_table(whole.slice(start, size), folder / f"{place}.parquet")
        found.append(model().fit(hb.scan(folder, cache=tmp_path, keep_bytes=0)).coef_)
    assert np.array_equal(*found)


def test_nobody_else_can_read_the_file_and_it_is_gone_with_its_owner(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    part = part_of(rows(100))
    cache.held(part)
    descriptor = cache._file.fileno()
    about = os.fstat(descriptor)
    assert stat.S_IMODE(about.st_mode) == 0o600
    assert about.st_nlink == 0
    assert not list(tmp_path.iterdir())
    data, rest = os.pread(descriptor, cache._end, 0), os.pread(descriptor, about.st_size, cache._end)
    assert not rest.strip(b"\0")
    assert part.rows.X.tobytes()[:64] not in data
    assert len({data[i : i + 16] for i in range(0, len(data) - 16, 16)}) == (len(data) - 1) // 16  # no pattern
    with pytest.raises(TypeError):
        pickle.dumps(cache)


def test_every_fit_has_a_key_of_its_own(tmp_path: Path) -> None:
    part, files = part_of(rows(10)), [Cache(tmp_path), Cache(tmp_path)]
    texts = [os.pread(one._file.fileno(), one.held(part).size, 0) for one in files]
    assert texts[0] != texts[1]


def harm(cache: Cache, start: int, size: int, how: str, at: int) -> None:
    """Change what lies in the file where so many bytes were sealed."""
    file = cache._file.fileno()
    if how == "cut":
        os.ftruncate(file, start + at)
    elif how == "swapped":  # by what another part has there, with its tag
        os.pwrite(file, os.pread(file, size + module._TAG, 0 if start else size + module._TAG), start)
    else:
        os.pwrite(file, bytes([os.pread(file, 1, start + at)[0] ^ 1 << at % 8]), start + at)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["a bit", "cut", "swapped"])
def test_no_byte_can_be_changed(how: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the rows or of the tag, in whichever block, mapped or read."""
    monkeypatch.setattr(module, "_BLOCK", mmap.PAGESIZE)
    parts = [part_of(rows(300, seed)) for seed in (0, 1)]
    for at in (0, 4095, 4096, 9_000, 300 * 7 * 8 - 1, 300 * 7 * 8, 300 * 7 * 8 + module._TAG - 1):
        cache = Cache(tmp_path)
        _, sealed = [cache.held(part) for part in parts]
        assert np.array_equal(mapped(cache, way) and sealed.opened().rows.X, parts[1].rows.X)
        harm(cache, sealed.start, sealed.size, how, at)
        with pytest.raises(TornCache):
            mapped(cache, way) and sealed.opened()


@pytest.mark.few(3)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["a bit", "cut", "swapped"])
def test_a_changed_file_releases_nothing(how: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any question after the first: the fit fails, and the charge stays."""
    reads, plain = [0], Cache.opened

    def harmed(cache: Cache, start: int, size: int) -> Any:
        reads[0] += 1
        if reads[0] == 7:
            harm(cache, start, size, how, 5_000)
        return plain(mapped(cache, way), start, size)

    monkeypatch.setattr(module, "_BLOCK", mmap.PAGESIZE)
    monkeypatch.setattr(Cache, "opened", harmed)
    monkeypatch.setattr(turns, "cores", lambda: 1)
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("records", hb.Budget(2.0, 1e-5))
    fitted = model(ledger=ledger, dataset="records").set_params(test_key=None)
    with pytest.raises(TornCache, match=r"changed what lies there.*charge that was made stays"):
        fitted.fit(hb.scan(table, cache=tmp_path, keep_bytes=0, batch_rows=500))
    assert not hasattr(fitted, "release_")
    assert len(ledger.charges("records")) == 1


def test_a_file_in_small_pages_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a block takes many faults to map, none is mapped after the first."""
    monkeypatch.setattr(module, "_BLOCK", mmap.PAGESIZE)
    faults = count(0, 100)
    monkeypatch.setattr(resource, "getrusage", lambda _: SimpleNamespace(ru_minflt=next(faults)))
    cache, part = Cache(tmp_path), part_of(rows(400))
    sealed = [cache.held(part) for _ in range(2)]
    for one in sealed:
        assert np.array_equal(one.opened().rows.X, part.rows.X)
    assert cache._mapped(0, 1) is None


def test_a_full_disk_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "SECRET")

    monkeypatch.setattr(module.os, "pwrite", full)
    with pytest.raises(TornCache, match="is full or failed") as caught:
        model().fit(hb.scan(table, cache=tmp_path, keep_bytes=0))
    assert caught.value.__cause__ is None


@pytest.mark.few(1)
@pytest.mark.parametrize("keep", [0, 40_000, 1 << 30])
def test_bits_are_those_of_memory_and_the_table_is_read_once(keep: int, tmp_path: Path) -> None:
    passes = [0]

    def read() -> pa.Table:
        passes[0] += 1
        return table()

    found = model().fit(hb.scan(read, cache=tmp_path, keep_bytes=keep, batch_rows=300)).release_.theta
    assert np.array_equal(found, model().fit(table()).release_.theta)
    assert passes[0] == 3  # for its schema, to count its records, and to read them


@pytest.mark.parametrize(
    "folder", ["nowhere", "nowhere/new", 7, b"/tmp", "", "file", "file/new", "a\0b", "x" * 300, "locked"]
)
def test_a_cache_lies_in_a_folder_that_is_there(folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is not there is not made, as its name may be mistaken; what is said is what to do."""
    (tmp_path / "file").write_text("")
    (tmp_path / "locked").mkdir()
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda place, how: str(place) != "locked" and allowed(place, how))
    monkeypatch.chdir(tmp_path)
    why = "is no folder that this user can write to" if folder in ("file", "locked") else "is no folder that is there"
    with pytest.raises(InvalidParameter, match=rf"{why}\. Make a new one first .*mkdir"):
        hb.scan(table, cache=folder)
    assert {one.name for one in tmp_path.iterdir()} == {"file", "locked"}
    hb.scan(table, cache="."), hb.scan(table, cache=tmp_path)
