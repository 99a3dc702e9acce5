"""Public affine views of records: some of their columns, from a centre, through a matrix, or of one target. Checked before any row is touched."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.kernels import dense_turned, sparse_turned
from hullabaloo.curator.known import Array, anything, numbers
from hullabaloo.data import PartedRows, RowFacts, Rows
from hullabaloo.data.threads import by_rows
from hullabaloo.errors import InvalidParameter

KEPT = 500_000_000
"""Cells up to which records are kept as a matrix shows them, 4 GB; further ones are turned again for every question."""


@dataclass(frozen=True, eq=False)
class AffineView:
    """`u = D(x − m)`, D diagonal: the identity but for the weight of the last column, the constant one or what stands in its place; or any weights.

    A function of public facts and earlier releases, never of records: the queries that take one are private for each of its
    values.

    Attributes:
        centre: m, of shape (p,), 0 at the intercept.
        weights: of the last column, () or a number, or of all of them, (p,); positive.
    """

    centre: Array
    weights: float | Array = 1.0

    @cached_property
    def scale(self) -> Array:
        """The weight of each column, (p,)."""
        return np.concatenate((np.ones(len(self.centre) - np.size(self.weights)), np.ravel(self.weights)))


def public_view(centre: Any, weights: Any, about: RowFacts) -> AffineView:
    """The view from a centre.

    Raises:
        InvalidParameter: a centre of another shape or not finite, or a weight that is not positive, or another number of them.
    """
    return _checked(about.width, *((one.shape, one.tobytes()) for one in (numbers(centre), numbers(weights))))


@lru_cache(maxsize=4)
def _checked(width: int, *given: tuple[tuple[int, ...], bytes]) -> AffineView:
    """The view of a centre and weights of these shapes and bytes, checked once: the steps of a walk see records alike."""
    centre, found = (np.ndarray(shape, np.float64, cells).copy() for shape, cells in given)
    if found.shape not in ((), (width,)) or not ((found > 0.0) & (found < np.inf)).all():
        raise InvalidParameter(
            f"The last column's weight, or each of the {width} columns', must be positive and finite, not {found!r}."
        )
    return AffineView(public_numbers(centre, width, "from a centre", 1), found)


def seen(rows: Rows | PartedRows, view: Callable[[Rows], Rows], width: int) -> Rows | PartedRows:
    """The rows through a public map of single rows: now, or, of rows in parts, whenever they are read."""
    return rows.seen(view, width) if isinstance(rows, PartedRows) else view(rows)


def of_target(rows: Rows, target: int) -> Rows:
    """The same records with one of their targets alone; PRIVATE."""
    return replace(rows, Y=np.ascontiguousarray(rows.Y[:, [target]]))


def public_columns(columns: npt.ArrayLike, slopes: int) -> npt.NDArray[np.int64]:
    """The selection as whole numbers: distinct, from 0 to the number of slopes − 1.

    Raises:
        InvalidParameter: something else.
    """
    found = anything(columns)
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
    record alone: a query of the view is a query of the table. A view of s columns obeys `RowFacts.restricted(s)`: its
    entries are entries of the row, so that `‖·‖_q` is at most the row's and at most that of s entries of size b and a 1.
    """
    kept = np.append(columns, rows.X.shape[1] - 1) if intercept else columns
    if isinstance(rows.X, TurnedCells):  # which are kept apart where rows are many: their number is no reason to refuse
        return turned_rows(replace(rows, X=rows.X.X), np.ascontiguousarray(rows.X.matrix[:, kept]))
    part: Any = rows.X[:, kept]
    if isinstance(part, np.ndarray):
        part = np.ascontiguousarray(part)
    else:
        part.sort_indices()
    return replace(rows, X=part)


def public_numbers(value: npt.ArrayLike, columns: int, what: str, dimensions: int) -> Array:
    """A centre or a matrix as doubles, one entry or row for each encoded column.

    Raises:
        InvalidParameter: another number of them, or one that is not finite.
    """
    found = numbers(value)
    fits = found.ndim == dimensions and found.shape[0] == columns and 0 not in found.shape[1:]
    if not fits or not np.isfinite(found).all():
        raise InvalidParameter(
            f"Records were asked to be seen {what} of shape {found.shape}, but it needs one {'row of finite numbers' if dimensions > 1 else 'finite number'} "
            f"for each of the {columns} encoded columns. Build it from public facts and earlier answers."
        )
    return found


def centred_rows(rows: Rows, centre: Array) -> Rows:
    """Every row x as x − m, (n, p) dense, with its targets, weight and offset; PRIVATE.

    **Guarantee.** m is a function of public facts and earlier releases. Entry j of row i is the rounded difference of `x_ij`
    and m_j: its bits depend on its own record alone, so neighbouring tables stay neighbouring. Its length is not declared; so
    these rows are only for queries whose sensitivity holds for any record (`CoordinateGradientQuery`).
    """
    X: Any = rows.X
    dense: Array = (X if isinstance(X, np.ndarray) else X.toarray()) - centre
    return replace(rows, X=np.ascontiguousarray(dense))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TurnedCells:
    """`Wᵀx` of every row x, in blocks: the first as they are kept, others made anew whenever they are read. PRIVATE."""

    X: Any
    matrix: Array
    kept: Array
    shape: tuple[int, int]

    def __getitem__(self, block: slice) -> Array:
        if block.stop <= len(self.kept):
            return self.kept[block]
        X = self.X[block]
        out = np.empty((X.shape[0], self.shape[1]))

        def turn(part: slice) -> None:
            if isinstance(X, np.ndarray):
                dense_turned(X[part], self.matrix, out[part])
            else:
                starts = X.indptr[part.start : part.stop + 1]
                sparse_turned(X.data, X.indices, starts, self.matrix, out[part])

        by_rows(turn, *out.shape)
        return out


def turned_rows(rows: Rows, matrix: Array) -> Rows:
    """Every row x as `Wᵀx`, (n, k) dense, with its targets, weight and offset, kept until another matrix is asked for, those beyond `KEPT` cells apart; PRIVATE.

    **Guarantee.** W is a function of public facts and earlier releases. Row i of the result is a function of row i and W, added
    up in the order of columns: its bits depend neither on other records nor on blocks or threads. So neighbouring tables
    stay neighbouring: they differ in the same records. Lengths are whatever W makes of them, infinite or undefined where it
    overflows; so these rows are only for queries whose sensitivity holds for any record (`any_matrix` of a query).
    """

    def made() -> Rows:
        n, k = rows.Y.shape[0], matrix.shape[1]
        every = TurnedCells(rows.X, matrix, np.empty((0, k)), (n, k))
        first = every[: KEPT // k]
        return replace(rows, X=first if len(first) == n else replace(every, kept=first))

    return rows.kept("turned", matrix.tobytes(), made)  # type: ignore[no-any-return]
