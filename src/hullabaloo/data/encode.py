"""From an opened table to encoded arrays: row by row, whatever the cells hold (see ``Encoding.encode``)."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.labels import LevelIndex, label_of
from hullabaloo.data.layout import Layout
from hullabaloo.data.memo import memo
from hullabaloo.data.sparse import SparseTable
from hullabaloo.data.table import Table
from hullabaloo.data.targets import BoundedTarget, Target

if TYPE_CHECKING:
    from hullabaloo.data.domain import Domain

Array = NDArray[np.float64]


def encode_features(domain: "Domain", layout: Layout, table: Table, columns: list[int], intercept: bool) -> Array:
    """(n, p) encoded rows of a domain with declared features, the intercept last, clipped to its row norm if any."""
    from hullabaloo.data.kernels import clip_dense

    width = len(layout.names)
    place = dict(zip(domain.feature_names, columns, strict=True))
    values = table.numbers([place[c.feature] for c in layout.numeric])
    X = np.zeros((table.n_rows, width + intercept))
    filled = _scale(layout, values, X)
    del values
    for block in layout.onehot:
        declared = dict(domain.features)[block.feature]
        _one_hot(LevelIndex(declared.levels).places(table.cells(place[block.feature])), block, X)  # type: ignore[union-attr]
    for products in layout.products:
        for column, (a, b) in zip(products.columns, products.factors, strict=True):
            np.multiply(filled.get(a, X[:, a]), filled.get(b, X[:, b]), out=X[:, column])
    if domain.row_norm is not None:
        norm, radius = domain.row_norm
        body = X[:, :width]
        clip_dense(body, _NORMS[norm], radius, 1.0, body)
    if intercept:
        X[:, width] = 1.0
    return X


_NORMS = {"l1": 1, "l2": 2, "linf": 3}


def _scale(layout: Layout, values: Array, X: Array) -> dict[int, Array]:
    """Scale the numeric features into ``X``; returns the filled scaled columns that interactions need."""
    from hullabaloo.data.kernels import scale_numeric

    if not layout.numeric:
        return {}
    wanted = {c for block in layout.products for pair in block.factors for c in pair}
    needed = [c for c in layout.numeric if c.column in wanted and c.indicator >= 0]
    # One matrix for the encoded rows and, to their right, the filled columns, so that the kernel has one output.
    p = X.shape[1]
    out = X if not needed else np.zeros((X.shape[0], p + len(needed)))
    extra = {c.column: p + i for i, c in enumerate(needed)}
    scale_numeric(
        values,
        np.arange(len(layout.numeric)),
        np.array([(*c.bounds, c.mid, c.half, c.fill) for c in layout.numeric]),
        np.array([c.code for c in layout.numeric]),
        out,
        np.array([(c.column, c.indicator, extra.get(c.column, -1)) for c in layout.numeric]),
    )
    if out is not X:
        X[:] = out[:, :p]
    return {column: out[:, i] for column, i in extra.items()}


def _one_hot(places: NDArray[np.int64], block: Any, X: Array) -> None:
    """Set the 1 of each row; an unknown level and the baseline have none."""
    # column_of[level], then UNKNOWN (−1) and MISSING (−2) from the end; −1 means no column
    column_of = np.full(max((*block.levels, *places, 0)) + 3 if len(places) < 0 else _highest(block) + 3, -1)
    for level, column in zip(block.levels, block.columns, strict=True):
        column_of[level] = column
    column_of[-2] = block.missing
    columns = column_of[places]
    rows = np.flatnonzero(columns >= 0)
    X[rows, columns[rows]] = 1.0


def _highest(block: Any) -> int:
    return max(block.levels, default=0) + 1


def clip_rows(norm: tuple[str, float], table: Table, columns: list[int], intercept: bool) -> Any:
    """(n, p) prepared rows clipped to the declared norm and divided by it, the intercept last; sparse stays sparse."""
    from hullabaloo.data.kernels import clip_dense

    kind, radius = _NORMS[norm[0]], norm[1]
    if isinstance(table, SparseTable):
        return _clip_sparse(kind, radius, table, intercept)
    values = table.numbers(columns)
    X = np.ones((values.shape[0], values.shape[1] + intercept))
    clip_dense(values, kind, radius, radius, X)
    return X


def _clip_sparse(kind: int, radius: float, table: SparseTable, intercept: bool) -> Any:
    from scipy import sparse

    from hullabaloo.data.kernels import clip_sparse

    rows = table.rows()
    n, p = rows.shape
    size = rows.nnz + n * intercept
    data, indices = np.empty(size), np.empty(size, dtype=rows.indices.dtype)
    clip_sparse(rows.data, rows.indices, rows.indptr, kind, radius, radius, p if intercept else -1, data, indices)
    indptr = rows.indptr + np.arange(n + 1, dtype=rows.indptr.dtype) * intercept
    return sparse.csr_array((data, indices, indptr), shape=(n, p + intercept))


def encode_targets(targets: tuple[Target, ...], table: Table, columns: list[int], centred: bool) -> Array:
    """(n, k) targets, each in [−1, 1]."""
    parts = [
        target.encode(np.ascontiguousarray(table.numbers([column])[:, 0]), centred)
        if isinstance(target, BoundedTarget)
        else target.encode(table.cells(column))
        for target, column in zip(targets, columns, strict=True)
    ]
    return np.ascontiguousarray(np.hstack(parts))


def encode_weight(table: Table, column: int, largest: float) -> Array:
    """(n,) weights in [0, largest]; a missing one is 0."""
    values = table.numbers([column])[:, 0]
    return np.clip(np.where(np.isnan(values), 0.0, values), 0.0, largest) + 0.0


def within_share(table: Table, column: int, share: int) -> Array:
    """1 for the first ``share`` records of each unit, in the table's order, and 0 for the others.

    A record whose unit is missing belongs to no one's share and gets 0. Whether a record counts depends on the
    records of its own unit only, so the neighbouring relation (all records of one unit) is kept.
    """
    labels = memo(table.cells(column), label_of)
    numbered: dict[str | None, int] = {}
    codes = np.array([numbered.setdefault(label, len(numbered)) for label in labels], dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    rank = np.empty(len(codes), dtype=np.int64)
    lengths = np.diff(np.append(first, len(codes)))
    rank[order] = np.arange(len(codes)) - np.repeat(first, lengths)
    kept = rank < share
    if None in numbered:
        kept &= codes != numbered[None]
    return kept.astype(np.float64)
