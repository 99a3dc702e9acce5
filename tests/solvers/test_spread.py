"""Errors by record, by unit and alike for all records: what they are, that they hold, and what is refused before the charge."""

import json
import math
import warnings
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.errors import CapabilityError, HullabalooError, InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.privacy.answers import NoisyScore
from hullabaloo.solvers.score.spread import asked

KEY = TestKey(bytes(range(32)))
COPIES = 8
NUMBERS = {*(one.name for one in fields(NoisyScore)), "noises"}
TRUTH = np.array([0.5, -0.3, 1.0])


def clustered(units: int, seed: int) -> pd.DataFrame:
    """Half of the residuals' variance, and the first column, belong to the unit."""
    rng, n, unit = np.random.default_rng(seed), units * COPIES, np.repeat(np.arange(units), COPIES)
    frame = pd.DataFrame({"a": rng.normal(size=units)[unit], "b": rng.normal(size=n), "who": unit})
    frame["y"] = 1.0 + 0.5 * frame.a - 0.3 * frame.b + rng.normal(size=units)[unit] + rng.normal(size=n)
    return frame


def fitted(frame: pd.DataFrame, errors: str = "auto", epsilon: float = 60.0, unit: bool = True, **more: Any) -> Any:
    units = {"unit": "who", "records_per_unit": COPIES, "records": len(frame)} if unit else {}
    domain = hb.Domain(features={"a": (-4, 4), "b": (-4, 4)}, target={"y": (-8, 8)}, indicators=False, **units)
    data = frame if unit else frame.drop(columns="who")
    about = {"errors": errors, "test_key": KEY, "solver": "preconditioned_gradient", **more}
    return hb.LinearRegression(budget=hb.Budget(epsilon, 1e-8), domain=domain, **about).fit(data)


def sandwich(frame: pd.DataFrame, by: str | None, alike: bool = False) -> np.ndarray:
    """Least squares' standard errors."""
    X = np.column_stack([frame.a, frame.b, np.ones(len(frame))])
    left = frame.y.to_numpy() - X @ np.linalg.lstsq(X, frame.y, rcond=None)[0]
    slopes = X * left[:, None]
    slopes = slopes if by is None else pd.DataFrame(slopes).groupby(frame[by].to_numpy()).sum().to_numpy()
    inverse = np.linalg.inv(X.T @ X)
    middle = np.mean(left**2) * X.T @ X if alike else slopes.T @ slopes
    return np.sqrt(np.diag(inverse @ middle @ inverse))


@pytest.mark.few(1)
@pytest.mark.parametrize("errors", ["unit", "auto", "robust", "homoskedastic"])
def test_sampling_errors_are_those_of_least_squares(errors: str) -> None:
    frame = clustered(2_500, 1)
    made = fitted(frame, errors)
    found = np.array([row.sampling_error for row in made.summary().rows])
    by = "who" if errors in ("unit", "auto") else None
    assert found == pytest.approx(sandwich(frame, by, alike=errors == "homoskedastic"), rel=0.12)
    known = dict(made.summary().header)["Covariance type"]
    assert known.startswith({"auto": "clustered by who", "unit": "clustered by who"}.get(errors, errors))
    assert ("as independent" in made.summary().note) == (by is None)


