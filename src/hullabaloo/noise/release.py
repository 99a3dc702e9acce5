"""The additive release shared by Gaussian and Laplace: round to the lattice, add an exact integer, convert once."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import sampler
from .keys import CHUNK, Key, Keystream, bound_to
from .lattice import Lattice

REACH = 2.0**62 - 2.0**45  # with |N| < 2^48 the sum stays inside 64 bits


def add_noise(x: ArrayLike, grid: Lattice, density: sampler.Density, key: Key | None) -> NDArray[np.float64]:
    """Release ``y = g·(float(K + N) + ½)``, K = rint(x/g), N = floor(s·W) for W of the given density."""
    from hullabaloo.noise import kernels

    exact = np.asarray(x, np.float64)
    flat = np.ascontiguousarray(exact).reshape(-1)
    stream = Keystream(bound_to(key, density.power, grid.pitch, grid.ratio, flat))
    y = np.empty(flat.size)
    table = sampler.build(density, grid.ratio)
    noise = np.empty(min(flat.size, CHUNK), np.int64)
    for start in range(0, flat.size, CHUNK):
        stop = min(start + CHUNK, flat.size)
        part = noise[: stop - start]
        sampler.fill(part, table, stream)
        kernels.release(flat[start:stop], part, 1 / grid.pitch, grid.pitch, REACH, y[start:stop])
    return y.reshape(exact.shape)
