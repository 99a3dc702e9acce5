"""Selection by a stated rule of false selections: what it keeps, what it leaves alone, and where it is refused."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control, norm

import hullabaloo as hb
from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.inference.intervals import inference
from hullabaloo.inference.selection_rule import SelectionRule
from hullabaloo.inference.summary import rows_of
from hullabaloo.noise import TestKey

KEY = TestKey(bytes(range(32)))
P = 8
SLOPES = np.array([1.0, 0.0, 0.0, -0.6, 0.0, 0.0, 0.4, 0.0])
DOMAIN = hb.Domain(features={f"x{j}": (-1, 1) for j in range(P)}, target=(-4, 4), indicators=False)
CLASSES = hb.Domain(features={f"x{j}": (-1, 1) for j in range(P)}, classes=[0, 1], indicators=False)


def lasso(epsilon: float = 3.0, n: int = 20_000, kind: Any = hb.Lasso, **more: Any) -> Any:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, P))
    X[:, 1] = 0.7 * X[:, 0] + 0.3 * X[:, 1]
    z, classes = X @ SLOPES + 0.5, kind is hb.LogisticRegression
    y = (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-3.0 * z))).astype(int) if classes else z + 0.5 * rng.normal(size=n)
    budget = hb.Budget(epsilon, 1e-6) if math.isfinite(epsilon) else hb.Budget(math.inf)
    asked = {"budget": budget, "domain": CLASSES if classes else DOMAIN, "solver": "gradient", "test_key": KEY}
    return kind(**(asked | more)).fit(X, y)


@pytest.mark.parametrize("level", [0.01, 0.1, 0.5])
def test_the_rules_are_those_of_benjamini_hochberg_and_bonferroni(level: float) -> None:
    for seed in range(50):
        z = np.random.default_rng(seed).normal(size=(20, 2)) + 3.0 * (np.arange(20) < 5)[:, None]
        p = 2.0 * norm.sf(np.abs(z))
        fdr, bound = (SelectionRule(name, level).keeps(z) for name in ("fdr", "bound"))
        assert np.array_equal(fdr, false_discovery_control(p.ravel()).reshape(p.shape) <= level)
        assert np.array_equal(bound, p <= level / 40)
        assert not np.any(bound & ~fdr)
        lost = np.where(np.arange(20)[:, None] == 0, np.nan, z)
        assert not SelectionRule("fdr", level).keeps(lost)[0].any()
    assert SelectionRule("fdr", level).keeps(np.zeros((0, 1))).shape == (0, 1)


@pytest.mark.slow
def test_of_correlated_tests_a_tenth_is_false_at_most() -> None:
    """False alarm below 1e-6: the mean of 10 000 shares in [0, 1] is 0.03 above its expectation with chance exp(−18) (Hoeffding)."""
    rng, rule = np.random.default_rng(1), SelectionRule("fdr", 0.1)
    null = np.arange(20) >= 5
    for correlation in (0.0, 0.5, 0.9):
        shares = []
        for _ in range(10_000):
            together = rng.normal(size=(1, 1)) * (1.0 - 2.0 * (np.arange(20) % 2))[:, None]
            z = math.sqrt(correlation) * together + math.sqrt(1.0 - correlation) * rng.normal(size=(20, 1))
            kept = rule.keeps(z + np.where(null, 0.0, 3.0)[:, None])[:, 0]
            shares.append((kept & null).sum() / max(kept.sum(), 1))
        assert np.mean(shares) <= 0.075 + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["fdr", "bound"])
@pytest.mark.parametrize(
    ("kind", "more"),
    [(hb.Lasso, {}), (hb.ElasticNet, {}), (hb.LogisticRegression, {"penalty": hb.L1Penalty(0.001)})],
    ids=["lasso", "elastic net", "logistic"],
)
def test_what_matters_is_kept_and_said(rule: str, kind: Any, more: dict[str, Any]) -> None:
    more |= {"solver": "preconditioned_gradient"}
    found = lasso(kind=kind, selection=rule, **more)
    kept = set(found.selected_)
    assert {"x0", "x3", "x6"} <= kept
    assert len(kept) <= 4
    assert (np.ravel(found.coef_) == 0.0).sum() == P - len(kept)
    words = {"fdr": "Benjamini and Hochberg", "bound": "Bonferroni"}[rule]
    assert f"Of {P} coefficients {len(kept)} are selected by" in found.summary().note
    assert words in found.summary().note
    assert "is no finding" in lasso(kind=kind, **more).summary().note


def test_from_moments_the_others_are_those_of_the_same_set() -> None:
    plain = lasso(solver="moments")
    found = plain.refit(selection="fdr")
    assert np.array_equal(found.coef_, lasso(selection="fdr", solver="moments").coef_)
    assert found.release_.theta == pytest.approx(plain.refit(features=list(found.selected_)).release_.theta, abs=1e-12)
    assert set(plain.refit(selection="bound").selected_) <= set(found.selected_)
    assert "selection" not in found.refit(penalty=hb.SquaredL2Penalty(0.01)).release_.plan


@pytest.mark.slow
@pytest.mark.parametrize("kind", [hb.Lasso, hb.LogisticRegression])
def test_intervals_do_not_move_when_coefficients_are_left_out(kind: Any) -> None:
    more = {"penalty": hb.L1Penalty(0.001), "solver": "preconditioned_gradient", "inference": True}
    with_all, some = (lasso(kind=kind, selection=rule, n=20_000, **more) for rule in (None, "bound"))
    assert not np.array_equal(with_all.coef_, some.coef_)
    ends = [
        [(row.low, row.high) for row in rows_of(one._fitted(), inference(one._fitted()), 0.95)]
        for one in (with_all, some)
    ]
    assert np.array_equal(*ends, equal_nan=True)


@pytest.mark.slow
def test_predictions_keep_their_mean_when_columns_are_left_out() -> None:
    """Of a solver beside moments: what a column left out adds on average goes to the intercept, which is clear where all are left out."""
    budget = hb.Budget.gdp(1e3)
    domain = hb.Domain(features={"x0": (0, 2)}, target=(-1, 1), indicators=False)
    x = np.tile(np.linspace(1.0, 2.0, 1_000), 4)
    y = 0.2 + 0.4 * np.tile(np.random.default_rng(0).uniform(-1.0, 1.0, 1_000), 4)
    more = {"budget": budget, "domain": domain, "test_key": KEY, "solver": "gradient", "inference": True}
    plain, none = (
        hb.Lasso(selection=rule, selection_level=1e-9, **more).fit(x[:, None], y) for rule in (None, "bound")
    )
    assert plain.coef_[0] != 0.0
    assert none.coef_[0] == 0.0
    assert none.predict(x[:, None]).mean() == pytest.approx(plain.predict(x[:, None]).mean(), abs=1e-4)


def test_what_levels_share_is_no_finding() -> None:
    """All levels of a category have a column, so that a part of the intercept is in each: none of them differs from the others here."""
    rng = np.random.default_rng(3)
    domain = hb.Domain(features={"job": ["a", "b", "c"], "x": (-1, 1)}, target=(-1, 1), indicators=False)
    table = {"job": rng.choice(["a", "b", "c"], 3_000), "x": rng.uniform(-1.0, 1.0, 3_000)}
    y = 0.6 + 0.2 * table["x"] + 0.1 * rng.normal(size=3_000)
    found = hb.Lasso(budget=hb.Budget(math.inf), domain=domain, selection="bound").fit(pd.DataFrame(table), y)
    assert list(found.selected_) == ["x"]


def test_without_noise_nothing_is_left_out_unless_asked() -> None:
    assert "selection" not in lasso(math.inf, 500).release_.plan
    assert "finding" not in lasso(math.inf, 500).summary().note


@pytest.mark.parametrize(
    ("kind", "asked", "says"),
    [
        (hb.Lasso, {"selection": "knockoffs"}, "there are 'fdr', 'bound'"),
        (hb.Lasso, {"selection": "fdr", "selection_level": 1.5}, "above 0 and below 1, but 1.5"),
        (hb.Lasso, {"selection": "fdr", "solver": "frank_wolfe", "inference": False}, "Pass inference=True"),
        (hb.Ridge, {"selection": "fdr"}, r"Pass constraint=hb.L1Ball\(1.0\)"),
        (
            hb.QuantileRegressor,
            {"selection": "fdr", "penalty": hb.L1Penalty(0.1)},
            "whose sampling errors no release tells",
        ),
    ],
)
def test_what_has_no_valid_rule_is_refused_before_the_charge(kind: Any, asked: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidParameter, match=says):
        kind(budget=hb.Budget(1.0, 1e-6), domain=DOMAIN, **asked).price(n=1_000)


def test_a_price_says_that_its_gain_is_that_before_selection() -> None:
    """At a budget at which the fit keeps most of the gain nothing is selected: R² is that of the mean."""
    asked = {"constraint": hb.L1Ball(2.0), "budget": hb.Budget(1.0, 1e-6), "domain": DOMAIN, "solver": "moments"}
    prices = [str(hb.Lasso(selection=rule, **asked).price(n=3_000)) for rule in (None, "fdr")]
    assert ["before selection" in said for said in prices] == [False, True]
    assert ["all of them go" in said for said in prices] == [False, True]
    assert all("expected to keep" in said for said in prices)


@pytest.mark.few(1)
@pytest.mark.parametrize("rule", ["fdr", "bound"])
def test_a_refusal_names_the_rule_that_asks_for_errors(rule: str) -> None:
    few = hb.Lasso(constraint=hb.L1Ball(1.0), selection=rule, budget=hb.Budget(0.3, 1e-6), domain=DOMAIN)
    with pytest.raises(CapabilityError, match=r"by inference= or selection=.*inference=False, selection=None"):
        few.set_params(solver="gradient").price(n=1_000)
    assert "no errors" not in str(few.set_params(inference=False, selection=None).price(n=1_000))


def test_a_search_compares_models_of_all_columns() -> None:
    model = hb.Lasso(domain=DOMAIN, selection="fdr")
    search = hb.PrivateSearchCV(model, {"fit_intercept": [True, False]}, budget=hb.Budget(1.0, 1e-6))
    with pytest.raises(InvalidParameter, match="was asked in a search"):
        search.price(n=1_000)


@pytest.mark.slow
def test_every_release_of_a_stream_of_fits_selects() -> None:
    """A rule of selection is a word for errors, though `inference` was not named: no fit of a stream is without them."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-1.0, 1.0, (4_000, P))
    y = X @ SLOPES + 0.1 * rng.normal(size=4_000)
    asked = {"solver": "preconditioned_gradient", "selection": "bound", "test_key": KEY}
    once = hb.Lasso(budget=hb.Budget.gdp(20.0), domain=DOMAIN, **asked)
    stream = hb.streaming.PeriodicERM(once, horizon=4_000, every=2_000).partial_fit(X, y)
    assert list(stream.model_at().estimator.selected_) == ["x0", "x3", "x6"]


