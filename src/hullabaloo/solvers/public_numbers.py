"""Numbers that look random and are not: public orders of coordinates and synthetic tables are fixed functions of a counter."""

import numpy as np

from hullabaloo.solvers.base import Array

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def uniforms(count: int, stream: int) -> Array:
    """Numbers of (0, 1) that look independent: splitmix64 of a counter (Steele, Lea, Flood 2014)."""
    with np.errstate(over="ignore"):
        z = (np.arange(1, count + 1, dtype=np.uint64) + (np.uint64(stream) << np.uint64(40))) * _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return np.asarray(((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53, dtype=np.float64)
