"""Words that enter keys, fingerprints, saved models, states and ledgers: frozen here, so that renaming code renames none of them."""

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from threadpoolctl import threadpool_limits

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.curator.query import Query
from hullabaloo.curator.stream import StreamSumQuery
from hullabaloo.noise.continual.base import Strategy
from hullabaloo.privacy import Event
from hullabaloo.privacy.filters import Filter
from hullabaloo.queries import QUERIES as QUERIES_BY_NAME
from hullabaloo.queries import PricedQueries
from hullabaloo.release.estimator import Estimator
from hullabaloo.release.parameters import label_of
from hullabaloo.solvers import Solver
from tests.kept import record
from tests.kept.fits import BUDGETS
from tests.kept.streams import declared
from tests.kept.tables import key, table

QUERIES = {
    "gradient", "gradient_moments", "laplace_minimiser", "means", "minimizer", "moments", "partial", "perturbed_minimizer", "quantiles", "scales", "score",
    "second_moments", "second_moments_laplace", "select", "spread", "step", "stream_moments", "vertex",
}  # fmt: skip
ESTIMATORS = {
    "ElasticNet", "GroupLasso", "HuberRegressor", "Lasso", "LinearRegression", "LinearSVC", "LogisticRegression", "MultiTaskRegression",
    "PoissonRegressor", "QuantileRegressor", "Ridge", "StructuredSparseClassifier", "StructuredSparseRegression",
}  # fmt: skip
STREAMS = {"IncrementalRegression", "PeriodicERM", "SketchedRegression"}
SOLVERS = {
    "adaptive_gradient", "constant", "coordinate_descent", "dual_frank_wolfe", "frank_wolfe", "gradient", "greedy_coordinate_descent",
    "greedy_selection", "mirror_descent", "moments", "objective_perturbation", "output_perturbation", "preconditioned_gradient",
    "subspace_descent", "with_inference",
}  # fmt: skip
STRATEGIES = {"buffered", "dense", "hybrid", "square_root", "tree"}
EVENTS = {
    "composed",
    "gaussian",
    "laplace",
    "not-private",
    "objective-perturbation",
    "permute-and-flip",
    "selection",
    "tuned",
}
SETTINGS = {
    "L1Ball(radius=1.0)": hb.L1Ball(1.0),
    "Box(lower=-1.0, upper=1.0)": hb.Box(-1.0, 1.0),
    "LpBall(exponent=1.5, radius=1.0)": hb.LpBall(1.5, 1.0),
    "ElasticBall(alpha=0.5, radius=1.0)": hb.ElasticBall(0.5, 1.0),
    "GroupBall(groups=((0, 1), (2, 3)), radius=1.0)": hb.GroupBall([[0, 1], [2, 3]], 1.0),
    "SubmodularBall(function=Intervals(p=4), radius=1.0)": hb.SubmodularBall(hb.Intervals(4), 1.0),
    "NuclearBall(radius=1.0, columns=2)": hb.NuclearBall(1.0, 2),
    "L1Penalty(strength=0.02)": hb.L1Penalty(0.02),
    "SquaredL2Penalty(strength=0.1)": hb.SquaredL2Penalty(0.1),
    "ElasticNetPenalty(strength=0.05, l1_ratio=0.5)": hb.ElasticNetPenalty(0.05, 0.5),
    "GroupPenalty(groups=((0, 1),), strength=0.05)": hb.GroupPenalty([[0, 1]], 0.05),
    "SubmodularPenalty(function=TreeCover(parents=(-1, 0)), strength=0.05)": hb.SubmodularPenalty(hb.TreeCover([-1, 0]), 0.05),
    "GroupCover(groups=((0, 1), (1, 2)))": hb.GroupCover([[0, 1], [1, 2]]),
    "BoundedCardinality(bound=3)": hb.BoundedCardinality(3),
    "GreedySelectionSolver(selected=None)": hb.GreedySelectionSolver(),
    "CoordinateDescentSolver(order='cyclic', constants='gaussian', rounds=None, updates=None, clip=None, centre=None)": hb.CoordinateDescentSolver(),
}  # fmt: skip


def kinds(base: type, attribute: str) -> dict[type, str]:
    """The library's own classes of a base that hold the attribute themselves."""
    for module in pkgutil.walk_packages(hb.__path__, "hullabaloo."):
        if module.name.rpartition(".")[2] not in ("__main__", "for_river"):
            importlib.import_module(module.name)
    found, left = {}, [base]
    while left:
        one = left.pop()
        left += one.__subclasses__()
        here = getattr(sys.modules[one.__module__], one.__name__, None)
        if one.__module__.startswith("hullabaloo.") and here is one and isinstance(vars(one).get(attribute), str):
            found[one] = str(vars(one)[attribute])
    return found


