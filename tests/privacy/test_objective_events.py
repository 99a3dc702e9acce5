"""The event of objective perturbation: laws, its Rényi curve, composition and calibration."""

import json
import math
import pickle
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hullabaloo.errors import CalibrationError, InvalidParameter
from hullabaloo.privacy import (
    DRAWS,
    Allowance,
    Budget,
    Event,
    GaussianEvent,
    LaplaceEvent,
    Neighbours,
    ObjectivePerturbationEvent,
    SelectionEvent,
    compose,
    epsilon_of,
    event_calibrate,
    event_from_dict,
    filter_named,
    gaussian_mu,
    group,
    objective_noise_multiplier,
    output_noise_multiplier,
    paper_objective_perturbation,
)
from hullabaloo.privacy.objective_events import objective_deltas
from hullabaloo.privacy.renyi import renyi_delta
from tests.privacy.test_objective_profile import ADD, CASES, REPLACE, T, divergence, law

events = st.builds(
    ObjectivePerturbationEvent,
    st.floats(0.5, 50.0),
    st.floats(0.01, 3.0),
    st.sampled_from([ADD, REPLACE]),
    st.integers(0, 10**6),
    st.integers(1, 4),
)
others = st.one_of(
    st.builds(GaussianEvent, st.floats(1.0, 50.0)),
    st.builds(LaplaceEvent, st.floats(1.0, 50.0)),
    st.builds(SelectionEvent, st.floats(0.01, 1.0)),
    events,
)
few = settings(max_examples=12, derandomize=True, deadline=None)


@few
@given(events, others, st.integers(1, 5), st.floats(0.0, 3.0))
def test_laws_of_events(event: Event, other: Event, count: int, epsilon: float) -> None:
    both = compose(compose(event, count=count), other)
    for one in (event, both):
        assert event_from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False))) == one
        assert pickle.loads(pickle.dumps(one)) == one
        assert 0.0 <= one.profile(epsilon * 1.1) <= one.profile(epsilon) * (1 + 1e-6) <= 1 + 1e-6
    assert both == compose(other, *([event] * count))
    assert both.renyi(3.0) == pytest.approx(count * event.renyi(3.0) + other.renyi(3.0), rel=1e-12)
    if event.profile(epsilon) < 1e-3:  # above that a Rényi bound of the whole can beat the profile of a part
        assert both.profile(epsilon) >= event.profile(epsilon) * (1 - 1e-6)
    assert (both.gdp_mu(), both.zcdp_rho(), both.pure_epsilon()) == (None, None, math.inf)
    assert compose(group(event, 2), count=2) == group(compose(event, count=2), 2)
    assert group(event, 2).profile(epsilon) >= event.profile(epsilon)
    assert group(group(event, 2), 3) == group(event, 6)


@pytest.mark.few(2)
@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize(("epsilon", "s", "kappa"), CASES)
def test_the_curve_is_the_integral_of_the_profile(epsilon: float, s: float, kappa: float, records: int) -> None:
    event = ObjectivePerturbationEvent(1 / s, kappa, REPLACE, records=records)
    grid = records * np.linspace(0, math.log1p(kappa) + 2 * s * (40 + s), 4001)
    single = objective_deltas(1 / s, kappa, REPLACE, grid / records)
    profile = np.minimum(1.0, single * np.exp(np.outer(np.arange(records) / records, grid)).sum(0))
    assert profile[500] == pytest.approx(event.profile(float(grid[500])), rel=1e-9)
    for alpha in (1.05, 2.0, 4.0):
        kernel = np.exp(np.minimum((alpha - 1) * grid, 700.0)) + np.exp(-alpha * grid)
        exact = math.log1p(alpha * (alpha - 1) * float(np.trapezoid(kernel * profile, grid))) / (alpha - 1)
        assert exact * (1 - 1e-3) <= event.renyi(alpha) <= exact * 1.03
    orders = [1.001, 1.1, 2.0, 5.0, 20.0, 100.0, 1e4, 1e9]
    values = [event.renyi(alpha) for alpha in orders]
    assert all(a <= b * (1 + 1e-2) for a, b in pairwise(values))
    shift = 2 * s * records
    assert shift**2 / 2 * 1e9 <= values[-1] <= shift**2 / 2 * 1e9 * (1 + 1e-6)
    if event.profile(epsilon) < 0.01:
        assert event.profile(epsilon) <= renyi_delta(event.renyi, epsilon)


