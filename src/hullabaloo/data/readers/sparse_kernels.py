"""The only compiled code that meets the columns of a sparse matrix before they are known to lie inside it.

A sequential loop, so that an output row is a function of its record's entries alone.
"""

import numpy as np

from hullabaloo.compiled import Floats, Wholes, njit


@njit(cache=True, nogil=True)
def canonical(
    values: Floats, columns: Wholes, starts: Wholes, width: int, data: Floats, indices: Wholes, indptr: Wholes
) -> None:
    """Write rows with rising columns in [0, width): entries outside left out, those of one cell summed, zeros left out.

    ``starts`` rises from 0 to at most the number of values. Entries of one cell are added in their order: the sort is
    stable. Memory: ``data`` and ``indices`` have room for all values, and k never passes the entry that is read.
    """
    k = 0
    for i in range(starts.shape[0] - 1):
        first, last, rising = k, np.int64(-1), True
        for q in range(starts[i], starts[i + 1]):
            j = columns[q]
            if 0 <= j < width:
                rising = rising and j > last
                last = j
                data[k] = values[q]
                indices[k] = j
                k += 1
        if not rising:
            order = np.argsort(indices[first:k], kind="mergesort")
            sorted_indices, sorted_data = indices[first:k][order], data[first:k][order]
            k = first
            for at in range(order.shape[0]):
                if k > first and indices[k - 1] == sorted_indices[at]:
                    data[k - 1] += sorted_data[at]
                else:
                    indices[k] = sorted_indices[at]
                    data[k] = sorted_data[at]
                    k += 1
        stop, k = k, first
        for q in range(first, stop):
            if data[q] != 0.0:
                data[k] = data[q]
                indices[k] = indices[q]
                k += 1
        indptr[i + 1] = k
