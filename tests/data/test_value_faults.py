"""Faults of values never raise, never warn, never drop a row: they would reveal a record.

pytest turns warnings into errors, so a data-dependent warning fails these tests.
"""

import csv
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hullabaloo.data import Domain, describe_table

DOMAIN = Domain(
    features={"age": (17, 90), "job": ["clerk", "nurse"]},
    target={"los": (0, 30)},
    unit="who",
    records_per_unit=3,
    records=10,
    weight=("w", 2),
)
CLEAN = {"age": "30", "job": "clerk", "los": "4", "who": "p1", "w": "1"}
FAULTS = [
    "n/a",
    "7" * 10_000,
    'a "quoted"\rreturn, and a comma',
    "",
    "nan",
    "-1e999",
    "\x00",
    "\ufffd",
    "é\u2028",
    "1_0",
]
OBJECTS = [
    None,
    np.nan,
    np.inf,
    pd.NA,
    pd.NaT,
    Decimal("sNaN"),
    10**5000,
    True,
    [1],
    {},
    b"\xff",
    1j,
    pd.Timestamp(0),
    object(),
]


def write(path: Path, records: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(CLEAN))
        writer.writeheader()
        writer.writerows(records)
    return path


def outcome(table: object) -> tuple[object, ...]:
    """All that a caller can see of reading a table, values apart."""
    encoding = DOMAIN.encoding_for(table)
    rows = encoding.encode(table)
    assert np.isfinite(rows.X).all()
    assert (np.abs(rows.Y) <= 1).all()
    assert rows.weight is not None
    assert ((rows.weight >= 0) & (rows.weight <= 2)).all()
    return encoding.facts, rows.X.shape, rows.Y.shape, rows.weight.shape, describe_table(table).n_rows, repr(rows)


@pytest.mark.few(30)
@pytest.mark.parametrize("column", CLEAN)
@pytest.mark.parametrize("fault", range(len(FAULTS)))
def test_one_record_with_a_fault_changes_nothing_that_can_be_seen(tmp_path: Path, column: str, fault: int) -> None:
    clean = [dict(CLEAN, age=str(20 + i)) for i in range(4)]
    faulty = [*clean[:2], {**clean[2], column: FAULTS[fault]}, clean[3]]
    wanted = outcome(write(tmp_path / "clean.csv", clean))
    limit = csv.field_size_limit()
    assert outcome(write(tmp_path / "faulty.csv", faulty)) == wanted
    assert csv.field_size_limit() == limit
    frame = pd.DataFrame(faulty)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "faulty.parquet")
    for table in (frame, frame.astype(object), pl.from_pandas(frame), tmp_path / "faulty.parquet"):
        assert outcome(table) == wanted
    others = [0, 1, 3]
    encoding = DOMAIN.encoding()
    same = encoding.encode(tmp_path / "clean.csv").X[others]
    np.testing.assert_array_equal(encoding.encode(tmp_path / "faulty.csv").X[others], same)


@pytest.mark.few(2)
@pytest.mark.parametrize("column", CLEAN)
def test_objects_of_any_kind(column: str) -> None:
    clean = pd.DataFrame([CLEAN] * 3, dtype=object)
    for cell in OBJECTS:
        faulty = clean.copy()
        faulty.at[1, column] = cell
        assert outcome(faulty) == outcome(clean)


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    """Parquet does not check that text is UTF-8; reading such a cell must not fail."""
    bad = pa.array([b"clerk", b"\xff\xfe", None], pa.binary()).view(pa.string())
    table = pa.table({**{k: [v] * 3 for k, v in CLEAN.items()}, "job": bad})
    pq.write_table(table, tmp_path / "t.parquet")
    clean = pa.table({k: [v] * 3 for k, v in CLEAN.items()})
    for form in (table, tmp_path / "t.parquet", table.to_pandas(types_mapper=pd.ArrowDtype)):
        assert outcome(form) == outcome(clean)
    (tmp_path / "t.csv").write_bytes(b"age,job,los,who,w\n1,clerk\xff,3,p,1\n\xff,,,,\n3\n")
    assert outcome(tmp_path / "t.csv") == outcome(clean)


def test_every_kind_of_float_array_is_quiet() -> None:
    encoding = Domain(features={"a": (0, 1)}, target=(0, 1)).encoding()
    for dtype in (np.float16, np.float32, np.float64, np.longdouble):
        values = np.array([np.nan, np.inf, -np.inf, 0.5, -0.0, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype=dtype)
        rows = encoding.encode(values[:, None], values)
        assert rows.X[:, 0].tolist()[:4] == [0, 1, -1, 0]
        assert rows.Y[:4, 0].tolist() == [0, 1, -1, 0]


def test_no_records_at_all(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,job,los,who,w\n", encoding="utf-8")
    rows = DOMAIN.encoding().encode(tmp_path / "t.csv")
    assert (rows.X.shape[0], rows.Y.shape) == (0, (0, 1))
