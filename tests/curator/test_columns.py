"""Views of a public selection of columns: bounds that hold for any of them, one payment, and no quote of another width."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from hullabaloo.curator import Curator
from hullabaloo.curator.columns import moments_of_columns
from hullabaloo.curator.moments import dense_sum
from hullabaloo.curator.views import chosen_columns
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter, NotPaidFor
from hullabaloo.losses import Squared
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.curator.neighbours import facts, pairs, random_rows

RELATIONS = list(Neighbours)
TABLES = {
    "entries": facts(9),
    "norm": facts(9, norm_l2=0.8),
    "weights": facts(6, max_weight=3.0),
    "units": facts(6, unit=3),
}
KEY = TestKey(bytes(range(32)))


def with_constant(about: RowFacts) -> RowFacts:
    """The facts of the same rows beside a constant column."""
    l1, l2 = about.norm_l1 + 1.0, math.hypot(about.norm_l2, 1.0)
    columns, largest = (*about.columns, "1"), max(about.norm_linf, 1.0)
    return replace(about, columns=columns, intercept=True, norm_l1=l1, norm_l2=l2, norm_linf=largest)


def add_constant(rows: Rows) -> Rows:
    return replace(rows, X=np.column_stack([rows.X, np.ones(len(rows.Y))]))


def sparse(rows: Rows) -> Rows:
    return replace(rows, X=sp.csr_array(rows.X))


@pytest.mark.few(4)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
def test_the_facts_bound_the_rows_of_every_view(about: RowFacts, intercept: bool) -> None:
    rng = np.random.default_rng(0)
    rows = random_rows(rng, 200, about, extreme=True)
    whole = with_constant(about) if intercept else about
    rows = add_constant(rows) if intercept else rows
    tight = 0.0
    for count in range(about.width + 1):
        known = whole.restricted(count)
        columns = rng.permutation(about.width)[:count]
        X = chosen_columns(rows, columns, intercept).X
        assert X.shape == (200, known.width)
        assert known.width == count + intercept
        assert known.intercept is intercept
        assert known.columns[count:] == whole.columns[about.width :]
        for order, bound in ((1, known.norm_l1), (2, known.norm_l2), (np.inf, known.norm_linf)):
            if X.shape[1]:
                largest = np.linalg.norm(X, order, axis=1).max()
                assert largest <= bound * (1.0 + 1e-12)
                tight = max(tight, largest / bound)
        assert known.norm_l2 <= whole.norm_l2
        assert known.max_weight == about.max_weight
    assert tight > 0.999
    with pytest.raises(InvalidParameter, match="beside the intercept"):
        whole.restricted(about.width + 1)


@pytest.mark.few(10)
@pytest.mark.parametrize("kind", ["gradient", "moments", "second moments"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
def test_no_neighbour_moves_an_answer_about_a_view_by_more_than_its_quote_says(
    about: RowFacts, relation: Neighbours, kind: str
) -> None:
    rng = np.random.default_rng(1)
    prices = PricedQueries(about, relation, 20).restricted(3)
    largest = 0.0
    for left, right in pairs(rng, relation, about, rounds=60):
        columns = rng.permutation(about.width)[:3]
        one, other = (chosen_columns(rows, columns, False) for rows in (left, right))
        if kind == "gradient":
            query = prices.price("gradient", loss=Squared(), clip=0.5, mu=1.0, count=1)
            theta = rng.normal(0.0, 3.0, 3)
            moved = query.exact(one, theta) - query.exact(other, theta)
        elif kind == "moments":
            query = prices.price("moments", mu=1.0, target_scale=1.0)  # type: ignore[assignment]
            moved = query.exact(one) - query.exact(other)  # type: ignore[arg-type]
        else:
            query = prices.price("second_moments", mu=1.0)  # type: ignore[assignment]
            moved = query.exact(one) - query.exact(other)  # type: ignore[arg-type]
        share = float(np.linalg.norm(moved)) / query.sensitivity
        assert share <= 1.0
        largest = max(largest, share)
    assert largest > 0.2 / about.records_per_unit  # the bound is not idle


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_quote_for_the_whole_table_is_dearer_and_never_answered_about_a_view(relation: Neighbours) -> None:
    about, rng = facts(9), np.random.default_rng(2)
    prices = PricedQueries(about, relation, 50)
    whole = prices.price("gradient", loss=Squared(), clip=0.5, mu=0.5, count=1)
    part = prices.restricted(2).price("gradient", loss=Squared(), clip=0.5, mu=0.5, count=1)
    assert part.sigma == pytest.approx(whole.sigma * math.sqrt(2.0 / 9.0), rel=1e-3)
    rows = random_rows(rng, 50, about)
    for queries, asked in (([whole], (0, 1)), ([part], (0, 1, 2)), ([whole, part], (0, 1, 2))):
        with pytest.raises(NotPaidFor, match="view of"):
            Curator(rows, queries).restricted(asked)
    curator = Curator(rows, [part])
    with pytest.raises(
        NotPaidFor, match="'gradient' about 9 columns was asked, but the plan paid for 'gradient' about 2"
    ):
        curator.answer("gradient", np.zeros(9))
    with pytest.raises(NotPaidFor, match="'second_moments' about 2 columns"):
        curator.restricted((3, 4)).answer("second_moments")


@pytest.mark.parametrize("table", [lambda rows: rows, sparse], ids=["dense", "sparse"])
@pytest.mark.parametrize("intercept", [False, True])
def test_views_are_answered_about_their_columns_out_of_one_payment(table: object, intercept: bool) -> None:
    about, rng = facts(6), np.random.default_rng(3)
    rows = random_rows(rng, 80, about)
    whole, rows = (with_constant(about), add_constant(rows)) if intercept else (about, rows)
    prices = PricedQueries(whole, Neighbours.ADD_OR_REMOVE, 80)
    queries = [
        prices.price("gradient", loss=Squared(), clip=9.0, mu=math.inf, count=1),
        prices.restricted(2).price("gradient", loss=Squared(), clip=9.0, mu=math.inf, count=3),
    ]
    curator = Curator(table(rows), queries)  # type: ignore[operator]
    for columns in ([4, 1], np.array([0, 5], dtype=np.int32), (2, 3)):
        kept = [*columns, *([6] if intercept else [])]
        theta = rng.normal(size=len(kept))
        X = rows.X[:, kept]
        expected = X.T @ np.clip(X @ theta - rows.Y[:, 0], -9.0, 9.0) / 80
        assert curator.restricted(columns).answer("gradient", theta) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(NotPaidFor, match="all have been given"):
        curator.restricted([0, 1]).answer("gradient", np.zeros(2 + intercept))
    assert curator.answer("gradient", np.zeros(whole.width)).shape == (whole.width,)


def test_two_views_draw_noise_of_their_own() -> None:
    about = facts(4)
    rows = Rows(np.zeros((10, 4)), np.zeros((10, 1)))
    prices = PricedQueries(about, Neighbours.ADD_OR_REMOVE, 10)
    queries = [
        each.price("gradient", loss=Squared(), clip=1.0, mu=0.5, count=2) for each in (prices, prices.restricted(1))
    ]
    curator = Curator(rows, queries, key=KEY)
    found = [
        curator.answer("gradient", np.zeros(4))[0],
        *(curator.restricted([0]).answer("gradient", np.zeros(1))[0] for _ in range(2)),
    ]
    assert len(set(found)) == 3


@pytest.mark.parametrize("asked", [[0, 0], [-1], [5], [0.5], [[0, 1]], ["a"], [4]])
def test_what_is_no_selection_of_slopes_is_refused_before_anything_is_spent(asked: object) -> None:
    about = with_constant(facts(4))
    rows = add_constant(random_rows(np.random.default_rng(4), 10, facts(4)))
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 10)
    curator = Curator(rows, [prices.restricted(1).price("second_moments", mu=1.0, count=1)])
    with pytest.raises(InvalidParameter, match="distinct whole numbers from 0 to 3"):
        curator.restricted(asked)  # type: ignore[arg-type]
    assert curator.restricted([3]).answer("second_moments").shape == (2,)


def test_a_selection_may_be_asked_at_another_clip_at_the_same_price() -> None:
    about, rng = facts(5), np.random.default_rng(5)
    rows = random_rows(rng, 60, about)
    prices = PricedQueries(about, Neighbours.REPLACE_ONE, 60)
    query = prices.price("select", loss=Squared(), clip=1.0, epsilon=math.inf, count=2)
    curator = Curator(rows, [query])
    expected = np.argmax(np.abs(rows.X.T @ np.clip(-rows.Y[:, 0], -0.1, 0.1)))
    with pytest.raises(InvalidParameter, match="positive finite clip"):
        curator.answer("select", np.zeros(5), clip=-1.0)
    with pytest.raises(InvalidParameter, match="lower ≤ upper"):
        curator.answer("select", np.zeros(5), within=(np.ones(5), np.zeros(5)))
    assert curator.answer("select", np.zeros(5), clip=0.1) == expected
    assert curator.answer("select", np.zeros(5)) == np.argmax(np.abs(rows.X.T @ rows.Y[:, 0]))
    priced = prices.price("select", loss=Squared(), clip=1.0, epsilon=0.3, count=1)
    changed = replace(priced, clip=0.01)
    assert changed.event == priced.event
    assert changed.sensitivity != priced.sensitivity


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_neighbour_moves_a_distance_to_an_interval_by_more_than_the_sensitivity(relation: Neighbours) -> None:
    about, rng = facts(5), np.random.default_rng(6)
    query = PricedQueries(about, relation, 20).price("select", loss=Squared(), clip=0.5, epsilon=math.inf, count=1)
    priced = replace(query, epsilon=0.5)
    for left, right in pairs(rng, relation, about, rounds=60):
        theta, ends = rng.normal(0.0, 1.0, 5), rng.normal(0.0, 10.0 ** rng.integers(-2, 6), (2, 5))
        lower, upper = ends.min(axis=0), ends.max(axis=0)
        scores = []
        for rows in (left, right):
            g = priced.gradient.exact(rows, theta)
            low, high = (np.clip(20 * end, -priced.gradient.bound, priced.gradient.bound) for end in (lower, upper))
            scores.append(np.maximum(np.maximum(g + low, -g - high), 0.0))
            chosen = Curator(rows, [query]).answer("select", theta, clip=0.5, within=(lower, upper))
            assert scores[-1][chosen] >= scores[-1].max() - 1e-6
        assert np.abs(scores[0] - scores[1]).max() <= priced.sensitivity


@pytest.mark.few(1)
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_law_of_a_selection_at_another_clip_is_that_of_its_own_sensitivity(relation: Neighbours) -> None:
    """1500 choices between two coordinates: the log-odds within 6 deviations (false alarm below 1e-8)."""
    rows = Rows(np.tile([[1.0, 0.5]], (40, 1)), np.full((40, 1), 1.0))
    prices = PricedQueries(facts(2), relation, 40)
    query = prices.price("select", loss=Squared(), clip=1.0, epsilon=0.1, count=1500)
    curator = Curator(rows, [query], key=KEY)
    chosen = np.array([curator.answer("select", np.zeros(2), clip=0.25) for _ in range(1500)])
    expected = 0.1 * (40 * 0.25 * 0.5) / (2.0 * 0.25 * (2.0 if relation is Neighbours.REPLACE_ONE else 1.0))
    share = 1.0 / (1.0 + math.exp(expected))
    assert abs(chosen.mean() - share) < 6.0 * math.sqrt(share * (1.0 - share) / 1500)


@pytest.mark.parametrize("p", [1, 2, 3, 4, 20])
def test_products_of_columns_are_exact_for_any_width_and_number(p: int) -> None:
    """At the largest entries there are, where a sum of more products would no longer be exact in doubles; against whole numbers."""
    rng = np.random.default_rng(p)
    for n in (0, 1, 255, 257, 2048, 2049, 8193):
        X, Y, weight = rng.choice([-1.0, 1.0, 0.3], (n, p)), rng.choice([-1.0, 1.0], (n, 1)), rng.random(n)
        for rows in (Rows(np.asfortranarray(X), Y), Rows(np.asfortranarray(X), Y, weight)):
            root = 1.0 if rows.weight is None else np.sqrt(rows.weight)[:, None]
            cells = np.rint(np.column_stack([rows.X, rows.Y]) * root * 2.0**21).astype(np.int64)
            high, low = np.divmod(cells, 1 << 11)  # so that products of whole numbers add up in 64 bits
            exact = sum(
                (a.T @ b).astype(object) << (11 * power)
                for a, b, power in ((high, high, 2), (high, low, 1), (low, high, 1), (low, low, 0))
            )
            for total in (moments_of_columns(rows, p + 1, -21), dense_sum(rows, p + 1, -21)):
                assert np.array_equal((total.high.astype(object) << 32) + total.low.astype(object), exact)
