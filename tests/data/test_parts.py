"""Rows in parts: their hash is that of the rows in any order, and of no others; views are functions of single rows."""

import pickle
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from hullabaloo.data.parts import ChangedTable, PartedRows, hashed
from hullabaloo.data.source import Rows


def rows(n: int = 50, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    return Rows(rng.normal(size=(n, 4)), rng.normal(size=(n, 1)), rng.random(n), rng.random(n))


def some(given: Rows, places: np.ndarray | slice) -> Rows:
    own = (None if one is None else one[places] for one in (given.weight, given.offset))
    return Rows(given.X[places], given.Y[places], *own)


def test_the_hash_is_that_of_the_rows_in_any_order_and_in_any_parts() -> None:
    given, order = rows(), np.random.default_rng(1).permutation(50)
    whole = hashed(given)
    assert hashed(some(given, order)) == whole
    assert (hashed(some(given, slice(0, 17))) + hashed(some(given, slice(17, None)))) % 2**64 == whole
    assert hashed(some(given, slice(0, 0))) == 0


def test_the_hash_changes_with_any_cell() -> None:
    given = rows()
    whole = hashed(given)
    for name in ("X", "Y", "weight", "offset"):
        for place in range(4 if name == "X" else 1):
            changed = getattr(given, name).copy()
            changed.reshape(50, -1)[7, place] = np.nextafter(changed.reshape(50, -1)[7, place], 9.0)
            assert hashed(replace(given, **{name: changed})) != whole
    swapped = given.X.copy()
    swapped[3, 0], swapped[4, 0] = swapped[4, 0], swapped[3, 0]  # cells of one column, in other records
    assert hashed(replace(given, X=swapped)) != whole


def test_views_are_applied_one_after_the_other_and_share_what_was_seen() -> None:
    given, reads = rows(), [0]

    def read() -> Iterator[Rows]:
        reads[0] += 1
        yield some(given, slice(0, 20))
        yield some(given, slice(20, None))

    parted = PartedRows(read, 4, 1 << 20)
    view = parted.seen(lambda part: replace(part, X=part.X[:, :2]), 2).seen(
        lambda part: replace(part, X=2.0 * part.X), 2
    )
    assert np.array_equal(np.vstack([part.X for part in view.parts()]), 2.0 * given.X[:, :2])
    assert view.width == 2
    assert np.array_equal(np.vstack([part.X for part in parted.parts()]), given.X)
    assert reads[0] == 1  # small enough to be kept, for all views


def test_other_rows_are_found_after_the_last_part() -> None:
    given = [rows(seed=0), rows(seed=1)]
    parted = PartedRows(lambda: iter([given.pop()]), 4, 0)
    assert len(list(parted.parts())) == 1
    with pytest.raises(ChangedTable):
        list(parted.parts())


def test_rows_in_parts_are_private() -> None:
    parted = PartedRows(lambda: iter([rows()]), 4, 0)
    assert repr(parted) == "PartedRows(private)"
    with pytest.raises(TypeError):
        pickle.dumps(parted)
