"""What a record of a CSV file is: one line; or, where the domain declares `quoted_line_breaks`, what quotes make of lines."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.data import open_table
from hullabaloo.data.readers.csvfile import CsvTable
from hullabaloo.errors import DomainError, SchemaError
from hullabaloo.release import PrivacyStatement
from hullabaloo.streaming import CsvSource, IncrementalRegression

FEATURES = {"a": (0, 10), "c": ["x", "y"]}
LINES = hb.Domain(features=FEATURES, target={"t": (0, 10)}, records=500)
PARSED = hb.Domain(features=FEATURES, target={"t": (0, 10)}, records=500, quoted_line_breaks=True)
BUDGET = hb.Budget(1.0, 1e-6)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """500 records of one line, and one whose quoted cell holds a line break."""
    lines = [f"{i % 10},x,{i % 7}" for i in range(500)]
    lines.insert(250, '1,"x\n",2')
    made = tmp_path / "people.csv"
    made.write_text("\n".join(["a,c,t", *lines]) + "\n")
    return made


def test_the_declaration_is_public_and_written_only_where_it_is_made() -> None:
    assert "quoted_line_breaks" not in LINES.to_dict()
    assert PARSED.to_dict()["quoted_line_breaks"] is True
    assert hb.Domain.from_dict(PARSED.to_dict()) == PARSED != LINES
    assert hb.Domain.from_toml("row_norm = 1\nquoted_line_breaks = true\n").quoted_line_breaks
    assert "as parsed" in PARSED.describe()
    assert "as parsed" not in LINES.describe()
    for wrong in (None, 1, "yes"):
        with pytest.raises(DomainError, match="yes or no"):
            hb.Domain(features=FEATURES, quoted_line_breaks=wrong)  # type: ignore[arg-type]


def test_every_reading_of_a_file_counts_the_same_records(path: Path, tmp_path: Path) -> None:
    for domain, count in ((LINES, 502), (PARSED, 501)):
        assert domain.open(path).n_rows == count
        assert domain.encoding_for(path).encode(path).X.shape[0] == count
        assert (
            sum(batch.count for batch in CsvSource(path, quoted_line_breaks=domain.quoted_line_breaks).batches())
            == count
        )
        model = hb.Ridge(domain=domain, budget=BUDGET, solver="moments").fit(path)
        assert model.statement_.records == count
        assert len(model.predict(path)) == count
        assert hb.evaluate(model, path, budget=BUDGET).statement.records == count
        assert hb.private_bounds(path, outer=domain, budget=BUDGET, columns=["a"]).statement.records == count
        model.save(tmp_path / "model.json")
        again = hb.load(tmp_path / "model.json")
        assert len(again.predict(path)) == count
        assert again.statement_.lines() == model.statement_.lines()


def test_the_statement_says_that_records_are_as_parsed(path: Path) -> None:
    lines, parsed = (hb.Ridge(domain=domain, budget=BUDGET, solver="moments").fit(path) for domain in (LINES, PARSED))
    assert "parsed" not in str(lines.statement_)
    assert "quoted_line_breaks" not in lines.statement_.to_dict()
    assert "tables that differ in one record as parsed, replaced by any other" in str(parsed.statement_)
    assert "Records of a CSV file are records as parsed" in str(parsed.statement_)
    assert PrivacyStatement.from_dict(parsed.statement_.to_dict()).lines() == parsed.statement_.lines()
    card = hb.report.card(parsed).to_dict()
    assert card["guarantee"]["unit_text"] == "one record as parsed"
    assert "when one record as parsed in one of them is replaced" in card["guarantee"]["relation_text"]
    assert any("records as parsed" in note for note in card["domain"]["notes"])


def stream(domain: hb.Domain, **more: Any) -> IncrementalRegression:
    return IncrementalRegression(domain=domain, budget=BUDGET, horizon=1000, every=100, **more)


def test_a_table_with_other_records_than_declared_is_refused_before_the_charge(path: Path, tmp_path: Path) -> None:
    """Else a statement for records of one line would be made for records that an open quote joins."""
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("people", hb.Budget(5.0, 1e-5), neighbours="replace-one")
    book: dict[str, Any] = {"ledger": ledger, "dataset": "people"}
    fitted = hb.Ridge(domain=LINES, budget=BUDGET, solver="moments").fit(path)
    for domain, joined in ((LINES, True), (PARSED, False)):
        table = open_table(path, quoted_line_breaks=joined)
        given = np.zeros((table.n_rows, 2))
        for refused in (
            lambda d=domain, t=table: hb.Ridge(domain=d, budget=BUDGET, solver="moments", **book).fit(t),
            lambda d=domain, t=table: hb.private_bounds(t, outer=d, budget=BUDGET, **book),
            lambda d=domain, t=table: stream(d, **book).fit(t),
            lambda d=domain, j=joined: stream(d, **book).partial_fit(CsvSource(path, quoted_line_breaks=j).empty()),
            lambda d=domain, t=table, g=given: hb.Ridge(domain=d, budget=BUDGET, solver="moments", **book).fit(g, t),
        ):
            with pytest.raises(SchemaError, match="its records are others"):
                refused()
    with pytest.raises(SchemaError, match="its records are others"):
        hb.evaluate(fitted, open_table(path, quoted_line_breaks=True), budget=BUDGET, **book)
    with pytest.raises(SchemaError, match="its records are others"):
        fitted.predict(open_table(path, quoted_line_breaks=True))
    assert not ledger.charges("people")


def test_a_batch_with_other_records_than_declared_is_not_taken(path: Path) -> None:
    with stream(LINES) as open_stream:
        first = next(CsvSource(path).batches()).table
        open_stream.partial_fit(first)
        before = open_stream.position_
        with pytest.raises(SchemaError, match="its records are others"):
            open_stream.partial_fit(next(CsvSource(path, quoted_line_breaks=True).batches()).table)
        assert open_stream.position_ == before


def test_a_quote_that_the_header_leaves_open_ends_with_it(tmp_path: Path) -> None:
    """It made every line of the file a part of a column's name."""
    path = tmp_path / "people.csv"
    path.write_text('a,c,"t\n1,x,2\n3,y,4\n')
    assert CsvTable(path).schema.names == ("a", "c", "t")
    assert CsvTable(path).n_rows == 2


def test_lines_that_end_with_a_carriage_return_alone_are_refused(tmp_path: Path) -> None:
    """The whole file is one line then, and a domain without features would take its records for names of columns."""
    path = tmp_path / "people.csv"
    path.write_bytes(b"a,c,t\r1,x,2\r3,y,4\r")
    for read in (lambda: CsvTable(path), lambda: CsvSource(path).schema):
        with pytest.raises(SchemaError, match="Lines end with a line feed") as told:
            read()
        assert "3" not in str(told.value)
    path.write_bytes(b"a,c,t\r\n1,x,2\r\n3,y,4\r")
    assert CsvTable(path).numbers([0, 2]).tolist() == [[1.0, 2.0], [3.0, 4.0]]
