"""A table that is read in parts gives the bits of the table in memory, in any parts and order, and is refused where it cannot."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, dataset, parquet

import hullabaloo as hb
from hullabaloo.data.engines import base
from hullabaloo.data.parts import ChangedTable
from hullabaloo.data.scan import ScannedTable
from hullabaloo.data.threads import cores
from hullabaloo.errors import CapabilityError, HullabalooError, InvalidParameter, SchemaError
from hullabaloo.noise import TestKey
from hullabaloo.queries import QUERIES

N, KEY, ONE = 1_500, TestKey(bytes(range(32))), hb.Budget(1.0, 1e-6)
FEATURES: dict[str, Any] = {"a": (-1, 1), "b": (-1, 1), "g": ["u", "v", "w"], "years": (0.5, 2)}
NUMBERS = hb.Domain(FEATURES, target={"y": (-2, 2)}, records=N)
WEIGHED = hb.Domain(FEATURES, target={"y": (-2, 2)}, weight=("weight", 2.0), records=N)
CLASSES = hb.Domain(FEATURES, classes={"ill": ["no", "yes"]}, records=N)
COUNTS = hb.Domain(FEATURES, target={"visits": (0, 8)}, records=N)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = np.random.default_rng(0)
    a, b, g = rng.uniform(-1, 1, N), rng.uniform(-1, 1, N), rng.integers(0, 3, N)
    mean = 0.5 * a - 0.3 * b + 0.2 * (g == 1)
    y = np.clip(mean + rng.normal(0, 0.2, N), -2, 2)
    holes = rng.random(N) < 0.05
    return pa.table(
        {
            "a": pa.array(np.where(holes, np.nan, a), from_pandas=True),
            "g": np.array(["u", "v", "w"])[g],
            "y": y,
            "b": b,
            "ill": np.where(y > 0, "yes", "no"),
            "visits": rng.poisson(np.exp(mean)).astype(float),
            "years": rng.uniform(0.5, 2.0, N),
            "weight": rng.uniform(0, 2, N),
            "unused": np.arange(N),
        }
    )


@pytest.fixture(scope="module")
def folder(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("scan")
    parquet.write_table(table, place / "one.parquet", row_group_size=400)
    csv.write_csv(table, place / "one.csv")
    (place / "two").mkdir()
    parquet.write_table(table.slice(0, 700), place / "two" / "1.parquet")
    parquet.write_table(table.slice(700), place / "two" / "2.parquet")
    return place


def sources(table: pa.Table, folder: Path, **kept: int) -> dict[str, ScannedTable]:
    shuffled = table.take(np.random.default_rng(1).permutation(N))
    return {
        "file": hb.scan(folder / "one.parquet", batch_rows=333, **kept),
        "folder": hb.scan(str(folder / "two"), **kept),
        "lines": hb.scan(folder / "one.csv", batch_rows=499, **kept),
        "dataset": hb.scan(dataset.dataset(folder / "two"), batch_rows=101, **kept),
        "function, other order": hb.scan(lambda: iter(shuffled.to_batches(max_chunksize=250)), **kept),
        "tables": hb.scan(lambda: (shuffled.slice(start, 600) for start in range(0, N, 600)), **kept),
        "reader": hb.scan(lambda: shuffled.to_reader(max_chunksize=N), **kept),
    }


FITS: dict[str, Callable[[], Any]] = {
    "moments": lambda: hb.LinearRegression(domain=NUMBERS, solver="moments"),
    "gradient": lambda: hb.LinearRegression(domain=NUMBERS, solver="gradient"),
    "adaptive": lambda: hb.LinearRegression(domain=NUMBERS, solver="adaptive_gradient"),
    "subspace": lambda: hb.LinearRegression(domain=NUMBERS, solver="subspace_descent"),
    "auto": lambda: hb.LinearRegression(domain=NUMBERS),
    "weights": lambda: hb.Ridge(domain=WEIGHED, solver="preconditioned_gradient"),
    "mirror": lambda: hb.LinearRegression(domain=NUMBERS, solver="mirror_descent", constraint=hb.L1Ball(1.0)),
    "frank-wolfe": lambda: hb.LinearRegression(domain=NUMBERS, solver="frank_wolfe", constraint=hb.L1Ball(1.0)),
    "classes": lambda: hb.LogisticRegression(domain=CLASSES, solver="preconditioned_gradient"),
    "auto, classes": lambda: hb.LogisticRegression(domain=CLASSES),
    "auto, counts": lambda: hb.PoissonRegressor(domain=COUNTS),
    "hinge": lambda: hb.LinearSVC(domain=CLASSES, solver="adaptive_gradient"),
    "counts": lambda: hb.PoissonRegressor(domain=COUNTS, exposure="years", solver="adaptive_gradient"),
    "quantile": lambda: hb.QuantileRegressor(domain=NUMBERS, solver="adaptive_gradient"),
    "huber": lambda: hb.HuberRegressor(domain=NUMBERS, solver="adaptive_gradient", neighbours="add-or-remove"),
}


QUICK = ("moments",)
"""Others ask many questions, each of which reads all anew: `engines/test_local.py` and `test_other_passes.py` ask them in the fast tests."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in FITS])
def test_bits_are_those_of_the_table_in_memory(name: str, table: pa.Table, folder: Path) -> None:
    """Without anything kept between questions; what is planned may differ from a table in memory under "auto" alone."""
    found = {}
    for kind, source in sources(table, folder, keep_bytes=0).items():
        if name not in ("moments", "weights") and kind not in ("file", "function, other order"):
            continue  # many questions, each of which reads all anew
        model = FITS[name]().set_params(budget=ONE, test_key=KEY).fit(source)
        found[kind] = model.release_.theta.tobytes(), str(model.statement_)
        if kind == "file":
            told = [getattr(model, "decision_function", model.predict)(one) for one in (source, table)]
            assert told[0] == pytest.approx(told[1], rel=1e-12, abs=1e-12)
    whole = FITS[name]().set_params(budget=ONE, test_key=KEY, solver=model.release_.plan["solver"]).fit(table)
    assert len(set(found.values())) == 1
    assert found["file"][0] == whole.release_.theta.tobytes()
    assert model.statement_.parted
    assert model.statement_.tier == 2
    assert re.search("read in parts.* windows.* met the same", str(replace(model.statement_, not_private="")))
    assert replace(model.statement_, parted=False, made=whole.statement_.made) == whole.statement_


