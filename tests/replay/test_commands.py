"""The command line on files of records that share names alone: output, exit code and files are the same, byte for byte."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import hullabaloo as hb
from hullabaloo.cli.app import app
from tests.commands import CliRunner
from tests.replay.compare import told_apart
from tests.replay.durable import emptied

DOMAIN = """
target = { cost = [-20, 20] }
records = 60
indicators = false

[features]
age = [18, 90]
job = ["clerk", "nurse", "cook"]
"""
BUDGET = "--epsilon 2 --delta 1e-6"
JUNK = ["", "nan", "inf", "-1e999", '"a ""quoted"" cell"', "=1+1", "\x00", "é", "7" * 3000]


def lines(seed: int, n: int = 60) -> list[str]:
    """Records of a CSV file, all inside their bounds."""
    found = [
        (18 + (37 * i + seed) % 72, ("clerk", "nurse", "cook")[(i + seed) % 3], (i * 7 + seed) % 40 - 20)
        for i in range(n)
    ]
    return [f"{age},{job},{cost}" for age, job, cost in found]


def junk() -> list[str]:
    """Records of which no cell is as declared, of lengths that differ."""
    return [",".join(JUNK[(i + j) % len(JUNK)] for j in range(3)) for i in range(60)]


def one() -> list[str]:
    """The first table with another record in one place."""
    found = lines(0)
    found[7] = ",".join(JUNK[2:5])
    return found


SAME_NUMBER: dict[str, Callable[[], list[str]]] = {"one record": one, "all records": lambda: lines(5), "junk": junk}
ANY_NUMBER = {**SAME_NUMBER, "one fewer": lambda: lines(0)[:-1], "more": lambda: lines(3, 200)}

COMMANDS: dict[str, tuple[str, Mapping[str, Callable[[], list[str]]]]] = {
    "fit": (
        f"fit t.csv --domain d.toml {BUDGET} --solver moments --ledger sqlite:///privacy.db --dataset people --out m.json",
        SAME_NUMBER,
    ),
    "fit --json": (f"fit t.csv --domain d.toml {BUDGET} --solver gradient --out m.json --json", SAME_NUMBER),
    "fit, number hidden": (
        f"fit t.csv --domain d.toml {BUDGET} --solver gradient --neighbours add-or-remove --out m.json",
        ANY_NUMBER,
    ),
    "stream": (
        f"stream t.csv --domain d.toml {BUDGET} --horizon 60 --every 20 --state s.state --models m-{{position}}.json --out m.json",
        SAME_NUMBER,
    ),
    "stream --json": (
        f"stream t.csv --domain d.toml {BUDGET} --horizon 60 --every 20 --method periodic --estimator linear --out m.json --json",
        SAME_NUMBER,
    ),
    "stream, sealed": (
        f"stream t.csv --domain d.toml {BUDGET} --neighbours add-or-remove --horizon 60 --every 20 --state s.state --key-file key "
        "--ledger sqlite:///privacy.db --dataset people --out m.json",
        SAME_NUMBER,
    ),
    "stream of JSON": (
        f"stream t.jsonl --domain d.toml {BUDGET} --horizon 60 --every 20 --method periodic --estimator linear --state s.state --out m.json",
        SAME_NUMBER,
    ),
    "evaluate": (
        f"evaluate m.json t.csv {BUDGET} --ledger sqlite:///privacy.db --dataset people --out e.json --json",
        SAME_NUMBER,
    ),
    "evaluate, number hidden": (f"evaluate hidden.json t.csv {BUDGET} --records 60 --out e.json", ANY_NUMBER),
    "price": (f"price --domain d.toml --records 60 {BUDGET} --solver moments", ANY_NUMBER),
    "domain check": ("domain check d.toml t.csv", ANY_NUMBER),
    "domain template": ("domain template t.csv", ANY_NUMBER),
    "domain estimate": (
        f"domain estimate t.csv --outer d.toml {BUDGET} --quantiles 0.1,0.9 --out estimated.toml",
        SAME_NUMBER,
    ),
    "domain estimate, number hidden": (
        f"domain estimate t.csv --outer d.toml {BUDGET} --neighbours add-or-remove --quantiles 0.1,0.9 --ledger sqlite:///privacy.db --dataset people --out estimated.toml",
        ANY_NUMBER,
    ),
    "refused": (f"fit t.csv --domain d.toml {BUDGET} --solver frank-wolfe --out m.json", SAME_NUMBER),
    "no such column": (f"fit t.csv --domain d.toml {BUDGET} --target job --out m.json", ANY_NUMBER),
}

REFUSED = ("refused", "no such column")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a released model of each relation."""
    folder = tmp_path_factory.mktemp("models")
    table = write(folder, lines(0), "csv")
    about = {"features": {"age": (18, 90), "job": ["clerk", "nurse", "cook"]}, "target": {"cost": (-20, 20)}}
    domain = hb.Domain(**about, indicators=False, records=60)
    for name, relation in (("m", "replace-one"), ("hidden", "add-or-remove")):
        model = hb.LinearRegression(budget=hb.Budget(2.0, 1e-6), domain=domain, neighbours=relation, solver="moments")
        model.fit(table).save(folder / f"{name}.json")
    table.unlink()
    return folder


def write(folder: Path, records: list[str], kind: str) -> Path:
    """The table as a file."""
    path = folder / f"t.{kind}"
    if kind == "csv":
        texts = ["age,job,cost", *records]
    else:
        texts = [json.dumps(dict(zip(("age", "job", "cost"), one.split(","), strict=False))) for one in records]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


@pytest.mark.few(5)
@pytest.mark.parametrize(
    "among",
    [("junk", "more"), pytest.param(tuple(ANY_NUMBER), marks=pytest.mark.slow)],
    ids=["the unlikest", "every table"],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_on_other_records_say_and_write_the_same(
    command: str, among: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ledgers: Path, models: Path
) -> None:
    words, others = COMMANDS[command]
    folder = tmp_path / "run"
    monkeypatch.setenv("COLUMNS", "200")

    def show(_: Any, records: list[str]) -> Mapping[str, Any]:
        emptied(folder)
        monkeypatch.chdir(folder)
        relation = "add-or-remove" if "add-or-remove" in words else "replace-one"
        shutil.copy(ledgers / f"{relation}.db", folder / "privacy.db")
        for model in models.iterdir() if "evaluate" in words else ():
            shutil.copy(model, folder)
        (folder / "d.toml").write_text(DOMAIN, encoding="utf-8")
        (folder / "key").touch(0o600)
        (folder / "key").write_bytes(bytes(32))
        table = write(folder, records, "jsonl" if "t.jsonl" in words else "csv")
        ran = CliRunner().invoke(app, words.split(), prog_name="hullabaloo")
        table.unlink()
        assert "Traceback" not in ran.output
        assert ran.exit_code == (1 if command in REFUSED else 0), ran.output
        return {"code": ran.exit_code, "out": ran.stdout, "err": ran.stderr}

    tables = {name: made() for name, made in others.items() if name in among}
    assert tables
    assert told_apart(show, None, lines(0), tables, folder, asks=False, lines=False) == {}
