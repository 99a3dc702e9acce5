"""Populations for the benchmark of inference: real tables and synthetic ones, each with two declarations of its bounds.

- *expert*: what somebody who knows what the columns mean, and has not seen the records, would declare: limits of the unit (per cent, hours
  of a day, a scale's ends, what the law allows), else a power of ten.
- *fit*: the smallest and largest value of the population, of levels those that occur. No user knows them; they are the best case.
- *bare*: the expert's without a baseline of the levels and with a column for "missing" of every feature, as a domain is by default. Levels are
  then not identified beside an intercept, and a column that is never missing is constant.

Records are clipped to the expert's bounds first, so all three see one population, of which all truths are computed. Tables are halved: the
*development* half is what defaults are chosen on, the *report* half is only ever reported. Synthetic populations come in both with other
parameters. Collinear and leaking columns, and levels of a handful of records that separate classes, are left out: their coefficients are not
identified without privacy either.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.inference_populations import Half, Population
from benchmarks.share_tables import TABLES

SYNTHETIC_RECORDS = 200_000
Array = np.ndarray

# ---- real tables ------------------------------------------------------------------------------------------------------

PEOPLE = (0, 100)
PERCENT = (0, 100)

# name: (table of benchmarks.share_tables, half, losses, features left out, the expert's bounds where share_tables' are tighter than
# somebody who has not seen the records would say, target's bounds, exposure)
_DEVELOPMENT: dict[str, dict[str, Any]] = {
    "california": {
        "losses": ("squared", "huber"),
        "expert": dict.fromkeys(("total_rooms", "total_bedrooms", "population", "households"), (0, 100_000))
        | {"housing_median_age": (0, 100), "median_income": (0, 100)},
        "limits": (0, 1_000_000),
        "without": ("ISLAND",),
    },
    "diamonds": {
        "losses": ("squared", "huber"),
        "expert": {"carat": (0, 10), "depth": PERCENT, "table": PERCENT, **dict.fromkeys("xyz", (0, 100))},
        "limits": (0, 100_000),
    },
    "bike": {"losses": ("squared", "poisson"), "drop": ("workingday", "atemp", "season")},
    "acs_income": {"losses": ("squared", "huber"), "limits": (-10_000, 1_000_000), "drop": ("HOUSING_TYPE",)},
    "communities": {"losses": ("squared",)},
    "wine": {
        "losses": ("squared",),
        "expert": {"fixed acidity": (0, 100), "volatile acidity": (0, 10), "citric acid": (0, 10), "chlorides": (0, 1)}
        | {"residual sugar": (0, 100), "free sulfur dioxide": (0, 1000), "total sulfur dioxide": (0, 1000)}
        | {"density": (0.9, 1.1), "pH": (0, 14), "sulphates": (0, 10), "alcohol": (0, 20)},
    },
    "adult": {
        "losses": ("logistic",),
        "expert": {"age": PEOPLE, "capital-loss": (0, 10_000), "hours-per-week": (0, 100)},
        "drop": ("workclass", "education", "relationship", "native-country"),
    },
    "bank": {
        "losses": ("logistic",),
        "expert": {"age": PEOPLE, "balance": (-100_000, 100_000), "campaign": (0, 100), "previous": (0, 100)},
        "drop": ("duration",),
    },
    "law_school": {"losses": ("logistic",), "expert": {"zfygpa": (-10, 10), "zgpa": (-10, 10)}},
    "fremtpl2": {"losses": ("poisson",)},
}
_REPORT: dict[str, dict[str, Any]] = {
    "flights": {
        "losses": ("squared", "huber"),
        "expert": {"Distance": (0, 10_000), "TaxiOut": (0, 1000)},
        "limits": (0, 1000),
    },
    "power_plant": {
        "losses": ("squared",),
        "expert": {"AT": (-50, 50), "V": (0, 100), "AP": (900, 1100)},
        "limits": (0, 1000),
    },
    "elevators": {"losses": ("squared",), "drop": ("SaTime1", "SaTime2", "SaTime3", "SaTime4")},
    "abalone": {"losses": ("squared",), "expert": {"Height": (0, 1), "Whole weight": (0, 10)}, "limits": (0, 100)},
    "appliances": {
        "losses": ("squared",),
        "expert": {"lights": (0, 100), "Press_mm_hg": (700, 800), "Visibility": (0, 100), "Windspeed": (0, 100)},
        "limits": (0, 10_000),
    },
    "claims": {"losses": ("poisson",)},
    "electricity": {"losses": ("logistic",)},
    "noaa": {"losses": ("logistic",)},
    "covertype": {
        "losses": ("logistic",),
        "expert": {"Elevation": (0, 10_000), "Slope": (0, 90), "Vertical_Distance_To_Hydrology": (-1000, 1000)}
        | dict.fromkeys(
            [f"Horizontal_Distance_To_{place}" for place in ("Hydrology", "Roadways", "Fire_Points")], (0, 10_000)
        ),
        "drop": ("Hillshade_3pm",),
    },
}


def _fremtpl2() -> tuple[pd.DataFrame, dict[str, Any], str, Any]:
    """Motor claims: one policy a record, the exposure in years, the law's bonus-malus scale; regions are left to their density."""
    import pyarrow.parquet as pq

    from benchmarks.share_tables import DATA

    frame = pq.read_table(DATA / "fremtpl2_freq.parquet").to_pandas()
    features: dict[str, Any] = {"VehPower": (0, 100), "VehAge": (0, 100), "DrivAge": (18, 100), "BonusMalus": (50, 350)}
    features |= {"Density": (0, 100_000), "VehGas": ["Diesel", "Regular"], "Exposure": (1 / 366, 1.0)}
    brands = ["B1", "B2", "B3", "B4", "B5", "B6", "B10", "B11", "B12", "B13", "B14"]
    return frame, {**features, "Area": list("ABCDEF"), "VehBrand": brands}, "ClaimNb", (0, 10)


