"""A solver of a user's own gets noisy answers and nothing else: not by what it hands over, not from errors, not from the curator itself."""

import copy
import math
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.curator import Curator
from hullabaloo.data import Rows
from hullabaloo.data.grid import Grid
from hullabaloo.errors import CapabilityError, HullabalooError, InvalidParameter, NotPaidFor
from hullabaloo.geometry import (
    ConvexSet,
    HasVertices,
    L1Ball,
    L1Penalty,
    NoPenalty,
    Penalty,
    Projectable,
    SeparableForm,
    SeparablePenalty,
    with_intercept,
)
from hullabaloo.losses import Loss, Squared
from hullabaloo.losses.readings import Reading, Reads
from hullabaloo.losses.scores import Moments, Score, SquaredError
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours, NotPrivateEvent
from hullabaloo.queries import QUERIES, PricedQueries
from hullabaloo.release.release import _renamed
from hullabaloo.solvers import Answers, Plan, Problem, QueryPrices, Solution, Solver
from hullabaloo.solvers.gradient.gradient import GradientSolver
from tests.laws.spies import Heard, SpyArray, SpyNumber, spied
from tests.laws.test_foreign_code import ByHand, spies_are_shown_the_same
from tests.linear_model import examples
from tests.replay import cases
from tests.replay.exact import exact
from tests.replay.tape import VIEWS, answering

TINY = 1e-3
LOSS = Squared()
SIZES: dict[str, Any] = {"clip": 0.5, "mu": TINY, "count": 1}
SHAPED: dict[str, Any] = {"feasible": with_intercept(L1Ball(1.0), -1.0, 1.0), "penalty": NoPenalty()}
READING = Reading(Reads.NUMBERS, low=(-1.0,), high=(1.0,), names=("cost",), span=(40.0,), origin=(-20.0,))

BUYS: Mapping[str, dict[str, Any]] = {
    "gradient": {"loss": LOSS, **SIZES},
    "means": {"mu": TINY},
    "norm_histogram": {"loss": LOSS, "bins": 4, "mu": TINY},
    "score": {"reading": READING, "tallies": (Moments(SquaredError(0, 40.0)),), "mu": TINY},
    "centred_gradient": {"loss": LOSS, "mu": TINY},
    "covariance": {"mu": TINY},
    "gradient_moments": {"loss": LOSS, "mu": TINY},
    "coordinate_gradient": {"loss": LOSS, "mu": TINY, "count": 3},
    "vertex": {"constraint": with_intercept(L1Ball(1.0), -1.0, 1.0), "loss": LOSS, "clip": 0.5, "epsilon": TINY},
    "select": {"loss": LOSS, "clip": 0.5, "epsilon": TINY},
    "output_perturbation": {"loss": LOSS, **SIZES, **SHAPED, "ridge": 0.1, "linear_bound": 1.0},
    "laplace_minimiser": {
        "loss": LOSS,
        "clip": 0.5,
        **SHAPED,
        "ridge": 0.1,
        "linear_bound": 1.0,
        "epsilon": TINY,
    },
    "objective_perturbation": {
        "loss": LOSS,
        "clip": 0.5,
        **SHAPED,
        "ridge": 1e3,
        "noise_multiplier": 1e3,
        "curvature": 1.0,
        "output_multiplier": 1e3,
    },
    "moments": {"mu": TINY, "target_scale": 3.0},
    "second_moments": {"mu": TINY},
    "second_moments_laplace": {"epsilon": TINY},
    "quantiles": {"values": (0,), "missing": (-1,), "grids": (Grid(-1.0, 1.0),), "shares": (0.1, 0.1), "epsilon": TINY},
}
"""How every query is bought, of a table of five encoded columns."""

DEAR = ("objective_perturbation",)
"""What takes seconds to price beside others, and is asked without an argument."""

HARMLESS = ("/tape.py", "/test_foreign_solver.py", "/copy.py")
"""Files whose frames hold no more than the question: the replay's, this one, and what notes addresses."""


def bought(prices: Any, name: str) -> Any:
    return prices.price(name, **BUYS[name])


