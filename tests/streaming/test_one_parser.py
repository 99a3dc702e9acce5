"""One record never decides how another is read: a format has one parser, and it reads a record's bytes alone."""

import csv
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hullabaloo.data import open_table
from hullabaloo.data.readers.csvfile import BLANK, CsvFormat
from hullabaloo.data.sources import CsvSource, JsonLinesSource
from hullabaloo.data.sources.json_lines import DEEPEST, DIGITS, records


def targets(path: Path, source: str = "json") -> Any:
    made = JsonLinesSource(path, ["a", "t"]) if source == "json" else CsvSource(path)
    return np.concatenate([batch.table.numbers([1])[:, 0] for batch in made.batches()])


@pytest.mark.few(1)
@pytest.mark.parametrize("odd", [b"{", b'{"a": 1} x', b"[" * 5000], ids=["torn", "more behind", "deep"])
def test_one_odd_line_does_not_decide_how_4095_others_are_read(tmp_path: Path, odd: bytes) -> None:
    """PyArrow read the batch, with t = 1, unless one line displeased it; then `json` did, for which Inf is no JSON and t missing.

    At ε = 0.5 that line moved the released mean of t by 90 standard deviations of its noise.
    """
    path = tmp_path / "events.jsonl"
    for value in ("Inf", "-NaN", "NaN", *(["[" * 998 + "]" * 998] if odd == b"{" else [])):
        many = 50 if value.startswith("[") else 4095  # of what takes long to read fewer
        lines = [f'{{"a": {value}, "t": 1.0}}'.encode()] * many + [b'{"a": Inf, "t": 1.0}'] * (4095 - many)
        path.write_bytes(b"\n".join([*lines, b'{"a": 0, "t": 1.0}']))
        before = targets(path)
        path.write_bytes(b"\n".join([*lines, odd]))
        after = targets(path)
        assert np.array_equal(before[:-1], after[:-1], equal_nan=True), value


def test_a_quote_in_one_record_does_not_decide_how_others_are_read(tmp_path: Path) -> None:
    """One quote anywhere took the whole batch from PyArrow's parser to the plain one; left open, it took all lines after it as well."""
    path = tmp_path / "events.csv"
    lines = [b"nan(0x1),1", b"1\r,2", b"'1,3", b"1e999,4", b"\xff,5"] * 800
    path.write_bytes(b"\n".join([b"a,t", *lines, b"x,6"]))
    before = targets(path, "csv")
    for odd in (b'"x",6', b'"x', b'x",6', b'"x""', b'"'):
        path.write_bytes(b"\n".join([b"a,t", lines[0], odd, *lines[1:], b"x,6"]))
        after, table = targets(path, "csv"), open_table(path)
        assert np.array_equal(np.delete(after, 1), before, equal_nan=True)
        assert np.array_equal(after, table.numbers([1])[:, 0], equal_nan=True)
        assert table.n_rows == len(before) + 1


def nested(depth: int) -> bytes:
    """A line whose lists and objects nest so deep, its own object included."""
    return b'{"t": 2, "more": ' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


def at_depth(frames: int, lines: Sequence[bytes]) -> list[dict[str, Any]]:
    return records(lines) if frames == 0 else at_depth(frames - 1, lines)


