"""The order of a fit: validate → plan → charge → read → noise → release; nothing private decides anything else."""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.data.readers.opening import open_table
from hullabaloo.errors import (
    BudgetExhausted,
    DomainError,
    HullabalooError,
    InvalidParameter,
    LedgerUnreachable,
    RelationRefused,
    SchemaError,
    TestKeyRefused,
    UnknownDataset,
)
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Allowance
from hullabaloo.solvers import Answers, Plan, Problem, QueryPrices, Solution, Solver
from tests.watched import Watched

KEY = TestKey(bytes(range(32)))
BUDGET = hb.Budget(1.0, 1e-6)
FEATURES = {"a": (0, 10), "b": (-5, 5)}


def data(n: int = 500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(0, 10, n), rng.uniform(-5, 5, n)])
    return X, 0.5 * X[:, 0] - X[:, 1] + rng.normal(0, 1, n)


@pytest.fixture
def ledger(tmp_path: Path) -> hb.Ledger:
    made = hb.Ledger(f"sqlite:///{tmp_path / 'privacy.db'}")
    made.create("clinic", BUDGET, neighbours="replace-one")
    return made


def model(**changes: Any) -> hb.LinearRegression:
    domain = hb.Domain(features=FEATURES, target=(-10, 10), records=changes.pop("records", None))
    if changes.get("solver") in ("mirror_descent", "frank_wolfe"):
        changes["constraint"] = hb.L1Ball(1.0)
    if changes.get("solver") == "dual_frank_wolfe":
        changes["penalty"] = hb.L1Penalty(0.01)
    return hb.LinearRegression(**{"budget": BUDGET, "domain": domain, "solver": "moments", **changes})


def test_a_fit_is_charged_once_and_the_second_is_refused_before_anything_is_read(ledger: hb.Ledger) -> None:
    X, y = data()
    first = model(ledger=ledger, dataset="clinic").fit(X, y)
    assert len(ledger.charges("clinic")) == 1
    assert first.statement_.charge == ledger.charges("clinic")[0].number
    watched = Watched(open_table(X))
    with pytest.raises(BudgetExhausted):
        model(ledger=ledger, dataset="clinic").fit(watched, y)
    assert watched.read == 0
    assert len(ledger.charges("clinic")) == 1


