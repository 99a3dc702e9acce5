"""Many processes, clones, forks and kills: never overspent, never a row lost, never a release without its charge."""

import copy
import multiprocessing
import os
import pickle
import random
import threading
import time
from pathlib import Path

import pytest
from ledger_harness import KillResult, charge_together, kill_at_random

from hullabaloo.errors import BudgetExhausted
from hullabaloo.ledger import Ledger
from hullabaloo.privacy import Budget, GaussianEvent, SelectionEvent, gaussian_mu

on_a_file = pytest.mark.parametrize(
    "ledger_url", ["sqlite", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.slow])], indirect=True
)
"""Many processes start: fast on a file, whose locks are of our making; on a server in the long tests."""
FULL = Budget(1.0, 1e-6)
PART = Budget(0.01, 0.0)


@on_a_file
def test_several_processes_spend_exactly_the_budget(ledger: Ledger) -> None:
    """120 charges are tried and 100 fit: exactly 100 are accepted, and every accepted one has its row."""
    ledger.create("clinic", Budget(1.0, 1e-6), neighbours="replace-one")
    accepted, _ = charge_together(ledger, SelectionEvent(0.01), PART, processes=3, charges=40)
    rows = ledger.charges("clinic")
    assert sum(accepted) == len(rows) == 100
    assert [row.number for row in rows] == list(range(1, 101))
    assert len({row.what for row in rows}) == 100
    assert ledger.verify().status == "sound"


def _try(ledger: Ledger, noise: float) -> bool:
    try:
        ledger.charge("clinic", GaussianEvent(noise), budget=FULL, neighbours="replace-one", what="worker")
    except BudgetExhausted:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("filter", ["gdp", "renyi"])
def test_processes_spend_exactly_the_budget_of_the_gaussian_filters(sqlite_ledger: Ledger, filter: str) -> None:
    sqlite_ledger.create("clinic", FULL, neighbours="replace-one", filter=filter)
    noise = 5.0 / gaussian_mu(FULL, filter=filter)  # 25 of them fit
    with multiprocessing.get_context("fork").Pool(4) as pool:
        accepted = pool.starmap(_try, [(sqlite_ledger, noise)] * 40, chunksize=1)
    assert sum(accepted) == len(sqlite_ledger.charges("clinic")) == 25


def test_threads_take_turns(ledger: Ledger) -> None:
    ledger.create("clinic", Budget(0.1, 1e-6), neighbours="replace-one")
    accepted: list[int] = []

    def work() -> None:
        for _ in range(5):
            try:
                made = ledger.charge(
                    "clinic", SelectionEvent(0.01), budget=PART, neighbours="replace-one", what="thread"
                )
            except BudgetExhausted:
                return
            accepted.append(made.number)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(accepted) == list(range(1, 11))


def _spend(ledger: Ledger) -> int:
    return ledger.charge("clinic", SelectionEvent(0.01), budget=PART, neighbours="replace-one", what="worker").number


@pytest.mark.slow
@on_a_file
def test_clones_pickles_and_joblib_workers_spend_from_one_budget(ledger: Ledger) -> None:
    import joblib

    ledger.create("clinic", Budget(1.0, 1e-6), neighbours="replace-one")
    numbers = [_spend(ledger), _spend(copy.deepcopy(ledger)), _spend(pickle.loads(pickle.dumps(ledger)))]
    numbers += joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(_spend)(ledger) for _ in range(4))
    numbers += joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(_spend)(ledger) for _ in range(4))
    assert sorted(numbers) == list(range(1, 12))
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)


def test_scikit_learn_clones_the_reference_not_the_budget(sqlite_ledger: Ledger) -> None:
    from sklearn.base import BaseEstimator, clone

    class Estimator(BaseEstimator):
        def __init__(self, ledger: Ledger) -> None:
            self.ledger = ledger

    sqlite_ledger.create("clinic", Budget(0.02, 1e-6), neighbours="replace-one")
    copies = [clone(Estimator(sqlite_ledger)) for _ in range(2)]
    assert [_spend(one.ledger) for one in copies] == [1, 2]
    with pytest.raises(BudgetExhausted):
        _spend(clone(copies[0]).ledger)


@pytest.mark.timeout(30)
@pytest.mark.few(1)
def test_forks_in_the_middle_of_other_threads_charges(ledger: Ledger) -> None:
    """Every fork happens while a thread of the parent charges; the children charge too, and the counts agree."""
    ledger.create("clinic", Budget(10.0, 1e-6), neighbours="replace-one")
    stop, mine = threading.Event(), []

    def work() -> None:
        while not stop.is_set():
            mine.append(_spend(ledger))

    thread = threading.Thread(target=work)
    thread.start()
    children = []
    for _ in range(6):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                _spend(ledger)
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
        time.sleep(random.uniform(0.0, 0.02))
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    stop.set()
    thread.join()
    assert codes == [0] * 6
    numbers = [row.number for row in ledger.charges("clinic")]
    assert numbers == list(range(1, len(mine) + 6 + 1))


def _ready(ledger: Ledger) -> Ledger:
    ledger.create("clinic", Budget(1.0, 1e-6), neighbours="replace-one")
    return ledger


@pytest.mark.slow
@on_a_file
def test_ten_kills_never_leave_a_release_without_its_charge(ledger: Ledger, tmp_path: Path) -> None:
    _check(kill_at_random(_ready(ledger), tmp_path / "releases", kills=10, seed=1), ledger, kills=10)


@pytest.mark.slow
def test_a_hundred_kills_never_leave_a_release_without_its_charge(ledger: Ledger, tmp_path: Path) -> None:
    _check(kill_at_random(_ready(ledger), tmp_path / "releases", kills=100, seed=2), ledger, kills=100)


def _check(found: KillResult, ledger: Ledger, kills: int) -> None:
    assert found.releases_without_charge == 0
    assert found.gaps == 0
    assert 0 < found.releases <= found.charges <= found.releases + kills + 2
    assert ledger.verify().status == "sound"


@pytest.mark.few(1)
def test_two_processes_that_create_the_same_dataset(ledger: Ledger) -> None:
    fork = multiprocessing.get_context("fork")
    with fork.Pool(6) as pool:
        made = pool.map(_create, [ledger] * 6)
    assert sorted(made) == [False] * 5 + [True]
    assert [one.name for one in ledger.datasets()] == ["clinic"]


def _create(ledger: Ledger) -> bool:
    from hullabaloo.errors import LedgerError

    try:
        ledger.create("clinic", Budget(1.0, 1e-6), neighbours="replace-one")
    except LedgerError as error:
        if "exists there" not in str(error):
            raise
        return False
    return True
