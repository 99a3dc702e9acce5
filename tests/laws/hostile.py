"""One generator of hostile records: what a table, a file or a stream may hold in one record to spoil others.

Cells come in three alphabets: Python objects, texts of CSV and texts of JSON. A record takes cells of one alphabet at random, and every
hostile cell stands in every column of some record. Readers of typed containers draw from the typed values below.
"""

import json
import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

COLUMNS = ("a", "b", "c", "e", "t", "w")
"""Two numbers, a level, an exposure, the target and the weight."""
PLAIN = (1.5, 20.0, "x", 2.0, 3.0, 1.0)
"""A record that nothing is wrong with."""

NUMBERS = [
    "1", "0", "-0", "+1", " 2.5 ", "1e2", "1e999", "-1e999", "1e-999", "4.9e-324", "1.7976931348623157e308", "0.1", "1_0", "0x1p3", "Inf",
    "-Inf", "inf", "Infinity", "-Infinity", "NaN", "-NaN", "nan", "nan(0x1)", "-nan(ind)", "NA", "N/A", "null", "NULL", "None", "TRUE", "true",
    "1.", ".5", "1d2", "1f", "１", "٣", "1\u00a0", "9" * 25, "9" * 641, "-" + "9" * 5000, "0" * 400 + "1", "1" + "0" * 308, "1/3", "12:30", "2020-01-01",
]  # fmt: skip
"""Numbers as text, and what some grammar takes for one."""
TEXTS = [
    "x",
    " x ",
    "X",
    "é",
    "e\u0301",
    "long text",
    "?",
    "-",
    "",
    " ",
    "\t",
    "\x00",
    "\u2028",
    "\x85",
    "\x0c",
    "'",
    "\\",
    "\ufeff",
    "\ufffd",
    "a" * 5_000,
    "a" * 4_999 + "b",
]
LONGEST = 140_000
"""Beyond the limit of Python's own csv module."""

FLOATS = [
    0.0, -0.0, 1.0, -1.5, 0.1, 1e308, -1e308, 5e-324, -5e-324, 1e-310, np.inf, -np.inf, np.nan, -np.nan, 2.0**53, 2.0**53 + 2, 1e-17, np.pi, 19.999999999999996,
    struct.unpack("<d", b"\x01\0\0\0\0\0\xf0\x7f")[0], struct.unpack("<d", b"\xff" * 8)[0],
]  # fmt: skip
"""Every kind of float64, signalling NaN included."""
INTEGERS = [0, 1, -1, 2, 17, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63)]
SAME_INSTANT = [datetime(2020, 1, 1, 12, tzinfo=UTC), datetime(2020, 1, 1, 13, tzinfo=timezone(timedelta(hours=1)))]


class Sly:
    """A cell whose every method raises."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        raise RuntimeError("len")

    def __float__(self) -> float:
        raise RuntimeError("float")

    def __str__(self) -> str:
        raise RuntimeError("str")


OBJECTS: list[Any] = [
    None, *FLOATS, *INTEGERS, *NUMBERS, *TEXTS, True, False, 10**400, 10**1000, -(10**5000), 1 << 128, np.float32(1.1), np.float16(2.0), np.longdouble(3), np.int8(3),
    np.uint64(2**64 - 1), np.bool_(True), np.float64(1.0), np.str_("x"), np.bytes_(b"x"), np.datetime64("NaT"), np.datetime64("2020-01-01"), np.timedelta64(3, "s"),
    pd.NaT, pd.NA, pd.Timestamp("2020-01-01"), pd.Timedelta(3), pd.Interval(0, 1), Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), Decimal("1e400"), Decimal("0.1234"), Fraction(1, 3),
    Fraction(10**400, 7), complex(1, 2), b"1", b"x", b"\xff", b"", bytearray(b"1"), "\ud800", "x\udfff", date(2020, 1, 1), time(12), *SAME_INSTANT,
    [1, 2], (1.0,), {"a": 1}, {1}, np.array([1.0, 2.0]), np.array(1.0), np.array([]), object, Sly(), range(3), lambda: 1, type, NotImplemented, ...,
    'x"', '"x', "x\ny", "x\r\ny", "1\n", "\n1", "1\r",
]  # fmt: skip

CSV = [
    *[text for text in NUMBERS + TEXTS if "\n" not in text],
    '"x"', '"1"', '" 1 "', '"x,y"', '"1,5"', '"x""y"', '""', '""""', '"x', '"1', '"', '"x"y', '"1"2', '"x"",', 'x"y"', '1"', "'x'", '"x\ry"', "1\r2", "\r1", "x\r", '"\r"', "\ud800",
    '"' * 7, '"' * 8, '"x"" ', "a;b", "a\tb", '"a\tb"', '"\x00"', '","' * 3, "#", "\\n", '\\"',
]  # fmt: skip
"""Cells of CSV as they are written, quotes torn and closed."""

