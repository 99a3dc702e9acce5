"""Every exported set and penalty with sample instances; a class that is exported without samples fails here."""

import inspect
import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from hullabaloo import geometry
from hullabaloo.geometry import (
    BoundedCardinality,
    Box,
    Cardinality,
    ConcaveCardinality,
    ConvexSet,
    ElasticBall,
    ElasticNetPenalty,
    GroupBall,
    GroupCover,
    GroupPenalty,
    Intervals,
    L1Ball,
    L1Penalty,
    L2Ball,
    LpBall,
    NoPenalty,
    NuclearBall,
    NuclearPenalty,
    Penalty,
    PenaltyWithFreeIntercept,
    Polytope,
    SetFunction,
    Simplex,
    SquaredL2Penalty,
    SubmodularBall,
    SubmodularPenalty,
    SubmodularPolyhedron,
    VerticesWithIntercept,
    WithIntercept,
    with_intercept,
)
from tests.laws.public import public

DIMENSIONS = (1, 2, 7, 1000)


def _bounds(p: int) -> Box:
    lower = -np.arange(p) % 3.0
    return Box(tuple(lower - 0.5), tuple(lower + 1.0 + np.arange(p) % 2))


def partition(p: int) -> list[list[int]]:
    """Groups of 1, 2, 3, 4, 1, 2, … columns, taken from all over."""
    columns = np.random.default_rng(p).permutation(p).tolist()
    groups = []
    while columns:
        length = 1 + len(groups) % 4
        groups.append(columns[:length])
        columns = columns[length:]
    return groups


def _hulls(p: int) -> list[ConvexSet]:
    axes = np.eye(p)[:6]
    scattered = np.random.default_rng(p).standard_normal((15, p))
    segment = [np.ones(p), 2.0 + np.arange(p) % 3]
    return [Polytope(np.concatenate([axes, -2.0 * axes])), Polytope(scattered), Polytope(segment), Polytope(axes[:1])]


