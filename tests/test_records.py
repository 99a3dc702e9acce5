"""Every benchmark has a record, and says how to tell whether its accuracy is today's; what is stale is a warning here, and stops `make release`."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import astuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from benchmarks import listing, record  # noqa: E402
from benchmarks.__main__ import main  # noqa: E402

from tests import soak  # noqa: E402
from tests.planted.bug import Bug  # noqa: E402
from tests.planted.bugs import named  # noqa: E402

ACCURACY = [name for name in record.names() if record.kind(name) == "accuracy"]


def idle(value: Any) -> Iterator[list[Any]]:
    """Vectors of zeros, or of what is not told: what noise has drowned or a penalty cut off says nothing of the code."""
    if isinstance(value, list) and len(value) > 2 and all(one in (0.0, None) or str(one) == "nan" for one in value):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from idle(one)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ACCURACY)
def test_a_fingerprint_can_be_taken(name: str, record_property: Callable[[str, object], None]) -> None:
    """It holds answers, not zeros alone; whether they are the recorded ones is for the last line of the run to say."""
    now = record.fingerprint(name)
    assert not list(idle(now))
    if why := record.stale(name, now):
        record_property("stale record", f"{name} ({why})")


@pytest.mark.parametrize("name", record.names())
def test_a_record_says_when_and_of_what_it_is(name: str) -> None:
    kept = record.kept(name)
    assert kept is not None, f"record it: {record.command(name)}"
    assert kept["benchmark"] == name
    assert kept["date"]
    assert kept["commit"]
    assert {"source_hash", "sources"}.isdisjoint(kept)
    assert record.kind(name) == "accuracy" or kept["fingerprint"] is None


def test_every_result_has_its_benchmark() -> None:
    known = record.names()
    left_over = [path.name for path in record.RESULTS.glob("*.json") if path.stem not in known]
    assert not left_over, f"benchmarks/results holds {left_over}, and no benchmark of that name exists; delete them"


FEW = ("stream_risk", "frank_wolfe")
QUIETER = named("noise times 0.9")
QUIETER_STREAM = named("stream noise times 0.9")
SHORTER = Bug(
    "a shorter step",
    "Frank–Wolfe goes half as far.",
    "solvers.frank_wolfe.frank_wolfe",
    "mu = 2.0 / (t + 3)",
    "mu = 1.0 / (t + 3)",
    (),
)
PRINT = """
import json, pathlib, sys, tempfile
from tests.planted.bug import Bug
from tests.planted.plant import plant
bug, names = json.loads(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    if bug:
        plant(Bug(*bug), pathlib.Path(folder))
    from benchmarks import record
    print(json.dumps({name: record.fingerprint(name) for name in names}))
"""


def elsewhere(names: tuple[str, ...], bug: Bug | None = None) -> dict[str, Any]:
    """Fingerprints in a process of its own, of the library as it is or with a planted change."""
    asked = json.dumps([bug and astuple(bug), names])
    return dict(
        json.loads(
            subprocess.run(
                [sys.executable, "-c", PRINT, asked], cwd=ROOT, capture_output=True, text=True, check=True
            ).stdout
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("names", [FEW, pytest.param(tuple(ACCURACY), marks=pytest.mark.slow)], ids=["few", "all"])
def test_a_fingerprint_is_the_same_in_every_process(names: tuple[str, ...]) -> None:
    """To the last recorded digit, and whatever was computed before it: the other process takes them in the opposite order."""
    assert elsewhere(names[::-1]) == {name: record.fingerprint(name) for name in names}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bug", "moved", "unmoved"),
    [
        (QUIETER, ("tuning",), ("sketch",)),
        pytest.param(QUIETER, ("high_dimension",), ("sketch",), marks=pytest.mark.slow),
        pytest.param(QUIETER_STREAM, ("continual", "stream_risk", "sketch"), ("frank_wolfe",), marks=pytest.mark.slow),
        pytest.param(SHORTER, ("frank_wolfe", "high_dimension"), ("dual_frank_wolfe",), marks=pytest.mark.slow),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_changed_number_moves_the_fingerprints_that_rest_on_it(
    bug: Bug, moved: tuple[str, ...], unmoved: tuple[str, ...]
) -> None:
    """And no other: nothing is recorded again because of an edit that leaves its numbers alone."""
    found = elsewhere((*moved, *unmoved), bug)
    for name in (*moved, *unmoved):
        assert bool(list(record.differences(record.fingerprint(name), found[name]))) == (name in moved), name


class Tiny:
    """A benchmark of one number."""

    number = 1.0
    COMMAND = "make tiny"

    @staticmethod
    def run() -> dict[str, float]:
        return {"x": float("inf"), "y": 1 / 3}

    @classmethod
    def fingerprint(cls) -> dict[str, Any]:
        return {"theta": [cls.number, 0.0], "solver": "moments"}


@pytest.fixture
def small_house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "tiny.py").write_text("def run(): ...\n\n\ndef fingerprint(): ...\n")
    (folder / "helper.py").write_text("VALUE = 1\n")
    for name, value in (("ROOT", tmp_path), ("FOLDER", folder), ("RESULTS", folder / "results")):
        monkeypatch.setattr(record, name, value)
    monkeypatch.setattr(record.importlib, "import_module", lambda _: Tiny)
    monkeypatch.setattr(Tiny, "number", 1.0)
    monkeypatch.setattr(listing, "SOAKED", tmp_path / "soaked.json")
    return folder


def test_a_record_is_fresh_until_its_numbers_change(small_house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert record.names() == ["tiny"]
    assert "is not there" in record.stale("tiny")
    record.record("tiny")
    kept = record.kept("tiny")
    assert kept is not None
    assert kept["results"] == {"x": None, "y": 0.333333}
    assert kept["fingerprint"] == {"theta": [1.0, 0.0], "solver": "moments"}
    assert not record.stale("tiny")
    monkeypatch.setattr(Tiny, "number", 1.0 + 1e-5)
    assert not record.stale("tiny"), "last digits are the machine's"
    (small_house / "tiny.py").write_text("def run(): ...\n\n\ndef fingerprint(): ...\n\n# a word\n")
    assert not record.stale("tiny"), "an edit that changes no number changes nothing"
    monkeypatch.setattr(Tiny, "number", 1.01)
    assert record.stale("tiny") == "theta[0] was 1.0 and is 1.01"
    record.write({**kept, "fingerprint": None})
    assert record.stale("tiny") == "it was recorded before fingerprints were"


def test_a_release_is_refused_while_numbers_are_stale(
    small_house: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record.record("tiny")
    assert main(["--stale"]) == 0
    monkeypatch.setattr(Tiny, "number", 2.0)
    capsys.readouterr()
    assert main(["--stale"]) == 1
    assert "tiny: theta[0] was 1.0 and is 2.0; record it again: python -m benchmarks tiny" in capsys.readouterr().out
    assert main(["--list"]) == 0
    assert "stale" in capsys.readouterr().out


def test_what_is_stale_is_recorded_and_nothing_else(
    small_house: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["no such"]) == 2
    assert main([]) == 0
    assert main(["--stale"]) == 0
    capsys.readouterr()
    assert main([]) == 0
    assert capsys.readouterr().out == "Nothing is stale.\n"
    assert main(["tiny"]) == 0, "what is named is recorded whether it is stale or not"
    monkeypatch.setattr(Tiny, "number", 2.0)
    (small_house / "tiny.py").write_text("COMMAND = ''\n\n\ndef run(): ...\n\n\ndef fingerprint(): ...\n")
    assert main([]) == 0
    assert "make tiny" in capsys.readouterr().out
    assert main(["--stale"]) == 1, "what needs another environment is left to its own command"


@pytest.mark.parametrize("text", ["", "SPEED = True\n\n\ndef fingerprint(): ...\n"])
def test_a_benchmark_says_whether_it_has_accuracy(small_house: Path, text: str) -> None:
    (small_house / "bare.py").write_text(f"{text}\n\ndef run(): ...\n")
    with pytest.raises(ValueError, match="define fingerprint"):
        record.stale("bare")


def test_speed_alone_is_never_stale(small_house: Path) -> None:
    (small_house / "tiny.py").write_text("SPEED = True\n\n\ndef run(): ...\n")
    record.record("tiny")
    assert not record.stale("tiny")


@pytest.mark.parametrize(
    ("then", "now", "apart"),
    [
        ({"a": 1.0}, {"a": 1.0009}, []),
        ({"a": 1.0}, {"a": 1.01}, ["a was 1.0 and is 1.01"]),
        ({"a": 0.0}, {"a": 1e-12}, []),
        ({"a": None}, {"a": 1.0}, ["a was None and is 1.0"]),
        ({"a": True}, {"a": 1}, ["a was True and is 1"]),
        ({"a": [1, 2]}, {"a": [1]}, ["a was [1, 2] and is [1]"]),
        ({"a": "x", "b": 1.0}, {"b": 1.0, "c": 2}, ["a was 'x' and is None", "c was None and is 2"]),
    ],
)
def test_fingerprints_differ_by_more_than_last_digits(then: Any, now: Any, apart: list[str]) -> None:
    assert list(record.differences(then, now)) == apart


REPORT = """<s><testcase/><testcase name="deaths"><properties><property name="counts" value='{"kills": 3}'/></properties></testcase>
<testcase><skipped/></testcase></s>"""


def test_the_long_tests_leave_one_line_each(small_house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that fails leaves the line of the last one that passed."""
    status = 0

    def ran(words: list[str], **_: object) -> SimpleNamespace:
        report = next(word.partition("=")[2] for word in words if word.startswith("--junitxml"))
        Path(report).write_text(REPORT, encoding="utf-8")
        return SimpleNamespace(returncode=status)

    monkeypatch.setattr(record, "head", lambda: "0123")
    monkeypatch.setattr(soak.subprocess, "run", ran)
    for _ in range(2):
        assert soak.main([]) == 0
    kept = listing.soaked()
    assert [(one["record"], one["passed"], one["commit"]) for one in kept] == [
        (name, 2, "0123") for name in sorted(soak.RUNS)
    ]
    assert kept[0]["counts"] == {"deaths": {"kills": 3}}
    status = 1
    assert soak.main(["fuzz"]) == 1
    assert listing.soaked() == kept
    assert soak.main(["no such"]) == 2
