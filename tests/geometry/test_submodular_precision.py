"""Proxes and projections of sorted norms for many columns, against sums in twice the digits."""

import itertools
import math
import operator
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hullabaloo.geometry import (
    BoundedCardinality,
    ConcaveCardinality,
    GroupCover,
    SubmodularBall,
    SubmodularPolyhedron,
)
from hullabaloo.geometry.submodular.isotonic_kernels import falling_fit, falling_projection
from hullabaloo.geometry.submodular.norm import omega
from hullabaloo.geometry.width import expected_largest_magnitude, expected_sorted_sum

PRECISION = 2.0**-48


def pooled(y):
    """The falling vector nearest to y, by min-max of means of blocks, as block ends: exact sums (math.fsum)."""
    ends, sums = [], []
    for k, value in enumerate(y):
        ends.append(k + 1)
        sums.append([value])
        while len(sums) > 1:
            lengths = [ends[-2] - (ends[-3] if len(ends) > 2 else 0), ends[-1] - ends[-2]]
            if math.fsum(sums[-2]) * lengths[1] > math.fsum(sums[-1]) * lengths[0]:
                break
            sums[-2] += sums[-1]
            ends[-2] = ends[-1]
            del sums[-1], ends[-1]
    starts = [0, *ends[:-1]]
    return np.concatenate([np.full(b - a, math.fsum(s) / (b - a)) for a, b, s in zip(starts, ends, sums, strict=True)])


FUNCTIONS = [
    BoundedCardinality(40),
    ConcaveCardinality.power(3000, 0.5),
    ConcaveCardinality(tuple(np.arange(3000, 0, -1) / 3000.0)),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=["bounded", "root", "linear"])
@pytest.mark.parametrize("weight", [1e-3, 0.4, 30.0])
def test_prox_of_many_columns_is_right_to_the_last_digits(function, weight):
    v = np.random.default_rng(0).normal(size=3000)
    order = np.argsort(-np.abs(v))
    u = np.empty(3000)
    u[order] = np.maximum(0.0, pooled(np.abs(v)[order] - weight * function.steps(3000)))
    assert np.linalg.norm(function.prox(v, weight) - np.copysign(u, v)) <= PRECISION * np.linalg.norm(v)


def test_long_blocks_keep_their_digits():
    n = 100_000
    t = np.full(n, 0.1)
    t[0] = 0.1 + 1e-9  # pooled with the others by the gain of the first
    gains = np.zeros(n)
    gains[0] = 1.0
    fitted = falling_fit(t, gains, 0.5)
    expected = math.fsum([*t, -0.5]) / n
    assert np.abs(fitted - expected).max() <= 4e-16 * expected


@pytest.mark.parametrize("function", FUNCTIONS, ids=["bounded", "root", "linear"])
@pytest.mark.parametrize("radius", [1e-3, 1.0, 30.0])
def test_projection_of_many_columns_is_right_to_the_last_digits(function, radius):
    v = np.random.default_rng(1).normal(size=3000)
    body = SubmodularBall(function, radius)
    size = np.sort(np.abs(v))[::-1]
    u, steps = np.sort(np.abs(body.project(v)))[::-1], function.steps(3000)
    assert omega(function, u) == pytest.approx(radius, rel=1e-14)
    ends = [*(np.flatnonzero(np.diff(u)) + 1).tolist(), *([3000] if u[-1] > 0.0 else [])]
    blocks = list(zip([0, *ends[:-1]], ends, strict=True))
    total = [sum(map(Fraction, size[a:b].tolist())) for a, b in blocks]
    price = [sum(map(Fraction, steps[a:b].tolist())) for a, b in blocks]
    share = [d / (b - a) for d, (a, b) in zip(price, blocks, strict=True)]
    tau = (sum(map(operator.mul, share, total)) - Fraction(radius)) / sum(map(operator.mul, share, price))
    levels = [(t - tau * d) / (b - a) for t, d, (a, b) in zip(total, price, blocks, strict=True)]
    assert all(x > y for x, y in itertools.pairwise([*levels, Fraction(0)]))
    exact = np.concatenate(
        [*(np.full(b - a, float(x)) for x, (a, b) in zip(levels, blocks, strict=True)), u[ends[-1] :]]
    )
    assert np.linalg.norm(exact - u) <= PRECISION * (np.linalg.norm(v) + body.max_norm(2, 3000))
    rest = size - float(tau) * steps - exact  # optimal: no first part of a block, nor of the zeros, is above its level
    for a, b in itertools.pairwise([0, *ends, 3000]):
        assert np.cumsum(rest[a:b]).max(initial=0.0) <= 1e-11