@cache
def set_functions(p: int) -> list[SetFunction]:
    """A set function of every family for p columns; of many columns, a few."""
    tree = GroupCover.tree([(j + 1) // 2 - 1 for j in range(p)])
    if p > 100:
        return [ConcaveCardinality.power(p, 0.5), Intervals(), tree]
    return [
        Cardinality(),
        BoundedCardinality(),
        BoundedCardinality(3),
        ConcaveCardinality.power(p, 0.5),
        Intervals(),
        tree,
        GroupCover(partition(p)),
        GroupCover.grid(p // _across(p), _across(p)),
        GroupCover([sorted({j, (3 * j + 1) % p, j // 2}) for j in range(p)], [1.0 + j % 3 for j in range(p)]),
    ]


def _across(p: int) -> int:
    return max(d for d in range(1, p + 1) if p % d == 0 and d * d <= p)


SET_SAMPLES: dict[type[ConvexSet], Callable[[int], list[ConvexSet]]] = {
    L1Ball: lambda p: [L1Ball(1.0), L1Ball(0.03), L1Ball(250.0)],
    L2Ball: lambda p: [L2Ball(1.0), L2Ball(37.5)],
    Box: lambda p: [Box(-1.0, 1.0), Box(0.0, 2.0), Box(-3.0, 0.5), Box(1.0, 2.0), Box(0.5, 0.5), _bounds(p)],
    Simplex: lambda p: [Simplex(), Simplex(20.0)],
    LpBall: lambda p: [LpBall(1.5, 1.0), LpBall(1.1, 20.0), LpBall(1.9, 0.1)],
    Polytope: _hulls,
    GroupBall: lambda p: [
        GroupBall(partition(p), 1.0),
        GroupBall(partition(p)[::-1], 90.0),
        GroupBall([range(p)], 0.5),
    ],
    ElasticBall: lambda p: [
        ElasticBall(a, r) for a, r in ((0.5, 1.0), (0.02, 40.0), (0.98, 0.3), (0.0, 2.0), (1.0, 2.0))
    ],
    NuclearBall: lambda p: [NuclearBall(1.0, _across(p)), NuclearBall(30.0, p // _across(p)), NuclearBall(0.4, 1)],
    SubmodularBall: lambda p: [
        SubmodularBall(function, radius)
        for function, radius in zip(set_functions(p), itertools.cycle((2.5, 0.04, 60.0)), strict=False)
    ],
    SubmodularPolyhedron: lambda p: [
        SubmodularPolyhedron(function, radius)
        for function, radius in zip(set_functions(p), itertools.cycle((0.7, 30.0, 0.02)), strict=False)
    ],
    WithIntercept: lambda p: [with_intercept(L2Ball(1.0), 0.5, 0.5), with_intercept(Box(-1.0, 1.0), -1.0, 3.0, p)],
    VerticesWithIntercept: lambda p: [
        with_intercept(L1Ball(2.0), -1.0, 3.0),
        with_intercept(Simplex(), 0.5, 0.5),
        with_intercept(L1Ball(0.1), 0.5, 2.0, min(p, 3)),
    ],
}
PENALTY_SAMPLES: dict[type[Penalty], Callable[[int], list[Penalty]]] = {
    NoPenalty: lambda p: [NoPenalty()],
    L1Penalty: lambda p: [L1Penalty(0.0), L1Penalty(0.7)],
    SquaredL2Penalty: lambda p: [SquaredL2Penalty(0.0), SquaredL2Penalty(2.5)],
    ElasticNetPenalty: lambda p: [ElasticNetPenalty(0.8, ratio) for ratio in (0.0, 0.3, 1.0)],
    GroupPenalty: lambda p: [GroupPenalty(partition(p), 0.4), GroupPenalty([range(p)], 0.0)],
    NuclearPenalty: lambda p: [NuclearPenalty(0.6, _across(p)), NuclearPenalty(0.0, p), NuclearPenalty(1.5, 1)],
    SubmodularPenalty: lambda p: [SubmodularPenalty(function, 0.4) for function in set_functions(p)],
    PenaltyWithFreeIntercept: lambda p: [
        PenaltyWithFreeIntercept(L1Penalty(0.7)),
        PenaltyWithFreeIntercept(NoPenalty(), p),
    ],
}


def exported(module: Any, base: type) -> list[type]:
    """The final classes of that base that a module exports."""
    found = [getattr(module, name) for name in public(module)]
    return [c for c in found if inspect.isclass(c) and issubclass(c, base) and not inspect.isabstract(c)]


def sets(*capabilities: type, dimensions: tuple[int, ...] = DIMENSIONS) -> list[tuple[ConvexSet, int]]:
    """(set, p) for every sample that has the capabilities."""
    found = []
    for kind in exported(geometry, ConvexSet):
        if all(issubclass(kind, capability) for capability in capabilities):
            found += [(body, p) for p in dimensions for body in SET_SAMPLES[kind](p)]
    return found


def penalties(*dimensions: int) -> list[tuple[Penalty, int]]:
    """(penalty, p) for every sample."""
    found = []
    for kind in exported(geometry, Penalty):
        found += [(penalty, p) for p in dimensions for penalty in PENALTY_SAMPLES[kind](p)]
    return found


def kind(case: tuple[Any, ...]) -> tuple[type, ...]:
    """What a sample is a sample of: its class, and that of the set function, set or penalty that it is made of."""
    parts = [case[0], *(getattr(case[0], name, None) for name in ("function", "body", "penalty"))]
    return tuple(type(one) for one in parts if one is not None)


def points(p: int, seed: int = 0) -> list[np.ndarray]:
    """Ordinary and degenerate vectors: zero, ties, signs, one coordinate, huge, tiny, mixed scales."""
    rng = np.random.default_rng(seed)
    one = np.zeros(p)
    one[p // 2] = 3.0
    signs = np.where(np.arange(p) % 2, 1.0, -1.0)
    return [
        np.zeros(p),
        np.ones(p),
        -np.ones(p),
        signs,
        one,
        -one,
        1e300 * signs,
        1e300 * one / 3.0,
        1e-300 * signs,
        1e-300 * one,
        np.where(np.arange(p) % 3, 1e300, 1e-300) * signs,
        rng.standard_normal(p),
        10.0 * rng.standard_normal(p),
        1e-3 * rng.standard_normal(p),
        rng.standard_cauchy(p),
        np.round(rng.standard_normal(p)),
        rng.exponential(size=p),
    ]


def members(body: Any, p: int, seed: int = 0) -> list[np.ndarray]:
    """Points of the set: its start, vertices towards many directions, and mixtures of these."""
    rng = np.random.default_rng(seed + 1)
    found = [body.start(p)] + [body.vertex(g) for g in points(p, seed)]
    found += [body.vertex(rng.standard_normal(p)) for _ in range(10)]
    weights = rng.dirichlet(np.full(len(found), 0.3), size=20)
    return found + [weight @ np.array(found) for weight in weights]


def short(value: Any) -> str:
    """A test's name for a set, a penalty or a number."""
    return str(value)[:60]