def _real(name: str, half: Half, about: dict[str, Any]) -> Population:
    exposure = {"fremtpl2": "Exposure", "claims": "expo"}.get(name)
    features: dict[str, Any]
    if name == "fremtpl2":
        frame, features, target, limits = _fremtpl2()
    else:
        declared = TABLES[name]
        frame, features = declared.read().to_pandas(), dict(declared.features)
        ((target, limits),) = declared.target.items()
    if name == "claims":
        features["expo"] = (1 / 366, 1.0)
    features = {key: bounds for key, bounds in features.items() if key not in about.get("drop", ())}
    features |= about.get("expert", {})
    for key, bounds in features.items():
        if isinstance(bounds, dict):  # a transform of share_tables; here all columns are taken as they are
            features[key] = (bounds["lo"], bounds["hi"])
        elif isinstance(bounds, list):
            features[key] = [level for level in bounds if level not in about.get("without", ())]
            frame = frame[frame[key].isin(features[key])]
    limits = about.get("limits", limits)
    frame = frame[[*features, target]].dropna().reset_index(drop=True)
    for key, bounds in (features | ({target: limits} if isinstance(limits, tuple) else {})).items():
        frame[key] = (
            frame[key].astype(float).clip(*bounds) if isinstance(bounds, tuple) else frame[key].astype("category")
        )
    return Population(name, half, about["losses"], frame, features, target, limits, exposure)


# ---- synthetic populations --------------------------------------------------------------------------------------------

Made = tuple[dict[str, Any], dict[str, Any], Any]
"""Columns with the target `y` (and `unit`), the expert's declaration of the features, the target's bounds or classes."""


def _spread_v(rng: np.random.Generator, skew: float) -> Made:
    """Residuals whose deviation is |x₁|, or |x₁|^skew: classical errors of x₁ are too short by a factor 1.3 and more."""
    x = rng.uniform(-1.0, 1.0, (SYNTHETIC_RECORDS, 4))
    y = x @ [0.6, -0.4, 0.2, 0.1] + 5.0 + 0.7 * np.abs(x[:, 0]) ** skew * rng.normal(size=len(x))
    return {**_columns(x), "y": np.clip(y, 0, 10)}, dict.fromkeys(_columns(x), (-1, 1)), (0, 10)


