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
