"""Private Poisson regression: rates, exposures, and what a user does with the model."""

import math
from pathlib import Path

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.errors import DomainError, InvalidParameter
from hullabaloo.noise import TestKey
from tests.linear_model.examples import FEATURES, domain_for, table

pytestmark = pytest.mark.filterwarnings("ignore:score compares predictions:hullabaloo.errors.NotPrivateWarning")

KEY = TestKey(bytes(range(32)))
BUDGET = hb.Budget(2.0, 1e-7)
EXPOSED = hb.Domain(features={**FEATURES, "years": (0.25, 8.0)}, target={"events": (0, 60)}, indicators=False)
TRUTH = [0.02, 0.0, 0.4, 0.0]


@pytest.mark.slow
def test_a_private_rate_is_near_the_truth() -> None:
    frame, new = table(20_000), table(4000, seed=1)
    model = hb.PoissonRegressor(
        budget=BUDGET, domain=domain_for("PoissonRegressor"), solver="gradient", test_key=KEY
    ).fit(frame)
    assert model.coef_ == pytest.approx(TRUTH, abs=0.25)
    assert isinstance(model.intercept_, float)
    means = model.predict(new)
    assert means.shape == (4000,)
    assert np.all(means > 0.0)
    assert model.score(new, new["visits"]) > 0.05  # R²


@pytest.mark.slow
def test_a_count_is_proportional_to_its_exposure() -> None:
    frame = table(20_000)
    model = hb.PoissonRegressor(exposure="years", budget=BUDGET, domain=EXPOSED, solver="gradient", test_key=KEY).fit(
        frame
    )
    assert list(model.feature_names_out_) == ["age", "hours", "job=nurse", "job=cook"]
    assert model.coef_ == pytest.approx(TRUTH, abs=0.25)
    once = table(10, seed=2)
    twice = once.assign(years=2.0 * once["years"])
    assert model.predict(twice) == pytest.approx(2.0 * model.predict(once))
    rate = np.exp(
        np.column_stack([once["age"], once["hours"], once["job"] == "nurse", once["job"] == "cook"]) @ model.coef_
    )
    assert model.predict(once) == pytest.approx(once["years"] * rate * math.exp(model.intercept_))


def test_the_exposure_is_found_by_position_in_a_table_without_names() -> None:
    frame = table(2000)
    domain = hb.Domain(features={"age": (18, 90), "years": (0.25, 8.0)}, target=(0, 60), indicators=False)
    model = hb.PoissonRegressor(exposure="years", budget=BUDGET, domain=domain, solver="gradient", test_key=KEY)
    model.fit(frame[["age", "years"]].to_numpy(), frame["events"].to_numpy())
    assert model.n_features_in_ == 2
    assert model.coef_.shape == (1,)
    assert model.predict(np.array([[50.0, 2.0], [50.0, 1.0]]))[0] == pytest.approx(2 * model.predict([[50.0, 1.0]])[0])


@pytest.mark.few(2)
@pytest.mark.parametrize("exposure", ["years", None])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_model_survives_saving_and_leaves_for_scikit_learn(
    tmp_path: Path, exposure: str | None, intercept: bool
) -> None:
    frame, new = table(2000), table(100, seed=1)
    model = hb.PoissonRegressor(
        exposure=exposure,
        fit_intercept=intercept,
        budget=BUDGET,
        domain=EXPOSED,
        solver="gradient",
        test_key=KEY,
    ).fit(frame)
    model.save(tmp_path / "model.json")
    back = hb.load(tmp_path / "model.json")
    assert back.exposure == exposure
    assert back.predict(new).tobytes() == model.predict(new).tobytes()
    assert back.intercept_ == model.intercept_
    assert model.to_sklearn().predict(new) == pytest.approx(model.predict(new))
    note = model.summary().note
    assert "logarithm of the expected count" in note
    assert ("for one unit of 'years'" in note) is (exposure is not None)


def test_what_is_no_exposure_is_refused_before_anything_is_spent() -> None:
    for exposure, words in (("nothing", "does not declare"), (3, "name of a column"), (np.ones(5), "name of a column")):
        model = hb.PoissonRegressor(exposure=exposure, budget=BUDGET, domain=EXPOSED)  # type: ignore[arg-type]
        for asked in (lambda: model.fit(table(50)), lambda: model.price(n=50)):  # noqa: B023 - called at once
            with pytest.raises(InvalidParameter, match=words):
                asked()
    negative = hb.Domain(features=FEATURES, target={"cost": (-20, 20)})
    with pytest.raises(DomainError, match="never below 0"):
        hb.PoissonRegressor(budget=BUDGET, domain=negative).fit(table(50))


def test_predictions_stay_numbers() -> None:
    """However wild a model of noise is, no prediction overflows, and no warning tells of it."""
    model = hb.PoissonRegressor(
        budget=BUDGET, domain=domain_for("PoissonRegressor"), solver="gradient", test_key=KEY
    ).fit(table(100))
    model.release_.theta[:] = 1e6
    assert np.isfinite(model.predict(table(100))).all()
