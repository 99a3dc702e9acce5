"""What is left when an answer was given: no public object, no cache of a module and no error leads to records, rows or a curator."""

import gc
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hullabaloo as hb
from hullabaloo.curator.curator import Curator
from hullabaloo.data import PartedRows, Rows
from hullabaloo.data.engines.base import Part, Tally
from hullabaloo.data.table import Table
from hullabaloo.streaming import IncrementalRegression, PeriodicERM

N, BUDGET = 997, hb.Budget(5.0, 1e-6)
FEATURES: dict[str, Any] = {"a": (-1, 1), "b": (-1, 1), "g": ["u", "v"]}
DOMAIN = hb.Domain(FEATURES, target={"y": (-2, 2)}, records=N)
UNITS = hb.Domain(FEATURES, target={"y": (-2, 2)}, records=N, unit="who", records_per_unit=2)
CLASSES = hb.Domain(FEATURES, classes={"ill": ["no", "yes"]}, records=N)
PRIVATE = (Rows, PartedRows, Curator, Part, Tally, Table, pd.DataFrame, pa.Table)


def records() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-1, 1, (2, N))
    y, g = np.clip(a - b + rng.normal(0, 0.2, N), -2, 2), rng.choice(["u", "v", "mark of a level"], N)
    return pd.DataFrame(
        {"a": a, "b": b, "g": g, "y": y, "ill": np.where(a > 0, "yes", "no"), "who": [f"mark {i}" for i in range(N)]}
    )


def left() -> set[tuple[str, str]]:
    """What is alive of records, by what it is and what holds it; frames, which hold what is being worked on, are left out."""
    gc.collect()
    holders = [
        one for one in gc.get_objects() if type(one) is not FrameType
    ]  # a weak proxy, asked by isinstance, asks what may be gone
    return {(told, type(one).__name__) for one in holders for held in _held(one) if (told := _told(held))}


COMMON = {int, float, bool, bytes, type, type(None), type(left), type(left.__code__), type(gc), *weakref.ProxyTypes}
"""Types that no told object has, four of five references, and weak proxies, which hold nothing."""
LISTS, BUNDLES = (list, tuple), (dict, tuple)


def _held(one: Any) -> Iterator[Any]:
    """What an object refers to, and what lies in what the collector does not follow, as dicts of texts."""
    for held in gc.get_referents(one):
        if type(held) not in COMMON:
            yield held
            if isinstance(held, BUNDLES) and not gc.is_tracked(held):
                yield from _held(held)


@cache
def _private(kind: type) -> bool:
    return issubclass(kind, PRIVATE)


def _told(held: Any) -> str:
    if isinstance(held, str):
        return "a text" if held.startswith("mark ") else ""
    if _private(type(held)):
        return type(held).__name__
    if isinstance(held, np.ndarray) and N in held.shape:
        return f"an array of the shape {held.shape}"
    return f"a {type(held).__name__} of so many" if isinstance(held, LISTS) and len(held) == N else ""


def _fit(solver: str, domain: hb.Domain = DOMAIN, **more: Any) -> Callable[[pd.DataFrame], Any]:
    return lambda table: hb.LinearRegression(domain=domain, budget=BUDGET, solver=solver, **more).fit(table)


def _parted(table: pd.DataFrame) -> Any:
    whole = pa.Table.from_pandas(table)
    return _fit("gradient")(hb.scan(whole.to_reader))


def _stream(table: pd.DataFrame) -> Any:
    with IncrementalRegression(domain=DOMAIN, budget=BUDGET, horizon=N, every=100) as stream:
        return stream.partial_fit(table).model_at()


def _periodic(table: pd.DataFrame) -> Any:
    model = hb.LinearRegression(domain=DOMAIN, budget=BUDGET, solver="gradient")
    with PeriodicERM(model, horizon=N, every=500) as stream:
        return stream.partial_fit(table).model_at()


def _search(table: pd.DataFrame) -> Any:
    model = hb.LinearRegression(domain=DOMAIN, solver="moments")
    grid = {"penalty": [hb.SquaredL2Penalty(0.01), hb.SquaredL2Penalty(0.1)]}
    return hb.PrivateSearchCV(model, grid, budget=BUDGET, expected_candidates=1.5).fit(table)


def _evaluation(table: pd.DataFrame) -> Any:
    model = hb.LogisticRegression(domain=CLASSES, budget=BUDGET, solver="gradient").fit(table)
    return model, hb.evaluate(model, table, budget=BUDGET, metrics=["roc_auc", "calibration", "residuals"])


ANSWERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "moments": _fit("moments"),
    "gradient": _fit("gradient"),
    "whitened": _fit("preconditioned_gradient"),
    "coordinates": _fit("coordinate_descent"),
    "a choice": _fit("frank_wolfe", constraint=hb.L1Ball(1.0)),
    "a minimiser": _fit("output_perturbation", penalty=hb.SquaredL2Penalty(0.1)),
    "an objective": _fit("objective_perturbation", penalty=hb.SquaredL2Penalty(0.1)),
    "units": _fit("gradient", UNITS),
    "in parts": _parted,
    "bounds": lambda table: hb.private_bounds(table, outer=DOMAIN, budget=BUDGET),
    "a stream": _stream,
    "refits": _periodic,
    "a search": _search,
    "an evaluation": _evaluation,
}


QUICK = ("gradient", "units", "bounds", "a stream", "an evaluation")


@pytest.mark.parametrize("names", [QUICK, *(pytest.param((name,), marks=pytest.mark.slow) for name in ANSWERS)])
def test_nothing_leads_from_an_answer_to_records(names: tuple[str, ...]) -> None:
    before = left()
    answers = [ANSWERS[name](records()) for name in names]
    assert None not in answers
    after = left()
    assert after <= before
    kept: list[Any] = [records(), {"a level": "mark of a level"}, Rows(np.zeros((N, 2)), np.zeros((N, 1)))]
    assert {told for told, _ in left() - after} >= {"DataFrame", "a text", "Rows"}, "what is kept is seen"
    kept.clear()
