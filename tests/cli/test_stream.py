"""`hullabaloo stream`: every release once, from any source, through any interruption; and nothing else of a record."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from hullabaloo.cli import stream
from hullabaloo.data.sources.redis_stream import RedisSource
from hullabaloo.errors import MissingLibrary
from tests.cli.conftest import BUDGET, DOMAIN, URL, Run, masked, rows
from tests.cli.test_refusals import refused

SMALL = ("--epsilon", 1, "--delta", "1e-8")
WORDS = ("--domain", "domain.toml", *SMALL, "--horizon", 1000, "--every", 50)
RECORDED = ("--ledger", URL, "--dataset", "clinic")
MODELS = ("--models", "models/{position}.json")
KEPT = (*WORDS, *MODELS, "--state", "s.state")


@pytest.fixture
def files(run: Run, domain: Path, tmp_path: Path) -> Path:
    """A folder with 400 records in every format, a domain, a ledger and a place for models."""
    lines = rows(400)
    (tmp_path / "models").mkdir()
    (tmp_path / "events.csv").write_text("\n".join(lines) + "\n")
    split = [line.split(",") for line in lines[1:]]
    objects = [json.dumps({"age": int(a), "ward": w, "stay": float(s)}) for a, w, s in split]
    (tmp_path / "events.jsonl").write_text("".join(f"{one}\n" for one in objects))
    pq.write_table(pa.csv.read_csv(tmp_path / "events.csv"), tmp_path / "events.parquet", row_group_size=70)
    assert run("ledger", "create", URL, "clinic", *BUDGET).code == 0
    return tmp_path


@pytest.fixture
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise from a test key, so that two runs can be compared."""
    make = stream.made_stream

    def with_key(*args: Any, **options: Any) -> Any:
        return make(*args, **options).set_params(test_key=bytes(32))

    monkeypatch.setattr(stream, "made_stream", with_key)


def releases(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.iterdir())


def theta(path: Path) -> Any:
    return json.loads(path.read_text())["release"]["theta"]


def test_a_model_for_each_release_one_charge_and_a_line_each(run: Run, files: Path) -> None:
    done = run("stream", "events.csv", *KEPT, *RECORDED, "--set", "l1:2", "--out", "now.json")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert (
        lines[0]
        == "Beginning; releases: 20 up to record 1,000, the first after record 50. Spent on all of them together, once: (ε = 1, δ = 1e-08)-differential privacy."
    )
    assert [line.split()[0] for line in lines[1:9]] == [str(position) for position in range(50, 401, 50)]
    assert all("of 1,000 records" in line and f"models/{50 * i}.json" in line for i, line in enumerate(lines[1:9], 1))
    assert "all models released along the stream together" in done.out
    assert (
        lines[-1]
        == "The source ends after record 400. Saved in s.state; the same command goes on from there (a next file: with --continues)."
    )
    assert releases(files / "models") == list(range(50, 401, 50)), "and nothing else lies there"
    assert (files / "now.json").read_text() == (files / "models" / "400.json").read_text()
    assert len(run("ledger", "log", URL, "clinic", "--json").json["charges"]) == 1
    model = json.loads((files / "now.json").read_text())
    assert (model["position"], model["release"]["statement"]["charge"]) == (400, 1)


def test_its_models_predict_and_have_a_card(run: Run, files: Path) -> None:
    assert run("stream", "events.csv", *WORDS, "--out", "now.json").code == 0
    predicted = run("predict", "now.json", "events.csv")
    assert predicted.out.splitlines()[0] == "predicted_stay"
    assert len(predicted.out.splitlines()) == 401
    assert "a stream of up to 1,000 records" in run("card", "now.json").out


