"""What a solver of a user's own hands over can run code when it is converted, change between two looks, or round as it likes: nothing of it pays or counts."""

import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.curator import Curator, score
from hullabaloo.curator.known import anything, numbers
from hullabaloo.curator.query import Query
from hullabaloo.data import Rows
from hullabaloo.errors import HullabalooError, InvalidParameter, NotPaidFor
from hullabaloo.geometry import Polytope
from hullabaloo.losses.ranks import Ranks
from hullabaloo.losses.readings import Reading, Reads
from hullabaloo.losses.scores import BinnedResiduals, Bins, ClassTotals, Moments, PinballError, SquaredError
from hullabaloo.noise import TestKey
from hullabaloo.privacy import GaussianEvent, Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.solvers import Plan, Problem, QueryPrices, Solution, Solver
from tests.curator.test_score import ASKED as ASKED_SCORES
from tests.curator.test_score import query as query_of
from tests.laws.test_foreign_solver import BUYS, DEAR, asks, bought, prices
from tests.replay import cases

KEY = TestKey(bytes(32))
ASKED = {name: given for name, given in asks([]).items() if given and name not in DEAR}


def curator(name: str, **about: Any) -> Curator:
    rows = Rows(np.full((cases.N, 5), 0.1), np.ones((cases.N, 1)))
    query = prices().price(name, **{**BUYS[name], **about})
    assert prices().own(query) is not None
    return Curator(rows, [query], key=KEY)


class Again:
    """A number or an array that does something whenever it is converted."""

    def __init__(self, value: Any, act: Callable[[], object]) -> None:
        self.value, self.act = value, act

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.act()
        return np.array(self.value, dtype=dtype)

    def __float__(self) -> float:
        self.act()
        return float(self.value)

    def __iter__(self) -> Iterator[Any]:
        self.act()
        return iter(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, place: int) -> Any:
        return self.value[place]


def plain(value: Any) -> Any:
    """The same question without ears."""
    if isinstance(value, np.ndarray):
        return np.array(value, dtype=value.dtype if value.dtype.kind in "biu" else np.float64)
    return (
        tuple(map(plain, value))
        if isinstance(value, tuple | list)
        else float(value)
        if isinstance(value, float)
        else value
    )


PLACES = [
    (name, key) for name, given in ASKED.items() for key in given if key not in ("form", "of")
]  # a text is not converted


@pytest.mark.parametrize(("name", "key"), PLACES)
def test_a_question_that_asks_while_it_is_made_gets_no_more_answers(name: str, key: str) -> None:
    """The number of answers that were left was looked at before the question was converted, and counted after: one was paid for, fifty-one were given."""
    asked = curator(name)
    given = {one: plain(value) for one, value in ASKED[name].items()}
    paid, answers, depth = int(BUYS[name].get("count", 1)), [], [4]

    def once_more() -> None:
        if depth[0]:
            depth[0] -= 1
            with suppress(HullabalooError, TypeError):  # TypeError: this one is not taken as an object of that kind
                answers.append(asked.answer(name, **{**given, key: Again(given[key], once_more)}))

    once_more()
    times = len(given["order"]) if name == "coordinate_gradient" else 1  # what one question takes
    assert len(answers) == paid // times  # the first to be converted is answered, and no other beyond what was paid for


def test_threads_share_what_was_paid_for() -> None:
    """Looked at and counted in two steps, one answer was given to several threads."""
    for _ in range(20):
        asked, barrier, found = curator("gradient", count=1), threading.Barrier(4), []

        def ask(asked: Curator = asked, barrier: Any = barrier, found: Any = found) -> None:
            point = Again(np.zeros(5), barrier.wait)
            with suppress(NotPaidFor):
                found.append(asked.answer("gradient", point))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert len(found) == 1