def test_what_is_kept_between_questions_changes_no_bit(table: pa.Table, folder: Path) -> None:
    model = FITS["weights"]().set_params(budget=ONE, test_key=KEY)
    kept = model.fit(hb.scan(folder / "one.parquet", batch_rows=100)).release_.theta
    assert np.array_equal(kept, model.fit(table).release_.theta)


def test_evaluation_takes_parts(table: pa.Table, folder: Path) -> None:
    model = FITS["moments"]().set_params(budget=ONE, test_key=KEY).fit(table)
    told = [
        hb.evaluate(model, source, budget=ONE, test_key=KEY) for source in (table, *sources(table, folder).values())
    ]
    assert len({str(one) for one in told}) == 1


@pytest.mark.few(1)
@pytest.mark.parametrize("unit", [None, "unused"])
def test_private_bounds_take_parts(unit: str | None, table: pa.Table, folder: Path, tmp_path: Path) -> None:
    """With missing cells, a target by its column's name, and units whose records lie in several parts."""
    numbered = table.set_column(8, "unused", pa.array(np.arange(N) % 700))
    ranges = hb.Domain(
        {"a": (-9, 9), "b": (-50, 50)}, target={"y": (-9, 9)}, unit=unit, records_per_unit=unit and 2, records=N
    )
    asked: dict[str, Any] = {"outer": ranges, "budget": ONE, "test_key": KEY, "columns": ["a", "y"]}
    given = {"cache": tmp_path} if unit else {}
    shuffled = numbered.take(np.random.default_rng(1).permutation(N))
    found = {
        str(hb.private_bounds(one, **asked).bounds)
        for one in (numbered, *(hb.scan(lambda: iter(shuffled.to_batches(rows)), **given) for rows in (N, 170)))  # noqa: B023
    }
    assert len(found) == 1


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", ["weights", *(pytest.param(one, marks=pytest.mark.slow) for one in ("adaptive", "classes"))]
)
def test_no_more_parts_are_held_than_there_are_threads(
    name: str, table: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    import weakref

    live: list[weakref.ref[Any]] = []
    most = [0]
    plain = base.hashed

    def watched(rows: Any) -> int:
        live.append(weakref.ref(rows.X))
        most[0] = max(most[0], sum(one() is not None for one in live))
        return plain(rows)

    monkeypatch.setattr(base, "hashed", watched)
    FITS[name]().set_params(budget=ONE, test_key=KEY).fit(
        hb.scan(lambda: iter(table.to_batches(max_chunksize=100)), keep_bytes=0)
    )
    assert len(live) >= 15
    assert most[0] <= cores() + 1


def test_what_is_said_of_a_fit_under_way_is_how_many_questions_were_asked(
    table: pa.Table, capfd: pytest.CaptureFixture[str]
) -> None:
    found = []
    for some in (table, table.slice(0, 200)):
        model = FITS["weights"]().set_params(budget=ONE, test_key=KEY, neighbours="add-or-remove")
        model.fit(hb.scan(some, keep_bytes=0, verbose=True))
        said = capfd.readouterr().err.splitlines()
        bought = sum(one["answers"] for one in model.release_.plan["queries"])
        assert all(
            re.fullmatch(rf"{i} of at most {bought} questions asked of the table, \d+ s", line)
            for i, line in enumerate(said, 1)
        )
        found.append(len(said))
    assert found[0] == found[1] > 3
    FITS["moments"]().set_params(budget=ONE).fit(hb.scan(table))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["client", "verbose", "quoted_line_breaks"])
