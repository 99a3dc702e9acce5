import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hullabaloo.errors import BudgetError, EventRefused, InvalidParameter
from hullabaloo.privacy import (
    Budget,
    Event,
    GaussianEvent,
    LaplaceEvent,
    NotPrivateEvent,
    SelectionEvent,
    compose,
    delta_of,
    filter_named,
    gaussian_mu,
    gdp_delta,
)
from hullabaloo.privacy.filters import NOTHING, Cost, Filter, Totals
from hullabaloo.privacy.renyi import delta_at_order

NAMES = ("basic", "gdp", "renyi")
FULL = Budget(1.0, 1e-6)
DRAWS = 2**40


def added(rule: Filter, *spent: tuple[Cost, int]) -> Totals:
    """What charges of these costs take together, each so many times."""
    totals = NOTHING
    for cost, count in spent:
        totals = rule.add(totals, cost, count)
    return totals


def fit(budget: Budget, name: str) -> Event:
    return GaussianEvent(1.0 / gaussian_mu(budget, samples=DRAWS, filter=name), DRAWS)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "budget",
    [FULL, Budget(0.1, 1e-6), Budget(8.0, 1e-5), Budget(1e-3, 1e-12), Budget(1.0, 1e-18), Budget(60.0, 1e-4), Budget.gdp(0.24),
     Budget.zcdp(0.0244)], ids=repr,
)  # fmt: skip
@pytest.mark.few(12)
def test_one_full_fit_and_no_second(name: str, budget: Budget) -> None:
    """Tests: 003, Theorem A.3."""
    rule = filter_named(name)
    if budget.kind != {"basic": "dp", "gdp": "gdp", "renyi": "zcdp"}[name] and budget.kind != "dp":
        with pytest.raises(BudgetError, match=r"filter=|Budget\."):
            rule.capacity(budget)
        return
    capacity = tuple(json.loads(json.dumps(rule.capacity(budget), allow_nan=False)))
    assert capacity == rule.capacity(budget)
    cost = rule.cost(fit(budget, name), budget, capacity)
    assert rule.admits(capacity, NOTHING, cost)
    assert not rule.admits(capacity, added(rule, (cost, 1)), cost)
    assert rule.takes(fit(budget, name), budget)
    left = rule.remaining(capacity, added(rule, (cost, 1)))
    assert left.amounts[0] <= 1e-4 * capacity[0]
    assert "remain" in left.sentence


@pytest.mark.parametrize("parts", [3, 6, 7, 10, 49, 100, 1000])
def test_any_equal_split_fills_the_basic_filter_exactly(parts: int) -> None:
    rule, part = filter_named("basic"), (1.0 / parts, 1e-6 / parts)
    assert rule.fits((1.0, 1e-6), added(rule, (part, parts)))
    assert not rule.fits((1.0, 1e-6), added(rule, (part, parts), ((1e-12, 0.0), 1)))
    assert not rule.fits((1.0, 1e-6), added(rule, (part, parts), ((1e-300, 1e-18), 1)))
    assert rule.remaining((1.0, 1e-6), added(rule, (part, parts))).budget is None


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.lists(st.fractions(Fraction(1, 10**6), 10), min_size=1, max_size=12))
def test_no_split_of_a_budget_is_refused_and_none_overspends(reals: list[Fraction]) -> None:
    """Any reals that add up to R, written as floats, fit into R written as a float; and what fits is at most (1 + 2^-51) R."""
    rule = filter_named("basic")
    whole, spent = float(sum(reals)), [((float(real), 0.0), 1) for real in reals]
    assert rule.fits((whole, 1e-6), added(rule, *spent))
    assert not rule.admits((whole, 1e-6), added(rule, *spent), (whole * 2.0**-49, 0.0))
    assert sum(Fraction(cost[0]) for cost, _ in spent) <= Fraction(whole) * (1 + Fraction(1, 2**51))


def test_no_number_of_charges_gathers_rounding() -> None:
    rule = filter_named("basic")
    part = math.nextafter(0.1, 1.0)
    assert rule.fits((1e5, 0.5), added(rule, ((0.1, 0.0), 10**6)))
    assert not rule.fits((1e5, 0.5), added(rule, ((part, 0.0), 10**6), ((part, 0.0), 1)))
    assert not rule.fits((1e5, 0.5), added(rule, ((0.1, 0.0), 10**6), ((1e-9, 0.0), 1)))