JSON = [
    "0", "-0", "-0.0", "1", "2.5", "1e2", "1E+2", "1e999", "-1e999", "1e-999", "4.9e-324", "123456789012345678901234567890", "9" * 641, "-" + "9" * 5000, "1" * 310, "Inf", "-Inf",
    "NaN", "-NaN", "Infinity", "-Infinity", "+1", "01", "1.", ".5", "0x10", "1_0", "true", "false", "null", "True", "None", "undefined", "nan", "nan(0x1)", '"x"', '"1"', '" 1 "', '"é"',
    '"\\u00e9"', '"\\ud800"', '"\\ud83d\\ude00"', '"\\udc00x"', '"a\\nb"', '"a\\u0000b"', '"a\tb"', '"a\rb"', '"\x00"', '"\\x41"', '"\\', '"', "'x'", '"1e999"', '"Infinity"', '"' + "x" * 5_000 + '"', "[]", "[1]", "{}",
    '{"a": 1}', '[[["x"]]]', '{"t": [{"a": {}}]}', "[" * 62 + "]" * 62, "[" * 63 + "]" * 63, "[" * 64 + "]" * 64, "[" * 1000 + "]" * 1000, "[" * 20_000, '{"a":' * 70 + "1" + "}" * 70,
    '"' + "[" * 200 + '"', '"\\"' + "[{" * 100 + '"', "[" + '"]",' * 80 + "1]", "[1,]", "[1 2]", "1 2", "1}", "1]", '1, "a": 2', '1, "t": 9, "t": 4', '1, "more": -Inf', '1, "more": [1, Inf]', "1 // x", "",
]  # fmt: skip
"""Values of JSON as they are written, and what is none."""

LINES = [
    b"", b" ", b"{", b"}", b"{}", b"[]", b"3", b"null", b'"x"', b"[1, 2]", b'{"a": 1}{"a": 2}', b'{"a": 1} x', b'{"a": 1},', b'{"a": 1', b'"t": 1}', b"{'a': 1}", b'{"a" 1}', b'{a: 1}', b'{"a": 1}\r', b"\r",
    b'\xef\xbb\xbf{"a": 1, "t": 2}', b'\xef\xbb\xbf\xef\xbb\xbf{"a": 1}', b'\xff\xfe{\x00"\x00a', b'{"c": "\xff", "t": 2}', b'{"\xff": 1, "t": 2}', b'{"c": "\xed\xa0\x80", "t": 2}', b'{"c": "\xc3', b'{"a": 1, "t": 2}\x00',
    b'\x00{"a": 1}', b"[" * 20_000, b"{" * 5000, b'{"a":' * 3000, b'{"more": ' + b"[" * 999 + b"]" * 999 + b', "t": 2}', b'{"\\u0061": 2, "t": 1}', b'{"": 1, "t": 2}', b"\t{ \"t\" :\t2 } ", b'{"t": 2}\x0c', b"[" + b"1," * 9000 + b"1]",
    b'{"a": 1, "a": [' + b"[" * 40 + b"]" * 41 + b'}', b"\xe2\x80\xa8", b"#", b"a,b,c,e,t,w", b"<a/>",
]  # fmt: skip
"""Lines that are no record of JSON, or a torn one."""


