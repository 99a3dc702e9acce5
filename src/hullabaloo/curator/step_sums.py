"""The exact sums of a stream's steps: which records came in which batch, and in which order inside a step, changes no bit."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.exact import PRODUCT_BLOCK, magic_number
from hullabaloo.curator.moments import MomentsQuery, dense_sum
from hullabaloo.curator.stream_kernels import carry, step_sums
from hullabaloo.data.source import Rows

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_LONG = 256
"""Records of one step in one batch from which a matrix product is worth its calls,"""
_WIDE = 32
"""and columns (targets included) from which it is."""
_BLOCK = 1 << 21
"""Doubles of step vectors, or of rows made dense, that are held at once (16 MiB)."""


class StepSums:
    """`Σ w (x,y)(x,y)ᵀ` of the records of each step, in isometric coordinates. PRIVATE, as is its state.

    **Guarantee.** A completed step's vector is a function of the *multiset* of its records: rows are rounded to the lattice of
    exact.py one by one, products of cells are whole numbers below 2^42, at most 2048 of which are added in a double before
    they go to integers of two limbs. Turning an integer into a double and scaling it rounds twice, each time by a relative u.
    Without noise (μ = ∞) rows are not rounded and sums are of doubles, in the order of records: batches change no bit either.
    """

    __slots__ = ("_bound", "_exponent", "_factors", "_places", "_room", "_size", "high", "low", "sums")

    def __init__(self, query: MomentsQuery, bound: float) -> None:
        self._size, self._bound = query.width, bound
        self._exponent = query.exponent if math.isfinite(query.mu) else None
        self._room = 0 if self._exponent is None else PRODUCT_BLOCK
        rows, columns = np.triu_indices(self._size)
        off = rows != columns
        pitch = 1.0 if self._exponent is None else 2.0 ** (2 * self._exponent)
        scales = query.scales
        self._factors = scales[rows] * scales[columns] * np.where(off, math.sqrt(2.0), 1.0) * pitch
        self._places = np.where(off, self._size - 1 + np.cumsum(off), rows)
        self.sums: Array = np.zeros(query.length)
        self.high: Integers = np.zeros(query.length, dtype=np.int64)
        self.low: Integers = np.zeros(query.length, dtype=np.int64)

    def add(self, rows: Rows, ends: Integers) -> Array:
        """Take a batch; the vectors (m, d) of the steps that it completes after `ends` of its records, rising."""
        out = np.empty((ends.size, self.sums.size))
        n = rows.Y.shape[0]
        if self._exponent is None or self._size < _WIDE or n < _LONG * (ends.size + 1):
            self._pass(rows, ends, out)
            return out
        nothing, start = _part(rows, 0, 0), 0
        upper = np.triu_indices(self._size)
        for step, stop in enumerate([*ends.tolist(), n]):
            total = dense_sum(_part(rows, start, stop), self._size, self._exponent)
            self.high += total.high[upper]
            self.low += total.low[upper]
            carry(self.high, self.low)
            if step < ends.size:
                self._pass(nothing, np.zeros(1, dtype=np.int64), out[step : step + 1])
            start = stop
        return out

    def _pass(self, rows: Rows, ends: Integers, out: Array) -> None:
        root = np.zeros(0) if rows.weight is None else np.sqrt(rows.weight)
        magic, inverse = 0.0, 1.0
        if self._exponent is not None:
            magic, inverse = magic_number(self._exponent), 2.0**-self._exponent
        about = (root, ends, magic, inverse, self._room, self.sums, self.high, self.low)
        step_sums(rows.X, rows.Y, *about, self._factors, self._places, self._bound, out)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What the unfinished step's records add up to."""
        return {"sums": self.sums.copy(), "high": self.high.copy(), "low": self.low.copy()}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` gave."""
        self.sums[:], self.high[:], self.low[:] = state["sums"], state["high"], state["low"]


def blocks(count: int, width: int, length: int, every: int) -> range:
    """Starts of the parts in which `count` records are taken, so that neither dense rows nor step vectors outgrow a block."""
    each = min(_BLOCK // max(width, 1), max(1, _BLOCK // length) * every)
    return range(0, count, max(each, 1))


def dense_part(rows: Rows, start: int, stop: int) -> Rows:
    """Some of the records, dense and C-contiguous. PRIVATE."""
    part = _part(rows, start, stop)
    X: Any = part.X if isinstance(part.X, np.ndarray) else part.X.toarray()
    return Rows(np.ascontiguousarray(X), np.ascontiguousarray(part.Y), part.weight)


def _part(rows: Rows, start: int, stop: int) -> Rows:
    return Rows(rows.X[start:stop], rows.Y[start:stop], None if rows.weight is None else rows.weight[start:stop])
