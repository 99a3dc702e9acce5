"""The law of locality: the encoded row of a record is the same bytes, in any batch, at any position, beside any other records.

Batches are read in a process that is set otherwise than the one in which each record is read alone.

    python -m tests.laws.locality

tries every reader in full and prints the pairs (record, neighbourhood) that were tried.
"""

import csv
import decimal
import locale
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from tests.laws.encoded import rows_of
from tests.laws.reader import Reader

SIZES = (1, 2, 3, 191, 192, 193, 1023, 1024, 1025, 4095, 4096, 4097)
"""Records of a batch around every threshold of the code."""
PAIRED = (2, 193, 1025)
"""Records of a batch in which one hostile record stands beside harmless ones only: alone it may take a path that others would close."""


Places = np.ndarray[Any, Any]


class Broken(AssertionError):
    """A record was not read as it is alone."""


@contextmanager
def odd_process() -> Iterator[None]:
    """Every setting of the process that a reader could heed is another one: digits, cells, decimals, locale, NumPy's errors."""
    digits, cell = sys.get_int_max_str_digits(), csv.field_size_limit()
    german = {"decimal_point": ",", "thousands_sep": ".", "grouping": [3, 0]}
    try:
        sys.set_int_max_str_digits(640)
        csv.field_size_limit(10)
        with (
            mock.patch.object(locale, "_override_localeconv", german),
            decimal.localcontext(prec=3),
            np.errstate(all="raise"),
        ):
            yield
    finally:
        sys.set_int_max_str_digits(digits)
        csv.field_size_limit(cell)


def read(reader: Reader, records: Sequence[Any], folder: Path, rng: np.random.Generator) -> list[bytes]:
    """The encoded rows of a batch; a warning is an error."""

    def saw(table: Any) -> None:
        if type(table).__name__ != reader.opens:
            raise Broken(f"{reader.name} is opened as {type(table).__name__}, and {reader.opens} is tried.")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return rows_of(reader.domain, reader.give(records, folder, rng), saw)


def batches(
    pool: int, sizes: Sequence[int], paired: Sequence[int], rng: np.random.Generator
) -> Iterator[tuple[str, Places]]:
    """Neighbourhoods, as places in the pool, whose first record is harmless."""
    for size in sizes:
        yield "beside all others", rng.integers(pool, size=size)
        few = np.zeros(size, dtype=np.int64)
        few[rng.integers(size, size=1 + size // 50)] = rng.integers(pool)
        few[rng.choice([0, -1])] = rng.integers(pool)
        yield "beside harmless ones and a few others", few
    for place in range(pool):
        size = paired[place % len(paired)]
        yield "beside harmless ones and its like", np.where(rng.random(size) < rng.choice([0.01, 0.5, 1.0]), place, 0)


def tried(
    reader: Reader, folder: Path, *, pool: int, sizes: Sequence[int], paired: Sequence[int], seed: int = 0
) -> int:
    """Try the law on one reader; the pairs (record, neighbourhood) that were.

    Raises:
        Broken: with the first record that was read otherwise than alone.
    """
    rng = np.random.default_rng(seed)
    records = reader.pool(pool, seed)
    alone: list[bytes] = []
    for record in records:
        found = read(reader, [record], folder, rng)
        if len(found) != 1:
            raise Broken(f"{reader.name}: one record is read as {len(found)}: {show(record)}")
        alone += found
    pairs = 0
    for how, places in batches(len(records), sizes, paired, rng):
        with odd_process():
            found = read(reader, [records[place] for place in places], folder, rng)
        if len(found) != len(places):
            raise Broken(f"{reader.name}: {len(places)} records {how} are read as {len(found)}.")
        for i, place in enumerate(places):
            if found[i] != alone[place]:
                raise Broken(
                    f"{reader.name}: {how}, record {i} of {len(places)} is read otherwise than alone: {show(records[place])}"
                )
        pairs += len(places)
    return pairs


def show(record: Any) -> str:
    try:
        return f"{record!r:.500}"
    except Exception:  # a hostile record may not be shown
        return "a record that cannot be shown"


def every(readers: Sequence[Reader]) -> Iterator[tuple[str, int]]:
    """The law in full on every reader; each with its pairs."""
    for seed, reader in enumerate(readers):
        with tempfile.TemporaryDirectory() as folder:
            yield reader.name, tried(reader, Path(folder), pool=150, sizes=SIZES, paired=PAIRED, seed=seed)


def main() -> None:
    from tests.laws.readers import all_readers

    total = 0
    with all_readers() as readers:
        for name, pairs in every(readers):
            total += pairs
            print(f"{pairs:10,}  {name}", flush=True)
    print(f"{total:10,}  pairs (record, neighbourhood)")


if __name__ == "__main__":
    main()
