"""Rows seen from a public centre: record by record, dense or sparse, for partial derivatives alone, at the payment of the whole."""

import math

import numpy as np
import pytest
from scipy import sparse

from hullabaloo.curator import Curator
from hullabaloo.curator.views import centred_rows
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter, NotPaidFor
from hullabaloo.geometry import NoPenalty, separable_form
from hullabaloo.losses import Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.curator.neighbours import facts, random_rows

ABOUT = facts(3)
ROWS = random_rows(np.random.default_rng(21), 50, ABOUT)
MENU = PricedQueries(ABOUT, Neighbours.REPLACE_ONE, 50)
CENTRE = np.array([0.25, -0.5, 0.0])
UPDATES = {
    "order": np.array([0, 1, 2, 1]),
    "clips": np.full(3, 0.2),
    "steps": np.full(3, 0.5),
    "form": separable_form(NoPenalty(), None, 3),
}


def test_each_record_is_moved_by_itself() -> None:
    whole = centred_rows(ROWS, CENTRE).X
    assert np.array_equal(whole, ROWS.X - CENTRE)
    for i in (0, 17, 49):  # the same bits alone as among others
        assert np.array_equal(centred_rows(Rows(ROWS.X[[i]], ROWS.Y[[i]]), CENTRE).X[0], whole[i])
    scattered = Rows(sparse.csr_array(ROWS.X), ROWS.Y)
    assert np.array_equal(centred_rows(scattered, CENTRE).X, whole)


def test_a_descent_on_centred_rows_is_one_on_rows_made_so() -> None:
    query = MENU.price("coordinate_gradient", loss=Squared(), mu=0.5, count=4)
    there = (
        Curator(ROWS, [query], key=TestKey(bytes(32)))
        .centred(CENTRE)
        .answer("coordinate_gradient", np.zeros(3), **UPDATES)
    )  # type: ignore[arg-type]
    made = Curator(Rows(ROWS.X - CENTRE, ROWS.Y), [query], key=TestKey(bytes(32)))
    assert np.array_equal(there.theta, made.answer("coordinate_gradient", np.zeros(3), **UPDATES).theta)  # type: ignore[arg-type]


def test_nothing_else_is_answered_and_nothing_twice() -> None:
    curator = Curator(
        ROWS,
        [
            MENU.price("coordinate_gradient", loss=Squared(), mu=0.5, count=4),
            MENU.price("means", mu=0.5),
            MENU.price("second_moments", mu=0.5),
        ],
    )
    view = curator.centred(CENTRE)
    for name in ("means", "second_moments"):
        with pytest.raises(NotPaidFor):
            view.answer(name)
    view.answer("coordinate_gradient", np.zeros(3), **UPDATES)  # type: ignore[arg-type]
    for other in (view, curator, curator.centred(CENTRE)):
        with pytest.raises(NotPaidFor):
            other.answer("coordinate_gradient", np.zeros(3), **UPDATES)  # type: ignore[arg-type]
    with pytest.raises(NotPaidFor, match="no partial derivative"):
        Curator(ROWS, [MENU.price("means", mu=0.5)]).centred(CENTRE)
    for wrong in (np.zeros(2), np.array([0.0, math.nan, 0.0])):
        with pytest.raises(InvalidParameter, match="one finite number"):
            curator.centred(wrong)
