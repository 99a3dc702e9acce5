"""What leaves a fit: the mark of a release that is not private is never lost, and a machine's words hold no row count."""

import json
import math
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.curation import scoring
from hullabaloo.data import Encoding
from hullabaloo.erm.objective_perturbation import ObjectivePerturbationQuery
from hullabaloo.erm.output_perturbation import OutputPerturbationQuery
from hullabaloo.errors import HullabalooError, InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import GaussianEvent, Neighbours
from hullabaloo.release import PrivacyStatement, run
from hullabaloo.release.planned import prepare
from hullabaloo.release.run import stated

DOMAIN = hb.Domain(features={"a": (0, 1)}, target=(0, 1), records=50)
BUDGET = hb.Budget(1.0, 1e-6)
X, Y = np.linspace(0, 1, 60)[:, None], np.linspace(0, 1, 60)


def saved(tmp_path: Path, **options: Any) -> tuple[Path, dict[str, Any]]:
    path = tmp_path / "model.json"
    hb.LinearRegression(**{"budget": hb.Budget(1.0, 1e-6), "domain": DOMAIN, **options}).fit(X, Y).save(path)
    return path, json.loads(path.read_text())


def test_a_file_that_forgot_its_mark_is_marked_again(tmp_path: Path) -> None:
    path, document = saved(tmp_path, budget=hb.Budget(math.inf))
    document["release"]["statement"]["not_private"] = ""
    path.write_text(json.dumps(document))
    statement = hb.load(path).statement_
    assert not statement.private
    assert str(statement).startswith("NOT PRIVATE")
    assert statement.epsilon() == math.inf


@pytest.mark.usefixtures("unrehearsed")
def test_a_mark_that_is_not_known_is_not_dropped(tmp_path: Path) -> None:
    path, document = saved(tmp_path, test_key=TestKey(bytes(32)))
    assert document["release"]["statement"]["not_private"] == "test_key"
    document["release"]["statement"]["not_private"] = "of a later version"
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidParameter, match="not dropped"):
        hb.load(path)


@pytest.mark.parametrize("options", [{"budget": hb.Budget(math.inf)}, {"test_key": TestKey(bytes(32))}])
def test_whatever_is_made_of_a_release_that_is_not_private_says_so(tmp_path: Path, options: dict[str, Any]) -> None:
    path, _ = saved(tmp_path, solver="moments", **options)
    loaded = hb.load(path)
    for model in (loaded, loaded.refit(penalty=hb.L1Penalty(0.1))):
        model.save(path)
        assert str(hb.load(path).statement_).startswith("NOT PRIVATE")
        assert "NOT PRIVATE" in str(model.summary())


def test_running_out_of_memory_does_not_tell_how_many_rows_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise np._core._exceptions._ArrayMemoryError((60, 2), np.dtype(float))  # type: ignore[attr-defined]

    monkeypatch.setattr(Encoding, "encode", full)
    terms = {"budget": hb.Budget(1.0, 1e-6), "neighbours": "add-or-remove", "solver": "moments"}
    model = hb.LinearRegression(domain=DOMAIN, **terms)
    with pytest.raises(MemoryError) as caught:
        model.fit(X, Y)
    assert "60" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_file_that_cannot_be_read_to_its_end_does_not_tell_what_is_in_it(tmp_path: Path) -> None:
    path, ledger = tmp_path / "table.parquet", hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    rng = np.random.default_rng(0)
    pd.DataFrame({"a": rng.uniform(size=2000), "y": rng.uniform(size=2000)}).to_parquet(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(200) + whole[204:])  # the first page is no page any more
    ledger.create("survey", hb.Budget(1.0, 1e-6))
    domain = hb.Domain(features={"a": (0, 1)}, target={"y": (0, 1)})
    terms = {"budget": hb.Budget(1.0, 1e-6), "ledger": ledger, "dataset": "survey"}
    model = hb.LinearRegression(domain=domain, solver="moments", **terms)
    with pytest.raises(OSError, match="a charge that was made stays") as caught:
        model.fit(str(path))
    assert caught.value.__context__ is None
    assert len(ledger.charges("survey")) == 1


