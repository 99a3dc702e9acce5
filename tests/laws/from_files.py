"""Readers of files and streams: CSV, JSON Lines, Parquet, standard input, growing files and Redis."""

import itertools
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hullabaloo as hb
from hullabaloo.data.sources import CsvSource, JsonLinesSource, ParquetSource, RedisSource, StreamSource, lines
from tests.laws import hostile
from tests.laws.encoded import Given
from tests.laws.hostile import COLUMNS, FLOATS, INTEGERS
from tests.laws.in_memory import BROKEN, arrow_array, columns
from tests.laws.reader import Reader, Records

Generator = np.random.Generator
PATIENCE = 300.0
"""Seconds after which a reading that lost a record is given up, where it would wait for one."""


def in_batches(source: StreamSource, count: int, rng: Generator) -> Iterator[Given]:
    """What a source gives, cut at random distances, read in blocks of random size; stopped when all are there."""
    steps = [step for step in (1, 7, 191, 192, 193, 1023, 1024, 4095, 4096, 10**9) if step * 20 > count]
    step = steps[rng.integers(len(steps))]
    stop = threading.Event()
    timer = threading.Timer(PATIENCE, stop.set)
    timer.start()
    seen, block = 0, lines.BLOCK
    try:
        lines.BLOCK = int(rng.choice([block, 4096 if count > 3 else 97]))
        with source:
            for batch in source.batches(cut=lambda position: position + step, stop=stop):
                yield Given(batch.table)
                seen += batch.count
                if seen >= count:
                    stop.set()
    finally:
        lines.BLOCK = block
        timer.cancel()


def text(records: Sequence[bytes], header: bytes, rng: Generator) -> bytes:
    """A file of lines; the last may lack its end, unless it is blank: a file ends after its last line, not with a blank one."""
    whole = header + b"".join(record + b"\n" for record in records)
    return whole[:-1] if records[-1] and rng.random() < 0.5 else whole


HEADER = ",".join(COLUMNS).encode() + b"\n"


def file_of(records: Records, folder: Path, rng: Generator, suffix: str) -> Path:
    """The lines in a new file, CSV with its header."""
    tabs = HEADER.replace(b",", b"\t") if suffix == ".tsv" else HEADER
    head = b"" if suffix == ".jsonl" else (b"\xef\xbb\xbf" if rng.random() < 0.3 else b"") + tabs
    path = folder / f"records{suffix}"
    path.write_bytes(text(records, head, rng))
    return path


