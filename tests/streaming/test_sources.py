"""Every source gives the records of its whole table, in order, each once, from any position, however they arrive."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hullabaloo.data import open_table
from hullabaloo.data.sources import (
    CsvSource,
    JsonLinesSource,
    Mark,
    ParquetSource,
    SourceChanged,
    StreamSource,
)
from hullabaloo.errors import InvalidParameter, SchemaError
from tests import sampling

NAMES = ("age", "ward", "stay")
NUMERIC = ("age", "stay")
ODD = [
    "41,surgery,3.5",
    "n/a,medicine, 4 ",
    '"4,1",surgery,2',
    '"two\nlines",medicine,1e999',
    "a\rb,medicine\r,1",
    "1",
    "1,2,3,4,5",
    "",
    ",,",
    'half"quoted,"sur""gery",-0',
    "Ω,\u2028x,+5",
    "  ,\t,nan",
    "inf,-inf,1_0",
    '"closed"late"x,a,7',
]
Records = list[tuple[Any, ...]]


def cells(table: Any, columns: tuple[str, ...] = NAMES, *, joined: bool = False) -> Records:
    """The records as the domain's rules see them: numbers of the numeric columns, texts of the others."""
    opened = open_table(table, quoted_line_breaks=joined)
    places = [list(opened.schema.names or ()).index(name) for name in columns]
    parts = [
        np.where(np.isnan(x := opened.numbers([j])[:, 0]), None, x).tolist()  # type: ignore[arg-type]
        if name in NUMERIC
        else opened.cells(j)
        for name, j in zip(columns, places, strict=True)
    ]
    return list(zip(*parts, strict=True))


def read(source: StreamSource, **options: Any) -> Records:
    with source:
        return [record for batch in source.batches(**options) for record in cells(batch.table)]


def many(n: int = 300) -> list[str]:
    rng = np.random.default_rng(5)
    return [
        f"{a},{'surgery' if a % 2 else 'medicine'},{s:.3f}"
        for a, s in zip(rng.integers(0, 95, n), rng.random(n), strict=True)
    ]


def json_line(number: int) -> str:
    return json.dumps({"age": number % 95, "ward": ["surgery", "medicine"][number % 2], "stay": number / 7})


def csv_file(folder: Path, lines: list[str]) -> Path:
    path = folder / "events.csv"
    path.write_text("\n".join(["age,ward,stay", *lines]) + "\n", encoding="utf-8", newline="")
    return path


CSVS = {
    "plain": many(),
    "odd": [*many(20), *ODD, *many(90)],
    "short": ["41,surgery,3"],
    "nothing": [],
    "open quote": [*many(70), '1,"surgery', "2,medicine,3", "4,surgery,5"],
}


