"""Searches: one charge, the best of candidates, nothing else; over every estimator."""

import json
import math
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.errors import BudgetExhausted, CalibrationError, DomainError, HullabalooError, InvalidParameter
from hullabaloo.linear_model import ESTIMATORS
from hullabaloo.noise import TestKey
from hullabaloo.privacy import TunedEvent, epsilon_of, event_from_dict

from ..linear_model.examples import domain_for, table, target_of

KEY = TestKey(bytes(32))
BUDGET = hb.Budget(2.0, 1e-6)
STRENGTHS = {"penalty": [hb.SquaredL2Penalty(strength) for strength in (1e-4, 1e-2, 30.0)]}
DOMAIN = hb.Domain(features={f"x{i}": (-1, 1) for i in range(3)}, target=(-1, 1), indicators=False)


def data(n: int = 3_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    return x, np.clip(x @ [0.6, -0.3, 0.0] + 0.1 * rng.normal(size=n), -1, 1)


def ridge(**more: Any) -> hb.PrivateSearchCV:
    given: dict[str, Any] = {"budget": BUDGET, **more}
    return hb.PrivateSearchCV(hb.Ridge(domain=DOMAIN, solver="moments"), STRENGTHS, **given)


def test_a_search_finds_a_good_candidate_and_states_what_it_costs():
    x, y = data()
    wins = 0
    for seed in range(6):
        search = ridge(test_key=KEY.derive(seed), expected_candidates=8).fit(x, y)
        wins += search.best_params_["penalty"].strength < 1.0
        assert search.metric_ == "squared_error"
        assert abs(search.best_score_ - np.mean((search.predict(x) - y) ** 2)) < 8 * search.best_score_error_ + 0.01
    assert wins >= 5
    event = search.statement_.event
    assert isinstance(event, TunedEvent)
    assert (event.expected, event.shape) == (8.0, 1.0)
    assert event.samples > 0
    assert 0.99 * 2.0 < epsilon_of(event, 1e-6) <= 2.0
    assert search.statement_.records == 3_000


def test_what_is_released_does_not_tell_how_many_runs_there_were_nor_which_was_the_best():
    """One candidate under five keys, which give other numbers of runs: but for the noisy answers it is the same release."""
    x, y = data(400)
    plans = set()
    for seed in range(5):
        search = hb.PrivateSearchCV(
            hb.Ridge(domain=DOMAIN, solver="moments"), {"penalty": [hb.SquaredL2Penalty(0.01)]}, budget=BUDGET,
            expected_candidates=8, test_key=KEY.derive(seed),
        ).fit(x, y)  # fmt: skip
        plans.add(json.dumps(dict(search.best_estimator_.release_.plan), sort_keys=True, default=str))
    assert len(plans) == 1


def test_the_statement_is_the_models_and_says_what_must_stay_hidden():
    x, y = data(400)
    search = ridge().fit(x, y)
    model = search.best_estimator_
    assert model.statement_ is search.statement_ is search.statement
    text = str(search.statement_)
    assert "best of a random number of runs (8 expected)" in text
    assert "epsilon 2" not in text.partition("for k = 2")[0]
    assert search.statement_.private
    assert event_from_dict(json.loads(json.dumps(search.statement_.event.to_dict()))) == search.statement_.event
    shown = {name for name in vars(search) if name.endswith("_")}
    assert shown == {
        "statement_",
        "best_index_",
        "best_params_",
        "best_score_",
        "best_score_error_",
        "metric_",
        "best_estimator_",
    }


def test_a_searched_model_says_why_it_tells_no_errors():
    """None is asked for by anybody: a search has no inference to leave out."""
    x, y = data(2_000)
    for solver, buys_none in (("gradient", True), ("moments", False)):
        search = ridge()
        said = str(search.set_params(estimator=search.estimator.set_params(solver=solver)).fit(x, y).summary())
        assert ("A search buys no errors" in said) == buys_none
        assert "not asked for" not in said


def test_the_best_estimator_is_an_ordinary_one(tmp_path):
    x, y = data(2_000)
    search = ridge().fit(x, y)
    search.save(tmp_path / "model.json")
    again = hb.load(tmp_path / "model.json")
    assert isinstance(again, hb.Ridge)
    assert np.array_equal(again.predict(x[:5]), search.predict(x[:5]))
    assert again.statement_ == search.statement_
    assert "x0" in str(search.summary())
    card = hb.report.card(search.best_estimator_)
    assert not card.check()
    entry = search.card_entry()
    assert set(entry) == {"title", "lines", "table"}
    with pytest.warns(hb.errors.NotPrivateWarning):
        assert search.score(x, y) == pytest.approx(search.best_estimator_.score(x, y))


CANDIDATES: dict[str, dict[str, list[Any]]] = {
    "Lasso": {"constraint": [hb.L1Ball(0.5), hb.L1Ball(2.0)]},
    "LinearRegression": {"solver": ["moments", "gradient"]},
    "MultiTaskRegression": {"radius": [0.5, 2.0]},
    "HuberRegressor": {"threshold": [0.1, 0.5]},
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_can_be_searched(name):
    target = target_of(name)
    frame = table(600)[["age", "hours", "job", target]]
    kind, grid = getattr(hb, name), CANDIDATES.get(name, {"fit_intercept": [True, False]})
    model = kind(domain=domain_for(name), solver="gradient")
    search = hb.PrivateSearchCV(model, grid, budget=BUDGET, test_key=KEY, expected_candidates=2)
    search.fit(frame)
    assert isinstance(search.best_estimator_, kind)
    assert len(search.predict(frame)) == 600
    assert math.isfinite(search.best_score_)
    if hasattr(kind, "predict_proba"):
        assert hasattr(search, "predict_proba") == hasattr(search.best_estimator_, "predict_proba")
    assert str(search.price(600)).startswith("spend")


@pytest.mark.parametrize("filter", ["basic", "renyi"])
def test_the_ledger_is_charged_once(tmp_path, filter):
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", BUDGET, filter=filter)
    x, y = data(500)
    search = ridge(ledger=ledger, dataset="clinic").fit(x, y)
    (charge,) = ledger.charges("clinic")
    solvers = ["moments"]
    assert charge.number == search.statement_.charge == 1
    assert charge.detail == {"candidates": 3, "expected_runs": 8.0, "solvers": solvers}
    assert event_from_dict(dict(charge.event)) == search.statement_.event
    assert search.best_estimator_.ledger.url == ledger.url
    assert ledger.verify().status == "sound"
    with pytest.raises(BudgetExhausted):
        ridge(ledger=ledger, dataset="clinic").fit(x, y)
    assert len(ledger.charges("clinic")) == 1


def test_everything_is_refused_before_the_charge(tmp_path):
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("clinic", BUDGET)
    ledger.create("gaussian", BUDGET, filter="gdp")
    x, y = data(300)

    def refused(
        match: str, candidates: Any = STRENGTHS, model: Any = None, error: Any = InvalidParameter, **more: Any
    ) -> None:
        given = {"budget": BUDGET, "ledger": ledger, "dataset": "clinic", **more}
        with pytest.raises(error, match=match):
            hb.PrivateSearchCV(
                hb.Ridge(domain=DOMAIN, solver="gradient") if model is None else model, candidates, **given
            ).fit(x, y)
        assert not ledger.charges("clinic")

    refused("which is no list", {"penalty": hb.SquaredL2Penalty(1.0)})
    refused("dictionary with a list", "penalty")
    refused("among 0 candidates", {"penalty": []})
    refused("has no such parameter", [{"alpha": 1.0}])
    for name, value in {
        "budget": BUDGET,
        "domain": DOMAIN,
        "ledger": ledger,
        "neighbours": "add-or-remove",
        "test_key": KEY,
    }.items():
        refused("which no search chooses", [{}, {name: value}])
    refused("Candidate 2 of 2.*nosuch", [{}, {"solver": "nosuch"}])
    refused(
        "Candidate 1 of 1.*Objective perturbation.*take this candidate out",
        [{"solver": "objective_perturbation"}],
        hb.LogisticRegression(
            domain=hb.Domain(features={f"x{i}": (-1, 1) for i in range(3)}, classes=[-1, 1], indicators=False)
        ),
        HullabalooError,
    )
    refused("dimensions", [{"constraint": hb.Box(np.zeros(7), np.ones(7))}])
    refused("the class Ridge itself", model=hb.Ridge)
    refused("search of an int", model=3)
    refused("has budget= of its own", model=hb.Ridge(domain=DOMAIN, budget=BUDGET))
    refused("has dataset= of its own", model=hb.Ridge(domain=DOMAIN, dataset="clinic"))
    for told in (True, 0.3):
        refused("has inference= of its own.*fit it again for errors", model=hb.Ridge(domain=DOMAIN, inference=told))
    refused("take nothing from a public table", model=hb.Ridge(domain=DOMAIN, public=x))
    refused("hb.Domain", model=hb.Ridge())
    refused("holdout", holdout=1.0)
    refused("Both parts need records", holdout=0.001)
    refused("expected_candidates", expected_candidates="many")
    refused("expected number of runs", expected_candidates=0.5)
    for number in (np.float16(0.5), np.float32(0.5)):
        refused("expected number of runs", expected_candidates=number)
    refused("shape='normal' names no law", shape="normal")
    refused("no more: 'geometric'", shape="poisson")
    refused("metric 'nosuch'", metric="nosuch")
    refused("single number|by one number", metric="calibration")
    refused("metric=", metric=3)
    refused("state", state=3)
    refused("without a state file", key_file="key")
    refused("budget", budget=1.0)
    refused("not pure", budget=hb.Budget(1.0, 0.0), error=CalibrationError)
    refused("no Gaussian-DP parameter", dataset="gaussian", error=CalibrationError)
    refused("go together", dataset=None)
    refused("test key", test_key=KEY, error=HullabalooError)


def test_private_counts_need_a_declared_number_and_hide_the_true_one():
    x, y = data(900)
    model = hb.Ridge(domain=DOMAIN, neighbours="add-or-remove")
    with pytest.raises(DomainError, match="nominal number"):
        hb.PrivateSearchCV(model, STRENGTHS, budget=BUDGET).fit(x, y)
    declared = hb.Domain.from_dict({**DOMAIN.to_dict(), "records": 1_000})
    model = hb.Ridge(domain=declared, neighbours="add-or-remove", solver="moments")
    events = set()
    for rows in (900, 899, 3):
        search = hb.PrivateSearchCV(model, STRENGTHS, budget=BUDGET, test_key=KEY).fit(x[:rows], y[:rows])
        events.add(json.dumps([search.statement_.event.to_dict(), search.statement_.records, search.best_score_error_]))
        noise = [{**one} for one in search.statement_.query_noise]
        events.add(json.dumps(noise))
        assert search.best_estimator_.domain.records == 1_000
        assert math.isfinite(search.best_score_)
    assert len(events) == 2


def test_units_and_weights():
    frame = table(800)[["age", "hours", "job", "cost"]]
    frame["who"] = [f"p{i // 2}" for i in range(800)]
    frame["w"] = np.linspace(0.0, 2.0, 800)
    domain = domain_for("Ridge", unit="who", records_per_unit=2, records=800, weight=("w", 2.0))
    for neighbours in ("replace-one", "add-or-remove"):
        model = hb.Ridge(domain=domain, neighbours=neighbours, solver="moments")
        search = hb.PrivateSearchCV(model, STRENGTHS, budget=BUDGET, test_key=KEY).fit(frame)
        assert search.statement_.unit == "who"
        assert search.statement_.records_per_unit == 2
        assert search.best_estimator_.coef_.size == 4


def test_without_privacy_every_candidate_is_tried_once():
    x, y = data()
    search = ridge(budget=hb.Budget(math.inf), test_key=KEY).fit(x, y)
    assert search.best_params_["penalty"].strength == 1e-4
    assert not search.statement_.private
    assert search.best_score_ == pytest.approx(0.01, rel=0.3)
    assert "no privacy at all" in str(search.price(3_000))


def test_a_test_key_decides_everything():
    x, y = data(500)
    one, two = (ridge(test_key=KEY).fit(x, y) for _ in range(2))
    assert np.array_equal(one.best_estimator_.coef_, two.best_estimator_.coef_)
    assert one.best_score_ == two.best_score_
    three = ridge(test_key=KEY.derive(1)).fit(x, y)
    assert one.best_score_ != three.best_score_


def test_a_price_compares_the_search_with_the_grid():
    price = ridge(budget=hb.Budget(1.0, 1e-6), expected_candidates=8).price(10_000)
    assert (price.epsilon, price.candidates, price.trained, price.held) == (
        pytest.approx(1.0, rel=1e-3),
        3,
        7_500,
        2_500,
    )
    assert price.chance == pytest.approx(8 / 10, rel=1e-6)
    assert price.grid_mu == pytest.approx(0.23669 / math.sqrt(3), rel=1e-3)
    assert price.grid_mu < price.run_mu < 0.23669
    assert price.grid_epsilon < price.run_epsilon < price.alone_epsilon == pytest.approx(1.0, rel=1e-6)
    assert json.loads(json.dumps(price.to_dict()))["solvers"] == list(price.solvers)
    assert "luck" in price._repr_html_()
    many = hb.PrivateSearchCV(hb.Ridge(domain=DOMAIN, solver="moments"), [{}] * 50, budget=BUDGET).price(1_000)
    assert many.expected_runs == 30.0


def test_scikit_learn_can_clone_set_and_show_it(tmp_path):
    from sklearn.base import clone, is_classifier, is_regressor

    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    search = ridge(state="nowhere", metric="r2", ledger=ledger, dataset="clinic", test_key=bytes(32))
    again = clone(search)
    assert {name: str(value) for name, value in again.get_params().items()} == {
        name: str(value) for name, value in search.get_params().items()
    }
    assert repr(again) == repr(search)
    for word in ("metric='r2'", "SquaredL2Penalty(strength=30.0)", "solver='moments'"):
        assert word in repr(search)
    assert "PrivateSearchCV" in search._repr_html_()
    more = {"ledger": None, "dataset": None, "state": None, "estimator__solver": "gradient", "holdout": 0.5}
    assert again.set_params(**more) is again
    assert (again.estimator.solver, search.estimator.solver) == ("gradient", "moments")
    with pytest.raises(ValueError, match="Invalid parameter 'nosuch'"):
        again.set_params(nosuch=1)
    fitted = again.fit(*data(300))
    assert not hasattr(clone(fitted), "best_estimator_")
    assert fitted.best_estimator_.solver == "gradient"
    assert is_regressor(search)
    assert is_classifier(hb.PrivateSearchCV(hb.LinearSVC(), []))
    assert not is_regressor(clone(hb.PrivateSearchCV()))


def test_a_score_that_is_no_number_is_the_worst(monkeypatch):
    from hullabaloo.curation import running

    given = iter([math.nan, -0.5, math.nan])
    monkeypatch.setattr(running, "score_of", lambda *_: next(given))
    search = ridge(budget=hb.Budget(math.inf)).fit(*data(100))
    assert (search.best_index_, search.best_score_) == (1, 0.5)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "solver",
    [
        "moments",
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("gradient", "frank_wolfe", "output_perturbation", "mirror_descent")
        ),
    ],
)
def test_whatever_its_queries_are_a_search_with_a_state_ends_and_gives_the_same_again(solver: str, tmp_path):
    """A choice's largest score is no number of numbers."""
    x, y = data(300)
    domain = hb.Domain(features={f"x{j}": (-1, 1) for j in range(x.shape[1])}, target=(-1, 1))
    grid = {"solver": [solver], "constraint": [hb.L1Ball(1.0), hb.L1Ball(500.0)]}
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("clinic", hb.Budget(3.0, 1e-5), neighbours="replace-one", filter="basic")

    def run():
        kind = hb.LinearRegression(domain=domain)
        search = hb.PrivateSearchCV(
            kind, grid, budget=hb.Budget(1.0, 1e-6), state=tmp_path / "s", ledger=ledger, dataset="clinic"
        )
        return search.fit(x, np.clip(y, -1.0, 1.0))

    one, two = run(), run()
    assert np.array_equal(one.best_estimator_.coef_, two.best_estimator_.coef_)
    assert len(ledger.charges("clinic")) == 1
