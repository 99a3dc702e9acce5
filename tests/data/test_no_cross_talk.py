"""What a record becomes depends on that record alone (its weight: on its unit's), and nothing of it shows elsewhere."""

import csv
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hullabaloo.data import Domain, domain_template, open_table
from hullabaloo.data.labels import LevelIndex, label_of
from hullabaloo.errors import DomainError, SchemaError

NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
SAME = NOON.astimezone(timezone(timedelta(hours=1)))  # equal, with the same hash, and another text


def frame(**columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


@pytest.mark.parametrize(
    ("first", "others"),
    [
        (NOON, SAME),
        (pd.Timestamp(NOON), pd.Timestamp(SAME)),
        (time(12, tzinfo=UTC), time(13, tzinfo=timezone(timedelta(hours=1)))),
    ],
)
def test_an_equal_cell_of_another_record_does_not_decide_what_a_cell_is(first: object, others: object) -> None:
    assert first == others
    domain = Domain(features={"t": [str(first)]}, target=(0, 1))
    together = frame(t=[first, *[others] * 5])
    alone = frame(t=[others] * 6)
    encoded = [domain.encoding_for(t, np.zeros(6)).encode(t, np.zeros(6)).X for t in (together, alone)]
    assert np.array_equal(encoded[0][1:], encoded[1][1:])
    index = LevelIndex([str(first)])
    assert index.places([first, others]).tolist() == [index.place(first), index.place(others)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Decimal("12345678901234567890"), Decimal("12345678901234567891")),
        (Decimal("0.12345678901234567890"), Decimal("0.12345678901234567891")),
        (Decimal("1e400"), Decimal("1e401")),
        (Decimal("-123456789012345678e30"), Decimal("123456789012345678e30")),
        (1 << 128, (1 << 128) + 1),
        pytest.param(10**5000, -(10**5000), id="long"),
        (b"\xff", b"\xfe"),
        (NOON, SAME),
    ],
)
def test_two_people_never_share_a_unit_because_their_names_are_long(one: object, other: object) -> None:
    """Merged, one person's records would push the other's out: two units would change where one was to."""
    domain = Domain(features={"a": (0, 1)}, target={"y": (0, 1)}, unit="who", records=10)
    both = frame(a=[1.0, 1.0], y=[1, 1], who=[one, other])
    weight = domain.encoding_for(both).encode(both).weight
    assert weight is not None
    assert weight.tolist() == [1.0, 1.0]


def test_one_number_has_one_label_however_it_is_written() -> None:
    for cells in (
        [1, 1.0, "1", " 1", b"1", Decimal(1), Decimal("1.00"), np.int8(1), np.float32(1), Decimal("10E-1")],
        [
            12345678901234567890,
            "12345678901234567890",
            Decimal("12345678901234567890"),
            Decimal("1234567890123456789E1"),
        ],
        [0.1, Decimal("0.1"), Decimal("0.10")],
        [0.0, -0.0, 0, Decimal("-0"), Decimal("0E9")],
    ):
        assert len({label_of(cell) for cell in cells}) == 1, cells


def test_cells_of_a_list_are_never_asked_what_they_are() -> None:
    class Hostile:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError(name)

        def __len__(self) -> int:
            raise RuntimeError("length")

    domain = Domain(features={"a": (0, 1)}, target=(0, 1))
    X = np.zeros((3, 1))
    for cell, found in ((Hostile(), 0.0), ([1, 2], 1.0), (np.array([1.0, 2.0]), 1.0), ([], 0.0), (np.array(1.0), 0.0)):
        y = [0.5, cell, 1.0]
        assert domain.encoding_for(X, y).encode(X, y).Y[:, 0].tolist() == [0.0, found, 1.0]


def test_a_template_shows_no_type_that_only_values_could_tell() -> None:
    def line(table: object) -> str:
        return domain_template(table).splitlines()[-1]

    assert line(frame(c=["a", "b"])) == line(frame(c=["a", 3]))
    assert line(np.array([["a"]])) == line(np.array([["a longer cell"]]))
    assert "SECRET" not in line(pd.DataFrame({"c": pd.Categorical(["SECRET", "x"], ordered=True)}))
    assert "SECRET" not in line(pd.DataFrame({"c": pd.Categorical(["SECRET", "x"])}))


def test_a_lazy_query_that_fails_quotes_no_value() -> None:
    query = pl.DataFrame({"a": ["1", "SECRET"]}).lazy().with_columns(pl.col("a").cast(pl.Float64))
    with pytest.raises(SchemaError, match="could not be collected") as caught:
        open_table(query)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


def test_no_limit_of_the_process_decides_about_a_long_cell(tmp_path: Path) -> None:
    """Python's csv module has one for all readers: whoever lowered it made others stop at a long cell."""
    path = tmp_path / "long.csv"
    path.write_text("a\n1\n" + "7" * 500_000 + "\n")
    before = csv.field_size_limit(10)
    try:
        cells = open_table(path).cells(0)
    finally:
        csv.field_size_limit(before)
    assert [len(cell) for cell in cells] == [1, 500_000]


def test_a_unit_called_record_is_refused() -> None:
    """The statement would say "one record" of a guarantee for persons, and a ledger would take one for the other."""
    with pytest.raises(DomainError, match="word for a guarantee"):
        Domain(features={"a": (0, 1)}, unit="record", records_per_unit=5, records=10)