def test_a_charge_that_is_refused_at_last_comes_before_anything_is_read(
    ledger: hb.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else spends the rest between the first look at the ledger and the charge."""
    X, y = data()
    watched = Watched(open_table(X))

    def spent(*_: Any, **__: Any) -> Any:
        assert watched.read == 0
        raise BudgetExhausted("The rest was spent meanwhile. Ask for less.")

    monkeypatch.setattr(hb.Ledger, "charge", spent)
    with pytest.raises(BudgetExhausted):
        model(ledger=ledger, dataset="clinic").fit(watched, y)
    assert watched.read == 0


@pytest.mark.few(3)
@pytest.mark.parametrize("rule", ["basic", "gdp", "renyi"])
@pytest.mark.parametrize("solver", ["moments", "gradient"])
def test_one_default_fit_uses_a_dataset_up_under_every_filter(tmp_path: Path, rule: str, solver: str) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path / 'l.db'}")
    ledger.create("d", BUDGET, neighbours="replace-one", filter=rule)
    X, y = data()
    model(ledger=ledger, dataset="d", solver=solver).fit(X, y)
    with pytest.raises(BudgetExhausted):
        model(ledger=ledger, dataset="d", solver=solver).fit(X, y)
    with pytest.raises(BudgetExhausted):
        model(ledger=ledger, dataset="d", solver=solver, budget=hb.Budget(0.01, 1e-9)).fit(X, y)


def test_what_every_plan_would_be_refused_for_is_refused_before_planning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit that is not the dataset's, a budget that is not left."""
    monkeypatch.setattr("hullabaloo.release.planned.prepare", None)
    ledger = hb.Ledger(f"sqlite:///{tmp_path / 'l.db'}")
    ledger.create("persons", BUDGET, unit="person")
    ledger.create("small", hb.Budget(BUDGET.epsilon / 2, BUDGET.delta))
    X, y = data()
    for dataset, refusal in (("persons", RelationRefused), ("small", BudgetExhausted)):
        with pytest.raises(refusal):
            model(ledger=ledger, dataset=dataset).fit(X, y)
        assert ledger.charges(dataset) == ()


def test_ten_tenths_fit_and_an_eleventh_does_not(ledger: hb.Ledger) -> None:
    X, y = data()
    for _ in range(10):
        model(ledger=ledger, dataset="clinic", budget=hb.Budget(0.1, 1e-7)).fit(X, y)
    with pytest.raises(BudgetExhausted):
        model(ledger=ledger, dataset="clinic", budget=hb.Budget(0.1, 1e-7)).fit(X, y)


REFUSALS = {
    "another relation": (RelationRefused, {"neighbours": "add-or-remove", "records": 500}),
    "unknown dataset": (UnknownDataset, {"dataset": "nowhere"}),
    "test key": (TestKeyRefused, {"test_key": KEY}),
    "unreachable": (LedgerUnreachable, {"ledger": "sqlite:////nonexistent/folder/privacy.db"}),
    "no dataset": (InvalidParameter, {"dataset": None}),
    "no budget": (InvalidParameter, {"budget": None}),
    "no domain": (InvalidParameter, {"domain": None}),
    "wrong solver": (InvalidParameter, {"solver": "magic"}),
    "wrong relation": (InvalidParameter, {"neighbours": "similar"}),
    "delta 0": (HullabalooError, {"budget": hb.Budget(1.0, 0.0)}),
    "infinite epsilon": (HullabalooError, {"budget": hb.Budget(math.inf)}),
    "set as text": (InvalidParameter, {"constraint": "l1:1"}),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_refused_is_refused_before_anything_is_read_or_spent(name: str, ledger: hb.Ledger) -> None:
    error, changes = REFUSALS[name]
    X, y = data()
    watched = Watched(open_table(X))
    with pytest.raises(error) as caught:
        model(**{"ledger": ledger, "dataset": "clinic", **changes}).fit(watched, y)
    assert watched.read == 0
    assert ledger.charges("clinic") == ()
    assert str(caught.value).strip().endswith((".", ").", "'."))
    assert len(str(caught.value)) > 60


@pytest.mark.parametrize("solver", ["moments", "gradient"])
def test_an_unreadable_source_after_the_charge_leaves_the_charge_in_place(ledger: hb.Ledger, solver: str) -> None:
    class Broken(Watched):
        def numbers(self, columns: Any) -> Any:
            raise OSError("the disk went away")

    X, y = data()
    with pytest.raises(OSError, match="disk"):
        model(ledger=ledger, dataset="clinic", solver=solver).fit(Broken(open_table(X)), y)
    assert len(ledger.charges("clinic")) == 1


def published(fitted: hb.LinearRegression, ledger: hb.Ledger | None = None) -> dict[str, Any]:
    """Everything that a fit shows, but for what is a function of noisy answers and for clock times."""
    fitted.fit_seen = None  # type: ignore[attr-defined]  # attributes may be set; they are not part of the release
    document = fitted.release_.to_dict()
    for private_answer in ("theta", "moments", "trace"):
        document.pop(private_answer)
    for own in ("made", "database", "head"):  # clocks, and what is salted
        document["statement"].pop(own, None)
    shown = {"release": document, "text": str(fitted.statement_).split(" (charge")[0], "repr": repr(fitted)}
    if ledger is not None:
        rows = [charge.to_dict() for charge in ledger.charges("d")]
        for row in rows:
            for own in ("charged_at", "number", "database", "head"):
                row.pop(own, None)
        shown["ledger"] = rows
    return shown


REPLAYED = {
    "dual_frank_wolfe",
    "greedy_selection",
    "mirror_descent",
    "output_perturbation",
    "preconditioned_gradient",
    "subspace_descent",
}
"""Solvers of which `tests/replay/test_fits.py` replays a fit without any record: here they are of the long tests."""


@pytest.mark.parametrize(
    "solver", [pytest.param(one, marks=[pytest.mark.slow] * (one in REPLAYED)) for one in [*SOLVERS, "auto"]]
)
def test_add_or_remove_hides_the_number_of_rows(tmp_path: Path, solver: str) -> None:
    """Record and replay at n and n + 1: all that is published is the same, but for the noisy answers themselves."""
    X, y = data(501)
    shown = []
    for n in (500, 501):
        ledger = hb.Ledger(f"sqlite:///{tmp_path / f'{n}.db'}")
        ledger.create("d", BUDGET, neighbours="add-or-remove")
        fitted = model(neighbours="add-or-remove", records=400, ledger=ledger, dataset="d", solver=solver).fit(
            X[:n], y[:n]
        )
        what = published(fitted, ledger)
        shown.append(json.dumps(what, sort_keys=True, default=str).replace(str(tmp_path / f"{n}.db"), "PATH"))
    assert shown[0] == shown[1]
    assert not re.search(r"(?<![\d.])50[01](?![\d.])", shown[0])  # as a number of its own, not as digits of another


def test_add_or_remove_needs_a_declared_number_of_records() -> None:
    X, y = data()
    with pytest.raises(DomainError, match="nominal number"):
        model(neighbours="add-or-remove").fit(X, y)


@pytest.mark.few(8)
@pytest.mark.parametrize("solver", sorted(SOLVERS))
@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324])
def test_values_never_decide_the_outcome(cell: float, solver: str, recwarn: pytest.WarningsRecorder) -> None:
    X, y = data()
    plain = model(solver=solver).fit(X, y)
    X[3, 1], y[5] = cell, cell
    spoiled = model(solver=solver).fit(X, y)
    assert published(plain) == published(spoiled)
    assert np.isfinite(spoiled.coef_).all()
    assert not recwarn.list


