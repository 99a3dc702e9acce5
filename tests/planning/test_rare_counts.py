"""Counts whose declared bound is far above their mean, as those of claims are."""

import numpy as np
import pandas as pd

import hullabaloo as hb


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