def test_the_same_command_goes_on_when_the_file_has_grown(run: Run, files: Path) -> None:
    lines = (files / "events.csv").read_text().splitlines(keepends=True)
    (files / "events.csv").write_text("".join(lines[:131]))
    assert run("stream", "events.csv", *KEPT, *RECORDED).code == 0
    with (files / "events.csv").open("a") as file:
        file.writelines(lines[131:])
    before = (files / "models" / "100.json").read_bytes()
    done = run("stream", "events.csv", *KEPT, *RECORDED)
    assert done.out.startswith("Going on after record 130;")
    assert releases(files / "models") == list(range(50, 401, 50))
    assert (files / "models" / "100.json").read_bytes() == before
    again = run("stream", "events.csv", *KEPT, *RECORDED)
    assert again.code == 0
    assert len(run("ledger", "log", URL, "clinic", "--json").json["charges"]) == 1


def test_every_source_gives_the_same_models(run: Run, files: Path, keyed: None) -> None:
    found = {}
    for name in ("events.csv", "events.jsonl", "events.parquet"):
        out = f"{name}.json"
        assert run("stream", name, *WORDS, "--out", out).code == 0
        found[name] = theta(files / out)
    assert found["events.csv"] == found["events.jsonl"] == found["events.parquet"]
    (files / "unnamed.toml").write_text(DOMAIN.replace("{ stay = [0, 30] }", "[0, 30]"))
    for name in ("events.csv", "events.jsonl"):
        done = run("stream", name, *WORDS, "--domain", "unnamed.toml", "--target", "stay", "--out", "unnamed.json")
        assert done.code == 0, done.err
        assert theta(files / "unnamed.json") == found["events.csv"]


@pytest.mark.parametrize("name", ["events.csv", "events.jsonl", "events.parquet"])
@pytest.mark.few(1)
def test_resumed_at_every_kind_of_place_gives_the_models_of_one_run(
    run: Run, files: Path, keyed: None, name: str
) -> None:
    (files / "whole").mkdir()
    assert run("stream", name, *WORDS, "--models", "whole/{position}.json").code == 0
    for position in (0, 49, 50, 51, 330):
        folder = files / f"cut{position}"
        folder.mkdir()
        first = _head(files / name, position)
        kept = (*WORDS, "--models", f"cut{position}/{{position}}.json", "--state", f"{position}.state")
        assert run("stream", first, *kept).code == 0
        if position and first.suffix == ".parquet":  # a file of more rows is another file, to its first byte
            rest = files / "rest.parquet"
            pq.write_table(pq.read_table(files / name).slice(position), rest)
            assert "does not begin with" in run("stream", name, *kept).err
            assert run("stream", rest, *kept, "--continues").code == 0
        else:
            assert run("stream", name, *kept).code == 0
        assert releases(folder) == releases(files / "whole")
        assert all(theta(path) == theta(files / "whole" / path.name) for path in folder.iterdir())


def _head(path: Path, count: int) -> Path:
    """The first records of a file, as a file."""
    made = path.with_name(f"head{path.suffix}")
    if path.suffix == ".parquet":
        pq.write_table(pq.read_table(path).slice(0, count), made)
    else:
        lines = path.read_text().splitlines(keepends=True)
        made.write_text("".join(lines[: count + (path.suffix == ".csv")]))
    return made


def test_for_scripts_every_release_is_an_object_on_its_line(run: Run, files: Path) -> None:
    done = run("stream", "events.csv", *WORDS, "--out", "now.json", "--json")
    assert done.err == ""
    objects = [json.loads(line) for line in done.out.splitlines()]
    assert [one["release"] for one in objects[:-1]] == list(range(50, 401, 50))
    assert objects[0]["spent"] == {"kind": "dp", "epsilon": 1.0, "delta": 1e-8}
    assert set(objects[0]["coefficients"]) == {"age", "ward=surgery", "ward=medicine"}
    last = objects[-1]
    assert (last["ok"], last["ended"], last["position"], last["taken"]) == (True, "end of the source", 400, 400)
    assert last["statement"]["horizon"] == 1000


