"""The precision of projections and proxes that certified minimisers reckon with (`optimise.PROJECTION`).

Every point on the ray from `P(w)` through w has the same projection, and `prox_{2s}(c + 2(v − c)) = c` for `c = prox_s(v)`: two
computations of one exact answer from different numbers, whose difference shows their rounding.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hullabaloo.erm.optimise import COARSE, PROJECTION
from hullabaloo.geometry import (
    ConcaveCardinality,
    ConvexSet,
    ElasticBall,
    GroupCover,
    LpBall,
    NuclearBall,
    Penalty,
    Projectable,
    SetFunction,
    SubmodularBall,
    SubmodularPenalty,
    SubmodularPolyhedron,
)
from tests.laws import zoo


@pytest.mark.few(12)
@pytest.mark.parametrize(("body", "p"), zoo.sets(Projectable, dimensions=(1, 2, 7, 100)), ids=str)
def test_projections_are_as_precise_as_minimisers_assume(body: Any, p: int) -> None:
    assert isinstance(body, ConvexSet)
    rng = np.random.default_rng(p)
    norm = body.max_norm(2.0, p)
    radius = norm if np.isfinite(norm) else 1.0
    for size in (0.5, 2.0, 50.0):
        for _ in range(3):
            w = rng.normal(size=p) * size * radius / np.sqrt(p)
            c = body.project(w)
            beyond = c + 1.7 * (w - c)
            scale = np.linalg.norm(w) + np.linalg.norm(beyond) + 2.0 * radius
            assert np.linalg.norm(body.project(beyond) - c) <= 0.5 * PROJECTION * scale


@pytest.mark.few(8)
@pytest.mark.parametrize(("penalty", "p"), zoo.penalties(2, 7, 100), ids=str)
def test_proxes_are_as_precise_as_minimisers_assume(penalty: Penalty, p: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        v = rng.normal(size=p)
        c = penalty.prox(v, 0.3)
        again = penalty.prox(c + 2.0 * (v - c), 0.6)
        assert np.linalg.norm(again - c) <= 0.5 * PROJECTION * (2.0 + 3.0 * np.linalg.norm(v))


Generator = np.random.Generator


def crossing(rng: Generator, p: int) -> SetFunction:
    """Groups that cross, or a tree, whose weights are up to 1e12 apart."""
    if rng.random() < 0.3:
        parents = [-1, *(int(rng.integers(-1, j)) for j in range(1, p))]
        return GroupCover.tree(parents, list(10.0 ** rng.uniform(-6.0, 6.0, p)))
    groups = [sorted(set(rng.integers(0, p, rng.integers(1, 6)).tolist())) for _ in range(p)]
    groups += [[j] for j in sorted(set(range(p)) - set().union(*groups))]
    return GroupCover(groups, list(10.0 ** rng.uniform(-6.0, 6.0, len(groups))))


def falling(rng: Generator, p: int) -> SetFunction:
    return ConcaveCardinality(np.sort(10.0 ** rng.uniform(-12.0, 0.0, p))[::-1].tolist())


def size(rng: Generator) -> float:
    return float(10.0 ** rng.uniform(-3.0, 3.0))


FARTHEST: dict[str, Callable[[Generator, int], Any]] = {
    "ball of groups": lambda rng, p: SubmodularBall(crossing(rng, p), size(rng)),
    "ball of sizes": lambda rng, p: SubmodularBall(falling(rng, p), size(rng)),
    "polyhedron": lambda rng, p: SubmodularPolyhedron(crossing(rng, p), size(rng)),
    "exponent": lambda rng, p: LpBall(1.0 + float(rng.choice([2.0**-20, 1e-3, 0.999, 1.0 - 2.0**-20])), size(rng)),
    "elastic": lambda rng, p: ElasticBall(float(rng.choice([1e-12, 1e-3, 0.5, 1.0 - 1e-9])), size(rng)),
    "singular values": lambda rng, p: NuclearBall(size(rng), next(d for d in (3, 2, 1) if p % d == 0)),
}


def argument(rng: Generator, p: int) -> np.ndarray:
    """Magnitudes that are equal, equal but for rounding, far apart, or one of them almost alone."""
    drawn: list[np.ndarray] = [
        rng.normal(size=p),
        1.0 + rng.integers(-4, 5, p) * 2.0**-52,
        1.0 + rng.integers(-4, 5, p) * 10.0 ** -rng.uniform(3.0, 15.0),
        10.0 ** rng.uniform(-18.0, 2.0, p),
        rng.integers(-2, 3, p) + 0.0,
        np.arange(p) * 1e-9 + (np.arange(p) == rng.integers(p)),
        np.repeat(rng.normal(size=p), 3)[:p] * (1.0 + 1e-14 * rng.integers(-9, 9, p)),
        1.0 / np.arange(1.0, p + 1.0),
    ]
    found = drawn[rng.integers(len(drawn))]
    return found / max(float(np.linalg.norm(found)), 1e-300)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", FARTHEST)
def test_projections_are_as_precise_for_the_farthest_weights_and_arguments(name: str) -> None:
    """Of 12 million times as much weight on one group as on another a projection was off by 2^-26 of its argument."""
    rng = np.random.default_rng(11)
    precision = PROJECTION * (COARSE if name == "singular values" else 1.0)
    for _ in range(500):
        p = int(rng.integers(2, 13))
        body = FARTHEST[name](rng, p)
        radius = body.max_norm(2.0, p)
        far = 10.0 ** rng.uniform(-0.3, 4.0) if rng.random() < 0.6 else 1.0 + 10.0 ** rng.uniform(-15.0, -1.0)
        w = argument(rng, p) * radius * far
        c = body.project(w)
        for beyond in (c + 1.7 * (w - c), c + 0.3 * (w - c)):
            scale = np.linalg.norm(w) + np.linalg.norm(beyond) + 2.0 * radius
            assert np.linalg.norm(body.project(beyond) - c) <= precision * scale
        near = w + rng.normal(size=p) * radius * 10.0 ** rng.uniform(-9.0, -3.0)
        moved = np.linalg.norm(body.project(near) - c) - np.linalg.norm(near - w)  # which no projection lengthens
        assert moved <= precision * (np.linalg.norm(w) + np.linalg.norm(near) + 2.0 * radius)


def test_proxes_are_as_precise_for_the_farthest_weights_and_arguments() -> None:
    rng = np.random.default_rng(12)
    for number in range(500):
        p = int(rng.integers(2, 13))
        penalty = SubmodularPenalty((crossing, falling)[number % 2](rng, p), size(rng))
        w, step = argument(rng, p) * size(rng), 10.0 ** rng.uniform(-4.0, 2.0)
        c = penalty.prox(w, step)
        again = penalty.prox(c + 2.0 * (w - c), 2.0 * step)
        assert np.linalg.norm(again - c) <= PROJECTION * (2.0 + 3.0 * np.linalg.norm(w))
