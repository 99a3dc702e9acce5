"""The longest points, in l2, of the ball {Ω ≤ 1} and of the polyhedron |P|: exact where that is cheap, else bounds."""

import math
from functools import lru_cache

import numpy as np

from hullabaloo.geometry.checks import Vector
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.intervals import Intervals
from hullabaloo.geometry.submodular.norm import dual_omega
from hullabaloo.geometry.submodular.of_cardinality import HasCardinalityForm
from hullabaloo.geometry.submodular.singletons import singletons

EVERY_SET = 10


def longest_of_ball(function: SetFunction, p: int) -> float:
    """max ‖w‖₂ over Ω(w) ≤ 1, which is max_A √|A|/F(A): exact for g(|A|), intervals and p ≤ 10, else a bound.

    The bound is √(max ‖w‖₁·max ‖w‖_∞), Hölder.
    """
    count = np.arange(1.0, p + 1.0)
    if isinstance(function, HasCardinalityForm):
        return float((np.sqrt(count) / np.cumsum(function.steps(p))).max())
    if isinstance(function, Intervals):
        return float((np.sqrt(count) / (p - 1.0 + count)).max())
    if p <= EVERY_SET:
        return _largest_ratio(function, p)
    return math.sqrt(dual_omega(function, np.ones(p)).value / float(singletons(function, p).min()))


def longest_of_polyhedron(function: SetFunction, p: int) -> float:
    """max ‖s‖₂ over |P|(F), at a greedy vertex: exact for g(|A|) and p ≤ 10, else a bound.

    The bound is the smaller of √Σ F({j})², as |s_j| ≤ F({j}), and √(F(V)·max F({j})), Hölder.
    """
    if isinstance(function, HasCardinalityForm):
        return float(np.linalg.norm(function.steps(p)))
    if p <= EVERY_SET:
        return _longest_chain(function, p)
    alone = singletons(function, p)
    whole = function.value(np.ones(p, dtype=bool))
    return min(float(np.linalg.norm(alone)), math.sqrt(whole * float(alone.max())))


def every_value(function: SetFunction, p: int) -> Vector:
    """F of all 2^p sets, set m holding column j where bit j of m is 1."""
    members = (np.arange(1 << p)[:, None] >> np.arange(p) & 1).astype(bool)
    return np.array([0.0, *(function.value(row) for row in members[1:])])


@lru_cache(maxsize=64)
def _largest_ratio(function: SetFunction, p: int) -> float:
    sizes = np.array([m.bit_count() for m in range(1, 1 << p)])
    return float((np.sqrt(sizes) / every_value(function, p)[1:]).max())


@lru_cache(maxsize=64)
def _longest_chain(function: SetFunction, p: int) -> float:
    """The largest Σ (F(S_k) − F(S_{k−1}))² over orders: a set's best is that of one column less and this step."""
    values = every_value(function, p).tolist()
    best = [0.0] * len(values)
    for m in range(1, len(values)):
        best[m] = max(best[m ^ 1 << j] + (values[m] - values[m ^ 1 << j]) ** 2 for j in range(p) if m >> j & 1)
    return math.sqrt(best[-1])
