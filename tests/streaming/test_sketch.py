"""The sketch: a public map of a record alone that keeps lengths, obeys its declared facts, and moves neighbours no further apart."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import hullabaloo as hb
from hullabaloo.curation.sketch import Sketch
from hullabaloo.curator.stream import StepSums, plan_stream
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import L1Ball, L2Ball
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.schedule import Schedule
from hullabaloo.streaming.regression import paper_size, relative_width, resolved_size, row_width
from tests.curator.neighbours import facts, join, random_rows, reordered

P = 40
ABOUT = facts(P, norm_l2=1.0)
WITH_INTERCEPT = replace(
    ABOUT, columns=(*ABOUT.columns, "(intercept)"), intercept=True, norm_l1=ABOUT.norm_l1 + 1.0, norm_l2=math.sqrt(2.0)
)
SKETCHES = {
    "plain": Sketch(P, 8),
    "sparse rows": Sketch(P, 8, 1, max_nonzeros=6),
    "inside": Sketch(P, 8, 2, inside=L1Ball(1.5)),
    "all columns": Sketch(P, P),
    "unscaled": Sketch(P, 8, rescaled=False),
    "sparse matrix": Sketch(P, 8, column_nonzeros=3),
}


def rows(n: int = 60, seed: int = 0, *, filled: float = 0.2, intercept: bool = True) -> Rows:
    """Rows with about a fifth of their cells filled, the intercept last."""
    rng = np.random.default_rng(seed)
    made = random_rows(rng, n, ABOUT)
    X = made.X * (rng.random(made.X.shape) < filled)
    return replace(made, X=np.column_stack([X, np.ones(n)]) if intercept else X)


def hostile() -> np.ndarray:
    """Cells that encoded rows never hold."""
    X = np.zeros((8, P))
    X[0, 3], X[1, 2], X[2, :], X[3, :] = np.nan, np.inf, 1e308, 1e-310
    X[4, :], X[5, 0], X[6, :2] = -1e160, 5e-324, (np.inf, -np.inf)
    return X


def same(a: Rows, b: Rows) -> bool:
    return a.X.tobytes() == b.X.tobytes() and a.Y.tobytes() == b.Y.tobytes()


def test_lengths_are_kept_and_the_intercept_stays() -> None:
    """Tests: 003, Algorithm 3."""
    given = rows()
    found = SKETCHES["plain"].rows(given, WITH_INTERCEPT)
    assert found.X.shape == (60, 9)
    assert np.allclose(np.linalg.norm(found.X[:, :-1], axis=1), np.linalg.norm(given.X[:, :-1], axis=1), rtol=1e-13)
    assert np.array_equal(found.X[:, -1], np.ones(60))
    assert np.array_equal(found.Y, given.Y)


def test_the_direction_is_that_of_the_matrix() -> None:
    given, sketch = rows(), SKETCHES["plain"]
    there = given.X[:, :-1] @ sketch.matrix.T
    found = sketch.rows(given, WITH_INTERCEPT).X[:, :-1]
    length = np.linalg.norm(given.X[:, :-1], axis=1) / np.maximum(np.linalg.norm(there, axis=1), 1e-300)
    assert np.allclose(found, there * length[:, None], rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("name", SKETCHES)
def test_a_row_of_a_sketch_is_a_function_of_its_record_alone(name: str) -> None:
    given, sketch = rows(), SKETCHES[name]
    whole = sketch.rows(given, WITH_INTERCEPT)
    order = np.random.default_rng(1).permutation(60)
    assert same(sketch.rows(reordered(given, order), WITH_INTERCEPT), reordered(whole, order))
    for i in (0, 7, 59):
        alone = reordered(given, np.array([i]))
        assert same(sketch.rows(alone, WITH_INTERCEPT), reordered(whole, np.array([i])))
    thin = replace(given, X=sparse.csr_array(given.X))
    assert same(sketch.rows(thin, WITH_INTERCEPT), whole)


@pytest.mark.parametrize("name", SKETCHES)
def test_no_value_of_a_record_raises_or_leaves_the_declared_bounds(name: str) -> None:
    sketch = SKETCHES[name]
    about = sketch.facts(ABOUT)
    with np.errstate(all="raise"):
        for X in (hostile(), sparse.csr_array(hostile()), 3.0 * rows(intercept=False).X):
            found = sketch.rows(Rows(X, np.ones((X.shape[0], 1))), ABOUT).X
            assert np.isfinite(found).all()
            assert (np.linalg.norm(found, axis=1) <= about.norm_l2 * (1.0 + 1e-12)).all()
            assert (np.abs(found).max(axis=1) <= about.norm_linf * (1.0 + 1e-12)).all()
            assert (np.abs(found).sum(axis=1) <= about.norm_l1 * (1.0 + 1e-12)).all()


def test_a_record_that_the_matrix_does_not_see_counts_as_a_row_of_zeros() -> None:
    sketch = Sketch(3, 1)
    a, b = sketch.matrix[0, :2]
    X = np.array([[0.5, -0.5 * a / b, 0.0], [0.0, 0.0, 0.0]])
    found = sketch.rows(Rows(X, np.ones((2, 1))), facts(3, norm_l2=1.0)).X
    assert np.isfinite(found).all()
    assert found[1, 0] == 0.0


def test_records_with_too_many_nonzeros_count_as_nothing() -> None:
    sketch = Sketch(P, 8, max_nonzeros=6)
    X = np.zeros((3, P + 1))
    X[:, -1] = 1.0
    for i, count in enumerate((5, 6, 7)):
        X[i, :count] = 0.1
    for table in (X, sparse.csr_array(X)):
        found = sketch.rows(Rows(table, np.full((3, 1), 0.7)), WITH_INTERCEPT)
        assert (found.X[:2, -1] == 1.0).all()
        assert (found.Y[:2] == 0.7).all()
        assert (found.X[2] == 0.0).all()
        assert found.Y[2, 0] == 0.0


def test_more_nonzeros_than_any_machine_counts_are_all() -> None:
    X, Y = np.full((1, P), 0.1), np.zeros((1, 1))
    found = [Sketch(P, 8, max_nonzeros=most).rows(Rows(X, Y), ABOUT).X for most in (P, 2**70)]
    assert np.array_equal(*found)
    assert found[0].any()


def test_records_outside_a_set_count_as_nothing_also_where_the_set_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of the library do not raise; should one, nobody hears of it.

    Tests: 003, Section 5.2, robust extension.
    """

    def moody(self: Any, theta: Any, tolerance: float = 1e-9) -> bool:
        if theta[0] > 0.5:
            raise ValueError("no")
        return bool(theta[0] < 0.2)

    monkeypatch.setattr(L2Ball, "contains", moody)
    X = np.zeros((3, P))
    X[:, 0] = (0.1, 0.3, 0.9)
    found = Sketch(P, 8, inside=L2Ball(1.0)).rows(Rows(X, np.ones((3, 1))), ABOUT)
    assert found.Y[:, 0].tolist() == [1.0, 0.0, 0.0]
    assert (found.X[1:] == 0.0).all()
    assert np.linalg.norm(found.X[0]) == pytest.approx(0.1)