@pytest.mark.usefixtures("unrehearsed")
def test_the_price_reads_and_spends_nothing(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hullabaloo.streaming.refits._best", lambda *_: "gradient")  # the planner is not looked at
    (files / "events.csv").unlink()
    done = run("stream", "events.csv", *KEPT, *RECORDED, "--price")
    assert ("Note: the fit tells no error of a column that" in done.out) == ("Expected standard errors" in done.out)
    assert done.code == 0, done.err
    for said in (
        "once, for all releases together",
        "20 up to record 1,000",
        "after 50 ",
        "after 1,000",
        "age",
        "Nothing was read",
    ):
        assert said in done.out
    found = run("stream", "-", *KEPT, *RECORDED, "--price", "--json").json
    assert [one["records"] for one in found["prices"]] == [50, 200, 1000]
    errors = [one["errors"][0]["likely"] for one in found["prices"]]
    assert errors == sorted(errors, reverse=True)
    known = run("stream", "-", *KEPT, *RECORDED, "--known", "age=0.1", "--json").json
    assert [one["errors"][0]["likely"] for one in known["prices"]] > errors
    assert "no name with a number" in run("stream", "-", *KEPT, *RECORDED, "--known", "age").err
    for method in (("sketched", "--set", "l1:1"), ("periodic", "--estimator", "lasso")):
        asked = ("--horizon", 100, "--method", *method, "--price")
        said = run("stream", "-", *KEPT, *RECORDED, *asked).out
        assert "2 up to record 100" in said
        assert ("After 50 records: for" in said) == ("periodic" in method)
        assert ("hb.streaming.plan says" in said) == ("sketched" in method)
    asked = ("--horizon", 600, "--every", "auto", "--method", "periodic", "--estimator", "lasso", "--price")
    found = run("stream", "-", *KEPT, *RECORDED, *asked, "--json").json
    assert found["prices"][-1]["records"] == 600
    assert found["prices"][0]["records"] * found["releases"] == pytest.approx(600, rel=0.1)  # by the paper's rule
    (files / "norm.toml").write_text("row_norm = 1.0\ntarget = [0, 1]\n")
    refused(run("stream", "-", *KEPT, "--domain", "norm.toml", "--price"), 1, "--columns")
    assert run("stream", "-", *KEPT, "--domain", "norm.toml", "--price", "--columns", 3).code == 0
    assert not (files / "s.state").exists()
    assert run("ledger", "log", URL, "clinic", "--json").json["charges"] == []


@pytest.mark.slow
def test_any_estimator_fitted_again_now_and_then(run: Run, files: Path) -> None:
    (files / "classes.toml").write_text(
        'classes = { ward = ["surgery", "medicine"] }\n[features]\nage = [0, 95]\nstay = [0, 30]\n'
    )
    words = ("--domain", "classes.toml", *SMALL, "--horizon", 1000, "--every", "100,300", *MODELS, "--state", "s.state")
    periodic = (*words, *RECORDED, "--method", "periodic", "--estimator", "logistic")
    lines = (files / "events.csv").read_text().splitlines(keepends=True)
    (files / "events.csv").write_text("".join(lines[:151]))
    assert run("stream", "events.csv", *periodic).code == 0
    (files / "events.csv").write_text("".join(lines))
    done = run("stream", "events.csv", *periodic)
    assert done.code == 0, done.err
    assert releases(files / "models") == [100, 300]
    assert "LogisticRegression" in run("card", "models/300.json").out
    assert run("predict", "models/300.json", "events.csv").out.splitlines()[0] == "predicted_ward"
    assert len(run("ledger", "log", URL, "clinic", "--json").json["charges"]) == 1


def test_many_columns_through_a_sketch(run: Run, files: Path) -> None:
    words = ("--method", "sketched", "--set", "l1:2", "--sketch-size", 3, "--max-nonzeros", 2)
    assert run("stream", "events.csv", *KEPT, *words).code == 0
    assert releases(files / "models") == list(range(50, 401, 50))


def test_the_horizon_ends_it(run: Run, files: Path) -> None:
    words = ("--domain", "domain.toml", *SMALL, "--horizon", 120, "--every", "50", *MODELS, "--state", "s.state")
    done = run("stream", "events.csv", *words)
    assert done.code == 0
    assert releases(files / "models") == [50, 100, 120]
    assert "The horizon of 120 records is reached" in done.out
    again = run("stream", "events.csv", *words)
    assert again.code == 0
    assert "The horizon of 120 records is reached" in again.out


def test_a_stream_without_an_end(run: Run, files: Path) -> None:
    done = run("stream", "events.csv", "--domain", "domain.toml", *SMALL, "--every", 100, *MODELS)
    assert done.code == 0, done.err
    assert "releases: one after every 100 records without an end" in done.out
    assert releases(files / "models") == [100, 200, 300, 400]


def test_releases_at_listed_positions(run: Run, files: Path) -> None:
    words = ("--domain", "domain.toml", *SMALL, "--horizon", 400, "--every", "10,200", *MODELS)
    assert run("stream", "events.csv", *words).code == 0
    assert releases(files / "models") == [10, 200]


def test_another_file_goes_on_when_it_is_named_so(run: Run, files: Path, keyed: None) -> None:
    assert run("stream", "events.csv", *WORDS, "--out", "whole.json").code == 0
    lines = (files / "events.csv").read_text().splitlines(keepends=True)
    (files / "a.csv").write_text("".join(lines[:171]))
    (files / "b.csv").write_text("".join([lines[0], *lines[171:300]]))
    assert run("stream", "a.csv", *KEPT).code == 0
    refused_ = run("stream", "b.csv", *KEPT)
    assert refused_.code == 1
    assert "does not begin with what the stream has read" in refused_.err
    assert run("stream", "b.csv", *KEPT, "--continues").code == 0
    with (files / "b.csv").open("a") as file:
        file.writelines(lines[300:])
    assert run("stream", "b.csv", *KEPT, "--continues").code == 0, "what was taken of b.csv is not taken again"
    assert releases(files / "models") == list(range(50, 401, 50))
    assert theta(files / "models" / "400.json") == theta(files / "whole.json")


Popen = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(files: Path) -> Popen:
    """Start a command in a process of its own."""

    def go(*words: object, **options: Any) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "hullabaloo", *map(str, words)],
            cwd=files, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options,
        )  # fmt: skip

    return go


