"""Bounded range: closed forms against a scan of two-point pairs, and the dynamic programme between two bounds."""

import math

import mpmath
import numpy as np
import pytest

from hullabaloo.privacy import SelectionEvent, compose, delta_of, epsilon_of, gdp_delta, selection_epsilon
from hullabaloo.privacy.bounded_range import adaptive_profile, range_mu, range_profile, range_renyi
from hullabaloo.privacy.budget import Budget
from hullabaloo.privacy.events import group
from hullabaloo.privacy.pure_dp import response_profile
from hullabaloo.privacy.renyi import renyi_delta


def pairs(eta: float, cells: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """The losses t and their probabilities."""
    t = np.linspace(0.0, eta, cells + 1)
    return t, np.exp(t) * np.expm1(eta - t) / np.expm1(eta)


def lower_bound(eta: float, count: int, epsilon: float, cells: int) -> float:
    """The adaptive programme with t restricted to the grid, on which it is exact: a lower bound of the optimum."""
    x = eta / cells * np.arange(-count * cells, count * cells + 1)
    value = np.maximum(0.0, -np.expm1(np.minimum(epsilon - x, 0.0)))
    _, p = pairs(eta, cells)
    for _ in range(count):
        wide = np.concatenate([np.full(cells, value[0]), value, np.full(cells, value[-1])])
        value = np.max(
            [p[j] * wide[cells + j :][: len(x)] + (1 - p[j]) * wide[j:][: len(x)] for j in range(cells + 1)], 0
        )
    return float(value[count * cells])


@pytest.mark.parametrize("eta", [1e-4, 0.1, 1.0, 4.0])
def test_profile_is_the_largest_over_pairs(eta: float) -> None:
    t, p = pairs(eta)
    for share in (0.0, 0.3, 0.9):
        scan = float(np.max(p * np.maximum(0.0, -np.expm1(share * eta - t))))
        assert scan * (1 - 1e-12) <= range_profile(eta, share * eta) <= scan * (1 + 1e-5)
        assert range_profile(eta, share * eta) <= response_profile(eta, share * eta)
    assert range_profile(eta, eta) == 0.0


@pytest.mark.few(8)
@pytest.mark.parametrize("eta", [1e-4, 0.1, 1.0, 4.0, 50.0])
@pytest.mark.parametrize("alpha", [1.001, 1.5, 2.0, 9.0, 300.0])
def test_renyi_is_the_largest_over_pairs_and_below_zcdp(eta: float, alpha: float) -> None:
    value = range_renyi(eta, alpha)
    assert value <= alpha * eta**2 / 8 * (1 + 1e-12)
    best = mpmath.mpf(0)
    with mpmath.workdps(50):
        e, a = mpmath.mpf(eta), mpmath.mpf(alpha)
        for j in range(0, 201):
            t = e * j / 200
            p = (mpmath.exp(e) - mpmath.exp(t)) / mpmath.expm1(e)
            best = max(
                best, mpmath.log(p * mpmath.exp((a - 1) * t) + (1 - p) * mpmath.exp((a - 1) * (t - e))) / (a - 1)
            )
    assert best * (1 - mpmath.mpf(1e-13)) <= value
    if alpha * eta <= 30:
        assert value <= best * (1 + mpmath.mpf(1e-3)) + mpmath.mpf(1e-13)


@pytest.mark.few(3)
@pytest.mark.parametrize("eta", [1e-6, 0.01, 0.3, 2.0, 10.0, 30.0])
def test_mu_is_the_largest_over_pairs_at_the_middle(eta: float) -> None:
    """The closed form of `range_mu` proved there: the maximum is at t = η/2."""
    mu = range_mu(eta)
    with mpmath.workdps(40):
        e, root = mpmath.mpf(eta), mpmath.sqrt(2)

        def upper(x: mpmath.mpf) -> mpmath.mpf:  # Φ⁻¹(1 − x) without cancellation for small x
            return root * mpmath.erfinv(1 - 2 * x)

        found = []
        for j in range(1, 40):
            t = e * j / 40
            found.append(upper(mpmath.expm1(t) / mpmath.expm1(e)) + upper(mpmath.expm1(e - t) / mpmath.expm1(e)))
    assert max(found) <= mu <= max(found) * (1 + mpmath.mpf(1e-9))
    assert found.index(max(found)) == 19
    for share in (0.0, 0.3, 0.7, 0.95):
        assert range_profile(eta, share * eta) <= gdp_delta(mu, share * eta) * (1 + 1e-9)


def test_mu_is_about_0_63_of_the_range() -> None:
    assert range_mu(1e-3) / 1e-3 == pytest.approx(math.sqrt(2 * math.pi) / 4, rel=1e-6)


@pytest.mark.parametrize(
    ("eta", "count", "epsilon"), [(0.5, 1, 0.2), (0.5, 4, 0.6), (0.153, 10, 1.0), (2.0, 3, 1.5), (0.2, 12, 0.0)]
)
def test_programme_is_above_its_exact_lower_bound_and_close(eta: float, count: int, epsilon: float) -> None:
    below = max(lower_bound(eta, count, epsilon, cells) for cells in (16, 24))
    for cells, slack in ((8, 0.8), (32, 0.08), (64, 0.03)):
        above = adaptive_profile(eta, count, cells).delta(epsilon)
        assert below <= above <= below * (1 + slack) + 1e-9, cells


def test_programme_between_grid_points_is_monotone_and_above_every_finer_one() -> None:
    coarse, fine = adaptive_profile(0.3, 6, 8), adaptive_profile(0.3, 6, 64)
    last = 1.0
    for epsilon in np.linspace(0.0, 1.75, 90):
        value = coarse.delta(float(epsilon))
        assert fine.delta(float(epsilon)) <= value * (1 + 1e-9)
        assert value <= last * (1 + 1e-12)
        last = value


def test_one_release_of_the_programme_is_the_closed_form() -> None:
    for epsilon in (0.0, 0.1, 0.33, 0.49):
        assert adaptive_profile(0.5, 1, 64).delta(epsilon) == pytest.approx(
            range_profile(0.5, epsilon), rel=5e-3, abs=2e-5
        )
        assert adaptive_profile(0.5, 1, 64).delta(epsilon) >= range_profile(0.5, epsilon)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("epsilon", "count", "eta", "zcdp"),
    [(1.0, 10, 0.153, 0.140), (1.0, 30, 0.087, 0.081), (1.0, 100, 0.047, 0.044), (3.0, 30, 0.239, 0.222)],
)
def test_selection_epsilon_gains_over_zcdp(epsilon: float, count: int, eta: float, zcdp: float) -> None:
    budget = Budget(epsilon, 1e-6)
    found = selection_epsilon(budget, count)
    assert found == pytest.approx(eta, rel=8e-3)
    assert found > 1.03 * zcdp
    assert budget.admits(compose(SelectionEvent(found), count=count))
    assert not budget.admits(compose(SelectionEvent(found * 1.01), count=count))


def test_composition_takes_the_best_of_its_bounds() -> None:
    event = compose(SelectionEvent(0.1), count=20)
    mu = event.gdp_mu()
    assert mu is not None
    assert delta_of(event, 0.8) < min(renyi_delta(event.renyi, 0.8), gdp_delta(mu, 0.8))
    assert delta_of(event, 20 * 0.1 * (1 + 1e-15)) == 0.0
    assert epsilon_of(event, 1e-300) <= 2.0 * (1 + 1e-10)


def test_group_of_selections() -> None:
    assert group(SelectionEvent(0.25), 4) == SelectionEvent(1.0)
    assert group(SelectionEvent(0.1), 3).pure_epsilon() >= 0.3


def test_long_compositions_fall_back() -> None:
    event = compose(SelectionEvent(0.001), count=100_000)
    assert 0.0 < delta_of(event, 1.0) < 1e-8
