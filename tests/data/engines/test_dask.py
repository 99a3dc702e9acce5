"""Dask: the bits of memory, whatever becomes of the workers; errors of foreign code unheard; other records found out."""

import signal
import socket
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import hullabaloo as hb
from hullabaloo.curator.asked import Asked
from hullabaloo.data.engines import cluster, dask
from hullabaloo.data.engines.base import Reading, Task
from hullabaloo.data.parts import ChangedTable
from hullabaloo.errors import CapabilityError, HullabalooError, InvalidParameter, SchemaError
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.cli import conftest
from tests.data.column_names import broken, cases
from tests.data.engines import clusters, faults
from tests.data.engines.fits import FITS, NUMBERS, ONE, UNITS, N, batches, fitted, table, told
from tests.data.engines.test_units import check_sparse_units, sparse_table
from tests.data.test_kinds_of_columns import OBJECTS, READ, REFUSED, made
from tests.data.test_kinds_of_columns import told as made_of
from tests.data.test_sparse_lists import P, check_as_in_memory, lists_table

run = conftest.run
QUICK = ("units",)  # each of many questions is a task of every part
ARRAY = hb.Domain({"a": (-1, 1), "b": (-1, 1)}, target={"y": (-2, 2)}, records=N)
OUTER: dict[str, Any] = {
    "outer": {"a": (-9, 9), "y": (-9, 9)},
    "y": "y",
    "budget": hb.Budget(1.0, 1e-6),
    "test_key": bytes(32),
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with clusters.dask() as found:
        yield found


def frame(parts: int = 3, *, shuffled: bool = False) -> Any:
    from dask import dataframe

    whole = table().iloc[np.random.default_rng(5).permutation(N)] if shuffled else table()
    return dataframe.from_pandas(whole.reset_index(drop=True), npartitions=parts, sort=False)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(one, marks=pytest.mark.slow) for one in FITS if one not in QUICK)]
)
def test_bits_are_those_of_memory(name: str, client: Any) -> None:
    kept = hb.scan(frame(11, shuffled=True), client=client)
    found = {fitted(name, kept)}
    if name in ("several", "units by gradients"):
        found.add(fitted(name, hb.scan(frame(2), client=client, keep_bytes=0)))
    assert found == {fitted(name, table())}


@pytest.mark.few(1)
@pytest.mark.parametrize("keep", [0, 1 << 30])
def test_every_question_is_answered_as_in_memory(keep: int, client: Any) -> None:
    assert told(hb.scan(frame(11, shuffled=True), client=client, keep_bytes=keep)) == told(hb.scan(batches))


def test_an_array_is_read_by_the_names_of_its_columns(client: Any) -> None:
    from dask import array

    names = ["b", "a", "y"]
    model = hb.LinearRegression(domain=ARRAY, budget=ONE, test_key=bytes(32), solver="moments")
    given = array.from_array(table()[names].to_numpy(), chunks=(400, 2))
    found = [model.fit(one).release_.theta for one in (hb.scan(given, client=client, columns=names), table()[names])]
    assert np.array_equal(*found)