def until(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_standard_input(run: Run, files: Path) -> None:
    before, (read, write) = os.dup(0), os.pipe()
    try:
        os.dup2(read, 0)
        os.write(write, (files / "events.csv").read_bytes())
        os.close(write)
        done = run("stream", "-", "--format", "csv", *WORDS, *MODELS)
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(read)
    assert (done.code, done.err) == (0, "")
    assert releases(files / "models") == list(range(50, 401, 50))
    assert "The source ends after record 400" in done.out


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)], ids=str)
def test_an_interrupted_run_saves_and_goes_on(run: Run, files: Path, start: Popen, number: signal.Signals) -> None:
    lines = (files / "events.csv").read_text().splitlines(keepends=True)
    (files / "events.csv").write_text("".join(lines[:124]) + lines[124][:3])
    process = start("stream", "events.csv", *KEPT, *RECORDED, "--follow")
    until((files / "models" / "100.json").exists, process)
    with (files / "events.csv").open("a") as file:
        file.write(lines[124][3:] + "".join(lines[125:162]))
    until((files / "models" / "150.json").exists, process)
    time.sleep(0.2)
    process.send_signal(number)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert err == "Interrupted after record 161. Saved in s.state; the same command goes on from there.\n"
    with (files / "events.csv").open("a") as file:
        file.writelines(lines[162:])
    done = run("stream", "events.csv", *KEPT, *RECORDED)
    assert done.out.startswith("Going on after record 161;")
    assert releases(files / "models") == list(range(50, 401, 50))


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_again_and_again_every_model_is_there_once(run: Run, files: Path, start: Popen, kills: int) -> None:
    lines = (files / "events.csv").read_text().splitlines(keepends=True)
    with (files / "events.csv").open("a") as file:
        for _ in range(kills):
            file.writelines(lines[1:])
    horizon = 400 * (kills + 1)
    words = (
        "--domain",
        "domain.toml",
        *SMALL,
        "--horizon",
        horizon,
        "--every",
        10,
        *MODELS,
        "--state",
        "s.state",
        *RECORDED,
    )
    seen: dict[str, bytes] = {}
    for kill in range(kills):
        process = start("stream", "events.csv", *words)
        until(lambda wanted=40 * kill + 7: len(seen_now(files)) > wanted, process)  # type: ignore[misc]
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert all(content == seen.get(name, content) for name, content in seen_now(files).items())
        seen |= seen_now(files)
    done = run("stream", "events.csv", *words)
    assert done.code == 0, done.err
    assert releases(files / "models") == list(range(10, horizon + 1, 10))
    assert all(seen_now(files)[name] == content for name, content in seen.items())
    assert len(run("ledger", "log", URL, "clinic", "--json").json["charges"]) == 1