def test_an_option_that_would_do_nothing_is_refused(name: str, table: pa.Table, tmp_path: Path) -> None:
    parquet.write_table(table, tmp_path / "table.parquet")
    csv.write_csv(table, tmp_path / "table.csv")
    for source in (tmp_path / "table.parquet", str(tmp_path / "table.csv"), table, lambda: iter(table.to_batches())):
        for given in ("x", 1, object()):
            with pytest.raises(InvalidParameter, match=f"{name}= .*(Leave it out|Pass True or False)"):
                hb.scan(source, **{name: given})


# ---- sources that give other records the second time ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        pytest.param(change, kept, marks=[pytest.mark.slow] * (kept > 0 and change != "one cell"))
        for change in ("one cell", "one more", "one fewer", "one weight")
        for kept in (0, 1 << 28)
    ],
)
def test_other_records_the_second_time_release_nothing(kept: int, change: str, table: pa.Table, tmp_path: Path) -> None:
    """The charge stays, no answer after the first pass is made; a table that is kept is never read twice."""
    passes = [0]
    other = {
        "one cell": table.set_column(2, "y", pa.array([*table["y"].to_pylist()[:-1], 1.9])),
        "one more": pa.concat_tables([table, table.slice(0, 1)]),
        "one fewer": table.slice(1),
        "one weight": table.set_column(7, "weight", pa.array([0.5, *table["weight"].to_pylist()[1:]])),
    }[change]

    def read() -> Iterator[pa.RecordBatch]:
        passes[0] += 1
        return iter(
            (table if passes[0] <= 2 else other).to_batches(max_chunksize=400)
        )  # one for the schema, one for a question

    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("records", hb.Budget(2.0, 1e-5), neighbours="add-or-remove")
    model = FITS["weights"]().set_params(budget=ONE, neighbours="add-or-remove", ledger=ledger, dataset="records")
    if kept:
        model.fit(hb.scan(read, keep_bytes=kept))
        assert passes[0] == 2
        return
    with pytest.raises(ChangedTable, match="other records"):
        model.fit(hb.scan(read, keep_bytes=kept))
    assert not hasattr(model, "release_")
    assert len(ledger.charges("records")) == 1


