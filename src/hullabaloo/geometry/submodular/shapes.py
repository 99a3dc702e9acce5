"""What a set function makes: the ball {Ω(θ) ≤ radius}, the polyhedron |P|, whose support function is Ω, and the penalty strength·Ω(θ)."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry import width
from hullabaloo.geometry.base import HasMirrorMap, NormBall
from hullabaloo.geometry.checks import Vector, dimension_number, keep_number, nonnegative_number, vector
from hullabaloo.geometry.mirror import EuclideanMap
from hullabaloo.geometry.numerics import norm_exponent
from hullabaloo.geometry.penalty import Penalty
from hullabaloo.geometry.submodular import norm as norms
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.cardinality import BoundedCardinality, Cardinality, HasCardinalityForm
from hullabaloo.geometry.submodular.group_cover import Intervals

EVERY_SET = 10


class _OfSetFunction(NormBall):
    """A ball in a norm that a set function makes."""

    __slots__ = ()
    function: SetFunction

    def __post_init__(self) -> None:
        _refuse_other(self)
        NormBall.__post_init__(self)

    @property
    @final
    def dimension(self) -> int | None:
        """That of the function."""
        return self.function.dimension


def _refuse_other(shape: "_OfSetFunction | SubmodularPenalty") -> None:
    """Refuse a shape that is not made of a set function."""
    if not isinstance(shape.function, SetFunction):
        raise InvalidParameter(
            f"A {type(shape).__name__} is made of a set function, but it was given {shape.function!r}; give for example "
            "Intervals(), a GroupCover, or a CustomSetFunction around a callable."
        )


# The ball {Ω(θ) ≤ radius} of the norm of a set function: structured sparsity as a constraint.


@dataclass(frozen=True, slots=True)
class SubmodularBall(_OfSetFunction, HasMirrorMap):
    """C = {θ ∈ R^p : Ω(θ) ≤ radius}, Ω the norm of a set function F, in the unit domain.

    radius > 0 and finite, `function` a `SetFunction`, else `InvalidParameter`. The extreme points are
    ±radius·1_A/F(A), any signs, A closed (every further column costs) and not split by F (Bach 2010): a linear function
    has its minimum at a cheap support. Support radius·Ω*(g); projection the prox of τΩ at the root τ; potential ½‖θ‖².

    >>> from hullabaloo.geometry import BoundedCardinality
    >>> SubmodularBall(BoundedCardinality(2), 2.0).gauge(np.array([3.0, -1.0, 2.0]))
    2.5

    Source: 001, Section 2, unit ball.
    """

    function: SetFunction
    radius: float
    kind = "submodular-ball"

    def support(self, g: Vector) -> float:
        """radius·Ω*(g)."""
        return self.radius * norms.dual_omega(self.function, g).value

    def vertex(self, g: Vector) -> Vector:
        """−radius·sign(g_j)/F(A) on the closure of a set A where ‖g_A‖₁/F(A) is largest, 0 outside; sign + for 0."""
        g = vector(g, dimension=self.dimension)
        members = norms.closure(self.function, norms.dual_omega(self.function, g).members)
        height = self.radius / self.function.value(members)
        return np.where(members, np.where(g < 0.0, height, -height), 0.0)

    def project(self, theta: Vector) -> Vector:
        """The prox of τΩ at θ, τ such that its norm is the radius; a copy inside the ball."""
        return norms.project_ball(self.function, theta, self.radius)

    def norm(self, theta: Vector) -> float:
        """Ω(θ)."""
        return norms.omega(self.function, theta)

    def max_norm(self, q: float, p: int) -> float:
        """radius·Ω*(1) for q = 1, radius/min F({j}) for infinity, both attained.

        For q = 2 radius·max_A √|A|/F(A), or a bound of it (`longest_of_ball`).
        """
        p = dimension_number(p, self.dimension)
        if norm_exponent(q) == 2.0:
            return self.radius * longest_of_ball(self.function, p)
        if q == 1.0:
            return self.radius * norms.dual_omega(self.function, np.ones(p)).value
        return self.radius / float(norms.singletons(self.function, p).min())

    def gaussian_width(self, p: int) -> width.Width:
        """radius·E Ω*(g): exact for the cardinality and for min(|A|, 1), else between proved bounds."""
        return ball_width(self.function, dimension_number(p, self.dimension)).scaled(self.radius)

    def mirror_map(self, p: int) -> EuclideanMap:
        """½‖θ‖²."""
        return EuclideanMap(self, dimension_number(p, self.dimension), 0.5 * self.max_norm(2, p) ** 2)


# The symmetric submodular polyhedron {s : ‖s_A‖₁ ≤ radius·F(A)}, whose support function is radius·Ω.


@dataclass(frozen=True, slots=True)
class SubmodularPolyhedron(_OfSetFunction):
    """C = radius·|P|(F) = {s ∈ R^p : ‖s_A‖₁ ≤ radius·F(A) for all A}, the ball of the dual norm Ω*.

    radius > 0 and finite, `function` a `SetFunction`, else `InvalidParameter`. Support radius·Ω(g); vertices by the
    greedy algorithm; projection by Moreau from the prox of Ω; Gaussian width radius·E Ω(g).

    >>> from hullabaloo.geometry import Cardinality
    >>> SubmodularPolyhedron(Cardinality(), 2.0).vertex(np.array([1.0, -3.0]))
    array([-2.,  2.])

    Source: 001, Section 2, symmetric submodular polyhedron.
    """

    function: SetFunction
    radius: float
    kind = "submodular-polyhedron"

    def support(self, g: Vector) -> float:
        """radius·Ω(g)."""
        return self.radius * norms.omega(self.function, g)

    def vertex(self, g: Vector) -> Vector:
        """−radius times the greedy vertex of g."""
        return -self.radius * norms.greedy_vertex(self.function, g) + 0.0

    def norm(self, theta: Vector) -> float:
        """Ω*(θ)."""
        return norms.dual_omega(self.function, theta).value

    def project(self, theta: Vector) -> Vector:
        """θ less the prox of radius·Ω at θ."""
        return norms.project_polyhedron(self.function, theta, self.radius)

    def max_norm(self, q: float, p: int) -> float:
        """radius·F(V) for q = 1 and radius·max F({j}) for infinity, both attained.

        For q = 2 the longest greedy vertex, or a bound of it (`longest_of_polyhedron`).
        """
        p = dimension_number(p, self.dimension)
        if norm_exponent(q) == 2.0:
            return self.radius * longest_of_polyhedron(self.function, p)
        if q == 1.0:
            return self.radius * self.function.value(np.ones(p, dtype=bool))
        return self.radius * float(norms.singletons(self.function, p).max())

    def gaussian_width(self, p: int) -> width.Width:
        """radius·E Ω(g)."""
        return self.function.gaussian_width(dimension_number(p, self.dimension)).scaled(self.radius)


# The penalty strength·Ω(θ): structured sparsity.


@dataclass(frozen=True, slots=True)
class SubmodularPenalty(Written, Penalty):
    """ψ(θ) = strength·Ω(θ), Ω the norm of a set function: supports that the function makes cheap are favoured.

    strength ≥ 0 and finite, `function` a `SetFunction`, else `InvalidParameter`.

    >>> from hullabaloo.geometry import BoundedCardinality
    >>> SubmodularPenalty(BoundedCardinality(2), 0.5).value([3.0, -1.0, 2.0])
    2.5

    Source: 001, Equation (1).
    """

    function: SetFunction
    strength: float
    kind = "submodular"

    def __post_init__(self) -> None:
        _refuse_other(self)
        keep_number(self, "strength", nonnegative_number)

    def value(self, theta: Vector) -> float:
        """strength·Ω(θ)."""
        return self.strength * norms.omega(self.function, theta)

    def prox(self, v: Vector, step: float) -> Vector:
        """The prox of step·strength·Ω."""
        if self.strength == 0.0:
            return vector(v, dimension=self.function.dimension).copy()
        return norms.prox(self.function, v, step * self.strength)


# The longest points, in l2, of the ball {Ω ≤ 1} and of |P|, and Gaussian widths: exact where that is cheap, else bounds.


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
    return math.sqrt(norms.dual_omega(function, np.ones(p)).value / float(norms.singletons(function, p).min()))


def longest_of_polyhedron(function: SetFunction, p: int) -> float:
    """max ‖s‖₂ over |P|(F), at a greedy vertex: exact for g(|A|) and p ≤ 10, else a bound.

    The bound is the smaller of √Σ F({j})², as |s_j| ≤ F({j}), and √(F(V)·max F({j})), Hölder.
    """
    if isinstance(function, HasCardinalityForm):
        return float(np.linalg.norm(function.steps(p)))
    if p <= EVERY_SET:
        return _longest_chain(function, p)
    alone = norms.singletons(function, p)
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


def ball_width(function: SetFunction, p: int) -> width.Width:
    """E Ω*(g) for g standard normal in R^p: exact where Ω is the l1 or the l∞ norm, else between bounds; value = high.

    Below: Ω*(g) ≥ ‖g‖_∞/max F({j}) and ≥ ‖g‖₁/F(V). Above: the ball lies in those of the norms l1, l2 and l∞ that
    hold it, Ω*(g) ≤ ‖g‖_∞·Ω*(1) and ≤ ‖g‖₁/min F({j}), and ≤ ‖g‖₂·max ‖w‖₂.
    """
    flat, full = width.expected_largest_magnitude(p), p * math.sqrt(2.0 / math.pi)
    if isinstance(function, Cardinality):
        return width.by_quadrature(flat)
    if isinstance(function, BoundedCardinality) and function.bound == 1:
        return width.closed_form(full)
    alone = norms.singletons(function, p)
    l1 = norms.dual_omega(function, np.ones(p)).value
    linf = 1.0 / float(alone.min())
    low = max(flat / float(alone.max()), full / function.value(np.ones(p, dtype=bool)))
    high = min(flat * l1, full * linf, width.expected_norm(p) * longest_of_ball(function, p))
    return width.Width(max(low, high), low, max(low, high), "bounds by norms")


# The Gaussian width of |P|(F) for any set function, E Ω(g).


def polyhedron_width(function: SetFunction, p: int) -> width.Width:
    """E Ω(g) for g standard normal in R^p: exact for p ≤ 10, else between bounds; value = high.

    The order of |g| is independent of its sorted magnitudes, and every order equally likely, so that E Ω(g) is that of
    ḡ(|A|), ḡ(k) the mean of F over the sets of k columns. Below: E Ω(g) ≥ Ω(E|g|) = F(V)√(2/π) (Jensen). Above: F(A)
    ≤ min(F(V), the sum of the |A| largest F({j})), a function of the cardinality; Ω(w) ≤ Σ F({j})|w_j|; and |P| lies
    in the l2 ball of √Σ F({j})².

    Source: 001, Section 2, Gaussian width.
    """
    p = dimension_number(p, function.dimension)
    if p <= EVERY_SET:
        sizes = np.array([m.bit_count() for m in range(1 << p)])
        means = np.bincount(sizes, every_value(function, p)) / np.bincount(sizes)
        return width.near_quadrature(width.expected_sorted_sum(np.diff(means)))
    alone = norms.singletons(function, p)
    whole = function.value(np.ones(p, dtype=bool))
    typical = math.sqrt(2.0 / math.pi)
    envelope = np.minimum(whole, np.cumsum(np.sort(alone)[::-1]))
    low = whole * typical * (1.0 - 1e-14)
    high = min(
        float(alone.sum()) * typical,
        width.expected_sorted_sum(np.diff(envelope, prepend=0.0)) * (1.0 + 1e-10),
        float(np.linalg.norm(alone)) * width.expected_norm(p),
    )
    return width.Width(max(low, high), low, max(low, high), "bounds by symmetric functions")