def heard_of_children(ask: Callable[[], object], *, begun: bool = True) -> bytes:
    """What forked children hear when they ask, one letter each: "a" for an answer; `begun`, the child is made here, else while it is asked."""
    here, (receive, send) = os.getpid(), os.pipe()
    if not begun or os.fork() == 0:
        told = b"a"
        try:
            ask()
        except NotPaidFor:
            told = b"r"
        except BaseException:
            told = b"?"
        if os.getpid() != here:  # pragma: no cover - a child, which must not go on as a test runner
            os.write(send, told)
            os._exit(0)
    os.close(send)
    said = b"".join(iter(lambda: os.read(receive, 64), b""))
    os.close(receive)
    with suppress(ChildProcessError):  # that ended; servers that other tests have started go on
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return said


@pytest.mark.parametrize("name", [name for name in BUYS if name not in DEAR])
def test_a_forked_child_is_not_answered(name: str) -> None:
    """A child counts in a copy of its own: each of a pool's processes was given the one answer that was paid for."""
    asked, given = curator(name), {one: plain(value) for one, value in ASKED.get(name, {}).items()}
    assert heard_of_children(lambda: asked.answer(name, **given)) == b"r"
    asked.answer(name, **given)


def test_a_forked_child_with_the_number_of_its_parent_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a namespace of its own, or after its parent's end."""
    asked, here, known = curator("gradient", count=1), os.getpid(), os.getpid

    def ask() -> None:
        if known() != here:  # pragma: no cover - the child
            with monkeypatch.context() as patched:
                patched.setattr(os, "getpid", lambda: here)
                asked.answer("gradient", np.zeros(5))

    assert heard_of_children(ask) == b"r"
    asked.answer("gradient", np.zeros(5))


def test_a_question_that_forks_while_it_is_made_is_answered_once() -> None:
    asked, here, found = curator("gradient", count=1), os.getpid(), []
    point = Again(np.zeros(5), lambda: os.getpid() == here and os.fork())
    said = heard_of_children(lambda: found.append(asked.answer("gradient", point)), begun=False)
    assert len(found) == 1
    assert said
    assert set(said) == set(b"r")


class Shifting:
    """A number that is infinite while it is asked whether there is noise, and another afterwards."""

    def __init__(self, value: float, looks: int) -> None:
        self.value, self.looks = value, looks

    def __float__(self) -> float:
        self.looks -= 1
        return float("inf") if self.looks >= 0 else self.value

    def __gt__(self, other: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return False

    def __rtruediv__(self, other: float) -> float:
        return other / self.value


NUMBERS = [(name, key) for name, given in BUYS.items() for key, value in given.items() if type(value) in (int, float)]
KINDS: dict[str, Callable[[Any], Any]] = {
    "shifting": lambda value: Shifting(value, 2),
    "a subclass of float": type("Own", (float,), {}),
    "a subclass of int": type("Own", (int,), {}),
    "long double": np.longdouble,
    "text": str,
    "true": lambda value: True,
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_query_is_bought_of_numbers_of_another_kind(kind: str) -> None:
    """One that was infinite while it was checked, and finite when noise was drawn, gave exact sums."""
    for name, key in NUMBERS:
        query = None
        with suppress(HullabalooError, TypeError, ValueError, ArithmeticError):
            query = prices().price(name, **{**BUYS[name], key: KINDS[kind](BUYS[name][key])})
        assert query is None or prices().own(query) is None, (name, key)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.uint64, np.float16, np.float32, np.float64])
def test_numbers_of_numpy_are_priced_as_what_they_hold(kind: Any) -> None:
    """16² is 0 in eight bits: the sensitivity of moments was 1 in place of 257, and counts wrapped around to 2^64 − 1."""
    for name, key in NUMBERS:
        try:
            given = kind(16 if key in ("target_scale", "bins") else BUYS[name][key])
            query = prices().price(name, **{**BUYS[name], key: given})
        except (HullabalooError, TypeError, ValueError, ArithmeticError):
            continue
        found = prices().own(query)
        if found is None:
            continue
        held = getattr(found, key)
        assert type(held) in (int, float), (name, key)
        honest = prices().own(prices().price(name, **{**BUYS[name], key: type(held)(given.item())}))
        assert honest is not None, (name, key)
        assert found.to_dict() == honest.to_dict(), (name, key)
        assert found.event == honest.event, (name, key)


