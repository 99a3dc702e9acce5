"""Spark: the bits of memory, in executors of their own; errors unheard; other records found out."""

import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import hullabaloo as hb
from hullabaloo.data.engines import cluster, spark
from hullabaloo.data.parts import ChangedTable
from hullabaloo.errors import CapabilityError, HullabalooError, InvalidParameter, SchemaError
from tests.data.column_names import NAMES, broken, cases, model_of, table_of
from tests.data.engines import clusters, faults
from tests.data.engines.fits import FITS, KEY, NUMBERS, ONE, N, batches, fitted, table, told
from tests.data.engines.sources import write_parts
from tests.data.engines.test_dask import OUTER
from tests.data.engines.test_units import check_sparse_units, sparse_table
from tests.data.test_kinds_of_columns import READ, REFUSED, made
from tests.data.test_kinds_of_columns import told as made_of
from tests.data.test_sparse_lists import P, check_as_in_memory, lists_table

pytestmark = pytest.mark.filterwarnings("ignore")  # PySpark's own: of pandas 3, and of sockets that it leaves open
QUICK = ("moments",)  # of units Dask speaks: a question costs seconds here


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with clusters.spark() as found:
        yield found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_parts(tmp_path_factory.mktemp("spark"))


def write(folder: Path, order: Any) -> None:
    whole = pa.Table.from_pandas(table().iloc[order], preserve_index=False)
    for number in range(3):
        parquet.write_table(whole.slice(500 * number, 500), folder / f"{number}.parquet")


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(one, marks=pytest.mark.slow) for one in FITS if one not in QUICK)]
)
def test_bits_are_those_of_memory(name: str, session: Any, folder: Path) -> None:
    assert fitted(name, hb.scan(session.read.parquet(str(folder)))) == fitted(name, table())