@pytest.mark.parametrize(("epsilon", "s", "kappa"), CASES[:4])
def test_exact_mechanisms_stay_below_curve_and_compositions(epsilon: float, s: float, kappa: float) -> None:
    """Rényi divergences and twofold compositions of pairs whose laws are known exactly."""
    event = ObjectivePerturbationEvent(1 / s, kappa, REPLACE)
    twice = compose(event, count=2)
    mixed = compose(event, GaussianEvent(1 / s))
    step = float(T[1] - T[0])
    pairs = [(law(0, 1, -6, s, kappa), law(0, -1, -6, s, kappa)), (law(0, 1, 4, s, kappa), law(1, -1, 4, s, kappa))]
    pairs.append((law(0, 1, -14, s, kappa), law(0, 1, 14, s, kappa)))
    coarse = slice(None, None, 40)
    for p, q in pairs:
        assert divergence(p, q, epsilon) <= event.profile(epsilon)
        for alpha in (1.5, 3.0, 10.0):
            moment = step * float(np.sum(p * np.exp((alpha - 1) * np.log(p / q))))
            assert math.log(moment) / (alpha - 1) <= event.renyi(alpha) * (1 + 1e-6)
        a, b = p[coarse], q[coarse]
        joint = float(np.maximum(np.outer(a, a) - math.exp(epsilon) * np.outer(b, b), 0).sum()) * (40 * step) ** 2
        assert joint <= twice.profile(epsilon)
        n, m = np.exp(-(T[coarse] ** 2) / 2), np.exp(-((T[coarse] - s) ** 2) / 2)
        joint = float(np.maximum(np.outer(a, n) - math.exp(epsilon) * np.outer(b, m), 0).sum()) * (40 * step) ** 2
        assert joint / math.sqrt(2 * math.pi) <= mixed.profile(epsilon)


def test_a_split_with_a_little_noise_costs_little() -> None:
    alone = ObjectivePerturbationEvent(10.0, 0.3, REPLACE)
    both = compose(alone, GaussianEvent(1e4))
    assert alone.profile(1.0) < both.profile(1.0) < 1.05 * alone.profile(1.0)
    assert both.profile(0.0) <= (alone.profile(0.0) + GaussianEvent(1e4).profile(0.0)) * (1 + 1e-9)
    assert compose(alone, count=2).profile(1.0) < 1e-2


