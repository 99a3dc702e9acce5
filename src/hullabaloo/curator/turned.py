"""Rows seen through a public matrix: the same records in other coordinates, for queries that shorten each record anyway."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.turned_kernels import dense_turned, sparse_turned
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter

Array = npt.NDArray[np.float64]


def public_matrix(matrix: npt.ArrayLike, columns: int) -> Array:
    """W as doubles, (p, k).

    Raises:
        InvalidParameter: another number of rows than encoded columns, or an entry that is not finite.
    """
    found = np.ascontiguousarray(matrix, dtype=np.float64)
    if found.ndim != 2 or found.shape[0] != columns or found.shape[1] < 1 or not np.all(np.isfinite(found)):
        raise InvalidParameter(
            f"Records were asked to be seen through a matrix of shape {found.shape}, but it needs one row of finite numbers "
            f"for each of the {columns} encoded columns. Build it from public facts and earlier answers."
        )
    return found


def turned_rows(rows: Rows, matrix: Array) -> Rows:
    """Every row x as `Wᵀx`, (n, k) dense, with its targets, weight and offset; PRIVATE.

    **Guarantee.** W is a function of public facts and earlier releases. Row i of the result is a function of row i and W, added
    up in the order of columns: its bits depend neither on other records nor on blocks or threads. So neighbouring tables
    stay neighbouring: they differ in the same records. Lengths are whatever W makes of them, infinite or undefined where it
    overflows; so these rows are only for queries whose sensitivity holds for any record (`UnitSum`, `ScalesQuery`).
    """
    out = np.empty((rows.Y.shape[0], matrix.shape[1]))
    X = rows.X
    if isinstance(X, np.ndarray):
        dense_turned(X, matrix, out)
    else:
        sparse_turned(X.data, X.indices, X.indptr, matrix, out)
    return replace(rows, X=out)
