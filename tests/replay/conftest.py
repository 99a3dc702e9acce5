"""A emptied ledger and a emptied folder for every fit, under the same names."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import hullabaloo as hb
from tests.replay import cases
from tests.replay.compare import Show
from tests.replay.durable import emptied
from tests.replay.shown import of_ledger, of_model


@pytest.fixture(scope="session")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger of each relation, whose budget pays for one fit."""
    folder = tmp_path_factory.mktemp("ledgers")
    for relation in cases.RELATIONS:
        hb.Ledger(f"sqlite:///{folder / relation}.db").create("people", cases.BUDGET, neighbours=relation)
    return folder


@pytest.fixture
def show(tmp_path: Path, ledgers: Path) -> Show:
    """Fit a model to a table, charged to a emptied ledger in a emptied folder of the same name, and show all that there is."""

    def go(model: Any, table: Any) -> Mapping[str, Any]:
        folder = tmp_path / "run"
        emptied(folder)
        shutil.copy(ledgers / f"{model.neighbours}.db", folder / "privacy.db")
        ledger = hb.Ledger(f"sqlite:///{folder / 'privacy.db'}")
        model.set_params(ledger=ledger, dataset="people").fit(table)
        return {**of_model(model, folder), **of_ledger(ledger, "people")}

    return go
