"""A small table, its domain and a ledger; and the command line, run in this process or in its own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hullabaloo.cli.app import app
from tests.commands import CliRunner

DOMAIN = """
target = { stay = [0, 30] }
indicators = false

[features]
age = [0, 95]
ward = ["surgery", "medicine"]
"""


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        assert self.err == "", "with --json nothing is written to standard error"
        assert self.out.count("\n") == 1, "with --json exactly one line is printed"
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run a command line in this process, in a scratch folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("HULLABALOO_DEBUG", raising=False)
    monkeypatch.delenv("HULLABALOO_LEDGER", raising=False)

    def go(*words: object) -> Ran:
        result = CliRunner().invoke(app, [str(word) for word in words], prog_name="hullabaloo")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert "Traceback" not in result.stdout + result.stderr
        return Ran(result.exit_code, result.stdout, result.stderr)

    return go


@pytest.fixture
def shell(tmp_path: Path) -> Run:
    """Run a command line in a process of its own, in a scratch folder."""

    def go(*words: object, **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "hullabaloo", *map(str, words)],
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": "200"} | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return go


def rows(n: int = 400) -> list[str]:
    """Lines of a CSV file: the table that the tests fit."""
    rng = np.random.default_rng(3)
    age, ward = rng.integers(0, 95, n), rng.integers(0, 2, n)
    stay = np.clip(2 + 0.1 * age + 5 * ward + rng.normal(0, 2, n), 0, 30)
    names = ("medicine", "surgery")
    return ["age,ward,stay", *[f"{a},{names[w]},{s:.2f}" for a, w, s in zip(age, ward, stay, strict=True)]]


def masked(text: str) -> str:
    """A message without its numbers, which are noise, and without the widths that follow from them."""
    text = re.sub(r"[-+−<]?\d+(\.\d+)?(e[-+]?\d+)?", "#", text)
    return re.sub(r"[\s─━╭╮╰╯│]+", " ", text)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A CSV file of 400 records."""
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(rows()) + "\n")
    return path


@pytest.fixture
def domain(tmp_path: Path) -> Path:
    """The domain of the table."""
    path = tmp_path / "domain.toml"
    path.write_text(DOMAIN)
    return path


BUDGET = ("--epsilon", 1, "--delta", "1e-6")
URL = "sqlite:///privacy.db"


@pytest.fixture
def ledger(run: Run) -> str:
    """A ledger with a budget for the dataset `clinic` that pays for one fit."""
    assert run("ledger", "create", URL, "clinic", *BUDGET).code == 0
    return URL


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A released model of the table, fitted once."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "patients.csv").write_text("\n".join(rows()) + "\n")
    (folder / "domain.toml").write_text(DOMAIN)
    words = (
        "fit",
        folder / "patients.csv",
        "--domain",
        folder / "domain.toml",
        *BUDGET,
        "--out",
        folder / "model.json",
    )
    done = CliRunner().invoke(app, [*map(str, words), "--solver", "moments"], prog_name="hullabaloo")
    assert done.exit_code == 0, done.stderr
    return (folder / "model.json").read_text(encoding="utf-8")


@pytest.fixture
def model(saved: str, table: Path, domain: Path, tmp_path: Path) -> Path:
    """A saved model, not recorded in any ledger."""
    path = tmp_path / "model.json"
    path.write_text(saved, encoding="utf-8")
    return path