@pytest.mark.parametrize("name", [name for name in BUYS if name not in DEAR])
def test_what_is_bought_is_out_of_reach(name: str) -> None:
    """A plan's queries stay the solver's: what it writes to them after they were bought moves neither price nor noise, and nor do its shapes' arrays."""
    query = bought(prices(), name)
    found = prices().own(query)
    assert found is not None
    before = (found.to_dict(), found.event)
    for key, value in list(vars(query).items()):
        if type(value) in (int, float):
            vars(query)[key] = 1e9
    vars(query).update(event=GaussianEvent(1e5, 1), sigma=1e-9, sensitivity=1e-9)
    assert (found.to_dict(), found.event) == before
    vertices = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [-1.0, -1.0, 0.0, 0.5]])
    body = hb.Polytope(vertices)
    made = prices().price("vertex", **{**BUYS["vertex"], "constraint": hb.geometry.with_intercept(body, -1.0, 1.0)})
    kept = prices().own(made)
    assert kept is not None
    least = kept.to_dict()
    body.vertices.setflags(write=True)
    body.vertices[:] *= 1e4
    assert prices().own(kept) is not None
    assert kept.to_dict() == least


@dataclass(eq=False)
class Writer(Solver):
    """Writes to its own queries while it runs, as a solver that wants less noise would."""

    planned: ClassVar[list[Any]] = []
    name: ClassVar[str] = "writer"

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Any) -> Plan:
        query = prices.price("gradient", loss=problem.loss, clip=1.0, mu=allowance.mu)
        self.planned.append(query)
        return Plan(self.name, (query,))

    def run(self, problem: Problem, plan: Plan, curator: Any) -> Solution:
        for query in self.planned:
            vars(query).update(mu=1e4, event=GaussianEvent(1e5, 1), sigma=1e9)
        return Solution(curator.answer("gradient", np.zeros(problem.dimension))[:, None])

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        return 1.0


@dataclass(eq=False)
class Honest(Writer):
    """The same without writing."""

    def run(self, problem: Problem, plan: Plan, curator: Any) -> Solution:
        return Solution(curator.answer("gradient", np.zeros(problem.dimension))[:, None])


def test_a_solver_that_writes_to_its_queries_gets_what_was_charged() -> None:
    """The statement was made of the solver's own records after the run, and a stream's later fits were drawn by them."""
    domain = hb.Domain(row_norm=1.0, target=(-1, 1))
    rows = np.full((40, 3), 0.2)
    found = [
        hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, solver=solver, test_key=KEY).fit(
            rows, rows[:, 0]
        )
        for solver in (Writer(), Honest())
    ]
    assert np.array_equal(found[0].release_.theta, found[1].release_.theta)
    assert found[0].statement_.event == found[1].statement_.event
    assert found[0].statement_.query_noise == found[1].statement_.query_noise
    assert found[0].release_.plan["queries"] == found[1].release_.plan["queries"]


def test_a_stream_draws_every_fit_by_what_was_charged() -> None:
    """Its later fits were drawn by the solver's own records, as they were by then."""
    domain, rows, found = hb.Domain(row_norm=1.0, target=(-1, 1)), np.full((40, 3), 0.2), []
    for solver in (Writer(), Honest()):
        model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-6), domain=domain, solver=solver, test_key=KEY)
        stream = hb.streaming.PeriodicERM(model, horizon=40, every=20)
        stream.partial_fit(rows, rows[:, 0])
        found.append(stream.model_at().release_)
    assert np.array_equal(found[0].theta, found[1].theta)
    assert found[0].statement.event == found[1].statement.event


def test_nobody_hears_what_numpy_finds_wrong_with_records() -> None:
    """A question that set NumPy's handler while it was converted was told of each underflow of an exact score: whether |g| is below a threshold."""
    told: list[str] = []
    before, old = np.seterrcall(lambda kind, flag: told.append(kind)), np.geterr()
    try:
        for least in 1e-308 * np.logspace(-3.0, 3.0, 13):
            point = Again(np.zeros(5), lambda: np.seterr(all="call"))
            corners = Polytope(np.diag([least, 1.0, 1.0, 1.0, 1.0]))
            assert 0 <= curator("vertex", constraint=corners).answer("vertex", point) < 5
    finally:
        np.seterrcall(before)
        np.seterr(**old)
    assert told == []