def test_how_deep_a_line_may_nest_is_counted_on_its_bytes() -> None:
    """`json` stopped where the caller's stack did, so that the same line was read or not by who asked."""
    fine, deep = nested(DEEPEST), nested(DEEPEST + 1)
    lines = [
        fine,
        deep,
        nested(1000),
        b"[" * 100_000,
        b'{"t": 2, "more": "' + b"[" * 500 + b'"}',
        b'{"t": 2, "\\"' + b"[" * 70 + b'": 1}',
    ]
    expected = [2, None, None, None, 2, 2]
    spare = sys.getrecursionlimit() - len(_frames()) - 2 * DEEPEST
    for frames in (0, spare // 2, spare - 60):
        assert [one.get("t") for one in at_depth(frames, lines)] == expected
    for line in lines:  # and where there is no room, that is not the record's doing
        with pytest.raises(RecursionError):
            at_depth(spare + 20, [line])
        with pytest.raises(RecursionError):
            at_depth(spare + 20, [b"{}"])


def _frames() -> list[Any]:
    found, frame = [], sys._getframe(1)
    while frame is not None:
        found.append(frame)
        frame = frame.f_back  # type: ignore[assignment]
    return found


def test_the_digits_that_python_reads_decide_about_no_record() -> None:
    """Its limit on the digits of a whole number is a setting of the process."""
    lines = [
        b'{"t": %s}' % (sign + b"7" * count)
        for sign in (b"", b"-")
        for count in (1, DIGITS - 1, DIGITS, DIGITS + 1, 5000)
    ]
    found = []
    before = sys.get_int_max_str_digits()
    try:
        for limit in (640, before, 0):
            sys.set_int_max_str_digits(limit)
            found.append([one["t"] for one in records(lines)])
    finally:
        sys.set_int_max_str_digits(before)
    assert found[0] == found[1] == found[2]
    assert [type(one) for one in found[0]] == [int, int, int, str, str, int, int, str, str, str]


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        (b'{"t": 1, "t": 2}', 2),
        (b'\xef\xbb\xbf{"t": 2}', 2),
        (b'{"t": 2}\r', 2),
        (b' \t{"t": 2} ', 2),
        (b'{"t": 2} x', None),
        (b'{"t": 2}{"t": 2}', None),
        (b'{"t": 2, "u": Inf}', None),
        (b'{"t": 2, "u": -NaN}', None),
        (b'{"t": Infinity}', np.inf),
        (b'{"t": -Infinity}', -np.inf),
        (b'{"t": 1e999}', np.inf),
        (b'{"t": "a\rb"}', None),
        (b'{"t": "\\ud800"}', "\ud800"),
        (b'{"t": "\xff"}', "\ufffd"),
        (b'{"t": 01}', None),
        (b"", None),
        (b"[2]", None),
    ],
)
def test_the_rule_of_json_lines_as_it_is_written(line: bytes, cells: object) -> None:
    assert records([line])[0].get("t") == cells


@pytest.mark.slow
def test_a_csv_record_is_read_as_pythons_parser_reads_it_where_that_reads_it() -> None:
    """The one difference: nothing stops it, be it a limit of the process or a carriage return."""
    rng = np.random.default_rng(1)
    for separator in (",", "\t", "|", "§"):
        pieces = ['"', '"', separator, "x", " ", "¶", "é", "\0"]
        for _ in range(5000):
            text = "".join(pieces[place] for place in rng.integers(len(pieces), size=rng.integers(1, 12)))
            (expected,) = csv.reader([text], delimiter=separator)
            (found,) = CsvFormat(separator).rows([text.encode()], len(expected))
            assert found == expected, text


def test_records_with_quoted_line_breaks_are_those_of_pythons_parser() -> None:
    """But for the end of the file's last line, which belongs to no cell here, even where a quote is open."""
    rng = np.random.default_rng(2)
    format_ = CsvFormat(quoted_line_breaks=True)
    pieces = ['"', '"', ",", "x", "\n", "\n", "\r\n"]
    for _ in range(5000):
        text = "".join(pieces[place] for place in rng.integers(len(pieces), size=rng.integers(1, 30))) + "x"
        expected = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
        records = list(format_.records(io.BytesIO(text.encode())))
        assert b"".join(records) == text.encode()
        kept = [record for record in records if record not in BLANK]
        found = [next(format_.rows([record], len(row))) for record, row in zip(kept, expected, strict=True)]
        assert found == expected, text


def test_a_long_cell_takes_linear_time() -> None:
    """A pattern that tried again at every quote would take a quarter of an hour for what this reads at once."""
    for text in (
        '"' * 400_001,
        '"' + '""' * 200_000,
        '"x"' + '"' * 400_000,
        ',"' * 200_000,
        json.dumps("x" * 400_000),
    ):
        assert len(list(CsvFormat().rows([text.encode()], 2))) == 1
        assert len(list(CsvFormat(quoted_line_breaks=True).records([text.encode() + b"\n"] * 2))) in {1, 2}
        assert records([text.encode()]) == [{}]
