"""Shared fixtures: where the benchmark tables are, and a skip that says so when they are not."""

import faulthandler
import functools
import gc
import importlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from tests import sampling

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("HULLABALOO_DATA", ROOT.parent / "shared" / "data"))

SECONDS, SLOW_SECONDS = 120, 1800
"""What a test may take, its fixtures included; `@pytest.mark.timeout(seconds)` says otherwise."""


class TookTooLong(BaseException):
    """A test hangs. No `except Exception` on its way swallows it."""


def pytest_configure(config: pytest.Config) -> None:
    os.environ["HULLABALOO_CACHE"] = "off"  # what other runs, or patched code, have measured decides nothing here
    # NumPy is not loaded yet: of workers that share cores a second thread of BLAS burns what others need.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    sampling.FAST = config.getoption("markexpr") == "not slow"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Tests live as long as the run, about a million objects: the collector never walks them, neither while they are made nor later."""
    working = gc.isenabled()
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        if working:
            gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(name: str, obj: object) -> list[pytest.Item] | None:
    """Functions of the long tests are left out of the fast ones before their cases are made, which are as many as those that run."""
    marks = obj.pytestmark if sampling.FAST and name.startswith("test_") and hasattr(obj, "pytestmark") else ()
    return [] if any(mark.name == "slow" for mark in marks) else None


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Iterator[None]:
    """Cases of the long tests are left out of the fast ones before they are made, too: they are nearly as many as those that run."""
    yield
    if sampling.FAST:
        sampling.thin(metafunc)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    sampling.few(items)
    # Each of two workers begins with a half: in the middle of these each would start a PostgreSQL server of its own.
    items.sort(key=lambda item: "ledger" not in item.path.parts)


REPORTED = pytest.StashKey[bool]()
"""Of an item whose report is being written."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End a test that hangs as a failure (where it waits in C for longer, end the run), and give a timer that ran before its turn again."""
    if threading.current_thread() is not threading.main_thread():
        return (yield)
    marked = item.get_closest_marker("timeout")
    seconds = marked.args[0] if marked else SLOW_SECONDS if item.get_closest_marker("slow") else SECONDS

    def over(number: int, frame: FrameType | None) -> None:
        if REPORTED not in item.stash:
            raise TookTooLong(f"{item.nodeid} took more than {seconds} s: it hangs")

    previous = signal.signal(signal.SIGALRM, over)
    started = time.monotonic()
    # Again every ten seconds, since a clean-up may hang as well.
    faulthandler.dump_traceback_later(seconds + 15, exit=True)
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds, 10.0)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - started), 0.01) if left else 0)
        signal.signal(signal.SIGALRM, previous)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """No test takes too long while its report is written."""
    item.stash[REPORTED] = True
    try:
        return (yield)
    finally:
        del item.stash[REPORTED]


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of cards without their pictures, which cost more than all else on them: those are the subject of `tests/report`."""
    pictures = {"profile": "", "trade_off": "", "budget": "", "coefficients": []}
    monkeypatch.setattr("hullabaloo.report.page.pictures", lambda card: pictures)


BY_FORMULA = {"cli", "data", "inference", "ledger", "linear_model", "model_selection", "report", "streaming"}
"""Rooms whose subject is not which plan is the best: rehearsals were a seventh of all that they took. Their slow tests rehearse, and all other rooms, first of all `planning`, `solvers` and `replay`."""


@pytest.fixture(autouse=True)
def _by_formula(request: pytest.FixtureRequest) -> None:
    room = request.path.relative_to(ROOT / "tests").parts[0]
    if room in BY_FORMULA and "rehearsed" not in request.fixturenames:
        request.getfixturevalue("unrehearsed")


@pytest.fixture
def rehearsed() -> None:
    """For a test in such a room that is about rehearsals."""


@pytest.fixture
def unrehearsed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In fast tests formulas decide between plans and say what they lose, as where synthetic tables would take long (`planning/choose.py`); what was chosen so is forgotten after the test."""
    if request.node.get_closest_marker("slow"):
        return
    for module in ("hullabaloo.planning.choose", "hullabaloo.release.planned"):
        monkeypatch.setattr(f"{module}.staged", lambda *about: None)
    for name in ("hullabaloo.release.planned._chosen", "hullabaloo.streaming.refits._best"):
        module, _, function = name.rpartition(".")
        real = getattr(importlib.import_module(module), function).__wrapped__
        monkeypatch.setattr(name, functools.lru_cache(maxsize=256)(real))


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Give the path of a benchmark table, or skip with a sentence that says where it was looked for."""

    def find(name: str) -> Path:
        path = DATA / name
        if not path.exists():
            pytest.skip(f"benchmark table {name} is not at {DATA}; set HULLABALOO_DATA to its folder to run this test")
        return path

    return find


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what records and pages are of older code, in a line: a warning, which only `make release` turns into a refusal."""
    told = [pair for report in terminalreporter.stats.get("passed", []) for pair in report.user_properties]
    for what, why, again in (
        ("stale record", "python -m benchmarks --stale", "make bench"),
        ("stale page", "python docs/execute.py --stale", "make docs"),
    ):
        found = sorted(str(value) for name, value in told if name == what)
        if found:
            names = ", ".join(one.partition(" (")[0] for one in found)
            terminalreporter.write_line(
                f"{len(found)} {what}{'s' if len(found) > 1 else ''}: {names}. {why} says why, {again} makes them anew, make release refuses them"
            )
