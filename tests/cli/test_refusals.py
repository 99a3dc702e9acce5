"""Hostile input: an exit code, a sentence, no traceback, nothing spent; and no value of a record changes any of it."""

import sys
import warnings
from pathlib import Path

import pytest

from tests.cli.conftest import BUDGET, DOMAIN, URL, Ran, Run, masked, rows

FIT = ("fit", "patients.csv", "--domain", "domain.toml", *BUDGET, "--solver", "moments", "--out", "model.json")
RECORDED = ("--ledger", URL, "--dataset", "clinic")


def refused(done: Ran, code: int, *said: str) -> None:
    assert done.code == code, (done.code, done.out, done.err)
    assert done.out == ""
    for text in said:
        assert text in done.err.replace("\n", " ")
    assert done.err.rstrip().endswith((".", "]'", '"', "`", ")")), "a refusal is a sentence"
    assert len(done.err) > 40


def nothing_spent(run: Run, tmp_path: Path) -> None:
    assert run("ledger", "log", URL, "clinic", "--json").json["charges"] == []
    assert not (tmp_path / "model.json").exists()


BAD = {
    "missing table": (("fit", "nowhere.csv", *FIT[2:]), 1, "nowhere.csv"),
    "a folder of other files": (("fit", ".", *FIT[2:]), 1, "Parquet"),
    "missing domain": ((*FIT[:3], "nowhere.toml", *FIT[4:]), 1, "nowhere.toml"),
    "unknown target": ((*FIT, "--target", "los"), 1, "los"),
    "bad set": ((*FIT, "--set", "l7:2"), 1, "l7"),
    "set without a number": ((*FIT, "--set", "l1:two"), 1, "two"),
    "no delta": ((*FIT[:4], "--epsilon", 1, "--out", "model.json"), 1, "delta"),
    "no budget": ((*FIT[:4], "--out", "model.json"), 1, "--epsilon"),
    "two budgets": ((*FIT, "--mu", 1), 1, "one way"),
    "negative epsilon": ((*FIT[:4], "--epsilon", -1, "--delta", 0.1, "--out", "model.json"), 1, "epsilon"),
    "pure budget": ((*FIT[:4], "--epsilon", 1, "--delta", 0, "--out", "model.json"), 1, "delta"),
    "hidden number of rows": ((*FIT, "--neighbours", "add-or-remove"), 1, "records"),
    "confidence": ((*FIT, "--confidence", 95), 1, "confidence"),
    "output in no folder": ((*FIT[:-1], "nowhere/model.json"), 1, "mkdir"),
    "output is a folder": ((*FIT[:-1], "."), 1, "folder"),
    "unknown dataset": ((*FIT, "--ledger", URL, "--dataset", "other"), 3, "other"),
    "ledger without dataset": ((*FIT, "--ledger", URL), 1, "--dataset"),
    "not a ledger": ((*FIT, "--ledger", "privacy.db", "--dataset", "clinic"), 1, "sqlite:///"),
    "unreachable ledger": ((*FIT, "--ledger", "sqlite:///nowhere/p.db", "--dataset", "clinic"), 3, "nowhere"),
    "no server": ((*FIT, "--ledger", "postgresql://nobody:hush@127.0.0.1:1/x", "--dataset", "clinic"), 3, "127.0.0.1"),
    "another relation": (
        (*FIT[:3], "hidden.toml", *FIT[4:], *RECORDED, "--neighbours", "add-or-remove"),
        3,
        "replace-one",
    ),
    "errors of no unit": ((*FIT, *RECORDED, "--errors", "unit"), 1, "errors='unit' is --errors unit here"),
    "a selection of all": ((*FIT, *RECORDED, "--selection", "fdr"), 1, "--penalty l1:0.01"),
    "a share above all": ((*FIT, *RECORDED, "--inference", 1.2), 1, "share of the budget"),
    "inference of a quantile": (
        (*FIT[:-4], *FIT[-2:], *RECORDED, "--estimator", "quantile", "--inference", "yes"),
        1,
        "inference=False --inference no",
    ),
    "epsilon is no number": ((*FIT[:4], "--epsilon", "one", "--delta", 1, "--out", "m.json"), 2, "--epsilon"),
    "unknown estimator": ((*FIT, "--estimator", "forest"), 2, "'forest' is not one of 'linear'"),
    "misspelt estimator": ((*FIT, "--estimator", "rigde"), 2, "for '--estimator': 'rigde' is not one of 'linear'"),
    "misspelt word": ((*FIT, "--calibration", "papre"), 2, "Did you mean 'paper'?"),
    "unknown option": ((*FIT, "--espilon", 1), 2, "--espilon"),
    "missing model": (("card", "nowhere.json"), 1, "nowhere.json"),
    "not a model": (("card", "domain.toml"), 1, "domain.toml"),
    "predict without model": (("predict", "domain.json", "patients.csv"), 1, "domain.json"),
    "unknown suffix": (("predict", "patients.csv", "patients.csv", "--out", "p.xls"), 1, ".csv"),
    "dataset twice": (("ledger", "create", URL, "clinic", *BUDGET), 3, "clinic"),
    "endless budget": (("ledger", "create", URL, "new", "--epsilon", "inf"), 1, "finite"),
    "price of how many": (("price", "--domain", "domain.toml", *BUDGET), 1, "--records"),
    "price of how wide": (("price", "--domain", "norm.toml", "--records", 9, *BUDGET), 1, "--columns"),
    "log of unknown dataset": (("ledger", "log", URL, "other"), 3, "other"),
}


