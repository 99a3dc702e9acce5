"""Parts of a table whose features are all plain numbers: each column is encoded where its reader put it."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from hullabaloo.compiled import Floats, njit
from hullabaloo.data.encoding import Encoding
from hullabaloo.data.readers.arrow import ArrowTable, floats
from hullabaloo.data.readers.parquet import ParquetPart
from hullabaloo.data.source import Rows
from hullabaloo.data.table import Table, TornTable


@np.errstate(all="ignore")
def encoded_by_columns(encoding: Encoding, table: Table, target: Any) -> Rows | None:
    """What `Encoding.encode` makes of a part, to the last bit, X Fortran-contiguous; None where it is not only plain numbers. PRIVATE.

    Plain is a number without a transform, in no interaction, in rows that are not clipped to a norm.
    """
    layout = encoding.layout
    if layout is None or layout.onehot or layout.products or encoding.domain.row_norm is not None:
        return None
    if not isinstance(table, ArrowTable | ParquetPart) or any(one.code != 0 for one in layout.numeric):
        return None
    place = dict(zip(encoding.domain.feature_names, encoding.places(table, target), strict=True))
    rest = replace(encoding, layout=replace(layout, names=(), numeric=())).encode(table, target)
    X = np.empty((table.n_rows, encoding.facts.width), order="F")  # of such columns alone: each is written
    for one in layout.numeric:
        missing = X[:, one.indicator] if one.indicator >= 0 else X[:0, 0]
        missing[:], scale = 0.0, np.array([*one.bounds, one.mid, one.half, one.fill])
        values = floats(table.arrow(place[one.feature]))
        if len(values) != len(X):  # the kernel writes as many
            raise TornTable
        scale_column(values, scale, X[:, one.column], missing)
    if encoding.fit_intercept:
        X[:, -1] = 1.0
    return replace(rest, X=X)


@njit(cache=True, nogil=True, error_model="numpy")
def scale_column(values: Floats, scale: Floats, out: Floats, missing: Floats) -> None:
    """`scale_numeric` (kernels.py) of one column without a transform; an empty `missing` is no indicator.

    A vector loop: what it is made of (compare, subtract, divide, select) IEEE 754 fixes to the last bit, wherever a value stands.
    """
    lo, hi, mid, half, fill = scale
    for i in range(values.size):
        x = min(max((min(max(values[i], lo), hi) - mid) / half, -1.0), 1.0) + 0.0
        out[i] = fill if math.isnan(values[i]) else x
    for i in range(missing.size):
        if math.isnan(values[i]):
            out[i], missing[i] = 0.0, 1.0
