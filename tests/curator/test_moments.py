"""The moments query: answer, sensitivity on real neighbours, exactness, and the map to isometric coordinates."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

from hullabaloo.curator import MomentsQuery
from hullabaloo.curator.moments import symmetric
from hullabaloo.curator.second_moments import SecondMomentsQuery
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.privacy import Neighbours
from tests.curator.neighbours import facts, pairs, random_rows

RELATIONS = [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE]
TABLES = {
    "p1": facts(1),
    "p6": facts(6),
    "ball": facts(20, norm_l2=1.0),
    "wide-ball": facts(4, norm_l2=10.0),
    "three-targets": facts(4, 3),
    "weights": facts(4, max_weight=3.0),
    "small-weights": facts(4, max_weight=0.1),
    "units": facts(4, unit=3),
}


def query(
    about: RowFacts, relation: Neighbours, *, mu: float = 0.5, kappa: float = 1.0, records: int = 20
) -> MomentsQuery:
    return MomentsQuery(about, relation, records, 1, mu, kappa)


@pytest.mark.parametrize("kappa", [0.2, 1.0, 1.3, 3.0])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.few(20)
def test_no_neighbour_moves_the_moments_by_more_than_the_sensitivity(
    name: str, relation: Neighbours, kappa: float
) -> None:
    about, rng = TABLES[name], np.random.default_rng(8)
    asked = query(about, relation, kappa=kappa)
    for left, right in pairs(rng, relation, about, rounds=60):
        assert np.linalg.norm(asked.exact(left) - asked.exact(right)) <= asked.sensitivity
    second = SecondMomentsQuery(about, relation, 20, 1, 0.5)
    for left, right in pairs(rng, relation, about, rounds=60):
        moved = np.linalg.norm(second.exact(left) - second.exact(right))
        assert moved <= second.sensitivity


@pytest.mark.few(1)
@pytest.mark.parametrize("kappa", [0.05, 0.5, 1.0, 1.2, 1.5, 2.0, 4.0, 20.0])
@pytest.mark.parametrize("p", [1, 2, 5])
def test_the_replace_one_bound_is_never_exceeded_by_a_search_for_the_worst_pair(kappa: float, p: int) -> None:
    """‖aaᵀ − bbᵀ‖_F over ‖x‖₂, |y| ≤ 1, from many starts with coordinate steps: the claim in the docstring."""
    rng = np.random.default_rng(9)
    bound = query(facts(p, norm_l2=1.0), Neighbours.REPLACE_ONE, kappa=kappa).record_sensitivity

    def distance(v: np.ndarray) -> np.ndarray:
        x, z = v[:, :p], v[:, p + 1 : 2 * p + 1]
        x = x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True))
        z = z / np.maximum(1.0, np.linalg.norm(z, axis=1, keepdims=True))
        a = np.column_stack([x, kappa * np.clip(v[:, p], -1, 1)])
        b = np.column_stack([z, kappa * np.clip(v[:, -1], -1, 1)])
        na, nb, ab = (a * a).sum(1), (b * b).sum(1), (a * b).sum(1)
        return np.sqrt(np.maximum(na**2 + nb**2 - 2 * ab**2, 0.0))

    points = rng.normal(size=(4000, 2 * p + 2))
    best = distance(points)
    scale = 1.0
    for _ in range(300):
        trial = points + scale * rng.normal(size=points.shape) * (rng.random(points.shape) < 0.5)
        value = distance(trial)
        better = value > best
        points[better], best[better] = trial[better], value[better]
        scale = max(0.98 * scale, 1e-3)
    assert best.max() <= bound
    if p > 1:
        assert best.max() >= 0.97 * bound


def test_noisy_sums_are_exact_sums_of_quantised_rows() -> None:
    """Whatever BLAS does, the block products are exact: the answer equals big-integer arithmetic on the lattice."""
    rng = np.random.default_rng(10)
    about = facts(3)
    rows = random_rows(rng, 5000, about)
    asked = query(about, Neighbours.ADD_OR_REMOVE, records=5000)
    cells = np.rint(np.ldexp(np.column_stack([rows.X, rows.Y]), -asked.exponent)).astype(np.int64).astype(object)
    exact = (cells.T @ cells).astype(float) * 2.0 ** (2 * asked.exponent)
    found = symmetric(asked.exact(rows), 4) / (asked.scales[:, None] * asked.scales[None, :])
    assert found == pytest.approx(exact, rel=1e-15)


def test_bits_do_not_depend_on_the_order_of_records() -> None:
    rng = np.random.default_rng(11)
    about = facts(8, 2, max_weight=2.0)
    rows = random_rows(rng, 7001, about)
    assert rows.weight is not None
    asked = query(about, Neighbours.ADD_OR_REMOVE, records=7001)
    order = rng.permutation(7001)
    moved = Rows(rows.X[order], rows.Y[order], rows.weight[order])
    assert asked.exact(rows).tobytes() == asked.exact(moved).tobytes()


def test_bits_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    about = facts(3, max_weight=2.0)
    rows = random_rows(np.random.default_rng(16), 50_000, about)
    asked = query(about, Neighbours.ADD_OR_REMOVE, records=50_000)
    threaded = asked.exact(rows)
    monkeypatch.setattr("hullabaloo.curator.moments._MANY", 10**9)
    assert asked.exact(rows).tobytes() == threaded.tobytes()


def test_without_noise_the_answer_is_the_plain_gram_matrix() -> None:
    rng = np.random.default_rng(12)
    about = facts(5)
    rows = random_rows(rng, 300, about)
    asked = query(about, Neighbours.REPLACE_ONE, mu=math.inf)
    A = np.column_stack([rows.X / about.norm_l2, rows.Y])
    assert symmetric(asked.exact(rows), 6) == pytest.approx(A.T @ A, rel=1e-12)


def test_sparse_rows_give_the_answer_of_dense_rows() -> None:
    rng = np.random.default_rng(13)
    about = facts(25, norm_l2=1.0)
    rows = random_rows(rng, 5000, about)
    X = rows.X * (rng.random(rows.X.shape) < 0.1)
    for relation in RELATIONS:
        asked = query(about, relation, records=5000)
        dense = asked.exact(Rows(X, rows.Y))
        assert asked.exact(Rows(sp.csr_array(X), rows.Y)).tobytes() == dense.tobytes()


def test_isometric_coordinates_preserve_the_frobenius_norm() -> None:
    rng = np.random.default_rng(14)
    coordinates = rng.normal(size=15)
    assert np.linalg.norm(symmetric(coordinates, 5)) == pytest.approx(np.linalg.norm(coordinates))


def test_the_event_stays_within_the_price() -> None:
    for p in (1, 50, 400):
        for mu in (1e-3, 0.2367, 3.0):
            asked = query(facts(p), Neighbours.ADD_OR_REMOVE, mu=mu, records=10**6)
            spent = asked.event.gdp_mu()
            assert spent is not None
            assert mu * (1.0 - 1e-3) <= spent <= mu * (1.0 + 1e-15)