@pytest.fixture
def files(run: Run, table: Path, domain: Path, ledger: str, tmp_path: Path) -> Path:
    (tmp_path / "norm.toml").write_text("row_norm = 1.0\ntarget = [0, 1]\n")
    (tmp_path / "hidden.toml").write_text("records = 400\n" + DOMAIN)
    return tmp_path


def test_what_cannot_be_done_is_refused_in_a_sentence(run: Run, files: Path) -> None:
    for words, code, said in BAD.values():
        refused(run(*words), code, said)
        nothing_spent(run, files)


def test_a_password_is_not_repeated(run: Run, files: Path) -> None:
    done = run(*BAD["no server"][0])
    assert "hush" not in done.out + done.err


@pytest.mark.parametrize("case", ["bad set", "unknown dataset", "unknown option", "missing model"])
def test_refusals_for_scripts_are_json(run: Run, files: Path, case: str) -> None:
    words, code, said = BAD[case]
    done = run(*words, "--json")
    assert done.json["ok"] is False
    assert done.json["exit_code"] == code == done.code
    assert said in done.json["error"]["message"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("target = [0, 1", "TOML"),
        ("features = 3", "mapping"),
        ("target = [0, 30]", "features"),
        (DOMAIN.replace("[0, 95]", "[95, 0]"), "age"),
        ("colour = 'red'\n" + DOMAIN, "colour"),
        (DOMAIN.replace("age", "weight_kg"), "weight_kg"),
        (DOMAIN.replace("stay", "los"), "los"),
    ],
)
def test_a_wrong_domain_is_refused(run: Run, files: Path, text: str, said: str) -> None:
    (files / "domain.toml").write_text(text)
    refused(run(*FIT, *RECORDED), 1, said)
    nothing_spent(run, files)


def test_a_domain_that_is_no_text_is_refused(run: Run, files: Path) -> None:
    (files / "domain.toml").write_bytes(bytes(range(128, 256)))
    refused(run(*FIT, *RECORDED), 1, "UTF-8")


def test_an_existing_output_is_not_lost(run: Run, files: Path) -> None:
    (files / "model.json").write_text("precious")
    refused(run(*FIT, *RECORDED), 1, "--overwrite")
    assert (files / "model.json").read_text() == "precious"
    assert run(*FIT, *RECORDED, "--overwrite").code == 0


def test_an_exhausted_budget_refuses_before_the_table_is_read(run: Run, files: Path) -> None:
    assert run(*FIT, *RECORDED).code == 0
    (files / "patients.csv").chmod(0)
    done = run(*FIT[:-1], "second.json", *RECORDED)
    (files / "patients.csv").chmod(0o644)
    assert done.code in {1, 3}
    assert not (files / "second.json").exists()
    refused(run(*FIT[:-1], "second.json", *RECORDED), 3, "clinic")
    assert len(run("ledger", "log", URL, "clinic", "--json").json["charges"]) == 1


JUNK = {
    "as it was": "41",
    "n/a": "n/a",
    "ten thousand digits": "9" * 10_000,
    "a quoted newline": '"4\n1"',
    "nothing": "",
    "infinity": "inf",
    "a formula": "=1+1",
    "another script": "四十一",
}


