"""Fits whose bits are the same in memory and by every engine: estimators, solvers, views and weights."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import hullabaloo as hb
from hullabaloo.curator.asked import Asked
from hullabaloo.curator.views import chosen_columns, turned_rows
from hullabaloo.data.engines.base import Reading, Task
from hullabaloo.losses import Squared
from hullabaloo.planning.named import solver_named
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries

N, KEY, ONE = 1_500, bytes(range(7, 39)), hb.Budget(0.02125, 1e-6)  # few questions
FEATURES: dict[str, Any] = {"a": (-1, 1), "b": (-1, 1), "g": ["u", "v", "w"]}
NUMBERS = hb.Domain(FEATURES, target={"y": (-2, 2)}, records=N)
WEIGHED = hb.Domain(FEATURES, target={"y": (-2, 2)}, weight=("weight", 2.0), records=N)
CLASSES = hb.Domain(FEATURES, classes={"ill": ["no", "yes"]}, records=N)
COUNTS = hb.Domain({**FEATURES, "years": (0.5, 2)}, target={"visits": (0, 8)}, records=N)
UNITS = hb.Domain(FEATURES, target={"y": (-2, 2)}, weight=("weight", 2.0), unit="who", records_per_unit=3, records=N)
DROPPED = hb.Domain(FEATURES, target={"late": (-2, 2)}, missing_target="drop", records=N)
DROPPED_UNITS = hb.Domain(
    FEATURES, target={"late": (-2, 2)}, missing_target="drop", unit="who", records_per_unit=3, records=N
)
SEVERAL = hb.Domain(FEATURES, target={"y": (-2, 2), "years": (0, 2)}, records=N)


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a, b, g = rng.uniform(-1, 1, N), rng.uniform(-1, 1, N), rng.integers(0, 3, N)
    mean = 0.5 * a - 0.3 * b + 0.2 * (g == 1)
    y = np.clip(mean + rng.normal(0, 0.2, N), -2, 2)
    found = pd.DataFrame(
        {
            "a": np.where(rng.random(N) < 0.05, np.nan, a),
            "g": np.array(["u", "v", "w"])[g],
            "y": y,
            "b": b,
            "ill": np.where(y > 0, "yes", "no"),
            "visits": rng.poisson(np.exp(mean)).astype(float),
            "years": rng.uniform(0.5, 2.0, N),
            "weight": rng.uniform(0, 2, N),
            "unused": np.arange(N),
            "who": [None if one == 7 else f"p{one}" for one in (rng.pareto(0.5, N) * 20).astype(int) % 300],
        }
    )
    return found.assign(late=found["y"].mask(rng.random(N) < 0.3 + 0.2 * b))


def batches() -> Any:
    """The table as a reader of Arrow record batches."""
    import pyarrow as pa

    return pa.Table.from_pandas(table(), preserve_index=False).to_reader(max_chunksize=700)


FITS: dict[str, Callable[[], Any]] = {
    "moments": lambda: hb.LinearRegression(domain=NUMBERS, solver=solver_named("moments")),
    "gradient": lambda: hb.LinearRegression(domain=NUMBERS, solver=solver_named("gradient")),
    "adaptive": lambda: hb.LinearRegression(domain=NUMBERS, solver=solver_named("adaptive_gradient")),
    "weights": lambda: hb.Ridge(domain=WEIGHED, solver=solver_named("preconditioned_gradient")),
    "mirror": lambda: hb.LinearRegression(
        domain=NUMBERS, solver=solver_named("mirror_descent"), constraint=hb.L1Ball(1.0)
    ),
    "units": lambda: hb.LinearRegression(domain=UNITS, solver=solver_named("moments")),
    "units by gradients": lambda: hb.LinearRegression(domain=UNITS, solver=solver_named("gradient")),
    "several": lambda: hb.LinearRegression(domain=SEVERAL, solver=solver_named("moments")),
    "classes": lambda: hb.LogisticRegression(domain=CLASSES, solver=solver_named("preconditioned_gradient")),
    "classes by gradients": lambda: hb.LogisticRegression(domain=CLASSES, solver=solver_named("gradient")),
    "subspace": lambda: hb.LinearRegression(domain=NUMBERS, solver=solver_named("subspace_descent")),
    "hinge": lambda: hb.LinearSVC(domain=CLASSES, solver=solver_named("adaptive_gradient")),
    "hinge by gradients": lambda: hb.LinearSVC(domain=CLASSES, solver=solver_named("gradient")),
    "counts": lambda: hb.PoissonRegressor(domain=COUNTS, exposure="years", solver=solver_named("adaptive_gradient")),
    "quantile": lambda: hb.QuantileRegressor(domain=NUMBERS, solver=solver_named("gradient")),
    "dropped": lambda: hb.LinearRegression(domain=DROPPED, solver=solver_named("moments")),
    "dropped units": lambda: hb.LinearRegression(domain=DROPPED_UNITS, solver=solver_named("gradient")),
    "huber": lambda: hb.HuberRegressor(domain=NUMBERS, solver=solver_named("gradient"), neighbours="add-or-remove"),
}


def fitted(name: str, source: Any, **terms: Any) -> bytes:
    """The bits of what is released."""
    model = FITS[name]().set_params(budget=ONE, test_key=KEY, **terms)
    return model.fit(source).release_.theta.tobytes()


def told(source: Any) -> list[Any]:
    """What an engine says to several questions: at two points, through views, with weights."""
    encoding = WEIGHED.encoding()
    engine, facts = source.engine(Reading(encoding)), encoding.facts
    prices = PricedQueries(facts, Neighbours.REPLACE_ONE, N)
    found = []
    for point in (0.0, 0.25):
        asked = prices.price("gradient", mu=1.0, loss=Squared(), clip=1.0)
        found.append((asked, Task((), Asked.of(asked, (np.full(facts.width, point),)))))
    asked = PricedQueries(facts.restricted(2), Neighbours.REPLACE_ONE, N).price("second_moments", mu=1.0)
    found.append(
        (asked, Task((partial(chosen_columns, columns=np.array([2, 0]), intercept=True),), Asked.of(asked, ())))
    )
    turn = partial(turned_rows, matrix=np.random.default_rng(2).normal(size=(facts.width, 3)) / 10)
    found.append((asked, Task((turn,), Asked.of(asked, ()))))
    tallies = [(asked, engine.map_reduce(task)) for asked, task in found]
    return [(asked.total(one.state).tobytes(), one.count, one.checksum) for asked, one in tallies]