def evaluated(table: Any) -> Any:
    model = hb.LinearRegression(budget=BUDGET, domain=DOMAIN, test_key=TestKey(bytes(32))).fit(X, Y)
    return hb.evaluate(model, table, Y, budget=BUDGET).statement


def streamed(table: Any) -> Any:
    model = hb.Ridge(budget=BUDGET, domain=DOMAIN, solver="moments")
    return hb.streaming.PeriodicERM(model, 60, every=60).partial_fit(table, Y).statement_


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "fit": lambda table: hb.LinearRegression(budget=BUDGET, domain=DOMAIN, solver="moments").fit(table, Y).statement_,
    "evaluation": evaluated,
    "bounds": lambda table: hb.private_bounds(table, Y, outer=DOMAIN, budget=BUDGET, quantiles=(0.1, 0.9)).statement,
    "stream": streamed,
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_statement_tells_how_long_reading_took(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the time of its charge that of its end tells how many records there are, which may be private."""
    clock = mock.Mock()
    clock.now.return_value = datetime(2030, 1, 1, tzinfo=UTC)

    def slow(real: Callable[..., Any]) -> Callable[..., Any]:
        def read(*given: Any, **named: Any) -> Any:
            clock.now.return_value += timedelta(days=9)
            return real(*given, **named)

        return read

    monkeypatch.setattr("hullabaloo.release.release.datetime", clock)
    monkeypatch.setattr(run, "rows_of", slow(run.rows_of))
    monkeypatch.setattr(scoring, "answered", slow(scoring.answered))
    begun = clock.now.return_value
    made = datetime.fromisoformat(QUESTIONS[name](X).made)
    assert (clock.now.return_value - made).days == 9
    assert made >= begun


# ---- minimisers and the number of rows -----------------------------------------------------------------------------------

ROWS = "Proved for tables of up to"
TERMS: dict[str, dict[str, Any]] = {
    "replace-one": {"neighbours": "replace-one"},
    "add-or-remove": {"neighbours": "add-or-remove"},
    "units": {"neighbours": "replace-one", "unit": "person"},
}
SHAPED: tuple[dict[str, Any], ...] = (
    {"constraint": hb.L2Ball(1.0)},
    {"penalty": hb.L1Penalty(0.1)},
    {"penalty": hb.SubmodularPenalty(hb.Intervals(2), 0.05)},
)


def planned(name: str, solver: str, terms: str, shape: dict[str, Any]) -> tuple[Any, Any] | None:
    """The quotes of a plan and the statement that it will come with; None where the solver does not take the shape."""
    given = dict(TERMS[terms])
    about: dict[str, Any] = {"unit": given.pop("unit")} if "unit" in given else {}
    about |= {"target": (-1, 1)} if name == "LinearRegression" else {"classes": [0, 1]}
    domain = hb.Domain(features={"a": (0, 1), "b": (0, 1)}, records=1000, **about)
    try:
        model = getattr(hb, name)(budget=hb.Budget(1.0, 1e-6), domain=domain, solver=solver, **given, **shape)
        encoding = model._encoding(None, None)
        prepared = prepare(model._task(encoding), encoding, 1000 if terms == "replace-one" else None)
    except HullabalooError:
        return None
    return prepared.plan.queries, stated(prepared.task, prepared.bought, None)


@pytest.mark.parametrize("epsilon", [0.0123456, 0.3, 1.0, 3.21987654])
@pytest.mark.parametrize("delta", [1e-6, 1.23456e-7])
def test_no_sentence_understates_the_loss(epsilon: float, delta: float) -> None:
    """What is printed holds as it is printed, and is the loss to four digits: ε was rounded to the nearest number, μ and δ too."""
    domain = hb.Domain(features={"a": (0, 1)}, target=(0, 1), records=1000)
    model = hb.LinearRegression(budget=hb.Budget(epsilon, delta), domain=domain, solver="moments", inference=False)
    encoding = model._encoding(None, None)
    prepared = prepare(model._task(encoding), encoding, 1000)
    statement = stated(prepared.task, prepared.bought, None)
    text, number = " ".join(statement.lines()), r"([\d.]+(?:e-\d+)?)"
    found = re.search(
        rf"\({number}, {number}\)-.*, and {number}-.* epsilon {number} for k = 2, epsilon {number} for k", text
    )
    assert found is not None
    said, chance, mu, *groups = map(float, found.groups())
    losses = (statement.epsilon(), statement.delta, statement.mu, *(statement.epsilon(records=k) for k in (2, 5)))
    for shown, loss in zip((said, chance, mu, *groups), losses, strict=True):
        assert loss is not None
        assert loss * (1.0 - 1e-8) <= shown <= loss * 1.0011
    assert statement.delta_at(said) <= chance * (1.0 + 1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("name", ["LinearRegression", "LogisticRegression"])
def test_statements_say_which_tables_minimisers_are_proved_for(name: str, terms: str) -> None:
    """They did not: the distance to the minimiser is proved for tables of up to 8 times the declared number, where the number is private."""
    check_statements(
        name, terms, ("objective_perturbation", "output_perturbation", "dual_frank_wolfe", "gradient", "moments")
    )


@pytest.mark.slow
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("name", ["LinearRegression", "LogisticRegression"])
def test_statements_of_every_solver(name: str, terms: str) -> None:
    check_statements(name, terms, ("auto", *SOLVERS))


def check_statements(name: str, terms: str, solvers: Iterable[str]) -> None:
    said = []
    for solver in solvers:
        for shape in SHAPED:
            made = planned(name, solver, terms, shape)
            if made is None:
                continue
            queries, statement = made
            plain = "penalty" in shape and isinstance(shape["penalty"], hb.L1Penalty)
            minimised = any(
                isinstance(query, ObjectivePerturbationQuery)
                or (isinstance(query, OutputPerturbationQuery) and not plain)
                for query in queries
            )
            expected = minimised and terms != "replace-one"
            assert statement._largest() == (8000 if expected else None), (solver, shape)
            assert (
                type(statement).from_dict(json.loads(json.dumps(statement.to_dict())))._largest()
                == statement._largest()
            )
            said.append(expected)
    assert any(said) == (terms != "replace-one")
    assert not all(said)


@pytest.mark.parametrize("solver", ["objective_perturbation", pytest.param("auto", marks=pytest.mark.slow)])
@pytest.mark.parametrize("terms", ["replace-one", "add-or-remove"])
@pytest.mark.few(1)
def test_the_statement_of_a_fit_says_it(terms: str, solver: str, tmp_path: Path) -> None:
    """Chosen by the planner, too."""
    domain = hb.Domain(row_norm=1.0, classes=[0, 1], records=50)
    given = {"budget": hb.Budget(8.0, 1e-6), "neighbours": terms, "fit_intercept": False}
    model = hb.LogisticRegression(domain=domain, constraint=hb.L2Ball(1.0), solver=solver, **given)
    model.fit(np.hstack([X, X])[:50], Y[:50] > 0.5).save(tmp_path / "model.json")
    assert model.release_.plan["solver"] == "objective_perturbation"
    assert hb.load(tmp_path / "model.json").statement_._largest() == (400 if terms == "add-or-remove" else None)


def test_the_sentence() -> None:
    def statement(**facts: Any) -> PrivacyStatement:
        event = GaussianEvent(2.0, samples=1)
        given: dict[str, Any] = {"neighbours": Neighbours.ADD_OR_REMOVE, "unit": "record", **facts}
        asked = ({"name": "gradient"}, {"name": "objective_perturbation", "rows_at_most": 80})
        return PrivacyStatement(event, hb.Budget(4.0, 1e-6), records_per_unit=1, records=10, query_noise=asked, **given)

    assert f"{ROWS} 80 rows, " in str(statement())
    assert f"{ROWS} 80 rows, " in str(statement(neighbours=Neighbours.REPLACE_ONE, unit="person"))
    assert ROWS not in str(statement(neighbours=Neighbours.REPLACE_ONE))  # the number of rows is public
    assert ROWS not in str(statement(horizon=10))  # so is that of places in a stream
