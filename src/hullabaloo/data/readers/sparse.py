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

The formats are a closed list, those that consist of flat arrays: what each stores is told as entries by row.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.table import NUMBER, REFUSED, Table, TableSchema
from hullabaloo.errors import SchemaError

Whole = NDArray[np.int64]
Values = NDArray[np.float64]
Shape = tuple[int, int]
Entries = tuple[Values, NDArray[Any], Whole]
"""Values, their column numbers, and where each row's begin (one more than rows); column numbers may be any."""
Opened = tuple[np.dtype[Any], Callable[[], Entries]]
"""The declared type, and what reads the entries: not before a charge, and never raising."""


def reader(matrix: Any) -> tuple[Shape, np.dtype[Any], Callable[[], Entries]]:
    """The shape and type of a sparse matrix, and what reads its entries.

    Raises:
        SchemaError: the format is unknown, or the container is broken.
    """
    from scipy import sparse

    openers = {"csr": _csr, "csc": _csc, "coo": _coo}
    kinds = {getattr(sparse, f"{name}_{form}"): name for name in openers for form in ("array", "matrix")}
    name = kinds.get(type(matrix))  # exactly: a class of somebody's own may mean anything by its parts
    if name is None:
        raise SchemaError(
            f"A table of type {type(matrix).__name__} was passed, which is no sparse matrix whose parts are known. Pass one of scipy.sparse in the format "
            "csr, csc or coo, such as matrix.tocsr()."
        )
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise SchemaError(f"Expected 2D array, got {len(shape)}D array instead. A table has records as rows.")
    n, p = (_size(number, name) for number in shape)
    return (n, p), *openers[name](matrix, n, p)


def _broken(name: str, fault: str) -> SchemaError:
    return SchemaError(
        f"The sparse table is broken: in the format {name}, {fault}, so which entries belong to which record cannot be told. "
        "Nothing was read or charged. Build it again with SciPy's own functions; its check_format() finds such faults."
    )


def _size(number: Any, name: str) -> int:
    try:
        found = operator.index(number)
    except TypeError:
        found = -1
    if found < 0:
        raise _broken(name, "a dimension is no whole number from 0 on")
    return found


def _array(value: Any, name: str, what: str, kinds: str = "") -> NDArray[Any]:
    # Not as a subclass, which may say anything of its shape and length.
    found = np.asarray(value) if isinstance(value, np.ndarray) else np.empty((0, 0))
    if found.ndim != 1 or (kinds and found.dtype.kind not in kinds):
        raise _broken(name, f"`{what}` is no array of {'whole numbers' if kinds else 'values'} in one dimension")
    return found


def _compressed(matrix: Any, name: str, lines: int) -> tuple[NDArray[Any], NDArray[Any], Whole]:
    """Values, their places, and where each line's begin: a copy, so that what was checked is what is used."""
    data = _array(matrix.data, name, "data")
    indices = _array(matrix.indices, name, "indices", "iu")
    size = _paired(name, len(data), indices.size)
    found = np.array(_array(matrix.indptr, name, "indptr", "iu"), dtype=np.int64)
    if found.size != lines + 1:
        raise _broken(name, "`indptr` has not one pointer for each line and one more")
    if found[0] != 0 or (np.diff(found) < 0).any():
        raise _broken(name, "`indptr` does not rise from 0 on")
    if found[-1] > size:
        raise _broken(name, "`indptr` points beyond the last entry")
    return data, indices, found


def _paired(name: str, first: int, *others: int) -> int:
    if any(other != first for other in others):
        raise _broken(name, "values and their places differ in number")
    return first


def _floats(values: NDArray[Any]) -> Values:
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(values.ravel(), dtype=np.float64)


def _wholes(places: NDArray[Any]) -> Whole:
    """As 64-bit numbers; one beyond them is negative then, and outside as it was. A copy, so that what was compared is what is used."""
    return np.array(places, dtype=np.int64)


def _by_rows(rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], n: int, p: int) -> Entries:
    """Entries that are told by row and column, by row, in their order; those outside are absent."""
    from scipy import sparse

    of_row, of_column = _wholes(rows), _wholes(columns)
    kept = (of_row >= 0) & (of_row < n) & (of_column >= 0) & (of_column < p)
    made: Any = sparse.coo_array((_floats(values)[kept], (of_row[kept], of_column[kept])), shape=(n, p))
    made.has_canonical_format = True  # so that nothing is summed here, where entries of one cell are not in their order
    made = made.tocsr()
    return made.data, made.indices, made.indptr.astype(np.int64)


def _csr(matrix: Any, n: int, p: int) -> Opened:
    data, indices, starts = _compressed(matrix, "csr", n)
    read = indices if indices.dtype in (np.int32, np.int64) else _wholes(indices)
    return data.dtype, lambda: (_floats(data), np.ascontiguousarray(read), starts)


def _csc(matrix: Any, n: int, p: int) -> Opened:
    data, indices, starts = _compressed(matrix, "csc", p)

    def read() -> Entries:
        columns, size = np.repeat(np.arange(p), np.diff(starts)), starts[-1]
        return _by_rows(indices[:size], columns, data[:size], n, p)

    return data.dtype, read


def _coo(matrix: Any, n: int, p: int) -> Opened:
    data, coordinates = _array(matrix.data, "coo", "data"), matrix.coords
    if not isinstance(coordinates, tuple) or len(coordinates) != 2:
        raise _broken("coo", "`coords` is no pair of arrays")
    rows, columns = (_array(part, "coo", "coords", "iu") for part in coordinates)
    _paired("coo", data.size, rows.size, columns.size)
    return data.dtype, lambda: _by_rows(rows, columns, data, n, p)


class SparseTable(Table):
    """A two-dimensional sparse matrix of numbers; raises ``SchemaError`` for a broken container."""

    sparse = True

    def __init__(self, matrix: Any) -> None:
        self._shape, dtype, self._entries = reader(matrix)
        self.n_rows, width = self._shape
        self.schema = TableSchema(None, (dtype.name,) * width, (NUMBER if dtype.kind in "fiub" else REFUSED,) * width)

    def numbers(self, columns: Sequence[int]) -> NDArray[np.float64]:
        """See ``Table``."""
        return np.ascontiguousarray(self.rows()[:, list(columns)].toarray(), dtype=np.float64)

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


def csr(shape: Shape, data: Values, indices: NDArray[Any], indptr: NDArray[Any]) -> Any:
    """A ``csr_array`` of arrays that are not looked at, neither here nor by SciPy."""
    from scipy import sparse

    made: Any = sparse.csr_array(shape)
    made.data, made.indices, made.indptr = data, indices, indptr
    return made