def pairs(about: RowFacts, relation: Neighbours) -> Iterator[tuple[Rows, Rows]]:
    """Streams of 12 records that differ in one; extreme, empty and crowded rows included. Absent ones contribute nothing."""
    rng = np.random.default_rng(5)
    for i in range(40):
        common = random_rows(rng, 12, about, extreme=i % 3 == 0)
        common = replace(common, X=common.X * (rng.random(common.X.shape) < 0.15))
        one, other = random_rows(rng, 1, about, extreme=i % 2 == 0), random_rows(rng, 1, about, extreme=i % 2 == 0)
        if i % 4 == 0:
            one = replace(one, X=np.eye(1, about.width, i), Y=np.ones((1, 1)))
            other = replace(one, X=np.eye(1, about.width, (i + 1) % about.width), Y=-one.Y)
        absent = Rows(np.zeros_like(one.X), np.zeros_like(one.Y))
        at = int(rng.integers(12))
        before, after = reordered(common, np.arange(at)), reordered(common, np.arange(at + 1, 12))
        second = other if relation is Neighbours.REPLACE_ONE else absent
        yield join(before, one, after), join(before, second, after)


@pytest.mark.few(12)
@pytest.mark.parametrize("relation", list(Neighbours), ids=str)
@pytest.mark.parametrize("name", SKETCHES)
@pytest.mark.parametrize("kappa", [1.0, 3.0])
def test_sketched_neighbours_lie_no_further_apart_than_the_query_of_the_sketched_facts_states(
    name: str, relation: Neighbours, kappa: float
) -> None:
    """Tests: 003, Algorithm 3."""
    sketch = SKETCHES[name]
    query = plan_stream(
        sketch.facts(ABOUT), relation, 12, Schedule(12, 3), "auto", 1.0, None, target_scale=kappa
    ).priced(1.0)
    farthest = 0.0
    for one, other in pairs(ABOUT, relation):
        there = []
        for table in (one, other):
            seen = sketch.rows(table, ABOUT)
            vectors = StepSums(query.moments, query.step_bound).add(seen, np.array([3, 6, 9, 12], dtype=np.int64))
            there.append(query.strategy.encoder(query.moments.length).encode(vectors))
        farthest = max(farthest, float(np.linalg.norm(there[0] - there[1])))
    assert 0.3 * query.sensitivity < farthest <= query.sensitivity


