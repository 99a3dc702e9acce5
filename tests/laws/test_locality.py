"""The law of locality, on every reader and source of the package: see `tests/laws/locality.py`."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hullabaloo
from hullabaloo.data import Table
from hullabaloo.data.labels import label_of, unit_of
from hullabaloo.data.numbers import number_of
from hullabaloo.data.readers import opening as readers
from hullabaloo.data.records import table_of
from hullabaloo.data.sources import StreamSource
from hullabaloo.streaming.model import encoder_of
from tests.laws import hostile, locality
from tests.laws.encoded import CLASSES, UNITS
from tests.laws.from_files import from_redis
from tests.laws.reader import Reader
from tests.laws.readers import READERS, all_readers
from tests.streaming import redis_server


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    try:
        with redis_server.server() as found:
            yield found
    except redis_server.NoServer as reason:
        pytest.skip(str(reason))


def concrete(base: type) -> set[str]:
    """Every class of the package below a base that can be made, found by importing all of it."""
    for found in pkgutil.walk_packages(hullabaloo.__path__, "hullabaloo."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    below, more = set[type](), [base]
    while more:
        for one in more.pop().__subclasses__():
            below.add(one)
            more.append(one)
    return {one.__name__ for one in below if not inspect.isabstract(one) and one.__module__.startswith("hullabaloo.")}


def test_no_reader_is_left_out() -> None:
    """A new table, source or suffix comes here with hostile records of its own, or does not come."""
    tried = [*READERS, *from_redis("redis://nowhere")]
    assert {one.opens for one in tried} == concrete(Table) - {"ScannedTable"}  # whose parts are tables of other readers
    assert {one.source for one in tried} - {""} == concrete(StreamSource)
    known = set(re.findall(r'"(\.[a-z]+)"', inspect.getsource(readers._open_path)))
    assert {".csv", ".parquet"} <= known == {one.suffix for one in tried} - {""}


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@pytest.mark.few(34)
def test_a_row_is_a_function_of_its_record_alone(reader: Reader, tmp_path: Path) -> None:
    assert locality.tried(reader, tmp_path, pool=reader.few, sizes=(2, 1025), paired=(193,)) > 3000


@pytest.mark.redis
@pytest.mark.parametrize("place", [0, 1])
def test_a_row_is_a_function_of_its_entry_alone(redis_url: str, place: int, tmp_path: Path) -> None:
    reader = from_redis(redis_url)[place]
    assert locality.tried(reader, tmp_path, pool=16, sizes=(2, 1025), paired=(193,)) > 3000


PERSONS = ("NumPy, objects", "records one by one", "pandas, objects", "Polars, String", "Arrow table, string")


@pytest.mark.parametrize("name", PERSONS)
def test_what_a_unit_adds_is_a_function_of_its_records_alone(name: str, tmp_path: Path) -> None:
    """Of each person's records the same ones count, as the same bytes, whoever else is there and between which they stand."""
    reader = replace(next(one for one in READERS if one.name == name), domain=UNITS)
    rng = np.random.default_rng(7)
    pool = reader.pool(60, 7)
    people = [record[5] for record in pool[:22]] + [text for text in hostile.TEXTS if len(text) > 99] + ["a"]
    records = [
        (*pool[i][:5], people[j]) for i, j in zip(rng.integers(60, size=193), rng.integers(25, size=193), strict=True)
    ]
    owners = [
        unit_of(cell.decode("utf-8", "replace") if name[:5] == "Arrow" and isinstance(cell, bytes) else cell)
        for *_, cell in records
    ]

    def added(chosen: list[int]) -> dict[int, bytes]:
        rows = locality.read(reader, [records[i] for i in chosen], tmp_path, rng)
        assert len(rows) == len(chosen)
        return {i: row for i, row in zip(chosen, rows, strict=True) if row[-8:] != bytes(8)}

    together = added(list(range(len(records))))
    assert all(owners[i] is not None for i in together)
    for owner in set(owners) - {None}:
        own = [i for i, other in enumerate(owners) if other == owner]
        found = added(own)
        assert found == {i: row for i, row in together.items() if owners[i] == owner}
        assert len(found) == min(len(own), UNITS.records_per_unit)


def test_the_row_of_a_prediction_is_the_row_of_a_table() -> None:
    """Predictions of single records have a reader of their own; it reads what the table's reader does, byte for byte."""
    records = hostile.objects(200, 3)
    encoding = CLASSES.encoding_for(table_of(records, hostile.COLUMNS, 6))
    whole = encoding.features(table_of(records, hostile.COLUMNS, 6))
    alone = encoder_of(encoding)
    for record, row in zip(records, whole, strict=True):
        assert alone(dict(zip(hostile.COLUMNS, record, strict=True))).tobytes() == row.tobytes(), locality.show(record)


def test_a_cell_is_the_same_number_and_label_however_the_process_is_set() -> None:
    with locality.odd_process():
        found = [(label_of(cell), np.float64(number_of(cell)).tobytes()) for cell in hostile.OBJECTS]
    for cell, seen in zip(hostile.OBJECTS, found, strict=True):
        assert seen == (label_of(cell), np.float64(number_of(cell)).tobytes()), locality.show(cell)


@pytest.mark.parametrize("size", [1, 2, 64])
def test_the_generator_is_hostile_in_every_column(size: int) -> None:
    """Every hostile cell stands in every column of some record, so that no reader is tried on harmless ones alone."""
    count = len(hostile.OBJECTS)
    for column in zip(*hostile.spread(hostile.OBJECTS, count, size), strict=True):
        assert {id(cell) for cell in column} == {id(cell) for cell in hostile.OBJECTS}
    assert not any(b"\n" in line for line in (*hostile.csv_lines(300, size), *hostile.json_lines(300, size)))
    assert {*hostile.LINES} <= {*hostile.json_lines(300, size)}


@pytest.mark.slow
def test_a_million_pairs_of_a_record_and_its_neighbourhood() -> None:
    with all_readers() as every:
        pairs = dict(locality.every(every))
    assert len(pairs) == len({one.name for one in every})
    assert min(pairs.values()) >= 10_000
    assert sum(pairs.values()) >= 1_000_000
