"""`public=`: what is refused before the charge, what the statement says, and what a saved model keeps."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.errors import HullabalooError, InvalidParameter
from hullabaloo.model_selection import PrivateSearchCV
from hullabaloo.streaming import PeriodicERM

DOMAIN = hb.Domain(features={"a": (-4, 4), "b": (-4, 4), "c": ["u", "v"]}, target={"y": (-6, 6)})
BUDGET = hb.Budget(0.3, 1e-8)


def rows(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    c = rng.choice(["u", "v"], n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": a - 0.5 * b + (c == "u") + 0.5 * rng.normal(size=n)})


PRIVATE, PUBLIC = rows(3_000, 1), rows(400, 2)


@pytest.mark.usefixtures("undrawn", "unrehearsed")
def test_a_fit_names_its_public_table_and_a_saved_model_keeps_the_name_alone(tmp_path: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("rows", hb.Budget(1.0, 1e-6))
    terms: dict[str, Any] = {"domain": DOMAIN, "budget": BUDGET, "solver": "adaptive_gradient", "inference": False}
    about = terms | {"test_key": b"k" * 32}
    by_pair = (PUBLIC.drop(columns="y"), PUBLIC["y"].to_numpy())
    PUBLIC.to_csv(tmp_path / "public.csv", index=False)
    fits = [hb.LinearRegression(public=one, **about).fit(PRIVATE) for one in (by_pair, str(tmp_path / "public.csv"))]
    digests = {fit.statement_.public for fit in fits}
    assert len(digests) == 1
    assert all(np.array_equal(one.coef_, fits[0].coef_) for one in fits)
    said = hb.LinearRegression(public=PUBLIC, **terms).fit(PRIVATE)
    assert "declared public and nobody checked to be" in str(said.statement_)
    assert said.statement_.public in str(said.statement_)
    assert said.statement_.public in digests
    said.save(tmp_path / "model.json")
    loaded = hb.load(tmp_path / "model.json")
    assert loaded.public is None
    assert loaded.statement_.public == said.statement_.public
    assert "declared public" in str(loaded.statement_)
    assert "declared public" in hb.report.card(loaded).to_html()
    assert "public" not in hb.LinearRegression(**terms).fit(PRIVATE).statement_.to_dict()
    assert said.price(3_000).epsilon <= 0.3 * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("public", "said"),
    [
        (PUBLIC.rename(columns={"a": "z"}), "'a' is declared in the domain, and the table has no such column"),
        (PUBLIC.assign(a=100.0 * PUBLIC["a"]), "mostly something else than numbers within"),
        (PUBLIC.assign(a=np.nan), "mostly something else than numbers within"),
        (PUBLIC.assign(c="w"), "mostly something else than the levels"),
        (PUBLIC.drop(columns="y"), "'y' is declared in the domain"),
        (PUBLIC[:10], "at least 20"),
        (PUBLIC[:0], "0 rows that count"),
        (PUBLIC.assign(y=np.nan), "target 'y' is mostly .* or is missing"),
        (PUBLIC.assign(y=1e3 + PUBLIC["y"]), "target 'y' is mostly something else than numbers within"),
        (7, "no reader opens"),
    ],
)
def test_another_table_is_refused_before_the_charge(tmp_path: Path, public: object, said: str) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("rows", hb.Budget(1.0, 1e-6))
    model = hb.LinearRegression(domain=DOMAIN, budget=BUDGET, public=public, ledger=ledger, dataset="rows")
    with pytest.raises(HullabalooError, match=said):
        model.fit(PRIVATE)
    assert not ledger.charges("rows")


@pytest.mark.slow
def test_auto_says_what_it_takes_from_a_public_table() -> None:
    """From a right one its start; nothing for pure budgets, nor where noise would hide whether it is right: then the plan is the one without it."""
    taken = hb.LinearRegression(domain=DOMAIN, budget=BUDGET, public=PUBLIC).price(3_000)
    assert "as far as records confirm it" in taken.reason
    for budget in (hb.Budget(0.3, 0.0), hb.Budget(0.003, 1e-8)):
        about = {"domain": DOMAIN, "budget": budget, "constraint": hb.L1Ball(1.0)}
        known, plain = (hb.LinearRegression(public=one, **about).price(3_000) for one in (PUBLIC, None))
        assert known.solver == plain.solver
        assert known.reason == f"{plain.reason}; nothing is taken from the public table"


@pytest.mark.slow
def test_a_plan_and_a_price_take_the_same_and_say_whose_forecast_it_is() -> None:
    task = {"domain": DOMAIN, "budget": BUDGET, "public": PUBLIC}
    model = hb.LinearRegression(inference=False, **task)
    plan, price = hb.plan(n=3_000, **task), model.price(3_000)
    assert plan.title.endswith("400 public rows")
    assert (plan.chosen, plan.why.partition(". ")[0]) == (price.solver, price.reason)
    assert "they hold where it is wrong" in plan.why
    assert plan.why.partition(". ")[2] in price.notes
    with pytest.raises(HullabalooError, match="mostly something else than numbers within"):
        hb.plan(n=3_000, **{**task, "public": PUBLIC.assign(a=100.0 * PUBLIC["a"])})


def test_what_takes_nothing_from_a_public_table_says_so() -> None:
    about = {"domain": DOMAIN, "budget": BUDGET, "public": PUBLIC}
    with pytest.raises(InvalidParameter, match="takes nothing from one"):
        hb.LinearRegression(solver="moments", **about).fit(PRIVATE)
    with pytest.raises(InvalidParameter, match="search"):
        PrivateSearchCV(hb.LinearRegression(domain=DOMAIN, public=PUBLIC), {"solver": ["auto"]}, budget=BUDGET).fit(
            PRIVATE
        )
    with pytest.raises(InvalidParameter, match="stream"):
        PeriodicERM(hb.LinearRegression(**about), horizon=1_000).partial_fit(PRIVATE[:10])
    classes = hb.Domain(features={"a": (-4, 4), "b": (-4, 4)}, classes={"c": ["u", "v", "w"]})
    together = hb.LogisticRegression(domain=classes, budget=BUDGET, public=PUBLIC, multi_class="multinomial")
    with pytest.raises(InvalidParameter, match="several predictions"):
        together.fit(PRIVATE)


SPELLINGS: dict[str, Callable[[Path], Any]] = {
    "the path": str,
    "a Path": lambda path: path,
    "its folder and back": lambda path: path.parent / "folder" / ".." / path.name,
    "a relative path": os.path.relpath,
    "a symbolic link": lambda path: path.with_name("link.parquet"),
    "a hard link": lambda path: path.with_name("hard.parquet"),
    "a link to the folder": lambda path: path.parent / "same" / path.name,
}


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("spelling", ["the object", *SPELLINGS])
def test_the_table_that_is_fitted_is_no_public_one(tmp_path: Path, pair: bool, spelling: str) -> None:
    """However its file is named."""
    path = tmp_path / "t.parquet"
    PRIVATE.to_parquet(path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "same").symlink_to(tmp_path)
    (tmp_path / "link.parquet").symlink_to(path)
    (tmp_path / "hard.parquet").hardlink_to(path)
    given, again = (str(path), SPELLINGS[spelling](path)) if spelling in SPELLINGS else (PRIVATE, PRIVATE)
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/l.db")
    ledger.create("d", hb.Budget(9.0, 1e-5))
    public = (again, None) if pair else again
    one = hb.LinearRegression(domain=DOMAIN, budget=BUDGET, public=public, ledger=ledger, dataset="d")
    with pytest.raises(InvalidParameter, match="passed as public, too"):
        one.fit(given)
    assert not ledger.charges("d")
