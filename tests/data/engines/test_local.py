"""Parts in this process: the same bits for any number of threads and parts, as many parts held as there are threads, and clean ends."""

import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hullabaloo as hb
from hullabaloo.curator import views
from hullabaloo.curator.asked import Asked
from hullabaloo.curator.views import AffineView, turned_rows
from hullabaloo.data.engines import turns
from hullabaloo.data.engines.base import Reading, Task
from hullabaloo.data.engines.local import Local
from hullabaloo.data.engines.turns import in_turn
from hullabaloo.data.threads import cores, share_cores
from hullabaloo.losses import Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.data.engines import fits
from tests.data.engines.sources import SOURCES, write_parts


def test_a_thread_that_shares_its_cores_begins_no_others() -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append((share_cores(), cores())))
    thread.start()
    thread.join()
    assert found == [(None, 1)]
    assert cores() >= 1


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_things_are_worked_on_in_turn_and_few_are_held(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "cores", lambda: threads)
    given, done, most = [0], [0], [0]

    def things() -> Iterator[int]:
        for i in range(40):
            given[0] += 1
            most[0] = max(most[0], given[0] - done[0])
            yield i

    def work(i: int) -> tuple[int, int]:
        time.sleep(0.001 * (i % 3))
        done[0] += 1
        return i, cores()

    assert list(in_turn(work, things())) == [(i, 1 if threads > 1 else cores()) for i in range(40)]
    assert most[0] <= threads + 1


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("where", ["work", "things"])
def test_a_fault_ends_all_threads(threads: int, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "cores", lambda: threads)

    def failing(i: int) -> int:
        if i == 7:
            raise KeyboardInterrupt
        return i

    before = threading.active_count()
    steps = in_turn(failing, range(20)) if where == "work" else in_turn(abs, map(failing, range(20)))
    with pytest.raises(KeyboardInterrupt):
        list(steps)
    assert threading.active_count() == before


def test_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.uniform(-1, 1, 900), "y": rng.uniform(-1, 1, 900)})
    domain = hb.Domain({"a": (-1, 1)}, target={"y": (-1, 1)}, records=900)
    found = set()
    for threads, rows in ((1, 900), (2, 77), (5, 150)):
        monkeypatch.setattr(turns, "cores", lambda threads=threads: threads)
        for solver in ("moments", "preconditioned_gradient"):
            model: Any = hb.LinearRegression(
                domain=domain, solver=solver, budget=hb.Budget(1.0, 1e-6), test_key=bytes(32)
            )
            found.add(
                (solver, model.fit(hb.scan(lambda: table, batch_rows=rows, keep_bytes=0)).release_.theta.tobytes())
            )
    assert len(found) == 2


def test_nothing_is_kept_where_one_question_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = pa.table({"a": np.linspace(-1, 1, 300), "y": np.linspace(-1, 1, 300)})
    domain = hb.Domain({"a": (-1, 1)}, target={"y": (-1, 1)}, records=300)
    made: list[Local] = []
    begin = Local.__init__
    monkeypatch.setattr(Local, "__init__", lambda self, *given: (made.append(self), begin(self, *given))[1])
    for solver, kept in (("moments", 0), ("preconditioned_gradient", 1)):
        model = hb.LinearRegression(domain=domain, solver=solver, inference=False, budget=hb.Budget(100.0, 1e-6))
        model.fit(hb.scan(lambda: table, cache=tmp_path))
        assert len(made.pop()._kept) == kept


@pytest.mark.parametrize("times", [0.9, 1.0, 1.9, 2.0])
def test_kept_parts_are_turned_once_for_a_matrix_where_there_is_room_for_twice_as_many(
    times: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four questions through two matrices: each part is turned for the first, which is asked of the file, and once a matrix where that may stay; else for each question, and nothing stays."""
    made, plain = [0], views.dense_turned
    monkeypatch.setattr(views, "dense_turned", lambda *given: (made.__setitem__(0, made[0] + 1), plain(*given)))
    fits.table().to_parquet(tmp_path / "t.parquet", row_group_size=500)
    encoding, rng = fits.WEIGHED.encoding(), np.random.default_rng(3)
    facts = encoding.facts
    size = fits.N * (facts.width + len(facts.targets)) * 8
    source = hb.scan(tmp_path / "t.parquet", batch_rows=500, keep_bytes=int(times * size))
    engine = source.engine(Reading(encoding))
    query = PricedQueries(facts, Neighbours.REPLACE_ONE, fits.N).price(
        "centred_gradient", loss=Squared(), mu=1.0, count=4
    )
    question, found = (np.ones(facts.width), AffineView(np.zeros(facts.width)), 0.5), []
    for matrix in np.repeat(rng.normal(size=(2, facts.width, facts.width)), 2, axis=0):
        task = Task((partial(turned_rows, matrix=matrix),), Asked.of(query, question))
        found.append(query.total(engine.map_reduce(task).state).tobytes())
    rows = fits.WEIGHED.encoding().encode(fits.WEIGHED.open(fits.table()), None)
    assert found[:2] == [found[0]] * 2
    assert found[2:] == [found[2]] * 2
    assert found[3] == query.exact(turned_rows(rows, matrix), *question).tobytes()
    assert made[0] == 1 + 3 * (3 if times >= 2.0 else 4)
    held = [part.rows.held for part in engine._kept]
    assert len(held) == 3 * (times >= 1.0)
    assert all(("turned" in one) == (times >= 2.0) for one in held)
    engine.map_reduce(Task((), Asked.of(query, question)))  # lengths of the rows as they are stay
    assert all("lengths" in one for one in held)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_parts(tmp_path_factory.mktemp("sources") / "parts")


@pytest.mark.few(len(fits.FITS))
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", fits.FITS)
def test_every_fit_has_the_bits_of_memory_from_every_source(
    name: str, source: str, parts: Path, tmp_path: Path
) -> None:
    """In parts that do not hold whole units, in another order, and read anew for each question."""
    scanned = hb.scan(SOURCES[source](parts), batch_rows=170, keep_bytes=0, cache=tmp_path)
    assert fits.fitted(name, scanned) == fits.fitted(name, fits.table())