def asks(heard: Heard) -> Mapping[str, dict[str, Any]]:
    """Every question with arrays and numbers that tell what is computed with them."""

    def array(values: Any) -> Any:
        return SpyArray.of(values, heard)

    def number(value: float) -> Any:
        return SpyNumber.of(value, heard)

    point, ones = array(np.full(5, 0.1)), array(np.ones(5))
    seen: dict[str, Any] = {"theta": point, "centre": array(np.zeros(5)), "intercept_weight": number(1.0)}
    form = SeparableForm(array(np.zeros(5)), array(np.zeros(5)), array(-np.ones(5)), array(np.ones(5)))
    return {
        "gradient": {"theta": point},
        "means": {},
        "norm_histogram": {**seen, "edges": array([0.1, 0.2, 0.3])},
        "score": {"theta": point},
        "centred_gradient": {**seen, "clip_norm": number(0.5)},
        "covariance": {"centre": array(np.zeros(4)), "clip_norm": number(0.5)},
        "gradient_moments": {
            "theta": point,
            "of": "gradients",
            "intercept_weight": number(1.0),
            "clip_norm": number(0.5),
        },
        "coordinate_gradient": {"theta": point, "order": array([0, 1]), "clips": ones, "steps": ones, "form": form},
        "vertex": {"theta": point},
        "select": {
            "theta": point,
            "excluded": array([True, False, False, False, False]),
            "clip": number(0.25),
            "within": (array(np.full(5, -0.1)), array(np.full(5, 0.1))),
        },
        "output_perturbation": {"linear": array(np.zeros(5))},
        "laplace_minimiser": {"linear": array(np.zeros(5))},
        "objective_perturbation": {},
        "moments": {},
        "second_moments": {},
        "second_moments_laplace": {},
        "quantiles": {},
    }


def looks(heard: Heard) -> Mapping[str, dict[str, Any]]:
    """Every view of the curator."""
    return {
        "of_target": {"target": 0},
        "restricted": {"columns": SpyArray.of([0, 2], heard)},
        "projected": {"matrix": SpyArray.of(np.eye(5), heard)},
        "centred": {"centre": SpyArray.of(np.full(5, 0.1), heard)},
    }


def test_every_query_is_bought_and_every_question_is_asked_here() -> None:
    assert set(QUERIES) == set(BUYS) == set(asks([]))
    assert [name for owner, name in answering() if owner is Curator] == ["answer", "give_up"]
    assert set(VIEWS) == set(looks([]))


@dataclass(eq=False)
class Nosy(Solver):
    """A solver that buys every query, asks with spies, asks for more than was paid, and looks into every error."""

    heard: Heard = field(default_factory=list)
    name = "nosy"

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Any) -> Plan:
        return Plan(self.name, tuple(bought(prices, name) for name in BUYS if name not in DEAR))

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        for name, given in {**asks(self.heard), **looks(self.heard)}.items():
            method = getattr(curator, name) if name in VIEWS else partial(curator.answer, name)
            self._try(lambda method=method, given=given: method(**given))
            for wrong in ({}, {key: np.zeros(3) for key in given}, dict.fromkeys(given, "text"), given):
                self._try(lambda method=method, wrong=wrong: method(**wrong))
        self.heard.append([name for name in dir(curator) if not callable(getattr(curator, name))])
        for count in (0, -1, 10**6, 1.5, "text"):
            self._try(lambda count=count: curator.give_up(count))
        looking: list[Callable[[Any], Any]] = [
            repr, str, copy.copy, copy.deepcopy, pickle.dumps, vars,
            lambda one: one.__getstate__(), lambda one: one.__reduce_ex__(4), lambda one: one.__reduce__(),
        ]  # fmt: skip
        for look in looking:
            self._try(lambda look=look: look(curator))
        return Solution(theta=np.zeros((problem.dimension, 1)))

    def _try(self, work: Callable[[], Any]) -> None:
        try:
            self.heard.append(exact(work()))
        except Exception as error:
            self.heard.append(list(_told(error)))

    predicted_risk = GradientSolver.predicted_risk  # type: ignore[assignment]