@pytest.mark.few(3)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("filter", [None, "basic", "renyi"])
@pytest.mark.parametrize("budget", [Budget(1.0, 1e-6), Budget(0.1, 1e-8), Budget(6.0, 1e-5)], ids=repr)
def test_what_is_calibrated_is_taken_and_smallest(budget: Budget, filter: str | None, relation: Neighbours) -> None:
    allowance, kappa = Allowance(budget, filter), budget.epsilon / 3
    output = GaussianEvent(output_noise_multiplier(allowance), 100)
    noise = objective_noise_multiplier(allowance, kappa, relation, output=output)
    assert allowance.takes(compose(ObjectivePerturbationEvent(noise, kappa, relation, 100), output))
    assert not allowance.takes(compose(ObjectivePerturbationEvent(noise * (1 - 1e-4), kappa, relation, 100), output))
    alone = objective_noise_multiplier(allowance, kappa, relation)
    assert alone <= noise <= alone * 1.003
    if filter:
        rule = filter_named(filter)
        assert rule.takes(compose(ObjectivePerturbationEvent(noise, kappa, relation, 10**6), output), budget)
    gaussian = (2 if relation is REPLACE else 1) / gaussian_mu(budget, filter=filter)
    assert gaussian < noise < 1.4 * gaussian


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize(
    ("epsilon", "ratio"),
    [(0.03, 0.03), (0.3, 0.5), (3.0, 0.1), (20.0, 0.02), pytest.param(46.0, 0.5, marks=pytest.mark.slow)],
)
def test_where_a_search_looks_first_changes_no_bit(
    epsilon: float, ratio: float, relation: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the best split of ε, by a poor one, and with no idea where to look."""
    allowance = Allowance(Budget(epsilon, 1e-7))
    faint = GaussianEvent(output_noise_multiplier(allowance), 50)

    def found() -> float:
        asked = allowance, ratio * epsilon, relation
        return objective_noise_multiplier.__wrapped__(*asked, output=faint)

    def nowhere(*_: Any) -> None:
        raise CalibrationError("no idea")

    at_once = found()
    for poor in (0.02, 0.9):
        monkeypatch.setattr(event_calibrate, "best_split", lambda *_, poor=poor: (0.0, poor * epsilon))
        assert found() == at_once
    monkeypatch.setattr(event_calibrate, "best_split", nowhere)
    assert found() == at_once


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("epsilon", "ratio", "share", "uses", "relation", "filter"),
    [
        (1.0, 0.15, 0.3, 1, REPLACE, None),
        (6.0, 0.5, 0.0, 3, ADD, "basic"),
        (20.0, 0.05, 0.9, 1, ADD, "basic"),
        (0.1, 0.15, 0.03, 3, REPLACE, None),
        (2.0, 0.01, 1e-5, 1, ADD, None),  # so little beside that a split costs less than any order
        pytest.param(90.0, 0.05, 0.3, 1, REPLACE, None, marks=pytest.mark.slow),
    ],
)
def test_where_a_search_looks_first_changes_no_bit_beside_much_else(
    epsilon: float, ratio: float, share: float, uses: int, relation: Neighbours, filter: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """By the best order, and with no idea where to look; of several uses, too."""
    budget = Budget(epsilon, 1e-7)
    mu = gaussian_mu(budget, samples=DRAWS, filter=filter)
    beside = compose(*[GaussianEvent(math.sqrt(5.0 / share) / mu, 50)] * 5) if share else None
    allowance = Allowance(budget, filter, beside=beside)
    faint = GaussianEvent(math.sqrt(uses) * output_noise_multiplier(allowance), 50)
    asked = allowance, ratio * epsilon, relation
    at_once = objective_noise_multiplier.__wrapped__(*asked, output=faint, count=uses)

    def nowhere(*_: Any) -> None:
        raise CalibrationError("no idea")

    monkeypatch.setattr(event_calibrate, "_by_order", nowhere)
    assert objective_noise_multiplier.__wrapped__(*asked, output=faint, count=uses) == at_once


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("epsilon", [0.1, 6.0, 33.0, 46.0, 84.0, 157.0])
def test_what_is_guessed_is_looked_at_in_full_and_its_neighbour_below_is_not_taken(
    epsilon: float, relation: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The noise was itself seen to be taken, whatever was guessed; no second look was needed, beyond what draws can use either, and the neighbour below is not taken indeed."""
    allowance, takes, seen = Allowance(Budget(epsilon, 1e-8), "basic"), Allowance.takes, dict[float, bool]()
    faint = GaussianEvent(output_noise_multiplier(allowance), 50)

    def looked_at(asked: Allowance, event: Event) -> bool:
        noise = next(part.noise_multiplier for part, _ in event.parts if isinstance(part, ObjectivePerturbationEvent))
        seen[noise] = takes(asked, event) and noise not in holes
        return seen[noise]

    monkeypatch.setattr(Allowance, "takes", looked_at)
    holes = set[float]()
    noise = objective_noise_multiplier.__wrapped__(allowance, 0.2 * epsilon, relation, output=faint)
    assert seen == {noise: True}
    below = compose(ObjectivePerturbationEvent(noise * (1 - 1e-6), 0.2 * epsilon, relation, DRAWS), faint)
    assert not takes(allowance, below)
    if epsilon < 20.0:  # a bound that is not monotone: where it was guessed, and only there, nothing is taken
        holes.add(noise)
        other = objective_noise_multiplier.__wrapped__(allowance, 0.2 * epsilon, relation, output=faint)
        assert other != noise
        assert seen[other]
        assert any(not fits and other * (1 - 1e-6) <= x < other for x, fits in seen.items())


def test_of_a_budget_beyond_what_draws_can_use_the_minimiser_takes_little_too() -> None:
    allowance = Allowance(Budget(1e6, 1e-6))
    output = GaussianEvent(output_noise_multiplier(allowance), 100)
    event = ObjectivePerturbationEvent(1.5 * 2.0 / allowance.mu, 1.0, REPLACE, 100)
    assert allowance.takes(compose(event, output))
    assert ObjectivePerturbationEvent(0.02, 1.0, REPLACE).profile(2e3) <= 1.0  # e^2000 is no double


def test_several_uses() -> None:
    allowance = Allowance(Budget(1.0, 1e-6), "basic")
    noise = objective_noise_multiplier(allowance, 0.15, ADD, count=3)
    assert allowance.takes(compose(ObjectivePerturbationEvent(noise, 0.15, ADD, 1000), count=3))
    assert noise > math.sqrt(3) * objective_noise_multiplier(allowance, 0.05, ADD)
    assert noise < 3 * objective_noise_multiplier(allowance, 0.15, ADD)


def test_speed() -> None:
    allowance = Allowance(Budget(1.0, 1.01e-6), "basic")
    start = time.perf_counter()
    objective_noise_multiplier(allowance, 0.3331, REPLACE, output=GaussianEvent(output_noise_multiplier(allowance), 50))
    assert time.perf_counter() - start < 2.0  # 0.1 s alone on a core
    start = time.perf_counter()
    objective_noise_multiplier(allowance, 0.3331, REPLACE, output=GaussianEvent(output_noise_multiplier(allowance), 50))
    assert time.perf_counter() - start < 0.01


def test_no_privacy_needs_no_noise() -> None:
    forever = Allowance(Budget(math.inf))
    assert objective_noise_multiplier(forever, 0.3, ADD) == output_noise_multiplier(forever) == 0.0


@pytest.mark.parametrize(
    "allowance",
    [Allowance(Budget.gdp(0.3)), Allowance(Budget.zcdp(0.02)), Allowance(Budget(1.0, 1e-6), "gdp"), Allowance(Budget(1.0, 0.0))],
)  # fmt: skip
def test_currencies_without_a_price_are_refused_with_the_remedy(allowance: Allowance) -> None:
    for call in (lambda: objective_noise_multiplier(allowance, 0.3, ADD), lambda: output_noise_multiplier(allowance)):
        with pytest.raises(CalibrationError, match=r"delta|solver"):
            call()
    assert not allowance.takes(ObjectivePerturbationEvent(1e6, 1e-3, ADD))


def test_the_papers_noise_is_priced_really() -> None:
    """The printed noise of Talwar, Thakurta & Zhang 2014 is not private under replace-one, whatever the curvature.

    Tests: 002, Algorithm 2.
    """
    budget = Budget(1.0, 1e-6)
    noise, kappa = paper_objective_perturbation(budget)
    assert (noise, kappa) == (pytest.approx(math.sqrt(2 * math.log(1e6))), 0.5)
    assert GaussianEvent(noise / 2).profile(1.0) == pytest.approx(
        8.2e-4, rel=0.02
    )  # linear losses, an exact lower bound
    assert ObjectivePerturbationEvent(noise, kappa, REPLACE).profile(1.0) > 1e-3
    assert epsilon_of(ObjectivePerturbationEvent(noise, kappa, REPLACE), 1e-6) > 1.9
    noise = (
        math.sqrt(8.0 * math.log(2.0 / budget.delta) + 4.0 * budget.epsilon) / budget.epsilon
    )  # Kifer, Smith, Thakurta 2012, Theorem 2
    assert ObjectivePerturbationEvent(noise, budget.epsilon / 2.0, ADD).profile(1.0) < 1e-12
    for wrong in (Budget.gdp(1.0), Budget(1.0, 0.0), Budget(math.inf)):
        with pytest.raises(CalibrationError):
            paper_objective_perturbation(wrong)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", None, True])
def test_what_cannot_be_priced_is_refused(bad: Any) -> None:
    wrong = [(bad, 0.1, ADD), (1.0, bad, ADD), (1.0, 0.1, bad), (1.0, 0.1, ADD, -1), (1.0, 0.1, ADD, 0, bad)]
    for fields in wrong:
        with pytest.raises(InvalidParameter):
            ObjectivePerturbationEvent(*fields)
