"""No command writes its output over what cannot be had again: a ledger, a state, and, where nobody asked for it, any other file."""

import re
from pathlib import Path

import pytest

import hullabaloo as hb
from tests.laws.hearing import run
from tests.laws.text_doors import BUDGET, DOMAIN, LINES, sound

WRITING = {name: line.replace("TABLE", "sound.csv") for name, line in LINES.items() if "--out " in line}
FOLDERS = {name: line for name, line in WRITING.items() if "nowhere" in line}
WRITING = {name: line for name, line in WRITING.items() if name not in FOLDERS}


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
    for place in ("privacy.db", "kept.state"):
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
