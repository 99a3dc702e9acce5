"""The dear doors: fits, streams, files and commands, where an input costs milliseconds. What is spent is checked each time."""

import io
import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import hullabaloo as hb
from hullabaloo import streaming
from hullabaloo.cli.app import app
from hullabaloo.errors import HullabalooError
from hullabaloo.linear_model import ESTIMATORS
from hullabaloo.noise import TestKey
from hullabaloo.report import card, card_from_json
from tests.commands import CliRunner
from tests.fuzz.doors import Door, arguments
from tests.fuzz.garbage import SECRET, Garbage
from tests.fuzz.verdict import Crash, check_sentence
from tests.linear_model import examples

BUDGET = hb.Budget(1.0, 1e-6)
CODES = {0, 1, 2, 3, 4, 5}
HELD: list[tempfile.TemporaryDirectory[str]] = []


class MachineError(HullabalooError):
    """A file could not be read to its end: after a charge that is the machine's failure, and the charge stays."""


@cache
def folder() -> Path:
    """A scratch folder for this process, gone with it."""
    HELD.append(tempfile.TemporaryDirectory(prefix="fuzz-"))
    return Path(HELD[-1].name)


@cache
def ledger() -> hb.Ledger:
    """A ledger whose budget lasts."""
    made = hb.Ledger(f"sqlite:///{folder() / 'privacy.db'}")
    made.create("people", hb.Budget(1e9, 0.9))
    return made


def charged(work: Callable[[], Any]) -> Any:
    """Do it; a refusal has spent nothing unless it says that the charge stays, and a release was charged once."""
    before = ledger().remaining("people").charges
    try:
        found = work()
    except Exception as error:
        spent = ledger().remaining("people").charges - before
        if spent and isinstance(error, OSError):
            raise MachineError("The machine failed after the charge, which stays.") from None
        if spent and "charge that was made stays" not in str(error):
            raise Crash(f"{spent} charges and no release: {type(error).__name__}: {error}") from error
        raise
    spent = ledger().remaining("people").charges - before
    if spent != 1:
        raise Crash(f"{spent} charges for one release")
    return found


def records(g: Garbage, n: int = 20) -> Any:
    """A table of garbage under the names of the example's columns, as one kind of object or another."""
    names = ["age", "hours", "job", "cost", "ill", "visits", "years", "events"]
    cells = {name: [SECRET if g.chance(0.1) else g.anything(1) for _ in range(n)] for name in names}
    kind = g.random.randrange(6)
    if kind == 0:
        found = g.anything()
        return "nowhere.csv" if isinstance(found, bytes) else found
    if kind == 1:
        return pd.DataFrame({name: np.array([g.real() for _ in range(n)]) for name in names})
    if kind == 2:
        frame = examples.table(n, 0)
        return frame.sample(frac=1.0, random_state=0) if g.chance(0.5) else frame.drop(columns=[g.one(names)])
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in cells.items()})
    if kind == 3:
        return frame.map(repr)
    return frame


def matrix(g: Garbage) -> Any:
    """A prepared matrix, or anything."""
    found = g.array(g.random.randrange(30), g.random.randrange(4))
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: found, lambda: csr_array(found), lambda: np.clip(found, -1e9, 1e9).astype(np.float32), found.tolist, lambda: found.astype(object),
        lambda: pd.DataFrame(found), g.anything, lambda: found.astype(str), lambda: found.astype(complex),
    )  # fmt: skip
    return g.one(kinds)()


def fitted(name: str) -> Door:
    """Fit an estimator to a table of garbage, charged; everything that a model gives is then asked for."""

    def fit(g: Garbage) -> None:
        relation = g.one(("replace-one", "add-or-remove"))
        more = {"records": 20} if relation == "add-or-remove" else {}
        model = getattr(hb, name)(
            budget=BUDGET, domain=examples.domain_for(name, **more), solver="auto", neighbours=relation
        )
        if relation == "replace-one":
            model.set_params(ledger=ledger(), dataset="people")
            charged(lambda: model.fit(records(g)))
        else:
            model.fit(records(g))
        assert np.isfinite(model.release_.theta).all()
        assert np.isfinite(np.asarray(model.coef_)).all()
        model.predict(records(g))

    return fit


def parameters(name: str) -> Door:
    """Give an estimator garbage for parameters, and a sound table."""

    def fit(g: Garbage) -> None:
        made = arguments(g, getattr(hb, name))
        usual = {"budget": BUDGET, "domain": examples.domain_for(name)}
        model = getattr(hb, name)(**({**usual, **made} if g.chance(0.5) else {**made, **usual}))
        if model.ledger is not None or getattr(model, "test_key", None) is not None:
            model.set_params(ledger=None, dataset=None)
        model.price(50)
        if g.chance(0.2):
            model.fit(examples.table(30))

    return fit


