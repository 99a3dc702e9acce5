"""Covers by groups: nested, crossing, on trees and grids, against all subsets in rational arithmetic."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import GroupCover, HasProximalForm, SetFunction, TreeCover, set_function_from_dict
from hullabaloo.geometry.submodular.flow_kernels import cover_prox
from hullabaloo.geometry.width import expected_largest_magnitude
from tests.geometry.cover_oracles import (
    PRECISION,
    assert_optimal,
    assert_structured,
    distance,
    lovasz,
    rational_prox,
    subsets,
    vectors,
    weights_for,
)

NAMED: dict[str, SetFunction] = {
    "disjoint": GroupCover([[0, 3], [1], [2, 4]], [1.0, 2.0, 0.5]),
    "nested": GroupCover([[0, 1, 2, 3, 4], [0, 1], [3], [3, 4]], [0.5, 1.0, 2.0, 0.25]),
    "twice": GroupCover([[0, 1], [1, 0], [0, 1, 2]]),
    "crossing": GroupCover([[0, 1, 2], [1, 2, 3], [3, 4], [4, 0]], [1.0, 0.3, 2.0, 0.7]),
    "tree": GroupCover.tree([-1, 0, 0, 1, 1, -1], [1.0, 2.0, 0.5, 1.0, 3.0, 0.1]),
    "half-planes": GroupCover.grid(2, 3),
    "windows": GroupCover.grid(3, 3, 2),
    "one": GroupCover([[0]]),
}


def groups_of(function: SetFunction) -> tuple[list[list[int]], list[float]]:
    if isinstance(function, TreeCover):
        up = function.parents
        below: list[list[int]] = [[] for _ in up]
        for j in range(len(up)):
            k = j
            while k >= 0:
                below[k].append(j)
                k = up[k]
        return below, list(function.weights or ())
    assert isinstance(function, GroupCover)
    return [list(group) for group in function.groups], list(function.weights or ())


def random_cover(p: int, rng: np.random.Generator) -> GroupCover:
    groups = [sorted(rng.choice(p, rng.integers(1, p + 1), replace=False).tolist()) for _ in range(rng.integers(1, 9))]
    held = {column for group in groups for column in group}
    groups += [[j] for j in range(p) if j not in held]
    weights = [np.ones(len(groups)), rng.random(len(groups)) + 0.01, np.exp(5.0 * rng.normal(size=len(groups)))]
    return GroupCover(groups, weights[rng.integers(3)])


def random_parents(p: int, rng: np.random.Generator) -> list[int]:
    named = rng.permutation(p).tolist()
    parents = [-1] * p
    for j in range(1, p):
        k = int(rng.integers(-1, j))
        parents[named[j]] = named[k] if k >= 0 else -1
    return parents


@pytest.mark.parametrize("name", NAMED)
def test_covers_are_submodular_and_their_gains_are_steps(name: str) -> None:
    function = NAMED[name]
    assert function.dimension is not None
    assert_structured(function, function.dimension, np.random.default_rng(0))


@pytest.mark.parametrize("name", NAMED)
def test_the_norm_is_the_sum_of_largest_magnitudes(name: str) -> None:
    function, rng = NAMED[name], np.random.default_rng(1)
    p = function.dimension or 0
    groups, weights = groups_of(function)
    for members in subsets(p):
        met = sum(d for d, group in zip(weights, groups, strict=True) if members[group].any())
        assert function.value(members) == pytest.approx(met, rel=1e-14)
    for _ in range(20):
        w = rng.normal(size=p)
        closed = sum(d * np.abs(w[group]).max() for d, group in zip(weights, groups, strict=True))
        order = np.argsort(-np.abs(w))
        assert float(np.abs(w)[order] @ function.gains(order)) == pytest.approx(closed, rel=1e-13)
        assert lovasz(function, w) == pytest.approx(closed, rel=1e-13)


@pytest.mark.parametrize("name", NAMED)
def test_the_prox_satisfies_the_optimality_conditions_on_all_subsets(name: str) -> None:
    function, rng = NAMED[name], np.random.default_rng(2)
    assert isinstance(function, HasProximalForm)
    sets = subsets(function.dimension or 0)
    for _ in range(10):
        v = rng.normal(size=function.dimension)
        assert_optimal(function, v, float(10.0 ** rng.uniform(-2.0, 0.5)), sets)


def worst_distance(function: SetFunction, rng: np.random.Generator, cases: int) -> float:
    groups, weights = groups_of(function)
    assert isinstance(function, HasProximalForm)
    worst = 0.0
    for _ in range(cases):
        v = vectors(function.dimension or 0, rng)
        weight = weights_for(v, rng)
        charges = [Fraction(weight) * Fraction(d) for d in weights]
        worst = max(worst, distance(function.prox(v, weight), rational_prox(groups, charges, v), v))
    return worst


def test_the_prox_of_any_cover_is_exact_to_the_last_digits() -> None:
    rng = np.random.default_rng(3)
    kinds = set()
    for _ in range(250):
        cover = random_cover(int(rng.integers(1, 7)), rng)
        kinds.add(cover.forest is None)
        assert worst_distance(cover, rng, 2) <= PRECISION
    assert kinds == {True, False}


def test_the_prox_of_any_tree_is_exact_to_the_last_digits() -> None:
    rng = np.random.default_rng(4)
    for _ in range(150):
        p = int(rng.integers(1, 8))
        assert worst_distance(TreeCover(random_parents(p, rng), rng.random(p) + 0.01), rng, 2) <= PRECISION


@pytest.mark.slow
def test_the_prox_is_exact_in_thousands_of_covers() -> None:
    rng = np.random.default_rng(5)
    for _ in range(4000):
        assert worst_distance(random_cover(int(rng.integers(1, 8)), rng), rng, 2) <= PRECISION


@pytest.mark.few(2)
@pytest.mark.parametrize(("p", "kind"), [(40, "random"), (300, "random"), (300, "chain"), (2000, "random")])
def test_minimum_cuts_and_heaps_agree_on_trees(p: int, kind: str) -> None:
    """The same solution by two algorithms that share only the sums of a block."""
    rng = np.random.default_rng(6)
    for _ in range(4):
        parents = random_parents(p, rng) if kind == "random" else [*range(1, p), -1]
        tree = TreeCover(parents, rng.random(p) + 0.01)
        groups, weights = groups_of(tree)
        assert GroupCover(groups, weights).forest is not None
        start = np.concatenate([[0], np.cumsum([len(group) for group in groups])])
        a = np.abs(vectors(p, rng))
        a = np.where(a > 0.0, a / a.max(), 0.0) if a.any() else a + 1.0
        for weight in 10.0 ** rng.uniform(-4.0, -0.5, 4):
            entries = np.concatenate([np.array(group) for group in groups])
            by_cuts = cover_prox(a, weight * np.array(weights), start, entries)
            assert np.linalg.norm(by_cuts - tree.prox(a, weight)) <= PRECISION * np.linalg.norm(a)
            assert np.abs(tree.prox(a, weight) - GroupCover(groups, weights).prox(a, weight)).max() <= PRECISION


def test_a_deep_chain_inherits_no_rounding() -> None:
    """A hundred equal leaves below a chain: every group on the way up charges the same block once more."""
    leaves, depth = 100, 20_000
    parents = [leaves + depth - 1] * leaves + [-1, *range(leaves, leaves + depth - 1)]
    tree = TreeCover(parents, [1e-9] * leaves + [1e-3] * depth)
    v = np.where(np.arange(leaves + depth) < leaves, 1.0 / 3.0, 0.0)
    exact = Fraction(1.0 / 3.0) - Fraction(1e-9) - depth * Fraction(1e-3) / leaves
    u = tree.prox(v, 1.0)
    assert not u[leaves:].any()
    assert max(abs(float(Fraction(float(x)) - exact)) for x in u[:leaves]) <= 2.0**-53


@pytest.mark.parametrize(("rows", "window"), [(12, 3), (12, None), (30, 2)])
def test_grids_of_many_pixels_satisfy_the_optimality_conditions(rows: int, window: int | None) -> None:
    """v − u is feasible on all level sets of u, on all groups' columns and on random sets, and tight."""
    rng = np.random.default_rng(7)
    cover = GroupCover.grid(rows, rows, window)
    for weight in (1e-3, 0.02, 0.1):
        v = np.round(rng.normal(size=rows * rows), 2)
        u = cover.prox(v, weight)
        sets = [np.abs(u) >= level for level in np.unique(np.abs(u))[::7]]
        sets += [np.isin(np.arange(v.size), group) for group in cover.groups[::5]]
        sets += [np.abs(v - u) > level for level in np.linspace(0.0, 1.0, 20)]
        sets += [rng.random(v.size) < share for share in np.linspace(0.0, 1.0, 20)]
        assert_optimal(cover, v, weight, np.array(sets))


