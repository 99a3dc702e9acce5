"""What an error, an interrupt or a lack of memory takes along while records are read: no frame of the library holds a row, a cell or a sum."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.streaming import IncrementalRegression, PeriodicERM
from tests.laws.test_out_of_reach import BUDGET, CLASSES, DOMAIN, PRIVATE, UNITS, N, records

OWN = str(Path(hb.__file__).parent)
TOUCH = tuple(str(Path(OWN) / room) for room in ("curation", "curator", "data", "noise", "selection", "erm", "durable"))
KINDS = (KeyboardInterrupt, RuntimeError, MemoryError, OSError)
FAULTS = 24
"""How many places of a call, spread evenly over it, fail in turn."""
MOMENTS = 45
"""What a record of five encoded columns with its target adds to."""


class Fault:
    """Raises an error at the nth of the calls in rooms that see records; counts them otherwise."""

    def __init__(self, kind: type[BaseException], nth: int) -> None:
        self.kind, self.nth, self.count = kind, nth, 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(TOUCH):
            self.count += 1
            if self.count == self.nth:
                sys.setprofile(None)
                raise self.kind("a word")

    def during(self, call: Callable[[], Any]) -> BaseException | None:
        sys.setprofile(self)
        try:
            call()
        except BaseException as error:  # reason: whatever leaves is looked at
            return error
        finally:
            sys.setprofile(None)
        return None


def _told(value: Any, depth: int = 0) -> str:
    """What a variable tells of records, as whoever prints variables shows them; a table, which prints nothing, is none."""
    if isinstance(value, np.ndarray) and {N, MOMENTS} & set(value.shape):
        return f"an array of the shape {value.shape}"
    if isinstance(value, (bytes, bytearray, str, *PRIVATE)) and "mark " in repr(value):
        return type(value).__name__
    if depth < 2 and isinstance(value, dict | list | tuple):
        held = value.values() if isinstance(value, dict) else value
        return next((told for one in held if (told := _told(one, depth + 1))), "")
    return ""


def taken_along(error: BaseException | None) -> Iterator[tuple[str, str, str]]:
    """The variables of the library's frames that an error, and what it came from, holds."""
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        step = one.__traceback__
        while step is not None:
            code = step.tb_frame.f_code
            if code.co_filename.startswith(OWN):
                for name, value in step.tb_frame.f_locals.items():
                    if told := _told(value):
                        yield f"{Path(code.co_filename).name}:{code.co_name}", name, told
            step = step.tb_next


def _fit(solver: str, domain: hb.Domain = DOMAIN, **more: Any) -> Callable[[str], Any]:
    return lambda path: hb.LinearRegression(domain=domain, budget=BUDGET, solver=solver, **more).fit(path)


def _evaluation(path: str) -> Any:
    return hb.evaluate(MODEL[0], path, budget=BUDGET, metrics=["roc_auc"])


def _search(path: str) -> Any:
    model = hb.LinearRegression(domain=DOMAIN, solver="moments")
    grid = {"penalty": [hb.SquaredL2Penalty(0.01), hb.SquaredL2Penalty(0.1)]}
    return hb.PrivateSearchCV(model, grid, budget=BUDGET, expected_candidates=1.5).fit(path)


def _stream(path: str) -> Any:
    state = Path(path).with_suffix(".state")
    state.unlink(missing_ok=True)
    with IncrementalRegression(domain=UNITS, budget=BUDGET, horizon=N, every=100, state=state) as stream:
        return stream.partial_fit(path).model_at()


def _refits(path: str) -> Any:
    model = hb.LinearRegression(domain=DOMAIN, budget=BUDGET, solver="gradient")
    with PeriodicERM(model, horizon=N, every=500) as stream:
        return stream.partial_fit(path).model_at()


MODEL: list[Any] = []
DOORS: dict[str, Callable[[str], Any]] = {
    "units": _fit("moments", UNITS),
    "steps": _fit("gradient"),
    "a minimiser": _fit("output_perturbation", penalty=hb.SquaredL2Penalty(0.1)),
    "in parts": lambda path: _fit("moments")(hb.scan(path)),
    "bounds": lambda path: hb.private_bounds(path, outer=DOMAIN, budget=BUDGET),
    "an evaluation": _evaluation,
    "a search": _search,
    "a stream": _stream,
    "refits": _refits,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place, table = tmp_path_factory.mktemp("frames"), records()
    table.to_csv(place / "t.csv", index=False)
    table.to_parquet(place / "t.parquet")
    MODEL[:] = [hb.LogisticRegression(domain=CLASSES, budget=BUDGET, solver="gradient").fit(table)]
    return place


QUICK = (("units", "t.csv"), ("in parts", "t.csv"), ("a search", "t.parquet"), ("a stream", "t.parquet"))
CASES = [(door, file) for door in DOORS for file in ("t.csv", "t.parquet")]


@pytest.mark.parametrize(
    ("door", "file"), [*QUICK, *(pytest.param(*one, marks=pytest.mark.slow) for one in CASES if one not in QUICK)]
)
@pytest.mark.filterwarnings("ignore")
def test_no_error_takes_along_what_was_read(files: Path, door: str, file: str) -> None:
    def call() -> Any:
        return DOORS[door](str(files / file))

    call()  # what is worked out once is worked out
    whole = Fault(RuntimeError, 0)
    assert whole.during(call) is None
    found: set[tuple[str, str, str]] = set()
    failed = 0
    for number, nth in enumerate(np.linspace(1, whole.count, FAULTS).astype(int)):
        error = Fault(KINDS[number % len(KINDS)], int(nth)).during(call)
        failed += error is not None
        found |= set(taken_along(error))
    assert failed
    assert not found
