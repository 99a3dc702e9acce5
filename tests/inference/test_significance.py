"""z and p against intervals: an interval at quantile |z(c)| ends in c; adjusted p-values against their definitions."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from hullabaloo.errors import InvalidParameter
from hullabaloo.inference.debiased import Debiased, Equations, Intervals
from hullabaloo.inference.significance import adjusted, p_values, z_against


def estimator(seed: int, noise: float, exact: bool = False) -> Debiased:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    gram = 0.1 * root @ root.T + 0.2 * np.eye(4)
    sampling = 1e-4 * gram
    return Debiased(Equations(gram, rng.normal(size=4), noise, noise, sampling, np.eye(4), exact_corner=exact))


@pytest.mark.parametrize(("noise", "exact"), [(0.0, False), (0.01, False), (0.01, True)])
def test_an_interval_at_the_level_of_a_test_ends_in_the_value_tested(noise: float, exact: bool) -> None:
    ended = 0
    for seed in range(20):
        one, rng = estimator(seed, noise, exact), np.random.default_rng(seed)
        functions = rng.normal(size=(5, 4))
        told = one.intervals(functions, 1.96)
        values = told.estimate + rng.normal(size=5) * np.hypot(told.sampling_error, told.privacy_error) * 3.0
        z = z_against(told, 1.96, values)
        assert np.array_equal(np.isnan(z), np.isnan(told.low))
        for at, value, function in zip(z, values, functions, strict=True):
            found = one.intervals(function[None, :], abs(at))
            if not np.isnan(found.low[0]):
                ended += 1
                end = found.low[0] if at > 0.0 else found.high[0]
                assert end == pytest.approx(value, rel=1e-7, abs=1e-9)
    assert ended > 60


def test_without_noise_z_is_the_estimate_over_its_error_however_large() -> None:
    error = np.array([1.0, 1e-3, 1e-7])
    found = Intervals(np.ones(3), error, np.zeros(3), 1.0 - 1.96 * error, 1.0 + 1.96 * error)
    assert z_against(found, 1.96, np.zeros(3)) == pytest.approx(1.0 / error, rel=1e-6)
    exact = Intervals(np.array([1.0, 0.0]), *np.zeros((2, 2)), *np.array([[1.0, 0.0]] * 2))
    assert z_against(exact, 1.96, np.zeros(2)).tolist() == [np.inf, 0.0]
    assert p_values(np.array([0.0, np.inf, 1.959964]), 1e9) == pytest.approx([1.0, 0.0, 0.05], abs=1e-6)


def test_adjusted_p_values_follow_their_definitions_and_what_is_not_told_counts() -> None:
    p = np.random.default_rng(1).uniform(size=12) ** 3
    order, m = np.argsort(p), p.size
    holm = [max((m - j) * p[order[j]] for j in range(i + 1)) for i in range(m)]
    assert adjusted(p, "holm")[order] == pytest.approx(np.minimum(holm, 1.0))
    assert adjusted(p, "bonferroni") == pytest.approx(np.minimum(m * p, 1.0))
    assert adjusted(p, "bh") == pytest.approx(false_discovery_control(p))
    assert adjusted(p, None) is p
    with_gap = np.append(p, np.nan)
    for how in ("holm", "bonferroni", "bh"):
        assert np.isnan(adjusted(with_gap, how)[-1])
        assert adjusted(with_gap, how)[:-1] == pytest.approx(adjusted(np.append(p, 1.0), how)[:-1])
    with pytest.raises(InvalidParameter, match="'sidak'"):
        adjusted(p, "sidak")
