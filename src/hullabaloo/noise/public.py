"""Public random numbers: fixed functions of a public seed, for matrices that everybody may know. Not privacy noise.

They come out of the exact sampler of the noise, but under a key that is printed here, so that they hide nothing; what they
are for is that nobody, the user included, has to store them or can choose them by looking at records.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from hullabaloo.errors import as_whole

from . import sampler
from .keys import Keystream, TestKey
from .lattice import lattice

_LABEL = "hullabaloo public numbers, not privacy noise"


def public_normals(seed: int, rows: int, columns: int, *, name: str = "") -> NDArray[np.float64]:
    """A (rows, columns) table of independent standard normal numbers that the seed determines, bit for bit on every machine.

    Tables of another `name` are independent of those of the same seed: what serves two ends must not be one table. Entries are rounded to `2^−30`; the first rows of a longer table of as many columns are those of a shorter one.

    **Guarantee.** None of privacy: whoever knows the seed knows the table. It is a function of its arguments alone, so what
    is computed from it and private records is as private as if the table were printed in the program.

    Raises:
        InvalidParameter: the seed is not a whole number from 0.

    Example:
        >>> public_normals(7, 2, 3).shape
        (2, 3)
    """
    said = "Public random numbers were asked for with seed={!r}. The seed names the table that everybody can make again; pass a whole number from 0, such as 0."
    key = TestKey(hashlib.sha256(f"{_LABEL}: {name} {as_whole(seed, said, 0)}".encode()).digest())
    pitch, drawn = known_noise(rows * columns, 1.0, 2.0**30, key)
    return np.asarray((drawn + 0.5) * pitch, dtype=np.float64).reshape(rows, columns)


def known_noise(size: int, sigma: float, bound: float, key: TestKey) -> tuple[float, NDArray[np.int64]]:
    """The pitch g and the whole numbers N with which `gaussian` makes of so many values x, under a test key, `g (rint(x/g) + N + ½)`: the same whatever x is.

    **Guarantee.** None of privacy: whoever knows the key knows the numbers.
    """
    grid, drawn = lattice(sigma, bound), np.empty(size, np.int64)
    sampler.fill(drawn, sampler.build(sampler.GAUSSIAN, grid.ratio), Keystream(key))
    return grid.pitch, drawn
