"""Fitted models of each kind that a card has to describe; fitted once."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.noise import TestKey
from hullabaloo.report import guarantee, page, plots

HOSTILE = "<script>alert('x')</script>"
DATASET = 'clinic "<b>2026</b>" & co'
KEY = TestKey(bytes(range(32)))


def table(rows: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    columns = {
        "age": rng.uniform(18, 80, rows),
        HOSTILE: rng.uniform(0, 1, rows),
        "job": rng.choice(["nurse", "clerk"], rows),
    }
    y = 0.01 * columns["age"] + 0.3 * (columns["job"] == "nurse") + rng.normal(0, 0.1, rows)
    import pandas as pd

    return pd.DataFrame(columns), y


def domain(**more: Any) -> hb.Domain:
    features = {"age": (18, 80), HOSTILE: (0, 1), "job": ["nurse", "clerk"]}
    return hb.Domain(features=features, target=(0, 2), records=400, **more)


def fitted(kind: type = hb.Ridge, rows: int = 400, **more: Any) -> Any:
    X, y = table(rows)
    arguments = {"budget": hb.Budget(1.0, 1e-6), "domain": domain(), "solver": "moments"} | more
    return kind(**arguments).fit(X, y)


LOSS = lru_cache(maxsize=256)(guarantee.loss_bound)
"""A function of an event and of a chance, of which each card and each check of one asks for five."""


@pytest.fixture(autouse=True)
def _bounded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guarantee, "loss_bound", LOSS)


_DRAWN: dict[str, str] = {}
DRAWING = ("test_page.py", "test_plots.py")
"""Whose subject pictures are, which are drawn anew there."""


@pytest.fixture(autouse=True)
def _drawn_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the same numbers a picture is the same bytes (`test_page.py`), and costs more than all that a card says: other tests draw each once."""
    if request.path.name in DRAWING:
        return
    inline = page.inline_svg

    def svg(given: tuple[Any, tuple[Any, ...]], name: str, label: str) -> str:
        draw, numbers = given
        told = repr((draw.__name__, numbers, name, label))
        if told not in _DRAWN:
            _DRAWN[told] = inline(draw(*numbers), name, label)
        return _DRAWN[told]

    def later(draw: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *numbers: (draw, numbers)

    for name in [name for name in vars(plots) if name.startswith("draw_")]:
        monkeypatch.setattr(plots, name, later(getattr(plots, name)))
    monkeypatch.setattr(page, "inline_svg", svg)


@pytest.fixture(scope="session")
def plain() -> Any:
    return fitted()


@pytest.fixture(scope="session")
def hidden() -> Any:
    return fitted(neighbours="add-or-remove")


@pytest.fixture(scope="session")
def gradient() -> Any:
    return fitted(hb.Lasso, solver="gradient")


@pytest.fixture(scope="session")
def bare() -> Any:
    return fitted(budget=hb.Budget(float("inf")))


@pytest.fixture(scope="session")
def keyed() -> Any:
    return fitted(test_key=KEY)


@pytest.fixture(scope="session")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> hb.Ledger:
    folder: Path = tmp_path_factory.mktemp("ledger")
    book = hb.Ledger(f"sqlite:///{folder}/privacy.db")
    book.create(DATASET, hb.Budget(4.0, 1e-5), neighbours="replace-one")
    return book


@pytest.fixture(scope="session")
def recorded(ledger: hb.Ledger) -> Any:
    fitted(hb.Lasso, budget=hb.Budget(0.5, 1e-7), ledger=ledger, dataset=DATASET)
    return fitted(ledger=ledger, dataset=DATASET)


ALL = (
    pytest.param("plain", marks=pytest.mark.slow),  # "recorded" is that beside a ledger, "keyed" that under a test key
    *("hidden", "gradient", "bare", "keyed", "recorded"),
)


@pytest.fixture(params=ALL)
def model(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


_RENDERED: dict[int, tuple[hb.report.Card, str]] = {}


def rendered(model: Any) -> tuple[hb.report.Card, str]:
    """The card and the page of a model of this module, rendered once."""
    if id(model) not in _RENDERED:
        card = hb.report.card(model)
        _RENDERED[id(model)] = (card, card.to_html())
    return _RENDERED[id(model)]
