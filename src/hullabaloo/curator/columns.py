"""Rows seen through a public selection of their columns."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter


def public_columns(columns: npt.ArrayLike, slopes: int) -> npt.NDArray[np.int64]:
    """The selection as whole numbers, checked before any row is touched: distinct, from 0 to the number of slopes − 1.

    Raises:
        InvalidParameter: something else.
    """
    found = np.asarray(columns)
    whole = found.ndim == 1 and (found.size == 0 or np.issubdtype(found.dtype, np.integer))
    if not whole or np.unique(found).size != found.size or np.any((found < 0) | (found >= slopes)):
        raise InvalidParameter(
            f"A selection of columns was asked as {columns!r}, but it is a list of distinct whole numbers from 0 to {slopes - 1}, "
            "the slopes' numbers; the intercept, where there is one, always stays. Pass such a list."
        )
    return found.astype(np.int64)


def chosen_columns(rows: Rows, columns: npt.NDArray[np.int64], intercept: bool) -> Rows:
    """The same records with these columns alone, in this order, and the intercept as last if there is one; PRIVATE.

    **Guarantee.** For a selection that is a function of public facts and earlier releases, each record's view depends on that
    record alone: a query of the view is a query of the table. A view of s columns obeys `RowFacts.of_columns(s)`: its
    entries are entries of the row, so that `‖·‖_q` is at most the row's and at most that of s entries of size b and a 1.
    """
    kept = np.append(columns, rows.X.shape[1] - 1) if intercept else columns
    part: Any = rows.X[:, kept]
    if isinstance(part, np.ndarray):
        part = np.ascontiguousarray(part)
    else:
        part.sort_indices()
    return Rows(part, rows.Y, rows.weight, rows.offset)