@pytest.mark.parametrize("neighbours", ["replace-one", "add-or-remove"])
@pytest.mark.parametrize("when", range(5))
def test_what_a_reader_says_when_it_fails_is_never_heard(
    when: int, neighbours: str, table: pa.Table, tmp_path: Path
) -> None:
    """Whenever it fails, when the schema is asked for, records are counted, or read: no text of its own, no cause, no context."""
    calls = [0]

    def read() -> Iterator[pa.RecordBatch]:
        calls[0] += 1
        yield table.slice(0, 500).to_batches()[0]
        if calls[0] > when:
            raise ValueError("SECRET 1234")

    def fits() -> None:
        for _ in range(when + 1):
            FITS["moments"]().set_params(budget=ONE, neighbours=neighbours).fit(hb.scan(read, keep_bytes=0))

    with pytest.raises(OSError, match="could not be read") as caught:
        fits()
    error: BaseException | None = caught.value
    while error is not None:
        assert "SECRET" not in str(error)
        assert not isinstance(error, ValueError)
        error = error.__cause__ or error.__context__
    place = tmp_path / "odd.csv"
    place.write_text("a,b,g,years,y\n" + "0,0,u,1,0\n" * 200_000 + "SECRET,0,u,1,0\n")
    with pytest.raises(OSError, match="could not be read"):
        FITS["moments"]().set_params(budget=ONE).fit(hb.scan(dataset.dataset(place, format="csv")))


def test_a_reader_that_can_be_read_once_is_found_out(table: pa.Table) -> None:
    """Counted, it gives n records, and then none: noise alone is not released as a model of n records."""
    reader = table.to_reader()
    with pytest.raises(ChangedTable):
        FITS["moments"]().set_params(budget=ONE).fit(hb.scan(lambda: reader))


def test_records_are_counted_anew_for_each_fit(table: pa.Table) -> None:
    grown = [table.slice(0, 700)]
    source = hb.scan(lambda: iter([batch for part in grown for batch in part.to_batches()]))
    model = FITS["moments"]().set_params(budget=ONE)
    assert model.fit(source).statement_.records == 700
    grown.append(table.slice(700))
    assert model.fit(source).statement_.records == N


def test_nothing_between_batches_ends_no_table(table: pa.Table) -> None:
    batches: list[Any] = [*table.to_batches(max_chunksize=500)]
    with pytest.raises(OSError, match="could not be read"):
        FITS["moments"]().set_params(budget=ONE).fit(hb.scan(lambda: iter([batches[0], None, *batches[1:]])))


def test_batches_of_another_schema_stop_the_fit(table: pa.Table) -> None:
    others = table.drop_columns(["unused"])
    source = hb.scan(lambda: iter([*table.slice(0, 500).to_batches(), *others.slice(500).to_batches()]))
    with pytest.raises(OSError, match=r"could not be read.* another schema .* charge that was made stays") as caught:
        FITS["moments"]().set_params(budget=ONE, neighbours="add-or-remove").fit(source)
    assert "unused" not in str(caught.value)


def nested(table: pa.Table, name: str) -> pa.Table:
    """The table with a struct in a column."""
    place = table.schema.get_field_index(name)
    return table.set_column(place, name, pa.array([{"u": 1.0}] * len(table)))


def hive(table: pa.Table, place: Path) -> None:
    """A folder for each level, and one for records that have none."""
    for number, level in enumerate(["u", "v", "w", "__HIVE_DEFAULT_PARTITION__"]):
        (place / f"g={level}").mkdir()
        part = table.slice(375 * number, 375).drop_columns(["g"])
        parquet.write_table(part, place / f"g={level}" / "0.parquet")


ODD: dict[str, tuple[Callable[[pa.Table], dict[str, Any]], str]] = {
    "a file lacks a column": (
        lambda table: {"1": table, "2": table.drop_columns(["b"])},
        "no such column in some files",
    ),
    "files of other types": (
        lambda table: {"1": table, "2": table.set_column(3, "b", pa.array(["u"] * N))},
        "double in some files, string in some files",
    ),
    "a nested feature": (lambda table: {"1": nested(table, "b")}, "'b' has the declared type struct"),
    "a nested target": (lambda table: {"1": nested(table, "y")}, "'y' has the declared type struct"),
    "a file that is none": (lambda table: {"1": table, "2": b"a,b,g,years,y"}, "cannot be read as Parquet"),
    "a file of no bytes": (lambda table: {"1": b"", "2": table}, "cannot be read as Parquet"),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ODD)
