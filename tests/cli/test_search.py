"""`hullabaloo search`: the best of a grid for one charge, gone on with from its state; refusals spend nothing."""

from pathlib import Path

import pytest

import hullabaloo as hb
from tests.cli.conftest import BUDGET, URL, Run

GRID = """
penalty = ["l2:0.001", "l2:1"]
solver = ["moments", "preconditioned-gradient"]
intercept = [true]
"""


@pytest.fixture
def words(table: Path, domain: Path, tmp_path: Path) -> tuple[object, ...]:
    """A search that can be made."""
    (tmp_path / "grid.toml").write_text(GRID)
    return (
        "search",
        table,
        "--domain",
        domain,
        "--grid",
        "grid.toml",
        "--out",
        "best.json",
        "--estimator",
        "ridge",
        *BUDGET,
    )


def test_a_search_is_printed_and_saved(run: Run, words: tuple[object, ...], table: Path, tmp_path: Path) -> None:
    done = run(*words, "--metric", "absolute-error", "--expected-runs", 2)
    assert done.code == 0, done.err
    for said in ("SquaredL2Penalty", "absolute_error", "the best of several", "2 expected", "Saved best.json"):
        assert said in done.out
    assert isinstance(hb.load(tmp_path / "best.json"), hb.Ridge)
    assert run("predict", "best.json", table).code == 0
    again = run(*words)
    assert again.code == 1
    assert "--overwrite" in again.err


@pytest.mark.slow
def test_it_is_charged_once_and_goes_on_from_its_state(run: Run, ledger: str, words: tuple[object, ...]) -> None:
    charged = (*words, "--ledger", URL, "--dataset", "clinic", "--overwrite", "--json")
    first, second = (run(*charged, "--state", "search.state").json for _ in range(2))
    for name in ("chosen", "score", "summary"):
        assert first[name] == second[name]
    assert first["statement"]["charge"] == second["statement"]["charge"] == 1
    assert first["statement"]["event"]["kind"] == "tuned"
    assert run(*charged).code == 3
    assert len(run("ledger", "log", URL, "clinic", "--json").json["charges"]) == 1
    other = run(*charged, "--state", "search.state", "--holdout", 0.5)
    assert other.code == 1
    assert "belongs to another search" in other.out + other.err


def test_a_price_reads_nothing(run: Run, ledger: str, words: tuple[object, ...], tmp_path: Path) -> None:
    charged = (*words, "--ledger", URL, "--dataset", "clinic", "--price", "--records", 400)
    assert run(*charged, "--json").json["price"]["candidates"] == 4
    assert "Nothing was read or spent." in run(*charged).out
    assert not (tmp_path / "best.json").exists()
    place = words.index("--out")
    unnamed = (*words[:place], *words[place + 2 :])
    assert run(*unnamed, "--price", "--records", 400).code == 0, "a price writes no model"
    refused = run(*unnamed, "--ledger", URL, "--dataset", "clinic")
    assert refused.code == 1
    assert "Nothing was read or charged. Pass --out" in refused.err
    assert not run("ledger", "log", URL, "clinic", "--json").json["charges"]


@pytest.mark.parametrize(
    ("grid", "sentence"),
    [
        ("penalty = 'l2:1'", "no list"),
        ("penalty = [", "not valid TOML"),
        ("penalty = ['l2']", "l2"),
        ("budget = [1]", "no search chooses"),
        ("nosuch = [1]", "no such parameter"),
        ("solver = ['objective-perturbation']", "Candidate 1 of 1"),
        ("solver = []", "0 candidates"),
        (None, "cannot be read"),
    ],
)
def test_refusals_are_sentences(
    run: Run, ledger: str, words: tuple[object, ...], tmp_path: Path, grid: str, sentence: str
) -> None:
    if grid is None:
        (tmp_path / "grid.toml").unlink()
    else:
        (tmp_path / "grid.toml").write_text(grid)
    done = run(*words, "--ledger", URL, "--dataset", "clinic")
    assert done.code == 1
    assert sentence in " ".join(done.err.replace("│", " ").split())
    assert not (tmp_path / "best.json").exists()
    assert not run("ledger", "log", URL, "clinic", "--json").json["charges"]


@pytest.mark.slow
def test_structures_and_sets_are_read_as_fit_reads_them(run: Run, words: tuple[object, ...], tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text("set = ['l1:0.5', 'l2:1']\nsolver = ['moments']")
    assert run(*words, "--json").json["chosen"]["constraint"]["kind"] in ("l1-ball", "l2-ball")
    (tmp_path / "grid.toml").write_text(
        "structure = ['intervals', 'cover;age;ward']\nradius = [1]\nsolver = ['gradient']"
    )
    done = run(*words, "--estimator", "structured-sparse-regression", "--overwrite")
    assert done.code == 0, done.err
    assert "structure" in done.out


def test_nothing_is_spent_on_wrong_options(run: Run, words: tuple[object, ...]) -> None:
    for more, sentence in (
        (("--holdout", 2), "above 0 and below 1"),
        (("--shape", "normal"), "names no law"),
        (("--confidence", 2), "confidence level"),
        (("--key-file", "key"), "without a state file"),
        (("--metric", "accuracy"), "predicts numbers"),
    ):
        done = run(*words, *more)
        assert done.code == 1
        assert sentence in " ".join(done.err.replace("│", " ").split())