@pytest.mark.parametrize("name", [name for name in ASKED if "theta" in ASKED[name]])
@pytest.mark.parametrize("shape", [(0,), (1,), (4,), (6,), (5, 1, 1)])
def test_coefficients_of_another_shape_are_refused_before_anything_is_spent(name: str, shape: tuple[int, ...]) -> None:
    """Kernels read as many numbers as there are columns: of fewer, they read what lay in memory behind them."""
    asked = curator(name)
    given = {one: plain(value) for one, value in ASKED[name].items()}
    with pytest.raises(InvalidParameter):
        asked.answer(name, **{**given, "theta": np.zeros(shape)})
    asked.answer(name, **given)


@pytest.mark.parametrize("size", [1, 2, 9])
def test_a_linear_term_of_another_size_is_refused_before_anything_is_spent(size: int) -> None:
    asked = curator("output_perturbation")
    with pytest.raises(InvalidParameter):
        asked.answer("output_perturbation", np.zeros(size))
    asked.answer("output_perturbation", np.zeros(5))


def test_arrays_of_a_form_are_the_curators_own() -> None:
    """The form's arrays were kept, and shortened by whoever held them: what lay behind them was released."""
    asked, given = (
        curator("coordinate_gradient"),
        {one: plain(value) for one, value in ASKED["coordinate_gradient"].items() if one != "form"},
    )
    form = hb.geometry.SeparableForm(np.zeros(5), np.zeros(5), -np.ones(5), np.ones(5))

    def shorten() -> None:
        form.upper.setflags(write=True)
        form.upper.resize((1,), refcheck=False)

    with pytest.raises((InvalidParameter, TypeError)):
        asked.answer("coordinate_gradient", **{**given, "theta": Again(given["theta"], shorten)}, form=form)


def test_nothing_answers_without_the_seal() -> None:
    assert not hasattr(Curator.answer, "__wrapped__")


SCORES: dict[str, Any] = {
    "no reach": SquaredError(0, 2.0, 0.0),
    "a reach below 0": SquaredError(0, 2.0, -1e-4),
    "no quantile": PinballError(0, 2.0, float("nan")),
    "a quantile beyond 1": PinballError(0, 2.0, 7.0),
}


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("ends", [(-1.0, 1.0), (0.0, 0.0), (float("nan"), 1.0)])
def test_scores_of_any_public_numbers_stay_within_their_sensitivity(kind: str, ends: tuple[float, float]) -> None:
    """Of errors counted up to 0, a record without an error was 0/0: it moved the sum by thousands."""
    reading = Reading(Reads.NUMBERS, low=(ends[0],), high=(ends[1],), names=("cost",), span=(2.0,), origin=(-1.0,))
    query = prices().own(prices().price("score", reading=reading, tallies=(Moments(SCORES[kind]),), mu=math.inf))
    assert query is not None
    X, most = (
        np.full((cases.N, 5), 0.1),
        prices().price("score", reading=reading, tallies=(Moments(SCORES[kind]),), mu=1.0),
    )
    for value in (-1.0, 0.0, 0.5, 1.0):
        Y = np.full((cases.N, 1), 0.5)
        first = query.exact(Rows(X, Y), np.zeros((5, 1)))  # type: ignore[attr-defined]
        Y[0] = value
        second = query.exact(Rows(X, Y), np.zeros((5, 1)))  # type: ignore[attr-defined]
        assert np.linalg.norm(first - second) <= 2.0 * most.sensitivity  # one record out, another in


