"""Penalties of sizes: the group lasso (norms of groups) and the trace norm (singular values of a matrix)."""

from dataclasses import dataclass, field
from typing import final

import numpy as np

from hullabaloo.codec import Written
from hullabaloo.geometry.checks import Vector, absolute_sum, nonnegative_number
from hullabaloo.geometry.penalty import Penalty
from hullabaloo.geometry.sizes import Blocks, SingularValues


@final
@dataclass(frozen=True, slots=True)
class GroupPenalty(Written, Penalty):
    """ψ(θ) = strength·Σ_G √|G|·‖θ_G‖₂: the group lasso of Yuan and Lin (2006), large groups weighted by √|G|.

    `groups` is a partition of the columns 0..p−1, a list of lists of column indices: no group empty, no column in two
    groups or in none; strength ≥ 0 and finite; else `InvalidParameter`.

    >>> GroupPenalty([[0, 1, 2, 3], [4]], 0.5).value(np.array([3.0, 0.0, 4.0, 0.0, -2.0]))
    6.0
    """

    groups: tuple[tuple[int, ...], ...]
    strength: float
    blocks: Blocks = field(init=False, repr=False, compare=False)
    kind = "group"
    strong_convexity = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", nonnegative_number(self.strength, "The strength of a GroupPenalty"))
        blocks = Blocks(self.groups)
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "groups", blocks.groups)

    def value(self, theta: Vector) -> float:
        """strength·Σ √|G|·‖θ_G‖₂."""
        return self.strength * float(np.sqrt(self.blocks.lengths) @ self.blocks.norms(theta))

    def prox(self, v: Vector, step: float) -> Vector:
        """Each block shortened by step·strength·√|G|, at most to 0."""
        split = self.blocks.split(v)
        return split.joined(np.maximum(0.0, split.sizes - step * self.strength * np.sqrt(self.blocks.lengths)))


@final
@dataclass(frozen=True, slots=True)
class NuclearPenalty(Written, Penalty):
    """ψ(Θ) = strength·Σ σ_i(Θ) (trace or nuclear norm) of the matrix whose rows, of `columns` numbers each, θ lists.

    strength ≥ 0 and finite, columns a whole number of at least 1, else `InvalidParameter`; so is a θ whose length is no
    multiple of columns.

    >>> NuclearPenalty(0.5, columns=2).value(np.array([3.0, 0.0, 0.0, -4.0]))
    3.5
    """

    strength: float
    columns: int
    values: SingularValues = field(init=False, repr=False, compare=False)
    kind = "nuclear"
    strong_convexity = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "strength", nonnegative_number(self.strength, "The strength of a NuclearPenalty"))
        object.__setattr__(self, "values", SingularValues(self.columns))
        object.__setattr__(self, "columns", self.values.columns)

    def value(self, theta: Vector) -> float:
        """strength·Σ σ_i."""
        return self.strength * absolute_sum(self.values.norms(theta))

    def prox(self, v: Vector, step: float) -> Vector:
        """Singular values lowered by step·strength, at most to 0."""
        if self.strength == 0.0:
            return np.array(v, dtype=np.float64)
        split = self.values.split(v)
        return split.joined(np.maximum(0.0, split.sizes - step * self.strength))