def _told(error: BaseException | None) -> Any:
    """All that an exception carries along: words, causes, and the variables of the frames that it came through, but for tests'."""
    while error is not None:
        yield type(error).__name__, str(error), exact(error.args)
        step = error.__traceback__
        while step is not None:
            if not step.tb_frame.f_code.co_filename.endswith(HARMLESS):
                named = {
                    name: one
                    for name, one in step.tb_frame.f_locals.items()
                    if name not in ("self", "answer", "error", "fault")
                }
                yield step.tb_frame.f_code.co_name, exact(named)
            step = step.tb_next
        error = error.__cause__ or error.__context__


def model(solver: Any) -> Any:
    domain = examples.domain_for("LinearRegression", records=cases.N)
    budget, relation = hb.Budget(50.0, 1e-3), "add-or-remove"
    return hb.LinearRegression(
        budget=budget, domain=domain, solver=solver, neighbours=relation, constraint=hb.L1Ball(1.0)
    )


def test_a_solver_hears_nothing_but_answers() -> None:
    tables = [cases.base(), *cases.others("add-or-remove").values()]
    assert spies_are_shown_the_same(lambda heard, table: model(Nosy(heard)).fit(table).coef_, tables)


def leaves(value: Any) -> Iterator[Any]:
    """Whatever a question is made of."""
    if isinstance(value, tuple | list):
        for one in value:
            yield from leaves(one)
    elif is_dataclass(value):
        for one in fields(value):
            yield from leaves(getattr(value, one.name))
    else:
        yield value


def test_a_question_holds_no_number_of_a_solvers_own() -> None:
    """Where compiled code meets the records a number of any class is turned into a double, and a spy hears nothing; elsewhere it would."""
    paid: list[Any] = []

    class Asking(Nosy):
        def plan(self, problem: Problem, prices: QueryPrices, allowance: Any) -> Plan:
            plan = super().plan(problem, prices, allowance)
            paid.extend(plan.queries)
            return plan

    model(Asking()).fit(cases.base())
    found = {query.name: list(leaves(query.question(**asks([])[query.name]))) for query in paid}
    assert set(found) == {name for name in BUYS if name not in DEAR}
    own = {name for name, those in found.items() if any(isinstance(one, SpyArray | SpyNumber) for one in those)}
    assert own == set()


def test_what_was_asked_with_spies_was_answered() -> None:
    """Else nothing would have met the records."""
    heard: Heard = []
    model(Nosy(heard)).fit(cases.base())
    answered = [one for one in heard if not isinstance(one, list)]
    assert len(answered) >= len(BUYS) + len(VIEWS)


class Straight(Score):
    """A score of a user's own."""

    of = SquaredError.of
    bounds = (0.0, 1.0)


STRANGE: Mapping[str, Callable[[], Any]] = {
    "loss": lambda: spied(Squared(), [], Loss),
    "constraint": lambda: with_intercept(spied(L1Ball(1.0), [], ConvexSet, Projectable, HasVertices), -1.0, 1.0),
    "feasible": lambda: spied(L1Ball(1.0), [], ConvexSet, Projectable),
    "penalty": lambda: spied(L1Penalty(0.1), [], Penalty),
    "reading": type("Mine", (), {}),
    "tallies": lambda: (Moments(Straight()),),
    "grids": lambda: (type("Mine", (), {"points": np.linspace(-1, 1, 5)})(),),
}
"""What a query may be made of that somebody else may write."""


def prices() -> PricedQueries:
    encoding = model("gradient")._encoding(None, None)
    return PricedQueries(encoding.facts, Neighbours.ADD_OR_REMOVE, cases.N)


@pytest.mark.parametrize("name", BUYS)
def test_no_query_is_made_of_strangers(name: str) -> None:
    """Every parameter that is neither a number nor a list of numbers, whatever its query does with it."""
    shop, named = prices(), BUYS[name]
    open_to_all = {key for key, one in named.items() if not _is_number(one)}
    assert open_to_all <= set(STRANGE)
    for key in open_to_all:
        changed = {**named, key: STRANGE[key]()}
        with pytest.raises(CapabilityError, match="not the library's own code"):
            shop.price(name, **changed)
        if name == "gradient":  # nothing is promised, and nothing refused
            shop.price(name, **{**changed, "mu": math.inf})


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int) or (isinstance(value, tuple) and all(map(_is_number, value)))


