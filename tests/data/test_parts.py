"""Rows in parts: other ones are found out, views are functions of single rows and share what was seen."""

import pickle
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hullabaloo as hb
from hullabaloo.data.engines.base import Part, Tally, Task, part_of
from hullabaloo.data.parts import ChangedTable, PartedRows, rows_of
from hullabaloo.data.source import Rows


def rows(n: int = 50, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    return Rows(rng.normal(size=(n, 4)), rng.normal(size=(n, 1)), rng.random(n), rng.random(n))


class Stacked:
    """A question whose answer is the rows."""

    by_columns = False

    def state(self, rows: Rows) -> Any:
        return rows.X

    def merge(self, states: Sequence[Any]) -> Any:
        return np.vstack(states)

    dump = load = state


parted_rows = partial(PartedRows, counted=None, progress=None, once=False)


class Given:
    """An engine over parts at hand."""

    def __init__(self, *passes: list[Rows]) -> None:
        self.passes = [[part_of(one) for one in given] for given in passes]

    def map_reduce(self, task: Task) -> Tally:
        parts: list[Part] = self.passes.pop(0)
        return task.merged(map(task.tally, parts))


def test_views_are_applied_one_after_the_other_and_share_what_was_seen() -> None:
    given = [rows(20), rows(30, 1)]
    parted = parted_rows(Given(given, given, given[:1]), 4)
    view = parted.seen(lambda part: replace(part, X=part.X[:, :2]), 2).seen(
        lambda part: replace(part, X=2.0 * part.X), 2
    )
    whole = np.vstack([one.X for one in given])
    assert np.array_equal(view.total(Stacked()), 2.0 * whole[:, :2])
    assert view.width == 2
    assert np.array_equal(parted.total(Stacked()), whole)
    with pytest.raises(ChangedTable):
        view.total(Stacked())


def test_other_rows_or_another_number_than_was_counted_are_found() -> None:
    parted = parted_rows(Given([rows(seed=0)], [rows(seed=1)]), 4)
    parted.total(Stacked())
    with pytest.raises(ChangedTable):
        parted.total(Stacked())
    with pytest.raises(ChangedTable):
        parted_rows(Given([rows()]), 4, counted=49).total(Stacked())


def test_rows_that_are_read_once_are_compared_with_none_and_asked_no_second_time() -> None:
    domain = hb.Domain({"x": (-1, 1)}, target={"y": (-1, 1)}, indicators=False)
    table = pa.table({"x": [0.5, -0.5], "y": [0.1, 0.2]})
    for questions in (1, 2):
        parted = rows_of(domain.encoding(), hb.scan(table), questions=questions)
        assert isinstance(parted, PartedRows)
        first = parted.seen(lambda part: part, 1).total(Stacked())
        with pytest.raises(TypeError) if questions == 1 else nullcontext():
            assert np.array_equal(parted.seen(lambda part: part, 1).total(Stacked()), first)


def test_rows_in_parts_are_private() -> None:
    parted = parted_rows(Given(), 4)
    assert repr(parted) == "PartedRows(private)"
    with pytest.raises(TypeError):
        pickle.dumps(parted)