def test_a_saved_selection_is_the_same_and_a_changed_one_is_refused(tmp_path: Any) -> None:
    found = lasso(selection="fdr", solver="moments")
    found.save(tmp_path / "model.json")
    again = hb.load(tmp_path / "model.json")
    assert np.array_equal(again.coef_, found.coef_)
    assert again.summary().note == found.summary().note
    text = (tmp_path / "model.json").read_text().replace('"rule": "fdr"', '"rule": "best"')
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(InvalidParameter, match="missing or malformed"):
        hb.load(tmp_path / "model.json")


def test_columns_of_which_nothing_is_told_are_not_selected() -> None:
    """Of indicators of nothing missing, and of a column that hardly varies, the release has no error: its z was 10¹⁰."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1, 1, (20_000, 2)), rng.uniform(-0.001, 0.001, 20_000)])
    y = (X[:, 0] + rng.logistic(size=20_000) > 0).astype(int)
    domain = hb.Domain(features=dict.fromkeys(("a", "b", "still"), (-1, 1)), classes=[0, 1])
    asked = {"penalty": hb.L1Penalty(0.0005), "selection": "fdr", "solver": "preconditioned_gradient"}
    made = hb.LogisticRegression(domain=domain, budget=hb.Budget(1.0, 1e-8), test_key=KEY, **asked).fit(X, y)
    assert list(made.selected_) == ["a"]
