"""Shared fixtures: where the benchmark tables are, and a skip that says so when they are not."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("HULLABALOO_DATA", ROOT.parent / "shared" / "data"))


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
    """List the recorded numbers of older code, once and in a line: a warning, which only `make release` turns into a refusal."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from benchmarks import record

    stale = [name for name in record.names() if record.stale(name)]
    if stale:
        terminalreporter.write_line(
            f"{len(stale)} recorded results are of older code ({', '.join(stale)}); "
            "python -m benchmarks --stale says why, make release refuses them"
        )
