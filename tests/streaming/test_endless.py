"""A line from a pipe that never ends fills no memory, keeps nobody from stopping, and takes no other record with it: of every source that reads lines."""

import os
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from hullabaloo.data.sources import CsvSource, JsonLinesSource, lines
from hullabaloo.data.sources.lines import LineSource

LONGEST = 1 << 20
PIECE = 1 << 16
SOURCES: dict[str, tuple[type[LineSource], Callable[[Path], LineSource], bytes, bytes]] = {
    "CSV": (CsvSource, CsvSource, b"a,b\n", b"1,x"),
    "CSV with line breaks": (CsvSource, lambda path: CsvSource(path, quoted_line_breaks=True), b"a,b\n", b'1,"x"'),
    "JSON Lines": (JsonLinesSource, lambda path: JsonLinesSource(path, ["a", "b"]), b"", b'{"a": 1, "b": "x"}'),
}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST", LONGEST, raising=False)


@contextmanager
def written(path: Path, pieces: Iterator[bytes]) -> Iterator[None]:
    """A pipe at a path, into which somebody writes as long as somebody reads."""

    def write() -> None:
        with open(path, "wb", buffering=0) as pipe:  # waits for a reader
            try:
                for piece in pieces:
                    pipe.write(piece)
            except BrokenPipeError:
                pass

    os.mkfifo(path)
    writer = threading.Thread(target=write)
    writer.start()
    yield
    writer.join()


def cells(source: LineSource, **asked: Any) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for batch in source.batches(**asked):
        table: Any = batch.table
        found += zip(table.cells(0), table.cells(1), strict=True)
    return found


def test_every_source_of_lines_is_here() -> None:
    assert {kind for kind, *_ in SOURCES.values()} == set(LineSource.__subclasses__())


ENDLESS = {
    **dict.fromkeys(SOURCES, b"0" * PIECE),
    "CSV with line breaks, which the cell has": b"0" * (PIECE - 1) + b"\n",
}


@pytest.mark.parametrize("kind", ENDLESS)
def test_it_fills_no_memory_and_ends_when_it_is_told_to(kind: str, tmp_path: Path) -> None:
    _, made, head, record = SOURCES[kind.partition(",")[0]]
    stop, most = threading.Event(), 64 * LONGEST // PIECE
    said: list[int] = []

    def pieces() -> Iterator[bytes]:
        yield head + record + b"\n" + b'1,"' * (ENDLESS[kind][-1:] == b"\n")
        for number in range(most):
            if number == most // 4:
                stop.set()
            said.append(number)
            yield ENDLESS[kind]

    tracemalloc.start()
    try:
        with written(tmp_path / "pipe", pieces()), made(tmp_path / "pipe") as source:
            taken = sum(batch.count for batch in source.batches(stop=stop))
            assert taken == 1 or kind not in SOURCES
        assert tracemalloc.get_traced_memory()[1] < 8 * LONGEST
    finally:
        tracemalloc.stop()
    assert len(said) < most // 2


@pytest.mark.parametrize("beyond", [-1, 0, 1, PIECE, 5 * LONGEST])
@pytest.mark.parametrize("kind", SOURCES)
def test_what_is_read_of_it_follows_from_its_bytes_and_others_stay(kind: str, beyond: int, tmp_path: Path) -> None:
    """In whatever pieces they come. The end of a long line may be one of a JSON object, or of a quoted cell, which is then left out."""
    _, made, head, record = SOURCES[kind]
    long = record[:-1] + b"y" * (LONGEST + beyond - len(record)) + record[-1:]
    whole = head + record + b"\n" + long + b"\n" + record + b"\n" + long
    found = []
    for size in (PIECE, 12_345):
        path = tmp_path / f"pipe{size}"
        with written(path, (whole[at : at + size] for at in range(0, len(whole), size))), made(path) as source:
            found.append(cells(source))
    kept = tmp_path / "kept"
    cut = long[:LONGEST] + b'"' * (beyond > 0 and record[-1:] == b'"')  # a cell that is cut is at its end
    kept.write_bytes(head + record + b"\n" + cut + b"\n" + record + b"\n" + cut)
    with made(kept) as source:
        found.append(cells(source))
    assert found[0] == found[1] == found[2]
    assert found[0][0] == (1, "x") or found[0][0] == ("1", "x")


def test_a_quote_that_is_never_closed_takes_no_other_record_with_it(tmp_path: Path) -> None:
    """From a pipe, in whatever pieces it comes; of a file, which ends, it is closed there, as in every table."""
    _, made, head, record = SOURCES["CSV with line breaks"]
    line = b"y" * (PIECE - 1) + b"\n"
    open_ = b'1,"' + line * (LONGEST // PIECE + 1)
    whole, found = head + record + b"\n" + open_ + record + b"\n", []
    for size in (PIECE, 12_345):
        path = tmp_path / f"pipe{size}"
        with written(path, (whole[at : at + size] for at in range(0, len(whole), size))), made(path) as source:
            found.append(cells(source))
    assert found[0] == found[1]
    assert [row[0] for row in found[0]] == ["1", "1", line[:-1].decode(), "1"]
    (tmp_path / "kept").write_bytes(whole)
    with made(tmp_path / "kept") as source:
        assert [row[0] for row in cells(source)] == ["1", "1"]


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("piped", [True, False])
def test_long_records_are_taken_few_at_a_time(kind: str, piped: bool, tmp_path: Path) -> None:
    """Whose lines fill memory together; all of them come, also those that a stream passes over."""
    _, made, head, record = SOURCES[kind]
    long, path, count = record[:-1] + b"y" * (LONGEST // 2) + record[-1:], tmp_path / "records", 40
    if kind == "CSV with line breaks":
        long = long.replace(b"yy", b"y\n", 1)
    pieces = (part for part in (head, *[long + b"\n"] * count))
    with written(path, pieces) if piped else nullcontext(path.write_bytes(b"".join(pieces))), made(path) as source:
        tracemalloc.start()
        try:
            assert sum(batch.count for batch in source.batches()) == count
            assert tracemalloc.get_traced_memory()[1] < 12 * LONGEST
        finally:
            tracemalloc.stop()
    if not piped:
        with made(path) as source:
            assert sum(batch.count for batch in source.batches(start=count - 1)) == 1
