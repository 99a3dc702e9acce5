"""Whatever a user may write a class of sees released or public numbers only: the same ones over any records, or nothing as it is refused.

Two fits run on tables that have nothing in common but their public facts, the second under the answers of the first. A spy that hears
anything else the second time was shown an exact number. What cannot be shown such numbers only is refused before the charge.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo import geometry
from hullabaloo.data import Encoding, Table, open_table
from hullabaloo.data.sources.base import Gap, Portion, StreamSource
from hullabaloo.errors import HullabalooError
from hullabaloo.geometry import (
    ConvexSet,
    HasElasticForm,
    HasFaces,
    HasGauge,
    HasGreedyForm,
    HasMirrorMap,
    HasProximalForm,
    HasVertices,
    L1Ball,
    L1Penalty,
    Penalty,
    Projectable,
    SeparablePenalty,
    SetFunction,
    SubmodularBall,
    SubmodularPenalty,
)
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.planning.named import SOLVERS, solver_named
from hullabaloo.release.request import ReleaseRequest
from tests.laws.public import public
from tests.laws.spies import Heard, SpyCell, listening, spied
from tests.linear_model import examples
from tests.replay import cases
from tests.replay.exact import exact
from tests.replay.seen import still
from tests.replay.tape import Tape

ROOMS = ("", ".geometry", ".losses", ".solvers", ".streaming", ".data", ".linear_model", ".privacy", ".curator")
CAPABILITIES = (Projectable, HasVertices, HasFaces, HasGauge, HasMirrorMap)
Given = Callable[[Heard], dict[str, Any]]


class ByHand(Penalty):
    """An l1 penalty by its one-dimensional prox."""

    strong_convexity = 0.0

    def value(self, theta: Any) -> float:
        return 0.05 * float(np.abs(theta).sum())

    def prox(self, v: Any, step: float) -> Any:
        return L1Penalty(0.05).prox(v, step)

    def prox_at(self, j: int, v: float, step: float) -> float:
        return float(np.copysign(max(abs(v) - 0.05 * step, 0.0), v))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "by hand"}


def a_set(*bases: type) -> Given:
    return lambda heard: {"constraint": spied(L1Ball(1.0), heard, ConvexSet, *bases)}


def a_penalty(inner: Penalty, *bases: type) -> Given:
    return lambda heard: {"penalty": spied(inner, heard, *bases)}


def a_structure(shape: type, *bases: type) -> Given:
    name = "constraint" if shape is SubmodularBall else "penalty"
    function = hb.Cardinality() if HasGreedyForm in bases else hb.Intervals(4)
    return lambda heard: {name: shape(spied(function, heard, SetFunction, *bases), 0.5)}


def root(columns: frozenset[Any]) -> float:
    return float(len(columns) ** 0.5)


SHAPES: dict[str, Given] = {
    "a set": a_set(*CAPABILITIES),
    "a bare set": a_set(),
    **{f"a set that is {kind.__name__}": a_set(kind) for kind in CAPABILITIES},
    "a penalty": a_penalty(L1Penalty(0.05), Penalty),
    "an elastic penalty": a_penalty(L1Penalty(0.05), Penalty, HasElasticForm),
    "a separable penalty": a_penalty(ByHand(), SeparablePenalty),
    "a structure as ball": a_structure(SubmodularBall, HasProximalForm, HasGreedyForm),
    "a structure as penalty": a_structure(SubmodularPenalty, HasProximalForm, HasGreedyForm),
    "a bare structure": a_structure(SubmodularPenalty),
    "a callable": lambda heard: {"penalty": SubmodularPenalty(hb.CustomSetFunction(listening(root, heard), 4), 0.5)},
}
MINIMISED = ("objective_perturbation", "output_perturbation")
RUNS: dict[str, tuple[str, ...]] = {
    "a set": ("gradient", "adaptive_gradient", "preconditioned_gradient", "mirror_descent", "frank_wolfe", "moments"),
    "a penalty": ("gradient", "moments"),
    "a separable penalty": ("coordinate_descent", "greedy_coordinate_descent"),
    "a structure as ball": ("mirror_descent",),
    "a callable": ("dual_frank_wolfe",),
}
"""Some solvers that work on noisy answers, and so may well take a shape of a user's own."""
QUICK = [("a set", solver) for solver in SOLVERS]
QUICK += [(shape, solver) for shape, some in RUNS.items() if shape != "a set" for solver in (*some, *MINIMISED)]
SEEN_BY: Mapping[type, str] = {
    ConvexSet: "a bare set",
    **{kind: f"a set that is {kind.__name__}" for kind in CAPABILITIES},
    geometry.MirrorMap: "a set that is HasMirrorMap",
    geometry.HasComposite: "a set that is HasMirrorMap",
    Penalty: "a penalty",
    HasElasticForm: "an elastic penalty",
    SeparablePenalty: "a separable penalty",
    SetFunction: "a bare structure",
    HasGreedyForm: "a structure as ball",
    HasProximalForm: "a structure as ball",
}
ELSEWHERE: Mapping[str, str] = {
    "Answers": "what a solver is given, never given by a user",
    "QueryPrices": "what a solver is given, never given by a user",
    "PricedQuery": "what a solver is given; another is refused (test_foreign_solver.py)",
    "Query": "refused in a plan (test_foreign_solver.py)",
    "Loss": "refused by every query (test_foreign_solver.py)",
    "VectorLoss": "refused by every query (test_foreign_solver.py)",
    "Solver": "test_foreign_solver.py",
    "Event": "a price: public, and met by no record",
    "Saved": "a document: released numbers and declarations, and met by no record",
    "Table": "test_the_holder_of_the_records_is_asked_the_same",
    "StreamSource": "test_a_source_is_asked_the_same",
    "PrivateLinearModel": "test_an_estimators_own_methods_are_shown_the_same",
    "PrivateStream": "a stream's own methods get releases, as PrivateLinearModel's",
}


