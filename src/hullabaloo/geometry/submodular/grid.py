"""Groups of pixels."""

import itertools
from numbers import Integral

import numpy as np

from hullabaloo.errors import InvalidParameter


def grid_groups(rows: int, columns: int, window: int | None) -> tuple[tuple[int, ...], ...]:
    """All window×window squares that meet a grid, cut off at its border; without a window its half-planes.

    Pixels are numbered row by row. A side shorter than the window counts as the window's: in a single row windows are stretches. Half-planes are the first 1, …, rows − 1 rows, the last 1, …, rows − 1 rows, columns likewise, and once the whole.
    """
    rows, columns = _side(rows, "rows"), _side(columns, "columns")
    pixels = np.arange(rows * columns).reshape(rows, columns)
    if window is not None:
        k = _side(window, "rows of a window")
        if k > max(rows, columns):
            raise InvalidParameter(
                f"A window of {k}×{k} does not fit into a grid of {rows}×{columns}; give a smaller one."
            )
        high, wide = min(k, rows), min(k, columns)
        places = itertools.product(range(1 - high, rows), range(1 - wide, columns))
        return tuple(tuple(pixels[max(i, 0) : i + high, max(j, 0) : j + wide].ravel().tolist()) for i, j in places)
    sides = [pixels[:i] for i in range(1, rows)] + [pixels[i:] for i in range(1, rows)]
    sides += [pixels[:, :j] for j in range(1, columns)] + [pixels[:, j:] for j in range(1, columns)]
    return tuple(tuple(side.ravel().tolist()) for side in [*sides, pixels])


def _side(number: object, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, Integral) or number < 1:
        raise InvalidParameter(
            f"The number of {what} of a grid must be a whole number of at least 1, but it is {number!r}; "
            "give the shape of the image."
        )
    return int(number)
