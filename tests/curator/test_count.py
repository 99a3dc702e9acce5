"""The count query: its sensitivity on real neighbours, attained; what counts; and that a public count is not sold."""

import math

import numpy as np
import pytest

from hullabaloo.curator import CountQuery, Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from tests.curator.neighbours import facts, join, pairs, random_rows

PRIVATE = [
    (Neighbours.ADD_OR_REMOVE, facts(3)),
    (Neighbours.ADD_OR_REMOVE, facts(3, max_weight=0.1)),
    (Neighbours.ADD_OR_REMOVE, facts(3, unit=4)),
    (Neighbours.REPLACE_ONE, facts(3, max_weight=3.0)),
    (Neighbours.REPLACE_ONE, facts(3, unit=4)),
    (Neighbours.REPLACE_ONE, facts(3, max_weight=3.0, unit=4)),
]


def weighing(rows: Rows, weight: float) -> Rows:
    return Rows(rows.X, rows.Y, np.full(rows.Y.shape[0], weight))


@pytest.mark.parametrize(("relation", "about"), PRIVATE)
def test_no_neighbour_moves_the_count_by_more_than_the_sensitivity(relation: Neighbours, about: RowFacts) -> None:
    asked = CountQuery(about, relation, 20, 1, 0.5)
    for left, right in pairs(np.random.default_rng(17), relation, about, rounds=200):
        assert abs(asked.exact(left) - asked.exact(right)) <= asked.sensitivity


@pytest.mark.parametrize(("relation", "about"), PRIVATE)
def test_the_sensitivity_is_attained(relation: Neighbours, about: RowFacts) -> None:
    """A unit whose records all count, against none of it, or against as many records of weight 0."""
    rng = np.random.default_rng(18)
    common = weighing(random_rows(rng, 20, about), about.max_weight)
    unit = random_rows(rng, about.records_per_unit, about)
    other = common if relation is Neighbours.ADD_OR_REMOVE else join(common, weighing(unit, 0.0))
    asked = CountQuery(about, relation, 20, 1, 0.5)
    moved = asked.exact(join(common, weighing(unit, about.max_weight))) - asked.exact(other)
    assert moved >= 0.999999 * asked.sensitivity


def test_records_of_weight_zero_do_not_count() -> None:
    rows = random_rows(np.random.default_rng(19), 6, facts(2))
    asked = CountQuery(facts(2), Neighbours.ADD_OR_REMOVE, 6, 1, 0.5)
    assert asked.exact(rows) == 6
    assert asked.exact(Rows(rows.X, rows.Y, np.array([0.0, 1.0, 0.5, 0.0, 1e-300, 1.0]))) == 4


def test_a_public_count_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="number of records is public"):
        CountQuery(facts(3), Neighbours.REPLACE_ONE, 20, 1, 0.5)


def test_the_answer_carries_the_noise_of_its_query() -> None:
    """400 answers: standard deviation and mean within 6 deviations (false alarm below 1e-8 in all)."""
    about, rows = facts(3), random_rows(np.random.default_rng(20), 57, facts(3))
    asked = CountQuery(about, Neighbours.ADD_OR_REMOVE, 20, 400, 0.5)
    curator = Curator(rows, [asked], key=TestKey(bytes(range(32))))
    drawn = (np.array([curator.answer("count") for _ in range(400)]) - 57.0) / asked.sigma
    assert abs(drawn.std() - 1.0) < 6.0 / math.sqrt(2 * 400)
    assert abs(drawn.mean()) < 6.0 / math.sqrt(400)
