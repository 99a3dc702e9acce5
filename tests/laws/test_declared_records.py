"""A number of records that is declared too large, or too small, makes no interval wrong: it holds, or nothing is told."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.noise import TestKey

pytestmark = pytest.mark.filterwarnings("ignore::hullabaloo.errors.NotPrivateWarning")
COUNT, SHARE = 12_000, 4
EFFECTS = {"a": 1.0, "b": 0.9, "c": -0.005, "(intercept)": -12.0}
FEATURES = {"a": (-60.0, 600.0), "b": (0.0, 120.0), "c": (0.0, 4000.0)}


def table() -> pd.DataFrame:
    """Delays: most are short, and few decide."""
    rng = np.random.default_rng(5)
    long = 8.0 * np.exp(1.2 * rng.normal(size=COUNT)) - 8.0
    made = pd.DataFrame({"a": long, "b": rng.gamma(4.0, 4.0, COUNT), "c": rng.uniform(100, 2500, COUNT)})
    made = made.clip({k: lo for k, (lo, _) in FEATURES.items()}, {k: hi for k, (_, hi) in FEATURES.items()}, axis=1)
    made["y"] = sum(EFFECTS[name] * made[name] for name in FEATURES) - 12.0 + 10.0 * rng.normal(size=COUNT)
    return made.assign(who=[f"unit {i // SHARE}" for i in range(COUNT)])


def model(relation: str, declared: int, budget: float, draw: int = 0) -> Any:
    """Of so many declared records, at a budget that just pays for the errors of `budget` of them."""
    domain = hb.Domain(
        features=FEATURES, target={"y": (-90.0, 600.0)}, unit="who", records_per_unit=SHARE, records=declared,
        indicators=False,
    )  # fmt: skip
    epsilon = (20_000.0 if relation == "replace-one" else 12_000.0) / budget
    key = TestKey(f"records declared {draw}".ljust(32).encode())
    about: dict[str, Any] = {"neighbours": relation, "solver": "preconditioned_gradient", "test_key": key}
    return hb.LinearRegression(domain=domain, budget=hb.Budget(epsilon, 1e-9), **about)


@pytest.mark.few(3)
@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove"])
@pytest.mark.parametrize("ratio", [0.3, 1.0, 3.0])
@pytest.mark.usefixtures("unrehearsed")
def test_what_is_told_is_what_the_records_that_count_pay_for(ratio: float, relation: str) -> None:
    """At a budget that pays for errors of the declared number nothing is told where a table of the records that count would be refused them, and else what holds. Fixed keys."""
    declared = round(COUNT * ratio)
    paid = "no errors" not in str(model(relation, COUNT, declared).price())
    assert paid is (ratio <= 1.0)
    found: list[bool] = []
    for draw in range(2):
        fitted = model(relation, declared, declared, draw).fit(table())
        assert fitted.release_.score is not None
        if not paid:
            assert "fewer records count than were declared" in " ".join(str(fitted.summary()).split())
            assert not np.isfinite(fitted.summary().to_dataframe()["high"]).any()
            continue
        rows = fitted.summary().to_dataframe()
        found += [one.low <= EFFECTS[one.name] <= one.high for one in rows.itertuples() if np.isfinite(one.high)]
    assert all(found)
    assert len(found) >= 6 * paid