@pytest.mark.slow
def test_intervals_by_unit_hold() -> None:
    """20 fits of 3 coefficients at 95 %: fewer than 46 hold twice in 10⁷; a third of those at robust errors, half as large, would miss."""
    held = 0
    for seed in range(20):
        rows = fitted(clustered(2_500, seed), test_key=KEY.derive(seed)).summary().rows
        held += sum(row.low <= true <= row.high for row, true in zip(rows, TRUTH, strict=True))
    assert held >= 46


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["LogisticRegression", "PoissonRegressor", "HuberRegressor"])
def test_the_models_own_errors_where_the_model_is_true(kind: str) -> None:
    """Robust and homoskedastic errors agree; of logistic ones no spread is bought."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1.0, 1.0, (20_000, 2))
    z = X @ [0.8, -0.4]
    y = {
        "LogisticRegression": (rng.uniform(size=20_000) < 1.0 / (1.0 + np.exp(-z))).astype(int),
        "PoissonRegressor": rng.poisson(np.exp(z)),
        "HuberRegressor": z + rng.normal(size=20_000),
    }[kind]
    target = {"LogisticRegression": {"classes": [0, 1]}, "PoissonRegressor": {"target": (0, 30)}}
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, indicators=False, **target.get(kind, {"target": (-6, 6)}))
    found = {}
    for errors in ("robust", "homoskedastic"):
        budget = hb.Budget(20.0, 1e-8)
        about = {"budget": budget, "domain": domain, "solver": "preconditioned_gradient", "test_key": KEY}
        made = getattr(hb, kind)(errors=errors, **about).fit(X, y)
        found[errors] = np.array([row.sampling_error for row in made.summary().rows])
        assert budget.admits(made.statement_.event)
    assert found["homoskedastic"] == pytest.approx(found["robust"], rel=0.12)


def test_the_reach_of_units_is_between_a_few_lengths_and_all() -> None:
    """First nearly nothing is shortened; then sums beyond three root mean squares."""
    asks: list[tuple[str, float]] = []

    def ask(of: str, reach: float) -> np.ndarray:
        asks.append((of, reach))
        return np.eye(4) * 0.25

    spread, noise = asked(ask, "unit", [1e-6, 1e-3], 2.0, np.eye(4), 9, 0.0)
    assert [of for of, _ in asks] == ["units", "units"]
    assert asks[0][1] == 18.0
    assert asks[1][1] == pytest.approx(9.0, rel=1e-3)
    assert noise == pytest.approx(1e-3 / 9 * 81.0, rel=1e-3)
    assert np.array_equal(spread, np.eye(4) * 0.25)


@pytest.mark.parametrize("trace", [-1.0, -1e-9, 0.0, 1e-9, 1.0])
def test_errors_alike_for_all_are_no_larger_than_what_noise_leaves_of_the_curvature(trace: float) -> None:
    """Of a curvature that drowned they were 10^290 times what was released, which overflowed in the summary of a fit that had been charged."""
    spread, _ = asked(lambda *_: 0.25 * np.eye(4), "homoskedastic", [1e-3], 2.0, trace * np.eye(4) / 4.0, 1, 0.01)
    assert np.max(np.abs(spread)) <= 0.25 * abs(trace) / max(trace, 0.01)


def test_moments_tell_clustered_errors_too() -> None:
    frame = clustered(2_500, 3)
    made = fitted(frame, "unit", solver="moments")
    assert made.release_.moments is not None
    found = np.array([row.sampling_error for row in made.summary().rows])
    assert found == pytest.approx(sandwich(frame, "who"), rel=0.15)
    again = made.refit(features=["a"])
    assert again.release_.score is None
    assert dict(again.summary().header)["Covariance type"].startswith(f"homoskedastic, × {COPIES}")


def test_what_is_refused_before_the_charge() -> None:
    frame = clustered(50, 1)
    with pytest.raises(InvalidParameter, match="declares no unit"):
        fitted(frame, "unit", unit=False)
    with pytest.raises(InvalidParameter, match="'auto', 'robust', 'homoskedastic', 'unit'"):
        fitted(frame, "cluster")
    domain = hb.Domain(
        features={"a": (-4, 4)}, target={"y": (-8, 8)}, unit="who", records_per_unit=40_000, records=10**6
    )
    asks: Any = {"budget": hb.Budget(1.0, 1e-8), "domain": domain, "solver": "moments"}
    with pytest.raises(InvalidParameter, match="sums of at most"):
        hb.LinearRegression(errors="unit", **asks).price()
    assert hb.LinearRegression(**asks).price() is not None
    with pytest.raises(CapabilityError, match="without noise"):
        hb.LinearRegression(budget=hb.Budget(math.inf, 0.0), domain=domain, errors="robust").price()


def test_a_score_of_before_is_read_as_it_was_meant() -> None:
    made = fitted(clustered(2_500, 1), "robust").release_.score
    old = {name: value for name, value in made.to_dict().items() if name not in ("errors", "dispersion")}
    assert NoisyScore.from_dict(old).errors == "bound"
    with pytest.raises(ValueError, match="errors"):
        NoisyScore.from_dict({**old, "errors": "none"}).check(made.records)


def test_a_model_whose_curvature_is_noise_is_saved_and_read() -> None:
    """Weights of 1 in 10 000 of what is declared: next to nothing is told, and every number of the release stays finite."""
    rng, n = np.random.default_rng(8), 20_000
    X, who = rng.uniform(-1.0, 1.0, (n, 2)), np.arange(n) // 2
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "who": who, "y": (rng.uniform(size=n) < 0.5).astype(int)})
    frame["w"] = rng.uniform(0.0, 0.01, n)
    domain = hb.Domain(
        features={"a": (-1, 1), "b": (-1, 1)}, classes={"y": [0, 1]}, weight=("w", 50.0), unit="who",
        records_per_unit=2, records=n, indicators=False,
    )  # fmt: skip
    for seed in range(4):
        asked = {
            "budget": hb.Budget(4.0, 1e-8),
            "solver": hb.PreconditionedGradientSolver(),
            "test_key": KEY.derive(seed),
        }
        made = hb.LogisticRegression(domain=domain, **asked).fit(frame)
        score = made.release_.score
        assert score is not None
        NoisyScore.from_dict(score.to_dict()).check(score.records)


@pytest.mark.slow
def test_a_file_in_which_a_number_of_a_score_was_changed_is_refused_or_told(tmp_path: Path) -> None:
    """Whatever stands there: no error but the library's, and no overflow, where intervals are told."""
    path, other = tmp_path / "model.json", tmp_path / "changed.json"
    fitted(clustered(2_500, 1), inference=True).save(path)
    written = json.loads(path.read_text())
    about = [written["release"]["scores"][0], written["release"]["plan"]["settings"]]
    told = 0
    for part in about:
        for name in [one for one in part if one in NUMBERS]:
            for value in (None, "x", -1.0, 0.0, 1e-250, 1e-3, 1.0, 1e60, 1e250, -1e308, math.nan, math.inf):
                was = part[name]
                put = value
                for inner in [was] if isinstance(was, list) else []:
                    put = [[value, *inner[0][1:]], *inner[1:]] if isinstance(inner[0], list) else [value, *inner[1:]]
                part[name] = put
                other.write_text(json.dumps(written))
                part[name] = was
                with warnings.catch_warnings(), suppress(HullabalooError):
                    warnings.simplefilter("error")
                    str(hb.load(other).summary())
                    told += 1
    assert told > 20
