"""Ordinary use, which goes on with every planted bug: a bug that stops it would be found by anybody, and proves nothing."""

from pathlib import Path

import numpy as np

import hullabaloo as hb

BUDGET = hb.Budget(1.0, 1e-6)
DOMAIN = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1))
rng = np.random.default_rng(7)
X = rng.uniform(-1.0, 1.0, (300, 2))
Y = np.clip(X @ [0.4, -0.2] + 0.1 * rng.normal(size=300), -1.0, 1.0)


def test_ordinary_use_goes_on(tmp_path: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.create("people", hb.Budget(2.0, 1e-5))
    for solver in ("moments", "gradient"):
        model = hb.LinearRegression(budget=BUDGET, domain=DOMAIN, solver=solver, ledger=ledger, dataset="people")
        model.fit(X, Y)
        assert np.isfinite(model.coef_).all()
        assert str(model.statement_)
    stream = hb.streaming.IncrementalRegression(budget=BUDGET, domain=DOMAIN, horizon=20, every=10)
    stream.partial_fit(X[:20], Y[:20])
    assert np.isfinite(stream.model_at().coef_).all()