@pytest.mark.parametrize("case", CSVS)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("joined", [False, True], ids=["lines", "as parsed"])
def test_csv_is_the_whole_table(tmp_path: Path, case: str, end: str, joined: bool) -> None:
    path = csv_file(tmp_path, CSVS[case])
    path.write_bytes(path.read_bytes().replace(b"\n", end.encode()))
    assert read(CsvSource(path, quoted_line_breaks=joined)) == cells(path, joined=joined)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfage,ward,stay\n1,a,2\n3,b,4",
        b'\xef\xbb\xbf"age","wa,rd","stay"\n1,a,2\n',
        b"age,ward,stay\n\n\n1,a,2\n\n\n",
        b"age,ward,stay\n" + b"\xff\xfe,\xc3,\x00\n" * 100,
        b"age,ward,stay\n" + b"1,a,2\n" * 100 + b"1,a,2\r3,b,4\n",
        b"age,ward,stay,age\n" + b"1,a,2,5\n" * 100,
    ],
    ids=["mark, no last end", "mark, quoted names", "blank lines", "no text", "mixed ends", "a name twice"],
)
def test_csv_of_any_bytes_is_the_whole_table(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "events.csv"
    path.write_bytes(content)
    whole, source = open_table(path), CsvSource(path)
    assert source.schema == whole.schema
    tables = [batch.table for batch in source.batches()]
    for j, name in enumerate(whole.schema.names or ()):
        assert np.array_equal(
            np.concatenate([table.numbers([j]) for table in tables]), whole.numbers([j]), equal_nan=True
        )
        if name not in NUMERIC:
            assert [cell for table in tables for cell in table.cells(j)] == whole.cells(j)


def test_one_column_keeps_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_bytes(b"age\n1\n\n2\n\n" + b"3\n" * 100)
    table = open_table(path)
    found = np.concatenate([batch.table.numbers([0]) for batch in CsvSource(path).batches()])
    assert np.array_equal(found, table.numbers([0]), equal_nan=True)
    assert table.n_rows == 104


@pytest.mark.slow
def test_csv_with_random_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    alphabet = np.array(list(b'01.,"\n\r \xffa-'), dtype=np.uint8)
    path = tmp_path / "events.csv"
    for trial in range(100):
        path.write_bytes(b"age,ward,stay\n" + bytes(rng.choice(alphabet, rng.integers(0, 400))))
        for joined in (False, True):
            source = CsvSource(path, quoted_line_breaks=joined)
            assert read(source, cut=lambda p: p + 1 + p % 7) == cells(path, joined=joined), trial


def test_numbers_are_read_by_one_grammar(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    pieces = [
        "1",
        "0",
        "9",
        "25",
        ".",
        "e",
        "E",
        "-",
        "+",
        "inf",
        "nan",
        "INF",
        "Infinity",
        " ",
        "\t",
        "x",
        "_",
        "1e308",
        "1e-320",
        "d",
        "f",
    ]
    texts = ["".join(rng.choice(pieces, rng.integers(1, 6))) for _ in range(500)]
    texts += [
        "nan(1)",
        "-nan",
        "0x1p3",
        "1e999",
        "-1e999",
        "1e-999",
        "123456789012345678901234567890",
        "0" * 400 + "1",
        "TRUE",
        "NULL",
    ]
    texts += [f"{number!r}" for number in rng.normal(size=200) * 10.0 ** rng.integers(-300, 300, 200)]
    path = tmp_path / "events.csv"
    path.write_text("age,ward,stay\n" + "".join(f"{text},a,1\n" * 4 for text in texts), newline="")
    found = np.concatenate([b.table.numbers([0]) for b in CsvSource(path).batches(cut=lambda p: p + 4)])
    assert np.array_equal(found, open_table(path).numbers([0]), equal_nan=True)


def test_tabs(tmp_path: Path) -> None:
    path = tmp_path / "events.tsv"
    path.write_text("age\tward\tstay\n" + "1\ta,b\t2\n" * 100)
    assert read(CsvSource(path)) == cells(path) == [(1.0, "a,b", 2.0)] * 100


def test_an_open_quote_stays_in_its_own_record(tmp_path: Path) -> None:
    """It took all lines after it, so that one record decided how many others there were."""
    path = csv_file(tmp_path, CSVS["open quote"])
    found = read(CsvSource(path))
    assert found == cells(path)
    assert found[:70] == read(CsvSource(path, quoted_line_breaks=True))[:70]
    assert [record[0] for record in found[70:]] == [1.0, 2.0, 4.0]
    assert len(cells(path, joined=True)) == 71


def jsonl_file(folder: Path, lines: list[str]) -> Path:
    path = folder / "events.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    return path


BROKEN = [
    "",
    "{",
    '{"age": 1}{"age": 2}',
    '{"age": 1,',
    '"ward": "x"}',
    "[1, 2]",
    "3",
    "null",
    '{"age": {"years": 3}, "ward": ["a"], "stay": "4"}',
    '{"age": true, "ward": 1, "stay": null}',
    '{"age": NaN, "ward": "\\ud800", "stay": Infinity}',
    '{"age": 1, "age": 2, "more": [1]}',
    '{"age": ' + "9" * 5000 + "}",
    "[" * 100_000,
    '{"ward": "a\rb"}',
    "\ufeff{}",
    '{"age": 1e999, "stay": -0.0}',
]


def test_json_lines(tmp_path: Path) -> None:
    lines = [json_line(i) for i in range(500)]
    found = read(JsonLinesSource(jsonl_file(tmp_path, lines), NAMES))
    assert found == [(float(i % 95), ["surgery", "medicine"][i % 2], i / 7) for i in range(500)]


def test_every_line_is_one_record_whatever_it_holds(tmp_path: Path) -> None:
    for broken in BROKEN:
        lines = [json_line(i) for i in range(100)]
        lines[50] = broken
        path = jsonl_file(tmp_path, lines)
        found = read(JsonLinesSource(path, NAMES))
        assert len(found) == 100
        assert found[50:51] == read(JsonLinesSource(jsonl_file(tmp_path, [broken]), NAMES))
        assert found[49] == (49.0, "medicine", 7.0)
        assert found[51] == (51.0, "medicine", 51 / 7)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (['{"age": 1}{"age": 2}', ""] * 50, [(None, None, None)] * 100),
        (['{"age": {}', "}"] * 50, [(None, None, None)] * 100),
        (['{"age": 1, "stay": {"a": 1}', '}{"age": 5}'] * 50, [(None, None, None)] * 100),
    ],
    ids=["two in a line", "one in two lines", "both"],
)
def test_objects_that_are_no_lines_do_not_shift_records(tmp_path: Path, lines: list[str], expected: Records) -> None:
    assert read(JsonLinesSource(jsonl_file(tmp_path, lines), NAMES)) == expected


