"""`hullabaloo domain estimate`: bounds bought, charged, written as a domain that a fit can use, and put on a card."""

import json
from pathlib import Path

import pytest

import hullabaloo as hb
from hullabaloo.data import saving
from tests.cli.conftest import BUDGET, Run, rows

OUTER = """
target = { stay = [-100, 10000] }
indicators = false

[features]
age = [0, 1000]
ward = ["surgery", "medicine"]
"""
WIDE = ("--quantiles", "0.05,0.95")


@pytest.fixture
def outer(tmp_path: Path) -> Path:
    path = tmp_path / "outer.toml"
    path.write_text(OUTER)
    return path


@pytest.mark.usefixtures("undrawn")
def test_from_outer_ranges_to_a_card(run: Run, table: Path, outer: Path, tmp_path: Path) -> None:
    url, dataset = "sqlite:///privacy.db", ("--dataset", "clinic")
    assert run("ledger", "create", url, "clinic", "--epsilon", 2, "--delta", "1e-5").code == 0
    recorded = ("--ledger", url, *dataset)
    made = ("--out", "domain.toml", "--entry", "bounds.json")
    done = run("domain", "estimate", table, "--outer", outer, *BUDGET, *recorded, *made)
    assert done.code == 0, done.err
    for said in ("age", "stay", "-100 to 10000", "differential privacy", "clinic", "domain.toml"):
        assert said in done.out
    text = (tmp_path / "domain.toml").read_text()
    assert text.startswith("# Bounds of 2 columns, aimed at cutting off ")
    assert "Charged to dataset 'clinic'" in text
    domain = hb.Domain.from_toml(tmp_path / "domain.toml")
    assert -100 <= domain.targets[0].lo < domain.targets[0].hi <= 10000
    fit = ("fit", table, "--domain", "domain.toml", "--solver", "moments", *BUDGET, *recorded)
    assert run(*fit, "--out", "model.json").code == 0
    card = run("card", "model.json", "--entry", "bounds.json", "--out", "card.html", "--json").json["card"]
    assert card["also"]["together"]["releases"] == 2
    assert card["also"]["text"].startswith("All are charged to dataset 'clinic'")
    assert "Also released" in (tmp_path / "card.html").read_text()
    refused = run("domain", "estimate", table, "--outer", outer, *BUDGET, *recorded)
    assert refused.code == 3
    assert len(run("ledger", "log", url, "clinic", "--json").json["charges"]) == 2


def test_for_scripts(run: Run, table: Path, outer: Path) -> None:
    done = run(
        "domain", "estimate", table, "--outer", outer, *BUDGET, "--quantiles", "0,0.95", "--column", "age", "--json"
    ).json
    assert done["ok"] is True
    assert set(done["bounds"]) == {"age"}
    assert done["bounds"]["age"][0] == 0.0
    assert done["domain"]["target"] == {"stay": [-100.0, 10000.0]}
    assert done["guarantee"][0].startswith("not recorded")
    assert done["out"] == []


def test_it_prints_the_domain_where_no_file_is_named(run: Run, table: Path, outer: Path) -> None:
    done = run("domain", "estimate", table, "--outer", outer, *BUDGET, *WIDE)
    assert done.code == 0
    assert "[features]" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--quantiles", "0.5"), "no pair of numbers"),
        (("--quantiles", "0.6,0.7"), "both sides of the middle"),
        (("--grid", "cubic"), "grid was given as 'cubic'"),
        (("--column", "ward"), "'ward'"),
        (("--out", "domain.json"), "written as .toml"),
        (("--target", "age"), "declares the bounds of stay"),
        (("--neighbours", "add-or-remove"), "Declare a nominal number"),
        (("--coverage", 1.5), "above 0.5 and below 1"),
        ((), "mere chance"),
    ],
    ids=str,
)
def test_refusals_spend_nothing(run: Run, table: Path, outer: Path, words: tuple[object, ...], said: str) -> None:
    table.write_text("\n".join(rows(50)) + "\n")
    done = run("domain", "estimate", table, "--outer", outer, *BUDGET, *words, "--json")
    assert done.code == 1
    assert said in done.json["error"]["message"]


def test_an_output_that_exists_is_not_overwritten(run: Run, table: Path, outer: Path, tmp_path: Path) -> None:
    (tmp_path / "domain.toml").write_text("x = 1")
    done = run("domain", "estimate", table, "--outer", outer, *BUDGET, *WIDE, "--out", "domain.toml")
    assert done.code == 1
    assert "paid for" in done.err
    assert (tmp_path / "domain.toml").read_text() == "x = 1"


def test_what_was_paid_for_is_rescued(
    run: Run, table: Path, outer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = saving.write_whole

    def full(path: Path, content: str | bytes) -> None:
        if path.parent == Path() or path.parent == tmp_path:
            raise OSError(28, "No space left on device")
        write(path, content)

    monkeypatch.setattr(saving, "write_whole", full)
    done = run("domain", "estimate", table, "--outer", outer, *BUDGET, *WIDE, "--out", "domain.toml", "--json")
    assert done.code == 4
    message = json.loads(done.out)["error"]["message"]
    assert "No space left" in message
    rescued = Path(message.split("saved as ")[1].split(" instead")[0])
    assert hb.Domain.from_toml(rescued).feature_names == ("age", "ward")
