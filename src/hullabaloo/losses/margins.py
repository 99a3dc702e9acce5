"""What losses of the margin `m = yz` share: they fall in m, and their slope never grows with it."""

import numpy as np
from numpy.typing import NDArray

from hullabaloo.losses.base import Array


def margin(z: Array, y: Array) -> Array:
    """`yz`, infinite rather than a warning where a double cannot hold it."""
    with np.errstate(over="ignore"):
        product: Array = np.multiply(y, z)
    return product


def range_above(least: Array, clipped: NDArray[np.bool_], y: Array) -> tuple[Array, Array]:
    """The z with `yz ≥ least` where `clipped`, and all z elsewhere."""
    ones = np.where(clipped, y, 1.0)
    end = least / ones
    lower: Array = np.where(clipped & (ones > 0.0), end, -np.inf)
    upper: Array = np.where(clipped & (ones < 0.0), end, np.inf)
    return lower, upper