@pytest.mark.parametrize(("p", "longest", "count"), [(300, 8, 150), (1000, 40, 300), (2000, 1500, 30)])
def test_crossing_groups_in_another_order_and_on_another_scale_give_the_same_digits(
    p: int, longest: int, count: int
) -> None:
    """Other cuts among equals, other roundings; too many columns for all subsets."""
    rng = np.random.default_rng(8)
    for _ in range(4):
        groups = [rng.choice(p, int(rng.integers(2, longest + 1)), replace=False) for _ in range(count)]
        groups += [np.array([j]) for j in np.setdiff1d(np.arange(p), np.concatenate(groups))]
        weights = [np.ones(len(groups)), np.exp(4.0 * rng.normal(size=len(groups)))][rng.integers(2)]
        columns, turn = rng.permutation(p), rng.permutation(len(groups))
        place = np.argsort(columns)
        cover, other = GroupCover(groups, weights), GroupCover([place[groups[g]] for g in turn], weights[turn])
        assert cover.forest is None
        v = vectors(p, rng)
        v = v / (np.abs(v).max() or 1.0)
        for weight in 10.0 ** rng.uniform(-5.0, 0.0, 3):
            u = cover.prox(v, weight)
            slack = PRECISION * np.linalg.norm(v)
            assert np.linalg.norm(other.prox(v[columns], weight) - u[columns]) <= slack
            assert np.linalg.norm(cover.prox(3.0 * v, 3.0 * weight) / 3.0 - u) <= slack


