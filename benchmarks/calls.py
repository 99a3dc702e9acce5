"""How many Python functions are called, third parties' included: a step of the gradient solver, and a fit by moments of two columns."""

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.noise import Key, TestKey
from hullabaloo.release.planned import prepare

SPEED = True
RECORDS = 1000
BUDGET = hb.Budget(1.0, 1e-6)
KEY = TestKey(bytes(32))


def calls(work: Callable[[], Any]) -> Counter[str]:
    """Calls of Python functions by module and name."""
    found: Counter[str] = Counter()

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found[f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}"] += 1

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    found[f"{sys.__name__}.setprofile"] = 0
    return found


def table() -> tuple[np.ndarray, np.ndarray]:
    """A thousand records of two columns."""
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (RECORDS, 2))
    return X, X @ np.array([0.5, -0.3])


def model(solver: Any) -> hb.LinearRegression:
    """A linear regression of them."""
    domain = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1))
    return hb.LinearRegression(budget=BUDGET, domain=domain, solver=solver, inference=False)


def moments() -> Counter[str]:
    """Of a fit by moments, warm."""
    X, y = table()
    for _ in range(2):
        model("moments").fit(X, y)
    return calls(lambda: model("moments").fit(X, y))


def gradient(key: Key | None = KEY) -> tuple[Counter[str], int]:
    """Of a run of the gradient solver, warm; and its steps."""
    X, y = table()
    made = model(hb.GradientSolver())
    encoding = made._encoding(None, 2)
    prepared = prepare(made._task(encoding), encoding, RECORDS)
    rows = encoding.encode(made.domain.open(X), y)

    def run() -> Any:
        return prepared.solver.run(prepared.problem, prepared.plan, curator)

    for _ in range(3):
        curator = Curator(rows, prepared.plan.queries, key=key)
        found = calls(run)
    return found, prepared.plan.queries[0].count


def run() -> dict[str, Any]:
    step, steps = gradient()
    fit = moments()
    rooms: Counter[str] = Counter()
    for name, count in fit.items():
        rooms[".".join(name.split(".")[:2]) if name.startswith("hullabaloo") else name.split(".", maxsplit=1)[0]] += (
            count
        )
    return {
        "gradient_step": step.total() / steps,
        "moments_fit": fit.total(),
        "moments_fit_by_room": dict(rooms.most_common(12)),
    }