def test_no_value_of_a_record_changes_outcome_or_messages(run: Run, files: Path) -> None:
    outcomes = {}
    quiet = [*FIT]
    quiet[quiet.index("--epsilon") + 1] = (
        100  # noise decides which intervals have an end, and here it is too small to take one's
    )
    for name, cell in JUNK.items():
        lines = rows()
        for place, other in ((17, 0), (40, 2)):
            parts = lines[place].split(",")
            parts[other] = cell
            lines[place] = ",".join(parts)
        (files / "patients.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (files / "model.json").unlink(missing_ok=True)
        done, checked = run(*quiet), run("domain", "check", "domain.toml", "patients.csv")
        outcomes[name] = (done.code, masked(done.out), masked(done.err), checked)
    first = outcomes.pop("as it was")
    assert first[0] == 0
    for name, outcome in outcomes.items():
        assert outcome == first, name


def test_a_table_of_junk_is_fitted_like_any_other(run: Run, files: Path) -> None:
    (files / "patients.csv").write_bytes(
        b"age,ward,stay\n" + b"\n".join(bytes([200 + i % 50]) * 9 + b",\xff,,," for i in range(400))
    )
    done = run(*FIT)
    assert done.code == 0, done.err


def test_an_internal_fault_shows_no_record(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("could not convert string to float: 'Mrs Miller'")

    monkeypatch.setattr("hullabaloo.linear_model.base.fit", fail)
    done = run(*FIT)
    assert done.code == 4
    assert "Miller" not in done.out + done.err
    assert "HULLABALOO_DEBUG" in done.err
    told = run(*FIT, "--json").json
    assert told["error"]["kind"] == "Internal"
    assert "Miller" not in str(told)


def test_what_a_library_warns_of_is_not_shown(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning may depend on a value, and quote one."""

    def warn(*_: object) -> None:
        warnings.warn("invalid value 'Mrs Miller'", RuntimeWarning, stacklevel=1)
        raise ValueError

    monkeypatch.setattr("hullabaloo.linear_model.base.fit", warn)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        done = run(*FIT)
    assert not shown
    assert done.code == 4
    assert "Miller" not in done.out + done.err


def test_a_missing_library_is_named_with_its_command(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the demo, of clusters and of predictions in parts, which ask for it by the one door."""
    assert run(*FIT).code == 0
    (files / "table.parquet").touch()
    far = ("predict", "model.json", "table.parquet", "--out", "x", "--engine")
    for words, module, extra in (
        (("demo", "--out", "shown"), "statsmodels.datasets.fair", "demo"),
        ((*far, "dask", "--address", "tcp://a:1"), "dask.dataframe", "dask"),
        ((*far, "spark"), "pyspark.sql", "spark"),
        (("predict", "model.json", "patients.csv", "--in-parts", "--out", "x"), "pyarrow", "parquet"),
    ):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, module, None)
            done = run(*words)
        assert done.code == 4
        assert f'pip install "hullabaloo[{extra}]"' in done.err


def test_a_release_that_cannot_be_saved_is_rescued(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hullabaloo.linear_model import saved

    save, calls = saved.save, []

    def fail_once(model: object, path: Path) -> None:
        calls.append(path)
        if len(calls) == 1:
            raise OSError(28, "No space left on device")
        save(model, path)  # type: ignore[arg-type]

    monkeypatch.setattr(saved, "save", fail_once)
    done = run(*FIT)
    assert done.code == 4
    assert str(calls[1]) in done.err.replace("\n", "")
    assert calls[1].exists()


def test_an_interrupt_is_no_traceback(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hullabaloo.linear_model.base.fit", stop)
    done = run(*FIT)
    assert done.code == 130
    assert "charge" in done.err


def test_without_typer_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hullabaloo import cli

    monkeypatch.setitem(sys.modules, "hullabaloo.cli.app", None)
    monkeypatch.setattr("builtins.__import__", _without_typer(__import__))
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 4
    assert 'pip install "hullabaloo[cli]"' in capsys.readouterr().err


def _without_typer(real: object) -> object:
    def importing(name: str, *rest: object) -> object:
        if name == "hullabaloo.cli.app":
            raise ModuleNotFoundError("No module named 'typer'", name="typer")
        return real(name, *rest)  # type: ignore[operator]

    return importing


def test_what_would_be_lost_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text("{}", encoding="utf-8")
    refused(run(*FIT), 1, "a release that was paid for would be lost")
    (tmp_path / "filled.toml").write_text("# mine", encoding="utf-8")
    refused(
        run("domain", "template", "patients.csv", "--out", "filled.toml"), 1, "exists, and what it holds would be lost"
    )


def test_a_domain_without_a_target_is_refused(run: Run, table: Path, tmp_path: Path) -> None:
    (tmp_path / "aimless.toml").write_text("[features]\nage = [0, 99]\n", encoding="utf-8")
    for command in (
        ("fit", "patients.csv", "--domain", "aimless.toml", *BUDGET, "--out", "m.json"),
        ("price", "--domain", "aimless.toml", "--records", 100, *BUDGET),
    ):
        refused(run(*command), 1, "declares no target")


def test_a_group_of_commands_alone_shows_its_help_and_nothing_else(run: Run) -> None:
    for words in ((), ("ledger",), ("domain",)):
        done = run(*words)
        assert done.code == 2
        assert "Commands" in done.out + done.err
        assert "Not understood" not in done.err
