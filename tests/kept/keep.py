"""`python -m tests.kept.keep`: writes `kept/`, documents of today that every later version has to open, resume and verify.

Models, streams and searches are made under test keys, so that going on with them draws what it always would have; the ledgers hold charges
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
            with stream:
                stream.partial_fit(table().iloc[:CUT])
                if name == "incremental" and not sealed:
                    stream.model_at().save(KEPT / "stream-model.json")
            state = KEPT / Path(stream.state).name
            begun = state.read_bytes()
            with stream.set_params(state=state):
                stream._intake = None
                stream.partial_fit(table().iloc[CUT:])
                told[state.name] = numbers([stream.model_at().coef_, stream.model_at().intercept_])
            state.write_bytes(begun)


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
    """Write everything anew; refuses where something is kept."""
    if KEPT.exists() and "--anew" not in sys.argv:
        print(
            "kept/ is there. What it holds was written by older code, which is the point of it; --anew writes all of it anew."
        )
        return 1
    KEPT.mkdir(exist_ok=True)
    old = json.loads((KEPT / "numbers.json").read_text()) if (KEPT / "numbers.json").exists() else {}
    (KEPT / "key").write_bytes(SECRET)
    os.chmod(KEPT / "key", 0o600)
    told: dict[str, Any] = {name: one for name, one in old.items() if name.startswith("ledger-")}
    for make in (_models, _streams, _searches, _ledgers):
        make(told)
    (KEPT / "numbers.json").write_text(json.dumps(told, indent=1) + "\n")
    print(f"{sum(one.stat().st_size for one in KEPT.iterdir()):,} bytes in {len(list(KEPT.iterdir()))} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