@pytest.mark.slow
@pytest.mark.parametrize("keep", [0, 1 << 30])
def test_every_question_is_answered_as_in_memory(
    keep: int, session: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept, and of sums so large that executors add them up, too."""
    if keep:
        monkeypatch.setattr(spark, "LARGE", 0)
        monkeypatch.setattr(spark, "FEW", 2)
    assert told(hb.scan(session.read.parquet(str(folder)), keep_bytes=keep)) == told(hb.scan(batches))


UNREAD = ("half", "decimal256", "time64")
"""What Spark refuses to read of a Parquet file, or (a duration) reads as a number."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted({*READ, *REFUSED} - {*UNREAD, "duration"}))
def test_a_column_of_any_kind_is_read_or_refused_as_in_memory(kind: str, session: Any, tmp_path: Path) -> None:
    (whole, place), roles = made(kind, tmp_path), ("small number", "class")
    assert list(made_of(hb.scan(session.read.parquet(str(place))), roles)) == list(made_of(whole, roles))


def named(table: pa.Table, session: Any) -> Any:
    types = ", ".join(
        f"k{place} {'double' if kind == pa.float64() else 'long'}" for place, kind in enumerate(table.schema.types)
    )
    rows = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return hb.scan(session.createDataFrame(rows, types).toDF(*table.schema.names))


@pytest.mark.slow
@pytest.mark.parametrize("name", cases())
def test_a_column_may_have_any_name(name: str, session: Any, tmp_path: Path) -> None:
    """Names that differ in case alone, or have a dot or a backtick, ended a fit after its charge."""
    assert not list(broken(lambda table: named(table, session), tmp_path, {name: cases()[name]}, refuses=False))


@pytest.mark.slow
def test_predictions_keep_columns_of_any_name(session: Any, tmp_path: Path) -> None:
    case = cases()["some needed"]
    model, whole = model_of(case, test_key=KEY).fit(table_of(case)), table_of(case)
    lazy = hb.predict(model, named(whole, session), keep=NAMES)
    assert lazy.columns == [*NAMES, "predicted_y"]
    wanted = sorted(zip(*(whole[name].to_pylist() for name in NAMES), model.predict(whole), strict=True))
    assert np.allclose(sorted(map(tuple, lazy.collect())), wanted, rtol=1e-12)


@pytest.mark.slow
def test_a_time_that_no_role_reads_is_beside_the_fit(session: Any) -> None:
    """Any table with a timestamp was refused as if the cluster had failed."""
    whole = table().assign(at=pd.to_datetime("2020-01-01", utc=True))[["a", "b", "g", "y", "at"]]
    source = hb.scan(session.createDataFrame(whole))
    assert fitted("moments", source) == fitted("moments", whole)
    model = FITS["moments"]().set_params(budget=ONE, test_key=KEY).fit(source)
    assert [len(row) for row in hb.predict(model, source, keep=["at"]).collect()] == [2] * N


@pytest.mark.slow
def test_sparse_lists_have_the_bits_of_memory(session: Any, tmp_path: Path) -> None:
    whole = lists_table()
    parquet.write_table(whole, tmp_path / "0.parquet")
    source = hb.scan(session.read.parquet(str(tmp_path)), sparse=P)
    model = check_as_in_memory("moments", whole, source)
    assert hb.predict(model, source, keep=["w"]).columns == ["w", "predicted_y"]
    parquet.write_table(sparse_table(), tmp_path / "persons.parquet")
    check_sparse_units(session.read.parquet(str(tmp_path / "persons.parquet")), tmp_path)


@pytest.mark.slow
def test_a_parquet_folder_is_read_by_the_command_line(session: Any, folder: Path) -> None:
    from hullabaloo.cli import build
    from hullabaloo.cli.options import PartsOptions

    assert build.table(str(folder), NUMBERS, PartsOptions(engine="spark")).frame.n_rows == N


@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_an_address_where_nobody_listens_is_refused_before_spark_is_started(
    scheme: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark itself tries for two minutes, and the client of Spark Connect for ten; that one refuses whoever listens and says nothing, too."""
    clusters.needed("pyspark", java=True)
    clusters.needed("grpc")
    from hullabaloo.cli import build
    from hullabaloo.cli.options import PartsOptions

    monkeypatch.setattr(cluster, "PATIENCE", 5.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for port in (9, silent.getsockname()[1])[: 2 if scheme == "sc" else 1]:
            start = time.monotonic()
            with pytest.raises(InvalidParameter, match="Check --address"):
                build.table(str(folder), NUMBERS, PartsOptions(engine="spark", address=f"{scheme}://127.0.0.1:{port}"))
            assert time.monotonic() - start < 20.0


@pytest.mark.slow
def test_an_empty_table_and_predictions(session: Any, folder: Path) -> None:
    frame = session.read.parquet(str(folder))
    model = FITS["moments"]().set_params(budget=ONE, neighbours="add-or-remove", test_key=bytes(32))
    nothing = model.fit(hb.scan(frame.limit(0))).release_.theta
    assert np.array_equal(nothing, model.fit(table().iloc[:0]).release_.theta)
    assert np.allclose(np.sort(model.predict(hb.scan(frame, batch_rows=300))), np.sort(model.predict(table())))
    lazy = hb.predict(model, hb.scan(frame), keep=["unused", "g"])
    assert lazy.columns == ["unused", "g", "predicted_y"]
    found = {row[0]: (row[1], row[2]) for row in lazy.collect()}
    for row, wanted in enumerate(model.predict(table())[:50]):
        assert found[row] == (table()["g"][row], pytest.approx(wanted))
    bounds = [hb.private_bounds(one, **OUTER).bounds for one in (hb.scan(frame), table())]
    assert bounds[0] == bounds[1]


@pytest.mark.slow
def test_other_records_the_second_time_release_nothing(session: Any, tmp_path: Path) -> None:
    write(tmp_path, np.arange(N))
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("records", hb.Budget(2.0, 1e-5), neighbours="add-or-remove")
    source = hb.scan(session.read.parquet(str(tmp_path / "*.parquet")), keep_bytes=0)
    ask, asked = spark.SparkEngine.map_reduce, []

    def change(self: Any, task: Any) -> Any:
        if asked:
            part = parquet.read_table(tmp_path / "1.parquet").to_pandas()
            part.loc[3, "y"] = 1.75
            parquet.write_table(pa.Table.from_pandas(part, preserve_index=False), tmp_path / "1.parquet")
        asked.append(1)
        return ask(self, task)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark.SparkEngine, "map_reduce", change)
        model = FITS["weights"]().set_params(budget=ONE, neighbours="add-or-remove", ledger=ledger, dataset="records")
        with pytest.raises((ChangedTable, cluster.TornCluster)):  # Spark itself may notice the file's size
            model.fit(source)
    assert not hasattr(model, "release_")
    assert len(ledger.charges("records")) == 1


def test_what_an_executor_says_when_it_fails_is_never_heard(session: Any, folder: Path) -> None:
    import traceback

    from pyspark.sql import functions

    frame = session.read.parquet(str(folder))
    broken = frame.withColumn("y", functions.raise_error(functions.lit("SECRET Anna Meier")).cast("double"))
    model = FITS["moments"]().set_params(budget=ONE, neighbours="add-or-remove", test_key=bytes(32))
    with pytest.raises(HullabalooError, match="cluster") as caught:
        model.fit(hb.scan(broken))
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(HullabalooError, match="no such column"):
        model.fit(hb.scan(frame.drop("b")))
    with pytest.raises(SchemaError, match="at rest"):
        hb.scan(frame.groupBy("g"))


def slowly(marks: str, batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        faults.mark(marks)
        yield batch


@pytest.mark.few(1)
@pytest.mark.parametrize("own", [False, True], ids=["as in a notebook", "by PySpark's own handler"])
def test_an_interrupted_fit_is_taken_back(own: bool, session: Any, folder: Path, tmp_path: Path) -> None:
    """No executor reads on, the charge stays, and the session is as good as before: Spark's job went on where PySpark's own handler was not in use."""
    ledger, marks = faults.ledger_of(tmp_path, neighbours="add-or-remove"), tmp_path / "marks"
    marks.mkdir()
    frame = session.read.parquet(str(folder)).repartition(30)
    source = hb.scan(frame.mapInArrow(partial(slowly, str(marks)), frame.schema))
    model = FITS["moments"]().set_params(budget=ONE, neighbours="add-or-remove", ledger=ledger, dataset="records")
    with faults.signals(signal.getsignal(signal.SIGINT) if own else signal.default_int_handler):
        assert faults.interrupted(lambda: model.fit(source), marks) < 10.0
    assert faults.count(marks, still=0.6) < 30
    assert not session.sparkContext.statusTracker().getActiveJobsIds()
    assert not hasattr(model, "release_")
    assert len(ledger.charges("records")) == 1
    for name in QUICK:
        assert fitted(name, hb.scan(session.read.parquet(str(folder)))) == fitted(name, table())


class Deserted:
    """A dataframe of a session of which Spark says that so many executors are left."""

    def __init__(self, frame: Any, executors: int) -> None:
        self.collect, self.sparkContext = frame.collect, self
        self._context = frame.sparkSession.sparkContext
        inside = {
            "isLocal": lambda: False,
            "getExecutorMemoryStatus": lambda: SimpleNamespace(size=lambda: 1 + executors),
        }
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(**inside))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def sleeping(batches: Iterator[Any]) -> Iterator[Any]:
    time.sleep(4.0)
    yield from batches


@pytest.mark.slow
@pytest.mark.parametrize("executors", [0, 1])
def test_a_job_is_given_up_where_no_executor_is_left_and_only_there(
    executors: int, session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark waits for executors without an end; the session is as good as before."""
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    monkeypatch.setattr(cluster, "POLL", 0.1)
    frame = session.range(1).mapInArrow(sleeping, "id long")
    start, deserted = time.monotonic(), Deserted(frame, executors)
    if executors:
        assert [row[0] for row in spark._collected(deserted, lambda: deserted)] == [0]
    else:
        with pytest.raises(cluster.TornCluster):
            cluster.unheard(lambda: spark._collected(deserted, lambda: deserted))
        assert time.monotonic() - start < 3.5
    assert not session.sparkContext.getJobTags()
    assert session.range(3).count() == 3


def test_a_job_is_cancelled_until_it_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark knows nothing of a job that it is still planning, and cancels none then: it would wait without an end where it was told once."""
    monkeypatch.setattr(cluster, "POLL", 0.01)
    told, found = list[str](), Future[Any]()

    def cancel(tag: str) -> None:
        told.append(tag)
        if len(told) == 3:
            found.set_result([])
        raise RuntimeError("what Spark says meanwhile is not heard")

    spark._take_back(SimpleNamespace(cancelJobsWithTag=cancel), "one", found)
    assert told == ["one"] * 3
    monkeypatch.setattr(cluster, "PATIENCE", 0.02)
    spark._take_back(SimpleNamespace(cancelJobsWithTag=told.append), "two", Future())
    assert "two" in told


def test_another_version_is_refused_before_the_charge(
    session: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "__version__", "0.0.9")
    with pytest.raises(CapabilityError, match="same version"):
        hb.scan(session.read.parquet(str(folder)))


def alone() -> None:
    """Ends the session of the others: what calls this is last here."""
    clusters.needed("pyspark", java=True)
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        active.stop()


@pytest.mark.slow
def test_a_cluster_to_which_no_executor_comes_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker has fewer cores than an executor asks for; Spark's own job waits for ever."""
    alone()
    monkeypatch.setattr(cluster, "PATIENCE", 5.0)
    with clusters.spark("local-cluster[1,1,1024]", **{"spark.executor.cores": "2"}) as session:
        start = time.monotonic()
        with pytest.raises(CapabilityError, match="could not be asked"):
            hb.scan(session.createDataFrame([(1.0,)], "a double"))
        assert time.monotonic() - start < faults.LONGEST


@pytest.mark.slow
def test_killed_executors_change_no_bit_and_charge_nothing_twice(folder: Path, tmp_path: Path) -> None:
    """Executors in processes of their own, one killed at a random instant of each fit."""
    alone()
    found = faults.of_spark(folder, 4, tmp_path)
    assert found["same bits"] > 3
    assert found["longest silence"] < faults.LONGEST
