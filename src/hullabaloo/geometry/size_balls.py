"""Balls of sums of sizes: norms of groups of columns (whole groups enter a model or stay out), and singular values of a
matrix (several targets that share few directions)."""

import math
from dataclasses import dataclass, field

import numpy as np

from hullabaloo.codec import settle
from hullabaloo.geometry.base import HasMirrorMap, MirrorMap, NormBall
from hullabaloo.geometry.checks import Vector, dimension_number
from hullabaloo.geometry.mirror import EuclideanMap
from hullabaloo.geometry.mirror_power import SizesMap
from hullabaloo.geometry.numerics import absolute_sum, euclidean_norm, norm_exponent
from hullabaloo.geometry.sizes import Blocks, SingularValues
from hullabaloo.geometry.width import Width, closed_form, expected_largest_block, expected_norm, near_quadrature


@dataclass(frozen=True, slots=True)
class GroupBall(NormBall, HasMirrorMap):
    """C = {θ ∈ R^p : Σ_G ‖θ_G‖₂ ≤ radius} (grouped l1/l2 norm), in the unit domain.

    `groups` is a partition of the columns 0..p−1, a list of lists of column indices: no group empty, no column in two
    groups or in none; radius > 0 and finite; else `InvalidParameter`. Groups of one column make an L1Ball, one group
    of all columns an L2Ball.

    Support radius·max‖g_G‖₂; projection by threshold of the norms of the blocks, O(p); Gaussian width
    radius·E max‖g_G‖₂ by quadrature; potential of `SizesMap` (Talwar, Thakurta, Zhang 2014, section 3.2).

    >>> GroupBall([[0, 1], [2]], 2.0).support(np.array([3.0, -4.0, 1.0]))
    10.0

    Source: 002, Equation (15).
    """

    groups: tuple[tuple[int, ...], ...]
    radius: float
    blocks: Blocks = field(init=False, repr=False, compare=False)
    kind = "group-ball"

    def __post_init__(self) -> None:
        NormBall.__post_init__(self)
        blocks = Blocks(self.groups)
        settle(self, blocks=blocks, groups=blocks.groups)

    @property
    def dimension(self) -> int | None:
        """The number of columns in all groups."""
        return self.blocks.dimension

    def support(self, g: Vector) -> float:
        """radius · max‖g_G‖₂."""
        return self.radius * float(self.blocks.norms(g).max())

    def vertex(self, g: Vector) -> Vector:
        """−radius·g_G/‖g_G‖₂ on the first group of largest ‖g_G‖₂; −radius·e_j, j the first column of group 0, at 0."""
        norms = self.blocks.norms(g)
        columns = self.blocks.columns_of(int(norms.argmax()))
        s = np.zeros(g.size)
        if norms.max() == 0.0:
            s[columns[0]] = -self.radius
            return s
        direction = g[columns] / np.abs(g[columns]).max()
        s[columns] = direction / euclidean_norm(direction) * -self.radius
        return s

    def project(self, theta: Vector) -> Vector:
        """Each block shortened by the same τ, at most to 0, such that the norms sum to the radius; a copy inside."""
        split = self.blocks.split(theta)
        if absolute_sum(split.sizes) <= self.radius:
            return np.array(theta, dtype=np.float64)
        from hullabaloo.geometry.kernels import project_simplex

        return split.joined(project_simplex(split.sizes, self.radius))

    def norm(self, theta: Vector) -> float:
        """Σ‖θ_G‖₂."""
        return absolute_sum(self.blocks.norms(theta))

    def max_norm(self, q: float, p: int) -> float:
        """radius·√(length of the longest group) for q = 1, the radius for q = 2 and infinity."""
        dimension_number(p, self.dimension)
        return self.radius * math.sqrt(self.blocks.lengths.max()) if norm_exponent(q) == 1.0 else self.radius

    def gaussian_width(self, p: int) -> Width:
        """radius · E max‖g_G‖₂."""
        dimension_number(p, self.dimension)
        return near_quadrature(self.radius * expected_largest_block(self.blocks.lengths_counted()))

    def mirror_map(self, p: int) -> SizesMap:
        """A sum of powers of the blocks' norms, 1-strongly convex in the grouped norm."""
        dimension_number(p, self.dimension)
        longest, width = math.sqrt(self.blocks.lengths.max()), self.gaussian_width(p).scaled(1 / self.radius)
        return SizesMap(self.blocks, self.radius, p, self.blocks.count, width, longest)


