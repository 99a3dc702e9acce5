"""A thousand inputs of garbage, found and shrunk by Hypothesis; and a million, from a public seed, in the long run."""

import inspect
import re
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hullabaloo as hb
from hullabaloo import model_selection, report, streaming
from hullabaloo.errors import InvalidParameter
from hullabaloo.linear_model import ESTIMATORS
from tests.fuzz.dear import DEAR, DEAREST
from tests.fuzz.doors import CHEAP
from tests.fuzz.garbage import SECRET, Garbage
from tests.fuzz.sweep import sweep
from tests.fuzz.verdict import Crash, Tally, judged
from tests.laws.public import public

DRAWS = st.randoms(use_true_random=False)
FEW = settings(max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
FEWER = settings(FEW, max_examples=1)
UNASKED = {
    "Card": "made by card",
    "CoefficientDisplay": "made of a fitted model",
    "CalibrationDisplay": "made of an evaluation",
    "ResidualDisplay": "made of an evaluation",
    "Evaluation": "made by evaluate",
    "Measured": "a number of an evaluation",
    "PrivateBounds": "made by private_bounds",
    "PrivateGradient": "made of a released model",
    "PrivateStream": "abstract",
    "SearchPrice": "made by PrivateSearchCV.price",
    "SetFunction": "abstract",
    "StreamModel": "made by streams",
    "StreamSource": "abstract",
    "__version__": "a text",
    "model_selection": "a module",
    "custom_loss": "takes a function: tests/losses/test_tabulated.py",
    "predict": "takes a fitted model and a table in parts: tests/linear_model/test_predicted.py",
    "report": "a module",
    "reproduce": "writes a folder: tests/reproduce",
    "scan": "takes a file or a function: tests/data/test_scan.py",
    "streaming": "a module",
    "theory": "a module",
}
"""Public names that are no door of this fuzz, and why."""
BESIDE = {"IncrementalRegression": "streams", "SketchedRegression": "streams", "new_key_file": "paths: written"}
"""Public names that a door of another name takes."""
KNOWN = ("TypeError: unsupported operand type(s) for -: 'int' and 'dict'",)
"""How crashes begin that docs/trust.md admits: of `hb.streaming.plan`, given a dictionary for `fit_intercept`."""


@pytest.mark.parametrize("name", CHEAP)
@FEW
@given(random=DRAWS)
def test_constructors_parsers_and_accountants(name: str, random: Random) -> None:
    judged(lambda: CHEAP[name](Garbage(random)))


@pytest.mark.few(13)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in DEAREST else name for name in DEAR]
)
@FEWER
@given(seed=st.integers(0, 2**32))
def test_fits_files_and_commands(name: str, seed: int) -> None:
    judged(lambda: DEAR[name](Garbage(Random(seed))))


def test_every_public_name_is_a_door_or_says_why_not() -> None:
    called = {re.sub(r"^\w+\.|: .*", "", name) for name in (*CHEAP, *DEAR)}
    targets = called | set(ESTIMATORS) | BESIDE.keys()
    exported = {name for module in (hb, report, streaming, model_selection) for name in public(module)}
    assert exported - targets == UNASKED.keys() & exported
    assert not set(BESIDE.values()) - DEAR.keys()
    assert not targets & UNASKED.keys()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_many_more_inputs(seed: int) -> None:
    """`make soak` writes when a million passed (tests/soak.py)."""
    tally = sweep(seed, 500_000)
    crashes = [one for one in tally.crashes.values() if not one.startswith(KNOWN)]
    assert not crashes, "\n".join(crashes)
    assert sum(counted["inputs"] for counted in tally.counts.values()) >= 500_000


def fails() -> None:
    raise ZeroDivisionError("division by zero")


def mutters() -> None:
    raise InvalidParameter("bad value")


def tells() -> None:
    raise InvalidParameter(f"The cell {SECRET} of the table cannot be read, pass another table.")


@pytest.mark.parametrize("fault", [fails, mutters, tells], ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_seen(fault: object) -> None:
    assert inspect.isfunction(fault)
    with pytest.raises(Crash):
        judged(fault)
    tally = Tally()
    tally.take("planted", fault)
    assert tally.counts["planted"]["crashes"] == 1
    assert tally.crashes