@pytest.mark.slow
def test_json_of_random_pieces(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    pieces = [
        '{"age": 1',
        '{"age": 2}',
        "}",
        "{",
        ', "stay": 3',
        ': "x"',
        "\n",
        "\n",
        "[",
        "]",
        ', "ward": "a"}',
        "\r",
        " ",
    ]
    path = tmp_path / "events.jsonl"
    for trial in range(300):
        good = [json_line(i) + "\n" for i in range(64)]
        text = "".join(good + [str(rng.choice(pieces)) for _ in range(rng.integers(0, 12))])
        path.write_text(text, newline="")
        found = read(JsonLinesSource(path, NAMES))
        assert len(found) == text.count("\n") + (not text.endswith("\n")), trial
        assert found[:64] == [(float(i % 95), ["surgery", "medicine"][i % 2], i / 7) for i in range(64)]


def parquet_file(folder: Path, n: int = 300, group: int = 70) -> Path:
    path = folder / "events.parquet"
    table = pa.table({"age": np.arange(n) % 95, "ward": [f"w{i % 3}" for i in range(n)], "stay": np.arange(n) / 7})
    pq.write_table(table, path, row_group_size=group)
    return path


def test_parquet_of_several_row_groups_and_a_folder(tmp_path: Path) -> None:
    path = parquet_file(tmp_path)
    assert read(ParquetSource(path)) == cells(path)
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in range(3):
        pq.write_table(pq.read_table(path).slice(100 * number, 100), folder / f"{number}.parquet", row_group_size=30)
    assert read(ParquetSource(folder, columns=NAMES), start=123) == cells(path)[123:]


def source_of(kind: str, folder: Path) -> Callable[[], StreamSource]:
    if kind == "csv":
        path = csv_file(folder, CSVS["odd"])
        return lambda: CsvSource(path)
    if kind == "jsonl":
        path = jsonl_file(folder, [json_line(i) for i in range(70)] + BROKEN[:10])
        return lambda: JsonLinesSource(path, NAMES)
    path = parquet_file(folder, 120, 33)
    return lambda: ParquetSource(path)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_resumed_at_every_cut_by_mark_and_by_counting(tmp_path: Path, kind: str) -> None:
    make = source_of(kind, tmp_path)
    whole = read(make())
    marks: dict[int, Mark] = {}
    for batch in make().batches(cut=lambda position: position + 1):
        assert (batch.count, batch.table.n_rows) == (1, 1)
        marks[batch.position + 1] = Mark(batch.mark.position, json.loads(json.dumps(batch.mark.place)))
    assert sorted(marks) == list(range(1, len(whole) + 1))
    every = 4 if sampling.FAST and kind == "parquet" else 1  # whose batches are opened anew each time
    for position, mark in list(marks.items())[::every]:
        assert read(make(), start=position, mark=mark) == whole[position:]
        assert read(make(), start=position) == whole[position:]
    old = marks[20]
    assert read(make(), start=50, mark=old) == whole[50:]
    assert read(make(), start=10, mark=old) == whole[10:], "a mark behind the position is not used"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_batches_end_at_the_cuts_and_positions_are_the_clock(tmp_path: Path, kind: str) -> None:
    make = source_of(kind, tmp_path)
    whole = read(make())
    batches = list(make().batches(3, cut=lambda p: (p // 25 + 1) * 25))
    assert {3, *range(25, len(whole), 25)} <= {batch.position for batch in batches}
    assert all(after.position == before.position + before.count for before, after in pairwise(batches))
    assert sum(b.count for b in batches) == len(whole) - 3
    assert repr(batches[0]).startswith("Batch(position=3, count=")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_source_with_fewer_records_than_were_taken_is_refused(tmp_path: Path, kind: str) -> None:
    make = source_of(kind, tmp_path)
    n = len(read(make()))
    assert read(make(), start=n) == []
    with pytest.raises(SourceChanged, match="holds fewer"):
        read(make(), start=n + 1)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_source_that_continues_leaves_nothing_out(tmp_path: Path, kind: str) -> None:
    make = source_of(kind, tmp_path)
    whole = read(make())
    source = make()
    batches = list(source.batches(1000, continues=True, cut=lambda p: p + 10))
    assert [batches[0].position, batches[0].count] == [1000, 10]
    assert [record for batch in batches for record in cells(batch.table)] == whole
    again = list(source.batches(1010, batches[0].mark, continues=True))
    assert [record for batch in again for record in cells(batch.table)] == whole[10:]


def test_a_file_cut_off_or_replaced_between_two_runs(tmp_path: Path) -> None:
    path = csv_file(tmp_path, many(50))
    (batch,) = CsvSource(path).batches()
    text = path.read_bytes()
    path.write_bytes(text[:200])
    with pytest.raises(SourceChanged, match="shorter than what the stream has read"):
        read(CsvSource(path), start=50, mark=batch.mark)
    other = tmp_path / "copy.csv"
    other.write_bytes(text + b"1,surgery,2\n")
    other.replace(path)
    assert read(CsvSource(path), start=50, mark=batch.mark) == [(1.0, "surgery", 2.0)]


def test_an_unfinished_last_line_that_grows_later_is_one_record(tmp_path: Path) -> None:
    path = csv_file(tmp_path, many(5))
    with path.open("a") as file:
        file.write("41,surg")
    *_, last = CsvSource(path).batches(cut=lambda p: p + 1)
    assert cells(last.table) == [(41.0, "surg", None)]
    with path.open("a") as file:
        file.write("ery,3\n7,medicine,1\n")
    assert read(CsvSource(path), start=6, mark=last.mark) == [(7.0, "medicine", 1.0)]


WRITER = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
for byte in sys.stdin.buffer.read():
    os.write(fd, bytes([byte]))
    if byte % 5 == 0:
        time.sleep(0.0002)
"""


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_file_written_byte_by_byte_by_another_process(tmp_path: Path, kind: str) -> None:
    if kind == "csv":
        path, text = csv_file(tmp_path, []), "\n".join(CSVS["odd"][:60]) + "\n41,half a li"
    else:
        path, text = jsonl_file(tmp_path, []), "".join(json_line(i) + "\n" for i in range(50)) + '{"age": 3'
    source: StreamSource = CsvSource(path, follow=True) if kind == "csv" else JsonLinesSource(path, NAMES, follow=True)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, path], stdin=subprocess.PIPE)
    assert writer.stdin is not None
    writer.stdin.write(text.encode())
    writer.stdin.close()
    stop, found = threading.Event(), list[Any]()
    whole = tmp_path / f"whole.{kind}"
    whole.write_text(("age,ward,stay\n" if kind == "csv" else "") + text, newline="")
    complete = read(CsvSource(whole) if kind == "csv" else JsonLinesSource(whole, NAMES))
    for batch in source.batches(stop=stop):
        found += cells(batch.table)
        if len(found) == len(complete) - 1:  # all but the line that is never finished
            assert writer.wait(30) == 0
            threading.Timer(0.2, stop.set).start()
    assert found == complete[:-1]


def test_a_quote_left_open_holds_back_no_record_before_it(tmp_path: Path) -> None:
    path = csv_file(tmp_path, ["1,a,2", '3,"open'])
    source, stop = CsvSource(path, follow=True, quoted_line_breaks=True), threading.Event()
    batches = source.batches(stop=stop)
    assert cells(next(batches).table) == [(1.0, "a", 2.0)]
    with path.open("a") as file:
        file.write(' still",4\n5,b,6\n')
    assert cells(next(batches).table) == [(3.0, "open\n still", 4.0), (5.0, "b", 6.0)]
    stop.set()
    assert list(batches) == []


@pytest.mark.parametrize("how", ["cut off", "replaced", "removed"])
def test_a_followed_file_may_only_grow(tmp_path: Path, how: str) -> None:
    path = csv_file(tmp_path, many(50))
    batches = CsvSource(path, follow=True).batches()
    assert next(batches).count == 50
    if how == "cut off":
        os.truncate(path, 30)
    elif how == "replaced":
        (tmp_path / "new.csv").write_text("age,ward,stay\n")
        (tmp_path / "new.csv").replace(path)
    else:
        path.unlink()
    with pytest.raises(SourceChanged, match="cut off while" if how == "cut off" else "removed or replaced"):
        next(batches)


@pytest.fixture
def pipe() -> Iterator[tuple[Path, Callable[[bytes], None]]]:
    reading, writing = os.pipe()

    def write(data: bytes) -> None:
        if data:
            os.write(writing, data)
        else:
            os.close(writing)

    yield Path(f"/dev/fd/{reading}"), write
    os.close(reading)


def test_a_pipe_waits_for_its_lines_and_ends(pipe: tuple[Path, Callable[[bytes], None]]) -> None:
    path, write = pipe
    write(b"age,ward,stay\n1,a,2\n3,")
    batches = CsvSource(path).batches()
    assert cells(next(batches).table) == [(1.0, "a", 2.0)]
    threading.Timer(0.1, write, [b"b,4\n5,c,6"]).start()
    assert cells(next(batches).table) == [(3.0, "b", 4.0)]
    write(b"")
    assert cells(next(batches).table) == [(5.0, "c", 6.0)]
    assert list(batches) == []


def test_a_pipe_is_stopped_while_it_waits(pipe: tuple[Path, Callable[[bytes], None]]) -> None:
    path, write = pipe
    write(b"age,ward,stay\n")
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    before = time.monotonic()
    assert list(CsvSource(path).batches(stop=stop)) == []
    assert time.monotonic() - before < 30
    write(b"")


def test_a_pipe_is_resumed_by_counting(pipe: tuple[Path, Callable[[bytes], None]]) -> None:
    path, write = pipe
    write(b"age,ward,stay\n" + b"".join(b"%d,a,2\n" % i for i in range(90)))
    write(b"")
    assert [record[0] for record in read(CsvSource(path), start=80)] == list(range(80, 90))


def test_what_is_no_source_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for make in (
        lambda: CsvSource(tmp_path / "nowhere.csv"),
        lambda: CsvSource(tmp_path),
        lambda: JsonLinesSource(tmp_path / "nowhere.jsonl", NAMES),
        lambda: ParquetSource(tmp_path / "nowhere.parquet"),
    ):
        with pytest.raises(InvalidParameter, match="There is no file"):
            make()
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(SchemaError, match="no line of column names"):
        _ = CsvSource(tmp_path / "empty.csv").schema
    (tmp_path / "bad.parquet").write_text("Mrs Miller")
    with pytest.raises(SchemaError, match="cannot be read as Parquet") as refused:
        ParquetSource(tmp_path / "bad.parquet")
    assert "Miller" not in str(refused.value)


def test_only_the_columns_asked_for_are_read(tmp_path: Path) -> None:
    path = csv_file(tmp_path, CSVS["odd"])
    for source in (
        CsvSource(path, columns=["stay", "age"]),
        ParquetSource(parquet_file(tmp_path), columns=["stay", "age"]),
    ):
        assert source.schema.names == NAMES, (
            "the schema stays whole, so that a missing column is told from one that was left out"
        )
        assert {batch.table.schema.names for batch in source.batches()} <= {("age", "stay")}


@pytest.mark.parametrize("line", ["41;surgery", "41,surgery"], ids=["semicolons", "commas"])
def test_a_first_line_that_may_be_a_record_is_not_quoted(tmp_path: Path, line: str) -> None:
    (tmp_path / "events.csv").write_text(f"{line}\n{line}\n")
    with (
        CsvSource(tmp_path / "events.csv", columns=NAMES) as source,
        pytest.raises(SchemaError, match="may be a record") as told,
    ):
        source.empty()
    assert "41" not in str(told.value)
    assert ";" not in str(told.value), "nor what separates its cells"


def test_a_source_that_changed_is_refused_and_one_that_is_lost_is_a_failure_of_the_machine() -> None:
    """Both were failures of the machine: the command line ended with "Failed: " and code 4 over a file that somebody had rewritten."""
    from hullabaloo.cli.boundary import ExitCode, described
    from hullabaloo.data.sources import SourceLost

    assert described(SourceChanged("It was rewritten."))[1] is ExitCode.REFUSED
    assert described(SourceLost("It is gone."))[1] is ExitCode.MACHINE