def test_a_folder_of_odd_files_is_refused_before_the_charge(name: str, table: pa.Table, tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    made, says = ODD[name]
    for file, given in made(table).items():
        place = tmp_path / "odd" / f"{file}.parquet"
        _ = place.write_bytes(given) if isinstance(given, bytes) else parquet.write_table(given, place)
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("records", hb.Budget(2.0, 1e-5))
    for give in (lambda: tmp_path / "odd", lambda: hb.scan(tmp_path / "odd")):
        with pytest.raises(SchemaError, match=says):
            FITS["moments"]().set_params(budget=ONE, ledger=ledger, dataset="records").fit(give())
    assert not ledger.charges("records")


def test_files_of_no_rows_nested_columns_that_are_not_read_and_headers_in_no_unicode_change_no_bit(
    table: pa.Table, tmp_path: Path
) -> None:
    def bits(source: Any) -> bytes:
        return bytes(FITS["moments"]().set_params(budget=ONE, test_key=KEY).fit(source).release_.theta.tobytes())

    wanted = bits(table)
    for name, more in (("empty", table.slice(0, 0)), ("nested", nested(table.slice(0, 0), "unused"))):
        (tmp_path / name).mkdir()
        parquet.write_table(more, tmp_path / name / "0.parquet")
        parquet.write_table(table, tmp_path / name / "1.parquet")
        assert bits(hb.scan(tmp_path / name)) == bits(tmp_path / name) == wanted
    csv.write_csv(table, tmp_path / "odd.csv")
    head, _, body = (tmp_path / "odd.csv").read_bytes().partition(b"\n")
    (tmp_path / "odd.csv").write_bytes(head.replace(b"unused", b"us\xe9") + b"\n" + body)
    assert bits(hb.scan(tmp_path / "odd.csv")) == bits(tmp_path / "odd.csv") == wanted


@pytest.mark.parametrize("name", ["unused", "b"])
def test_a_name_that_occurs_twice_is_refused_where_it_is_declared(name: str, table: pa.Table, tmp_path: Path) -> None:
    """And beside the fit where it is not. A Parquet file with one was said to be damaged."""
    doubled = table.append_column(name, table["a"])
    (tmp_path / "folder").mkdir()
    for number, part in enumerate((doubled.slice(0, 700), doubled.slice(700))):
        parquet.write_table(part, tmp_path / "folder" / f"{number}.parquet")
    parquet.write_table(doubled, tmp_path / "one.parquet")
    csv.write_csv(doubled, tmp_path / "one.csv")
    model = FITS["moments"]().set_params(budget=ONE, test_key=KEY)
    wanted = model.fit(table).release_.theta
    places = [tmp_path / one for one in ("one.parquet", "one.csv", "folder")]
    for source in (doubled, *places, *map(hb.scan, (doubled, *places, lambda: iter(doubled.to_batches())))):
        if name == "unused":
            assert np.array_equal(model.fit(source).release_.theta, wanted)
        else:
            with pytest.raises(SchemaError, match="2 columns of that name"):
                model.fit(source)


def test_nothing_that_a_query_says_is_left_in_an_error(table: pa.Table, tmp_path: Path) -> None:
    """Not as a context either: it quotes cells."""
    texts = pl.from_arrow(table.append_column("word", pa.array(["SECRET"] * N))).lazy()
    query = texts.with_columns(pl.col("word").cast(pl.Float64).alias("a"))
    (tmp_path / "bad.parquet").write_bytes(b"SECRET" * 9)
    for source in (query, tmp_path / "bad.parquet"):
        with pytest.raises(SchemaError) as caught:
            FITS["moments"]().set_params(budget=ONE, test_key=KEY).fit(source)
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None


def test_a_level_that_a_folder_s_name_lacks_is_a_missing_one(table: pa.Table, tmp_path: Path) -> None:
    hive(table, tmp_path)
    levels = np.repeat(np.array(["u", "v", "w", None], dtype=object), 375)
    same = table.drop_columns(["g"]).append_column("g", pa.array(levels, pa.string()))
    found = [
        FITS["moments"]().set_params(budget=ONE, test_key=KEY).fit(given).release_.theta.tobytes()
        for given in (same, tmp_path, hb.scan(tmp_path))
    ]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("raised", "error", "match"),
    [
        (ValueError, SchemaError, "function or query .* raised ValueError when it was called"),
        (pa.ArrowInvalid, SchemaError, "raised ArrowInvalid"),
        (type("SECRET", (KeyError,), {}), SchemaError, "raised an error"),
        (MemoryError, MemoryError, "not enough memory"),
    ],
)
def test_a_function_that_fails_when_called_is_told_from_a_damaged_file(raised: Any, error: Any, match: str) -> None:
    def read() -> Any:
        raise raised("SECRET")

    with pytest.raises(error, match=match) as caught:
        hb.scan(read)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


