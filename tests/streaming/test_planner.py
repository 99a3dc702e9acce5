"""`hb.streaming.plan`: it fits again on few releases, keeps sums for many, and is right about it."""

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.curation.moments_process import StreamTask, open_moments
from hullabaloo.curation.prefixes import PrefixProcess
from hullabaloo.curation.process import Process
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.planning.forecasts import Forecast, Rehearsed
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.solvers import Plan
from hullabaloo.streaming.planner import _way
from hullabaloo.streaming.refits import planned as fits_planned

pytestmark = pytest.mark.usefixtures("rehearsed")
KEY = TestKey(bytes(range(32)))
DOMAIN = hb.Domain(row_norm=1.0, target=(-1, 1))
ENCODING = DOMAIN.encoding(n_features=3)
BUDGET = hb.Budget(1.0, 1e-8)
T = 8_000
FEW, MANY, MOST = 2_000, 80, 8


@pytest.fixture(autouse=True)
def few_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planner chooses at three releases in place of eight: which way is taken is looked at, not which solver."""
    monkeypatch.setattr("hullabaloo.streaming.refits.REHEARSED", 3)


@cache
def planned(**changes: Any) -> Any:
    return hb.streaming.plan(**{"horizon": T, "every": FEW, "p": 3, "budget": BUDGET, **changes})


def measured(way: str, every: int) -> float:
    """Mean over two draws and four looks of the share of a constant's excess risk that is left."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(T, 3))
    X *= 0.6 / np.linalg.norm(X, axis=1)[:, None]
    y = X @ np.array([0.8, -0.5, 0.3]) + 0.1 + 0.2 * rng.normal(size=T)
    rows, schedule = ENCODING.encode(X, y), Schedule(T, every)
    left = []
    task = hb.LinearRegression(budget=BUDGET, domain=DOMAIN)._task(ENCODING)
    refits = fits_planned(task, ENCODING, schedule) if way == "PeriodicERM" else None
    for draw in range(2):
        process: Process
        if refits is not None:
            process = PrefixProcess(task, refits)
        else:
            of = StreamTask("a stream", DOMAIN, BUDGET, Neighbours.REPLACE_ONE, schedule=schedule, key=KEY.derive(draw))
            process = open_moments(of, ENCODING)
        for start in range(0, T, 2_000):
            stop = start + 2_000
            process.take(type(rows)(rows.X[start:stop], rows.Y[start:stop]))
            release = process.released()
            assert release is not None
            A, b = rows.X[:stop], rows.Y[:stop]
            best = np.sum((A @ np.linalg.lstsq(A, b, rcond=None)[0] - b) ** 2)
            left.append((np.sum((A @ release.theta - b) ** 2) - best) / (np.sum((b - b.mean()) ** 2) - best))
    return float(np.mean(left))


@pytest.mark.slow
@pytest.mark.usefixtures("one_solver")
def test_few_releases_fit_again_and_many_keep_sums() -> None:
    """Tests: 003, Remark 4.3."""
    few, many = planned(), planned(every=MOST)
    assert few.chosen == "PeriodicERM"
    assert many.chosen == "IncrementalRegression"
    assert "Fit again" in str(few)
    assert "Keeps: of what" in str(few)
    assert "Keep sums" in str(many)
    assert few.releases == 4
    assert few.positions == (2_000, 4_000, 6_000, 8_000)
    assert many.releases == 1_000


@pytest.mark.slow
@pytest.mark.parametrize("every", [FEW, MANY], ids=["few", "many"])
def test_what_it_takes_is_at_most_a_quarter_worse_than_what_it_leaves(every: int) -> None:
    """Tests: 003, Table 1."""
    taken = planned(every=every).chosen
    other = {"PeriodicERM": "IncrementalRegression", "IncrementalRegression": "PeriodicERM"}[taken]
    assert measured(taken, every) < 1.25 * measured(other, every)


@pytest.fixture
def one_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """All fits are by one solver: which is the planner's to say, and not what is looked at."""
    monkeypatch.setattr("hullabaloo.streaming.refits._best", lambda *_: "adaptive_gradient")


@pytest.mark.slow
@pytest.mark.usefixtures("one_solver")
def test_a_loss_without_sums_is_fitted_again() -> None:
    table = planned(every=1_000, loss=hb.Logistic())
    assert table.chosen == "PeriodicERM"
    sums = next(way for way in table.ways if way.name == "IncrementalRegression")
    assert not sums.able
    assert "squared loss" in sums.reason
    assert "IncrementalRegression is left out: " in str(table)


