"""Every command does its work, in words for people and in one JSON object for scripts."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import BUDGET, DOMAIN, URL, Run, masked, rows


def test_help_says_what_there_is(shell: Run) -> None:
    done = shell("--help")
    assert done.code == 0
    for command in ("demo", "domain", "price", "fit", "search", "stream", "predict", "card", "ledger"):
        assert command in done.out
    assert "Exit codes" in done.out


def test_help_imports_no_heavy_library(shell: Run) -> None:
    import subprocess
    import sys

    code = (
        "import sys\nfrom hullabaloo.cli.app import app\n"
        "print([m for m in ('numpy', 'sklearn', 'numba', 'pandas', 'sqlalchemy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version(run: Run) -> None:
    from hullabaloo import __version__

    assert run("--version").out.strip() == __version__


def test_domain_template_describe_check(run: Run, table: Path, domain: Path, tmp_path: Path) -> None:
    written = run("domain", "template", table, "--out", "made.toml")
    assert written.code == 0
    text = (tmp_path / "made.toml").read_text()
    assert "age" in text
    assert "surgery" not in text, "a template holds no value of a record"
    assert run("domain", "template", table, "--json").json["template"] == text
    assert run("domain", "template", table).out == text, "printed, it can be sent into a file: no line is broken"
    unfilled = run("domain", "describe", "made.toml")
    assert unfilled.code == 1
    assert "FILL IN" in unfilled.err
    assert "B²" in run("domain", "describe", domain).out
    assert run("domain", "describe", domain, "--json").json["domain"]["features"]["age"] == {"lo": 0.0, "hi": 95.0}
    assert "fits the domain" in run("domain", "check", domain, table).out
    uses = {one["name"]: one["use"] for one in run("domain", "check", domain, table, "--json").json["columns"]}
    assert uses == {"age": "feature", "ward": "feature", "stay": "target"}


@pytest.mark.usefixtures("unrehearsed")
def test_price_reads_nothing(run: Run, domain: Path) -> None:
    done = run("price", "--domain", domain, "--records", 400, "--solver", "moments", *BUDGET)
    assert done.code == 0
    assert "Nothing was read or spent" in done.out
    common = ("price", "--domain", domain, "--records", 400, "--solver", "moments", "--json")
    price = run(*common, *BUDGET).json["price"]
    assert price["epsilon"] <= 1.0
    name, likely = price["errors"][0]["name"], price["errors"][0]["likely"]
    told = run(*common, *BUDGET, "--known", f"{name}=0.01").json["price"]["errors"][0]
    assert told["low"] > likely
    assert "no name with a number" in run(*common, *BUDGET, "--known", "age").json["error"]["message"]
    assert run(*common, *BUDGET, "--known", "mean of stay=3").code == 0
    assert "(a mean)" in run(*common, *BUDGET, "--known", "mean of stay=-1").json["error"]["message"]
    other = run(*common, "--mu", 0.3, "--estimator", "lasso").json["price"]
    assert other["mu"] <= 0.3


def test_fit_charges_saves_and_explains(run: Run, table: Path, domain: Path, ledger: str, tmp_path: Path) -> None:
    words = ("fit", table, "--target", "stay", "--domain", domain, "--set", "l1:2", "--solver", "gradient", *BUDGET)
    recorded = ("--ledger", ledger, "--dataset", "clinic")
    done = run(*words, *recorded, "--out", "model.json")
    assert done.code == 0, done.err
    for said in ("age", "ward=surgery", "differential privacy", "clinic", "model.json"):
        assert said in done.out
    saved = json.loads((tmp_path / "model.json").read_text())
    assert saved["parameters"]["constraint"]["radius"] == 2.0
    again = run(*words, *recorded, "--out", "second.json")
    assert again.code == 3
    assert not (tmp_path / "second.json").exists()
    assert len(run("ledger", "log", ledger, "clinic", "--json").json["charges"]) == 1


def test_fit_for_scripts(run: Run, table: Path, domain: Path) -> None:
    done = run(
        *("fit", table, "--domain", domain, "--estimator", "elastic-net", "--penalty", "elastic:0.01,0.5"),
        *(*BUDGET, "--solver", "gradient", "--out", "model.json", "--json"),
    ).json
    assert done["ok"] is True
    assert done["estimator"] == "ElasticNet"
    assert {row["name"] for row in done["summary"]["rows"]} == {"age", "ward=surgery", "ward=medicine", "(intercept)"}
    assert done["statement"]["ledger"] is None
    assert done["guarantee"][0].startswith("not recorded")
    assert done["remaining"] is None


def test_the_ledger_may_be_named_by_the_environment(
    run: Run, table: Path, domain: Path, ledger: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HULLABALOO_LEDGER", ledger)
    words = ("fit", table, "--domain", domain, "--solver", "moments", *BUDGET, "--dataset", "clinic")
    done = run(*words, "--out", "model.json", "--json").json
    assert done["statement"]["charge"] == 1
    assert done["remaining"] is not None


def test_a_saved_models_summary_and_tests_are_free(run: Run, table: Path, domain: Path) -> None:
    words = ("fit", table, "--target", "stay", "--domain", domain, "--solver", "moments")
    assert run(*words, "--epsilon", 8, "--delta", "1e-8", "--out", "model.json").code == 0
    shown = run("summary", "model.json", "--joint", "--test", "age = 0", "--adjust", "holm")
    assert shown.code == 0, shown.err
    for said in ("F test", "P>|z| (holm)", "[0.025", "all columns", "age = 0"):
        assert said in shown.out
    told = run("summary", "model.json", "--joint", "--json").json
    assert [row["hypothesis"] for row in told["tests"][0]["rows"]] == ["age", "ward", "all columns"]
    refused = run("summary", "model.json", "--test", "weight = 0")
    assert (refused.code, "no coefficient 'weight'" in refused.err) == (1, True)


def test_add_or_remove_shows_no_number_of_rows(run: Run, tmp_path: Path) -> None:
    (tmp_path / "hidden.toml").write_text("records = 500\n" + DOMAIN)
    said = []
    for n in (3971, 3972):
        (tmp_path / "patients.csv").write_text("\n".join(rows(n)))
        words = (
            "fit",
            "patients.csv",
            "--domain",
            "hidden.toml",
            "--neighbours",
            "add-or-remove",
            *BUDGET,
            "--overwrite",
            "--inference",
            "no",
            "--solver",
            "gradient",
        )
        done = run(*words, "--out", "model.json")
        assert done.code == 0, done.err
        assert "500" in done.out
        assert str(n) not in re.findall(r"(?<![\d.])\d+(?![\d.])", done.out)
        assert n not in list(whole_numbers(json.loads((tmp_path / "model.json").read_text())))
        said.append((masked(done.out), masked(done.err)))
    assert said[0] == said[1]


def whole_numbers(value: object) -> Iterator[int]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from whole_numbers(one)
    elif isinstance(value, int):
        yield value


def test_predict(run: Run, model: Path, table: Path, tmp_path: Path) -> None:
    printed = run("predict", model, table)
    assert printed.code == 0
    lines = printed.out.splitlines()
    assert lines[0] == "predicted_stay"
    assert len(lines) == 401
    assert run("predict", model, table, "--out", "p.csv").code == 0
    with (tmp_path / "p.csv").open() as file:
        assert [row["predicted_stay"] for row in csv.DictReader(file)] == lines[1:]
    assert run("predict", model, table, "--out", "p.parquet").code == 0
    import pyarrow.parquet as pq

    assert pq.read_table(tmp_path / "p.parquet").column("predicted_stay").to_pylist() == list(map(float, lines[1:]))
    assert run("predict", model, table, "--json").json["predictions"]["predicted_stay"] == list(map(float, lines[1:]))


def test_predicted_intervals(run: Run, table: Path, domain: Path, tmp_path: Path) -> None:
    """The ends are those of `predict_interval`; an end that noise leaves none is an empty cell, in JSON null."""
    import hullabaloo as hb
    from hullabaloo.noise import TestKey

    def saved(epsilon: float) -> hb.LinearRegression:
        made = hb.LinearRegression(
            budget=hb.Budget(epsilon, 1e-6), domain=hb.Domain.from_toml(domain), solver="moments"
        )
        made.set_params(test_key=TestKey(bytes(32))).fit(str(table)).save(tmp_path / "known.json")
        return made

    known = saved(100.0)
    for words, kind in ((), "mean"), (("--observation",), "observation"):
        told = run("predict", tmp_path / "known.json", table, "--interval", "0.9", *words, "--json").json["predictions"]
        ends = known.predict_interval(str(table), confidence=0.9, kind=kind)
        assert told["low_stay"] == ends[:, 0].tolist()
        assert told["high_stay"] == ends[:, 1].tolist()
    assert run("predict", tmp_path / "known.json", table, "--observation").code == 1
    saved(0.01)
    lines = run("predict", tmp_path / "known.json", table, "--interval", "0.9").out.splitlines()
    assert lines[0] == "predicted_stay,low_stay,high_stay"
    assert lines[1].endswith(",,")


@pytest.mark.usefixtures("undrawn")
def test_card(run: Run, model: Path, tmp_path: Path) -> None:
    done = run("card", model, "--out", "card.html", "--out", "card.json")
    assert done.code == 0, done.err
    assert "<html" in (tmp_path / "card.html").read_text()
    assert json.loads((tmp_path / "card.json").read_text()) == run("card", model, "--json").json["card"]
    assert "epsilon" in run("card", model).out


@pytest.mark.few(2)
@pytest.mark.parametrize("words", [("show",), ("show", "clinic"), ("log", "clinic"), ("upgrade",), ("verify",)])
def test_every_ledger_command_takes_its_address_from_the_environment(
    run: Run, ledger: str, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    command, *dataset = words
    given = run("ledger", command, ledger, *dataset, "--json").json
    monkeypatch.setenv("HULLABALOO_LEDGER", ledger)
    named = [part for one in dataset for part in ("--dataset", one)]
    assert run("ledger", command, *dataset, "--json").json == run("ledger", command, *named, "--json").json == given
    assert run("ledger", command, "sqlite:///none.db", *dataset).code != 0  # an address that is given wins
    assert run("ledger", "--help").code == run("ledger", command, "--help").code == 0


def test_ledger_show_log_upgrade_verify(run: Run, ledger: str) -> None:
    assert "clinic" in run("ledger", "show", ledger).out
    shown = run("ledger", "show", ledger, "clinic", "--json").json
    assert shown["datasets"][0]["name"] == "clinic"
    assert "remaining" in shown["datasets"][0]
    assert "Nothing has been charged" in run("ledger", "log", ledger, "clinic").out
    assert run("ledger", "upgrade", ledger).code == 0
    assert run("ledger", "verify", ledger, "--json").json["verification"]["findings"] == []


def test_every_command_of_ledgers_takes_address_and_dataset_by_name_as_fit_does(run: Run, ledger: str) -> None:
    for name in ("show", "log", "upgrade", "verify"):
        of = ["clinic"] if name in ("show", "log") else []
        expected = run("ledger", name, ledger, *of, "--json").json
        for words in (["--ledger", ledger, *of], [f"--ledger={ledger}", *of], ["--json", "--ledger", ledger, *of]):
            assert run("ledger", name, *words, *["--json"] * ("--json" not in words)).json == expected
        for words in ([ledger], ["--ledger", ledger]):
            named = [*words, *(["--dataset", "clinic"] if of else [])]
            assert run("ledger", name, *named, "--json").json == expected
    assert run("ledger", "create", "--dataset", "other", *BUDGET, "--ledger", ledger).code == 0
    assert "other" in run("ledger", "show", ledger).out
    assert run("ledger", "show", "--ledger").code == 2


@pytest.mark.few(3)
@pytest.mark.parametrize("name", ["plain", "--ledger", "--dataset", "--ledger=x", "--json", "-v", "a=b", "--"])
def test_no_name_of_a_dataset_is_taken_for_an_option(run: Run, ledger: str, name: str) -> None:
    """However it is passed: the same dataset, and no other."""
    assert run("ledger", "create", ledger, *BUDGET, "--", name).code == 0
    ways = [("--ledger", ledger, "--", name), (f"--dataset={name}", ledger), (f"--dataset={name}", "--", ledger)]
    ways += [("--", ledger, name)] + [("--dataset", name, "--ledger", ledger)] * (name != "--")
    for words in ways:
        assert [one["name"] for one in run("ledger", "show", "--json", *words).json["datasets"]] == [name]
        assert run("ledger", "log", "--json", *words).json["dataset"] == name


@pytest.mark.parametrize("name", ["--ledger", "--dataset"])
def test_a_name_without_a_value_or_twice_is_refused(run: Run, ledger: str, name: str) -> None:
    """As `show` shows all datasets where none is named."""
    other, value = (("--dataset", "clinic"), ledger) if name == "--ledger" else (("--ledger", ledger), "clinic")
    for words in [(name,), (f"{name}=",), (f"{name}={value}", name), (name, value, f"{name}={value}")]:
        done = run("ledger", "show", *other, *words)
        assert done.code == 2
        assert f"{name} is given once" in done.err


@pytest.mark.parametrize(
    "secret", ["se/cret99", "hun@ter2long", "hunter#2long", "what?2long", "hun%40ter2", "two:words2"]
)
def test_no_refusal_of_a_named_ledger_shows_its_password(run: Run, secret: str) -> None:
    address = f"postgresql://nobody:{secret}@127.0.0.1:1/x"
    lines = [
        ("--ledger", address),
        (f"--ledger={address}",),
        ("show", "--ledger", address, "a", "b"),
        ("show", f"--ledger={address}", "a"),
    ]
    lines += [
        ("--json", "--ledger", address, "show"),
        ("show", "--ledger", address, f"--ledger={address}"),
        ("log", "--ledger", address, "--", address, "c"),
    ]
    lines += [("show", "--dataset", address, "--ledger", URL), ("show", "--dataset", address, "--dataset", address)]
    for words in lines:
        done = run("ledger", *words)
        assert done.code
        assert not [part for part in re.findall(r"[a-z0-9]{4,}", secret) if part in done.out + done.err]


def test_the_log_shows_where_a_stream_stands(run: Run, ledger: str) -> None:
    from hullabaloo import Budget, Ledger
    from hullabaloo.privacy import GaussianEvent

    assert run("ledger", "log", ledger, "clinic", "--json").json["streams"] == []
    books = Ledger(ledger)
    part = Budget(0.1, 1e-9)
    books.open_stream("clinic", "s1", GaussianEvent(200.0), budget=part, neighbours="replace-one", what="a stream")
    books.advance("clinic", "s1", position=12345, token="a", previous="s1")
    assert "12345" in run("ledger", "log", ledger, "clinic").out
    (row,) = run("ledger", "log", ledger, "clinic", "--json").json["streams"]
    assert (row["stream"], row["charge"], row["position"]) == ("s1", 1, 12345)


def test_a_tampered_ledger_has_a_code_of_its_own(
    run: Run, ledger: str, table: Path, domain: Path, tmp_path: Path
) -> None:
    import sqlite3

    words = (
        "fit",
        table,
        "--domain",
        domain,
        *BUDGET,
        "--ledger",
        ledger,
        "--dataset",
        "clinic",
        "--solver",
        "moments",
        "--out",
        "model.json",
    )
    assert run(*words).code == 0
    assert run("ledger", "verify", ledger).code == 0
    with sqlite3.connect(tmp_path / "privacy.db") as connection:
        names = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        charges = next(name for name in names if "charge" in name)
        connection.execute(f"delete from {charges}")
    connection.close()
    found = run("ledger", "verify", ledger)
    assert found.code == 5
    assert "rows are missing" in found.out
    told = run("ledger", "verify", ledger, "--json")
    assert (told.code, told.json["ok"], told.json["verification"]["status"]) == (5, False, "faulty")


def test_the_console_script_in_a_process_of_its_own(shell: Run) -> None:
    """It ends as it does in this one; what succeeds does in `test_help_says_what_there_is`."""
    refused = shell("ledger", "show", URL)
    assert refused.code == 3
    assert "Traceback" not in refused.err
