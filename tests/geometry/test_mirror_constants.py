"""The scale factors of the potentials: second derivatives along searched directions, and that the constants are tight."""

import math

import numpy as np
import pytest

from hullabaloo.geometry import GroupBall, NuclearBall
from tests.laws.mirror_norms import norm


def curvature(mirror, theta, h, t=1e-4):
    """Second derivative of Ψ at θ along h, by central differences of the potential."""
    size = t * mirror.radius / norm(mirror, h)
    values = [mirror.value(theta + move * h) for move in (-size, 0.0, size)]
    return (values[0] - 2.0 * values[1] + values[2]) / size**2


@pytest.mark.few(9)
@pytest.mark.parametrize("radius", [0.2, 1.0, 30.0])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 12])
@pytest.mark.parametrize("kind", ["group", "nuclear"])
def test_the_constant_is_one_and_attained_at_equal_sizes(kind, count, radius):
    rng = np.random.default_rng(count)
    if kind == "group":
        p = 2 * count
        mirror = GroupBall([[2 * j, 2 * j + 1] for j in range(count)], radius).mirror_map(p)
        equal = np.tile([0.6, 0.8], count)
        draws = [rng.standard_normal(p) for _ in range(40)]
    else:
        if count == 1:
            return  # a single row or column has the Euclidean map
        p = count * (count + 2)
        mirror = NuclearBall(radius, count).mirror_map(p)
        equal = np.linalg.qr(rng.standard_normal((count + 2, count)))[0].ravel()
        u, _, v = np.linalg.svd(equal.reshape(count + 2, count), full_matrices=False)
        draws = [rng.standard_normal(p) for _ in range(20)]
        draws += [((u * rng.standard_normal(count)) @ v).ravel() for _ in range(10)]  # diagonal moves
        draws += [
            ((u @ (rng.standard_normal((count, count)) / np.arange(1, count + 1) ** 2)) @ v).ravel() for _ in range(10)
        ]
    centre = equal * radius / norm(mirror, equal)
    assert curvature(mirror, centre, centre) == pytest.approx(norm(mirror, centre) ** 2, rel=1e-5)
    for h in draws:
        assert curvature(mirror, centre, h) >= norm(mirror, h) ** 2 * (1.0 - 1e-5)
        elsewhere = mirror.parts.split(centre)
        sizes = rng.dirichlet(np.full(elsewhere.sizes.size, 0.7)) + 1e-2
        theta = elsewhere.joined(radius * sizes / sizes.sum())
        assert curvature(mirror, theta, h, 1e-5) >= norm(mirror, h) ** 2 * (1.0 - 1e-3)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 100, 10**6])
def test_scale_factors_of_the_published_family(count):
    """Tests: 002, Equation (15)."""
    mirror = GroupBall([[j] for j in range(min(count, 100))], 2.0).mirror_map(min(count, 100))
    mirror = type(mirror)(mirror.parts, 2.0, mirror.p, count, mirror.unit_width, 1.0)
    log = math.log(count) if count > 1 else 0.0
    if count <= 7:
        assert (mirror.power, mirror.xi) == (2.0, pytest.approx(1.0 / count))  # as published for one and two blocks
        assert mirror.range == pytest.approx(4.0 * count / 2.0)
    else:
        assert mirror.power == pytest.approx(1.0 + 1.0 / log)
        assert mirror.xi == pytest.approx(1.0 / (math.e * log))
        assert mirror.range == pytest.approx(4.0 * math.e * log / (1.0 + 1.0 / log))
    if count > 1:  # no larger than with the published power and factor, for blocks and for matrices
        power = 2.0 if count <= 2 else 1.0 + 1.0 / log
        published = 4.0 * count ** (power - 1.0) / (power * (power - 1.0))
        q = 1.0 / (2.0 * math.log(2.0 * count))
        matrices = 4.0 * 4.0 * math.sqrt(math.e) * math.log(2.0 * count) / (2.0**q * (1.0 + q))
        assert mirror.range <= published * (1.0 + 2e-3)
        assert mirror.range <= matrices
