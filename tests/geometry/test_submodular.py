"""Norms of set functions against all subsets of few columns."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import (
    BoundedCardinality,
    Cardinality,
    ConcaveCardinality,
    HasProximalForm,
    SubmodularBall,
    SubmodularPenalty,
    SubmodularPolyhedron,
    dual_omega,
    greedy_vertex,
    measured_width,
    omega,
    penalty_from_text,
    set_from_text,
    set_function_from_dict,
    set_function_from_text,
)
from hullabaloo.geometry.submodular import shapes
from hullabaloo.geometry.submodular.norm import closure, project_polyhedron, prox, singletons
from hullabaloo.geometry.submodular.shapes import polyhedron_width
from tests.geometry.submodular_oracles import apart, exact_projection, exact_prox, functions, subsets, table
from tests.laws import zoo

PRECISION = 2.0**-48
few = pytest.mark.parametrize("function", functions(5), ids=zoo.short)
some = pytest.mark.parametrize("function", functions(8), ids=zoo.short)
p = 5


def vectors(p, seed=0):
    rng = np.random.default_rng(seed)
    ordinary = [
        rng.normal(size=p),
        3.0 * rng.normal(size=p),
        rng.standard_cauchy(p),
        np.round(2.0 * rng.normal(size=p)),
    ]
    return [*ordinary, np.ones(p), np.where(np.arange(p) % 2, 0.0, -2.0)]


@few
def test_set_functions_are_submodular_nondecreasing_and_positive(function):
    """Tests: 001, Equation (3)."""
    values = table(function, p)
    for a, b in itertools.product(values, repeat=2):
        assert values[a] + values[b] - values[a | b] - values[a & b] >= -1e-13
        assert values[a] <= values[a | b] + 1e-13
    assert function.value(np.zeros(p, dtype=bool)) == 0.0
    assert [float(values[frozenset([j])]) for j in range(p)] == pytest.approx(singletons(function, p))
    assert singletons(function, p).min() > 0.0


@some
def test_gains_are_differences_of_values(function):
    order = np.random.default_rng(1).permutation(8)
    values = [function.value(np.isin(np.arange(8), order[:k])) for k in range(9)]
    assert function.gains(order) == pytest.approx(np.diff(values), abs=1e-13)
    assert function.gains(order).min() >= 0.0


@some
def test_the_norm_of_an_indicator_is_the_value(function):
    """Tests: 001, Section 2, Lovász extension."""
    for a in subsets(8):
        assert omega(function, a.astype(float)) == pytest.approx(function.value(a), rel=1e-13)


@few
def test_the_norm_is_the_largest_product_with_the_polyhedron(function):
    """Tests: 001, Equation (5)."""
    vertices = np.empty((math.factorial(p), p))
    for row, order in zip(vertices, itertools.permutations(range(p)), strict=True):
        row[list(order)] = function.gains(np.array(order))
    for a in subsets(p):  # every vertex is in the polyhedron
        assert vertices[:, a].sum(axis=1).max() <= function.value(a) * (1.0 + 1e-13)
    for w in vectors(p):
        s = greedy_vertex(function, w)
        assert omega(function, w) == pytest.approx((vertices @ np.abs(w)).max(), rel=1e-13)
        assert s @ w == pytest.approx(omega(function, w), rel=1e-13)
        assert SubmodularPolyhedron(function, 1.0).contains(s)


@some
def test_the_norm_obeys_the_triangle_inequality(function):
    """Tests: 001, Section 2, Lovász extension."""
    for w, v in itertools.combinations(vectors(8), 2):
        assert omega(function, w + v) <= (omega(function, w) + omega(function, v)) * (1.0 + 1e-13)
        assert omega(function, -2.5 * w) == pytest.approx(2.5 * omega(function, w))


@some
def test_the_dual_norm_is_the_largest_ratio_over_all_sets(function):
    """Tests: 001, Section 2, dual norm."""
    for s in vectors(8):
        ratios = [np.abs(s[a]).sum() / function.value(a) for a in subsets(8)]
        found = dual_omega(function, s)
        assert found.value == pytest.approx(max(ratios), rel=1e-14)
        assert np.abs(s[found.members]).sum() / function.value(found.members) == pytest.approx(max(ratios), rel=1e-14)
        for w in vectors(8, 1):
            assert s @ w <= found.value * omega(function, w) * (1.0 + 1e-13)
    assert dual_omega(function, np.zeros(8)).value == 0.0


@pytest.mark.few(12)
@few
@pytest.mark.parametrize("weight", [0.01, 0.2, 0.7, 5.0])
def test_prox_is_that_of_the_decomposition_over_all_sets(function, weight):
    values = table(function, p)
    precision = PRECISION if isinstance(function, HasProximalForm) else 1e-13
    for v in [*vectors(p), 1e12 * vectors(p)[0]]:
        u = prox(function, v, weight)
        assert apart(u, exact_prox(values, v, weight)) <= precision * np.linalg.norm(v)
        assert SubmodularPenalty(function, 2.0 * weight).prox(v, 0.5).tolist() == u.tolist()


@few
def test_moreau_splits_a_vector_into_prox_and_projection(function):
    """Tests: 001, Section 2, symmetric submodular polyhedron."""
    for v in vectors(p):
        s = project_polyhedron(function, v, 0.4)
        assert s + prox(function, v, 0.4) == pytest.approx(v, abs=1e-13)
        assert dual_omega(function, s).value <= 0.4 * (1.0 + 1e-12)
        u = v - s
        assert u @ s == pytest.approx(0.4 * omega(function, u), rel=1e-10, abs=1e-12)


@pytest.mark.few(10)
@few
@pytest.mark.parametrize("radius", [1e-6, 0.3, 4.0])
def test_projection_onto_the_ball_is_exact(function, radius):
    """Tests: 001, Section 2, unit ball."""
    values = table(function, p)
    body = SubmodularBall(function, radius)
    precision = PRECISION if isinstance(function, HasProximalForm) else 1e-12
    for v in vectors(p):
        if body.contains(v, 0.0):
            continue
        u = body.project(v)
        exact, worst = exact_projection(values, v, u, radius)
        assert worst <= 1e-12 * np.linalg.norm(v)  # the level sets are right
        assert apart(u, exact) <= precision * (np.linalg.norm(v) + body.max_norm(2, p))
        assert body.gauge(u) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.few(5)
@some
def test_vertices_are_indicators_of_closed_sets(function):
    body = SubmodularBall(function, 2.0)
    for g in vectors(8):
        s = body.vertex(g)
        members = s != 0.0
        assert np.abs(s[members]) == pytest.approx(2.0 / function.value(members))
        for j in np.flatnonzero(~members):
            assert function.value(members | (np.arange(8) == j)) > function.value(members)
    for a in subsets(8):
        closed = [function.value(a | (np.arange(8) == j)) == function.value(a) for j in range(8)]
        assert closure(function, a).tolist() == closed


@pytest.mark.few(3)
@some
def test_gaussian_width_of_the_polyhedron_is_that_of_the_mean_over_sets(function):
    """Tests: 001, Section 2, Gaussian width."""
    width, mean = function.gaussian_width(8), polyhedron_width(function, 8)
    assert width.low <= width.value <= width.high
    assert width.value == pytest.approx(mean.value, rel=1e-9)


@pytest.mark.few(4)
@pytest.mark.parametrize("function", functions(8), ids=zoo.short)
def test_bounds_of_widths_and_norms_hold_where_exact_values_are_known(function, monkeypatch):
    """Tests: 001, Section 4.1, widths."""
    exact = polyhedron_width(function, 8)
    ball, polyhedron = shapes.longest_of_ball(function, 8), shapes.longest_of_polyhedron(function, 8)
    largest = max(math.sqrt(np.count_nonzero(a)) / function.value(a) for a in subsets(8))
    assert ball == pytest.approx(largest, rel=1e-14)
    monkeypatch.setattr(shapes, "EVERY_SET", 0)
    bound = polyhedron_width(function, 8)
    assert bound.low <= exact.value <= bound.high <= 4.0 * bound.low
    assert ball <= shapes.longest_of_ball(function, 8) * (1.0 + 1e-14) <= 2.0 * ball
    assert polyhedron <= shapes.longest_of_polyhedron(function, 8) * (1.0 + 1e-14) <= 2.0 * polyhedron


@pytest.mark.parametrize("function", [BoundedCardinality(3), ConcaveCardinality.power(40, 0.5)], ids=zoo.short)
def test_widths_of_balls_are_bounds_that_a_simulation_narrows(function):
    body = SubmodularBall(function, 2.0)
    known = body.gaussian_width(40)
    seen = measured_width(body, 40, generator=np.random.default_rng(0), draws=300)
    assert known.low <= seen.low < seen.value < seen.high <= known.high
    assert seen.high - seen.low < 0.8 * (known.high - known.low)


def test_named_cardinalities_are_the_norms_one_knows():
    w = np.array([3.0, -1.0, 0.5, -2.0])
    assert omega(Cardinality(), w) == 6.5
    assert omega(BoundedCardinality(), w) == 3.0
    assert omega(BoundedCardinality(2), w) == 5.0
    assert omega(ConcaveCardinality([2.0, 1.0, 0.5, 0.0]), w) == 8.5
    assert dual_omega(Cardinality(), w).value == 3.0
    assert dual_omega(BoundedCardinality(), w).value == 6.5
    for exponent in (0.25, 1.0):
        power = ConcaveCardinality.power(9, exponent)
        assert power.value(np.arange(9) < 4) == pytest.approx(4.0**exponent)


def test_cardinalities_refuse_what_they_cannot_be():
    for weights in ([], [1.0, 2.0], [0.0, 0.0], [1.0, -1.0], "12", [math.nan], 3.0):
        with pytest.raises(InvalidParameter):
            ConcaveCardinality(weights)
    for bound in (0, 1.5, True, "2"):
        with pytest.raises(InvalidParameter, match="whole number"):
            BoundedCardinality(bound)
    for exponent in (0.0, 1.5, math.nan):
        with pytest.raises(InvalidParameter):
            ConcaveCardinality.power(3, exponent)
    with pytest.raises(InvalidParameter, match="must be 3"):
        omega(ConcaveCardinality.power(3, 0.5), np.ones(4))
    with pytest.raises(InvalidParameter, match="set function"):
        SubmodularBall(len, 1.0)
    for wrong in (np.full(3, math.nan), np.ones((3, 1)), np.empty(0)):
        for call in (omega, greedy_vertex, dual_omega, lambda f, v: prox(f, v, 1.0)):
            with pytest.raises(InvalidParameter):
                call(BoundedCardinality(2), wrong)


@pytest.mark.parametrize(
    "text",
    ["cardinality", "top;3", "sorted;3,2,1", "intervals", "intervals;4", "cover;0-2;2,3", "tree;-1,0,0", "grid;3,2"],
)
def test_set_functions_have_a_text_and_plain_data(text):
    function = set_function_from_text(text)
    assert set_function_from_dict(function.to_dict()) == function
    assert set_from_text(f"structure:1.5;{text}") == SubmodularBall(function, 1.5)
    assert penalty_from_text(f"structure:0.1;{text}") == SubmodularPenalty(function, 0.1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'' is none of cardinality"),
        ("length", "is none of cardinality"),
        ("top;a", "'a' cannot be read"),
        ("cardinality;3", "'3' cannot be read"),
        ("grid;1,2,3,4", "cannot be read"),
        ("cover;", "cannot be read"),
        ("sorted;1,2", "must fall"),
        ("top;0", "whole number"),
    ],
)
def test_text_that_names_no_set_function_says_why(text, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        set_function_from_text(text)
    with pytest.raises(InvalidParameter):
        set_from_text(f"structure:1;{text}")


@pytest.mark.parametrize("data", [{}, {"kind": "l1"}, {"kind": "cardinality", "bound": 2}])
def test_data_that_describe_no_set_function_are_refused(data):
    with pytest.raises(InvalidParameter):
        set_function_from_dict(data)


@pytest.mark.parametrize("p", [0, -1, 1.5, True, None, math.nan, 10**30])
def test_powers_need_a_whole_number_of_columns(p: Any) -> None:
    with pytest.raises(InvalidParameter, match="whole number from 1"):
        ConcaveCardinality.power(p, 0.5)


@pytest.mark.parametrize("data", [None, 3, [1], {"kind": []}, {"kind": "other"}])
def test_what_describes_no_set_function_is_refused(data: Any) -> None:
    with pytest.raises(InvalidParameter, match="set function"):
        set_function_from_dict(data)
