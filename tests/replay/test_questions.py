"""Private bounds, evaluations and searches: the same replay, of what is asked of records without being a fit."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.noise import TestKey
from tests.replay import cases
from tests.replay.compare import told_apart
from tests.replay.durable import emptied

OUTER = {"age": (0, 130), "hours": (0, 168), "cost": (-100, 100)}
Made = tuple[Path, hb.Ledger]
QUICK = {"replace-one": ("all records", "no cell as declared"), "add-or-remove": ("none", "no cell as declared")}
with_other_tables = pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
"""The two that are least alike, or all of them."""


@pytest.fixture
def fresh(tmp_path: Path, ledgers: Path) -> Any:
    """A folder and a ledger of the same names every time."""

    def go(relation: str) -> Made:
        folder = tmp_path / "run"
        emptied(folder)
        shutil.copy(ledgers / f"{relation}.db", folder / "privacy.db")
        return folder, hb.Ledger(f"sqlite:///{folder / 'privacy.db'}")

    return go


def others(relation: str, whole: bool) -> dict[str, pd.DataFrame]:
    return {name: one for name, one in cases.others(relation).items() if whole or name in QUICK[relation]}


def everything(made: Any, ledger: hb.Ledger) -> Mapping[str, Any]:
    """What a release that is no model shows."""
    return {
        "dictionary": made.to_dict(),
        "text": str(made) + repr(made) + made._repr_html_(),
        "statement": made.statement.to_dict(),
        "card": made.card_entry(),
        "charges": list(ledger.charges("people")),
    }


@with_other_tables
@pytest.mark.parametrize("relation", cases.RELATIONS)
@pytest.mark.few(1)
def test_private_bounds(relation: str, whole: bool, fresh: Any, tmp_path: Path) -> None:
    records = {} if relation == "replace-one" else {"records": cases.N}
    outer = hb.Domain(
        features={name: OUTER[name] for name in ("age", "hours")}, target={"cost": OUTER["cost"]}, **records
    )

    def show(outer: Any, table: Any) -> Mapping[str, Any]:
        _, ledger = fresh(relation)
        more = {"neighbours": relation, "ledger": ledger, "dataset": "people"}
        made = hb.private_bounds(table, outer=outer, budget=cases.BUDGET, quantiles=(0.1, 0.9), **more)
        return {**everything(made, ledger), "domain": made.domain().to_dict()}

    assert told_apart(show, outer, cases.base(), others(relation, whole), tmp_path / "run") == {}


@pytest.mark.slow
@pytest.mark.parametrize("relation", cases.RELATIONS)
@pytest.mark.parametrize("name", ["LinearRegression", "LogisticRegression", "PoissonRegressor"])
def test_evaluations(name: str, relation: str, fresh: Any, tmp_path: Path) -> None:
    model = cases.model(name, "gradient", relation).set_params(test_key=TestKey(bytes(32))).fit(cases.base())
    model.test_key = None
    number = {} if relation == "replace-one" else {"records": cases.N}

    def show(model: Any, table: Any) -> Mapping[str, Any]:
        _, ledger = fresh(relation)
        made = hb.evaluate(model, table, budget=cases.BUDGET, ledger=ledger, dataset="people", **number)
        return everything(made, ledger)

    assert told_apart(show, model, cases.base(), cases.others(relation), tmp_path / "run") == {}


@with_other_tables
@pytest.mark.parametrize("relation", cases.RELATIONS)
@pytest.mark.few(1)
def test_searches(relation: str, whole: bool, tmp_path: Path) -> None:
    """With a key, that fixes how many runs there are and which: all the rest comes from noisy answers."""
    (tmp_path / "run").mkdir()
    model = cases.model("LogisticRegression", "gradient", relation).set_params(budget=None)
    candidates = {"constraint": [hb.L2Ball(0.5), hb.L2Ball(2.0)]}

    def show(model: Any, table: Any) -> Mapping[str, Any]:
        made = hb.PrivateSearchCV(
            model, candidates, budget=cases.BUDGET, expected_candidates=3, test_key=TestKey(bytes(32))
        ).fit(table)
        made.best_estimator_.save(tmp_path / "run" / "best.json")
        best = (made.best_params_, made.best_index_, made.best_score_, made.best_score_error_, made.metric_)
        return {
            "best": best,
            "statement": made.statement_.to_dict(),
            "attributes": [name for name in vars(made) if name.endswith("_")],
            "release": made.best_estimator_.release_.to_dict(),
        }

    assert told_apart(show, model, cases.base(), others(relation, whole), tmp_path / "run") == {}