@pytest.mark.parametrize("name", ["gdp", "renyi"])
def test_what_fits_satisfies_the_budget(name: str) -> None:
    """The claim of the two filters, recomputed from the stored numbers alone."""
    for budget in (FULL, Budget(8.0, 1e-5), Budget(0.05, 1e-10), Budget(60.0, 1e-4), Budget(1.0, 1e-18)):
        capacity = filter_named(name).capacity(budget)
        main, tail = capacity[:2]
        best = min(
            (gdp_delta(main, e) if name == "gdp" else delta_at_order(capacity[2], main, e)) + (1 + math.exp(e)) * tail
            for e in [budget.epsilon * j / 400 for j in range(401)] + [1.0, math.log(budget.delta * 2.0**68)]
            if 0.0 <= e <= budget.epsilon
        )
        assert best <= budget.delta * (1 + 1e-3)
        exact = [e for e in (budget.epsilon,) if e <= 8]
        for e in exact:
            part = gdp_delta(main, e) if name == "gdp" else delta_at_order(capacity[2], main, e)
            assert part + (1 + math.exp(e)) * tail <= budget.delta


@pytest.mark.parametrize("name", NAMES)
def test_many_small_fits(name: str) -> None:
    rule, part = filter_named(name), Budget(0.1, 1e-7)
    capacity, event = rule.capacity(FULL), fit(part, name)
    cost = rule.cost(event, part, capacity)
    admitted = next(n for n in range(1, 200) if not rule.fits(capacity, added(rule, (cost, n + 1))))
    assert admitted == 10 if name == "basic" else admitted > 30
    assert delta_of(compose(event, count=admitted), 1.0) <= 1e-6
    if name == "gdp":
        assert delta_of(compose(event, count=admitted + 1), 1.0) > 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_every_event_has_a_price(name: str) -> None:
    rule = filter_named(name)
    capacity = rule.capacity(FULL)
    for event in (
        LaplaceEvent(2.0, 10),
        SelectionEvent(0.5),
        compose(SelectionEvent(0.05), GaussianEvent(20.0, 5), count=3),
    ):
        cost = rule.cost(event, FULL, capacity)
        assert len(cost) == 2
        assert all(math.isfinite(part) for part in cost)
        assert not rule.admits(capacity, NOTHING, tuple(part * 1e9 for part in cost))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_private_is_refused(name: str) -> None:
    rule = filter_named(name)
    capacity = rule.capacity(FULL)
    for event in (NotPrivateEvent(), compose(NotPrivateEvent(), GaussianEvent(1e9))):
        for declared in (FULL, Budget(math.inf)):
            with pytest.raises(EventRefused, match="not private"):
                rule.cost(event, declared, capacity)
    with pytest.raises(EventRefused, match="not private"):
        rule.cost(GaussianEvent(100.0), Budget(math.inf), capacity)
    with pytest.raises(BudgetError, match="never runs out"):
        rule.capacity(Budget(math.inf))


@pytest.mark.parametrize("name", NAMES)
def test_a_charge_may_not_declare_less_than_it_costs(name: str) -> None:
    rule = filter_named(name)
    with pytest.raises(EventRefused, match="costs more"):
        rule.cost(fit(FULL, name), Budget(0.5, 1e-6), rule.capacity(FULL))


@dataclass(frozen=True, slots=True)
class Profiled(Event):
    """An event that has a profile only, as objective perturbation will."""

    kind = "profiled"

    def gdp_mu(self) -> None: ...
    def zcdp_rho(self) -> None: ...
    def renyi(self, alpha: float) -> float:
        return math.inf

    def exact(self, epsilon: float) -> float:
        return gdp_delta(0.2, epsilon)

    def group(self, k: int) -> Event:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind}


