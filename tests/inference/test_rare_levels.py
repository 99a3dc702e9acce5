"""Levels whose records are shortened as a whole: errors hold what that takes of their effects."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.inference.shortening import lost

SHARES = {"a": 0.5, "b": 0.38, "c": 0.09, "d": 0.027, "e": 0.003}


@pytest.mark.few(1)
@pytest.mark.parametrize("key", range(3))
def test_effects_of_rare_levels_are_covered_or_not_told(key: int) -> None:
    """A class of 8 % on which no level has an effect, ε = 3: z of levels of 9, 2.7 and 0.3 % was −2, −9 and −4. Fixed keys; |z| ≤ 3 of what is told."""
    rng = np.random.default_rng(key)
    n = 40_000
    X, level = rng.uniform(-1, 1, (n, 2)), rng.choice(list(SHARES), n, p=list(SHARES.values()))
    ill = rng.random(n) < 1.0 / (1.0 + np.exp(2.6 - X @ [0.8, -0.4]))
    features = {"x": (-1, 1), "z": (-1, 1), "level": hb.Categorical(list(SHARES), baseline="a")}
    domain = hb.Domain(features, classes={"ill": ["no", "yes"]}, indicators=False)
    frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "level": level, "ill": np.where(ill, "yes", "no")})
    asked = {"budget": hb.Budget(3.0, 1e-8), "solver": "preconditioned_gradient", "test_key": bytes([key] * 32)}
    model = hb.LogisticRegression(domain=domain, **asked).fit(frame)
    table = model.summary().to_dataframe()
    z = (table["estimate"].astype(float) - [0.8, -0.4, 0.0, 0.0, 0.0, 0.0, -2.6]) / table["std_error"].astype(float)
    assert np.isfinite(z[:4]).all()
    assert (z.abs().dropna() <= 3.0).all()
    errors = table["std_error"].astype(float).to_numpy()
    alone = 1.0 / np.sqrt(n * np.array([SHARES["c"], SHARES["d"]]) * ill.mean() * (1.0 - ill.mean()))
    assert (errors[3:5] > alone).all() or math.isnan(errors[4])


@pytest.mark.slow
@pytest.mark.parametrize(("share", "seed"), [(0.003, 3), (0.003, 21), (0.01, 5), (0.01, 9)])
def test_effects_beside_a_rare_baseline_are_covered_or_not_told(share: float, seed: int) -> None:
    """Counts on which no level has an effect, ε = 3: beside a baseline of 0.3 and 1 % z was 4.9, 4.7, 4.1 and −5.1. Fixed keys; |z| ≤ 3 of what is told.

    What tells two of the other levels apart, and other columns, is told as ever.
    """
    rng, n = np.random.default_rng(1000 + seed), 40_000
    shares = [share, *((1.0 - share) * np.array([0.35, 0.25, 0.2, 0.12, 0.08]))]
    g, x, u = rng.choice(list("abcdef"), n, p=shares), rng.uniform(0, 10, n), rng.normal(0, 1, n).clip(-4, 4)
    frame = pd.DataFrame({"x": x, "u": u, "g": g})
    frame["y"] = rng.poisson(np.exp(0.15 * (x - 5) + 0.25 * u - 0.5)).clip(0, 20)
    features = {"x": (0, 10), "u": (-4, 4), "g": hb.Categorical(list("abcdef"), baseline="a")}
    domain = hb.Domain(features=features, target={"y": (0, 20)}, indicators=False, records=n)
    asked = {"budget": hb.Budget(3.0, 1e-6), "solver": "preconditioned_gradient", "test_key": bytes([seed + 1]) * 32}
    model = hb.PoissonRegressor(domain=domain, **asked).fit(frame)
    rows = {row.name: row for row in model.summary().rows}
    told = [rows[f"g={level}"].statistic for level in "bcdef" if np.isfinite(rows[f"g={level}"].low)]
    assert len(told) == (5 if share > 0.003 else 0)
    assert all(abs(z) <= 3.0 for z in told)
    (apart,) = model.contrast({"g=b": 1.0, "g=c": -1.0}).rows
    assert abs(apart.statistic) <= 3.0
    assert apart.std_error < 0.1
    assert abs(rows["u"].estimate - 0.25) < 3.0 * rows["u"].std_error < 0.1


@pytest.mark.few(1)
@pytest.mark.parametrize("key", [22, 30, 37])
def test_levels_beside_one_of_which_nothing_is_told_differ_from_each_other_alone(key: int) -> None:
    """Noise hides a level of 0.8 %, though less than half of what it is: how far the others are from a constant only its records would tell. Fixed keys; |z| ≤ 3 of no effect."""
    rng, n = np.random.default_rng(5), 20_000
    level = np.where(rng.random(n) < 0.008, "r", np.where(rng.random(n) < 0.5, "s", "t"))
    frame = pd.DataFrame(rng.uniform(-1, 1, (n, 2)), columns=["x", "z"])
    frame["g"], frame["h"] = level, rng.choice(["a", "b"], n)
    frame["y"] = (0.3 * frame["x"] + 0.1 * (frame["h"] == "a") + 0.2 * rng.normal(size=n)).clip(-1, 1)
    features = {"x": (-1, 1), "z": (-1, 1), "g": list("rst"), "h": ["a", "b"]}
    model = hb.LinearRegression(
        budget=hb.Budget(1.0, 1e-8),
        domain=hb.Domain(features, target={"y": (-1, 1)}, indicators=False),
        solver="preconditioned_gradient",
        test_key=bytes([key]) * 32,
    ).fit(frame)
    rows = {row.name: row for row in model.summary().rows}
    assert math.isnan(rows["g=r"].low)
    for name in ("g=s", "g=t", "(intercept)"):
        assert math.isnan(rows[name].statistic)
        assert math.isnan(rows[name].low) or "only differences" in rows[name].reason
    (apart,) = model.contrast({"g=s": 1.0, "g=t": -1.0}).rows
    assert abs(apart.statistic) <= 3.0
    assert apart.std_error < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "share", "move", "epsilon"),
    [(12_000, 0.05, 1.5, 1.0), (20_000, 0.042, 3.0, 0.7)],
)
def test_levels_are_not_told_together_where_noise_made_their_sum_vary(
    n: int, share: float, move: float, epsilon: float
) -> None:
    """Of 24 levels all but the baseline are alike, far from what the walk has seen: their sum varies by 2.4 and 1.7 deviations of its noise. Of 16 tables at most one tells a category of which most intervals miss; 4 and 5 did, with none held in four of them. Fixed keys."""
    names = [f"h{number:02d}" for number in range(24)]
    features = {f"x{number}": (-1, 1) for number in range(4)} | {"hour": hb.Categorical(names, baseline="h00")}
    domain = hb.Domain(features, target={"y": (0, 10)}, indicators=False)
    effect = move + np.arange(1, 24) * 0.6 / 23
    wrong = 0
    for key in range(16):
        rng = np.random.default_rng(key)
        hour = rng.choice(24, n, p=[share, *[(1.0 - share) / 23] * 23])
        X = rng.uniform(-1, 1, (n, 4))
        y = 3.7 + np.append(0.0, effect)[hour] + X @ np.full(4, 0.2) + 0.6 * rng.normal(size=n)
        frame = pd.DataFrame({f"x{number}": column for number, column in enumerate(X.T)})
        frame = frame.assign(hour=[names[one] for one in hour], y=y.clip(0, 10))
        asked = {"budget": hb.Budget(epsilon, 1e-8), "solver": "preconditioned_gradient"}
        model = hb.LinearRegression(domain=domain, test_key=bytes([key]) * 32, **asked).fit(frame)
        rows = {row.name: row for row in model.summary().rows}
        ends = np.array([(rows[f"hour={name}"].low, rows[f"hour={name}"].high) for name in names[1:]])
        told = np.isfinite(ends).all(axis=1)
        wrong += bool(2 * np.sum(told & (ends[:, 0] <= effect) & (effect <= ends[:, 1])) < told.sum())
    assert wrong <= 1


@pytest.mark.parametrize("highest", [4.0, 5e3, 1e12])
@pytest.mark.parametrize("share", [1e-3, 0.5])
def test_what_is_lost_of_counts_is_that_of_simulated_ones(highest: float, share: float) -> None:
    """E(|φ'|L − c)_+ of a Poisson law, within 6 standard errors of 40 000 draws and 2 %; bounds of any size take no memory of their size."""
    domain = hb.Domain({"a": (-1, 1)}, target={"n": (0, highest)}, indicators=False)
    posed: Any = SimpleNamespace(loss=hb.Poisson(), encoding=domain.encoding())
    mean, record = share * highest, np.array([0.0, 1.0])
    found: Any = SimpleNamespace(point=np.array([0.0, math.log(share)]), residual=1.0)
    cut = 0.8 * math.sqrt(mean) / highest
    drawn = np.maximum(
        np.abs(np.minimum(np.random.default_rng(0).poisson(mean, 40_000), highest) - mean) / highest - cut, 0.0
    )
    error = 6.0 * float(drawn.std()) / 200.0 + 0.02 * float(drawn.mean())
    assert lost(posed, found, record, 1.0, cut) == pytest.approx(float(drawn.mean()), abs=error)