@pytest.mark.parametrize("function", FUNCTIONS, ids=["bounded", "root", "linear"])
def test_far_vectors_are_projected_into_the_set(function):
    rng = np.random.default_rng(2)
    for v in (1e200 * rng.normal(size=3000), 1e300 * np.round(2.0 * rng.normal(size=3000))):
        body = SubmodularBall(function, 0.7)
        u = body.project(v)
        assert body.gauge(u) == pytest.approx(1.0, rel=1e-12)
        assert body.support(v) == pytest.approx(float(u @ v), rel=1e-12)
        polyhedron = SubmodularPolyhedron(function, 0.7)
        s = polyhedron.project(v)
        assert polyhedron.gauge(s) == pytest.approx(1.0, rel=1e-9)
        assert polyhedron.support(v) == pytest.approx(float(s @ v), rel=1e-12)


def test_a_projection_gives_its_multiplier():
    t, gains = np.array([5.0, 4.0, 1.0]), np.array([2.0, 1.0, 0.5])
    u, tau = falling_projection(t, gains, 3.0)
    assert u == pytest.approx(np.maximum(0.0, falling_fit(t, gains, tau)), rel=1e-14)
    assert u @ gains == pytest.approx(3.0, rel=1e-15)


@pytest.mark.few(2)
@pytest.mark.parametrize("p", [1, 2, 5, 40, 3000])
def test_expected_sums_of_sorted_magnitudes(p):
    first = np.zeros(p)
    first[0] = 1.0
    assert expected_sorted_sum(first) == pytest.approx(expected_largest_magnitude(p), rel=1e-12)
    assert expected_sorted_sum(np.ones(p)) == pytest.approx(p * math.sqrt(2.0 / math.pi), rel=1e-12)


@pytest.mark.few(1)
@pytest.mark.parametrize(("k", "p"), [(2, 3), (3, 8), (30, 40)])
def test_expected_order_statistics_agree_with_forty_digits(k, p):
    steps = np.zeros(p)
    steps[k - 1] = 1.0
    with mpmath.workdps(30):

        def density(t):
            below, at = mpmath.erf(t / mpmath.sqrt(2)), mpmath.sqrt(2 / mpmath.pi) * mpmath.exp(-t * t / 2)
            return t * k * mpmath.binomial(p, k) * below ** (p - k) * (1 - below) ** (k - 1) * at

        assert expected_sorted_sum(steps) == pytest.approx(float(mpmath.quad(density, [0, 0.5, 1, 2, 4, 9])), rel=1e-11)


@pytest.mark.parametrize("power", [1, 2, 3, 4, 6, 8, 20, 60])
def test_projections_are_exact_whatever_columns_cost(power):
    """Costs far apart: the prox, which is one soft threshold here, has the norm of the ball as its root."""
    v = np.array(
        [0.563999381603121, -0.7308442702168229, -1.3719603676223968, -1.6947949737166204, -0.5517095710304244]
    )
    costs = [10.0**power, 1.0, 10.0**-power, 1.0, 1.0]
    function = GroupCover([[0], [1], [2], [3], [4]], costs)
    wanted = np.sign(v) * np.maximum(np.abs(v) - 0.48 / costs[0] * np.array(costs), 0.0)
    found = SubmodularBall(function, omega(function, wanted)).project(v)
    assert np.abs(found - wanted).max() <= 2.0**-48 * np.linalg.norm(v)
