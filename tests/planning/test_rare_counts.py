"""Counts whose declared bound is far above their mean, as those of claims are."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.losses import Loss
from hullabaloo.planning.favours import CONSTANT, COORDINATES, OF_CELLS, weights
from hullabaloo.privacy import Allowance
from hullabaloo.solvers import Problem
from tests.solvers.tables import prices, problem, table


@pytest.mark.slow
def test_auto_does_better_than_the_mean_on_rare_counts() -> None:
    """The adaptive gradient does not: its intercept takes longer to come down to log(1/80) than it has steps."""
    rng = np.random.default_rng(11)
    n = 60_000
    table = pd.DataFrame({"age": rng.uniform(18, 90, n), "power": rng.uniform(4, 15, n)})
    table["claims"] = rng.poisson(0.05 * np.exp(0.8 * np.cos(table["age"] / 23)))
    domain = hb.Domain(features={"age": (18, 90), "power": (4, 15)}, target={"claims": (0, 4)}, indicators=False)
    model = hb.PoissonRegressor(domain=domain, budget=hb.Budget(1.0, 1e-7), test_key=bytes(32)).fit(table)
    expected = model.predict(table)
    assert 0.8 < expected.mean() / table["claims"].mean() < 1.25


@pytest.mark.parametrize("mu", [0.03, 0.3, 1.0])
def test_known_offsets_speak_for_the_constant_and_against_coordinate_descent_of_counts_alone(mu: float) -> None:
    """Whatever the budget: counts have them where events are rare; what other losses are weighed by does not look at them."""
    data = table(20, 4, intercept=True)

    def weighed(loss: Loss, bound: float) -> dict[str, float]:
        posed: Problem = replace(problem(data, records=20_000), loss=loss, offset_bound=bound)
        return dict(weights(posed, prices(data, posed), Allowance.gdp(mu)))

    offset, plain = weighed(hb.Poisson(), 2.0), weighed(hb.Poisson(), 0.0)
    assert offset[CONSTANT] > 1.0 > plain[CONSTANT]
    assert offset[COORDINATES] == OF_CELLS
    for loss in (hb.Squared(), hb.Huber(0.2), hb.Logistic()):
        assert weighed(loss, 2.0) == weighed(loss, 0.0)