@pytest.mark.slow
def test_many_tasks_are_added_up_by_workers(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As few are where the fit was called."""
    asked = list[int]()
    plain = dask.DaskEngine._question
    monkeypatch.setattr(dask.DaskEngine, "_question", lambda *given: asked.append(len(given[3])) or plain(*given))
    source = hb.scan(frame(11, shuffled=True), client=client)
    found = {fitted("gradient", source)}
    before = len(asked)  # parts are asked as they are read (0), and alone while they are being kept
    monkeypatch.setattr(dask.DaskEngine, "_shares", lambda engine: [[part.key] for part in engine._kept])
    found.add(fitted("gradient", source))
    assert len(asked) > 2 * before
    assert set(asked) == {0, 11}
    assert found == {fitted("gradient", table())}


def test_a_part_is_read_and_asked_by_one_task(client: Any, tmp_path: Path) -> None:
    """And so never sent from one worker to another: 15 tasks of parts, 2 sums of 8 at most and one of these, and what is public of reading and of the question."""
    from dask import dataframe

    def done() -> int:
        return sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())

    table().to_parquet(tmp_path / "t.parquet", row_group_size=N // 15)
    given = dataframe.read_parquet(tmp_path / "t.parquet", split_row_groups=True)
    source, before = hb.scan(given, client=client, keep_bytes=0), done()
    assert fitted("moments", source) == fitted("moments", table())
    assert done() - before <= 15 + 2 + 1 + 2


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", [*READ, *REFUSED])
def test_a_column_of_any_kind_is_read_or_refused_as_in_memory(kind: str, client: Any, tmp_path: Path) -> None:
    """As of Arrow where a frame declares Arrow's types; as of pandas where it declares NumPy's, but for dates, which Dask knows."""
    from dask import dataframe

    (whole, place), roles = made(kind, tmp_path), ("small number", "class")
    for backend in ({}, {"dtype_backend": "pyarrow"}):
        source = hb.scan(dataframe.read_parquet(place, split_row_groups=True, **backend), client=client)
        as_objects = not backend and kind in OBJECTS and kind != "date32"
        assert list(made_of(source, roles)) == list(made_of(whole.to_pandas() if as_objects else whole, roles))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", cases())
def test_a_column_may_have_any_name(name: str, client: Any, tmp_path: Path) -> None:
    def named(whole: pa.Table) -> Any:
        from dask import dataframe

        return hb.scan(dataframe.from_pandas(whole.to_pandas(), npartitions=2), client=client)

    refuses = name == "twice, not needed"  # as pandas is, whose frames have a name once
    assert not list(broken(named, tmp_path, {name: cases()[name]}, refuses=refuses))


def test_whether_a_part_misses_a_truth_decides_nothing(client: Any, tmp_path: Path) -> None:
    """A part of truths with a hole is one of objects to Dask, and one without is of NumPy's bools: a record's cell ended the fit, after the charge."""
    from dask import dataframe

    domain = hb.Domain({"a": (-1, 1), "yes": (0, 1)}, target={"y": (-2, 2)}, records=N)
    for holes in (0, 1, N // 3):  # none, one, and all of the first part
        yes = pd.array(table()["b"] > 0, dtype="boolean")
        yes[:holes] = pd.NA
        whole = table().assign(yes=yes)
        plain = pa.Table.from_pandas(whole, preserve_index=False).replace_schema_metadata(None)
        parquet.write_table(plain, tmp_path / f"{holes}.parquet", row_group_size=N // 3)
        file = dataframe.read_parquet(tmp_path / f"{holes}.parquet", split_row_groups=True)
        model = hb.LinearRegression(domain=domain, budget=ONE, test_key=bytes(32), solver="moments")
        found = [model.fit(one).release_.theta for one in (hb.scan(file, client=client), whole)]
        assert np.array_equal(*found)


def read_group(number: int, place: Path) -> pd.DataFrame:
    return parquet.ParquetFile(place).read_row_group(number).to_pandas()


@pytest.mark.few(1)
@pytest.mark.parametrize("declared", [True, False], ids=["by the file", "by the first part"])
def test_whether_a_part_misses_a_number_decides_nothing_of_other_records(
    declared: bool, client: Any, tmp_path: Path
) -> None:
    """A part with a hole is one of floats to pandas, which rounds the names of others: one record without a name moved sums by a whole part's."""
    from dask import dataframe

    def sources(who: Any, hole: bool = True) -> tuple[Any, Any]:
        whole, place = table().assign(who=pd.array(who, dtype="Int64")), tmp_path / "table"
        whole.loc[3, "who"] = None if hole else whole["who"][3]
        plain = pa.Table.from_pandas(whole, preserve_index=False).replace_schema_metadata(None)
        parquet.write_table(plain, place, row_group_size=N // 3)
        parts = dataframe.from_map(read_group, range(3), args=(place,))
        found = dataframe.read_parquet(place, split_row_groups=True) if declared else parts
        return hb.scan(found, client=client), whole

    names, reading = np.arange(N) // 2, Reading(UNITS.encoding())
    assert len({fitted("units", one) for one in sources(names)}) == 1
    prices = PricedQueries(reading.encoding.facts, Neighbours.ADD_OR_REMOVE, N)
    query = prices.price("moments", mu=1.0, target_scale=1.0)
    asked, long = Task((), Asked.of(query, ())), names + 2**60
    sums = [query.total(sources(long, hole)[0].engine(reading).map_reduce(asked).state) for hole in (True, False)]
    assert np.linalg.norm(np.subtract(*sums)) <= query.sensitivity


@pytest.mark.slow
def test_sparse_lists_have_the_bits_of_memory(client: Any, tmp_path: Path) -> None:
    """Kept and read anew; columns that are no declared lists are refused."""
    from dask import dataframe

    whole = lists_table()
    for number in range(3):
        parquet.write_table(whole.slice(150 * number, 150), tmp_path / f"{number}.parquet")
    declared = dataframe.read_parquet(tmp_path, dtype_backend="pyarrow")
    check_as_in_memory("moments", whole, hb.scan(declared, client=client, sparse=P))
    source = hb.scan(declared, client=client, sparse=P, keep_bytes=0)
    model = check_as_in_memory("descent", whole, source)
    assert list(hb.predict(model, source, keep=["w"]).columns) == ["w", "predicted_y"]
    (tmp_path / "persons").mkdir()
    parquet.write_table(sparse_table(), tmp_path / "persons" / "0.parquet", row_group_size=800)
    persons = dataframe.read_parquet(tmp_path / "persons", dtype_backend="pyarrow", split_row_groups=True)
    check_sparse_units(persons, tmp_path, client=client)
    with pytest.raises(SchemaError, match="dtype_backend='pyarrow'"):
        hb.scan(dataframe.read_parquet(tmp_path), client=client, sparse=P)


def test_kept_parts_are_shared_out_among_threads_where_they_lie() -> None:
    """Each once, equal numbers for each thread; parts that are held are moved only beyond that, and others wait for nobody."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        threads = {f"tcp://{n}": int(rng.integers(1, 4)) for n in range(rng.integers(0, 5))}
        keys, known = list(range(rng.integers(1, 30))), [*threads, "tcp://gone"]
        where = {key: [known[at] for at in rng.integers(len(known), size=rng.integers(0, 3))] for key in keys}
        found, everywhere = dask.shares(keys, where, threads), sum(threads.values())
        assert sorted(key for share in found for key in share) == keys
        held = [key for key in keys if set(where[key]) & set(threads)]
        assert all([key] in found for key in set(keys) - set(held))
        assert all(1 <= len(share) <= -(-len(keys) // max(everywhere, 1)) for share in found)
        assert len(found) <= len(keys) - len(held) + everywhere
    lying = {key: [f"tcp://{key % 2}"] for key in range(8)}
    assert dask.shares(range(8), lying, {"tcp://0": 1, "tcp://1": 2}) == [[0, 2, 4], [1, 5, 6], [3, 7]]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_bits_are_those_of_any_number_of_workers(workers: int) -> None:
    with clusters.dask(workers) as client:
        for name in ("moments", "weights", "classes"):
            assert fitted(name, hb.scan(frame(7, shuffled=True), client=client)) == fitted(name, table())


def test_predictions_and_evaluations_are_those_of_memory(client: Any) -> None:
    model = FITS["moments"]().set_params(budget=ONE, test_key=bytes(32)).fit(table())
    source = hb.scan(frame(), client=client, batch_rows=400)
    assert np.array_equal(model.predict(source), model.predict(table()))
    told = [hb.evaluate(model, one, budget=ONE, test_key=bytes(32)) for one in (source, table())]
    assert str(told[0]) == str(told[1])
    bounds = [hb.private_bounds(one, **OUTER).bounds for one in (source, table())]
    assert bounds[0] == bounds[1]


def test_predictions_are_a_lazy_dataframe_that_workers_make(client: Any, tmp_path: Path) -> None:
    model = FITS["classes"]().set_params(budget=ONE, test_key=bytes(32)).fit(table())
    source = hb.scan(frame(), client=client)
    lazy = hb.predict(model, source, keep=["unused"], probabilities=True)
    found = client.compute(lazy).result()
    assert (
        list(lazy.columns)
        == list(found.columns)
        == ["unused", "predicted_ill", "probability_ill=no", "probability_ill=yes"]
    )
    assert list(found["unused"]) == list(range(N))
    assert list(found["predicted_ill"]) == list(model.predict(table()))
    assert np.allclose(found.iloc[:, 2:], model.predict_proba(table()))
    source.frame.write(lazy, str(tmp_path / "out"))
    assert len(pd.read_parquet(tmp_path / "out")) == N
    with pytest.raises(Exception, match="other columns") as caught:
        client.compute(hb.predict(model, hb.scan(of_function(read_failing, "types"), client=client))).result()
    assert type(caught.value) is cluster.TornPart


def test_a_parquet_folder_is_read_by_the_command_line(client: Any, tmp_path: Path) -> None:
    """By a cluster's address; integers with holes and other files than Parquet do not depend on other records."""
    from hullabaloo.cli import build
    from hullabaloo.cli.options import PartsOptions

    for number in range(2):
        part = table().iloc[number * 750 : (number + 1) * 750]
        part.astype({"unused": "Int64"}).to_parquet(tmp_path / f"{number}.parquet", index=False)
    source = build.table(str(tmp_path), NUMBERS, PartsOptions(engine="dask", address=client.scheduler.address))
    assert fitted("moments", source) == fitted("moments", table())
    (tmp_path / "table.csv").touch()
    for place, engine, address in (
        ("", "ray", None),
        ("", None, "tcp://host:1"),
        ("", "dask", None),
        ("table.csv", "dask", "tcp://host:1"),
    ):
        with pytest.raises(InvalidParameter):
            build.table(str(tmp_path / place), NUMBERS, PartsOptions(engine=engine, address=address))


def test_the_command_line_predicts_by_workers(client: Any, run: conftest.Run, tmp_path: Path) -> None:
    """A model from a file could not be sent to them, and what was written was said to have failed."""
    model = FITS["moments"]().set_params(budget=ONE, test_key=bytes(32)).fit(table())
    model.save("model.json")
    table().to_parquet(tmp_path / "table.parquet", index=False)
    engine = ("--engine", "dask", "--address", client.scheduler.address)
    made = run("predict", "model.json", "table.parquet", "--keep", "unused", "--out", "made", *engine, "--json")
    assert (made.code, made.json["columns"]) == (0, ["unused", "predicted_y"])
    assert np.allclose(pd.read_parquet(tmp_path / "made")["predicted_y"], model.predict(table()), rtol=1e-12)


@pytest.mark.slow
def test_killed_workers_change_no_bit_and_charge_nothing_twice(client: Any, tmp_path: Path) -> None:
    found = faults.of_dask(client, frame, 6, tmp_path)
    assert found["same bits"]
    assert found["longest silence"] < faults.LONGEST


@pytest.mark.slow
def test_killed_drivers_leave_a_charge_without_a_release_at_most(client: Any, tmp_path: Path) -> None:
    for number, address in enumerate((client.scheduler.address, None)):
        (tmp_path / str(number)).mkdir()
        faults.of_drivers(address, 3, tmp_path / str(number))


def read_changing(number: int, folder: str) -> pd.DataFrame:
    """A partition that is another one from the second time on."""
    seen = Path(folder) / str(number)
    again = seen.exists()
    seen.touch()
    part = table().iloc[number * 500 : (number + 1) * 500].reset_index(drop=True)
    if again and number == 1:
        part.loc[3, "y"] = 1.75
    return part


def read_failing(number: int, how: str) -> pd.DataFrame:
    part = table().iloc[number * 500 : (number + 1) * 500].reset_index(drop=True)
    if number == 1 and how == "raises":
        raise ValueError("SECRET Anna Meier")
    if number == 1 and how == "columns":
        part = part.rename(columns={"b": "SECRET"})
    return part.astype({"b": str}) if number == 1 and how == "types" else part


def of_function(function: Any, *given: Any) -> Any:
    from dask import dataframe

    return dataframe.from_map(function, [0, 1, 2], args=given, meta=table().iloc[:0])


def read_slowly(number: int, marks: str) -> pd.DataFrame:
    faults.mark(marks)
    return table().iloc[number * 50 : (number + 1) * 50].reset_index(drop=True)


@pytest.mark.parametrize(("name", "parts"), [("moments", 1), ("weights", 31)])
def test_an_interrupted_fit_is_taken_back(name: str, parts: int, client: Any, tmp_path: Path) -> None:
    """While parts are asked as they are read, and while they are kept: no worker reads on, the charge stays, and the client is as good as before."""
    from dask import dataframe

    ledger, marks = faults.ledger_of(tmp_path, neighbours="add-or-remove"), tmp_path / "marks"
    marks.mkdir()
    slow = dataframe.from_map(read_slowly, range(30), args=(str(marks),), meta=table().iloc[:0])
    model = FITS[name]().set_params(budget=ONE, neighbours="add-or-remove", ledger=ledger, dataset="records")
    with faults.signals(signal.default_int_handler):
        assert faults.interrupted(lambda: model.fit(hb.scan(slow, client=client)), marks, parts) < 10.0
    assert faults.count(marks, still=0.6) < 30 * (1 + parts // 30)
    assert not hasattr(model, "release_")
    assert len(ledger.charges("records")) == 1
    assert fitted(name, hb.scan(frame(), client=client)) == fitted(name, table())


def test_other_records_the_second_time_release_nothing(client: Any, tmp_path: Path) -> None:
    (tmp_path / "seen").mkdir()
    ledger = faults.ledger_of(tmp_path, neighbours="add-or-remove")
    model = FITS["weights"]().set_params(budget=ONE, neighbours="add-or-remove", ledger=ledger, dataset="records")
    source = hb.scan(of_function(read_changing, str(tmp_path / "seen")), client=client, keep_bytes=0)
    with pytest.raises(ChangedTable):
        model.fit(source)
    assert not hasattr(model, "release_")
    assert len(ledger.charges("records")) == 1


@pytest.mark.parametrize(
    ("how", "error"), [("raises", cluster.TornCluster), ("columns", cluster.TornPart), ("types", cluster.TornPart)]
)
def test_what_a_worker_says_when_it_fails_is_never_heard(how: str, error: Any, client: Any) -> None:
    model = FITS["moments"]().set_params(budget=ONE, neighbours="add-or-remove", test_key=bytes(32))
    source = hb.scan(of_function(read_failing, how), client=client)
    with pytest.raises(HullabalooError) as caught:
        model.fit(source)
    assert type(caught.value) is error or how == "columns"  # Dask itself may choose the columns
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__cause__ is None
    if how == "types":
        logs = str(client.get_worker_logs())
        assert not any(f"{value}"[:9] in logs for value in table()["a"].dropna().head(600).tail(50))


def test_a_cluster_without_workers_is_given_up(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dask import delayed

    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    monkeypatch.setattr(cluster, "POLL", 0.1)
    monkeypatch.setattr(client, "status", "lost")
    with pytest.raises(HullabalooError, match="lost too many of its workers"):
        cluster.unheard(lambda: dask.result(client, delayed(time.sleep)(2.0)))


def test_a_scheduler_that_never_answers_is_given_up(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits without an end hung a fit whose workers had all died."""
    import asyncio

    from dask import delayed

    class Silent:
        async def identity(self, **_: Any) -> Any:
            await asyncio.sleep(3600)

    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    monkeypatch.setattr(cluster, "POLL", 0.1)
    monkeypatch.setattr(client, "scheduler", Silent(), raising=False)
    start = time.monotonic()
    with pytest.raises(CapabilityError, match="could not be asked"):
        hb.scan(frame(), client=client)
    with pytest.raises(HullabalooError, match="lost too many of its workers"):
        cluster.unheard(lambda: dask.result(client, delayed(time.sleep)(5.0)))
    assert time.monotonic() - start < 20.0


def test_what_cannot_be_asked_is_refused_before_the_charge(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dask import array

    for columns in (None, ["a"]):
        with pytest.raises(SchemaError, match="as many as it has"):
            hb.scan(array.zeros((10, 2)), client=client, columns=columns)
    with pytest.raises(CapabilityError, match="no client in use"):
        hb.scan(frame())
    with pytest.raises(InvalidParameter, match=r"distributed\.Client"):
        hb.scan(frame(), client=3)
    monkeypatch.setattr(cluster, "PATIENCE", 5.0)
    for address in ("tcp://127.0.0.1:9", "nowhere"):
        with pytest.raises(CapabilityError, match="could not be asked"):
            hb.scan(frame(), client=address)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # listens, and says nothing
        start = time.monotonic()
        with pytest.raises(CapabilityError, match="could not be asked"):
            hb.scan(frame(), client=f"tcp://127.0.0.1:{silent.getsockname()[1]}")
        assert time.monotonic() - start < 20.0
    monkeypatch.setattr(cluster, "__version__", "0.0.9")
    with pytest.raises(CapabilityError, match="same version"):
        hb.scan(frame(), client=client)
