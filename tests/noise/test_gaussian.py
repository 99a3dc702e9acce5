import math

import numpy as np
import pytest
from scipy import stats

from hullabaloo.errors import CalibrationError, InvalidParameter
from hullabaloo.noise import TestKey, gaussian, lattice, sampler
from hullabaloo.noise.keys import CHUNK

from .coupling import cells_of, inputs, violations

KEY = TestKey(bytes(range(32)))


@pytest.mark.few(7)
@pytest.mark.parametrize("octaves", range(20, 36))
def test_coupling_for_every_lattice_the_rule_can_give(octaves):
    """k = 40 … 25, σ over 2^±300: not one output differs from f(K(x) + N), with f and N shared by both inputs."""
    assert lattice(1.0, 2.0**octaves).k == 60 - octaves
    rng = np.random.default_rng(octaves)
    for trial in range(12):
        sigma = math.ldexp(rng.uniform(1, 2), int(rng.integers(-300, 300)))
        key = KEY.derive(f"{octaves} {trial}")
        assert violations(gaussian, sampler.GAUSSIAN, sigma, sigma * 2.0**octaves, key, 400) == 0


def test_coupling_when_values_are_small_against_the_noise():
    assert violations(gaussian, sampler.GAUSSIAN, 1.7, 1e-9, KEY, 2000) == 0


def test_rounding_moves_neighbours_apart_by_at_most_one_cell():
    for octaves in (1, 20, 35):
        bound = 2.0**octaves
        e = lattice(1.3, bound).exponent
        x, other = inputs(np.random.default_rng(octaves), 5000, 1.3, bound)
        apart = np.abs(cells_of(x, e) - cells_of(other, e)).astype(float)
        assert np.all(apart <= np.ldexp(np.abs(x - other), -e) * (1 + 1e-15) + 1 + 1e-9)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 4), (2, 0, 5), (CHUNK + 1,)])
def test_any_shape(shape):
    y = gaussian(np.zeros(shape), 1.0, bound=1.0)
    assert y.shape == shape
    assert y.dtype == np.float64


def test_layout_does_not_matter():
    x = np.arange(60.0).reshape(6, 10)
    expected = gaussian(x, 0.1, bound=60.0, key=KEY)
    frozen = x.copy()
    frozen.flags.writeable = False
    for same in (np.asfortranarray(x), frozen, np.repeat(x, 2, axis=1)[:, ::2], x.tolist(), x.astype(int)):
        assert np.array_equal(gaussian(same, 0.1, bound=60.0, key=KEY), expected)


def test_no_value_of_the_data_raises():
    """NaN counts as 0, everything else is clipped to the lattice: same noise, no exception."""
    values = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 3e18])
    y = gaussian(values, 1.0, bound=1.0, key=KEY)
    clipped = gaussian(np.clip(np.nan_to_num(values), -(2.0**22), 2.0**22), 1.0, bound=1.0, key=KEY)
    assert np.array_equal(y, clipped)
    assert np.all(np.isfinite(y))


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf])
def test_bad_public_arguments_are_refused(sigma):
    for arguments in ({"sigma": sigma, "bound": 1.0}, {"sigma": 1.0, "bound": sigma}):
        with pytest.raises(InvalidParameter, match="positive"):
            gaussian([0.0], **arguments)
    with pytest.raises(CalibrationError):
        gaussian([0.0], 1.0, bound=2.0**36)


def test_the_release_is_normal():
    """Law of y − x in units of σ, across chunks; false alarm 1e-7 on a fresh key.

    Tests: 003, Theorem A.2.
    """
    x = np.linspace(-5, 5, 400_000)
    z = (gaussian(x, 0.3, bound=5.0, key=KEY) - x) / 0.3
    assert stats.kstest(z, stats.norm.cdf).pvalue > 1e-7
    assert abs(np.corrcoef(z[1:], z[:-1])[0, 1]) < 5.5 / z.size**0.5
    assert abs(np.corrcoef(z, x)[0, 1]) < 5.5 / z.size**0.5
    assert np.unique(z).size == z.size


def test_a_chunk_does_not_repeat_another():
    y = gaussian(np.zeros(4 * CHUNK), 1.0, bound=1.0, key=KEY).reshape(4, CHUNK)
    assert np.unique(y).size == y.size