def seen_now(files: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (files / "models").glob("[0-9]*.json")}


def test_a_release_that_was_not_written_is_written_by_the_next_run(run: Run, files: Path) -> None:
    (files / "models" / "150.json").mkdir()
    done = run("stream", "events.csv", *KEPT, *RECORDED)
    assert done.code == 1, "a file in the way of a new stream is seen before anything is spent"
    assert "150.json exists" in done.err
    assert not (files / "s.state").exists()
    (files / "models" / "150.json").rmdir()
    lines = (files / "events.csv").read_text().splitlines(keepends=True)
    (files / "events.csv").write_text("".join(lines[:101]))
    assert run("stream", "events.csv", *KEPT, *RECORDED).code == 0
    (files / "events.csv").write_text("".join(lines))
    (files / "models" / "150.json").write_text('{"another": "model"}')
    done = run("stream", "events.csv", *KEPT, *RECORDED)
    assert done.code == 4
    assert "models/150.json exists and holds something other than this release" in done.err
    assert (files / "models" / "150.json").read_text() == '{"another": "model"}'
    (files / "models" / "150.json").unlink()
    assert run("stream", "events.csv", *KEPT, *RECORDED).code == 0
    assert releases(files / "models") == list(range(50, 401, 50))


def test_a_model_that_was_saved_before_rows_had_heads_is_the_same_release(run: Run, files: Path) -> None:
    """After `ledger upgrade` every stream that stood at a release was refused: its last model "holds something other than this release"."""
    lines = (files / "events.csv").read_bytes().splitlines(keepends=True)
    (files / "events.csv").write_bytes(b"".join(lines[:101]))
    assert run("stream", "events.csv", *KEPT, *RECORDED).code == 0
    last = files / "models" / "100.json"
    saved = json.loads(last.read_text())
    for name in ("database", "head"):
        del saved["release"]["statement"][name]
    (files / "events.csv").write_bytes(b"".join(lines))
    dataset = saved["release"]["statement"]["dataset"]
    for written, code in (("another", 4), (dataset, 0)):
        saved["release"]["statement"]["dataset"] = written
        last.write_text(json.dumps(saved))
        assert run("stream", "events.csv", *KEPT, *RECORDED).code == code
    assert releases(files / "models") == list(range(50, 401, 50))


