"""Options of solvers are checked where they are written."""

from dataclasses import fields, replace
from typing import Any

import pytest

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import L1Ball
from hullabaloo.losses import Logistic, MultinomialLogistic
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Allowance, Budget, Calibration
from hullabaloo.solvers import CoordinateDescentSolver, FrankWolfeSolver, MirrorDescentSolver
from hullabaloo.solvers.options import passes
from tests.solvers.tables import prices, problem, table

OPTIONS = [(one, option.name) for one in SOLVERS.values() for option in fields(one)]


@pytest.mark.few(30)
@pytest.mark.parametrize(("solver", "option"), OPTIONS, ids=lambda x: getattr(x, "name", x))
@pytest.mark.parametrize(
    "wrong", ["typo", -1.0, float("nan"), [3], object()], ids=["word", "negative", "nan", "list", "object"]
)
def test_what_an_option_cannot_be_is_refused_in_a_sentence(solver: object, option: str, wrong: object) -> None:
    with pytest.raises(InvalidParameter, match=option):
        replace(solver, **{option: wrong})  # type: ignore[type-var]


PRINTED = Allowance(Budget(1.0, 1e-8), calibration=Calibration.PAPER)
LONG = [
    (MirrorDescentSolver(), PRINTED),
    (FrankWolfeSolver(), PRINTED),
    (FrankWolfeSolver(form="general"), PRINTED),
    (FrankWolfeSolver(steps=20_000), Allowance.gdp(1.0)),
    (CoordinateDescentSolver(rounds=50_000, updates=2), Allowance.gdp(1.0)),
]


@pytest.mark.parametrize(("solver", "allowance"), LONG, ids=str)
def test_what_is_printed_or_asked_for_is_told_and_never_cut_in_silence(solver: Any, allowance: Allowance) -> None:
    data = table(1_000, 4)
    body = None if isinstance(solver, CoordinateDescentSolver) else L1Ball(1.0)
    asked = replace(problem(data, constraint=body), records=10_000_000)
    with pytest.raises(
        CapabilityError, match=r"passes over the table, about .*max_passes is 10,000. Nothing was charged"
    ):
        solver.plan(asked, prices(data, asked), allowance)
    plan = replace(solver, max_passes=None).plan(asked, prices(data, asked), allowance)
    count = plan.queries[-1].count
    assert count > 10_000
    assert "passes over the table, about" in plan.reason


def test_time_is_told_of_every_prediction_of_a_pass() -> None:
    """A record of a narrow table takes the time of its prediction: 0.4 s were told of 1,000 passes that took 5."""
    asked = replace(problem(table(1_000, 4)), records=20_000)

    def seconds(loss: Any, targets: int) -> float:
        told = passes(replace(asked, loss=loss, targets=targets), 1_000)
        return float(told.removeprefix("1,000 passes over the table, about ").removesuffix(" seconds"))

    assert 0.4 < seconds(Logistic(), 1) < 1.6  # 0.7 s of one core
    assert seconds(Logistic(), 4) == seconds(Logistic(), 1)  # each target's is a pass of its own
    assert seconds(MultinomialLogistic(), 4) > 3.5 * seconds(Logistic(), 1)