def test_memory_that_is_short_between_batches_is_called_so(table: pa.Table) -> None:
    def read() -> Iterator[pa.RecordBatch]:
        yield table.to_batches()[0]
        raise MemoryError("SECRET")

    with pytest.raises(MemoryError, match=r"not enough memory .* charge that was made stays"):
        FITS["moments"]().set_params(budget=ONE, neighbours="add-or-remove").fit(hb.scan(read))


def test_an_empty_table_is_one_empty_part(table: pa.Table) -> None:
    nothing = table.slice(0, 0)
    model = FITS["moments"]().set_params(budget=ONE, neighbours="add-or-remove", test_key=KEY)
    theta = [model.fit(source).release_.theta for source in (nothing, hb.scan(nothing.to_reader))]
    assert np.array_equal(*theta)


# ---- what is refused, before anything is charged ---------------------------------------------------------------------


def test_queries_that_need_all_records_are_refused_before_the_charge(table: pa.Table, tmp_path: Path) -> None:
    source = hb.scan(table.to_reader)
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("records", hb.Budget(2.0, 1e-5))
    terms = {"budget": ONE, "ledger": ledger, "dataset": "records"}
    for solver in (
        "objective_perturbation",
        "output_perturbation",
        "coordinate_descent",
        "greedy_selection",
    ):
        model = hb.LinearRegression(domain=NUMBERS, solver=solver, **terms)
        with pytest.raises(CapabilityError, match="read in parts"):
            model.fit(source)
    apart = hb.LinearRegression(domain=hb.Domain(FEATURES, target=(-2, 2)), **terms)
    stream = hb.streaming.IncrementalRegression(domain=NUMBERS, horizon=N, every=500, **terms)
    units = hb.LinearRegression(
        domain=hb.Domain(FEATURES, target={"y": (-2, 2)}, unit="unused", records_per_unit=2, records=N), **terms
    )
    search = hb.PrivateSearchCV(
        hb.LinearRegression(domain=NUMBERS), {"penalty": [hb.SquaredL2Penalty(0.1), None]}, **terms
    )
    asked: list[Callable[[], Any]] = [
        lambda: apart.fit(source, np.zeros(N)),
        lambda: stream.fit(source),
        lambda: stream.partial_fit(source),
        lambda: units.fit(source),
        lambda: search.fit(source),
        lambda: hb.private_bounds(source, np.zeros(N), outer={"a": (-10, 10), "target": (-9, 9)}, **terms),
    ]
    for ask in asked:
        with pytest.raises((SchemaError, CapabilityError), match=r"parts"):
            ask()
    assert not ledger.charges("records")


def test_every_sum_and_choice_by_one_and_nothing_else_can_be_asked_of_parts() -> None:
    from hullabaloo.curator.query import Sum
    from hullabaloo.selection.choice import Choice

    assert {name for name, kind in QUERIES.items() if kind.in_parts} == {
        name for name, kind in QUERIES.items() if issubclass(kind, Sum | Choice)
    } - {"coordinate_gradient"} | {"quantiles"}


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("nowhere.parquet", "There is no file"),
        ([[1.0]], "again and again"),
        (lambda: [1, 2], "record batches"),
        (lambda: iter([]), "record batches"),
        (lambda: None, "could not be read"),
    ],
)
def test_what_is_no_source_is_refused(source: Any, says: str) -> None:
    with pytest.raises((HullabalooError, TypeError), match=says):
        hb.scan(source)


@pytest.mark.parametrize("keep", [-1, 1.5, "1 GB"])
def test_what_is_kept_is_a_number_of_bytes(keep: Any, folder: Path) -> None:
    with pytest.raises(InvalidParameter, match="bytes"):
        hb.scan(folder / "one.parquet", keep_bytes=keep)


@pytest.mark.parametrize("rows", [0, -1, 2**25, 1.5, True, math.nan])
def test_parts_have_a_whole_number_of_records(rows: Any, folder: Path) -> None:
    with pytest.raises(InvalidParameter, match="whole number"):
        hb.scan(folder / "one.parquet", batch_rows=rows)
