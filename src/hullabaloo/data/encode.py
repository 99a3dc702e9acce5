"""From an opened table to encoded arrays: row by row, whatever the cells hold (see ``Encoding.encode``)."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.domain import Domain
from hullabaloo.data.labels import MISSING, LevelIndex
from hullabaloo.data.layout import Layout, OneHot
from hullabaloo.data.source import Rows
from hullabaloo.data.table import Table
from hullabaloo.data.targets import BoundedTarget, Target, TargetScale
from hullabaloo.data.threads import by_rows

Array = NDArray[np.float64]
HEAVIEST = 2.0
"""Bound of an encoded weight: weights are divided by half of their declared bound, so that plans and solvers, for which a weight is 1 on average, see one unit whatever the user's is."""
NORM_CODES = {"l1": 1, "l2": 2, "linf": 3}  # the codes of kernels.py


def encode_features(domain: Domain, layout: Layout, table: Table, columns: list[int], intercept: bool) -> Array:
    """(n, p) encoded rows of a domain with declared features, the intercept last, clipped to its row norm if any."""
    from hullabaloo.data.kernels import clip_dense

    width = len(layout.names)
    place = dict(zip(domain.feature_names, columns, strict=True))
    values = table.numbers([place[c.feature] for c in layout.numeric])
    X = np.zeros((table.n_rows, width + intercept))
    filled = _scale(layout, values, X)
    for block in layout.onehot:
        places = LevelIndex(block.all_levels).places(table.cells(place[block.feature]))
        _one_hot(places, block, X)
    for products in layout.products:
        for column, (a, b) in zip(products.columns, products.factors, strict=True):
            X[:, column] = filled.get(a, X[:, a]) * filled.get(b, X[:, b]) + 0.0
    if domain.row_norm is not None:
        (norm, radius), body = domain.row_norm, X[:, :width]
        clip_dense(body, NORM_CODES[norm], radius, 1.0, body)
    if intercept:
        X[:, width] = 1.0
    return X


def _scale(layout: Layout, values: Array, X: Array) -> dict[int, Array]:
    """Scale the numeric features into ``X``; returns the filled scaled columns that interactions need."""
    from hullabaloo.data.kernels import scale_numeric

    given, kept = scaling_of(layout)
    filled = np.empty((X.shape[0], len(kept)))
    if layout.numeric:
        by_rows(lambda part: scale_numeric(values[part], *given, X[part], filled[part]), *values.shape)
    return {column: filled[:, i] for column, i in kept.items()}


def scaling_of(layout: Layout) -> tuple[tuple[Array, NDArray[np.int64], NDArray[np.int64]], dict[int, int]]:
    """What `scale_numeric` is told of the numeric features, and the place among filled columns of those that interactions need."""
    factors = {place for block in layout.products for pair in block.factors for place in pair}
    kept = {c.column: i for i, c in enumerate([c for c in layout.numeric if c.column in factors])}
    bounds = np.array([(*c.bounds, c.mid, c.half, c.fill) for c in layout.numeric])
    places = np.array([(c.column, c.indicator, kept.get(c.column, -1)) for c in layout.numeric], dtype=np.int64)
    return (bounds, np.array([c.code for c in layout.numeric], dtype=np.int64), places), kept


def _one_hot(places: NDArray[np.int64], block: OneHot, X: Array) -> None:
    """Set the 1 of each row; an unknown level and the baseline have no column."""
    column_of = np.full(len(block.all_levels) + 2, -1)  # indexed by place; UNKNOWN is −1 and MISSING −2, from the end
    column_of[list(block.levels)] = block.columns
    column_of[MISSING] = block.missing
    columns = column_of[places]
    rows = np.flatnonzero(columns >= 0)
    X[rows, columns[rows]] = 1.0