STREAM = ("stream", "events.csv", *WORDS)
BAD: dict[str, tuple[tuple[object, ...], int, str]] = {
    "no place for models": (STREAM, 1, "--models"),
    "a pattern without a position": ((*STREAM, "--models", "m.json"), 1, "{position}"),
    "models in no folder": ((*STREAM, "--models", "nowhere/{position}.json"), 1, "mkdir"),
    "no source": (("stream", "nowhere.csv", *KEPT), 1, "nowhere.csv"),
    "an unknown suffix": (("stream", "domain.toml", *KEPT), 1, "--format"),
    "standard input of no format": (("stream", "-", *KEPT), 1, "--format"),
    "a format that the suffix denies": (("stream", "events.csv", "--format", "jsonl", *KEPT), 1, "ends in .csv"),
    "every of words": ((*STREAM, *MODELS, "--every", "often"), 1, "'often'"),
    "falling positions": ((*STREAM, *MODELS, "--every", "100,50"), 1, "rising"),
    "no budget": (("stream", "events.csv", "--domain", "domain.toml", "--horizon", 9, *MODELS), 1, "--epsilon"),
    "bad set": ((*STREAM, *MODELS, "--set", "l7:1"), 1, "l7"),
    "unknown mechanism": ((*STREAM, *MODELS, "--mechanism", "magic"), 1, "magic"),
    "window and half-life": ((*STREAM, *MODELS, "--window", 100, "--half-life", 100), 1, "window"),
    "unknown target": ((*STREAM, *MODELS, "--target", "los"), 1, "los"),
    "following Parquet": (("stream", "events.parquet", *KEPT, "--follow"), 1, "followed"),
    "a key of a file": ((*STREAM, *MODELS, "--key", "events"), 1, "--key"),
    "Redis without a key": (("stream", "redis://127.0.0.1:1/0", *KEPT), 1, "--key"),
    "no Redis": (("stream", "redis://me:hush@127.0.0.1:1/0", "--key", "events", *KEPT), 1, "127.0.0.1:1"),
    "continuing nothing": ((*STREAM, *MODELS, "--continues"), 1, "--state"),
    "a setting of another method": ((*STREAM, *MODELS, "--sketch-size", 3), 1, "--sketch-size"),
    "classes of sums": ((*STREAM, *MODELS, "--domain", "classes.toml"), 1, "--method periodic"),
    "an estimator of no periodic": ((*STREAM, *MODELS, "--estimator", "lasso"), 1, "--estimator"),
    "neither horizon nor releases": (
        ("stream", "events.csv", "--domain", "domain.toml", *SMALL, *MODELS),
        1,
        "--horizon",
    ),
    "refits without a horizon": (
        ("stream", "events.csv", "--domain", "domain.toml", *SMALL, *MODELS, "--method", "periodic"),
        1,
        "horizon",
    ),
    "a window of refits": ((*STREAM, *MODELS, "--method", "periodic", "--window", 9), 1, "--window"),
    "models there before": ((*STREAM, "--models", "old{position}.json"), 1, "old7.json exists"),
    "sketched without a set": ((*STREAM, *MODELS, "--method", "sketched"), 1, "constraint"),
    "no column of that name": ((*STREAM, *MODELS, "--domain", "other.toml"), 1, "dose"),
    "unknown dataset": ((*STREAM, *MODELS, "--ledger", URL, "--dataset", "other"), 3, "other"),
    "a new key of nothing": ((*STREAM, *MODELS, "--new-key"), 1, "--key-file"),
    "a key file without state": ((*STREAM, *MODELS, "--key-file", "k"), 1, "state"),
}


