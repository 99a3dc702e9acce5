"""The curator answers what was paid for, adds the noise that was priced, and lets nothing else out."""

import copy
import math
import pickle
from itertools import product

import numpy as np
import pytest

from hullabaloo.curator import Curator
from hullabaloo.data.source import Rows
from hullabaloo.errors import NotPaidFor
from hullabaloo.losses import Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.curator.neighbours import facts, random_rows

ABOUT = facts(4)
ROWS = random_rows(np.random.default_rng(15), 200, ABOUT)
MENU = PricedQueries(ABOUT, Neighbours.ADD_OR_REMOVE, 200)
KEY = TestKey(bytes(range(32)))


def test_each_query_is_answered_as_often_as_it_was_paid_for() -> None:
    curator = Curator(
        ROWS,
        [
            MENU.price("gradient", loss=Squared(), clip=0.5, mu=0.1, count=2),
            MENU.price("moments", mu=0.1, target_scale=1.0),
        ],
    )
    for _ in range(2):
        curator.answer("gradient", np.zeros(4))
    with pytest.raises(NotPaidFor, match="all have been given"):
        curator.answer("gradient", np.zeros(4))
    curator.answer("moments")
    with pytest.raises(NotPaidFor, match="all have been given"):
        curator.answer("moments")
    with pytest.raises(NotPaidFor, match="paid for 'gradient', 'moments'"):
        curator.answer("second_moments")


def test_two_quotes_of_one_query_are_used_up_one_after_the_other() -> None:
    queries = [MENU.price("second_moments", mu=mu, count=count) for mu, count in ((0.1, 1), (100.0, 2))]
    curator = Curator(ROWS, queries, key=KEY)
    exact = (ROWS.X**2).mean(axis=0)
    noises = [np.abs(curator.answer("second_moments") - exact).max() for _ in range(3)]
    assert noises[0] > 50.0 * max(noises[1:])
    assert noises[1] != noises[2]
    with pytest.raises(NotPaidFor, match="paid for 2 answers to 'second_moments' and all have been given"):
        curator.answer("second_moments")


def test_what_is_given_up_is_never_answered() -> None:
    """Of any number of the plan's first queries, after any number of answers: of each name the queries that come later answer, in their order, and no answer more."""
    gradient = {"loss": Squared(), "clip": 0.5}
    queries = [
        MENU.price("second_moments", mu=0.5), MENU.price("gradient", mu=0.4, count=2, **gradient),
        MENU.price("second_moments", mu=0.3), MENU.price("gradient", mu=0.2, **gradient),
    ]  # fmt: skip
    given: dict[str, tuple[np.ndarray, ...]] = {"gradient": (np.zeros(4),), "second_moments": ()}
    whole = Curator(
        ROWS, queries, key=KEY
    )  # a test key's n-th answer of a name is the same whatever is asked beside it
    bought = {"gradient": 3, "second_moments": 2}
    every = {name: [whole.answer(name, *given[name]) for _ in range(count)] for name, count in bought.items()}
    for count, first, times in product(range(5), given, range(3)):
        curator = Curator(ROWS, queries, key=KEY)
        for _ in range(times):
            curator.answer(first, *given[first])
        curator.give_up(count)
        for name, question in given.items():
            gone = sum(query.count for query in queries[:count] if query.name == name)
            for wanted in every[name][max(gone, times * (name == first)) :]:
                assert np.array_equal(curator.answer(name, *question), wanted)
            with pytest.raises(NotPaidFor, match="all have been given"):
                curator.answer(name, *question)