@pytest.mark.parametrize("kappa", [0.5, 1.0, 3.0])
def test_a_record_replaced_by_nothing_costs_no_more_than_one_replaced_by_another(kappa: float) -> None:
    """‖aaᵀ − 0‖ = ‖a‖² ≤ 1 + κ², and the stated replacement covers it."""
    about = SKETCHES["sparse rows"].facts(ABOUT)
    query = plan_stream(
        about, Neighbours.REPLACE_ONE, 10, Schedule(10, 1), "auto", 1.0, None, target_scale=kappa
    ).priced(1.0)
    assert query.moments.record_sensitivity >= 1.0 + kappa**2


def test_products_of_sparse_rows_are_distorted_no_more_than_gordon_s_theorem_says() -> None:
    """‖Φx‖ within (E‖g_m‖ ∓ (w + t))/√m over all 2-sparse unit x of R^14, t for a failure of 1e-6 over 20 seeds.

    Tests: 003, Theorem 5.1; 003, Corollary 5.2.
    """
    p, m, seeds = 14, 60, 20
    t = math.sqrt(2.0 * math.log(2.0 * seeds / 1e-6))
    width = row_width(math.sqrt(2.0), 1.0, p)
    low, high = np.inf, 0.0
    for seed in range(seeds):
        phi = Sketch(p, m, seed).matrix
        for pair in itertools.combinations(range(p), 2):
            values = np.linalg.svd(phi[:, pair], compute_uv=False)
            low, high = min(low, float(values[-1])), max(high, float(values[0]))
    assert (math.sqrt(m - 0.5) - width - t) / math.sqrt(m) <= low < 0.85
    assert 1.15 < high <= 1.0 + (width + t) / math.sqrt(m)


@pytest.mark.parametrize(("p", "k"), [(200, 5), (1000, 10), (50, 50)])
def test_the_width_of_rows_is_an_upper_bound_and_close(p: int, k: int) -> None:
    g = np.sort(np.abs(np.random.default_rng(0).normal(size=(400, p))), axis=1)[:, -k:]
    exact = float(np.sqrt((g**2).sum(axis=1)).mean())  # of {x : k nonzeros, ‖x‖₂ ≤ 1}
    assert 0.99 * exact < row_width(math.sqrt(k), 1.0, p) < 1.25 * exact
    assert row_width(1.0, 1.0, p) == pytest.approx(hb.L1Ball(1.0).gaussian_width(p).value, rel=0.12)