def clip_rows(norm: tuple[str, float], table: Table, columns: list[int], intercept: bool) -> Any:
    """(n, p) prepared rows clipped to the declared norm and divided by it, the intercept last; sparse stays sparse."""
    from hullabaloo.data.kernels import clip_dense

    kind, radius = NORM_CODES[norm[0]], norm[1]
    if table.sparse:
        return _clip_sparse(kind, radius, table, intercept)
    values = table.numbers(columns)
    X = np.ones((values.shape[0], values.shape[1] + intercept))
    clip_dense(values, kind, radius, radius, X)
    return X


def _clip_sparse(kind: int, radius: float, table: Any, intercept: bool) -> Any:
    from scipy import sparse

    from hullabaloo.data.kernels import clip_sparse

    rows = table.rows()
    n, p = rows.shape
    size = rows.nnz + n * intercept
    index = np.int64 if max(size, p + 1) > np.iinfo(np.int32).max else rows.indices.dtype
    data, indices = np.empty(size), np.empty(size, dtype=index)
    clip_sparse((rows.data, rows.indices, rows.indptr), kind, radius, p, intercept, data, indices)
    indptr = rows.indptr.astype(index) + np.arange(n + 1, dtype=index) * intercept
    return sparse.csr_array((data, indices, indptr), shape=(n, p + intercept))


def encode_targets(
    targets: tuple[Target, ...], table: Table, columns: list[int], centred: bool, scale: TargetScale
) -> Array:
    """(n, k) targets, each in [−1, 1]."""
    parts = [
        target.encode(np.ascontiguousarray(table.numbers([column])[:, 0]), centred, scale)
        if isinstance(target, BoundedTarget)
        else target.encode(table.cells(column))
        for target, column in zip(targets, columns, strict=True)
    ]
    return np.ascontiguousarray(np.hstack(parts))


def targets_there(targets: tuple[Target, ...], table: Table, columns: list[int]) -> Array:
    """(n,) 1 for a record of which every target is there: a number, or a declared class; else 0."""
    there = np.ones(table.n_rows)
    for target, column in zip(targets, columns, strict=True):
        if isinstance(target, BoundedTarget):
            there *= ~np.isnan(table.numbers([column])[:, 0])
        else:
            there *= LevelIndex(target.ordered).places(table.cells(column)) >= 0
    return there


def encode_weight(table: Table, column: int, largest: float) -> Array:
    """(n,) weights over half of `largest`, in [0, 2]; a missing one is 0."""
    values = table.numbers([column])[:, 0] / (0.5 * largest)
    return np.clip(np.where(np.isnan(values), 0.0, values), 0.0, HEAVIEST) + 0.0


def numbered(labels: Sequence[str | None]) -> NDArray[np.int64]:
    """Each record's unit by number, by first record."""
    numbers: dict[str | None, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)


def within_share(rows: Rows, units: NDArray[np.int64], share: int) -> NDArray[np.bool_]:
    """Which records are among the ``share`` of their unit whose encoded row has the smallest BLAKE2b, those of weight 0 last, as they count for nothing.

    The row is all that the record contributes (x, y, weight and offset), and equal rows are interchangeable, so that neither the
    table's order nor its parts matter. Whether a record counts depends on the records of its own unit alone, so the neighbouring
    relation (all records of one unit) is kept.
    """

    ones, X = np.ones(len(units)), rows.X
    rest = np.column_stack([rows.Y, *(ones if one is None else one for one in (rows.weight, rows.offset))])

    def digest(place: int) -> tuple[bool, bytes]:
        here = place if isinstance(X, np.ndarray) else slice(*X.indptr[place : place + 2])
        held = X[here] if isinstance(X, np.ndarray) else np.append(X.indices[here], X.data[here])
        nothing = rows.weight is not None and not rows.weight[place]
        return nothing, blake2b(held.tobytes() + rest[place].tobytes()).digest()

    order = np.argsort(units, kind="stable")
    counts, start = np.ones(len(units), dtype=bool), 0
    for stop in (np.flatnonzero(np.diff(units[order], append=-1)) + 1).tolist():
        if stop - start > share:
            counts[sorted(order[start:stop].tolist(), key=digest)[share:]] = False
        start = stop
    return counts