# The ball {Σ singular values ≤ radius} of matrices: several targets that share few directions.


@dataclass(frozen=True, slots=True)
class NuclearBall(NormBall, HasMirrorMap):
    """C = {Θ ∈ R^{m×columns} : Σ σ_i(Θ) ≤ radius} (nuclear or trace norm), in the unit domain.

    Vectors are the rows of Θ one after the other, p = m·columns: a row for each feature, a column for each target; of one target, the features
    themselves as a matrix, such as the pixels of an image or regions by months.
    radius > 0 and finite, columns a whole number of at least 1, else `InvalidParameter`; so is a p that is no multiple
    of columns. Singular values cost O(p·min(m, columns)).

    Support radius·σ_max(G); vertex by the top singular pair; projection by threshold of the singular values; Gaussian
    width radius·E σ_max(G) between proved bounds (`measured_width` simulates it); potential of `SizesMap`.

    >>> NuclearBall(2.0, columns=2).support(np.array([3.0, 0.0, 0.0, -4.0]))
    8.0

    Source: 002, Equation (16).
    """

    radius: float
    columns: int
    values: SingularValues = field(init=False, repr=False, compare=False)
    kind = "nuclear-ball"
    dimension = None

    def __post_init__(self) -> None:
        NormBall.__post_init__(self)
        values = SingularValues(self.columns)
        settle(self, values=values, columns=values.columns)

    def support(self, g: Vector) -> float:
        """radius · σ_max(G)."""
        return self.radius * float(self.values.norms(g)[0])

    def vertex(self, g: Vector) -> Vector:
        """−radius·u vᵀ for a top singular pair of G; −radius in the first entry for G = 0."""
        split = self.values.split(g)
        s = np.zeros(split.sizes.size)
        s[0] = -self.radius
        if split.sizes[0] > 0.0:
            return split.joined(s)
        corner = np.zeros(g.size)
        corner[0] = -self.radius
        return corner

    def project(self, theta: Vector) -> Vector:
        """Singular values lowered by the same τ, at most to 0, such that they sum to the radius; a copy inside."""
        split = self.values.split(theta)
        if absolute_sum(split.sizes) <= self.radius * (1.0 + 1e-15 * split.sizes.size):
            return np.array(theta, dtype=np.float64)
        from hullabaloo.geometry.kernels import project_simplex

        return split.joined(project_simplex(np.ascontiguousarray(split.sizes), self.radius))

    def norm(self, theta: Vector) -> float:
        """Σ σ_i."""
        return absolute_sum(self.values.norms(theta))

    def max_norm(self, q: float, p: int) -> float:
        """radius·√p for q = 1 (all entries alike), the radius for q = 2 and infinity."""
        self.values.shape(p)
        return self.radius * math.sqrt(p) if norm_exponent(q) == 1.0 else self.radius

    def gaussian_width(self, p: int) -> Width:
        """radius · E σ_max(G), enclosed; value = high. Exact for a single row or column, where it is E‖g‖₂.

        E σ_max is at least E‖Gv‖ for a fixed unit v and at least E‖G‖_F/√min(m, columns), and at most E‖g_m‖ +
        E‖g_columns‖ (Chevet's inequality; Davidson, Szarek 2001, Theorem II.13).
        """
        shape = self.values.shape(p)
        if min(shape) == 1:
            return closed_form(self.radius * expected_norm(p))
        low = max(expected_norm(max(shape)), expected_norm(p) / math.sqrt(min(shape)))
        high = expected_norm(shape[0]) + expected_norm(shape[1])
        return Width(high, low, high, "Chevet bound").scaled(self.radius)

    def mirror_map(self, p: int) -> MirrorMap:
        """A sum of powers of the singular values, 1-strongly convex in the nuclear norm; ½‖θ‖² for one row or column."""
        smaller = min(self.values.shape(p))
        if smaller == 1:
            return EuclideanMap(self, p, 0.5 * self.radius**2)
        width = self.gaussian_width(p).scaled(1.0 / self.radius)
        return SizesMap(self.values, self.radius, p, smaller, width, math.inf)
