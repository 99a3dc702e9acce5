"""river's own checks of a regressor on a stream, and the stream inside river's tools."""

import math
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from river import checks, compose, datasets, evaluate, metrics
from river.base import Regressor

import hullabaloo as hb
from hullabaloo.errors import InvalidParameter, NotReleased
from hullabaloo.noise import TestKey
from tests.streaming.toy import records, toy

POLLS = {
    "ordinal_date": (736_389, 737_474), "gallup": (0, 100), "ipsos": (0, 100), "morning_consult": (0, 100),
    "rasmussen": (0, 100), "you_gov": (0, 100),
}  # fmt: skip
DOMAIN = hb.Domain(features=POLLS, target=(0, 100))


def regressor(budget: hb.Budget, **more: Any) -> hb.streaming.RiverRegressor:
    """A stream of approval polls, whose noise a test key makes the same in all of a check's models."""
    model = hb.streaming.IncrementalRegression(
        **{"budget": budget, "domain": DOMAIN, "horizon": 5_000, "every": 10, "test_key": TestKey(bytes(32)), **more}
    )
    return hb.streaming.RiverRegressor(model)


BUDGETS = {"without noise": hb.Budget(math.inf), "at epsilon 1": hb.Budget(1.0, 1e-6)}


def all_checks() -> Iterator[Any]:
    for name, budget in BUDGETS.items():
        for number, check in enumerate(checks.yield_checks(regressor(budget))):
            yield pytest.param(budget, check, id=f"{name}-{number}-{check.__name__}")


@pytest.mark.few(10)
@pytest.mark.parametrize(("budget", "check"), list(all_checks()))
def test_rivers_checks_pass(budget: hb.Budget, check: Callable[[Regressor], None]) -> None:
    check(regressor(budget).clone())


def test_no_check_of_river_is_skipped() -> None:
    model = regressor(hb.Budget(1.0, 1e-6))
    assert isinstance(model, Regressor)
    assert model._unit_test_skips() == set()
    assert len(list(checks.yield_checks(model))) > 20


def test_a_stream_runs_in_rivers_pipelines_and_is_scored_there() -> None:
    model = compose.Select(*POLLS) | regressor(hb.Budget(math.inf))
    mean = sum(y for _, y in datasets.TrumpApproval()) / 1001
    spread = sum(abs(y - mean) for _, y in datasets.TrumpApproval()) / 1001
    error = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    assert error.get() < spread


def test_a_clone_is_fresh_and_a_copy_does_not_learn() -> None:
    model = hb.streaming.RiverRegressor(toy())
    for x, y in records(25):
        model.learn_one(x, y)
    assert model.clone().model.predict_one({}) == 0.0
    assert model.clone({"model": toy(every=7)}).model.every == 7
    twin = pickle.loads(pickle.dumps(model))
    assert twin.predict_one({"a": 1}) == model.predict_one({"a": 1}) != 0.0
    with pytest.raises(NotReleased, match="cannot learn"):
        twin.learn_one({}, 1)


def test_only_streams_are_wrapped() -> None:
    with pytest.raises(InvalidParameter, match="wraps a stream"):
        hb.streaming.RiverRegressor(hb.LinearRegression())  # type: ignore[arg-type]


def test_without_river_it_is_said_what_to_install() -> None:
    code = (
        "import sys; sys.modules['river'] = sys.modules['river.base'] = None\n"
        "import hullabaloo as hb\n"
        "try: hb.streaming.RiverRegressor\n"
        "except ModuleNotFoundError as error: print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install river" in out


def test_only_the_adapter_needs_river() -> None:
    source = Path(hb.__file__).parent
    needing = [
        path.name for path in source.rglob("*.py") if re.search(r"^\s*(from|import) river\b", path.read_text(), re.M)
    ]
    assert needing == ["for_river.py"]


def test_a_stream_of_classes_is_no_regressor() -> None:
    domain = hb.Domain(features={"a": (0, 1)}, classes=["no", "yes"])
    logistic = hb.LogisticRegression(budget=BUDGETS["at epsilon 1"], domain=domain)
    with pytest.raises(InvalidParameter, match="learns classes"):
        hb.streaming.RiverRegressor(hb.streaming.PeriodicERM(logistic, horizon=100))
