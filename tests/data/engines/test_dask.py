"""Dask: the bits of memory, whatever becomes of the workers; errors of foreign code unheard; other records found out."""

import contextlib
import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.data.engines import cluster, dask
from hullabaloo.data.parts import ChangedTable
from hullabaloo.errors import CapabilityError, HullabalooError, InvalidParameter, SchemaError
from tests.data.engines import clusters
from tests.data.engines.fits import FITS, NUMBERS, ONE, N, batches, fitted, table, told

QUICK = ("moments", "several", "units by gradients")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with clusters.dask() as found:
        yield found


def frame(parts: int = 3, *, shuffled: bool = False) -> Any:
    from dask import dataframe

    whole = table().iloc[np.random.default_rng(5).permutation(N)] if shuffled else table()
    return dataframe.from_pandas(whole.reset_index(drop=True), npartitions=parts, sort=False)


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(one, marks=pytest.mark.slow) for one in FITS if one not in QUICK)]
)
def test_bits_are_those_of_memory(name: str, client: Any) -> None:
    kept = hb.scan(frame(11, shuffled=True), client=client)
    found = {fitted(name, kept)}
    if name in ("several", "units by gradients"):
        found.add(fitted(name, hb.scan(frame(2), client=client, keep_bytes=0)))
    assert found == {fitted(name, table())}


@pytest.mark.parametrize("keep", [0, 1 << 30])
def test_every_question_is_answered_as_in_memory(keep: int, client: Any) -> None:
    assert told(hb.scan(frame(11, shuffled=True), client=client, keep_bytes=keep)) == told(hb.scan(batches))


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


def killed(client: Any, after: float) -> None:
    """Kill one worker, later."""
    time.sleep(after)
    with contextlib.suppress(ProcessLookupError, IndexError, OSError):
        os.kill(victims(client)[0], signal.SIGKILL)


def test_a_parquet_folder_is_read_by_the_command_line(client: Any, tmp_path: Path) -> None:
    """By a cluster's address; integers with holes and other files than Parquet do not depend on other records."""
    from hullabaloo.cli import build

    for number in range(2):
        part = table().iloc[number * 750 : (number + 1) * 750]
        part.astype({"unused": "Int64"}).to_parquet(tmp_path / f"{number}.parquet", index=False)
    source = build.in_parts(tmp_path, NUMBERS, "dask", client.scheduler.address)
    assert fitted("moments", source) == fitted("moments", table())
    for given in ((tmp_path, "ray", None), (tmp_path, None, "tcp://host:1"), (tmp_path / "table.csv", "dask", None)):
        with pytest.raises(InvalidParameter):
            build.in_parts(given[0], NUMBERS, *given[1:])


def victims(client: Any) -> list[int]:
    """Process numbers of workers, by the nannies that watch them."""
    found = [nanny.pid for nanny in client.cluster.workers.values() if getattr(nanny, "pid", None)]
    return [int(one) for one in np.random.default_rng(time.monotonic_ns()).permutation(found)]


def ledger_of(folder: Path, **terms: Any) -> Any:
    ledger = hb.Ledger(f"sqlite:///{folder}/ledger.db")
    ledger.create("records", hb.Budget(100.0, 1e-3), **terms)
    return ledger


def fits_among_kills(client: Any, kills: int, folder: Path) -> int:
    """Every fit has the bits of memory, or fails cleanly; one charge at most for each; none takes a minute. How many gave a model."""
    wanted, ledger, rng = fitted("weights", table()), ledger_of(folder), np.random.default_rng(kills)
    done, paid = 0, 0
    for number in range(kills):
        killer = threading.Thread(target=killed, args=(client, float(rng.uniform(0.0, 1.5))))
        killer.start()
        start = time.monotonic()
        with contextlib.suppress(HullabalooError):
            if number % 2:
                paid += 1
                terms = {"budget": hb.Budget(0.5, 1e-7), "ledger": ledger, "dataset": "records"}
                FITS["weights"]().set_params(**terms).fit(hb.scan(frame(4), client=client))
            else:
                assert fitted("weights", hb.scan(frame(6), client=client)) == wanted
            done += 1
        killer.join()
        assert time.monotonic() - start < 60.0
        assert len(ledger.charges("records")) <= paid
    return done


def test_killed_workers_change_no_bit_and_charge_nothing_twice(client: Any, tmp_path: Path) -> None:
    assert fits_among_kills(client, 2, tmp_path)


@pytest.mark.slow
def test_many_killed_workers(tmp_path: Path) -> None:
    with clusters.dask() as client:
        assert fits_among_kills(client, 30, tmp_path) > 15


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


def test_other_records_the_second_time_release_nothing(client: Any, tmp_path: Path) -> None:
    (tmp_path / "seen").mkdir()
    ledger = ledger_of(tmp_path, neighbours="add-or-remove")
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

    monkeypatch.setattr(dask, "PATIENCE", 0.5)
    monkeypatch.setattr(dask, "_POLL", 0.1)
    monkeypatch.setattr(client, "status", "lost")
    with pytest.raises(HullabalooError, match="lost too many of its workers"):
        cluster.unheard(lambda: dask.result(client, delayed(time.sleep)(2.0)))


def test_what_cannot_be_asked_is_refused_before_the_charge(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dask import array

    with pytest.raises(SchemaError, match="from_dask_array"):
        hb.scan(array.zeros((10, 2)), client=client)
    with pytest.raises(CapabilityError, match="no client in use"):
        hb.scan(frame())
    with pytest.raises(InvalidParameter, match=r"distributed\.Client"):
        hb.scan(frame(), client=3)
    monkeypatch.setattr(dask, "PATIENCE", 5.0)
    with pytest.raises(CapabilityError, match="could not be asked"):
        hb.scan(frame(), client="tcp://127.0.0.1:9")
    monkeypatch.setattr(cluster, "__version__", "0.0.9")
    with pytest.raises(CapabilityError, match="same version"):
        hb.scan(frame(), client=client)
