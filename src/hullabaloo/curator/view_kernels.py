"""Kernels of rows seen through a matrix: a record's new coordinates, from that record and the matrix alone."""

from hullabaloo.compiled import njit


@njit(cache=True, nogil=True)
def dense_turned(X, matrix, out):  # type: ignore[no-untyped-def]  # numba kernel
    """Write `Wᵀx` of every row; cells of 0 add nothing, the others in the order of columns."""
    n, p = X.shape
    for i in range(n):
        line = out[i]
        line[:] = 0.0
        for j in range(p):
            value = X[i, j]
            if value != 0.0:
                weights = matrix[j]
                for m in range(weights.size):
                    line[m] += value * weights[m]


@njit(cache=True, nogil=True)
def sparse_turned(data, indices, indptr, matrix, out):  # type: ignore[no-untyped-def]
    """The same for rows in compressed sparse row form."""
    for i in range(indptr.size - 1):
        line = out[i]
        line[:] = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            value, weights = data[at], matrix[indices[at]]
            for m in range(weights.size):
                line[m] += value * weights[m]
