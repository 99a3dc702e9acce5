import copy
import json
import math
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from hullabaloo.errors import BudgetError, InvalidParameter
from hullabaloo.privacy import (
    Budget,
    GaussianEvent,
    LaplaceEvent,
    NotPrivateEvent,
    PermuteAndFlipEvent,
    SelectionEvent,
    compose,
    gdp_delta,
)

BUDGETS = [
    Budget(1.0, 1e-6), Budget(0.1, 1e-300), Budget(3, 0), Budget(math.inf), Budget.gdp(0.3), Budget.zcdp(1 / 3),
    Budget(epsilon=2.0, delta=1e-9),
]  # fmt: skip


@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
def test_a_budget_is_a_value(budget: Budget) -> None:
    for twin in (
        copy.deepcopy(budget), pickle.loads(pickle.dumps(budget)), eval(repr(budget), {"Budget": Budget, "inf": math.inf}),
        Budget.from_dict(json.loads(json.dumps(budget.to_dict(), allow_nan=False))),
    ):  # fmt: skip
        assert twin == budget
        assert hash(twin) == hash(budget)
    assert len({*BUDGETS}) == len(BUDGETS)
    with pytest.raises((FrozenInstanceError, AttributeError, TypeError)):
        budget.mu = 3.0  # type: ignore[misc]


def test_kinds_and_words() -> None:
    assert [b.kind for b in BUDGETS] == ["dp", "dp", "dp", "dp", "gdp", "zcdp", "dp"]
    assert [b.is_private for b in BUDGETS] == [True, True, True, False, True, True, True]
    assert BUDGETS[0].describe() == "(ε = 1, δ = 1e-06)-differential privacy"
    assert "pure" in BUDGETS[2].describe()
    assert "not private" in BUDGETS[3].describe()
    assert (BUDGETS[0].epsilon, BUDGETS[0].delta) == (1.0, 1e-6)
    assert Budget(np.float64(1.0), np.float32(0.5)) == Budget(1.0, 0.5)
    assert type(Budget(np.float64(1.0), 1e-6).epsilon) is float


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, "1", None, True, -math.inf])
def test_epsilon_must_be_positive(epsilon: Any) -> None:
    with pytest.raises(BudgetError, match="epsilon"):
        Budget(epsilon, 1e-6)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, math.nan, math.inf, "1e-6", None, True])
def test_delta_must_be_a_probability(delta: Any) -> None:
    with pytest.raises(BudgetError, match="delta"):
        Budget(1.0, delta)


def test_no_default_delta_and_the_message_says_how_to_choose() -> None:
    with pytest.raises(BudgetError, match=r"no safe default.*1/n²"):
        Budget(1.0)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, None])
def test_other_kinds_are_checked(value: Any) -> None:
    with pytest.raises(BudgetError):
        Budget.gdp(value)
    with pytest.raises(BudgetError):
        Budget.zcdp(value)


def test_a_curve_has_no_single_pair() -> None:
    for budget in (Budget.gdp(0.3), Budget.zcdp(0.02)):
        with pytest.raises(BudgetError, match="epsilon_at"):
            _ = budget.epsilon
        with pytest.raises(BudgetError, match="epsilon_at"):
            _ = budget.delta
        epsilon = budget.epsilon_at(1e-6)
        assert budget.delta_at(epsilon) <= 1e-6 < budget.delta_at(epsilon * 0.999)
    assert Budget.gdp(0.3).delta_at(1.0) == gdp_delta(0.3, 1.0)
    assert Budget(1.0, 1e-6).epsilon_at(1e-7) == math.inf
    assert Budget(1.0, 1e-6).epsilon_at(1e-5) == 1.0
    assert Budget(1.0, 1e-6).delta_at(0.5) == 1.0


@pytest.mark.parametrize(
    "state",
    [{}, {"kind": "dp"}, {"kind": "x", "epsilon": 1}, {"kind": "dp", "epsilon": 1.0, "delta": 1e-6, "extra": 1}],
)
def test_unknown_forms_are_not_guessed(state: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match="kind"):
        Budget.from_dict(state)


def test_admits_what_costs_at_most_the_budget() -> None:
    assert Budget(1.0, 1e-6).admits(GaussianEvent(1 / 0.2367))
    assert not Budget(1.0, 1e-6).admits(GaussianEvent(1 / 0.2368))
    assert Budget.gdp(0.5).admits(GaussianEvent(2.0))
    assert not Budget.gdp(0.5).admits(GaussianEvent(1.999))
    assert Budget.zcdp(0.125).admits(LaplaceEvent(2.0001))
    assert not Budget.zcdp(0.125).admits(LaplaceEvent(1.999))
    assert Budget(0.5, 0).admits(PermuteAndFlipEvent(0.5))
    assert Budget(1.0, 0).admits(compose(SelectionEvent(0.25), count=4))
    assert not Budget(0.5, 0).admits(GaussianEvent(1e9))
    assert not Budget(0.5, 0).admits(LaplaceEvent(2.0, samples=1))
    for budget in BUDGETS:
        assert budget.admits(NotPrivateEvent()) == (not budget.is_private)
        assert budget.admits(compose(NotPrivateEvent(), GaussianEvent(1e9))) == (not budget.is_private)


def test_tails_count_against_every_kind() -> None:
    assert Budget.gdp(0.5).admits(GaussianEvent(2.0, samples=2**60))
    assert not Budget.gdp(0.5).admits(GaussianEvent(2.0, samples=2**70))
    assert not Budget.zcdp(0.125).admits(GaussianEvent(2.1, samples=2**70))
    assert not Budget(1.0, 1e-36).admits(GaussianEvent(1e3, samples=1000))
    assert Budget(1.0, 1e-35).admits(GaussianEvent(1e3, samples=1000))
