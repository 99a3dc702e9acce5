"""The readings of a guarantee against exact mechanisms."""

import math
from itertools import pairwise

import pytest
from scipy.stats import norm

from hullabaloo.privacy import Event, GaussianEvent, LaplaceEvent, PermuteAndFlipEvent, SelectionEvent, compose
from hullabaloo.report import guarantee

MU = (0.05, 0.2367, 1.0, 3.0)
EVENTS: tuple[Event, ...] = (
    GaussianEvent(4.2, samples=1000),
    LaplaceEvent(2.0),
    SelectionEvent(0.5),
    PermuteAndFlipEvent(0.3),
    compose(GaussianEvent(4.2), SelectionEvent(0.1), count=3),
)


@pytest.mark.parametrize("mu", MU)
def test_best_guess_is_that_of_the_likelihood_ratio_test(mu: float) -> None:
    exact = norm.cdf(mu / 2.0)  # right with this probability on either side
    assert guarantee.best_guess(GaussianEvent(1.0 / mu)) == pytest.approx(exact, rel=1e-9)
    assert guarantee.best_guess(GaussianEvent(1.0 / mu)) >= exact


@pytest.mark.parametrize("mu", MU)
@pytest.mark.parametrize("chance", [1e-2, 1e-6, 1e-10])
def test_loss_bound_is_above_the_exact_tail_of_the_privacy_loss_and_near_it(mu: float, chance: float) -> None:
    exact = mu * mu / 2.0 + mu * norm.isf(chance)
    bound = guarantee.loss_bound(GaussianEvent(1.0 / mu), chance)
    assert exact <= bound <= 1.25 * exact + 0.05


@pytest.mark.parametrize("mu", MU)
def test_trade_off_is_the_neyman_pearson_power(mu: float) -> None:
    alarms = [0.0, 1e-3, 0.01, 0.1, 0.5, 0.9, 1.0]
    for alarm, hit in zip(alarms, guarantee.trade_off(GaussianEvent(1.0 / mu), alarms), strict=True):
        exact = norm.cdf(norm.ppf(alarm) + mu) if alarm > 0.0 else 0.0
        assert exact - 1e-12 <= hit <= exact + 0.01


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.kind)
def test_readings_are_monotone_and_bounded(event: Event) -> None:
    delta = 1e-6
    rows = guarantee.groups(event, delta)
    for left, right in pairwise(rows):
        assert left["best_guess"] <= right["best_guess"] <= 1.0
        assert left["even_odds_after"] <= right["even_odds_after"] <= 1.0
        assert left["epsilon"] <= right["epsilon"]
    beliefs = guarantee.readings(event, delta)["beliefs"]
    assert all(one["before"] <= one["after"] <= 1.0 for one in beliefs)
    table = guarantee.other_deltas(event, delta)
    assert all(a["delta"] > b["delta"] and a["epsilon"] <= b["epsilon"] for a, b in pairwise(table))
    curve = guarantee.trade_off(event, [j / 20.0 for j in range(21)])
    assert all(a <= b + 1e-12 for a, b in pairwise(curve))
    assert all(hit >= j / 20.0 - 1e-12 for j, hit in enumerate(curve))


def test_a_pure_mechanism_has_its_epsilon_as_loss_bound() -> None:
    assert guarantee.loss_bound(PermuteAndFlipEvent(0.3), 1e-6) == pytest.approx(0.3, rel=0.05)


def test_belief_follows_bayes() -> None:
    assert guarantee.belief_after(0.5, math.log(3.0)) == pytest.approx(0.75)
    assert guarantee.belief_after(0.1, 0.0) == pytest.approx(0.1)
    assert guarantee.belief_after(0.1, math.inf) == 1.0