def test_every_public_extension_point_has_a_spy() -> None:
    found = set()
    for room in ROOMS:
        module = import_module(f"hullabaloo{room}")
        found |= {getattr(module, name) for name in public(module) if inspect.isclass(getattr(module, name))}
    open_to_all = {kind for kind in found if inspect.isabstract(kind) or getattr(kind, "_is_protocol", False)}
    assert {kind.__name__ for kind in open_to_all - set(SEEN_BY)} == set(ELSEWHERE)
    assert set(SEEN_BY) <= open_to_all
    assert set(SEEN_BY.values()) <= set(SHAPES)


@contextmanager
def till() -> Iterator[list[str]]:
    """What happens to money and records: "charged", "read"."""
    done: list[str] = []
    with (
        patch.object(ReleaseRequest, "charge", lambda *_: done.append("charged")),
        patch.object(Encoding, "encode", _noting(Encoding.encode, done)),
    ):
        yield done


def _noting(method: Callable[..., Any], done: list[str]) -> Callable[..., Any]:
    def note(*given: Any, **named: Any) -> Any:
        done.append("read")
        return method(*given, **named)

    return note


def outcome(work: Callable[[], Any]) -> Any:
    try:
        return exact(work())
    except HullabalooError as error:
        return type(error).__name__, str(error)


def spies_are_shown_the_same(fit: Callable[[Heard, Any], Any], tables: list[Any]) -> bool:
    """Whether the fit ran: then the spies heard the same over all tables; else nothing was charged or read."""
    tape, first, heard = Tape(), None, []  # type: Tape, Any, Heard
    for place, table in enumerate(tables):
        now: Heard = []
        with still(), till() as done, tape.running(replay=place > 0):
            ended = outcome(lambda: fit(now, table))  # noqa: B023 - used at once
        if place == 0:
            first, heard = ended, now
            assert not (done and ended[0] == "CapabilityError"), "refused after the charge"
            if "charged" not in done:
                assert not done
                return False
        assert ended == first
        assert now == heard, "a spy was shown what depends on records beyond the noisy answers"
    return True