def csv_table(suffix: str) -> Reader:
    def give(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
        yield Given(file_of(records, folder, rng, suffix))

    separator = "\t" if suffix == ".tsv" else ","
    return Reader(
        f"a file {suffix}",
        lambda count, seed: hostile.csv_lines(count, seed, separator),
        give,
        "CsvTable",
        suffix=suffix,
    )


def csv_stream(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
    yield from in_batches(CsvSource(file_of(records, folder, rng, ".csv"), columns=COLUMNS), len(records), rng)


def json_stream(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
    yield from in_batches(JsonLinesSource(file_of(records, folder, rng, ".jsonl"), COLUMNS), len(records), rng)


@contextmanager
def writing(
    whole: bytes, write: Callable[[bytes], object], close: Callable[[], object], rng: Generator
) -> Iterator[None]:
    """Write in pieces that end anywhere, from another thread."""
    cuts = [0, *sorted(rng.integers(0, len(whole) + 1, 6).tolist()), len(whole)]

    def run() -> None:
        for start, end in itertools.pairwise(cuts):
            write(whole[start:end])
        close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join(PATIENCE)


def written(descriptor: int) -> Callable[[bytes], None]:
    def write(piece: bytes) -> None:
        while piece:
            piece = piece[os.write(descriptor, piece) :]

    return write


def growing(kind: str) -> Callable[[Records, Path, Generator], Iterator[Given]]:
    def give(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
        head = HEADER if kind == ".csv" else b""
        path = folder / f"growing{kind}"
        path.write_bytes(b"")
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        source = CsvSource(path, follow=True) if kind == ".csv" else JsonLinesSource(path, COLUMNS, follow=True)
        with writing(
            head + b"".join(record + b"\n" for record in records),
            written(descriptor),
            lambda: os.close(descriptor),
            rng,
        ):
            yield from in_batches(source, len(records), rng)

    return give


def standard_input(kind: str) -> Callable[[Records, Path, Generator], Iterator[Given]]:
    def give(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
        head = HEADER if kind == ".csv" else b""
        before = os.dup(0)
        reading, descriptor = os.pipe()
        os.dup2(reading, 0)
        os.close(reading)
        source = CsvSource("-") if kind == ".csv" else JsonLinesSource("-", COLUMNS)
        try:
            with writing(text(records, head, rng), written(descriptor), lambda: os.close(descriptor), rng):
                yield from in_batches(source, len(records), rng)
        finally:
            os.dup2(before, 0)
            os.close(before)

    return give


PARQUET = {
    "a": pa.float64(),
    "b": pa.int64(),
    "c": pa.string(),
    "e": pa.float32(),
    "t": pa.string(),
    "w": pa.dictionary(pa.int32(), pa.string()),
}


def mixed(count: int, seed: int) -> list[Any]:
    kinds: list[Sequence[Any]] = [
        FLOATS,
        INTEGERS,
        BROKEN,
        FLOATS,
        BROKEN,
        [cell for cell in BROKEN if isinstance(cell, str)],
    ]
    drawn = [hostile.typed(kind, count, seed + place, 1) for place, kind in enumerate(kinds)]
    return [(1.5, 20, "x", 2.0, "3", "1"), *(tuple(cell for (cell,) in row) for row in zip(*drawn, strict=True))][
        :count
    ]


def parquet(records: Records, place: Path, rng: Generator) -> Path:
    with np.errstate(all="ignore"):
        table = pa.table({column: arrow_array(values, PARQUET[column]) for column, values in columns(records)})
    pq.write_table(table, place, row_group_size=int(rng.choice([1 if len(records) < 10 else 50, 191, 1024, 5000])))
    return place


def parquet_file(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
    yield Given(parquet(records, folder / "records.parquet", rng))


def parquet_folder(records: Records, folder: Path, rng: Generator) -> Path:
    place = Path(tempfile.mkdtemp(dir=folder))
    cuts = [0, *sorted(rng.integers(0, len(records) + 1, 2).tolist()), len(records)]
    for number, (start, stop) in enumerate(itertools.pairwise(cuts)):
        if stop > start:
            parquet(records[start:stop], place / f"{number}.parquet", rng)
    return place


def in_parts(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
    source = hb.scan(parquet(records, folder / "records.parquet", rng), batch_rows=int(rng.integers(1, 600)))
    yield from map(Given, source.parts())


def lines_in_parts(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
    source = hb.scan(file_of(records, folder, rng, ".csv"), batch_rows=int(rng.integers(1, 600)))
    yield from map(Given, source.parts())


def parquet_stream(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
    place = (
        parquet_folder(records, folder, rng)
        if rng.random() < 0.5
        else parquet(records, folder / "records.parquet", rng)
    )
    yield from in_batches(ParquetSource(place), len(records), rng)


def entries(count: int, seed: int) -> list[Any]:
    """Entries of a Redis stream, as lists of fields and values: fields lacking, twice, unknown, of bytes that are no text."""
    rng = np.random.default_rng(seed)
    names = [*COLUMNS, "more", b"\xff", ""]
    found: list[Any] = [[part for pair in zip(COLUMNS, map(str, hostile.PLAIN), strict=True) for part in pair]]
    for record in hostile.spread([*hostile.CSV, b"\xff", b"x\xc3"], count, seed):
        chosen = range(6) if rng.random() < 0.5 else rng.choice(len(names), rng.integers(1, 9))
        found.append([part for j in chosen for part in (names[j], hostile.bytes_of(record[j % 6]))])
    return found[:count]


def redis_stream(url: str, *more: str) -> Reader:
    def give(records: Records, folder: Path, rng: Generator) -> Iterator[Given]:
        import redis

        with redis.Redis.from_url(url) as client:
            client.delete("records")
            for start in range(0, len(records), 500):
                pipeline = client.pipeline(transaction=False)
                for entry in records[start : start + 500]:
                    pipeline.execute_command("XADD", "records", "*", *entry)
                pipeline.execute()
        yield from in_batches(RedisSource(url + "".join(more), "records", COLUMNS), len(records), rng)

    name = f"Redis{', answers decoded' * bool(more)}"
    return Reader(name, entries, give, "RecordTable", "RedisSource")


def from_redis(url: str) -> tuple[Reader, ...]:
    return redis_stream(url), redis_stream(url, "?decode_responses=True")


_CSV = Reader("CSV, streamed", hostile.csv_lines, csv_stream, "RecordTable", "CsvSource")
_JSON = Reader("JSON Lines, streamed", hostile.json_lines, json_stream, "RecordTable", "JsonLinesSource")
_PARQUET = Reader("a Parquet file", mixed, parquet_file, "ParquetTable", suffix=".parquet")

FROM_FILES = (
    *map(csv_table, (".csv", ".tsv", ".txt")),
    replace(_CSV, few=120),
    replace(_CSV, name="CSV, a growing file", give=growing(".csv")),
    replace(_CSV, name="CSV, standard input", give=standard_input(".csv")),
    replace(_JSON, few=120),
    replace(_JSON, name="JSON Lines, a growing file", give=growing(".jsonl")),
    replace(_JSON, name="JSON Lines, standard input", give=standard_input(".jsonl")),
    _PARQUET,
    replace(
        _PARQUET,
        name="a Parquet file .pq",
        suffix=".pq",
        give=lambda r, f, g: iter([Given(parquet(r, f / "records.pq", g))]),
    ),
    replace(
        _PARQUET,
        name="a folder of Parquet files",
        suffix="",
        give=lambda r, f, g: iter([Given(parquet_folder(r, f, g))]),
    ),
    replace(_PARQUET, name="a Parquet file in parts", suffix="", give=in_parts, opens="ParquetPart"),
    Reader("CSV in parts", hostile.csv_lines, lines_in_parts, "CsvPart", few=120),
    Reader("Parquet, streamed", mixed, parquet_stream, "ParquetPart", "ParquetSource"),
)