def _costs(rng: np.random.Generator, spread: float) -> Made:
    """Gamma means times log-normal residuals, cut at 20 000: skewed costs of a person's age, points and sex."""
    n = SYNTHETIC_RECORDS
    age, points = rng.uniform(18, 90, n), rng.gamma(2.0, 2.0, n)
    sex = rng.integers(0, 2, n)
    mean = 200.0 + 15.0 * (age - 18.0) + 180.0 * points + 150.0 * sex
    cost = mean * rng.gamma(2.0, 0.5, n) * rng.lognormal(-0.5 * spread**2, spread, n)
    columns = {"age": age, "points": np.minimum(points, 100.0), "sex": np.where(sex, "f", "m")}
    return (
        {**columns, "y": np.minimum(cost, 20_000.0)},
        {"age": PEOPLE, "points": (0, 100), "sex": ["m", "f"]},
        (0, 20_000),
    )


def _rare_class(rng: np.random.Generator, rate: float) -> Made:
    """A class of about `rate` of the records; an age in years, a score, a share."""
    n = SYNTHETIC_RECORDS
    age, score, share = rng.uniform(18, 90, n), rng.normal(size=n), rng.beta(1.0, 4.0, n)
    z = 0.035 * (age - 54.0) + 0.6 * score - 1.0 * share
    z += np.log(rate / (1.0 - rate)) - 0.25
    y = (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-z))).astype(int)
    return (
        {"age": age, "score": np.clip(score, -10, 10), "share": share, "y": y},
        {
            "age": PEOPLE,
            "score": (-10, 10),
            "share": (0, 1),
        },
        [0, 1],
    )


def _rare_levels(rng: np.random.Generator, rarest: float) -> Made:
    """Levels from a half of the records down to `rarest`, a 0/1 column of 2 %, a skewed number."""
    n = SYNTHETIC_RECORDS
    shares = np.geomspace(0.5, rarest, 8)
    level = rng.choice(8, n, p=shares / shares.sum())
    flag, amount = (rng.uniform(size=n) < 0.02).astype(float), np.minimum(rng.lognormal(0.0, 1.0, n), 100.0)
    effect = np.array([0.0, 1.0, -1.0, 2.0, -2.0, 1.5, 0.0, 3.0])
    y = np.clip(10.0 + effect[level] + 1.5 * flag + 0.5 * amount + 2.0 * rng.normal(size=n), 0.0, 100.0)
    columns = {"level": np.array(list("abcdefgh"))[level], "flag": flag, "amount": amount, "y": y}
    return columns, {"level": list("abcdefgh"), "flag": (0, 1), "amount": (0, 100)}, (0, 100)


