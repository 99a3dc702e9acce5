"""What `hb.plan` refuses, and with which remedy."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.cli.plan import loss_from_text
from hullabaloo.erm.optimise import Reach
from hullabaloo.errors import CapabilityError, HullabalooError, InvalidParameter
from hullabaloo.planning.named import SOLVERS
from hullabaloo.planning.table import PlanRow, PlanTable
from hullabaloo.release.planned import _chosen, prepare

QUICK = hb.Budget.gdp(0.2)
"""No bisection over ε prices its plans."""
NUMBER = hb.Domain(features={"a": (0, 1)}, target=(0, 1), indicators=False)
CLASSES = hb.Domain(features={"a": (0, 1)}, classes=["no", "yes"], indicators=False)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two solvers to choose from: which is the better is not the subject."""
    monkeypatch.setattr(
        "hullabaloo.planning.choose.SOLVERS", {name: SOLVERS[name] for name in ("gradient", "output_perturbation")}
    )
    yield
    _chosen.cache_clear()


def test_what_is_not_compared_is_left_out_and_can_be_asked_for_where_it_says_so() -> None:
    """It was said to be unable, beside a sentence that it can be asked for by name; and moments named a solver that may be left out itself."""
    row = PlanRow("gradient", False, reason="It would end short; it can be asked for by name.")
    assert row.cells()[:2] == ("gradient", "left out")
    table = PlanTable("a problem", "moments", "one", (row,), (), ())
    assert "gradient is left out: It would" in str(table)
    assert "cannot" not in str(table)
    with pytest.raises(CapabilityError, match=r"Moments tell the squared loss, not 'logistic'\. Use solver='auto'"):
        hb.LogisticRegression(budget=QUICK, domain=CLASSES, solver="moments").price(100)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"p": 5, "set": "l1:1"}, r"a set such as hb.L1Ball\(1.0\)"),
        ({"p": 5, "penalty": 0.1}, r"a penalty such as hb.L1Penalty\(0.01\)"),
        ({"p": 5, "loss": "logistic"}, r"a loss such as hb.Squared\(\)"),
        ({"p": 0}, "such as p=20"),
        ({"domain": NUMBER, "exposure": "a"}, r"Pass loss=hb.Poisson\(\)"),
        ({"domain": NUMBER, "loss": hb.Poisson(), "exposure": "b"}, "which the domain does not declare"),
        ({"domain": NUMBER, "p": 7}, "Leave p out"),
        ({"domain": CLASSES}, r"declares classes. Pass loss=hb.Logistic\(\)"),
        ({"domain": NUMBER, "loss": hb.Logistic()}, r"declares a number. Pass loss=hb.Squared\(\)"),
    ],
)
def test_what_does_not_fit_together_is_refused(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(HullabalooError, match=says):
        hb.plan(n=1000, budget=hb.Budget(1.0, 1e-6), **asked)


@pytest.mark.parametrize("plan", [hb.plan, hb.streaming.plan])
def test_a_list_of_budgets_is_answered_with_how_to_compare_them(plan: Any) -> None:
    size = {"n": 1000} if plan is hb.plan else {"horizon": 1000}
    with pytest.raises(
        HullabalooError, match=r"one budget, but got a list of 2.*\(\.\.\., budget=one\) for one in budgets"
    ):
        plan(**size, p=3, budget=[hb.Budget(1.0, 1e-6), hb.Budget(3.0, 1e-6)])


@pytest.mark.slow
def test_an_exposure_is_no_column_of_a_plan() -> None:
    domain = hb.Domain(features={"age": (18, 90), "years": (0.1, 5)}, target={"falls": (0, 25)}, indicators=False)
    budget = QUICK
    found = hb.plan(n=50_000, domain=domain, loss=hb.Poisson(), exposure="years", budget=budget)
    assert ", 1 column" in found.title
    fitted = hb.PoissonRegressor(domain=domain, exposure="years", budget=budget)
    encoding = fitted._encoding(None, None)
    assert prepare(fitted._task(encoding), encoding, 50_000).plan.solver == found.chosen
    assert "ask for a weaker penalty" not in str(found)
    assert "loss of a constant is" not in str(found)


@pytest.mark.slow
def test_a_plan_says_where_a_constant_is_the_optimum() -> None:
    assert "ask for a weaker penalty" in str(hb.plan(n=50_000, p=3, penalty=hb.L1Penalty(0.5), budget=QUICK))


def test_a_plan_that_was_not_rehearsed_says_what_a_constant_has() -> None:
    body = hb.Box((-1.0,) * 1000, (1.0,) * 1000)
    assert "loss of a constant is 0.013" in str(hb.plan(n=500, p=1000, set=body, budget=QUICK))


@pytest.mark.usefixtures("unrehearsed")
def test_a_plan_is_for_the_number_of_records_that_is_asked() -> None:
    """Whatever number is declared."""
    declared = hb.Domain(features={"a": (0, 1)}, target=(0, 1), records=10_000)
    assert "n = 5,000," in hb.plan(n=5_000, budget=QUICK, domain=declared, neighbours="add-or-remove").title


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("quantile:2", "between 0 and 1"),
        ("huber:x", "cannot be read"),
        ("squared:1", "takes 0"),
        ("huger", "none of squared"),
    ],
)
def test_a_loss_of_the_command_line_says_what_is_wrong_with_it(text: str, says: str) -> None:
    with pytest.raises(HullabalooError, match=says):
        loss_from_text(text)


