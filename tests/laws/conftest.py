"""A desk to run commands at."""

from pathlib import Path

import pytest

from tests.laws.hearing import furnish


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with sound files, to work in."""
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "4000")
    monkeypatch.delenv("HULLABALOO_DEBUG", raising=False)
    monkeypatch.delenv("HULLABALOO_LEDGER", raising=False)
    return tmp_path