def spread(cells: Sequence[Any], count: int, seed: int, width: int = len(COLUMNS)) -> list[tuple[Any, ...]]:
    """`count` records of `width` cells drawn at random, the first ones with every cell once in every column."""
    rng = np.random.default_rng(seed)
    places = np.array([rng.permutation(len(cells)) for _ in range(width)]).T
    more = rng.integers(len(cells), size=(max(count - len(cells), 0), width))
    return [tuple(cells[j] for j in row) for row in [*places, *more]][:count]


def typed(cells: Sequence[Any], count: int, seed: int, width: int = len(COLUMNS)) -> list[tuple[Any, ...]]:
    """Records of one type of cell, missing ones among them."""
    return spread([*cells, None], count, seed, width)


def objects(count: int, seed: int, width: int = len(COLUMNS)) -> list[tuple[Any, ...]]:
    """Records of Python objects of all types."""
    return [(PLAIN * 2)[:width], *spread(OBJECTS, count, seed, width)][:count]


def csv_lines(count: int, seed: int, separator: str = ",") -> list[bytes]:
    """Lines of a CSV file without their ends: too short, too long, with torn quotes and bytes that are no text; none is blank."""
    rng = np.random.default_rng(seed)
    lines = [
        b"1.5,20,x,2,3,1".replace(b",", separator.encode()),
        b'"' + b"x" * LONGEST,
        b"\xff\xfe,\xc3,\x00",
        b"\xef\xbb\xbf1,2,x,2,3,1",
        b" ",
        b"1;2\t3|" * 200,
    ]
    for record in spread(CSV, count, seed):
        cells = list(record) + ["9", '"9'] * (rng.random() < 0.1)
        cells = cells[: rng.integers(1, 7)] if rng.random() < 0.2 else cells
        lines.append(separator.join(cells).encode("utf-8", "surrogatepass"))
    ends = [b"", b"\r"]
    return [line + ends[int(rng.random() < 0.2)] for line in lines if line.removeprefix(b"\xef\xbb\xbf").strip(b"\r")][
        :count
    ]


def json_lines(count: int, seed: int) -> list[bytes]:
    """Lines of a JSON Lines file without their ends: keys missing, twice, unknown and in any order, and lines that are no object."""
    rng = np.random.default_rng(seed)
    lines = [json.dumps(dict(zip(COLUMNS, PLAIN, strict=True))).encode(), b'{"c": "' + b"x" * LONGEST + b'", "t": 2}']
    for record in spread(JSON, count, seed):
        keys = [*COLUMNS, "more"]
        chosen = rng.choice(len(keys), rng.integers(1, 9))
        if rng.random() < 0.7:  # a line that only one cell can break
            pairs = {keys[j]: json.dumps((*PLAIN, 1)[j]) for j in range(6)}
            pairs[keys[chosen[0]]] = record[0]
            parts = [f'"{key}": {text}' for key, text in pairs.items()]
        else:
            parts = [f'"{keys[j]}": {(*record, record[0])[j]}' for j in chosen]
        lines.append(("{" + ", ".join(parts) + "}").encode("utf-8", "surrogatepass"))
    wanted = max(count - len(LINES), 2)
    return [*lines[:wanted], *LINES][:count]


def bytes_of(cell: Any) -> bytes:
    """A cell as a client of Redis may write it."""
    if isinstance(cell, bytes):
        return cell
    return cell.encode("utf-8", "surrogatepass") if isinstance(cell, str) else repr(type(cell)).encode()