SHAPES: dict[str, Any] = {
    "l1 ball": lambda size: {"constraint": hb.L1Ball(size)},
    "l2 ball": lambda size: {"constraint": hb.L2Ball(size)},
    "box": lambda size: {"constraint": hb.Box(-size, size)},
    "l1 penalty": lambda size: {"penalty": hb.L1Penalty(size)},
    "l2 penalty": lambda size: {"penalty": hb.SquaredL2Penalty(size)},
}


SIZED: dict[str, Any] = {
    "row norm": lambda size: {"row_norm": size},
    "weight": lambda size: {"weight": ("w", size)},
    "feature": lambda size: {"features": {"a": (0.0, size), "b": (0.0, 1.0)}},
    "target": lambda size: {"target": {"y": (-size, size)}},
    "target far off": lambda size: {"target": {"y": (size, 2.0 * size)}},
}


@pytest.mark.few(4)
@pytest.mark.parametrize("solver", ["moments", "gradient", "adaptive_gradient"])
@pytest.mark.parametrize("size", [1e-150, 1e-99, 1e-40, 1e40, 1e99, 1e155])
@pytest.mark.parametrize("what", SIZED)
def test_a_domain_of_any_size_is_refused_before_the_charge_or_fitted(
    what: str, size: float, solver: str, tmp_path: Path
) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create("d", hb.Budget(1.0, 1e-6), neighbours="replace-one")
    cells = np.linspace(0.0, 1.0, 30)
    table = pd.DataFrame({"a": cells, "b": cells[::-1], "y": cells} | ({"w": cells} if what == "weight" else {}))
    model = None
    try:
        declared: dict[str, Any] = {"features": {"a": (0, 1), "b": (0, 1)}, "target": {"y": (0, 1)}}
        domain = hb.Domain(**declared | SIZED[what](size))
        terms = {"budget": hb.Budget(1.0, 1e-6), "ledger": ledger, "dataset": "d", "domain": domain}
        model = hb.LinearRegression(**terms, solver=solver, fit_intercept=False).fit(table)
    except HullabalooError:
        assert not ledger.charges("d")
        assert not 1e-100 < size < 1e100 or what == "row norm"
    if model is not None:
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.predict(table)).all()


@pytest.mark.few(6)
@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-150, 1e-99, 1e99, 1e155, 1.7e308])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_set_or_penalty_of_any_size_is_refused_before_the_charge_or_fitted(
    shape: str, size: float, tmp_path: Path
) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create("d", hb.Budget(1.0, 1e-6), neighbours="replace-one")
    terms: dict[str, Any] = {
        "budget": hb.Budget(1.0, 1e-6),
        "ledger": ledger,
        "dataset": "d",
        "domain": hb.Domain(row_norm=1.0, target=(-1, 1)),
    }
    model = hb.LinearRegression(**terms, **SHAPES[shape](size), solver="moments")
    refused = None
    try:
        model.fit(np.full((30, 2), 0.5), np.linspace(-1.0, 1.0, 30))
    except InvalidParameter as error:
        refused = str(error)
    if refused is None:
        assert np.isfinite(model.coef_).all()
    else:
        assert "Sizes beyond" in refused
        assert not ledger.charges("d")
    assert refused is None or not 1e-100 < size < 1e100


@pytest.mark.few(2)
@pytest.mark.parametrize("solver", ["output_perturbation", "objective_perturbation"])
@pytest.mark.parametrize(("strength", "lightest"), [(10.0**k, 1.0) for k in (9, 11, 12, 12.5, 15, 24)] + [(0.05, 1e-12), (0.05, 1e-17), (0.05, 1e-50)])  # fmt: skip
@pytest.mark.parametrize("columns", [2, 1000])
def test_a_minimiser_of_curvatures_of_any_sizes_is_refused_before_the_charge_or_found(
    solver: str, strength: float, lightest: float, columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Newton's systems take small curvatures beside great ones for 0, and the plain steps that would be left are as many as these are apart."""
    plain = Reach.steps

    def steps(reach: Reach, distance: float) -> int:
        assert plain(reach, distance) < 10**6
        return plain(reach, distance)

    monkeypatch.setattr(Reach, "steps", steps)
    ledger = hb.Ledger(f"sqlite:///{tmp_path / 'privacy.db'}")
    ledger.create("d", hb.Budget(100.0, 1e-3), neighbours="replace-one")
    rng, domain = (
        np.random.default_rng(0),
        hb.Domain(
            {f"x{j}": (-1, 1) for j in range(columns)},
            classes=[0, 1],
            weight=None if lightest == 1.0 else ("w", lightest),
            indicators=False,
        ),
    )
    terms: dict[str, Any] = {"budget": hb.Budget(5.0, 1e-6), "ledger": ledger, "dataset": "d", "domain": domain}
    terms |= {"solver": solver, "calibration": "paper" if solver == "objective_perturbation" else "exact"}
    model = hb.LogisticRegression(**terms, penalty=hb.SquaredL2Penalty(strength), inference=False)
    try:
        model.fit(rng.uniform(-1, 1, (400, columns)), np.arange(400) % 2)
        assert np.isfinite(model.coef_).all()
    except CapabilityError as error:
        assert "it would not end" in str(error)  # noqa: PT017
        assert strength > 1e9 or lightest < 1e-11
        assert not ledger.charges("d")