@pytest.mark.parametrize("name", BUYS)
def test_a_query_is_told_of_by_the_name_that_it_is_asked_by(name: str) -> None:
    """Statements, cards and plans look it up by that name, and a file that is read again has no other."""
    assert bought(prices(), name).to_dict()["name"] == name == _renamed({"name": QUERIES[name].key_label})["name"]


@pytest.mark.parametrize("name", BUYS)
def test_no_query_is_priced_by_numbers_that_compute_as_they_like(name: str) -> None:
    shop, named = prices(), BUYS[name]
    for key, value in named.items():
        if not isinstance(value, float):
            continue
        try:
            query = shop.price(name, **{**named, key: SpyNumber.of(value, [])})
        except HullabalooError:
            continue
        assert shop.own(query) is None


@pytest.mark.parametrize("name", BUYS)
def test_no_query_of_a_class_of_ones_own_is_sold(name: str) -> None:
    """Whatever it says of itself, and be it that it promises nothing and needs no look."""
    shop = prices()
    query = copy.copy(bought(shop, name))
    assert shop.own(query) is not None
    own: type[Any] = type("Own", (type(query),), {"__slots__": (), "is_private": False})
    object.__setattr__(query, "__class__", own)
    assert shop.own(query) is None


@pytest.mark.parametrize("name", ["gradient", "moments", "select"])
def test_what_a_solver_writes_beside_a_query_is_not_believed(name: str) -> None:
    """A query keeps what it works out in its own record, where a solver could write a price of its choice: it is forgotten before
    the price is taken, and the curator keeps queries of its own."""
    shop = prices()
    query, honest = bought(shop, name), bought(shop, name)
    vars(query).update(event=NotPrivateEvent(), sensitivity=1e-9, sigma=1e-9)
    query = shop.own(query)
    assert (query.event, query.sensitivity) == (honest.event, honest.sensitivity)
    curator = Curator(Rows(np.full((cases.N, 5), 0.1), np.ones((cases.N, 1))), [query], key=TestKey(bytes(32)))
    object.__setattr__(query, "count", 5)
    vars(query).update(sensitivity=1e-9, sigma=0.0)
    given = {} if name == "moments" else {"theta": np.zeros(5)}
    found = curator.answer(name, **given)
    plain = Curator(Rows(np.full((cases.N, 5), 0.1), np.ones((cases.N, 1))), [honest], key=TestKey(bytes(32)))
    assert exact(found) == exact(plain.answer(name, **given))
    with pytest.raises(NotPaidFor):
        curator.answer(name, **given)


def test_facts_that_say_they_are_equal_are_not_believed() -> None:
    class Agreeable:
        width, intercept = 5, True

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    shop = prices()
    query = copy.copy(bought(shop, "gradient"))
    object.__setattr__(query, "facts", Agreeable())
    assert shop.own(query) is None


def test_a_plan_whose_quotes_are_not_the_same_twice_is_refused() -> None:
    class Changing(list):  # type: ignore[type-arg]
        pass

    @dataclass(eq=False)
    class Turncoat(Nosy):
        def plan(self, problem: Problem, prices: QueryPrices, allowance: Any) -> Plan:
            return Plan(self.name, Changing([bought(prices, "gradient")]))  # type: ignore[arg-type]

    with pytest.raises(InvalidParameter, match="not made by the prices"):
        model(Turncoat()).fit(cases.base())


def test_a_prox_of_ones_own_does_not_run_beside_records() -> None:
    """Its frames would: what it raises would take them along."""
    form = SeparableForm(*np.zeros((2, 5)), -np.ones(5), np.ones(5), own=spied(ByHand(), [], SeparablePenalty))

    @dataclass(eq=False)
    class Asking(Nosy):
        def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
            about = {"clips": np.ones(5), "steps": np.ones(5)}
            curator.answer("coordinate_gradient", np.zeros(5), order=np.array([0]), form=form, **about)
            raise AssertionError

    with pytest.raises(InvalidParameter, match="no other code runs beside records"):
        model(Asking()).fit(cases.base())
