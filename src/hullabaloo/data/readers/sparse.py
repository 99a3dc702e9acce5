"""SciPy sparse matrices and arrays as tables; a cell that is not stored is 0.

SciPy checks no index: its constructors and `load_npz` take any, and its compiled routines then read and write outside
their memory. So no routine of SciPy is called on what a caller passed. Its arrays are checked and read here, once, by
code of our own, and what goes on from here is a clean table.

The **container** is public: the format, the shape, the lengths and types of the arrays it consists of, and the pointers
that part them (`indptr`). One that is broken is refused when it is opened, before anything is charged. The **entries**
are records: a row number, a column number, a value. They never raise.

- An entry whose column is none of the table's is absent. So is one whose row is none: it belongs to no record, is told
  by itself alone, and no record becomes another by leaving it out.
- Entries of one cell are summed, in the order in which the container stores those of this record.
- An entry whose value sums to 0 is as good as none, so that how a container stores zeros cannot be seen.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.readers.sparse_formats import reader
from hullabaloo.data.table import NUMBER, REFUSED, Table, TableSchema


class SparseTable(Table):
    """A two-dimensional sparse matrix of numbers; raises ``SchemaError`` for a broken container."""

    def __init__(self, matrix: Any) -> None:
        self._shape, self._dtype, self._entries = reader(matrix)

    @property
    def schema(self) -> TableSchema:
        """See ``Table``."""
        kind = NUMBER if self._dtype.kind in "fiub" else REFUSED
        width = self._shape[1]
        return TableSchema(None, (self._dtype.name,) * width, (kind,) * width)

    @property
    def n_rows(self) -> int:
        """See ``Table``."""
        return self._shape[0]

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """See ``Table``."""
        dense = self.rows()[:, list(columns)].toarray()
        return np.ascontiguousarray(dense, dtype=np.float64)

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        return list(self.numbers([column])[:, 0].tolist())

    def rows(self) -> Any:
        """As a canonical ``csr_array`` of float64: columns rising in each row, each once, none of them outside, none 0.

        **Guarantee.** Each row is a function of that record's entries in their order, and of nothing else. A sum beyond
        float64 is infinite, and one of infinities of both signs is not a number.
        """
        from scipy import sparse

        from hullabaloo.data.readers.sparse_kernels import canonical

        n, p = self._shape
        values, columns, starts = self._entries()
        index: Any = np.int32 if max(p, values.size) <= np.iinfo(np.int32).max else np.int64
        data, indices = np.empty(values.size), np.empty(values.size, dtype=index)
        indptr = np.zeros(n + 1, dtype=index)
        canonical(values, columns, starts, p, data, indices, indptr)
        size = int(indptr[-1])
        return sparse.csr_array((data[:size], indices[:size], indptr), shape=(n, p))
