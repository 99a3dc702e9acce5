"""What a ledger is told of a search: its beginning and its end, in the same statements however many runs there were."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine, event

import hullabaloo as hb
from hullabaloo.curator.search_randomness import SearchRandomness
from hullabaloo.ledger import Ledger

BUDGET = hb.Budget(1.0, 1e-6)


def told(ledger: Ledger, folder: Path, runs: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Counter[str], list[Any]]:
    """The statements of a search with so many runs, and the rows that it leaves."""
    name, found = f"people{runs}", Counter()
    ledger.create(name, BUDGET)
    monkeypatch.setattr(SearchRandomness, "runs", lambda *_: runs)
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (200, 2))
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1), indicators=False)
    grid = {"penalty": [hb.SquaredL2Penalty(0.1), hb.SquaredL2Penalty(1.0)]}
    search = hb.PrivateSearchCV(
        hb.Ridge(domain=domain, solver="moments"), grid, budget=BUDGET, ledger=ledger, dataset=name, state=folder / name
    )

    def sent(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        found[statement] += 1

    def committed(connection: Any) -> None:
        found["commit"] += 1

    event.listen(Engine, "before_cursor_execute", sent)
    event.listen(Engine, "commit", committed)
    try:
        search.fit(x, 0.5 * x[:, 0])
    finally:
        event.remove(Engine, "before_cursor_execute", sent)
        event.remove(Engine, "commit", committed)
    (charge,), (row,) = ledger.charges(name), ledger.streams(name)
    assert row.opened_at == row.advanced_at == charge.charged_at
    return found, [charge.number, charge.what, charge.detail, charge.event, row.charge, row.position]


def test_no_statement_tells_the_number_of_runs(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, every run was an UPDATE of its own, with a time of its own."""
    seen = [told(ledger, tmp_path, runs, monkeypatch) for runs in (1, 2, 11)]
    assert all(one == seen[0] for one in seen)
    assert sum(count for text, count in seen[0][0].items() if "UPDATE hullabaloo_stream" in text) == 1
