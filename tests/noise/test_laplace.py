import math

import numpy as np
import pytest
from scipy import stats

from hullabaloo.errors import CalibrationError, InvalidParameter
from hullabaloo.noise import TestKey, laplace, sampler

from .coupling import violations

KEY = TestKey(bytes(range(32)))


@pytest.mark.few(3)
@pytest.mark.parametrize("octaves", range(20, 36))
def test_coupling_for_every_lattice_the_rule_can_give(octaves):
    rng = np.random.default_rng(octaves)
    for trial in range(4):
        scale = math.ldexp(rng.uniform(1, 2), int(rng.integers(-300, 300)))
        key = KEY.derive(f"{octaves} {trial}")
        assert violations(laplace, sampler.LAPLACE, scale, scale * 2.0**octaves, key, 400) == 0


def test_no_value_of_the_data_raises():
    values = np.array([[np.nan, np.inf], [-np.inf, 1e308]])
    assert np.all(np.isfinite(laplace(values, 1.0, bound=1.0)))


def test_the_integers_cannot_overflow_at_the_largest_noise_and_value():
    assert 2**62 - 2**45 + math.ceil(sampler.LAPLACE.cutoff * 1.01) * 2**41 < 2**63


def test_bad_public_arguments_are_refused():
    with pytest.raises(InvalidParameter, match="positive"):
        laplace([0.0], -1.0, bound=1.0)
    with pytest.raises(CalibrationError):
        laplace([0.0], 1.0, bound=2.0**36)


def test_the_release_is_laplace():
    """False alarm 1e-7 on a fresh key."""
    x = np.linspace(-5, 5, 400_000)
    z = (laplace(x, 0.3, bound=5.0, key=KEY) - x) / 0.3
    assert stats.kstest(z, stats.laplace.cdf).pvalue > 1e-7
