"""Shared fixtures: where the benchmark tables are, and a skip that says so when they are not."""

import os
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