@pytest.mark.slow
def test_many_columns_in_a_set_are_offered_a_sketch() -> None:
    ways = {way.name: way for way in planned(p=2_000, set=hb.L1Ball(1.0)).ways}
    assert ways["SketchedRegression"].able
    assert ways["SketchedRegression"].memory < ways["IncrementalRegression"].memory
    assert all(way.risk for way in ways.values())


@pytest.mark.slow
def test_a_sketch_of_as_many_coordinates_as_columns_is_no_way() -> None:
    ways = {way.name: way for way in planned(p=700, set=hb.L1Ball(1.0)).ways}
    assert not ways["SketchedRegression"].able
    assert "keeps all of their" in ways["SketchedRegression"].reason


@pytest.mark.usefixtures("one_solver")
def test_the_plan_is_plain_data_and_costs_nothing_to_make() -> None:
    """Of NumPy's numbers, too; past the cache, to which a number and NumPy's are one."""
    table = planned.__wrapped__(horizon=np.int64(400), every=np.int64(200))
    assert table.positions == (200, 400)
    assert json.loads(json.dumps(table.to_dict(), allow_nan=False))["chosen"] == table.chosen
    assert repr(table) == str(table)
    assert "<pre>" in table._repr_html_()
    assert all(way.passes >= 1.0 and way.memory > 0.0 for way in table.ways)


def scored(*lost: tuple[float, ...], weight: float = 1.0) -> float:
    """The score of a way that loses such shares of a constant's loss, at each release on each table."""
    solver, plan = SOLVERS["adaptive_gradient"], Plan("adaptive_gradient", (), {})
    tables = [tuple(Rehearsed("a table", share, share, share, 1.0) for share in look) for look in lost]
    return _way(
        "a way", lambda: ([(Forecast(solver, plan, rehearsed=one), weight) for one in tables], 0.0, 0.0, "", [])
    ).score


@pytest.mark.parametrize("weight", [1.0, 2.0])
@pytest.mark.parametrize("drowned", [1.5, 30.0, 1e9])
@pytest.mark.parametrize("place", range(4))
def test_what_drowns_at_one_release_on_one_table_decides_no_more_than_any_other(
    place: int, drowned: float, weight: float
) -> None:
    """A way that keeps next to all of the strong signals is not given up for what noise does to weak ones."""

    def at(share: float) -> float:
        flat = [0.3, 0.2, 0.1, 0.4]
        flat[place] = share
        return scored((flat[0], flat[1]), (flat[2], flat[3]), weight=weight)

    assert at(drowned) == pytest.approx(at(1.0))
    assert at(1.0) > at(0.5)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no columns": ({"p": None}, "needs to know the columns"),
    "classes by squares": (
        {"p": None, "domain": hb.Domain(features={"a": (0, 1)}, classes=[0, 1])},
        "declares a number|declares classes",
    ),
    "no horizon": ({"horizon": None}, "horizon"),
    "a number for a budget": ({"budget": 1.0}, "needs a budget such as"),
    "a text for a set": ({"set": "l1:1"}, "needs a set such as"),
    "a text for a penalty": ({"penalty": "l1:1"}, "needs a penalty such as"),
    "a text for a loss": ({"loss": "logistic"}, "needs a loss such as"),
    "a negative number of columns": ({"p": -5}, "number of columns"),
    "columns said twice": ({"domain": hb.Domain(features={"a": (0, 1)}, target=(0, 1))}, "Leave p out"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_go_together_is_refused(what: str) -> None:
    changes, words = REFUSED[what]
    with pytest.raises(InvalidParameter, match=words):
        planned(**changes)


@pytest.mark.slow
@pytest.mark.usefixtures("one_solver")
def test_where_no_way_keeps_anything_the_plan_says_so() -> None:
    assert "No way is expected to beat a constant" in planned(budget=hb.Budget(1e-4, 1e-8)).why
    assert "lose as much" in planned(budget=hb.Budget(float("inf"))).why


@pytest.mark.slow
@pytest.mark.usefixtures("one_solver")
def test_a_first_look_at_a_few_records_does_not_decide() -> None:
    """The way that is taken keeps most over the looks at which a way keeps anything, also where another harms less at one that nothing can keep; with persons of several records, too."""
    about: dict[str, Any] = {"target": {"y": (0, 1)}, "indicators": False, "records": 24_000}
    for more in ({}, {"unit": "who", "records_per_unit": 3}):
        domain = hb.Domain({"age": (18, 90)}, **about, **more)
        made = hb.streaming.plan(
            every=(30, 6_000, 24_000),
            budget=hb.Budget(1.0, 1e-6),
            domain=domain,
            neighbours="add-or-remove",
            horizon=24_000,
        )
        lost = {way.name: sum(min(1.0 - kept, 1.0) for kept in way.kept) for way in made.ways if way.able}
        assert len(lost) == 2
        assert lost[made.chosen] == min(lost.values())
