"""Memory of the caller's that others write to while it is encoded, such as a memory map: each cell is looked at once, so that what was measured is what is kept."""

from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.data import open_table
from hullabaloo.data.encode import NORM_CODES
from hullabaloo.data.kernels import clip_dense, scale_numeric
from hullabaloo.data.readers.sparse_kernels import canonical


class Changing:
    """Numbers that are huge from the second look on."""

    def __init__(self, values: Any) -> None:
        self.values, self.seen = np.array(values), set[Any]()
        self.shape = self.values.shape

    def __getitem__(self, at: Any) -> Any:
        value = self.values[at]
        if np.ndim(value):
            raise TypeError("Several cells were taken as they lie, and each may be looked at again.")
        later, self.seen = at in self.seen, self.seen | {at}
        return 10**9 * np.ones_like(value) if later else value


@pytest.mark.parametrize("norm", NORM_CODES)
def test_rows_that_change_are_within_their_norm(norm: str) -> None:
    out = np.ones((50, 4))
    clip_dense.py_func(Changing(np.random.default_rng(0).normal(size=(50, 3))), NORM_CODES[norm], 1.0, 1.0, out)
    order = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
    assert np.linalg.norm(out[:, :3], ord=order, axis=1).max() <= 1.0
    assert (out[:, 3] == 1.0).all()


def test_features_and_places_that_change_are_within_their_bounds() -> None:
    out, filled = np.zeros((50, 2)), np.zeros((50, 0))
    bounds, places = np.array([[-1.0, 1.0, 0.0, 1.0, 0.0]] * 2), np.array([[0, -1, -1], [1, -1, -1]])
    values = Changing(np.random.default_rng(0).normal(size=(50, 2)))
    scale_numeric.py_func(values, bounds, np.zeros(2, dtype=np.int64), places, out, filled)
    assert np.abs(out).max() <= 1.0
    columns, starts = Changing(np.arange(12) % 3), np.arange(0, 13, 3)
    data, indices, pointers = np.zeros(12), np.zeros(12, dtype=np.int64), np.zeros(5, dtype=np.int64)
    canonical.py_func(np.ones(12), columns, starts, 3, data, indices, pointers)
    assert indices.max() < 3


def test_nothing_that_is_encoded_or_one_column_alone_is_memory_of_the_caller() -> None:
    y = np.linspace(-1.0, 1.0, 60)
    assert not np.shares_memory(
        open_table(y[:, None]).numbers([0]), y
    )  # targets and weights: NumPy looks at them twice
    for columns in (1, 3):
        X = np.full((60, columns), 0.1)
        rows = hb.Domain(row_norm=1.0, target=(-1, 1)).encoding_for(open_table(X), y).encode(open_table(X), y)
        assert not any(np.shares_memory(kept, given) for kept in (rows.X, rows.Y) for given in (X, y))
