"""`hullabaloo evaluate`: a released model measured on a table, charged, printed, saved; refusals spend nothing."""

import json
from pathlib import Path

from hullabaloo.model_selection import Evaluation
from tests.cli.conftest import BUDGET, URL, Run


def test_an_evaluation_is_printed_and_saved(run: Run, model: Path, table: Path, tmp_path: Path) -> None:
    words = ("--metric", "r2", "--metric", "absolute-error", "--metric", "calibration", "--bins", 4)
    done = run("evaluate", model, table, *BUDGET, *words, "--out", "evaluation.json")
    assert done.code == 0, done.err
    for words_of_it in ("absolute_error", "95% interval", "predicted", "7.5 to 15", "differential privacy", "Saved"):
        assert words_of_it in done.out
    found = Evaluation.from_dict(json.loads((tmp_path / "evaluation.json").read_text()))
    assert set(found.values) == {"r2", "absolute_error"}
    assert (7.5, 15.0) in {(one.low, one.high) for one in found.calibration}  # nine tenths of predictions
    again = run("evaluate", model, table, *BUDGET, "--out", "evaluation.json")
    assert again.code == 1
    assert "--overwrite" in again.err


def test_json_for_scripts(run: Run, model: Path, table: Path) -> None:
    done = run("evaluate", model, table, "--target", "stay", "--mu", 0.3, "--json").json
    assert done["ok"]
    assert set(done["evaluation"]["values"]) == {"squared_error"}
    assert done["evaluation"]["statement"]["records"] == 400
    assert done["remaining"] is None


def test_it_is_charged_once_and_refused_when_the_budget_is_gone(
    run: Run, ledger: str, model: Path, table: Path, tmp_path: Path
) -> None:
    words = (*BUDGET, "--metric", "r2", "--metric", "squared_error", "--ledger", URL, "--dataset", "clinic")
    done = run("evaluate", model, table, *words, "--out", "evaluation.json", "--json")
    assert done.code == 0
    assert done.json["evaluation"]["statement"]["charge"] == 1
    assert len(run("ledger", "log", URL, "clinic", "--json").json["charges"]) == 1
    verified = "ledger", "verify", URL, "--entry", "evaluation.json"
    assert run(*verified).code == 0
    refused = run("evaluate", model, table, *words)
    assert refused.code == 3
    assert len(run("ledger", "log", URL, "clinic", "--json").json["charges"]) == 1
    (tmp_path / "privacy.db").unlink()
    assert run("ledger", "create", URL, "clinic", *BUDGET).code == 0
    found = run(*verified)
    assert found.code == 5
    assert "evaluation.json" in found.out


def test_the_number_of_records_is_stated_where_it_is_hidden(run: Run, model: Path, table: Path) -> None:
    refused = run("evaluate", model, table, *BUDGET, "--neighbours", "add-or-remove")
    assert refused.code == 1
    assert "records=" in refused.err
    done = run("evaluate", model, table, *BUDGET, "--neighbours", "add-or-remove", "--records", 380, "--json")
    assert done.json["evaluation"]["statement"]["records"] == 380


def test_refusals_are_sentences(run: Run, model: Path, table: Path, tmp_path: Path) -> None:
    for words, sentence in (
        ((*BUDGET, "--metric", "accuracy"), "predicts numbers"),
        (("--epsilon", 1, "--mu", 1), "stated in one way"),
        ((*BUDGET, "--confidence", 2), "confidence level"),
        ((*BUDGET, "--target", "age"), "bounds of stay"),
        ((*BUDGET, "--bins", 0, "--metric", "calibration"), "whole number from 1"),
        ((*BUDGET, "--probability-floor", 0.7), "between 1e-6 and 0.25"),
        ((*BUDGET, "--ledger", URL), "without --dataset"),
    ):
        done = run("evaluate", model, table, *words)
        assert done.code == 1, words
        assert sentence in done.err
    assert run("evaluate", "none.json", table, *BUDGET).code == 1
    (tmp_path / "other.csv").write_text("age,stay\n1,2\n")
    assert "'ward'" in run("evaluate", model, "other.csv", *BUDGET).err


def test_help_says_what_there_is(run: Run) -> None:
    done = run("evaluate", "--help")
    assert done.code == 0
    for word in ("--metric", "calibration", "--epsilon", "--ledger", "--records"):
        assert word in done.out


def test_a_price_reads_and_spends_nothing(run: Run, ledger: str, model: Path) -> None:
    """What is expected of each metric; what is known of the target narrows that of R²."""
    asked = ("evaluate", model, "nowhere.csv", *BUDGET, "--metric", "r2", "--metric", "squared-error")
    done = run(*asked, "--price", "--records", 400, "--ledger", URL, "--dataset", "clinic")
    assert done.code == 0, done.err
    for words in ("epsilon = 1", "r2", "squared_error", "about", "--known", "Nothing was read or spent"):
        assert words in done.out
    assert run("ledger", "log", URL, "clinic", "--json").json["charges"] == []
    errors = run(*asked, "--known", 6, "--records", 400, "--json").json["price"]["errors"]
    assert errors["r2"]["low"] == errors["r2"]["high"]
    assert "n=None" in run(*asked, "--price").err
    for price in (("--price",), ("--known", 6)):  # of which nothing was saved, without a word
        refused = run(*asked, *price, "--records", 400, "--out", "evaluation.json")
        assert (refused.code, "nothing can be saved" in refused.err) == (1, True)
    assert "below 30" in run(*asked, "--known", 31, "--records", 400).err


def test_bins_of_no_table_are_refused(run: Run, model: Path, table: Path) -> None:
    """They were ignored."""
    done = run("evaluate", model, table, *BUDGET, "--metric", "r2", "--bins", 4)
    assert done.code == 1
    assert "--bins goes with --metric calibration or residuals" in done.err


def test_an_evaluation_in_place_of_a_model_is_told_where_it_goes(run: Run, model: Path, table: Path) -> None:
    assert run("evaluate", model, table, *BUDGET, "--out", "evaluation.json").code == 0
    assert "hullabaloo card MODEL --entry FILE" in run("card", "evaluation.json").err