def test_neighbours_under_one_key_differ_only_in_noisy_answers() -> None:
    X, y = data()
    other = X.copy()
    other[7] = [10.0, 5.0]
    first, second = (model(test_key=KEY).fit(table, y) for table in (X, other))
    assert published(first) == published(second)
    assert not np.array_equal(first.coef_, second.coef_)
    assert "NOT PRIVATE" in str(first.statement_)


def test_an_unrecorded_fit_says_so_first() -> None:
    X, y = data()
    assert str(model().fit(X, y).statement_).startswith("not recorded: repeated fits add up and nothing counts them")


def test_units_of_several_records_need_a_declared_number_and_cost_more() -> None:
    X, y = data()
    ids = np.repeat(np.arange(100), 5)
    base = {"features": FEATURES, "target": (-10, 10), "unit": "person"}
    import pandas as pd

    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "person": ids})
    with pytest.raises(DomainError, match="records"):
        hb.LinearRegression(budget=BUDGET, domain=hb.Domain(**base)).fit(frame, y)
    once, often = (hb.Domain(**base, records=500, records_per_unit=m) for m in (1, 5))
    one, five = (
        hb.LinearRegression(budget=BUDGET, solver=hb.MomentsSolver(), domain=of).fit(frame, y) for of in (once, often)
    )
    noise = [fitted.statement_.query_noise[0]["sensitivity_l2_of_sum"] for fitted in (one, five)]
    assert noise[1] == pytest.approx(5 * noise[0], rel=1e-3)
    assert "all records of one person (at most 5)" in str(five.statement_)


def test_schema_faults_are_sentences_and_cost_nothing(ledger: hb.Ledger) -> None:
    X, y = data()
    for table, target in ((X[:, :1], y), (X, y[:-1]), (X, None), ("nothing.csv", y), (X.astype(complex), y)):
        with pytest.raises(SchemaError) as caught:
            model(ledger=ledger, dataset="clinic").fit(table, target)
        assert str(caught.value).rstrip().endswith(".")
    assert ledger.charges("clinic") == ()