@pytest.mark.few(1)
@pytest.mark.parametrize("targets", [1, 2, 3, 8])
def test_tallies_of_any_reading_stay_within_their_sensitivity(targets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Totals of 8 classes of 8 numbers moved 1.6 times as far as was stated; of a reading of more classes they were written behind the sum; a reach of 0 made NaN."""
    monkeypatch.setattr(score, "blockwise", lambda rows, block, shape, exponent, of: of(slice(0, rows)))
    names, low, high = tuple(map(str, range(targets))), (-1.0,) * targets, (1.0,) * targets
    asked = replace(prices(), facts=replace(prices().facts, targets=names), neighbours=Neighbours.ADD_OR_REMOVE)
    odd, rng, made = (0.0, -1.0, math.nan, 1e-300, 1.0), np.random.default_rng(5), 0
    for reads, classes, ends in product(Reads, (0, 1, 2, 3, 8), (True, False)):
        reading = Reading(reads, *((low, high) if ends else ()), names=names, classes=classes)
        tallies = [*map(ClassTotals, (1, 2, 3, 8)), *(BinnedResiduals(reading, 4, 0, reach) for reach in odd)]
        tallies += [*(Ranks(low, high) for low in odd for high in odd)]
        tallies += [Bins(reading, 4, targets - 1), *(Moments(SquaredError(0, 2.0, reach)) for reach in odd)]
        for tally in tallies:
            with suppress(InvalidParameter):
                query = asked.price("score", reading=reading, tallies=(tally,), mu=1.0)
                for _ in range(20):
                    Y, theta = (
                        rng.choice([-1.0, 1.0, 0.3], (1, targets)),
                        rng.choice([0.0, -1e3, 1e3, math.nan, 1.0], (5, targets)),
                    )
                    with suppress(IndexError):
                        part = query.partial(Rows(np.full((1, 5), 0.1), Y), theta)
                        made += 1
                        assert part.size <= query.length
                        assert np.linalg.norm(part) <= query.record_sensitivity
    assert made > 400


class Evil(Exception):
    """An error with methods of its own, which look at the frames that it came through."""

    seen: ClassVar[list[str]] = []

    def look(self) -> None:
        trace = self.__traceback__
        while trace is not None:
            Evil.seen.extend(name for name, value in trace.tb_frame.f_locals.items() if isinstance(value, Rows))
            Evil.seen.extend("query" for value in trace.tb_frame.f_locals.values() if isinstance(value, Query))
            trace = trace.tb_next

    def with_traceback(self, tb: Any) -> Any:
        self.look()
        return super().with_traceback(tb)

    def __setattr__(self, name: str, value: Any) -> None:
        self.look()
        super().__setattr__(name, value)


class Word(str):
    """A name of a module that looks at the error that is handled while it is read."""

    def partition(self, sep: str) -> Any:
        error = sys.exception()
        if isinstance(error, Evil):
            error.look()
        return super().partition(sep)


def test_no_method_of_an_error_runs_where_numbers_lie() -> None:
    """Its `with_traceback` was called inside the curator, and found the query that noise was then drawn by."""

    def fail() -> None:
        raise Evil

    Evil.seen.clear()
    with pytest.raises(Evil) as caught:
        curator("gradient").answer("gradient", Again(np.zeros(5), fail))
    assert Evil.seen == []
    assert caught.value.__context__ is None


@dataclass(eq=False)
class Failing(Honest):
    """Ends in an error of its own."""

    def run(self, problem: Problem, plan: Plan, curator: Any) -> Solution:
        raise type("Evil", (Evil,), {"__module__": Word("mine")})


def test_an_error_of_a_solver_finds_no_rows_on_its_way_out() -> None:
    """The frame that handed the curator over held the table, and the error's class was asked for its module below it."""
    Evil.seen.clear()
    rows = np.full((40, 3), 0.2)
    model = hb.LinearRegression(
        budget=hb.Budget(1.0, 1e-6), domain=hb.Domain(row_norm=1.0, target=(-1, 1)), solver=Failing(), test_key=KEY
    )
    with pytest.raises(Evil) as caught:
        model.fit(rows, rows[:, 0])
    caught.value.look()
    assert Evil.seen == []


class Kept:
    """An array that its owner can still write to after it was converted."""

    def __init__(self, value: Any) -> None:
        self.held = np.array(value, dtype=np.float64)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.held


def test_arrays_are_copied_whatever_they_say() -> None:
    """NumPy takes what `__array__` gives as a copy: edges that grew after they were checked told of an exact length."""
    kept = Kept(np.zeros(5))
    assert not np.shares_memory(numbers(kept), kept.held)  # type: ignore[arg-type]
    assert not np.shares_memory(anything(kept), kept.held)  # type: ignore[arg-type]
    asked, edges = curator("norm_histogram"), Kept([0.1, 0.2, 0.3])

    def grow() -> None:
        edges.held.resize(9, refcheck=False)
        edges.held[:] = np.arange(9.0)

    given = {one: plain(value) for one, value in ASKED["norm_histogram"].items()}
    assert asked.answer("norm_histogram", **{**given, "edges": edges, "theta": Again(given["theta"], grow)}).shape == (
        4,
    )


@dataclass(eq=False)
class Editor(Honest):
    """Edits what it is shown while it plans, as far as Python lets it."""

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Any) -> Plan:
        mu = allowance.mu
        object.__setattr__(allowance.budget, "pair", (100.0, 1e-6))
        object.__setattr__(problem, "records", 10**9)
        for name in ("norm_l1", "norm_l2", "norm_linf"):
            object.__setattr__(prices.facts, name, 1e-6)  # type: ignore[attr-defined]
        return Plan(self.name, (prices.price("gradient", loss=problem.loss, clip=1.0, mu=5.0 * mu),))


