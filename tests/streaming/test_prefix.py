"""Files are told again by the bytes that were taken: any change before the place is refused, none after it."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hullabaloo.data.sources import CsvSource, JsonLinesSource, Mark, ParquetSource, SourceChanged, StreamSource
from hullabaloo.data.sources.lines import BLOCK
from hullabaloo.data.sources.prefix import Prefix

from .test_sources import Records, csv_file, json_line, jsonl_file, many, parquet_file, read

NAMES = ["age", "ward", "stay"]
Make = Callable[[Path], StreamSource]
KINDS: dict[str, tuple[Callable[[Path], Path], Make]] = {
    "csv": (lambda folder: csv_file(folder, many(12)), CsvSource),
    "jsonl": (lambda folder: jsonl_file(folder, list(map(json_line, range(12)))), lambda path: JsonLinesSource(path, NAMES)),
    "parquet": (lambda folder: parquet_file(folder, 12, 4), ParquetSource),
}  # fmt: skip


def marks(source: StreamSource, **options: bool) -> dict[int, Mark]:
    with source:
        found = source.batches(cut=lambda position: position + 1, **options)
        return {b.mark.position: Mark(b.mark.position, json.loads(json.dumps(b.mark.place))) for b in found}


def outcome(source: StreamSource, mark: Mark, **options: bool) -> Records | str:
    try:
        return read(source, start=mark.position, mark=mark, **options)
    except SourceChanged as refused:
        return str(refused)


@pytest.mark.parametrize("kind", KINDS)
def test_every_byte_before_the_place_counts_and_none_after_it(tmp_path: Path, kind: str) -> None:
    """A byte that changed in place (the file's number and length the same) was believed at every place before."""
    written, make = KINDS[kind]
    path = written(tmp_path)
    data, whole, found = path.read_bytes(), read(make(path)), marks(make(path))
    mark = found[7]
    taken, end = int(mark.place.get("offset", 0)), len(data)
    if kind == "parquet":  # to the end of the row group; its library may crash on a damaged footer, which is left alone
        chunks = [pq.read_metadata(path).row_group(group).column(2) for group in (1, 2)]
        taken, end = (
            (one.dictionary_page_offset or one.data_page_offset) + one.total_compressed_size for one in chunks
        )
    for place in range(4, end, 7) if kind == "parquet" else range(end):
        changed = bytearray(data)
        changed[place] ^= 1
        path.write_bytes(changed)
        assert ("does not begin with" in outcome(make(path), mark)) == (place < taken), place
    path.write_bytes(data)
    assert outcome(make(path), mark) == whole[7:]


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_mark_of_another_file_means(tmp_path: Path, kind: str) -> None:
    written, make = KINDS[kind]
    path = written(tmp_path)
    whole, mark = read(make(path)), marks(make(path))[7]
    copy = tmp_path / f"copy{path.suffix}"
    copy.write_bytes(path.read_bytes())
    for continues in (False, True):
        assert outcome(make(copy), mark, continues=continues) == whole[7:], "its bytes are those that were taken"
    (tmp_path / "other").mkdir()
    other = parquet_file(tmp_path / "other", 9, 3) if kind == "parquet" else tmp_path / f"other{path.suffix}"
    if kind != "parquet":
        lines = path.read_bytes().splitlines(keepends=True)
        other.write_bytes(b"".join([*lines[:1], *lines[3:]]))
    assert "does not begin with" in outcome(make(other), mark)
    assert outcome(make(other), mark, continues=True) == read(make(other)), "it is the next file, as was said"
    os.replace(other, path)
    assert "does not begin with" in outcome(make(path), mark)
    later = marks(make(copy), continues=False)
    gone_on = {position + 100: Mark(position + 100, {**one.place, "origin": 100}) for position, one in later.items()}
    assert outcome(make(copy), gone_on[107], continues=True) == whole[7:]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_rewritten_in_place_is_refused_also_when_it_is_said_to_continue(tmp_path: Path, kind: str) -> None:
    written, make = KINDS[kind]
    path = written(tmp_path)
    mark, data = marks(make(path))[7], path.read_bytes()
    path.write_bytes(data[:20] + bytes([data[20] ^ 1]) + data[21:])
    try:
        source = make(path)
    except Exception:
        return
    assert "does not begin with" in outcome(source, mark, continues=True)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_file_that_grows_goes_on_and_is_told_to_its_new_end(tmp_path: Path, kind: str) -> None:
    written, make = KINDS[kind]
    path = written(tmp_path)
    data = path.read_bytes()
    *_, mark = marks(make(path)).values()
    for step in range(3):
        with path.open("ab") as file:
            file.write(data.splitlines(keepends=True)[-1] * (step + 1))
        with make(path) as source:
            (batch,) = source.batches(mark.position, mark)
        assert (batch.position, batch.count) == (mark.position, step + 1)
        mark = batch.mark
    changed = path.read_bytes()
    path.write_bytes(changed[:-3] + bytes([changed[-3] ^ 1]) + changed[-2:])
    assert "does not begin with" in outcome(make(path), mark)


def test_a_folder_may_get_files_after_those_that_were_read(tmp_path: Path) -> None:
    folder = tmp_path / "days"
    folder.mkdir()
    for name in "bc":
        parquet_file(tmp_path, 6, 3).rename(folder / f"{name}.parquet")
    mark = marks(ParquetSource(folder))[8]
    rest = read(ParquetSource(folder), start=8)
    parquet_file(tmp_path, 6, 3).rename(folder / "d.parquet")
    told = outcome(ParquetSource(folder), mark)
    assert told[: len(rest)] == rest
    assert len(told) == len(rest) + 6
    parquet_file(tmp_path, 5, 3).rename(folder / "a.parquet")
    assert "does not begin with" in outcome(ParquetSource(folder), mark)


def test_an_older_mark_is_believed_in_its_own_file_alone(tmp_path: Path) -> None:
    path = csv_file(tmp_path, many(12))
    mark, whole = marks(CsvSource(path))[7], read(CsvSource(path))
    old = Mark(7, {name: mark.place[name] for name in ("offset", "device", "inode")})
    assert (old.unproved, mark.unproved) == (True, False)
    assert outcome(CsvSource(path), old) == whole[7:]
    now = next(iter(CsvSource(path).batches(7, old))).mark
    assert not now.unproved
    assert now.position == 12


@pytest.mark.few(18)
@pytest.mark.parametrize(
    "place",
    [
        {"offset": -1}, {"offset": 10**30}, {"offset": True}, {"tag": "zz"}, {"key": 5}, {"tag": ""}, {"key": None, "tag": None}, {"origin": "x"},
        {"offset": 3.5}, {"kind": []}, {"path": 7}, {"row": -3},
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("kind", KINDS)
def test_a_forged_place_is_counted_or_refused(tmp_path: Path, kind: str, place: dict[str, object]) -> None:
    written, make = KINDS[kind]
    path = written(tmp_path)
    mark, whole = marks(make(path))[7], read(make(path))
    told = outcome(make(path), Mark(7, {**mark.place, **place}))
    assert told == whole[7:] or isinstance(told, str)


def test_a_tag_is_of_its_key_and_of_every_byte_in_its_order() -> None:
    tags, keys = set(), (bytes(32), bytes([1] * 32))
    for key in keys:
        for data in (b"", b"a", b"ab", b"ba", b"b", b"\0", b"\0\0"):
            prefix = Prefix(key)
            for byte in data:
                prefix.add(bytes([byte]))
            tags.add(prefix.facts()["tag"])
            assert Prefix.proved(prefix.facts(), lambda into, data=data: into.add(data)) is not None
            assert Prefix.proved(prefix.facts(), lambda into, data=data: into.add(data + b"x")) is None
    assert len(tags) == 14
    assert len({Prefix().facts()["key"] for _ in range(50)}) == 50


def test_a_tag_is_of_the_last_byte_of_many_blocks_as_of_the_first() -> None:
    size = 3 * BLOCK + 1
    begun = Prefix()
    begun.add(bytes(size))
    for place in (0, 4096, BLOCK - 1, BLOCK, 2 * BLOCK, size - 1):
        changed = bytearray(size)
        changed[place] = 1
        assert Prefix.proved(begun.facts(), lambda into, changed=changed: into.add(bytes(changed))) is None, place


def test_a_cut_tag_proves_nothing() -> None:
    facts = Prefix().facts()
    for length in range(0, 64, 2):
        assert Prefix.proved({**facts, "tag": facts["tag"][:length]}, lambda _: None) is None


def test_a_footer_that_changed_in_place_is_another_source(tmp_path: Path) -> None:
    """It says what the bytes before it mean."""
    written, make = KINDS["parquet"]
    path = written(tmp_path)
    mark, data = marks(make(path))[7], path.read_bytes()
    assert data.count(b"parquet-cpp") == 1
    path.write_bytes(data.replace(b"parquet-cpp", b"parquet-cpq"))
    assert "does not begin with" in outcome(make(path), mark)
