"""The nursery: one process that has everything imported but Hullabaloo, and forks a child for each run of tests.

A child plants at most one bug, imports the library, runs the tests that it was told to, and ends; so a run costs tenths of a
second, and no bug is ever met by another. Requests and replies are lines of JSON.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, final

from tests.planted.bug import ROOT, Bug

HEAVY = (
    "_hypothesis_pytestplugin",
    "cryptography.hazmat.primitives.ciphers.aead",
    "hypothesis",
    "hypothesis.extra.numpy",
    "numba",
    "numpy",
    "pandas",
    "pytest",
    "scipy.integrate",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.special",
    "scipy.stats",
    "sklearn.base",
    "sklearn.linear_model",
    "sqlalchemy.dialects.sqlite",
    "threadpoolctl",
    "unittest.mock",
    "xml.etree.ElementTree",
)
LIMIT = 300
"""Seconds that one run may take."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run of tests.

    Attributes:
        failed: tests that failed (while they ran, not while they were collected), by id, and the seconds that each took.
        passed: how many passed.
        fault: why the run says nothing: tests could not be collected, or it took too long; "" where it does.
        seconds: elapsed.
        output: what pytest wrote.
    """

    failed: dict[str, float]
    passed: int
    fault: str
    seconds: float
    output: str

    @property
    def caught(self) -> bool:
        """Whether a test failed, in a run that says something."""
        return bool(self.failed) and not self.fault

    @property
    def clean(self) -> bool:
        """Whether tests ran and all of them passed."""
        return self.passed > 0 and not self.failed and not self.fault


@final
class Nursery:
    """A running nursery; a context manager."""

    def __enter__(self) -> Self:
        alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
        words = [sys.executable, "-m", "tests.planted", "serve"]
        self._process = subprocess.Popen(
            words, cwd=ROOT, env=os.environ | alone, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def run(self, bug: Bug | None, tests: tuple[str, ...], *, whole: bool = False, limit: int = LIMIT) -> Outcome:
        """Run tests on the library with a bug in it, or on the clean one; up to the first failure, or the whole of them."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"bug": None if bug is None else asdict(bug), "tests": tests, "whole": whole, "limit": limit}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return Outcome(**json.loads(self._process.stdout.readline()))


def serve() -> None:
    """Answer requests until there are no more."""
    import importlib

    for name in HEAVY:
        importlib.import_module(name)
    sys.modules["numba"].njit("f8(f8[::1])")(lambda x: x[0] + x.size)  # the compiler, too, is started once
    gc.collect()
    gc.freeze()
    assert not [name for name in sys.modules if name.partition(".")[0] == "hullabaloo"]
    for line in sys.stdin:
        with tempfile.TemporaryDirectory(prefix="planted-") as folder:
            reply = _forked(json.loads(line), Path(folder))
        print(json.dumps(reply), flush=True)


def _forked(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    start, report, output = time.perf_counter(), folder / "report.json", folder / "output.txt"
    child = os.fork()
    if child == 0:
        try:
            os.setpgrp()
            _run(request, folder, report, output)
        except BaseException:  # reason: whatever it is, the child must not go on as a second server
            traceback.print_exc()
        finally:
            os._exit(70)
    _, status = os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what a test forked and a bug kept from ending
    found: dict[str, Any] = {
        "failed": {},
        "passed": 0,
        "fault": f"the run ended with {os.waitstatus_to_exitcode(status)}",
    }
    if report.exists():
        found = json.loads(report.read_text())
    elif os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        found["fault"] = f"the run took more than {request['limit']} seconds"
    shown = output.read_text(errors="replace") if output.exists() else ""
    return {**found, "seconds": time.perf_counter() - start, "output": shown[-8000:]}


def _run(request: dict[str, Any], folder: Path, report: Path, output: Path) -> None:
    """In the child: plant, test, report, end."""
    import pytest

    gc.disable()
    signal.alarm(request["limit"])
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
    written = os.open(output, os.O_WRONLY | os.O_CREAT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for here, there in ((nothing, 0), (written, 1), (written, 2)):
        os.dup2(here, there)
    if request["bug"] is not None:
        from tests.planted.plant import plant

        plant(Bug(**{**request["bug"], "caught_by": ()}), folder)
    watch = _Watch(report)
    plain = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=short", f"--basetemp={folder / 'tmp'}"]
    plain += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of Hypothesis, which is imported already
    code = pytest.main([*plain, *([] if request["whole"] else ["-x"]), *request["tests"]], plugins=[watch])
    watch.write(watch.fault or ("" if code in (0, 1) else f"pytest ended with {int(code)}"))
    sys.stdout.flush()
    os._exit(0)


class _Watch:
    """What pytest tells while it runs; a failure is written at once, as a bug that corrupts memory may kill what follows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failed: dict[str, float] = {}
        self.passed, self.fault = 0, ""

    def write(self, fault: str) -> None:
        self.path.write_text(json.dumps({"failed": self.failed, "passed": self.passed, "fault": fault}))

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed += report.passed and report.when == "call"
        if report.failed:
            self.failed.setdefault(report.nodeid, report.duration)
            self.write(self.fault)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.fault = f"{report.nodeid} could not be collected"