def test_what_a_solver_is_shown_is_not_what_prices_rest_on() -> None:
    rows = np.full((40, 3), 0.2)
    model = hb.LinearRegression(
        budget=hb.Budget(1.0, 1e-6), domain=hb.Domain(row_norm=1.0, target=(-1, 1)), solver=Editor(), test_key=KEY
    )
    with pytest.raises(HullabalooError):
        model.fit(rows, rows[:, 0])


def arrays(record: Any) -> Iterator[Any]:
    """The same record with an array or a tuple where it holds one number, and with columns where it holds a tuple of numbers."""
    for one in fields(record):
        value = getattr(record, one.name)
        if is_dataclass(value):
            yield from (replace(record, **{one.name: other}) for other in arrays(value))
        elif type(value) in (bool, int, float):
            many = np.linspace(0.1, 0.9, 5) * (value or 1)
            others = (
                many,
                many[:, None],
                many[:1],
                np.linspace(9.0, -9.0, 255),
                np.array(value),
                (value,),
                [value],
                str(value),
                None,
            )
            yield from (replace(record, **{one.name: other}) for other in others)
        elif type(value) is tuple and value and type(value[0]) is float:
            column = np.full((5, 1), value[0])
            others = column, (column,), ((value[0],),), (np.array(value),)
            yield from (replace(record, **{one.name: other}) for other in others)


@pytest.mark.parametrize("name", ASKED_SCORES)
def test_no_number_of_a_tally_or_reading_is_an_array(name: str) -> None:
    """Edges of ranks in no order moved the sum six times as far as was stated, as a record's bin hung on the one before it; numbers for each record failed, after the charge, where there were not so many."""
    about, (reading, tallies) = query_of(name, Neighbours.ADD_OR_REMOVE).facts, ASKED_SCORES[name]
    asked = PricedQueries(about, Neighbours.ADD_OR_REMOVE, 20)
    edited = [(other, tallies) for other in arrays(reading)]
    edited += [
        (reading, (*tallies[:i], one, *tallies[i + 1 :])) for i in range(len(tallies)) for one in arrays(tallies[i])
    ]
    assert asked.own(asked.price("score", reading=reading, tallies=tallies, mu=1.0)) is not None
    for odd, others in edited:
        taken = None
        with suppress(HullabalooError, TypeError, ValueError):
            taken = asked.own(asked.price("score", reading=odd, tallies=others, mu=1.0))
        assert taken is None, (odd, others)