def prepared(g: Garbage) -> None:
    """Fit a prepared matrix of any kind."""
    domain = hb.Domain(row_norm=1.0, target=(-1, 1))
    model = hb.LinearRegression(budget=BUDGET, domain=domain, ledger=ledger(), dataset="people", solver="moments")
    X = matrix(g)
    count = next(iter(getattr(X, "shape", ())), 3)
    y = g.mostly(lambda: [g.real() for _ in range(count)])
    charged(lambda: model.fit(X, y))
    assert np.isfinite(model.release_.theta).all()


def streamed(g: Garbage) -> None:
    """Take garbage records, in tables and one by one."""
    kind = g.one((streaming.IncrementalRegression, streaming.SketchedRegression))
    given = {"budget": BUDGET, "domain": examples.domain_for("LinearRegression"), "horizon": 60, "every": 20}
    chosen = {"constraint": hb.L1Ball(1.0)} if kind is streaming.SketchedRegression else {}
    made = {name: value for name, value in arguments(g, kind).items() if g.chance(0.1)}
    stream = kind(**{**given, **chosen, **made})
    stream.set_params(ledger=None, dataset=None, state=None, key_file=None)
    for _ in range(3):
        if g.chance(0.7):
            stream.partial_fit(records(g))
        else:
            stream.learn_one(g.mostly(lambda: {"age": g.anything(), "job": SECRET}), g.anything())
    stream.predict_one({"age": g.anything()})


@cache
def _saved() -> dict[str, bytes]:
    """A model, a card and a stream's model, as they are written."""
    frame = examples.table(200)
    model = hb.LinearRegression(
        budget=BUDGET, domain=examples.domain_for("LinearRegression"), solver="moments", test_key=TestKey(bytes(32))
    ).fit(frame)
    path = folder() / "model.json"
    model.save(path)
    stream = streaming.IncrementalRegression(
        budget=BUDGET, domain=examples.domain_for("LinearRegression"), horizon=100, every=50, state=folder() / "s.state"
    )
    with stream:
        stream.partial_fit(frame.iloc[:60])
        stream.model_at().save(folder() / "stream.json")
    return {
        "model": path.read_bytes(),
        "card": card(model).to_json().encode(),
        "stream": (folder() / "stream.json").read_bytes(),
        "state": (folder() / "s.state").read_bytes(),
    }


def damaged(
    kind: str, read: Callable[[Path], Any], saved: Callable[[str], bytes] = lambda kind: _saved()[kind]
) -> Door:
    """Read a file that was damaged, in its bytes or in its meaning; what is accepted is asked what it says."""

    def open_it(g: Garbage) -> None:
        found = saved(kind)
        path = folder() / f"damaged-{kind}.json"
        if g.chance(0.5):
            path.write_bytes(g.torn(found))
        else:
            path.write_text(json.dumps(g.damaged(json.loads(found), 6)), encoding="utf-8")
        read(path)

    return open_it


def _state(g: Garbage) -> None:
    path = folder() / "torn.state"
    path.unlink(missing_ok=True)
    path.touch(0o600)
    path.write_bytes(g.torn(_saved()["state"]))
    stream = streaming.IncrementalRegression(
        budget=BUDGET, domain=examples.domain_for("LinearRegression"), horizon=100, every=50, state=path
    )
    with stream:
        stream.partial_fit(examples.table(10))


def table_file(suffix: str) -> Door:
    """Fit a file of a table that was damaged."""

    def fit(g: Garbage) -> None:
        path = folder() / f"table{suffix}"
        path.write_bytes(g.torn(table_bytes(suffix)))
        model = hb.LinearRegression(
            budget=BUDGET,
            domain=examples.domain_for("LinearRegression"),
            solver="moments",
            ledger=ledger(),
            dataset="people",
        )
        charged(lambda: model.fit(path))

    return fit


@cache
def table_bytes(suffix: str) -> bytes:
    """A table with secrets, as a file of its kind holds it."""
    frame, out = examples.table(30), io.BytesIO()
    frame["job"] = SECRET
    if suffix == ".csv":
        frame.to_csv(out, index=False)
    else:
        frame.to_parquet(out)
    return out.getvalue()