def two_tables() -> list[Any]:
    return [cases.base(), cases.others("replace-one")["all records"]]


def fit_of(name: str, solver: Any, given: Given) -> Callable[[Heard, Any], Any]:
    def fit(heard: Heard, table: Any) -> Any:
        more: dict[str, Any] = {"budget": cases.BUDGET, "domain": examples.domain_for(name), "solver": solver}
        return getattr(hb, name)(**more, **given(heard)).fit(table).coef_

    return fit


@pytest.mark.parametrize(("shape", "solver"), QUICK)
@pytest.mark.few(9)
def test_a_shape_of_ones_own_is_shown_noisy_answers_only(shape: str, solver: str) -> None:
    ran = spies_are_shown_the_same(fit_of("LinearRegression", solver, SHAPES[shape]), two_tables())
    assert ran or solver not in RUNS.get(shape, ())
    assert not (ran and solver in MINIMISED)


def test_a_map_that_eases_points_is_shown_noisy_answers_only() -> None:
    fit = fit_of("LinearRegression", hb.MirrorDescentSolver(composite=0.1), SHAPES["a set that is HasMirrorMap"])
    assert spies_are_shown_the_same(fit, two_tables())


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["LinearRegression", "LogisticRegression", "PoissonRegressor"])
def test_a_shape_of_ones_own_is_shown_noisy_answers_only_in_full(name: str, shape: str, solver: str) -> None:
    tables = [cases.base(), *cases.others("replace-one").values()]
    spies_are_shown_the_same(fit_of(name, solver, SHAPES[shape]), tables)


@pytest.mark.parametrize("solver", ["gradient", "dual_frank_wolfe", "objective_perturbation"])
@pytest.mark.parametrize("more", [{"radius": 1.0}, {"strength": 0.1}], ids=["radius", "strength"])
def test_a_structure_given_as_a_function_is_asked_the_same(more: dict[str, float], solver: str) -> None:
    fit = fit_of("StructuredSparseRegression", solver, lambda heard: {"structure": listening(root, heard), **more})
    assert spies_are_shown_the_same(fit, two_tables()) == (
        solver == "gradient" or (solver == "dual_frank_wolfe" and "strength" in more)
    )


@pytest.mark.parametrize("solver", ["gradient", "moments"])
def test_an_estimators_own_methods_are_shown_the_same(solver: str) -> None:
    """Those that a subclass may write anew, and a ledger's."""
    names = [
        name for name, one in inspect.getmembers(PrivateLinearModel, inspect.isfunction) if name[0] == "_" != name[1]
    ]
    assert len(names) > 5

    def fit(heard: Heard, table: Any) -> Any:
        own = {name: _told(getattr(hb.LinearRegression, name), heard) for name in names}
        kind = type("Mine", (hb.LinearRegression,), own)
        return (
            kind(budget=cases.BUDGET, domain=examples.domain_for("LinearRegression"), solver=solver_named(solver))
            .fit(table)
            .coef_
        )

    assert spies_are_shown_the_same(fit, two_tables())


@pytest.mark.parametrize("solver", ["gradient", "coordinate_descent", "preconditioned_gradient"])
def test_a_callback_is_shown_the_same(solver: str) -> None:
    def fit(heard: Heard, table: Any) -> Any:
        domain = examples.domain_for("LinearRegression")
        model = hb.LinearRegression(budget=cases.BUDGET, domain=domain, solver=solver_named(solver))
        return model.fit(table, callback=lambda *point: heard.append(exact(point))).coef_

    assert spies_are_shown_the_same(fit, two_tables())


def _told(method: Callable[..., Any], heard: Heard) -> Callable[..., Any]:
    def ask(self: Any, *given: Any, **named: Any) -> Any:
        heard.append((method.__name__, exact(given), exact(named)))
        return method(self, *given, **named)

    return ask


