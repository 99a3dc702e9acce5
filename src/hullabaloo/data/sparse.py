"""SciPy sparse matrices and arrays as tables; a cell that is not stored is 0."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.table import NUMBER, REFUSED, Table, TableSchema
from hullabaloo.errors import SchemaError


class SparseTable(Table):
    """A two-dimensional sparse matrix of numbers."""

    def __init__(self, matrix: Any) -> None:
        if matrix.ndim != 2:
            raise SchemaError(f"Expected 2D array, got {matrix.ndim}D array instead. A table has records as rows.")
        self._matrix = matrix

    @property
    def schema(self) -> TableSchema:
        """See ``Table``."""
        kind = NUMBER if self._matrix.dtype.kind in "fiub" else REFUSED
        width = self._matrix.shape[1]
        return TableSchema(None, (str(self._matrix.dtype),) * width, (kind,) * width)

    @property
    def n_rows(self) -> int:
        """See ``Table``."""
        return int(self._matrix.shape[0])

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """See ``Table``."""
        dense = self.rows()[:, list(columns)].toarray()
        return np.ascontiguousarray(dense, dtype=np.float64)

    def cells(self, column: int) -> list[Any]:
        """See ``Table``."""
        return list(self.numbers([column])[:, 0].tolist())

    def rows(self) -> Any:
        """As a canonical ``csr_array`` of float64: indices sorted, duplicates summed, a copy where that changes it.

        Entries of one cell are summed in an order fixed by the row itself; a sum beyond float64 is infinite.
        """
        from scipy import sparse

        with np.errstate(all="ignore"):
            source = sparse.csr_array(self._matrix)
            rows = sparse.csr_array(
                (source.data.astype(np.float64), source.indices.copy(), source.indptr.copy()), shape=source.shape
            )
            rows.sum_duplicates()
        return rows