def test_nothing_and_too_much() -> None:
    for function in NAMED.values():
        p = function.dimension or 0
        assert isinstance(function, HasProximalForm)
        v = np.arange(1.0, p + 1.0)
        v[::2] *= -1.0
        assert list(function.prox(v, 0.0)) == list(v)
        assert function.prox(v, 0.0) is not v
        for weight in (1e6, 1e300):
            gone = function.prox(v, weight)
            assert not gone.any()
            assert not np.signbit(gone).any()
        assert not function.prox(np.zeros(p), 1.0).any()
        tiny = function.prox(v * 2.0**-1040, 0.0625 * 2.0**-1040)
        assert list(tiny * 2.0**1000 * 2.0**40) == pytest.approx(list(function.prox(v, 0.0625)), rel=1e-9)
        with pytest.raises(InvalidParameter, match="the set has"):
            function.prox(np.ones(p + 1), 1.0)
        with pytest.raises(InvalidParameter, match="not be negative"):
            function.prox(v, -1.0)


def test_widths_are_sums_of_expected_largest_magnitudes() -> None:
    for function in NAMED.values():
        groups, weights = groups_of(function)
        exact = sum(d * expected_largest_magnitude(len(group)) for d, group in zip(weights, groups, strict=True))
        width = function.gaussian_width(function.dimension or 0)
        assert width.value == pytest.approx(exact, rel=1e-12)
        assert width.low <= exact <= width.high
    chain = GroupCover.tree([-1, *range(2999)])
    exact = math.fsum(expected_largest_magnitude(k) for k in range(1, 3001))
    assert chain.gaussian_width(3000).value == pytest.approx(exact, rel=1e-12)
    with pytest.raises(InvalidParameter, match="must be 3000"):
        chain.gaussian_width(10)