@pytest.mark.parametrize("solver", ["gradient", "moments"])
def test_the_holder_of_the_records_is_asked_the_same(solver: str) -> None:
    def fit(heard: Heard, frame: Any) -> Any:
        table = spied(open_table(frame), heard, Table, also=("schema", "n_rows", "numbers"))
        domain = examples.domain_for("LinearRegression")
        return hb.LinearRegression(budget=cases.BUDGET, domain=domain, solver=solver_named(solver)).fit(table).coef_

    assert spies_are_shown_the_same(fit, two_tables())


def test_no_cell_meets_another_records() -> None:
    """An object in a table is its own record's; one that were compared with others would be shown them."""

    def fit(heard: Heard, frame: Any) -> Any:
        table = frame.astype(object).map(lambda value: SpyCell(value, heard))
        domain = hb.Domain(
            features=examples.FEATURES, target={"cost": (-20, 20)}, unit="ill", records_per_unit=40, records=cases.N
        )
        model = hb.LinearRegression(budget=cases.BUDGET, domain=domain, solver="moments")
        return model.fit(table).coef_

    assert spies_are_shown_the_same(fit, two_tables())
    heard: Heard = []
    with till():
        fit(heard, cases.base())
    assert heard == []


def test_a_mapping_and_a_set_of_a_stream_are_asked_the_same() -> None:
    class Record(Mapping[str, Any]):
        def __init__(self, cells: dict[str, Any], heard: Heard) -> None:
            self.cells, self.heard = cells, heard

        def __getitem__(self, name: str) -> Any:
            self.heard.append(("cell", name))
            return self.cells[name]

        def __iter__(self) -> Iterator[str]:
            self.heard.append("names")
            return iter(self.cells)

        def __len__(self) -> int:
            return len(self.cells)

    def learn(heard: Heard, frame: Any) -> Any:
        domain = hb.Domain(features={"age": (18, 90), "hours": (0, 80)}, target={"cost": (-20, 20)}, indicators=False)
        body = spied(L1Ball(1.0), heard, ConvexSet, *CAPABILITIES)
        stream = hb.streaming.IncrementalRegression(
            budget=cases.BUDGET, domain=domain, horizon=cases.N, every=20, constraint=body
        )
        for _, row in frame.iterrows():
            stream.learn_one(Record({"age": row["age"], "hours": row["hours"]}, heard), row["cost"])
        return stream.coef_

    tape, heard = Tape(), [[], []]  # type: Tape, list[Heard]
    found = []
    for place, table in enumerate(two_tables()):
        with tape.running(replay=place > 0):
            found.append(exact(learn(heard[place], table)))
    assert found[0] == found[1]
    assert heard[0] == heard[1] != []


def test_a_source_is_asked_the_same() -> None:
    """Of where and how many, never with a record."""

    class Mine(StreamSource):
        def __init__(self, frame: Any, heard: Heard) -> None:
            self.frame, self.heard, self.at = frame, heard, 0

        @property
        def schema(self) -> Any:
            return open_table(self.frame).schema

        def _find(self, mark: Any) -> bool:
            self.heard.append(("find", exact(mark)))
            return False

        def _rewind(self, start: int) -> int:
            self.heard.append(("rewind", start))
            self.at = 0
            return 0

        def _next(self, most: int) -> Portion | Gap:
            self.heard.append(("next", most))
            part = self.frame.iloc[self.at : self.at + most]
            self.at += len(part)
            return Portion(len(part), lambda: open_table(part)) if len(part) else Gap.END

        def _place(self) -> Mapping[str, Any] | None:
            return {"offset": self.at}

    heard: list[Heard] = [[], []]
    for place, table in enumerate(two_tables()):
        counts = [
            batch.count for batch in Mine(table, heard[place]).batches(7, cut=lambda position: position // 20 * 20 + 20)
        ]
        assert sum(counts) == cases.N - 7
    assert heard[0] == heard[1] != []
