"""The library's noise withstands what breaks ordinary noise: every attack here is shown to break a control first.

Neighbours are x and x + 1. A mechanism is flagged when an attack proves more than the ε it claims at δ = 1e-5. Keys and
seeds are fixed; on fresh ones each of ours would be flagged falsely with probability 1e-7.
"""

import math

import numpy as np
import pytest

from hullabaloo.noise import TestKey, gaussian, laplace, lattice, sampler
from hullabaloo.noise.keys import Keystream

from . import attacks

KEY = TestKey(bytes(range(32)))
N = 400_000
EPSILONS = [1.0, 0.5, 0.1]
LEADING = [0, 1, 2, 3, 4]


def numpy_laplace(epsilon):
    rng = np.random.default_rng(1)
    return rng.laplace(0, 1 / epsilon, N), rng.laplace(1, 1 / epsilon, N)


def numpy_normal(epsilon):
    rng, sigma = np.random.default_rng(2), attacks.sigma_for(epsilon)
    return sigma * rng.standard_normal(N), 1 + sigma * rng.standard_normal(N)


def sum_of_four_normals(epsilon):
    rng, sigma = np.random.default_rng(3), attacks.sigma_for(epsilon)
    first, second = (sigma * rng.standard_normal((4, N)).sum(0) / 2 for _ in range(2))
    return first, 1 + second


def rounded_before_addition(epsilon, finest=None):
    """Our own integers on a finer lattice, made a double *before* x is added: the order of two operations, no more."""
    sigma = attacks.sigma_for(epsilon)
    grid = lattice(sigma, 2.0)
    finer = 16 if finest is None else grid.exponent - finest
    released = []
    for x in (0.0, 1.0):
        noise = np.empty(N, np.int64)
        sampler.fill(noise, sampler.build(sampler.GAUSSIAN, grid.ratio), Keystream(KEY.derive(f"early {x}")))
        low = np.random.default_rng(int(x)).integers(0, 1 << finer, N)
        released.append(x + np.ldexp(noise.astype(float) * 2.0**finer + low, grid.exponent - finer))
    return tuple(released)


def our_gaussian(epsilon, x=0.0, octaves=1):
    sigma = attacks.sigma_for(epsilon)
    bound = sigma * 2.0**octaves
    return tuple(gaussian(np.full(N, v), sigma, bound=bound, key=KEY.derive(f"gaussian {v}")) for v in (x, x + 1))


def our_laplace(epsilon, x=0.0):
    return tuple(laplace(np.full(N, v), 1 / epsilon, bound=3.0, key=KEY.derive(f"laplace {v}")) for v in (x, x + 1))


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("control", [numpy_laplace, numpy_normal, sum_of_four_normals, rounded_before_addition])
def test_control_the_precision_attack_breaks_ordinary_noise(control, epsilon):
    y0, y1 = control(epsilon)
    proved = [attacks.sweep(y0, y1, leading) for leading in LEADING]
    assert min(proved) > 3 > epsilon, proved


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.few(1)
def test_control_the_porous_attack_breaks_numpys_laplace(epsilon):
    y0, y1 = numpy_laplace(epsilon)
    assert attacks.porous(y0[:100_000], y1[:100_000], 1 / epsilon) > 8


def test_control_the_textbook_test_passes_what_the_sweep_breaks():
    """Noise on the lattice 2^-53, rounded before the addition: no bit is finer than 2^-53, and yet it is broken."""
    y0, y1 = rounded_before_addition(1.0, finest=-53)
    assert attacks.textbook(y0, y1) < 1
    assert attacks.sweep(y0, y1, 2) > 3
    assert attacks.textbook(*numpy_normal(1.0)) > 3


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    ("x", "octaves"),
    [(0.0, 1), (1 / 3, 1), (0.0, 25), (0.0, 35), (2.0**16, 25), (2.0**20 / 3, 20)],
    ids=["on the lattice", "off the lattice", "k = 35", "k = 25", "large and coarse", "beyond 2^53"],
)
def test_the_gaussian_release_withstands_the_precision_attack(epsilon, x, octaves):
    y0, y1 = our_gaussian(epsilon, x, octaves)
    proved = [attacks.sweep(y0, y1, leading) for leading in LEADING]
    assert max(proved) <= epsilon, proved
    if x:  # the attacker knows it
        assert max(attacks.sweep(y0 - x, y1 - x, leading) for leading in (0, 2)) <= epsilon
    else:
        assert max(proved) > 0.1 or epsilon < 0.2  # the attack sees the honest loss: it has power
    assert attacks.textbook(y0, y1) <= epsilon


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.few(1)
def test_the_laplace_release_withstands_both_attacks(epsilon):
    y0, y1 = our_laplace(epsilon)
    proved = [attacks.sweep(y0, y1, leading) for leading in LEADING]
    assert max(proved) <= epsilon, proved
    assert max(proved) > 0.5 * epsilon  # pure ε: the honest loss is nearly all of it, and the attack finds it
    assert attacks.porous(y0[:100_000], y1[:100_000], 1 / epsilon) <= epsilon


def test_released_values_lie_on_the_half_lattice_whatever_the_input():
    """The reason in one line: the set of possible outputs does not depend on x."""
    sigma = attacks.sigma_for(1.0)
    for x in (0.0, 1 / 3, math.pi, 1.0):
        y = gaussian(np.full(10_000, x), sigma, bound=4.0)
        cell = np.ldexp(y, -lattice(sigma, 4.0).exponent) - 0.5
        assert np.array_equal(cell, np.rint(cell))