@pytest.mark.parametrize(
    ("base", "attribute", "frozen"),
    [
        (Query, "key_label", QUERIES - {"stream_moments"}),
        (Estimator, "key_label", ESTIMATORS | STREAMS),
        (Solver, "name", SOLVERS),
        (Strategy, "name", STRATEGIES),
        (Event, "kind", EVENTS),
        (Filter, "name", {"basic", "gdp", "renyi"}),
    ],
    ids=["queries", "estimators and streams", "solvers", "strategies", "events", "filters"],
)
def test_labels_are_these_and_no_two_are_one(base: Any, attribute: str, frozen: set[str]) -> None:
    """A label that is missing here was renamed: what was derived, saved or charged under it is lost. A new one is added here."""
    found = kinds(base, attribute)
    assert sorted(found.values()) == sorted(frozen)


def test_every_query_and_every_estimator_has_a_label_of_its_own() -> None:
    assert StreamSumQuery.key_label == "stream_moments"
    named = set(kinds(Query, "name"))
    assert named == set(kinds(Query, "key_label"))
    exported = [getattr(hb, name) for name in ESTIMATORS] + [getattr(hb.streaming, name) for name in STREAMS]
    assert {one.key_label for one in exported} == ESTIMATORS | STREAMS


def test_a_class_that_somebody_derived_is_not_called_by_the_label_of_another() -> None:
    class Own(hb.Lasso):  # type: ignore[misc]  # final, which nothing enforces
        pass

    assert (label_of(hb.Lasso()), label_of(Own())) == ("Lasso", "Own")


@pytest.mark.parametrize(("text", "setting"), SETTINGS.items())
def test_candidates_of_a_search_are_written_as_ever(text: str, setting: Any) -> None:
    """Format 3 of a search's fingerprint holds them by `repr`: keep that of a class that is renamed, or states of searches are lost."""
    assert repr(setting) == text


CASES = [
    "special/no intercept/moments", "special/no intercept/gradient", "special/no intercept/frank_wolfe",
    "prepared/narrow/greedy_selection", "prepared/narrow/coordinate_descent", "prepared/narrow/preconditioned_gradient",
    "prepared/narrow/output_perturbation", "budget/LogisticRegression/objective_perturbation/dp", "bounds/some columns", "search/moments",
]  # fmt: skip


@pytest.mark.slow
def test_other_names_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys were derived from `name`: another word for the same question was other noise."""
    with threadpool_limits(1):
        then = {name: record.exact(record.cases()[name]()) for name in CASES}
        words = {kind.name: f"question {number}" for number, kind in enumerate(QUERIES_BY_NAME.values())}
        for kind in kinds(Query, "name"):
            monkeypatch.setattr(kind, "name", words.get(kind.name, "a sum of a stream"))  # type: ignore[attr-defined]
        for kind in list(QUERIES_BY_NAME.values()):
            monkeypatch.setitem(QUERIES_BY_NAME, kind.name, kind)
        for asked, method in ((PricedQueries, "price"), (Curator, "answer")):
            real = getattr(asked, method)
            monkeypatch.setattr(
                asked, method, lambda self, name, /, *a, real=real, **k: real(self, words.get(name, name), *a, **k)
            )
        now = {name: record.exact(record.cases()[name]()) for name in CASES}
    assert now == then


@contextmanager
def renamed(*kinds: type) -> Iterator[None]:
    """Classes under other names."""
    names = [kind.__name__ for kind in kinds]
    try:
        for kind in kinds:
            kind.__name__ = f"{kind.__name__}Renamed"
        yield
    finally:
        for kind, name in zip(kinds, names, strict=True):
            kind.__name__ = name


def test_other_class_names_lose_no_document(tmp_path: Path) -> None:
    """Saved models, a stream's fingerprint and a ledger's rows named the class: renamed, none would have been found again."""
    more: dict[str, Any] = {"budget": BUDGETS["dp"], "domain": declared()}
    hb.Lasso(**more, solver="moments", test_key=key("label")).fit(table()).save(tmp_path / "before.json")
    stream = {**more, "horizon": 60, "every": 10, "state": tmp_path / "one.state", "test_key": key("label")}
    with hb.streaming.IncrementalRegression(**stream) as one:
        one.partial_fit(table().iloc[:25])
    with renamed(hb.Lasso, hb.streaming.IncrementalRegression):
        model = hb.load(tmp_path / "before.json")
        assert type(model) is hb.Lasso
        model.save(tmp_path / "after.json")
        after, before = (json.loads((tmp_path / f"{one}.json").read_text()) for one in ("after", "before"))
        assert after == before
        with hb.streaming.IncrementalRegression(**stream) as one:
            assert one.begin().position_ == 25
