"""The private area under the ROC curve: scikit-learn's within its ties, the variance of its noise, intervals that cover, refusals before the charge."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import hullabaloo as hb
from hullabaloo.curation.scoring import Noise
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses.ranks import FARTHEST, LEVELS, Ranks, waves
from hullabaloo.model_selection import price_evaluation
from hullabaloo.model_selection.area import Area
from hullabaloo.model_selection.metrics import ScoreAnswer
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from tests.model_selection.test_evaluation import (
    FEATURES,
    FREE,
    KEY,
    NUMBERS,
    ONE,
    Array,
    coverage,
    labels,
    least_errors,
    table,
    without_noise,
)

TWO = hb.Domain(**FEATURES, classes=["no", "yes"])
AREA = Area("roc_auc", True, Ranks())
BINS = 1 << LEVELS


def fitted(penalty: float = 0.01, domain: hb.Domain = TWO) -> Any:
    model = hb.LogisticRegression(budget=FREE, domain=domain, penalty=hb.SquaredL2Penalty(penalty))
    return model.fit(*labels(3000, ["no", "yes"]))


def heard(counts: Array, noise: Noise, draw: Array | float = 0.0) -> ScoreAnswer:
    """The answer for counts (2, bins) of both classes, with this noise in its coordinates."""
    return ScoreAnswer({AREA.tally: (counts @ waves(np.arange(BINS)) + draw).ravel()}, noise.records, noise)


def lumps(sizes: tuple[float, float], apart: float) -> Array:
    """Normal classes, so many of their deviations apart."""
    steps = np.linspace(-16.0, 16.0, BINS)
    laws = [np.exp(-0.5 * (steps - shift) ** 2) for shift in (0.0, apart)]
    return np.array([size * law / law.sum() for size, law in zip(sizes, laws, strict=True)])


@pytest.mark.few(1)
@pytest.mark.parametrize("penalty", [1e-4, 0.01, 1.0, 1e4])
def test_without_noise_it_is_scikit_learns_within_its_ties(penalty: float) -> None:
    """Also of predictions that hardly differ: the window is as narrow as coefficients and bounds make them."""
    model, (X, y) = fitted(penalty), labels(4000, ["no", "yes"], seed=1)
    found = hb.evaluate(model, X, y, budget=FREE, metrics="roc_auc").values["roc_auc"]
    true = roc_auc_score(y == "yes", model.predict_proba(X)[:, 1])
    assert found.value == pytest.approx(true, abs=3e-4)
    assert found.low < true < found.high
    assert found.privacy_error == 0.0


def test_a_huge_budget_gives_the_same_and_ties_are_within_their_bound() -> None:
    model, (X, y) = fitted(), labels(4000, ["no", "yes"], seed=1)
    truth = y == "yes"
    true = roc_auc_score(truth, model.predict_proba(X)[:, 1])
    found = hb.evaluate(model, X, y, budget=hb.Budget(1e6, 1e-6), metrics="roc_auc", test_key=KEY).values["roc_auc"]
    assert found.value == pytest.approx(true, abs=1e-3)
    tied = np.digitize(model.decision_function(X), np.linspace(-FARTHEST, FARTHEST, BINS + 1)[1:-1])
    counts = np.array([np.bincount(tied[truth == own], minlength=BINS) for own in (False, True)])
    bound = 0.5 * float(counts[0] @ counts[1]) / math.prod(counts.sum(axis=1))
    wide = AREA.measure(heard(counts, Noise(0.0, 4000, 0.0, 1.0)), 1.96)
    assert roc_auc_score(truth, tied) == pytest.approx(true, abs=bound)
    assert wide.value == pytest.approx(true, abs=bound / 10.0)


def test_weights_and_units_count() -> None:
    weight = np.random.default_rng(3).uniform(0.0, 2.0, 3000)
    X, y = labels(3000, ["no", "yes"])
    domain = hb.Domain(**FEATURES, classes=["no", "yes"], weight=("weight", 2.0))
    model = hb.LogisticRegression(budget=FREE, domain=domain, penalty=hb.SquaredL2Penalty(0.01)).fit(X, y, weight)
    true = roc_auc_score(y == "yes", model.predict_proba(X)[:, 1], sample_weight=weight)
    assert without_noise(model, X, y, ["roc_auc"], sample_weight=weight)["roc_auc"] == pytest.approx(true, abs=3e-4)
    import pandas as pd

    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "ill": y, "person": np.arange(3000) // 2})
    told = {"unit": "person", "records_per_unit": 2, "records": 3000}
    people = hb.LogisticRegression(
        budget=FREE, domain=hb.Domain(**FEATURES, classes={"ill": ["no", "yes"]}, **told)
    ).fit(frame)
    one = hb.evaluate(people, frame, budget=ONE, records=3000, metrics="roc_auc", test_key=KEY)
    true = roc_auc_score(y == "yes", people.predict_proba(frame)[:, 1])
    assert one.values["roc_auc"].low < true < one.values["roc_auc"].high
    assert "several records of one person" in str(one)


@pytest.mark.slow
def test_the_variance_of_the_noise_is_the_formulas() -> None:
    """Of 4 000 draws, a mean within 5 and a variance within 6 standard errors: false alarms below 1e-6; the sizes are such that products of two noises count."""
    rng, counts, sigma = np.random.default_rng(4), lumps((900.0, 60.0), 1.2), 2.0
    noise = Noise(sigma, 960, 0.0, 1.0)
    exact = AREA.measure(heard(counts, Noise(0.0, 960, 0.0, 1.0)), 1.96).value
    tops, told = [], []
    for _ in range(4000):
        answer = heard(counts, noise, sigma * rng.normal(size=(2, BINS)))
        found = AREA.measure(answer, 0.1)
        if 0.0 < found.value < 1.0:
            v, u = answer.sums[AREA.tally].reshape(2, -1)
            height = waves(np.arange(1))[0, 0]
            tops.append((found.value - exact) * u[0] * v[0] / height**2)
            told.append(found.privacy_error * u[0] * v[0] / height**2)
    square = np.square(tops)
    assert len(tops) > 3900
    assert abs(np.mean(tops)) <= 5.0 * np.std(tops) / math.sqrt(len(tops)) + 0.02 * np.std(tops)
    assert 0.9 <= float(np.mean(np.square(told)) / square.mean()) <= 1.4  # to the safe side


@pytest.mark.slow
@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_intervals_cover_the_populations_value(relation: Neighbours, epsilon: float) -> None:
    """Below 0.90 of 300 at a true 0.95 has probability 4e-4, at fixed seeds."""
    X, y = labels(20_000, ["no", "yes"])
    found = coverage(fitted(), X, y, ["roc_auc"], relation, epsilon, 2000)
    assert found["roc_auc"] >= 0.92


def test_one_class_or_hidden_ones_are_told_as_unknown() -> None:
    model, (X, y) = fitted(), labels(2000, ["no", "yes"], seed=1)
    alone = np.full_like(y, "yes")
    for number in range(10):
        key = TestKey(bytes([number]) * 32)
        found = hb.evaluate(model, X, alone, budget=ONE, metrics="roc_auc", confidence=0.9999999, test_key=key)
        one = found.values["roc_auc"]
        assert (one.value, one.low, one.high, one.privacy_error) == (0.5, 0.0, 1.0, math.inf)
        few = hb.evaluate(model, X[:30], y[:30], budget=hb.Budget(0.01, 1e-6), metrics="roc_auc", test_key=key)
        one = few.values["roc_auc"]
        assert 0.0 <= one.low <= one.value <= one.high <= 1.0
        assert "drowned" in str(found)
    one = hb.evaluate(model, X, alone, budget=FREE, metrics="roc_auc").values["roc_auc"]
    assert (one.low, one.value, one.high) == (0.0, 0.5, 1.0)


def test_predictions_that_are_all_alike_have_an_area_of_a_half() -> None:
    model, (X, y) = fitted(), labels(2000, ["no", "yes"], seed=1)
    same = np.full_like(X, 5.0)
    assert without_noise(model, same, y, ["roc_auc"])["roc_auc"] == pytest.approx(0.5, abs=1e-12)
    rng, held = np.random.default_rng(6), 0
    for place in range(0, BINS, 4):
        counts = np.zeros((2, BINS))
        counts[:, place] = 1200.0, 800.0
        draw = 5.0 * rng.normal(size=counts.shape)
        one = AREA.measure(heard(counts, Noise(5.0, 2000, 0.0, 1.0), draw), 1.96)
        held += one.low <= 0.5 <= one.high
    assert held >= 54  # of 64; fewer at a true 0.95 have probability 5e-4, at a fixed seed
    for odd in (np.nan, np.inf, -np.inf, 1e308):
        found = hb.evaluate(model, np.full_like(X, odd), y, budget=ONE, metrics="roc_auc").values["roc_auc"]
        assert 0.0 <= found.low <= found.value <= found.high <= 1.0


def test_other_models_are_refused_before_the_charge(tmp_path: Path) -> None:
    X, y = labels(500, ["no", "yes"])
    machine = hb.LinearSVC(budget=FREE, domain=TWO, penalty=hb.SquaredL2Penalty(0.01)).fit(X, y)
    three = labels(500, ["a", "b", "c"])
    several = hb.LogisticRegression(
        budget=FREE, domain=hb.Domain(**FEATURES, classes=["a", "b", "c"]), penalty=hb.SquaredL2Penalty(0.01)
    ).fit(*three)
    line = hb.LinearRegression(budget=FREE, domain=NUMBERS).fit(*table(500))
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/privacy.db")
    ledger.create("held out", ONE, neighbours="replace-one")
    for model, (rows, target) in ((machine, (X, y)), (several, three), (line, table(500))):
        with pytest.raises(InvalidParameter, match="'roc_auc' was asked of a model that predicts"):
            hb.evaluate(model, rows, target, budget=ONE, metrics="roc_auc", ledger=ledger, dataset="held out")
    assert not ledger.charges("held out")


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
def test_the_price_says_what_noise_is_to_be_expected(share: float) -> None:
    """For classes of equal size the error itself, for a rarer class about 1/(3s) times as much."""
    model, n = fitted(), 20_000
    priced = least_errors(model, n, budget=ONE, metrics="roc_auc")["roc_auc"]
    sigma = 1.0 / next(one for one in (ONE.mu, 0.21) if one)
    noise = Noise(sigma, n, 0.0, 1.0)
    told = AREA.measure(heard(lumps((n * (1.0 - share), n * share), 1.19), noise), 1.96).privacy_error
    assert 0.5 <= told / (priced * max(1.0, 1.0 / (3.0 * share))) <= 2.0


@pytest.mark.slow
def test_a_search_compares_by_it() -> None:
    X, y = labels(4000, ["no", "yes"])
    search = hb.PrivateSearchCV(
        hb.LogisticRegression(domain=TWO, solver="gradient"),
        {"penalty": [hb.SquaredL2Penalty(0.01), hb.SquaredL2Penalty(0.1)]},
        budget=hb.Budget(3.0, 1e-6),
        metric="roc_auc",
        test_key=KEY,
    ).fit(X, y)
    assert search.metric_ == "roc_auc"
    assert abs(search.best_score_ - roc_auc_score(y == "yes", search.predict_proba(X)[:, 1])) < 0.1


@pytest.mark.parametrize("share", [0.5, 0.2, 0.05])
def test_a_known_share_of_the_rarer_class_narrows_the_price(share: float) -> None:
    about: dict[str, Any] = {"budget": ONE, "metrics": "roc_auc"}
    found = price_evaluation(fitted(), 20_000, **about).errors["roc_auc"]
    known = price_evaluation(fitted(), 20_000, known=math.sqrt(share * (1.0 - share)), **about).errors["roc_auc"]
    assert (
        known.low == known.high == pytest.approx({0.5: found.low, 0.2: found.likely, 0.05: found.high}[share], rel=1e-6)
    )
    tables = {"budget": ONE, "metrics": ["roc_auc", "calibration"]}
    assert [note.split()[2] for note in price_evaluation(fitted(), 20_000, **tables).notes] == ["of", "tables"]
    with pytest.raises(InvalidParameter, match=r"below 0\.5"):
        price_evaluation(fitted(), 20_000, known=0.6, **about)


def test_no_price_of_an_area_is_beyond_what_an_area_can_be() -> None:
    told = price_evaluation(fitted(), 30, budget=hb.Budget(0.01, 1e-6), metrics="roc_auc").errors["roc_auc"]
    assert told.low == told.likely == told.high == 1.0