def test_answers_carry_the_noise_of_their_query() -> None:
    """4000 answers a query: the standard deviation is within 6 of its own deviations (false alarm below 1e-8 each)."""
    queries = [
        MENU.price("gradient", loss=Squared(), clip=0.5, mu=0.3, count=4000),
        MENU.price("second_moments", mu=0.2),
        MENU.price("moments", mu=0.4, target_scale=1.0),
    ]
    curator = Curator(ROWS, queries, key=KEY)
    noise = np.array([curator.answer("gradient", np.zeros(4)) for _ in range(4000)])
    spread = noise.std(axis=0) * 200 / queries[0].sigma
    assert np.all(np.abs(spread - 1.0) < 6.0 / math.sqrt(2 * 4000))
    exact = ROWS.X.T @ np.clip(-ROWS.Y[:, 0], -0.5, 0.5) / 200
    assert np.all(np.abs(noise.mean(axis=0) - exact) < 6.0 * queries[0].sigma / 200 / math.sqrt(4000))
    assert np.all(np.abs(curator.answer("second_moments") - (ROWS.X**2).mean(0)) < 8.0 * queries[1].sigma / 200)
    moments = curator.answer("moments")
    assert np.all(np.abs(moments.gram - ROWS.X.T @ ROWS.X / 200) < 8.0 * moments.gram_noise)
    assert np.all(np.abs(moments.cross - ROWS.X.T @ ROWS.Y / 200) < 8.0 * moments.cross_noise)
    assert np.array_equal(moments.gram, moments.gram.T)


def test_noise_of_the_moments_has_the_stated_covariance() -> None:
    """600 releases: diagonal, off-diagonal, cross and square noise within 6 deviations (false alarm below 1e-8 each)."""
    query = MENU.price("moments", mu=0.4, target_scale=0.7)
    draws = [Curator(ROWS, [query], key=KEY.derive(str(i))).answer("moments") for i in range(600)]
    room = 6.0 / math.sqrt(2 * 600)
    first = draws[0]
    for values, expected in [
        ([d.gram[1, 1] for d in draws], first.gram_noise),
        ([d.gram[0, 2] for d in draws], first.gram_noise / math.sqrt(2)),
        ([d.cross[3, 0] for d in draws], first.cross_noise),
        ([d.square[0, 0] for d in draws], first.square_noise),
    ]:
        assert abs(np.std(values) / expected - 1.0) < room


def test_an_exact_answer_of_nothing_gets_its_noise_too() -> None:
    """Records of zeros: every coordinate of every answer is noise alone, which is never 0."""
    rows = Rows(np.zeros((200, 4)), np.zeros((200, 1)))
    queries = [
        MENU.price("gradient", loss=Squared(), clip=0.5, mu=0.3, count=1),
        MENU.price("second_moments", mu=0.2),
        MENU.price("moments", mu=0.4, target_scale=1.0),
    ]
    curator = Curator(rows, queries, key=KEY)
    moments = curator.answer("moments")
    for answer in (
        curator.answer("gradient", np.zeros(4)),
        curator.answer("second_moments"),
        moments.gram,
        moments.square,
    ):
        assert np.all(np.asarray(answer) != 0.0)


def test_the_cut_tail_of_every_coordinate_is_counted() -> None:
    for query in (
        MENU.price("gradient", loss=Squared(), clip=0.5, mu=0.3, count=2),
        MENU.price("second_moments", mu=0.2),
        MENU.price("moments", mu=0.4, target_scale=1.0),
    ):
        assert query.event.delta0 == query.length * 2.0**-130


def test_two_answers_to_the_same_question_carry_fresh_noise() -> None:
    curator = Curator(ROWS, [MENU.price("gradient", loss=Squared(), clip=0.5, mu=0.3, count=2)], key=KEY)
    assert not np.array_equal(curator.answer("gradient", np.zeros(4)), curator.answer("gradient", np.zeros(4)))


def test_rows_cannot_be_taken_out_by_copying_printing_or_attributes() -> None:
    curator = Curator(ROWS, [])
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="private rows"):
            take(curator)
    assert str(curator) == "Curator(<private rows>)"
    assert not any("row" in name.lower() for name in dir(curator) if not name.startswith("_"))
    assert "0." not in repr(ROWS)


def test_infinite_price_means_no_noise() -> None:
    query = MENU.price("gradient", loss=Squared(), clip=10.0, mu=math.inf, count=1)
    assert query.sigma == 0.0
    answer = Curator(ROWS, [query]).answer("gradient", np.zeros(4))
    assert answer == pytest.approx(-ROWS.X.T @ ROWS.Y[:, 0] / 200, rel=1e-12)
