import math

import numpy as np
import pytest

from hullabaloo.errors import CalibrationError, InvalidParameter
from hullabaloo.privacy import (
    Allowance,
    Budget,
    GaussianEvent,
    SelectionEvent,
    compose,
    epsilon_of,
    filter_named,
    gaussian_mu,
    selection_epsilon,
)
from hullabaloo.privacy.renyi import zcdp_rho

BUDGETS = [Budget(1.0, 1e-6), Budget(0.1, 1e-9), Budget(8.0, 1e-5), Budget(1e-6, 1e-300), Budget(100.0, 1e-6)]
CURVES = [Budget.gdp(0.3), Budget.zcdp(0.02)]


@pytest.mark.parametrize(("epsilon", "delta", "mu"), [(1, 1e-6, 0.2367), (0.1, 1e-6, 0.0275), (8, 1e-5, 1.666)])
def test_reference_values(epsilon: float, delta: float, mu: float) -> None:
    assert gaussian_mu(Budget(epsilon, delta)) == pytest.approx(mu, abs=6e-5)


def test_reference_value_of_zcdp() -> None:
    assert zcdp_rho(1.0, 1e-6) == pytest.approx(0.02436, abs=6e-6)
    assert gaussian_mu(Budget(1.0, 1e-6), filter="renyi") == pytest.approx(math.sqrt(2 * 0.02436), abs=6e-5)


def test_papers_calibration_is_an_order_of_magnitude_worse() -> None:
    """σ² = 32 L² T log²(T/δ)/(nε)² at ε = 1, n = 20 000, δ = 1/n² against σ = Δ√T/μ, Δ = 2L/n."""
    n, steps = 20_000, 100
    paper = math.sqrt(32 * steps) * math.log(steps * n**2) / n
    ours = 2 / n * math.sqrt(steps) / gaussian_mu(Budget(1.0, n**-2.0))
    assert 12.0 < paper / ours < 14.0


