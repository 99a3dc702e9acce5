"""Kernels of sketched rows: a record's new coordinates, from that record and a public matrix alone."""

import math

from hullabaloo.compiled import njit


@njit(cache=True, nogil=True)
def _finish(line, size, squares, bound, rescaled):  # type: ignore[no-untyped-def]
    """Stretch the first `size` cells to the length √squares (or leave their own), at most `bound`; what has no finite length becomes 0."""
    reached = 0.0
    for j in range(size):
        reached += line[j] * line[j]
    length = math.sqrt(reached)
    wanted = min(math.sqrt(squares) if rescaled else length, bound)
    good = 0.0 < length < math.inf and wanted < math.inf  # false for NaN too
    factor = wanted / length if good else 0.0
    total = 0.0
    for j in range(size):
        value = line[j] * factor if good else 0.0
        line[j] = value
        total += value * value
    total = math.sqrt(total)
    if not total <= bound:
        again = bound / total if total < math.inf else 0.0
        for j in range(size):
            line[j] = line[j] * again if again > 0.0 else 0.0


@njit(cache=True, nogil=True)
def sketch_dense(X, slopes, matrix, most, bound, rescaled, kept, out):  # type: ignore[no-untyped-def]
    """Write the sketch of every row, then its intercept; a row that is not kept, or has over `most` nonzeros, becomes 0."""
    n, size = X.shape[0], matrix.shape[1]
    for i in range(n):
        line = out[i]
        line[:] = 0.0
        squares, nonzeros = 0.0, 0
        if kept[i]:
            for j in range(slopes):
                value = X[i, j]
                if value != 0.0:
                    nonzeros += 1
                    squares += value * value
            kept[i] = nonzeros <= most
        if kept[i]:
            for j in range(slopes):
                value = X[i, j]
                if value != 0.0:
                    weights = matrix[j]
                    for at in range(size):
                        line[at] += value * weights[at]
            _finish(line, size, squares, bound, rescaled)
            for j in range(slopes, X.shape[1]):
                line[size + j - slopes] = X[i, j]


@njit(cache=True, nogil=True)
def sketch_sparse(data, indices, indptr, slopes, matrix, most, bound, rescaled, kept, out):  # type: ignore[no-untyped-def]
    """The same for rows in compressed sparse row form, columns rising within a row."""
    size = matrix.shape[1]
    for i in range(indptr.size - 1):
        line = out[i]
        line[:] = 0.0
        squares, nonzeros = 0.0, 0
        if kept[i]:
            for at in range(indptr[i], indptr[i + 1]):
                value = data[at]
                if value != 0.0 and indices[at] < slopes:
                    nonzeros += 1
                    squares += value * value
            kept[i] = nonzeros <= most
        if kept[i]:
            for at in range(indptr[i], indptr[i + 1]):
                value, j = data[at], indices[at]
                if j >= slopes:
                    line[size + j - slopes] = value
                elif value != 0.0:
                    weights = matrix[j]
                    for k in range(size):
                        line[k] += value * weights[k]
            _finish(line, size, squares, bound, rescaled)
