"""The ball {Σ‖θ_G‖₂ ≤ radius} over groups of columns: whole groups enter a model or stay out."""

import math
from dataclasses import dataclass, field
from typing import final

import numpy as np

from hullabaloo.codec import Written
from hullabaloo.geometry.base import ConvexSet, HasGauge, HasMirrorMap, Projectable
from hullabaloo.geometry.checks import Vector, dimension_number, euclidean_norm, norm_exponent, positive_number
from hullabaloo.geometry.expected import expected_largest_block, near_quadrature
from hullabaloo.geometry.mirror_sizes import SizesMap
from hullabaloo.geometry.sizes import Blocks
from hullabaloo.geometry.width import Width


@final
@dataclass(frozen=True, slots=True)
class GroupBall(Written, ConvexSet, Projectable, HasGauge, HasMirrorMap):
    """C = {θ ∈ R^p : Σ_G ‖θ_G‖₂ ≤ radius} (grouped l1/l2 norm), in the unit domain.

    `groups` is a partition of the columns 0..p−1, a list of lists of column indices: no group empty, no column in two
    groups or in none; radius > 0 and finite; else `InvalidParameter`. Groups of one column make an L1Ball, one group
    of all columns an L2Ball.

    Support radius·max‖g_G‖₂; projection by threshold of the norms of the blocks, O(p); Gaussian width
    radius·E max‖g_G‖₂ by quadrature; potential of `SizesMap` (Talwar, Thakurta, Zhang 2014, section 3.2).

    >>> GroupBall([[0, 1], [2]], 2.0).support(np.array([3.0, -4.0, 1.0]))
    10.0
    """

    groups: tuple[tuple[int, ...], ...]
    radius: float
    blocks: Blocks = field(init=False, repr=False, compare=False)
    kind = "group-ball"

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive_number(self.radius, "The radius of a GroupBall"))
        blocks = Blocks(self.groups)
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "groups", blocks.groups)

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
        if self._sum(split.sizes) <= self.radius:
            return np.array(theta, dtype=np.float64)
        from hullabaloo.geometry.kernels import project_simplex

        return split.joined(project_simplex(split.sizes, self.radius))

    def contains(self, theta: Vector, tolerance: float = 1e-9) -> bool:
        """Σ‖θ_G‖₂ ≤ radius (1 + tolerance)."""
        return self._sum(self.blocks.norms(theta)) <= self.radius * (1.0 + tolerance)

    def gauge(self, theta: Vector) -> float:
        """Σ‖θ_G‖₂/radius."""
        return self._sum(self.blocks.norms(theta)) / self.radius

    def max_norm(self, q: float, p: int) -> float:
        """radius·√(length of the longest group) for q = 1, the radius for q = 2 and infinity."""
        dimension_number(p, self.dimension)
        return self.radius * math.sqrt(self.blocks.lengths.max()) if norm_exponent(q) == 1.0 else self.radius

    def gaussian_width(self, p: int) -> Width:
        """radius · E max‖g_G‖₂."""
        dimension_number(p, self.dimension)
        return near_quadrature(self.radius * expected_largest_block(self.blocks.lengths_counted()))

    def start(self, p: int) -> Vector:
        """Zero."""
        return np.zeros(dimension_number(p, self.dimension))

    def mirror_map(self, p: int) -> SizesMap:
        """A sum of powers of the blocks' norms, 1-strongly convex in the grouped norm."""
        dimension_number(p, self.dimension)
        longest = math.sqrt(self.blocks.lengths.max())
        return SizesMap(
            self.blocks, self.radius, p, self.blocks.count, self.gaussian_width(p).scaled(1 / self.radius), longest
        )

    @staticmethod
    def _sum(norms: Vector) -> float:
        with np.errstate(over="ignore"):
            return float(norms.sum())
