"""The template holds names and declared types, never a value; the description tells scales and costs."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hullabaloo.data import Domain, describe_table, domain_template, open_table
from hullabaloo.errors import DomainError

FRAME = pd.DataFrame({"age": [31, 47], "job title": ["SECRET", "SECRET"], "ok": [True, False], 'é"': [0.125, 0.375]})


def test_template_reads_no_value(tmp_path) -> None:
    path = tmp_path / "t.parquet"
    FRAME.to_parquet(path)
    for table in (FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME), path):
        text = domain_template(table)
        assert "SECRET" not in text
        assert "31" not in text
        assert "0.125" not in text
        assert 'age = ["FILL IN lower bound", "FILL IN upper bound"]' in text
        assert "ok = [false, true]" in text
        with pytest.raises(DomainError, match="placeholder"):
            Domain.from_toml(text)


def test_template_leaves_out_the_index_that_pandas_writes(tmp_path) -> None:
    FRAME.set_index(pd.Index(["k", "m"])).to_parquet(tmp_path / "t.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "t.parquet").names
    assert "__index" not in domain_template(tmp_path / "t.parquet")
    FRAME.to_parquet(tmp_path / "plain.parquet")
    assert domain_template(tmp_path / "t.parquet") == domain_template(tmp_path / "plain.parquet")


def test_template_of_csv_has_names_only_and_can_be_filled(tmp_path) -> None:
    path = tmp_path / "t.csv"
    FRAME.to_csv(path, index=False)
    text = domain_template(path)
    assert "SECRET" not in text
    filled = (
        text.replace('target = "FILL IN: bounds or classes of the column to predict"', 'target = { "é\\"" = [0, 1] }')
        .replace('records = "FILL IN: a rough number of records that may be public"', "records = 2")
        .replace('age = "FILL IN: [lower, upper] of a number, or a list of levels"', "age = [0, 100]")
        .replace('"job title" = "FILL IN: [lower, upper] of a number, or a list of levels"', '"job title" = ["a", "b"]')
        .replace('ok = "FILL IN: [lower, upper] of a number, or a list of levels"', "ok = [false, true]")
    )
    filled = "\n".join(line for line in filled.splitlines() if not line.startswith('"é') and "FILL IN" not in line)
    domain = Domain.from_toml(filled)
    assert domain.feature_names == ("age", "job title", "ok")
    assert domain.encoding_for(path).encode(path).X.shape == (2, 9)


def test_unusable_types_are_named_in_a_comment(tmp_path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"l": [[1], [2]], "n": [1.0, 2.0]}), path)
    assert "# l: the declared type list" in domain_template(path)
    assert "x1 = " in domain_template(np.zeros((2, 2)))


def test_every_placeholder_left_is_refused() -> None:
    for text in (
        '[features]\na = ["FILL IN lower bound", 3]',
        '[features]\na = { lo = "FILL IN", hi = 3 }',
        '[features]\na = { levels = ["FILL IN"] }',
        'target = ["FILL IN", 1]\n[features]\na = [0, 1]',
        'records = "FILL IN"\n[features]\na = [0, 1]',
        'classes = ["FILL IN"]\n[features]\na = [0, 1]',
    ):
        with pytest.raises(DomainError, match="placeholder"):
            Domain.from_toml(text)


def test_describe_prints_every_scale_and_cost() -> None:
    text = Domain(
        features={
            "age": (17, 90),
            "job": ["a", "b"],
            "pay": {"lo": 0, "hi": 9, "transform": "log1p", "indicator": False},
        },
        target={"los": (0, 30)},
        interactions=[("age", "job")],
        weight=("w", 4),
        unit="u",
        records_per_unit=3,
        records=1000,
    ).describe()
    for part in (
        "(age - 53.5) / 36.5",
        "age:missing",
        "job=b",
        "(log1p(pay) - 1.15129) / 1.15129",
        "20.0%",
        "B = 2.236 (l2)",
        "from 2.236 to 2",
        "× 0.894",
        "× 0.800",
        "(y - 15) / 15",
        "[0, 4]: noise is × 2",
        "× 3",
        "1000",
    ):
        assert part in text, part
    assert "radius 2" in Domain(row_norm=("l1", 2), classes=[0, 1]).describe()
    assert "clipped to l2 norm 1.5" in Domain(features={"a": (0, 1)}, row_norm=1.5).describe(fit_intercept=False)


def test_describe_table_counts_records_by_the_parser_that_reads_them(tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x\ny"\n\n2\n', encoding="utf-8")
    assert describe_table(path).n_rows == 3
    assert describe_table(open_table(path, quoted_line_breaks=True)).n_rows == 2
    assert describe_table(path, count=False).n_rows is None
    assert describe_table(FRAME).names == ("age", "job title", "ok", 'é"')
