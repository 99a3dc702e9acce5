"""The greedy point in its own form against the walk along the gains, and inside |P|(F) for all subsets."""

from itertools import pairwise

import numpy as np
import pytest

from hullabaloo.geometry import (
    BoundedCardinality,
    Cardinality,
    ConcaveCardinality,
    GroupCover,
    HasGreedyForm,
    Intervals,
    SetFunction,
    TreeCover,
    greedy_vertex,
    omega,
)
from tests.geometry.cover_oracles import subsets

SIZES = [1, 2, 3, 5, 8, 31, 200]
FAMILIES = ["cardinality", "bounded", "disjoint", "nested", "crossing", "grid", "tree", "chain", "intervals"]


def member(family: str, p: int, rng: np.random.Generator) -> SetFunction:
    if family in ("chain", "tree"):
        return tree(family, p, rng)
    if family in ("disjoint", "nested", "crossing"):
        return cover(family, p, rng)
    return {
        "cardinality": Cardinality(),
        "bounded": BoundedCardinality(int(rng.integers(1, p + 2))),
        "intervals": Intervals(),
        "grid": GroupCover.grid(1, p) if p < 4 else GroupCover.grid(2, p // 2, 2),
    }[family]


def tree(family: str, p: int, rng: np.random.Generator) -> TreeCover:
    columns = rng.permutation(p).tolist()
    if family == "chain":
        up = dict(zip(columns, [-1, *columns], strict=False))
    else:
        up = {j: columns[rng.integers(k)] if k and rng.random() < 0.9 else -1 for k, j in enumerate(columns)}
    return TreeCover([up[j] for j in range(p)], rng.random(p) + 0.1)


def cover(family: str, p: int, rng: np.random.Generator) -> GroupCover:
    columns = rng.permutation(p).tolist()
    cuts = [0, *np.unique(rng.integers(0, p, p // 3)).tolist(), p]
    groups = [columns[a:b] for a, b in pairwise(cuts) if a < b]
    if family == "nested":
        groups += [columns, *(group[1:] for group in groups if len(group) > 1)]
    if family == "crossing":
        groups += [rng.choice(p, rng.integers(1, p + 1), replace=False).tolist() for _ in range(p)]
    order = rng.permutation(len(groups))
    return GroupCover([groups[i] for i in order], rng.random(len(groups)) + 0.1)


def vectors(p: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Vectors with and without ties, zeros and negative zeros, of all scales, and one that is no block of memory."""
    steps = np.round(2.0 * rng.normal(size=p))  # holds −0.0 from p = 5 or so on
    return [
        rng.normal(size=p),
        steps,
        np.where(rng.random(p) < 0.7, -0.0, rng.choice([-1.0, 1.0], p)),
        np.zeros(p),
        np.full(p, -0.0),
        np.full(p, -3.0),
        rng.normal(size=p) * 2.0 ** rng.integers(-1000, 1000, p),
        rng.normal(size=2 * p)[::-2],
    ]


def along_the_gains(function: SetFunction, w: np.ndarray) -> np.ndarray:
    order = np.argsort(-np.abs(w), kind="stable")
    s = np.empty(w.size)
    s[order] = function.gains(order)
    return np.where(w < 0.0, -s, s)


@pytest.mark.few(8)
@pytest.mark.parametrize("p", SIZES)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_greedy_form_is_the_walk_along_the_gains(family: str, p: int) -> None:
    rng = np.random.default_rng(p)
    for _ in range(6):
        function = member(family, p, rng)
        for w in vectors(function.dimension or p, rng):
            expected, before = along_the_gains(function, w), w.copy()
            s = greedy_vertex(function, w)
            assert s.tobytes() == np.asarray(expected).tobytes()  # to the last bit, the signs of zeros with it
            assert w.tobytes() == before.tobytes()
            size = np.abs(w)
            if isinstance(function, HasGreedyForm):
                assert np.array_equal(function.greedy(size), np.abs(expected))
                assert np.array_equal(size, np.abs(w))
            assert omega(function, w) == pytest.approx(float(np.abs(expected) @ np.abs(w)), rel=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_greedy_form_is_a_vertex_of_the_polyhedron_that_reaches_the_norm(family: str) -> None:
    """Tests: 001, Equation (5)."""
    rng = np.random.default_rng(11)
    for p in (1, 2, 4, 8):
        function = member(family, p, rng)
        sets = subsets(p)
        value = np.array([function.value(a) for a in sets])
        for w in vectors(p, rng):
            s = greedy_vertex(function, w)
            room = value - sets @ np.abs(s)
            assert room.min() >= -1e-13 * value[-1]
            assert room[-1] == pytest.approx(0.0, abs=1e-13 * value[-1])  # a point of the base,
            levels = np.abs(w)[:, None] <= np.abs(w)  # tight on {|w| ≥ t} for every t
            tight = [np.abs(s)[a].sum() for a in levels]
            assert tight == pytest.approx([function.value(a) for a in levels], rel=1e-13)
            assert float(s @ w) == pytest.approx(omega(function, w), rel=1e-13)


def test_ties_and_zeros_by_hand() -> None:
    assert list(greedy_vertex(GroupCover([[2, 1], [1, 0], [0]], [1.0, 2.0, 4.0]), [0.0, -1.0, 1.0])) == [4.0, -3.0, 0.0]
    assert list(greedy_vertex(TreeCover([-1, 0, 0, 1], [1.0, 2.0, 4.0, 8.0]), [0.0, 0.0, 5.0, -5.0])) == [0, 0, 5, -10]
    assert list(greedy_vertex(Intervals(), [0.0, 2.0, 1.0, -2.0, 1.0])) == [1.0, 5.0, 0.0, -2.0, 1.0]
    assert list(greedy_vertex(BoundedCardinality(2), [1.0, -2.0, 1.0, 1.0])) == [1.0, -1.0, 0.0, 0.0]


def test_functions_without_the_form_walk_along_the_gains() -> None:
    rng = np.random.default_rng(5)
    for p in SIZES:
        function = ConcaveCardinality.power(p, 0.5)
        assert not isinstance(function, HasGreedyForm)
        for w in vectors(p, rng):
            assert greedy_vertex(function, w).tobytes() == along_the_gains(function, w).tobytes()


def test_a_form_of_its_own_is_among_those_compared() -> None:
    rng = np.random.default_rng(0)
    assert any(isinstance(member(family, 6, rng), HasGreedyForm) for family in FAMILIES)
