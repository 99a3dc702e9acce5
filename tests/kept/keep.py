"""`python -m tests.kept.keep`: writes `kept/`, documents of today that every later version has to open, resume and verify.

What is missing is added; `--anew` writes all of it anew. Models, streams and searches are made under test keys, so that going on with them draws what it always would have; the ledgers hold charges
that were made up. Made once: what a later version writes does not replace what this one wrote.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import hullabaloo as hb
from hullabaloo.ledger import schema
from hullabaloo.linear_model import ESTIMATORS
from hullabaloo.noise import TestKey
from tests.kept.case import numbers
from tests.kept.fits import BUDGETS, SHAPES
from tests.kept.questions import model
from tests.kept.streams import declared
from tests.kept.tables import N, table

KEPT = Path(__file__).with_name("kept")
CUT = 25
TEST_KEY = TestKey(bytes(range(32)))
SECRET = bytes(range(32))  # of sealed states: it hides nothing, as they hold made-up records

SOLVED: dict[str, dict[str, Any]] = {
    "GroupLasso": {"groups": [["age"], ["hours"]]},
    "StructuredSparseRegression": {"structure": hb.Intervals(2)},
    "StructuredSparseClassifier": {"structure": hb.Intervals(2)},
}
CLASSES = {"classes": {"ill": ["no", "yes"]}}
TARGETS: dict[str, dict[str, Any]] = {
    "LogisticRegression": CLASSES,
    "LinearSVC": CLASSES,
    "StructuredSparseClassifier": CLASSES,
    "PoissonRegressor": {"target": {"visits": (0, 30)}},
    "MultiTaskRegression": {"target": {"cost": (-20, 20), "visits": (0, 30)}},
}


def estimator(name: str) -> Any:
    """An unfitted estimator as it was kept."""
    given = {
        "budget": BUDGETS["dp"],
        "domain": declared(**TARGETS.get(name, {})),
        "test_key": TEST_KEY,
        **SOLVED.get(name, {}),
    }
    if name in ("LogisticRegression", "HuberRegressor", "QuantileRegressor", "LinearSVC", "PoissonRegressor"):
        given |= SHAPES["L2"]
    return getattr(hb, name)(**given, solver="moments" if name in ("LinearRegression", "Ridge", "Lasso") else "auto")


def streams(folder: Path, *, sealed: bool) -> dict[str, Any]:
    """Streams as they were begun, by the names of their state files."""
    given: dict[str, Any] = {"budget": BUDGETS["dp"], "domain": declared(), "test_key": TEST_KEY}
    about: dict[str, Any] = {"horizon": N, "every": 10}
    kinds = hb.streaming
    refitted = {
        "budget": BUDGETS["dp"],
        "domain": declared(),
        "test_key": TEST_KEY,
        "solver": "gradient",
        **SHAPES["L2"],
    }
    found = {
        "incremental": kinds.IncrementalRegression(**given, **about),
        "no-horizon": kinds.IncrementalRegression(**given, every=10),
        "window": kinds.IncrementalRegression(**given, **about, window=30),
        "sketched": kinds.SketchedRegression(**given, **about, sketch_size=2, **SHAPES["L1"]),
        "periodic": kinds.PeriodicERM(hb.LinearRegression(**refitted), horizon=N, every=20),
    }
    for name, stream in found.items():
        words = f"{name}{'-sealed' if sealed else ''}.state"
        stream.set_params(state=folder / words, key_file=folder / "key" if sealed else None)
    return found


def later(folder: Path) -> dict[str, Any]:
    """Streams of fits that were kept later: with errors, of numbers and of classes, of two versions; and whose solver was chosen.

    `told-earlier` was begun by a version that did not release the level of residuals by itself; it is made by that one alone.
    """
    budget, about = hb.Budget.gdp(80.0), {"horizon": N, "every": 20}  # enough of 20 records
    numbers_of: dict[str, Any] = {"budget": budget, "domain": declared(), "test_key": TEST_KEY}
    classes: dict[str, Any] = {**numbers_of, "domain": declared(**CLASSES)}
    linear = hb.LinearRegression(**numbers_of, solver="adaptive_gradient", inference=True)
    found = {
        "told": linear,
        "told-earlier": linear,
        "classes": hb.LogisticRegression(**classes, inference=0.5),
        "constant": hb.LogisticRegression(**classes, solver="constant"),
        "chosen": hb.LinearRegression(**numbers_of),
    }
    streams = {name: hb.streaming.PeriodicERM(one, **about) for name, one in found.items()}
    for name, stream in streams.items():
        stream.set_params(state=folder / f"{name}.state")
    return streams


def charged(folder: Path, ledger: hb.Ledger) -> Any:
    """A stream that the kept ledger paid for: its noise is fresh, and its records are made up."""
    given = {"budget": hb.Budget(0.5, 1e-7), "domain": declared(), "horizon": N, "every": 10}
    return hb.streaming.IncrementalRegression(**given, ledger=ledger, dataset="clinic", state=folder / "charged.state")


def search(folder: Path, name: str) -> Any:
    """A search as it was begun; its candidates are of every kind that its fingerprint writes."""
    candidates = [
        SHAPES["L1"],
        SHAPES["l2 penalty"],
        {"solver": hb.GreedySelectionSolver(selected=2), "fit_intercept": False, **SHAPES["L1"]},
        {"fit_intercept": False},
    ]
    given: dict[str, Any] = {"budget": BUDGETS["dp"], "expected_candidates": 4, "test_key": TEST_KEY}
    return hb.PrivateSearchCV(model("LinearRegression"), candidates, **given, state=folder / f"{name}.state")


def found_by(made: Any) -> list[float]:
    """What a search found."""
    best = made.best_estimator_
    return numbers([made.best_index_, made.best_score_, best.coef_, best.intercept_])


class Killed(BaseException):
    """In the middle of a search."""


def _models(told: dict[str, Any]) -> None:
    for name in ESTIMATORS:
        made = estimator(name).fit(table())
        made.save(KEPT / f"{name}.json")
        told[name] = numbers([made.coef_, made.intercept_])


def _streams(told: dict[str, Any]) -> None:
    for sealed in (False, True):
        for name, stream in streams(KEPT, sealed=sealed).items():
            _stream(stream, told, KEPT / "stream-model.json" if name == "incremental" and not sealed else None)


def _stream(stream: Any, told: dict[str, Any], model: Path | None = None) -> None:
    """Begin a stream, keep its state, and see where it ends."""
    with stream:
        stream.partial_fit(table().iloc[:CUT])
        if model is not None:
            stream.model_at().save(model)
    state = KEPT / Path(stream.state).name
    begun = state.read_bytes()
    with stream.set_params(state=state):
        stream._intake = None
        stream.partial_fit(table().iloc[CUT:])
        told[state.name] = numbers([stream.model_at().coef_, stream.model_at().intercept_])
    state.write_bytes(begun)


def _later(told: dict[str, Any]) -> None:
    for name, stream in later(KEPT).items():
        if f"{name}.state" not in told and name != "told-earlier":
            _stream(stream, told)


def _searches(told: dict[str, Any]) -> None:
    from hullabaloo.curation import running

    real = running.answer

    def killed(*_: Any, **__: Any) -> Any:
        raise Killed

    running.answer = killed
    try:
        search(KEPT, "search-begun").fit(table())
    except Killed:
        pass
    finally:
        running.answer = real
    told["search"] = found_by(search(KEPT, "search-ended").fit(table()))


def _ledgers(told: dict[str, Any]) -> None:
    """One of this version; those of older ones were written by older code, and stay."""
    path = KEPT / f"ledger-{schema.VERSION}.db"
    path.unlink(missing_ok=True)
    with mock.patch.dict(os.environ, LOGNAME="somebody"):  # no machine's name is kept
        ledger = hb.Ledger(f"sqlite:///{path}")
        ledger.create("clinic", hb.Budget(8.0, 1e-5))
        for name in ("LinearRegression", "LogisticRegression"):
            estimator(name).set_params(test_key=None, ledger=ledger, dataset="clinic").fit(table())
        with charged(KEPT, ledger) as stream:
            stream.partial_fit(table().iloc[:CUT])
    told[path.name] = {
        "events": [one.event for one in ledger.charges("clinic")],
        "left": [ledger.remaining("clinic").charges],
    }


def main() -> int:
    """Write what is missing, and what is kept only if asked: it was written by older code, which is the point of it."""
    anew = not KEPT.exists() or "--anew" in sys.argv
    KEPT.mkdir(exist_ok=True)
    told: dict[str, Any] = json.loads((KEPT / "numbers.json").read_text()) if (KEPT / "numbers.json").exists() else {}
    if anew:
        told = {name: one for name, one in told.items() if name.startswith(("ledger-", "told-earlier"))}
    (KEPT / "key").write_bytes(SECRET)
    os.chmod(KEPT / "key", 0o600)
    for make in (*(_models, _streams, _searches, _ledgers) * anew, _later):
        make(told)
    (KEPT / "numbers.json").write_text(json.dumps(told, indent=1) + "\n")
    print(f"{sum(one.stat().st_size for one in KEPT.iterdir()):,} bytes in {len(list(KEPT.iterdir()))} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
