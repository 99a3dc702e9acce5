"""Rows seen from a public centre: what coordinate descent steps on, where an intercept takes up the difference."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter

Array = npt.NDArray[np.float64]


def public_centre(centre: npt.ArrayLike, width: int) -> Array:
    """The centre as doubles, (p,).

    Raises:
        InvalidParameter: another number of coordinates than encoded columns, or one that is not finite.
    """
    found = np.array(centre, dtype=np.float64)
    if found.shape != (width,) or not np.all(np.isfinite(found)):
        raise InvalidParameter(
            f"Records were asked to be seen from a centre of shape {found.shape}, but it needs one finite number for each of the "
            f"{width} encoded columns. Build it from public facts and earlier answers."
        )
    return found


def centred_rows(rows: Rows, centre: Array) -> Rows:
    """Every row x as x − m, (n, p) dense, with its targets, weight and offset; PRIVATE.

    **Guarantee.** m is a function of public facts and earlier releases. Entry j of row i is the rounded difference of `x_ij`
    and m_j: its bits depend on its own record alone, so neighbouring tables stay neighbouring. Its length is not declared; so
    these rows are only for queries whose sensitivity holds for any record (`PartialQuery`).
    """
    X: Any = rows.X
    dense: Array = (X if isinstance(X, np.ndarray) else X.toarray()) - centre
    return replace(rows, X=np.ascontiguousarray(dense))
