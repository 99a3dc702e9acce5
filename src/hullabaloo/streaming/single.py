"""Predictions of one record at a time: the encoding of a released model, laid out once for fast use."""

from collections.abc import Mapping
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data import Encoding
from hullabaloo.data.kernels import clip_dense, scale_numeric
from hullabaloo.data.labels import MISSING, LevelIndex
from hullabaloo.data.layout import Layout
from hullabaloo.data.numbers import number_of
from hullabaloo.data.records import table_of

Array = NDArray[np.float64]
_NORMS = {"l1": 1, "l2": 2, "linf": 3}  # the codes of data/kernels.py


@final
class SinglePredictor:
    """`⟨x, θ⟩` of one record on the unit domain, the very operations of `Encoding.predictions` on a table of one row.

    Unknown keys are ignored, a missing key is a missing value. What the layout has no fast way for goes through the encoding.
    """

    __slots__ = ("_encoding", "_names", "_row", "_theta")

    def __init__(self, encoding: Encoding, theta: Array) -> None:
        self._encoding = encoding
        self._theta = theta
        self._names = encoding.feature_names_in or ()
        plain = encoding.layout is not None and encoding.offset is None
        self._row = _Row(encoding) if plain else None

    def __call__(self, x: Mapping[str, Any]) -> Array:
        """(k,) predictions."""
        if self._row is not None:
            unit: Array = (self._row(x) @ self._theta)[0]
            return unit
        cells = tuple(map(x.get, self._names))
        found: Array = self._encoding.predictions(table_of([cells], self._names, len(cells)), self._theta)[0]
        return found


class _Row:
    """The encoded row of a record; `data/encode.py` for one record, its tables made once."""

    __slots__ = (
        "_clip",
        "_codes",
        "_factors",
        "_features",
        "_intercept",
        "_levels",
        "_places",
        "_products",
        "_scales",
        "_width",
    )

    def __init__(self, encoding: Encoding) -> None:
        layout: Layout | None = encoding.layout
        assert layout is not None
        factors = sorted({place for block in layout.products for pair in block.factors for place in pair})
        kept = [c.column for c in layout.numeric if c.column in factors]
        self._features = tuple(c.feature for c in layout.numeric)
        self._scales = np.array([(*c.bounds, c.mid, c.half, c.fill) for c in layout.numeric]).reshape(-1, 5)
        self._codes = np.array([c.code for c in layout.numeric], dtype=np.int64)
        self._places = np.array(
            [(c.column, c.indicator, kept.index(c.column) if c.column in kept else -1) for c in layout.numeric],
            dtype=np.int64,
        ).reshape(-1, 3)
        self._factors = {column: place for place, column in enumerate(kept)}
        self._levels = [
            (block.feature, LevelIndex(block.all_levels).place, _columns(block.levels, block.columns, block.missing))
            for block in layout.onehot
        ]
        self._products = [
            (column, a, b)
            for block in layout.products
            for column, (a, b) in zip(block.columns, block.factors, strict=True)
        ]
        self._clip = encoding.domain.row_norm
        self._intercept = encoding.fit_intercept
        self._width = len(layout.names)

    def __call__(self, x: Mapping[str, Any]) -> Array:
        row = np.zeros((1, self._width + self._intercept))
        filled = np.empty((1, len(self._factors)))
        if self._features:
            cells = map(x.get, self._features)
            values = np.array([[cell if type(cell) is float else number_of(cell) for cell in cells]])
            scale_numeric(values, self._scales, self._codes, self._places, row, filled)
        for feature, place, columns in self._levels:
            column = columns.get(place(x.get(feature)), -1)
            if column >= 0:
                row[0, column] = 1.0
        for column, a, b in self._products:
            row[0, column] = self._factor(row, filled, a) * self._factor(row, filled, b) + 0.0
        if self._clip is not None:
            body = row[:, : self._width]
            clip_dense(body, _NORMS[self._clip[0]], self._clip[1], 1.0, body)
        if self._intercept:
            row[0, self._width] = 1.0
        return row

    def _factor(self, row: Array, filled: Array, column: int) -> float:
        place = self._factors.get(column)
        return float(row[0, column] if place is None else filled[0, place])


def _columns(levels: tuple[int, ...], columns: tuple[int, ...], missing: int) -> dict[int, int]:
    """Encoded column by the place of a level; an unknown level and the baseline have none."""
    return {**dict(zip(levels, columns, strict=True)), MISSING: missing}
