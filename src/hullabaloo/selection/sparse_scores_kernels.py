"""The kernel of `sparse_scores.py`."""

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.curator.gradient_kernels import sparse_slope


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
