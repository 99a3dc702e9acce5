"""Kernels of sketched rows: a record's new coordinates, from that record and a public matrix alone."""

import math

import numpy as np

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
def _sketched(values, columns, slopes, matrix, most, bound, rescaled, line):  # type: ignore[no-untyped-def]
    """Write the sketch of a row's cells in these columns, then its intercept; False where over `most` of them are nonzero."""
    squares, nonzeros, size = 0.0, 0, matrix.shape[1]
    for at in range(values.size):
        value = values[at]
        if value != 0.0 and columns[at] < slopes:
            nonzeros += 1
            squares += value * value
    if nonzeros > most:
        return False
    for at in range(values.size):
        value, j = values[at], columns[at]
        if j >= slopes:
            line[size + j - slopes] = value
        elif value != 0.0:
            weights = matrix[j]
            for k in range(size):
                line[k] += value * weights[k]
    _finish(line, size, squares, bound, rescaled)
    return True


@njit(cache=True, nogil=True)
def sketch_dense(X, slopes, matrix, most, bound, rescaled, kept, out):  # type: ignore[no-untyped-def]
    """Sketch every row; one that is not kept, or has over `most` nonzeros, becomes 0."""
    columns = np.arange(X.shape[1])
    out[:] = 0.0
    for i in range(X.shape[0]):
        kept[i] = kept[i] and _sketched(X[i], columns, slopes, matrix, most, bound, rescaled, out[i])


@njit(cache=True, nogil=True)
def sketch_sparse(data, indices, indptr, slopes, matrix, most, bound, rescaled, kept, out):  # type: ignore[no-untyped-def]
    """The same for rows in compressed sparse row form, columns rising within a row."""
    out[:] = 0.0
    for i in range(indptr.size - 1):
        here = slice(indptr[i], indptr[i + 1])
        kept[i] = kept[i] and _sketched(data[here], indices[here], slopes, matrix, most, bound, rescaled, out[i])