@pytest.mark.parametrize("declared", [{"weight": ("w", 1.0)}, {"unit": "u", "records": 40_000}, {"weight": ("w", 0.5)}])
def test_a_sum_of_weights_is_not_taken_for_a_number_of_records(declared: dict[str, Any]) -> None:
    """Weights of at most 1, and units of one record, do not make the mean of the constant column 1."""
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(-1, 1, 20_000), "w": 0.25, "u": np.arange(20_000)})
    domain = hb.Domain(features={"a": hb.Numeric(-1, 1, indicator=False)}, target=(-1, 1), **declared)
    fitted = hb.LinearRegression(budget=hb.Budget(5.0, 1e-6), domain=domain, solver="moments", test_key=KEY)
    fitted.fit(frame, 0.5 + 0.3 * frame["a"])
    assert fitted.release_.moments is not None
    assert not fitted.release_.moments.counted
    assert fitted.intercept_ == pytest.approx(0.5, abs=0.03)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("solver", "weight"),
    [
        *(
            (solver, weight)
            for solver in ("adaptive_gradient", "preconditioned_gradient", "gradient")
            for weight in (None, ("w", 1.5))
        ),
        *(pytest.param("auto", weight, marks=pytest.mark.slow) for weight in (None, ("w", 1.5))),
    ],
)
def test_next_to_nothing_of_what_was_declared_is_no_failure(solver: str, weight: tuple[str, float] | None) -> None:
    """A table of one record where 3 000 are declared: after the charge nothing fails, however far noise exceeds all that there is."""
    domain = hb.Domain({"a": (-1, 1), "b": (-1, 1)}, classes=[0, 1], records=3_000, weight=weight, indicators=False)
    terms = {"budget": hb.Budget(10.0, 1e-6), "neighbours": "add-or-remove", "solver": solver}
    for key in range(3):
        model = hb.LogisticRegression(domain=domain, test_key=TestKey(bytes([key] * 32)), **terms)
        fitted = model.fit([[0.5, -0.5]], [1], **({} if weight is None else {"sample_weight": [1.0]}))
        assert np.isfinite(fitted.coef_).all()


@dataclass(frozen=True)
class Misshapen(Solver):
    name: ClassVar[str] = "misshapen"
    found: Any = None

    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        return Plan(self.name, (prices.price("gradient", loss=problem.loss, clip=1.0, mu=allowance.mu),))

    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        return Solution(self.found)

    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        return 0.0


@pytest.mark.parametrize(
    "found",
    [np.zeros((99, 1)), np.zeros(3), np.full((3, 1), np.nan), np.full((3, 1), None), np.zeros((3, 1), complex)],
    ids=["long", "flat", "nan", "objects", "complex"],
)
def test_coefficients_of_another_shape_are_no_release(found: np.ndarray) -> None:
    domain = hb.Domain({"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1), indicators=False)
    model = hb.LinearRegression(domain=domain, budget=BUDGET, solver=Misshapen(found))
    with pytest.raises(InvalidParameter, match=r"'misshapen' returned coefficients.*Nothing is released"):
        model.fit(np.zeros((50, 2)), np.zeros(50))


class Talkative(Misshapen):
    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        return Solution(np.zeros((problem.dimension, 1)), trace=self.found)


@pytest.mark.parametrize(
    "trace", [({"moments enough": True},), ({"steps enough": True},), ("a line", 3, None)], ids=str
)
def test_what_a_solver_of_ones_own_writes_of_its_run_is_its_own(trace: Any) -> None:
    """No word of the library's own solvers renames its plan, and nothing there loses a release that is paid for."""
    domain = hb.Domain({"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1), indicators=False)
    model = hb.LinearRegression(domain=domain, budget=BUDGET, solver=Talkative(trace), test_key=TestKey(bytes(32)))
    release = model.fit(np.zeros((50, 2)), np.zeros(50)).release_
    assert release.trace == trace
    assert release.plan["solver"] == "misshapen"


class Overflowing(Misshapen):
    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        return Solution(np.minimum(np.full((problem.dimension, 1), 1e300) * 1e300, 0.5))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("treated", ["warn", "raise"])
def test_warnings_that_are_errors_lose_no_release_that_is_paid_for(treated: Any) -> None:
    domain = hb.Domain({"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1), indicators=False)
    own = hb.LinearRegression(domain=domain, budget=BUDGET, solver=Overflowing())
    with np.errstate(all=treated):
        own.fit(np.zeros((50, 2)), np.zeros(50))
        hb.Lasso(domain=domain, budget=hb.Budget(10.0, 1e-6), solver="gradient").fit([[0.1, 0.2]], [0.3])
    np.testing.assert_allclose(own.coef_, 0.5)