@pytest.mark.parametrize("budget", [*BUDGETS[:3], *CURVES], ids=repr)
@pytest.mark.parametrize("samples", [0, 1000, 2**40])
@pytest.mark.few(6)
def test_mu_may_be_split_in_floating_point_and_still_fits(budget: Budget, samples: int) -> None:
    mu = gaussian_mu(budget, samples=samples)
    generator = np.random.default_rng(3)
    for parts in (1, 7, 300):
        weight = generator.dirichlet(np.ones(parts))
        events = [GaussianEvent(float(1.0 / (mu * np.sqrt(w))), samples // parts) for w in weight]
        assert budget.admits(compose(*events))
        assert not budget.admits(compose(*(GaussianEvent(e.noise_multiplier * (1 - 1e-4), e.samples) for e in events)))
    assert budget.admits(compose(GaussianEvent(math.sqrt(5000) / mu, samples // 5000), count=5000))


@pytest.mark.parametrize("budget", [*BUDGETS, *CURVES], ids=repr)
def test_noise_is_admitted_and_the_smallest(budget: Budget) -> None:
    for count in (1, 13, 1000):
        noise = math.sqrt(count) / gaussian_mu(budget)
        assert budget.admits(compose(GaussianEvent(noise), count=count))
        assert not budget.admits(compose(GaussianEvent(noise * (1 - 1e-9)), count=count))


def test_both_ways() -> None:
    event = compose(GaussianEvent(math.sqrt(10) / gaussian_mu(Budget(2.0, 1e-7))), count=10)
    assert epsilon_of(event, 1e-7) == pytest.approx(2.0, rel=1e-8)
    assert epsilon_of(event, 1e-7) <= 2.0


def test_pure_budgets_are_refused_for_gaussian_noise_with_the_remedy() -> None:
    for call in (gaussian_mu, lambda b: gaussian_mu(b, samples=5)):
        with pytest.raises(CalibrationError, match=r"delta = 0.*1/n².*1e-8"):
            call(Budget(1.0, 0.0))
    assert selection_epsilon(Budget(1.0, 0.0), 4) == pytest.approx(0.25, rel=1e-9)


def test_not_private_needs_no_noise() -> None:
    forever = Budget(math.inf)
    assert gaussian_mu(forever, samples=10) == gaussian_mu(forever, filter="renyi") == math.inf
    assert selection_epsilon(forever, 10) == math.inf


def test_what_noise_cannot_lower_is_refused() -> None:
    with pytest.raises(CalibrationError, match=r"cannot lower.*tails"):
        gaussian_mu(Budget(1.0, 1e-36), samples=1000)


@pytest.mark.parametrize("filter", [None, "basic", "gdp", "renyi"])
@pytest.mark.parametrize("budget", [*BUDGETS[:3], *CURVES], ids=repr)
@pytest.mark.few(8)
def test_what_is_calibrated_for_a_filter_fits_it(budget: Budget, filter: str | None) -> None:
    from hullabaloo.errors import BudgetError

    try:
        event = GaussianEvent(1.0 / gaussian_mu(budget, samples=2**40, filter=filter), 2**40)
        picks = compose(SelectionEvent(selection_epsilon(budget, 6, filter=filter)), count=6)
    except BudgetError:
        assert budget.kind != "dp"
        return
    assert budget.admits(event)
    assert budget.admits(picks)
    if filter:
        assert filter_named(filter).takes(event, budget)
        assert filter_named(filter).takes(picks, budget)


def test_a_filter_never_allows_more() -> None:
    for budget in BUDGETS[:3]:
        free = gaussian_mu(budget)
        assert gaussian_mu(budget, filter="basic") == free
        assert 0.99999 * free < gaussian_mu(budget, filter="gdp") <= free
        assert 0.85 * free < gaussian_mu(budget, filter="renyi") < free


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_counts_are_counts(count: int) -> None:
    budget = Budget(1.0, 1.25e-6)  # of no other test: what was worked out for 1 is remembered, and True is 1
    with pytest.raises(InvalidParameter):
        selection_epsilon(budget, count)


@pytest.mark.few(4)
@pytest.mark.parametrize("epsilon", [200.0, 1e3, 1e4, 1e6, 1e100])
@pytest.mark.parametrize("count", [2, 23, 500, 1000])
def test_selections_are_calibrated_to_budgets_of_any_size(epsilon: float, count: int) -> None:
    """Exponentials of a large ε are no doubles, and the δ at it is 0, whose logarithm is none."""
    budget = Budget(epsilon, 1e-6)
    chosen = selection_epsilon(budget, count)
    assert chosen >= epsilon / count * (1.0 - 1e-4)
    assert budget.admits(compose(SelectionEvent(chosen), count=count))


@pytest.mark.few(4)
@pytest.mark.parametrize("rule", [None, "basic", "renyi"])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_what_is_planned_beside_something_fits_beside_it_and_uses_the_rest(share: float, rule: str | None) -> None:
    """Gaussian noise and choices, one and many: both together are taken, and no longer where either has 0.1 % less noise."""
    whole = Allowance(Budget(0.5, 1e-8), rule)
    bought = GaussianEvent(1.0 / (whole.mu * math.sqrt(share)), 1000)
    left = Allowance(whole.budget, rule, beside=bought)
    assert left.scaled(0.5) == whole.scaled(0.5)
    assert left.mu == pytest.approx(whole.mu * math.sqrt(1.0 - share), rel=1e-9)
    assert left.takes(GaussianEvent(1.0 / left.mu))
    assert whole.takes(compose(GaussianEvent(1.0 / left.mu), bought))
    assert not left.takes(GaussianEvent(0.999 / left.mu))
    for count in (1, 20, 600):
        epsilon = left.selection_epsilon(count)
        assert epsilon < whole.selection_epsilon(count)
        assert whole.takes(compose(compose(SelectionEvent(epsilon), count=count), bought))
        assert not left.takes(compose(SelectionEvent(1.001 * epsilon), count=count))


@pytest.mark.parametrize("event", [GaussianEvent(0.5), SelectionEvent(0.4)], ids=repr)
def test_nothing_is_planned_beside_what_takes_all(event: GaussianEvent | SelectionEvent) -> None:
    with pytest.raises(CalibrationError, match="leaves nothing beside"):
        _ = Allowance(Budget(0.1, 1e-8), beside=event).mu