def test_trees_favour_tops_and_grids_favour_patches() -> None:
    tree = GroupCover.tree([-1, 0, 0, 1, 1])
    leaf, path = np.arange(5) == 3, np.isin(np.arange(5), [0, 1, 3])
    assert tree.value(leaf) == tree.value(path) == 3.0  # what stands above comes for free
    plane = GroupCover.grid(4, 5)
    grid = np.arange(20).reshape(4, 5)
    for top, bottom, left, right in [(0, 0, 0, 0), (1, 2, 1, 3), (0, 3, 0, 4)]:
        rectangle = np.isin(np.arange(20), grid[top : bottom + 1, left : right + 1])
        assert plane.value(rectangle) == 4 + 5 - 3 + (bottom - top + 1) + (right - left + 1)
        corners = np.isin(np.arange(20), [grid[top, left], grid[bottom, right]])
        assert plane.value(corners) == plane.value(rectangle)
    squares = GroupCover.grid(10, 10, 3)
    assert len(squares.groups) == 144
    corner = np.arange(100) == 0
    assert squares.value(corner) == 9.0  # windows are cut off at the border: no pixel is cheaper than others
    assert GroupCover.grid(1, 5, 3).groups == ((0,), (0, 1), (0, 1, 2), (1, 2, 3), (2, 3, 4), (3, 4), (4,))
    inside = np.zeros((10, 10), dtype=bool)
    inside[4, 4] = True
    assert squares.value(inside.ravel()) == 9.0
    inside[4, 5] = True
    together = squares.value(inside.ravel())
    inside[4, 5], inside[8, 8] = False, True
    assert together == 12.0 < squares.value(inside.ravel())


def test_faults_are_explained() -> None:
    for groups, message in [
        ([[0, 1], [3]], "Column 2 is in no group"),
        ([[0, 1, 0]], "column 0 twice"),
        ([[0], []], "Group 1 must be a list"),
        ([[0], [True]], "Group 1 holds True"),
        ([[0], [-1]], "Group 1 holds -1"),
        ([[0.5]], r"Group 0 holds 0\.5"),
        ([], "list of lists"),
        ("01", "list of lists"),
        ([0, 1], "Group 0 must be a list"),
    ]:
        with pytest.raises(InvalidParameter, match=message):
            GroupCover(groups)  # type: ignore[arg-type]
    for weights, message in [
        ([1.0], "one positive number for each of its 2 groups"),
        ([1.0, 0.0], "above 0"),
        ([1.0, math.inf], "finite"),
        ([1e308, 1e308], "more than a float can hold"),
        (2.0, "one positive number for each"),
    ]:
        with pytest.raises(InvalidParameter, match=message):
            GroupCover([[0], [1]], weights)  # type: ignore[arg-type]
    for parents, message in [
        ([1, 0], "go round in a circle"),
        ([0], "go round in a circle"),
        ([-1, 2], "from 0 to 1"),
        ([-2], "from 0 to 0"),
        ([], "must be a list"),
        ([-1, 0.0], "whole numbers"),
    ]:
        with pytest.raises(InvalidParameter, match=message):
            GroupCover.tree(parents)  # type: ignore[arg-type]
    for shape, message in [((0, 2), "rows of a grid"), ((2, 2.5), "columns of a grid"), ((2, 3, 4), "does not fit")]:
        with pytest.raises(InvalidParameter, match=message):
            GroupCover.grid(*shape)  # type: ignore[arg-type]


def test_covers_are_plain_data() -> None:
    for function in NAMED.values():
        again = set_function_from_dict(function.to_dict())
        assert again == function
        assert hash(again) == hash(function)
        copy = pickle.loads(pickle.dumps(function))
        assert copy == function
        assert list(copy.gains(np.arange(function.dimension or 0))) == list(
            function.gains(np.arange(function.dimension or 0))
        )
    assert GroupCover([[1, 0], [2]]) == GroupCover([np.array([0, 1]), [2]], np.ones(2))
    assert GroupCover([[0, 1]]) != GroupCover([[0, 1]], [2.0])
    assert GroupCover([[0, 1]]).to_dict() == {"kind": "group-cover", "groups": [[0, 1]], "weights": [1.0]}


def test_a_hundred_thousand_columns_are_held() -> None:
    p = 100_000
    groups = [list(range(j, min(j + 2, p))) for j in range(p)]
    cover = GroupCover(groups)
    assert cover.forest is None
    assert cover.value(np.arange(p) == 5) == 2.0