DOMAIN = (
    "target = { cost = [-20, 20] }\nrecords = 30\nindicators = false\n[features]\nage = [18, 90]\nhours = [0, 80]\n"
)
WORDS = (
    "fit", "price", "plan", "predict", "card", "domain", "template", "describe", "check", "estimate", "ledger", "create", "show", "log", "verify",
    "stream", "search", "--grid", "g.toml", "--price", "evaluate", "audit", "t.csv", "d.toml", "m.json", "torn.json", "--domain", "d.toml", "--epsilon", "1", "--delta", "1e-6", "--out", "o.json",
    "--json", "--records", "30", "--set", "l1:1", "--penalty", "l2:0.1", "--solver", "gradient", "moments", "--ledger", "sqlite:///c.db", "--dataset",
    "people", "--overwrite", "--horizon", "--every", "10", "--target", "cost", "--estimator", "lasso", "--outer", "--mu", "nan", "-1", "inf",
    "--runs", "6", "--confidence", "0.9", "--metric", "r2", "--quantiles", "0.1,0.9", "--columns", "age", "--bins", "--method", "released",
)  # fmt: skip
LINES = (
    "fit t.csv --domain d.toml --epsilon 1 --delta 1e-6 --out o.json --overwrite --solver moments",
    "stream t.csv --domain d.toml --epsilon 1 --delta 1e-6 --horizon 30 --every 10 --out o.json --overwrite",
    "price --domain d.toml --records 30 --epsilon 1 --delta 1e-6 --solver moments",
    "predict m.json t.csv --out p.csv --overwrite",
    "card m.json --out c.json --overwrite",
    "domain check d.toml t.csv",
    "domain describe d.toml",
    "domain estimate t.csv --outer d.toml --epsilon 1 --delta 1e-6 --quantiles 0.1,0.9",
    "search t.csv --domain d.toml --grid g.toml --epsilon 1 --delta 1e-6 --solver moments --expected-runs 2 --out o.json --overwrite",
    "evaluate m.json t.csv --epsilon 1 --delta 1e-6",
    "evaluate m.json t.csv --epsilon 1 --delta 1e-6 --metric r2 --out e.json --overwrite",
    "audit --domain d.toml --epsilon 1 --delta 1e-6 --runs 6 --records 30 --solver moments --out a.json --overwrite",
    "plan --domain d.toml --records 30 --epsilon 1 --delta 1e-6",
    "ledger create sqlite:///c.db people --epsilon 1 --delta 1e-6",
    "ledger verify sqlite:///c.db",
)


def command(g: Garbage) -> None:
    """Run a command line with words changed, lost or added, on sound and damaged files."""
    import os

    work = folder() / "work"
    if not work.exists():
        work.mkdir()
        (work / "m.json").write_bytes(_saved()["model"])
        (work / "d.toml").write_text(DOMAIN, encoding="utf-8")
        (work / "t.csv").write_bytes(table_bytes(".csv"))
        (work / "g.toml").write_text("penalty = ['l2:0.01', 'l2:1']\nintercept = [true]\n", encoding="utf-8")
    (work / "torn.json").write_bytes(g.torn(_saved()["model"]))
    words = g.one(LINES).split()
    for _ in range(g.random.randrange(4)):
        place, kind = g.random.randrange(len(words)), g.random.randrange(3)
        if kind == 0:
            words[place] = g.one(WORDS) if g.chance(0.7) else g.text().replace("\ud800", "?")
        elif kind == 1:
            words.insert(place, g.one(WORDS))
        elif len(words) > 1:
            del words[place]
    before, here = {path.name for path in work.iterdir()}, Path.cwd()
    os.chdir(work)
    try:
        ran = CliRunner().invoke(app, words, prog_name="hullabaloo", input="")
    finally:
        os.chdir(here)
    said = ran.stdout + ran.stderr
    where = f" of {' '.join(words)[:200]!r}"
    if ran.exception is not None and not isinstance(ran.exception, SystemExit):
        raise ran.exception
    if ran.exit_code not in CODES or "Traceback" in said or "its own fault" in said:
        raise Crash(f"exit code {ran.exit_code}{where}: {said[-300:]}")
    if SECRET in ran.stderr:
        raise Crash(f"a record on standard error{where}")
    if ran.exit_code and "--json" not in words and ran.exit_code != 2:
        check_sentence(" ".join(ran.stderr.split()))
    left = {path.name for path in work.iterdir()} - before
    if ran.exit_code == 1 and any(name.endswith(("o.json", ".tmp", ".part")) for name in left):
        raise Crash(f"a file was left behind{where}: {left}")
    if ran.exit_code:
        raise HullabalooError(f"The command line was refused with the exit code {ran.exit_code}.")


def _read_card(path: Path) -> None:
    made = card_from_json(path)
    made.check()
    str(made)


def _read_model(path: Path) -> None:
    str(hb.load(path).statement_.budget)


ROOMS: dict[str, Door] = {
    **{
        f"fit: {name}": fitted(name) for name in ("LinearRegression", "LogisticRegression", "PoissonRegressor", "Lasso")
    },
    **{f"parameters: {name}": parameters(name) for name in ESTIMATORS},
    "fit: prepared matrix": prepared,
    "fit: .csv": table_file(".csv"),
    "fit: .parquet": table_file(".parquet"),
    "streams": streamed,
    "load": damaged("model", _read_model),
    "streaming.load": damaged("stream", streaming.load),
    "card_from_json": damaged("card", _read_card),
    "state file": _state,
    "command line": command,
}