def test_sizes_do_not_depend_on_units_and_grow_with_width() -> None:
    """Tests: 003, Section 5.2, small widths."""
    sketch = Sketch(P, 1)
    thin = relative_width(ABOUT, L1Ball(1.0), Sketch(P, 1, max_nonzeros=2))
    assert relative_width(ABOUT, L1Ball(7.0), sketch) == pytest.approx(relative_width(ABOUT, L1Ball(1.0), sketch))
    assert thin < relative_width(ABOUT, L1Ball(1.0), sketch)
    assert relative_width(ABOUT, L1Ball(1.0), Sketch(P, 1, inside=L1Ball(1e-3))) < thin
    assert resolved_size(thin, 1000) < resolved_size(20.0, 1000) < paper_size(20.0, 1000) < paper_size(20.0, 8000)
    assert paper_size(20.0, 8000) == pytest.approx(4 * paper_size(20.0, 1000), rel=1e-3)  # T^{2/3}
    assert paper_size(0.0, 1000) > 10**9  # a set of one point: capped at all columns


@pytest.mark.parametrize(
    "changes",
    [{"size": 0}, {"size": True}, {"seed": -1}, {"seed": 1.0}, {"max_nonzeros": 0}, {"columns": "3"}, {"inside": 3}],
    ids=str,
)
def test_what_is_no_sketch_is_refused_in_a_sentence(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=r"Pass (a whole number|for example)"):
        Sketch(**{"columns": 10, "size": 3, **changes})


def test_rows_and_sets_of_other_widths_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="Use the same"):
        Sketch(10, 3).facts(ABOUT)
    with pytest.raises(InvalidParameter, match="Use the same"):
        Sketch(10, 3, inside=hb.Box([0.0] * 4, [1.0] * 4))


def test_a_sparse_matrix_has_the_law_that_it_states() -> None:
    """Each column: s entries ±1/√s at uniform places, so E ΦᵀΦ = I; 20 000 columns, each bound is over 5 standard deviations.

    Tests: 003, Footnote 16.
    """
    phi = Sketch(20_000, 16, 5, column_nonzeros=4).matrix
    assert set(np.unique(np.abs(phi))) == {0.0, 0.5}
    assert ((phi != 0).sum(axis=0) == 4).all()
    assert np.abs((phi != 0).mean(axis=1) - 0.25).max() < 5.5 * math.sqrt(0.25 * 0.75 / 20_000)
    assert np.abs(np.sign(phi).sum(axis=1)).max() < 5.5 * math.sqrt(5_000)


def test_unscaled_rows_are_the_product_itself_until_it_is_too_long() -> None:
    """Tests: 003, Footnote 15."""
    given, bound = rows(intercept=False), ABOUT.norm_l2
    given = replace(given, X=given.X / np.maximum(np.linalg.norm(given.X, axis=1, keepdims=True), 1e-9))
    found, product = Sketch(P, 8, rescaled=False).rows(given, ABOUT).X, given.X @ Sketch(P, 8).matrix.T
    lengths = np.linalg.norm(product, axis=1, keepdims=True)
    assert found == pytest.approx(product * np.minimum(1.0, bound / np.maximum(lengths, 1e-300)), abs=1e-12)
    assert (lengths > bound).any()
    assert (lengths < bound).any()


def test_the_papers_sketch_is_written_as_it_always_was() -> None:
    assert Sketch(10, 3).to_dict() == {"columns": 10, "size": 3, "seed": 0, "max_nonzeros": None, "inside": None}
    assert Sketch(10, 3, rescaled=False, column_nonzeros=2).to_dict()["column_nonzeros"] == 2