def _clustered(rng: np.random.Generator, share: float) -> Made:
    """Persons of 1 to 5 records; `share` of the residual variance, and two of three columns, are the person's."""
    lengths = rng.integers(1, 6, SYNTHETIC_RECORDS // 3)
    unit = np.repeat(np.arange(len(lengths)), lengths)
    own, its = rng.uniform(-1, 1, (len(lengths), 2))[unit], rng.uniform(-1, 1, len(unit))
    effect = rng.normal(size=len(lengths))[unit]
    residual = 0.5 * (np.sqrt(share) * effect + np.sqrt(1.0 - share) * rng.normal(size=len(unit)))
    y = 5.0 + 0.4 * own[:, 0] - 0.2 * own[:, 1] + 0.3 * its + residual
    columns = {"own0": own[:, 0], "own1": own[:, 1], "its": its, "y": np.clip(y, 0, 10), "unit": unit}
    return columns, dict.fromkeys(("own0", "own1", "its"), (-1, 1)), (0, 10)


def _counts(rng: np.random.Generator, rate: float) -> Made:
    """Poisson counts of mean about `rate`, of a skewed column and a 0/1 column."""
    n = SYNTHETIC_RECORDS
    size, flag, x = rng.gamma(1.5, 1.0, n), (rng.uniform(size=n) < 0.1).astype(float), rng.normal(size=n)
    y = rng.poisson(rate * np.exp(0.15 * (size - 1.5) + 0.4 * flag + 0.3 * x)).astype(float)
    columns = {"size": np.minimum(size, 100.0), "flag": flag, "x": np.clip(x, -10, 10), "y": np.minimum(y, 100.0)}
    return columns, {"size": (0, 100), "flag": (0, 1), "x": (-10, 10)}, (0, 100)


def _columns(x: Array) -> dict[str, Array]:
    return {f"x{j + 1}": column for j, column in enumerate(x.T)}


_SYNTHETIC: dict[str, tuple[Half, tuple[str, ...], Callable[[np.random.Generator, float], Made], float]] = {
    "v_shape": ("development", ("squared", "huber"), _spread_v, 1.0),
    "costs": ("development", ("squared", "huber"), _costs, 0.8),
    "rare_class": ("development", ("logistic",), _rare_class, 0.09),
    "rare_levels": ("development", ("squared",), _rare_levels, 0.005),
    "clustered": ("development", ("squared",), _clustered, 0.5),
    "counts": ("development", ("poisson",), _counts, 1.5),
    "v_shape_steep": ("report", ("squared", "huber"), _spread_v, 2.0),
    "costs_heavy": ("report", ("squared", "huber"), _costs, 1.2),
    "rare_class_4": ("report", ("logistic",), _rare_class, 0.04),
    "rare_levels_rarer": ("report", ("squared",), _rare_levels, 0.002),
    "clustered_more": ("report", ("squared",), _clustered, 0.8),
    "counts_rare": ("report", ("poisson",), _counts, 0.2),
}


def _synthetic(name: str) -> Population:
    half, losses, make, parameter = _SYNTHETIC[name]
    columns, features, limits = make(np.random.default_rng(list(_SYNTHETIC).index(name)), parameter)
    frame = pd.DataFrame(columns)
    for key, declared in features.items():
        if isinstance(declared, list):
            frame[key] = frame[key].astype("category")
    return Population(name, half, losses, frame, features, "y", limits, unit="unit" if "unit" in columns else None)


def _with_nulls(population: Population, count: int) -> Population:
    """With copies of a numeric column, and of the category of fewest levels, that have no effect."""
    numeric = [key for key, one in population.features.items() if isinstance(one, tuple) and key != population.exposure]
    levels = sorted(
        (key for key in population.features if key not in numeric and key != population.exposure),
        key=lambda k: len(population.features[k]),
    )
    copied = [*numeric[:1], *levels[:1], *numeric[1:]][:count]
    frame, features = population.frame.copy(), dict(population.features)
    order = population.sample(np.random.default_rng(7), len(frame))[1][: len(frame)]
    for key in copied:
        taken = order if population.unit is None else _per_unit(population)
        frame[f"null {key}"] = frame[key].take(taken).array
        features[f"null {key}"] = features[key]
    return replace(population, frame=frame, features=features, nulls=tuple(f"null {key}" for key in copied))


def _per_unit(population: Population) -> Array:
    starts, lengths = population.units()
    return np.repeat(np.random.default_rng(7).permutation(starts), lengths)


# ---- all of them ------------------------------------------------------------------------------------------------------


def names(half: str | None = None) -> list[str]:
    """Every population, or those of a half."""
    halves = {**dict.fromkeys(_DEVELOPMENT, "development"), **dict.fromkeys(_REPORT, "report")}
    halves |= {name: one[0] for name, one in _SYNTHETIC.items()}
    return [name for name, one in halves.items() if half in (None, one)]


@cache
def population(name: str, nulls: int = 2) -> Population:
    """One population, with so many columns of no effect added."""
    if name in _SYNTHETIC:
        made = _synthetic(name)
    elif name in _DEVELOPMENT:
        made = _real(name, "development", _DEVELOPMENT[name])
    else:
        made = _real(name, "report", _REPORT[name])
    return _with_nulls(made, nulls)


def populations(half: str | None = None, nulls: int = 2) -> Iterator[Population]:
    """All, one after the other."""
    return (population(name, nulls) for name in names(half))
