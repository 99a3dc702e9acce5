"""Nothing is written over what cannot be had again: a ledger, a state, a key; and by commands, where nobody asked for it, over no other file."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hullabaloo as hb
from hullabaloo.audit.report import AuditReport
from hullabaloo.data.saving import write_whole
from hullabaloo.errors import InvalidParameter
from hullabaloo.model_selection import PrivateSearchCV
from hullabaloo.report.cards import Card, card
from tests.laws.hearing import run
from tests.laws.text_doors import BUDGET, DOMAIN, FITTED, LINES, sound

SOURCE = Path(hb.__file__).parent

WRITING = {name: line.replace("TABLE", "sound.csv") for name, line in LINES.items() if "--out " in line}
FOLDERS = {name: line for name, line in WRITING.items() if "nowhere" in line}
WRITING = {name: line for name, line in WRITING.items() if name not in FOLDERS}
DEAR = ("privacy.db", "kept.state", "key")


@pytest.fixture
def files(desk: Path) -> dict[str, bytes]:
    """What a folder of somebody who works with the library holds."""
    hb.Ledger(f"sqlite:///{desk}/privacy.db").create("people", BUDGET)
    kept = {"domain": DOMAIN, "budget": BUDGET, "horizon": 40, "every": 40}
    with hb.streaming.IncrementalRegression(state="kept.state", **kept) as model:
        model.partial_fit(sound())
    hb.streaming.new_key_file("key")
    return {path.name: path.read_bytes() for path in desk.iterdir() if path.is_file()}


@pytest.mark.parametrize("command", WRITING)
def test_a_ledger_and_a_state_are_never_overwritten(command: str, files: dict[str, bytes]) -> None:
    for place in DEAR:
        words = re.sub(r"--out \S+", f"--out {place}", WRITING[command]).split()
        assert run(words)[0] == 1, words
        assert Path(place).read_bytes() == files[place]


def test_a_stream_overwrites_released_models_only(files: dict[str, bytes]) -> None:
    """`--out` of a stream holds the latest model, and took the place of any file: the records, the domain, the key, the ledger with all that was spent."""
    Path("other.json").write_text("[" * 100_000)
    for place in (*files, "other.json"):
        words = re.sub(r"--out \S+", f"--out {place}", WRITING["stream"]).split()
        if place in {"m.json", "n.json"}:
            assert run(words)[0] == 0
            assert Path(place).read_bytes() != files[place]
            continue
        before = Path(place).read_bytes()
        assert run(words)[0] == 1, place
        assert Path(place).read_bytes() == before


@pytest.mark.parametrize("more", [[], ["--fresh"]])
@pytest.mark.parametrize("command", FOLDERS)
def test_a_folder_of_somebody_stays_as_it_is(
    command: str, more: list[str], files: dict[str, bytes], desk: Path
) -> None:
    """Also where a command knows files by the names that they have here: the demo's were a ledger, a domain and a model, which it replaced, and `--fresh` removed."""
    for name, like in (("domain.toml", "d.toml"), ("model.json", "m.json")):
        files[name] = (desk / like).read_bytes()
        (desk / name).write_bytes(files[name])
    words = (
        re.sub(r"--out \S+", f"--out {desk}", FOLDERS[command]).replace("reproduce nowhere", "reproduce 000").split()
    )
    assert run(words + more * (command == "demo"))[0] == 1
    assert {path.name: path.read_bytes() for path in desk.iterdir() if path.is_file()} == files


def test_the_demo_removes_no_ledger_that_others_are_charged_in(desk: Path) -> None:
    from hullabaloo.cli.demo import survey

    (desk / "own").mkdir()
    (desk / "own" / "domain.toml").write_text(survey.domain())
    hb.Ledger("sqlite:///own/privacy.db").create("people", BUDGET)
    before = (desk / "own" / "privacy.db").read_bytes()
    assert run(["demo", "--out", "own", "--fresh"])[0] == 1
    assert (desk / "own" / "privacy.db").read_bytes() == before


def _a_model() -> Any:
    return FITTED.linear


WRITERS: dict[str, Callable[[Any], Any]] = {
    "AuditReport.save": lambda path: AuditReport.save(SimpleNamespace(to_dict=dict), path),  # type: ignore[arg-type]
    "Card.to_html": lambda path: card(_a_model()).to_html(path),
    "Card.to_json": lambda path: Card({}).to_json(path),
    "PrivateLinearModel.save": lambda path: _a_model().save(path),
    "PrivateSearchCV.save": lambda path: PrivateSearchCV.save(SimpleNamespace(_inside=_a_model()), path),  # type: ignore[arg-type]
    "Saved.save": lambda path: FITTED.stream.model_at().save(path),
    "write_whole": lambda path: write_whole(Path(path), "{}"),
}
"""Everything of the library that writes to a path of the caller's."""
APART = {
    "cli/demo/job.py", "cli/models.py", "cli/plan.py",  # after `build.output`, or into a folder of their own
    "compiled.py", "data/engines/dask.py", "durable/state.py",  # names of their own, and states themselves
    "data/saving.py", "reproduce/claims.py", "report/drawing.py",  # the rule's own file, and pictures in memory
}  # fmt: skip
"""Files with another way to write than `write_whole`."""


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("writer", WRITERS)
def test_no_call_writes_over_a_ledger_a_state_or_a_key(writer: str, files: dict[str, bytes]) -> None:
    """Commands alone refused: `model.save("privacy.db")` took the place of a ledger, with all that was spent."""
    for place in DEAR:
        with pytest.raises(InvalidParameter, match="No ledger, state or key is overwritten"):
            WRITERS[writer](place)
        assert Path(place).read_bytes() == files[place]
    Path("short").write_text("twenty-nine bytes, and \u00e4 too\n", encoding="utf-8")
    for place in ("sound.csv", "new.json", "short"):
        WRITERS[writer](place)
        assert Path(place).read_bytes() != files.get(place)


def _writing() -> Iterator[tuple[str, str]]:
    """Of every file of the sources: methods that take a path of the caller's, and calls that write."""
    names = {"write_text", "write_bytes", "to_csv", "to_parquet", "savefig", "ParquetWriter", "tofile", "touch"}
    may = re.compile("|".join([r"path: str \| Path", r"\.replace\(", r"\.open\(", *names]))
    for file in sorted(SOURCE.rglob("*.py")):
        text, where = file.read_text(), str(file.relative_to(SOURCE))
        if not may.search(text):  # most files, which are not parsed
            continue
        for one in ast.walk(ast.parse(text)):
            if isinstance(one, ast.ClassDef):
                for method in (each for each in one.body if isinstance(each, ast.FunctionDef)):
                    taken = [f"{arg.arg}: {ast.unparse(arg.annotation or arg)}" for arg in method.args.args[1:]]
                    if taken in (["path: str | Path"], ["path: str | Path | None"]) and method.name not in {
                        "load",
                        "__init__",
                    }:
                        yield f"{one.name}.{method.name}", where
            elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
                moved = ast.unparse(one.func) == "os.replace" or re.search(
                    r"^\S+\.replace\((path|out)\)$", ast.unparse(one)
                )
                opened = one.func.attr == "open" and re.search(r"['\"][wax]b?['\"]", ast.unparse(one))
                if one.func.attr in names or moved or opened:
                    yield "", where


def test_what_writes_is_known() -> None:
    found = list(_writing())
    assert {name for name, _ in found} - {""} == set(WRITERS) - {"write_whole"}
    assert {where for name, where in found if not name} <= APART
