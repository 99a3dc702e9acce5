"""Same keystream, two inputs: the outputs must be one function f of K(x) + N, with N the same integers."""

import math
from collections.abc import Callable

import numpy as np

from hullabaloo.noise import TestKey, lattice, sampler
from hullabaloo.noise.keys import Keystream
from hullabaloo.noise.release import REACH


def cells_of(x: np.ndarray, exponent: int) -> np.ndarray:
    """K(x), NaN as 0."""
    return np.rint(np.clip(np.ldexp(np.where(np.isnan(x), 0.0, x), -exponent), -REACH, REACH)).astype(np.int64)


def image(m: np.ndarray, exponent: int) -> np.ndarray:
    """f(M) = ldexp(float(M) + ½, e), by Python's correctly rounded integers."""
    return np.array([math.ldexp(float(int(v)) + 0.5, exponent) for v in m])


def inputs(rng: np.random.Generator, size: int, scale: float, bound: float) -> tuple[np.ndarray, np.ndarray]:
    """Two neighbouring inputs: on and off the lattice, tiny, subnormal, and up to ±bound."""
    x = rng.normal(size=size) * scale * 2.0 ** rng.integers(-45, 20, size)
    other = x + rng.normal(size=size) * scale * 2.0 ** rng.integers(-45, 2, size)
    x[::11], other[::7] = 0.0, 0.0
    x[1::13], other[2::13] = 5e-324, -3e-310
    x[3::17], other[4::17] = bound, -bound
    x[5::17] = other[5::17] = rng.uniform(-bound, bound)
    other[5::17] += scale
    return x, other


def violations(
    mechanism: Callable[..., np.ndarray], density: sampler.Density, scale: float, bound: float, key: TestKey, size: int
) -> int:
    grid = lattice(scale, bound)
    rng = np.random.default_rng(list(key.secret))
    noise = np.empty(size, np.int64)
    sampler.fill(noise, sampler.build(density, grid.ratio), Keystream(key))
    cells, released, bad = [], [], 0
    for x in inputs(rng, size, scale, bound):
        y = mechanism(x, scale, bound=bound, key=key)
        k = cells_of(x, grid.exponent)
        cells.append(k)
        released.append(y)
        bad += np.count_nonzero(y != image(k + noise, grid.exponent))
    m = [k + noise for k in cells]
    exact = (np.abs(m[0]) < 2**52) & (np.abs(m[1]) < 2**52)  # y still shows the integer
    shown = [np.ldexp(y[exact], -grid.exponent) - 0.5 for y in released]
    bad += np.count_nonzero(shown[1] - shown[0] != (cells[1] - cells[0])[exact])
    return int(bad)