def test_what_cannot_be_done_is_refused_in_a_sentence(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hullabaloo.data.sources.redis_stream.PATIENCE", (0.0,))
    (files / "other.toml").write_text(DOMAIN.replace("age", "dose"))
    (files / "classes.toml").write_text('classes = { ward = ["surgery", "medicine"] }\n[features]\nage = [0, 95]\n')
    (files / "old7.json").write_text("{}")
    for words, code, said in BAD.values():
        done = run(*words)
        refused(done, code, said)
        assert "hush" not in done.err
        assert releases(files / "models") == []
    assert run("ledger", "log", URL, "clinic", "--json").json["charges"] == []


def test_a_missing_library_is_named_with_its_command(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    with pytest.raises(MissingLibrary, match="pip install"):
        RedisSource("redis://localhost", "events", ["age"])
    done = run("stream", "redis://localhost", "--key", "events", *KEPT)
    refused(done, 4, 'pip install "hullabaloo[stream]"')


def test_an_encrypted_state(run: Run, files: Path) -> None:
    lines = (files / "events.csv").read_text().splitlines(keepends=True)
    (files / "events.csv").write_text("".join(lines[:131]))
    words = ("stream", "events.csv", *KEPT, *RECORDED, "--key-file", "s.key")
    refused(run(*words), 1, "s.key does not exist")
    assert run(*words, "--new-key").code == 0
    (files / "events.csv").write_text("".join(lines))
    assert run(*words, "--new-key").code == 0, "the same command goes on, with the key that it made"
    assert releases(files / "models") == list(range(50, 401, 50))
    (files / "s.key").rename(files / "lost.key")
    assert run(*words).code == 1


def test_a_state_of_another_stream_is_refused(run: Run, files: Path) -> None:
    assert run("stream", "events.csv", *KEPT, *RECORDED).code == 0
    for path in (files / "models").iterdir():
        path.unlink()
    done = run("stream", "events.csv", *KEPT, *RECORDED, "--horizon", 2000)
    refused(done, 1, "belongs to another stream")


JUNK = [
    "41,surgery,3",
    "n/a,,",
    "1",
    "1,2,3,4,5,6",
    '"Mrs, Miller","quoted\nline",9',
    "9" * 5000 + ",x,inf",
    ",,",
    '"a""b",\x00,四',
]
JUNK_JSON = [
    '{"age": 41, "ward": "surgery", "stay": 3}',
    "",
    "{",
    '{"age": "Mrs Miller"}',
    "[1]",
    '{"age": {"a": 1}}',
    "null",
    '{"x": 1}',
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "junk"), [("events.csv", JUNK), ("events.jsonl", JUNK_JSON)], ids=["csv", "jsonl"])
@pytest.mark.parametrize("format_", [(), ("--json",)], ids=["people", "scripts"])
def test_no_value_of_a_record_changes_anything_but_released_numbers(
    run: Run, files: Path, keyed: None, name: str, junk: list[str], format_: tuple[str, ...]
) -> None:
    lines = (files / name).read_text().splitlines()
    outcomes, released = [], set()
    for i, record in enumerate(junk):
        changed = [*lines[:78], record, *lines[79:]]
        (files / name).write_text("\n".join(changed) + "\n", newline="")
        folder = files / f"m{i}"
        folder.mkdir()
        done = run("stream", name, *WORDS, "--models", f"m{i}/{{position}}.json", *format_)
        outcomes.append(
            (
                done.code,
                masked(done.out.replace(f"m{i}/", "")),
                masked(done.err),
                len(done.out.splitlines()),
                releases(folder),
            )
        )
        assert "Miller" not in done.out + done.err
        models = [json.loads((folder / f"{p}.json").read_text()) for p in releases(folder)]
        assert [sorted(one["release"]) for one in models] == [sorted(models[0]["release"])] * len(models)
        released.add(json.dumps(models[0]["release"]["theta"]))
    assert outcomes[0][0] == 0
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert len(released) == 1, "the record is the 78th or 79th: the model of the first 50 knows nothing of it"


def test_an_internal_fault_shows_no_record(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hullabaloo.data.sources import csv_lines

    def fail(*_: object) -> None:
        raise ValueError("could not convert string to float: 'Mrs Miller'")

    monkeypatch.setattr(csv_lines.CsvSource, "_table", fail)
    done = run("stream", "events.csv", *KEPT)
    assert done.code == 4
    assert "Miller" not in done.out + done.err


def test_what_a_record_of_a_csv_file_is_is_declared_in_the_domain(run: Run, files: Path) -> None:
    """By default a quote left open ends with its line; it took all lines after it, and how many were left told of it."""
    lines = (files / "events.csv").read_text().splitlines(keepends=True)
    lines[100] = '30,"surgery,3\n'
    (files / "events.csv").write_text("".join(lines))
    assert "The source ends after record 400" in run("stream", "events.csv", *WORDS, "--out", "lines.json").out
    domain = (files / "domain.toml").read_text()
    (files / "domain.toml").write_text(f"quoted_line_breaks = true\n{domain}")
    done = run("stream", "events.csv", *WORDS, "--out", "parsed.json", "--json")
    last = json.loads(done.out.splitlines()[-1])
    assert last["position"] == 100
    assert any("records as parsed" in line for line in last["guarantee"])


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "a cell": lambda text: text.replace(b"surgery", b"sXrgery", 1),
    "a name": lambda text: b"AGE" + text[3:],
    "a line less": lambda text: text[: text.index(b"\n") + 1] + text[text.index(b"\n", text.index(b"\n") + 1) + 1 :],
    "a line more": lambda text: text[: text.index(b"\n") + 1] + b"1,surgery,2\n" + text[text.index(b"\n") + 1 :],
    "cut off": lambda text: text[:40],
}


@pytest.mark.few(2)
@pytest.mark.parametrize("new", [False, True], ids=["in place", "replaced"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_was_changed_before_the_place_is_refused_and_nothing_moves(
    run: Run, files: Path, change: str, new: bool
) -> None:
    """It was gone on with at the byte where the reading had ended: records were skipped, and the models said nothing of it."""
    path, whole = files / "events.csv", (files / "events.csv").read_bytes()
    cut = len(b"".join(whole.splitlines(keepends=True)[:131]))
    path.write_bytes(whole[:cut])
    assert run("stream", "events.csv", *KEPT, *RECORDED).code == 0
    if new:
        path.rename(files / "old.csv")
    path.write_bytes(CHANGES[change](whole))
    before = {one: one.read_bytes() for one in files.rglob("*") if one.is_file() and one.suffix != ".db"}
    done = run("stream", "events.csv", *KEPT, *RECORDED)
    assert done.code == 1, "a source that was rewritten is refused: it was told as a failure of the machine"
    assert "othing was " in done.err or change == "a name"
    after = {one: one.read_bytes() for one in files.rglob("*") if one.is_file() and one.suffix != ".db"}
    assert after == before
    path.write_bytes(whole)
    assert run("stream", "events.csv", *KEPT, *RECORDED).code == 0
    assert releases(files / "models") == list(range(50, 401, 50))


def test_the_place_is_in_the_state_and_nowhere_else(run: Run, files: Path) -> None:
    """Neither the ledger nor any other file holds key, tag or offset, nor a plain hash, which would confirm guesses of records."""
    data = (files / "events.csv").read_bytes()
    for name in ("s.state", "t.state"):
        charged = RECORDED if name == "s.state" else ()
        assert run("stream", "events.csv", *WORDS, "--out", "m.json", "--state", name, *charged).code == 0
    places = [_place_in(files / name) for name in ("s.state", "t.state")]
    assert len({one["key"] for one in places} | {one["tag"] for one in places}) == 4
    assert {one["offset"] for one in places} == {len(data)}
    hashes = [hashlib.new(kind, data).digest() for kind in ("sha256", "sha1", "md5")]
    for path in (one for one in files.rglob("*") if one.is_file() and one.suffix != ".csv"):
        content = path.read_bytes()
        for found in hashes:
            assert found not in content, path
            assert found.hex().encode() not in content, path
        if path.suffix != ".state":
            assert not any(one[what].encode() in content for one in places for what in ("key", "tag")), path


def _place_in(state: Path) -> Any:
    header = json.loads(state.read_bytes().split(b"\n", 3)[2])
    return json.loads(header["source"])["place"]


def test_the_state_of_an_older_version_is_believed_once_and_then_tells_a_change(run: Run, files: Path) -> None:
    """It kept nothing to tell the file by."""
    path, lines = files / "events.csv", (files / "events.csv").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:131]))
    assert run("stream", "events.csv", *KEPT).code == 0
    state = files / "s.state"
    words, facts, header, rest = state.read_bytes()[:-32].split(b"\n", 3)
    old = {name: one for name, one in json.loads(header).items() if name != "source"}
    older = b"\n".join([words, facts.replace(b'"format":2', b'"format":1'), json.dumps(old).encode(), rest])
    path.write_bytes(b"".join(lines[:300]))
    state.write_bytes(older + hashlib.sha256(older).digest())
    for model in (files / "models").iterdir():
        model.unlink()
    done = run("stream", "events.csv", *KEPT)
    assert done.code == 0
    assert "The source ends after record 299" in done.out
    assert "nothing was kept of the 130 records" in done.err
    path.write_bytes(b"".join(lines))
    done = run("stream", "events.csv", *KEPT)
    assert (done.code, done.err) == (0, "")
    path.write_bytes(b"".join([lines[0], *lines[2:]]))
    assert run("stream", "events.csv", *KEPT).code == 1
