"""Many processes, clones, forks and kills: never overspent, never a row lost, never a release without its charge."""

import copy
import json
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hullabaloo.errors import BudgetExhausted
from hullabaloo.ledger import Ledger
from hullabaloo.privacy import Budget, GaussianEvent, SelectionEvent, gaussian_mu

WORKER = Path(__file__).with_name("ledger_worker.py")
FULL = Budget(1.0, 1e-6)
PART = Budget(0.01, 0.0)


def terms(event: object = None, budget: Budget = PART) -> str:
    return json.dumps({"event": (event or SelectionEvent(0.01)).to_dict(), "budget": budget.to_dict()})


def child(task: str, ledger: Ledger, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, WORKER, task, ledger.url, "clinic", *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def answers(children: list[subprocess.Popen[str]]) -> list[int]:
    """Start all children together, when all have imported what they need, and give how many charges each made."""
    for one in children:
        assert one.stdout.readline() == "ready\n"
    for one in children:
        one.stdin.write("go\n")
        one.stdin.flush()
    counts = [int(one.communicate(timeout=120)[0]) for one in children]
    assert [one.returncode for one in children] == [0] * len(children)
    return counts


def test_eight_processes_spend_exactly_the_budget(ledger: Ledger) -> None:
    """160 charges are tried and 100 fit: exactly 100 are accepted, and every accepted one has its row."""
    ledger.create("clinic", Budget(1.0, 1e-6), neighbours="replace-one")
    children = [child("charge", ledger, terms(), "20") for _ in range(8)]
    accepted = answers(children)
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


def kill_at_random(ledger: Ledger, folder: Path, kills: int, seed: int) -> tuple[int, int]:
    """Kill releasing children at random instants; return how many releases and rows there are after checking them."""
    released = folder / "releases.txt"
    wait = random.Random(seed)
    running = []

    def start() -> None:
        one = child("release", ledger, terms(SelectionEvent(1e-9), Budget(1e-9, 0.0)), str(released))
        running.append(one)

    for _ in range(2):
        start()
    for _ in range(kills):
        victim = running.pop(0)
        start()
        assert victim.stdout.readline() == "ready\n"
        time.sleep(wait.uniform(0.0, 0.05))
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
    for one in running:
        one.kill()
        one.communicate()
    rows = ledger.charges("clinic")
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    charged = {f"{row.number} {row.what}" for row in rows}
    lines = released.read_text().splitlines() if released.exists() else []
    assert set(lines) <= charged, "a release without its charge"
    assert len(lines) == len(set(lines))
    assert ledger.verify().status == "sound"
    return len(lines), len(rows)


def _ready(ledger: Ledger) -> Ledger:
    ledger.create("clinic", Budget(1.0, 1e-6), neighbours="replace-one")
    return ledger


def test_ten_kills_never_leave_a_release_without_its_charge(ledger: Ledger, tmp_path: Path) -> None:
    releases, rows = kill_at_random(_ready(ledger), tmp_path, kills=10, seed=1)
    assert 0 < releases <= rows <= releases + 12


@pytest.mark.slow
def test_a_hundred_kills_never_leave_a_release_without_its_charge(ledger: Ledger, tmp_path: Path) -> None:
    releases, rows = kill_at_random(_ready(ledger), tmp_path, kills=100, seed=2)
    assert 0 < releases <= rows <= releases + 102


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
