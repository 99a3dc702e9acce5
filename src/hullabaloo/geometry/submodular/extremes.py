"""The longest points, in l2, of the ball {Ω ≤ 1} and of the polyhedron |P|, and their Gaussian widths: exact where that is cheap, else bounds."""

import math
from functools import lru_cache

import numpy as np

from hullabaloo.geometry.checks import Vector, dimension_number
from hullabaloo.geometry.expected import expected_sorted_sum, near_quadrature
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.cardinality import BoundedCardinality, Cardinality, HasCardinalityForm
from hullabaloo.geometry.submodular.group_cover import Intervals
from hullabaloo.geometry.submodular.norm import dual_omega, singletons
from hullabaloo.geometry.width import Width, by_quadrature, closed_form, expected_largest_magnitude, expected_norm

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


# The Gaussian width of {Ω ≤ 1}, E Ω*(g).


def ball_width(function: SetFunction, p: int) -> Width:
    """E Ω*(g) for g standard normal in R^p: exact where Ω is the l1 or the l∞ norm, else between bounds; value = high.

    Below: Ω*(g) ≥ ‖g‖_∞/max F({j}) and ≥ ‖g‖₁/F(V). Above: the ball lies in those of the norms l1, l2 and l∞ that
    hold it, Ω*(g) ≤ ‖g‖_∞·Ω*(1) and ≤ ‖g‖₁/min F({j}), and ≤ ‖g‖₂·max ‖w‖₂.
    """
    flat, full = expected_largest_magnitude(p), p * math.sqrt(2.0 / math.pi)
    if isinstance(function, Cardinality):
        return by_quadrature(flat)
    if isinstance(function, BoundedCardinality) and function.bound == 1:
        return closed_form(full)
    alone = singletons(function, p)
    l1 = dual_omega(function, np.ones(p)).value
    linf = 1.0 / float(alone.min())
    low = max(flat / float(alone.max()), full / function.value(np.ones(p, dtype=bool)))
    high = min(flat * l1, full * linf, expected_norm(p) * longest_of_ball(function, p))
    return Width(max(low, high), low, max(low, high), "bounds by norms")


# The Gaussian width of |P|(F) for any set function, E Ω(g).


def polyhedron_width(function: SetFunction, p: int) -> Width:
    """E Ω(g) for g standard normal in R^p: exact for p ≤ 10, else between bounds; value = high.

    The order of |g| is independent of its sorted magnitudes, and every order equally likely, so that E Ω(g) is that of
    ḡ(|A|), ḡ(k) the mean of F over the sets of k columns. Below: E Ω(g) ≥ Ω(E|g|) = F(V)√(2/π) (Jensen). Above: F(A)
    ≤ min(F(V), the sum of the |A| largest F({j})), a function of the cardinality; Ω(w) ≤ Σ F({j})|w_j|; and |P| lies
    in the l2 ball of √Σ F({j})².
    """
    p = dimension_number(p, function.dimension)
    if p <= EVERY_SET:
        sizes = np.array([m.bit_count() for m in range(1 << p)])
        means = np.bincount(sizes, every_value(function, p)) / np.bincount(sizes)
        return near_quadrature(expected_sorted_sum(np.diff(means)))
    alone = singletons(function, p)
    whole = function.value(np.ones(p, dtype=bool))
    typical = math.sqrt(2.0 / math.pi)
    envelope = np.minimum(whole, np.cumsum(np.sort(alone)[::-1]))
    low = whole * typical * (1.0 - 1e-14)
    high = min(
        float(alone.sum()) * typical,
        expected_sorted_sum(np.diff(envelope, prepend=0.0)) * (1.0 + 1e-10),
        float(np.linalg.norm(alone)) * expected_norm(p),
    )
    return Width(max(low, high), low, max(low, high), "bounds by symmetric functions")
