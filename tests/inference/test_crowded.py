"""Bounds at which most values lie are named, others are not: from released means alone."""

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.inference.crowded import LAST, SURE, crowded
from hullabaloo.noise import TestKey


def test_where_the_mean_is_so_high_half_or_more_lie_in_the_last_part() -> None:
    """Markov's inequality, of values of any law: of two points, which meet it, too."""
    rng, met = np.random.default_rng(0), 0
    for turn in range(200):
        low = 1.0 - LAST * rng.uniform(1.0 + 1e-9, 1.2)
        share = (1.0 - LAST / 2.0 - low) / (1.0 - low) + rng.uniform(
            -0.05, 0.05
        )  # the mean is near where the rule begins
        u = (
            np.where(rng.uniform(size=300) < share, 1.0, low)
            if turn % 2
            else 2.0 * rng.beta(rng.uniform(3.0, 9.0), rng.uniform(0.1, 1.0), 300) - 1.0
        )
        if u.mean() >= 1.0 - LAST / 2.0:
            met += 1
            assert np.mean(u >= 1.0 - LAST) >= 0.5
    assert met >= 50


def fitted(
    solver: str = "preconditioned_gradient", **columns: tuple[tuple[float, float], np.ndarray]
) -> hb.LinearRegression:
    n = 20_000
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: values for name, (_, values) in columns.items()} | {"ok": rng.uniform(-1, 1, n)})
    bounds = {name: pair for name, (pair, _) in columns.items() if name != "y"}
    domain = hb.Domain(features={"ok": (-1, 1), **bounds}, target={"y": columns["y"][0]}, indicators=False)
    asked = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, solver=solver, test_key=TestKey(bytes(32)))
    return asked.fit(frame)


@pytest.mark.few(1)
@pytest.mark.parametrize("solver", ["preconditioned_gradient", "moments"])
def test_values_beyond_their_bounds_are_told_where_they_are_most(solver: str) -> None:
    """A column in other units than its bounds, so that all of it counts as the bound; one of amounts, mostly 0; a target of which two thirds lie beyond. Fixed key."""
    rng, n = np.random.default_rng(1), 20_000
    days, y = rng.uniform(200, 30_000, n), rng.normal(20, 2, n)
    model = fitted(solver, days=((0, 95), days), amount=((0, 1000), rng.exponential(20, n)), y=((-20, 20), y))
    assert crowded(model._fitted()) == {"days": "upper", "y": "upper"}
    summary = model.summary()
    assert "fifth of the range of the upper bound of days, the upper bound of y, or beyond" in summary.note
    reason = next(row.reason for row in summary.rows if row.name == "days")
    assert reason.endswith("most of its values lie near its upper bound or beyond it")
    assert "bounds closer around its values" in summary.note


def test_bounds_that_hold_the_values_are_not_named() -> None:
    rng, n = np.random.default_rng(2), 20_000
    model = fitted(x=((0, 95), rng.uniform(0, 95, n)), y=((0, 40), rng.normal(20, 2, n)))
    assert crowded(model._fitted()) == {}
    assert "how many do does not show" in model.summary().note


def test_no_mean_that_noise_may_have_made_is_named() -> None:
    """Of few records the noise of a mean is as large as the range; fewer than half of the values lie in the last part. 20 fixed keys, under which means alone would name some."""
    rng, n = np.random.default_rng(4), 100
    frame = pd.DataFrame({"x": rng.uniform(0.4, 0.75, n), "y": rng.uniform(0.4, 0.75, n)})
    domain = hb.Domain(features={"x": (-1, 1)}, target={"y": (-1, 1)}, indicators=False)
    bare = 0
    for key in range(20):
        chosen = {"solver": "moments", "test_key": TestKey(bytes([key]) * 32)}
        model = hb.LinearRegression(budget=hb.Budget(0.5, 1e-6), domain=domain, **chosen).fit(frame)
        assert crowded(model._fitted()) == {}
        held = model.release_.moments
        bare += max(abs(held.gram[0, -1]), abs(held.cross[-1, 0])) >= 1.0 - LAST / 2.0
    assert bare > 3
    assert SURE >= 2.0


@pytest.mark.few(2)
@pytest.mark.parametrize("solver", ["preconditioned_gradient", "adaptive_gradient", "gradient"])
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove"])
def test_the_noise_of_released_means_is_what_is_reckoned_with(solver: str, relation: str) -> None:
    """Of 24 columns: the root mean square of what their means are off by is within 0.6 to 1.5 of what intervals and bounds take it for, which was √25 times less: the query's sum is in units of the longest row. Fixed key."""
    rng, n = np.random.default_rng(6), 4_000
    frame = pd.DataFrame(rng.uniform(0.2, 1.0, (n, 24)), columns=[f"x{one}" for one in range(24)])
    frame["y"] = rng.uniform(-1, 1, n)
    domain = hb.Domain(
        features={f"x{one}": (-1, 1) for one in range(24)}, target={"y": (-1, 1)}, indicators=False, records=n
    )
    asked = {"solver": solver, "neighbours": relation, "inference": True, "test_key": TestKey(bytes(32))}
    model = hb.HuberRegressor(domain=domain, budget=hb.Budget(3.0, 1e-6), **asked).fit(frame)
    off = model.release_.scores[0].centre - frame.iloc[:, :24].mean().to_numpy()
    assert 0.6 < float(np.sqrt(np.mean(off**2))) / model._fitted().mean_noise < 1.5


@pytest.mark.parametrize("solver", ["preconditioned_gradient", "moments"])
@pytest.mark.parametrize("share", [0.25, 1.0, 4.0])
def test_what_is_named_does_not_depend_on_the_declared_number_of_records(solver: str, share: float) -> None:
    """Of units the number that counts is private, and sums are over the declared one: any rough size is allowed. Days and targets lie beyond, a quarter of the ages in the last fifth. Fixed key."""
    rng, n = np.random.default_rng(5), 20_000
    columns = {"age": rng.uniform(18, 68, n), "days": rng.uniform(200, 30_000, n), "y": rng.normal(20, 2, n)}
    frame = pd.DataFrame({**columns, "who": np.arange(n) // 2})
    known = {"unit": "who", "records_per_unit": 2, "records": int(share * n), "indicators": False}
    domain = hb.Domain(features={"age": (10, 110), "days": (0, 95)}, target={"y": (-20, 20)}, **known)
    asked = hb.LinearRegression(budget=hb.Budget(6.0, 1e-6), domain=domain, solver=solver, test_key=TestKey(bytes(32)))
    assert crowded(asked.fit(frame)._fitted()) == {"days": "upper", "y": "upper"}
