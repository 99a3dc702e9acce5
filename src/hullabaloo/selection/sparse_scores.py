"""Scores of a sparse table's candidates, kept from one choice to the next: a step works on the records that it touches."""

from typing import TYPE_CHECKING, Any

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.curator.exact import ExactSum
from hullabaloo.curator.gradient_kernels import sparse_slope
from hullabaloo.curator.query import Array
from hullabaloo.data.source import Rows
from hullabaloo.noise import Contest

if TYPE_CHECKING:
    from hullabaloo.selection.choice import Choice

_MASK = (1 << 32) - 1


class SparseScores:
    """The clipped gradient's sum at the last θ in whole cells, each record's derivative, and the contest of candidates. PRIVATE.

    **Guarantee.** Claim: after `at(θ)` sums and scores have the bits that `Choice.scored` gives at θ, whichever points came before. Proof: a record's
    contribution is rounded to the lattice and is a function of the record and of θ at its own cells. Of a record without a cell in a column where θ changed it is
    the same number. Those of the others are taken away and added as whole cells, which is exact: sums stay below 2^63, as for 2^24 records
    (`exact.CELLS`). What is made of a coordinate of the sum, it is made of by itself and what is public of it: it is made anew where one of both is another.

    Args:
        query: whose candidates each are of one column.
        rows: sparse ones, 2^24 at most.
    """

    def __init__(self, query: "Choice", rows: Rows) -> None:
        self.of, (n, p) = (query, rows), rows.X.shape
        self._columns = rows.X.astype(np.bool_).tocsc()
        extra = [np.zeros(0) if one is None else one for one in (rows.weight, rows.offset)]
        self._record = (np.ascontiguousarray(rows.Y[:, 0]), *extra)
        self._theta, self._slopes, self._cells = np.full(p, np.nan), np.zeros(n), np.zeros(p, dtype=np.int64)
        self._public: list[Any] = []
        self._contest = query.contest(self._scores(slice(None)))

    def at(self, theta: Array, within: Any = None, excluded: Any = None) -> Contest:
        """The contest of candidates at θ, beside what else is public; all are kept, and not written to."""
        query, rows = self.of
        gradient = query.gradient
        touched, moved = (np.zeros(size, dtype=np.bool_) for size in rows.X.shape)
        touched[self._columns[:, np.flatnonzero(theta != self._theta)].indices] = True
        record = (*self._record, theta, gradient.clip, *gradient.kernel)
        table = (rows.X.data, rows.X.indices, rows.X.indptr, record, gradient.grid[1])
        replace(np.flatnonzero(touched), *table, self._slopes, self._cells, moved)
        public = [*(within or ()), *(() if excluded is None else (excluded,))]
        moved |= len(public) != len(self._public)
        for now, before in zip(public, self._public, strict=False):
            moved |= now != before
        self._theta, self._public, columns = theta, public, np.flatnonzero(moved)
        candidates = columns + np.arange(0, query.candidates, theta.size)[:, None]
        self._contest.move(candidates.ravel(), self._scores(columns, within, excluded))
        return self._contest

    def _scores(self, columns: "slice | np.ndarray", within: Any = None, excluded: Any = None) -> Array:
        query, cells = self.of[0], self._cells[columns]
        total = ExactSum(cells.shape, query.gradient.exponent)
        total.high, total.low = cells >> 32, cells & _MASK
        return query.scored(total.value(query.gradient.bound), columns, within, excluded)


@njit(cache=True, nogil=True)
def replace(records, data, indices, indptr, record, unit, slopes, cells, moved):  # type: ignore[no-untyped-def]
    """Put what these records contribute now in the place of what they did, and mark the columns whose sum moved."""
    for i in records:
        before, d = slopes[i], sparse_slope(i, indptr[i], indptr[i + 1], data, indices, *record)
        slopes[i] = d
        if d != before:
            for at in range(indptr[i], indptr[i + 1]):
                cells[indices[at]] += np.int64(np.rint(d * data[at] * unit))
                cells[indices[at]] -= np.int64(np.rint(before * data[at] * unit))
                moved[indices[at]] = True
