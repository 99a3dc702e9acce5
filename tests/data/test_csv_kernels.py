"""The compiled CSV decoder finds, in any bytes, the cells and numbers of the one grammar."""

import io
import itertools
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hullabaloo.data.numbers import parse_number
from hullabaloo.data.readers import csvfile
from hullabaloo.data.readers.csv_kernels import find_numbers
from hullabaloo.data.readers.csvfile import CsvFormat, CsvTable

PIECES = [b",", b",", b'"', b'""', b"\n", b"\n", b"\r\n", b"\r", b"\xef\xbb\xbf", b"\xe2\x82", b"\xff", b" ", b"\t"]
PIECES += [b"a", b"1", b"-2.5", b"1e3", b"nan", b'"x"', b'"1"', "é".encode(), b"\x00"]


def slow(text: bytes, width: int) -> list[tuple[object, ...]]:
    records = CsvFormat().records(lines(text))
    return [tuple(row) for row in CsvFormat().rows(records, width)]


def lines(text: bytes) -> list[bytes]:
    parts = text.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


@pytest.mark.few(3)
@pytest.mark.parametrize("read", [3, 17, 1 << 22])
@pytest.mark.parametrize("header", [b"a,b,c\n", b"a\n"])
def test_cells_of_any_bytes_are_those_of_the_grammar(
    header: bytes, read: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever blocks end, and whatever comes before a line in its file."""
    monkeypatch.setattr(csvfile, "_READ", read)
    rng, width, place = np.random.default_rng(read), header.count(b",") + 1, tmp_path / "t.csv"
    for _ in range(150):
        body = b"".join(PIECES[i] for i in rng.integers(0, len(PIECES), rng.integers(0, 60)))
        place.write_bytes(header + body)
        expected = slow(body, width)
        table = CsvTable(place)
        assert table.n_rows == len(expected)
        assert list(zip(*(table.cells(j) for j in range(width)), strict=True)) == expected, body
        found = table.numbers(range(width))
        for row, cells in zip(found, expected, strict=True):
            for number, cell in zip(row, cells, strict=True):
                assert_same(number, math.nan if cell is None else parse_number(str(cell)))
        parts = [part.cells(0) for part in table.parts_of(None, 4)]
        assert [*itertools.chain(*parts)] == [row[0] for row in expected]
        assert max(map(len, parts), default=0) <= 4


def test_a_store_may_give_less_than_was_asked_for() -> None:
    class Drops(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(size or 0, 5))

    place = SimpleNamespace(suffix=".csv", open=lambda _: Drops(b"a,b\n" + b"1,22222222\n" * 9 + b"3,4"))
    assert CsvTable(place).numbers([0, 1]).tolist() == [[1.0, 22222222.0]] * 9 + [[3.0, 4.0]]


def assert_same(found: float, expected: float) -> None:
    assert math.isnan(found) if math.isnan(expected) else found.hex() == expected.hex()


def numbers(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    joined = "".join(texts).encode()
    ends = np.cumsum([0, *map(len, texts)])
    out, unsure = np.empty(len(texts)), np.empty(len(texts), dtype=np.int64)
    spans = np.column_stack([ends[:-1], ends[1:]])
    asked = find_numbers(np.frombuffer(joined, dtype=np.uint8), spans, out, unsure)
    return out, unsure[:asked]


def test_numbers_are_the_nearest_doubles() -> None:
    """What is near the middle of two doubles is asked of Python, and nothing else that is written as usual."""
    rng = np.random.default_rng(0)
    doubles = np.concatenate([rng.normal(size=3_000), 10.0 ** rng.uniform(-20, 20, 3_000) * rng.normal(size=3_000)])
    texts = [repr(float(x)) for x in doubles] + [f"{x:.17e}" for x in doubles[:2_000]] + [f"{x:.3f}" for x in doubles]
    texts += [str(i) for i in rng.integers(-(2**63), 2**63, 2_000)] + [
        "0",
        "-0",
        "+7",
        ".5",
        "5.",
        "-.5E+2",
        "0.000",
        "00012",
    ]
    found, unsure = numbers(texts)
    usual = [i for i, text in enumerate(texts) if len(text.strip("-+").split("e")[0].replace(".", "").lstrip("0")) < 18]
    assert len(set(usual) & set(unsure.tolist())) <= len(texts) // 100
    for i in set(range(len(texts))) - set(unsure.tolist()):
        assert_same(found[i], parse_number(texts[i]))
    middles = [str(int(2**53 + 2 * k + 1)) for k in range(50)] + [
        str(int(2**60 + 128 * (2 * k + 1))) for k in range(50)
    ]
    assert len(numbers(middles)[1]) == 100


@pytest.mark.parametrize(
    "text", [".", "-", "+", "e5", "1e", "1e+", "--1", "1-", "1_0", "0x1", "inf", "1.2.3", "1e5.", " 1", "1" * 25]
)
def test_what_is_not_plain_is_asked_of_the_grammar(text: str) -> None:
    assert numbers([text])[1].tolist() == [0]