def test_events_without_a_curve_are_refused_where_one_is_needed() -> None:
    assert filter_named("basic").cost(Profiled(), FULL, (1.0, 1e-6)) == (1.0, 1e-6)
    for name in ("gdp", "renyi"):
        rule = filter_named(name)
        with pytest.raises(EventRefused, match=r"filter='basic'"):
            rule.cost(Profiled(), FULL, rule.capacity(FULL))
    mixed = compose(Profiled(), GaussianEvent(30.0))
    assert mixed.gdp_mu() is None
    assert mixed.zcdp_rho() is None


def test_other_kinds_of_budget_under_basic() -> None:
    for declared in (Budget.gdp(0.1), Budget.zcdp(0.01)):
        with pytest.raises(EventRefused, match="epsilon_at"):
            filter_named("basic").cost(GaussianEvent(20.0), declared, (1.0, 1e-6))
        assert filter_named("gdp").cost(GaussianEvent(20.0), declared, filter_named("gdp").capacity(FULL))[
            0
        ] == pytest.approx(0.05)


def test_pure_budgets() -> None:
    assert filter_named("basic").cost(SelectionEvent(0.5), Budget(0.5, 0.0), (1.0, 0.0)) == (0.5, 0.0)
    for name in ("gdp", "renyi"):
        with pytest.raises(BudgetError, match="positive delta"):
            filter_named(name).capacity(Budget(1.0, 0.0))


@pytest.mark.parametrize("cost", [(math.nan, 0.0), (-1.0, 0.0), (math.inf, 0.0), (0.1,), (0.1, -0.1), (0.1, 0.1, 0.1)])
def test_stored_nonsense_admits_nothing(cost: tuple[float, ...]) -> None:
    for name in NAMES:
        rule = filter_named(name)
        with pytest.raises(InvalidParameter):
            rule.admits(rule.capacity(FULL), NOTHING, cost)


def test_unknown_names() -> None:
    with pytest.raises(InvalidParameter, match=r"basic.*gdp.*renyi"):
        filter_named("zcdp")


def test_remaining_is_a_budget_that_still_fits() -> None:
    rule = filter_named("basic")
    left = rule.remaining((1.0, 1e-6), added(rule, ((0.75, 5e-7), 1)))
    assert left.budget == Budget(0.25, left.amounts[1])
    assert left.amounts[1] == pytest.approx(5e-7)
    assert rule.fits((1.0, 1e-6), added(rule, ((0.75, 5e-7), 1), (left.amounts, 1)))
    gdp = filter_named("gdp")
    capacity = gdp.capacity(Budget.gdp(1.0))
    rest = gdp.remaining(capacity, added(gdp, ((0.6, 0.0), 1)))
    assert rest.amounts[0] == pytest.approx(0.8)
    assert gdp.fits(capacity, added(gdp, ((0.6, 0.0), 1), (rest.amounts, 1)))


@pytest.mark.parametrize("spent", [(1.0, 1e-9), (1.0, 5e-10), (2.0, 1e-9), (0.5, 0.0)])
def test_what_is_left_says_where_no_release_with_a_delta_fits(spent: tuple[float, float]) -> None:
    """Of (2, 1e-9) the rest of epsilon is no use to whoever declares a delta again, and half of it looked free."""
    rule, capacity = filter_named("basic"), (2.0, 1e-9)
    totals = added(rule, (spent, 1))
    with_delta, without = (rule.admits(capacity, totals, (0.1, delta)) for delta in (1e-12, 0.0))
    assert ("only releases of delta 0 fit" in rule.remaining(capacity, totals).sentence) == (without and not with_delta)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1.7e308), st.floats(0, 1)), min_size=1, max_size=40), st.sampled_from(NAMES))
def test_what_is_written_of_a_sum_does_not_grow_with_the_charges(costs: list[tuple[float, float]], name: str) -> None:
    """Denominators are powers of two that divide 2^2148; carried on one by one, the sum is that of any order."""
    rule, million = filter_named(name), 10**6
    totals = added(rule, *((cost, million) for cost in costs))
    assert totals == added(
        rule, *((cost, 1) for cost in reversed(costs) for _ in range(2)), *((cost, million - 2) for cost in costs)
    )
    for part in totals:
        assert 2**2148 % part.denominator == 0
        assert part.numerator < million * len(costs) * 2**4196
        assert len(str(part)) < 2000
