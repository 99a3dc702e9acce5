"""Private bounds as a whole: refusals before anything is read, the order of the charge, both relations, units, post-processing."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.bounds.private import outward
from hullabaloo.errors import BudgetError, BudgetExhausted, DomainError, HullabalooError, InvalidParameter, SchemaError
from hullabaloo.noise import TestKey
from hullabaloo.privacy import SelectionEvent, compose, event_from_dict
from tests.watched import Watched

KEY = TestKey(bytes(range(32)))
BUDGET = hb.Budget(1.0, 1e-6)
OUTER = hb.Domain(
    features={"age": hb.Numeric(0, 1000, fill=40), "ward": ["a", "b"], "income": hb.Numeric(1, 1e9, transform="log")},
    target={"stay": (-1000, 10_000)},
    records=4000,
)


def frame(n: int = 4000) -> Any:
    import pandas as pd

    rng = np.random.default_rng(5)
    return pd.DataFrame({
        "age": rng.normal(50, 10, n),
        "ward": rng.choice(["a", "b"], n),
        "income": np.exp(rng.normal(10, 1, n)),
        "stay": rng.gamma(3.0, 2.0, n),
    })  # fmt: skip


def bought(table: Any = None, y: Any = None, **more: Any) -> hb.PrivateBounds:
    arguments = {"outer": OUTER, "budget": BUDGET, "test_key": KEY} | more
    return hb.private_bounds(frame() if table is None else table, y, **arguments)


def watched(n: int = 4000) -> Watched:
    from hullabaloo.data import open_table

    return Watched(open_table(frame(n)))


def shares_cut(values: Any, ends: tuple[float, float]) -> tuple[float, float]:
    return float((values < ends[0]).mean()), float((values > ends[1]).mean())


def test_bounds_cut_about_what_is_asked() -> None:
    """At this key; on fresh ones the noise of 14 records leaves 1 % (of 4000) with probability below 1e-2 for each end."""
    found, table = bought(quantiles=(0.02, 0.98)), frame()
    assert set(found.bounds) == {"age", "income", "stay"}
    assert found.cut == pytest.approx((0.02, 0.02), abs=1e-5)
    for name, ends in found.bounds.items():
        assert all(0.005 < share < 0.04 for share in shares_cut(table[name], ends)), name
    statement = found.statement
    assert statement.event == compose(SelectionEvent(statement.query_noise[0]["event"]["epsilon"]), count=3)
    assert BUDGET.admits(statement.event)


@pytest.mark.slow
def test_small_shares_move_inward_by_a_public_rule() -> None:
    found = bought()
    assert found.asked == pytest.approx((0.005, 0.005))
    assert found.moved
    assert 0.006 < found.cut[0] < 0.02
    assert any("was asked" in line for line in found.lines())
    assert found.cut == bought(frame(4000).iloc[::-1]).cut
    assert not bought(budget=hb.Budget(50.0, 1e-6)).moved
    insisted = bought(quantiles=(0.005, 0.995))
    assert insisted.cut == pytest.approx(insisted.asked, abs=1e-5)
    assert any("far outside" in line for line in insisted.lines())


@pytest.mark.parametrize(
    ("records", "budget"), [(10**12, BUDGET), (1000, hb.Budget(1e-10, 0.0)), (10**10, hb.Budget(1e-3, 1e-9))], ids=str
)
def test_what_cannot_be_drawn_is_refused_before_the_charge(tmp_path: Any, records: int, budget: hb.Budget) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("d", hb.Budget(4.0, 1e-5), neighbours="add-or-remove")
    outer = hb.Domain(features={"age": (0, 1000)}, records=records)
    about: Any = {"outer": outer, "budget": budget, "neighbours": "add-or-remove", "quantiles": (0.01, 0.99)}
    with pytest.raises(BudgetError, match="cannot be drawn exactly"):
        hb.private_bounds(frame(), ledger=ledger, dataset="d", **about)
    assert ledger.charges("d") == ()


def test_the_domain_is_ready_for_an_estimator() -> None:
    found = bought()
    domain = found.domain()
    assert dict(domain.features)["ward"] == dict(OUTER.features)["ward"]
    age, income = dict(domain.features)["age"], dict(domain.features)["income"]
    assert (age.lo, age.hi, age.fill) == (*found.bounds["age"], 40.0)
    assert (income.lo, income.hi, income.transform) == (*found.bounds["income"], "log")
    assert domain.targets[0].lo == found.bounds["stay"][0]
    assert domain.records == 4000
    model = hb.LinearRegression(budget=BUDGET, domain=domain, solver="moments", test_key=KEY).fit(frame())
    assert np.isfinite(model.coef_).all()
    more = found.domain(features={"hours": (0, 24)}, records=10, classes={"sex": ["f", "m"]})
    assert more.feature_names == ("age", "ward", "income", "hours")
    assert (more.records, more.targets[0].column) == (10, "sex")


@pytest.mark.parametrize(
    ("low", "high", "fill"),
    [(50.0, 60.0, 50.0), (10.0, 20.0, 20.0), (30.0, 60.0, 40.0)],
    ids=["below", "above", "inside"],
)
def test_a_fill_outside_moves_to_the_nearer_bound(low: float, high: float, fill: float) -> None:
    from hullabaloo.bounds.record import narrowed

    assert narrowed("age", hb.Numeric(0, 100, fill=40.0), low, high).fill == fill


def test_bounds_that_cannot_be_declared_stay_outer() -> None:
    """A function that is constant between the bought ends, or ends that floating point cannot scale: no failure after the charge."""
    from hullabaloo.bounds.record import narrowed

    declared = hb.Numeric(0, 1e9, transform="square")
    assert narrowed("x", declared, 0.0, 1e-60) is declared


TABLES = {
    "missing": [math.nan] * 50,
    "infinite": [math.inf, -math.inf] * 25,
    "constant": [7.0] * 50,
    "outside": [1e300, -1e300] * 25,
    "low end": [-3.0] * 50,
    "high end": [1e6] * 50,
    "one": [4.2],
}


@pytest.mark.few(5)
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove"])
@pytest.mark.parametrize("name", TABLES)
def test_whatever_the_values_bounds_are_inside_and_apart(name: str, relation: str) -> None:
    outer = hb.Domain(features={"x": (-3, 1e6)}, records=50)
    for grid in ("auto", "linear", "log"):
        X = np.array(TABLES[name])[:, None]
        found = bought(X, outer=outer, neighbours=relation, quantiles=(0.01, 0.99), grid=grid)
        low, high = found.bounds["x"]
        assert -3 <= low < high <= 1e6
        assert found.domain().feature_names == ("x",)
        assert "x" in str(found)


def test_a_table_of_text_raises_and_says_nothing() -> None:
    rows = [["12", "n/a"], ["oops", ""], ["inf", "1e9"]] * 100
    found = bought(rows, outer=hb.Domain(features={"a": (0, 100), "b": (0, 1e9)}), quantiles=(0.05, 0.95))
    assert set(found.bounds) == {"a", "b"}


def test_with_ends_kept() -> None:
    found = bought(outer={"age": (0, 1000), "stay": (0, 1e6), "income": (0, 1e9)}, table=frame(), quantiles=(0, 0.98))
    assert all(low == 0.0 for low, _ in found.bounds.values())
    assert 0.005 < shares_cut(frame()["stay"], found.bounds["stay"])[1] < 0.04
    assert any("lower end stays" in line for line in found.lines())


def test_a_mapping_of_ranges_and_a_target_beside_the_table(tmp_path: Path) -> None:
    """Array, dataframe, CSV and Parquet give the same bounds under the same key."""
    table = frame()
    outer = {"age": (0, 1000), "income": (0, 1e9), "stay": (0, 1e6)}
    named = bought(table, "stay", outer=outer)
    assert named.domain().targets[0].column == "stay"
    apart = bought(
        table[["age", "income"]], table["stay"], outer={"age": (0, 1000), "income": (0, 1e9), "target": (0, 1e6)}
    )
    array = bought(
        table[["age", "income"]].to_numpy(),
        table["stay"].tolist(),
        outer={"age": (0, 1000), "income": (0, 1e9), "target": (0, 1e6)},
    )
    assert apart.bounds == array.bounds
    assert list(apart.bounds.values()) == list(named.bounds.values())
    assert apart.domain().targets[0].column is None
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        assert bought(tmp_path / name, "stay", outer=outer).bounds == named.bounds


def test_some_columns_only() -> None:
    found = bought(columns=["stay"])
    assert set(found.bounds) == {"stay"}
    assert dict(found.domain().features)["age"] == dict(OUTER.features)["age"]
    assert found.statement.query_noise[0]["answers"] == 1


def test_every_column_is_paid_for() -> None:
    statement = bought().statement
    (choices,) = statement.query_noise
    assert choices["answers"] == 3
    assert statement.event == compose(event_from_dict(choices["event"]), count=3)


def test_units_and_hidden_numbers() -> None:
    """A person counts with a share of theirs that no order changes; nothing shows how many rows there are."""
    table = frame()
    table["person"] = np.arange(4000) // 4
    outer = hb.Domain(
        features={"age": (0, 1000)}, target={"stay": (0, 1e6)}, unit="person", records_per_unit=2, records=2000
    )
    found = bought(table, outer=outer, quantiles=(0.05, 0.95))
    noise = found.statement.query_noise[0]
    assert noise["score_sensitivity_of_sum"] == pytest.approx(2.0, rel=1e-8)
    assert (noise["records"], found.statement.unit) == (2000, "person")
    assert found.domain().unit == "person"
    mixed = bought(table.sample(frac=1.0, random_state=1), outer=outer, quantiles=(0.05, 0.95))
    assert mixed.bounds == found.bounds, "which records of a unit count does not depend on the table's order"
    others = bought(table.groupby("person").head(2), outer=outer, quantiles=(0.05, 0.95))
    assert others.bounds != found.bounds, "and not all of them count"
    hidden = bought(table, outer=OUTER, neighbours="add-or-remove", quantiles=(0.05, 0.95))
    assert hidden.statement.query_noise[0]["score_sensitivity_of_sum"] == pytest.approx(0.95, abs=1e-5)
    shorter = bought(table[:3999], outer=OUTER, neighbours="add-or-remove", quantiles=(0.05, 0.95))
    drop = {"made", "event"}
    assert {k: v for k, v in shorter.statement.to_dict().items() if k not in drop} == {
        k: v for k, v in hidden.statement.to_dict().items() if k not in drop
    }
    assert shorter.typical_error == hidden.typical_error


def test_without_privacy_it_says_so() -> None:
    found = hb.private_bounds(frame(), outer=OUTER, budget=hb.Budget(math.inf))
    assert not found.statement.private
    assert str(found).count("NOT PRIVATE") == 1
    assert shares_cut(frame()["age"], found.bounds["age"]) == pytest.approx((0.005, 0.005), abs=0.003)


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no outer range": ({"outer": None}, InvalidParameter, "physically possible"),
    "empty": ({"outer": {}}, InvalidParameter, "outer ranges"),
    "no budget": ({"budget": None}, InvalidParameter, "budget"),
    "relation": ({"neighbours": "cousins"}, InvalidParameter, "replace-one"),
    "grid": ({"grid": "cubic"}, InvalidParameter, "'auto'"),
    "coverage": ({"coverage": 1.0}, InvalidParameter, "single records"),
    "quantiles": ({"quantiles": (0.6, 0.9)}, InvalidParameter, "both sides of the middle"),
    "extremes": ({"quantiles": (0.0, 1.0)}, InvalidParameter, "both at the ends"),
    "not two": ({"quantiles": 0.5}, InvalidParameter, "a low and a high"),
    "column": ({"columns": ["ward"]}, InvalidParameter, "'ward'"),
    "range": ({"outer": {"age": (5, 5), "stay": (0, 1)}}, DomainError, "lower bound below"),
    "nothing numeric": ({"outer": hb.Domain(features={"ward": ["a", "b"]})}, DomainError, "No numeric column"),
    "absent": ({"outer": {"height": (0, 3)}}, SchemaError, "no such column"),
    "no target's range": ({"y": "stay", "outer": {"age": (0, 1000)}}, DomainError, "'stay'"),
    "target alone": ({"y": "stay", "outer": {"stay": (0, 1000)}}, DomainError, "needs features"),
    "length": ({"y": np.zeros(7), "outer": {"age": (0, 9), "target": (0, 1)}}, SchemaError, "inconsistent"),
    "hidden number": (
        {"outer": {"age": (0, 9)}, "neighbours": "add-or-remove"}, DomainError, "Declare a nominal number",
    ),
    "a number for a budget": ({"budget": 0.5}, InvalidParameter, "a float was given"),
    "a word for a key": ({"test_key": "abc"}, InvalidParameter, "a str was given"),
    "both shares": ({"coverage": 0.9, "quantiles": (0.01, 0.99)}, InvalidParameter, "Pass one of them"),
    "too little": ({"budget": hb.Budget(0.01, 1e-6)}, HullabalooError, "mere chance"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_come_before_the_charge_and_the_records(name: str, tmp_path: Path) -> None:
    change, kind, words = REFUSED[name]
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/p.db")
    ledger.create("d", hb.Budget(2.0, 1e-5), neighbours="replace-one")
    table, arguments = watched(), {"outer": OUTER, "budget": BUDGET} | change
    with pytest.raises(kind, match=words):
        hb.private_bounds(table, arguments.pop("y", None), **arguments, ledger=ledger, dataset="d")
    assert table.read == 0
    assert ledger.charges("d") == ()


def test_a_ledger_charges_once_before_reading_and_refuses_the_second(tmp_path: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/p.db")
    ledger.create("d", hb.Budget(1.5, 1e-5), neighbours="replace-one")
    seen: list[int] = []

    class Late(Watched):
        def numbers(self, columns: Any) -> Any:
            seen.append(len(ledger.charges("d")))
            return super().numbers(columns)

    table = Late(watched().inner)
    found = hb.private_bounds(table, outer=OUTER, budget=BUDGET, ledger=ledger, dataset="d")
    assert seen == [1]
    (charge,) = ledger.charges("d")
    assert (charge.what, charge.number) == ("private_bounds", found.statement.charge)
    assert dict(charge.event) == found.statement.event.to_dict()
    with pytest.raises(BudgetExhausted):
        hb.private_bounds(table, outer=OUTER, budget=BUDGET, ledger=ledger.url, dataset="d")
    assert seen == [1]
    with pytest.raises(InvalidParameter, match="go together"):
        hb.private_bounds(table, outer=OUTER, budget=BUDGET, ledger=ledger)


def test_a_failing_reader_leaves_the_charge(tmp_path: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/p.db")
    ledger.create("d", hb.Budget(1.5, 1e-5), neighbours="replace-one")

    class Broken(Watched):
        def numbers(self, columns: Any) -> Any:
            raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        hb.private_bounds(Broken(watched().inner), outer=OUTER, budget=BUDGET, ledger=ledger, dataset="d")
    assert len(ledger.charges("d")) == 1


@pytest.mark.few(1)
@pytest.mark.parametrize("filter", ["basic", "gdp", "renyi"])
def test_every_ledger_takes_them(filter: str, tmp_path: Path) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/p.db")
    ledger.create("d", BUDGET, neighbours="replace-one", filter=filter)
    found = hb.private_bounds(frame(), outer=OUTER, budget=BUDGET, ledger=ledger, dataset="d")
    assert found.statement.charge == 1


@pytest.mark.few(1)
@pytest.mark.parametrize("budget", [hb.Budget(1.0, 0.0), hb.Budget.zcdp(0.05), hb.Budget.gdp(0.3)], ids=str)
def test_every_kind_of_budget_buys_them(budget: hb.Budget) -> None:
    found = bought(budget=budget)
    assert budget.admits(found.statement.event)


def test_saved_and_read_back(tmp_path: Path) -> None:
    found = bought()
    found.save(tmp_path / "bounds.json")
    back = hb.PrivateBounds.load(tmp_path / "bounds.json")
    assert str(back) == str(found)
    assert back.to_dict() == found.to_dict() == json.loads(json.dumps(found.to_dict()))
    assert hb.Domain.from_toml(found.to_toml()).to_dict() == found.domain().to_dict()
    assert "<pre>column  low" in found._repr_html_()
    with pytest.raises(OSError, match=r"missing/bounds\.json'$"):
        found.save(tmp_path / "missing" / "bounds.json")
    for text, words in (
        ("{", "cannot be read"),
        ("[]", "no record of"),
        ('{"format": "x"}', "no record of"),
        (json.dumps(found.FORMAT.head | {"format_version": 2}), "format version 2"),
        (json.dumps(found.FORMAT.head), "changed or cut off"),
        (json.dumps(found.to_dict() | {"asked": []}), "changed or cut off"),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(InvalidParameter, match=words):
            hb.PrivateBounds.load(tmp_path / "bad.json")


def test_names_that_need_quotes_survive_toml() -> None:
    outer = hb.Domain(features={'a "b"\n': (0, 5), "plain": ["x\ty", "é", "1"]}, target=(0, 9), records=50)
    found = bought(np.array([[1.0, 2.0]] * 50), np.ones(50), outer=outer, quantiles=(0.1, 0.9))
    assert hb.Domain.from_toml(found.to_toml()).to_dict() == found.domain().to_dict()


def test_printed_values_are_released_ones_only() -> None:
    """Two tables with the same bounds print the same, but for the time."""
    table = frame()
    other = table.copy()
    other.loc[0, "age"] = 49.123456
    first, second = (bought(one, budget=hb.Budget(math.inf)) for one in (table, other))
    cut = first.statement.made
    assert str(first) == str(second).replace(second.statement.made, cut)


@pytest.mark.parametrize(
    ("chosen", "outer", "shown"),
    [
        ((0.000188, 64.23), (0.0, 150.0), (0.0, 64.3)),
        ((18.448, 64.6), (0.0, 150.0), (18.44, 64.6)),
        ((-0.3, 0.7), (-0.3, 0.7), (-0.3, 0.7)),
        ((1e7 + 0.5, 1e7 + 1.0), (0.0, 1e8), (1e7 + 0.5, 1e7 + 1.0)),
        ((1e-320, 2e-320), (0.0, 1.0), (1e-320, 2e-320)),
        ((-1e300, 1e300), (-1e308, 1e308), (-1e300, 1e300)),
    ],
)
def test_bounds_are_rounded_outwards_for_people(
    chosen: tuple[float, float], outer: tuple[float, float], shown: tuple[float, float]
) -> None:
    found = outward(*chosen, *outer)
    assert found == pytest.approx(shown, rel=1e-12)
    assert outer[0] <= found[0] <= chosen[0] + 1e-9 * (chosen[1] - chosen[0])
    assert chosen[1] - 1e-9 * (chosen[1] - chosen[0]) <= found[1] <= outer[1]
