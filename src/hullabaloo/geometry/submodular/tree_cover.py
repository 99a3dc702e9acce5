"""Covers by the subtrees of a forest on the columns: a column enters a model only with all that stand above it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from reprlib import Repr
from typing import final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.checks import Vector, dimension_number, vector
from hullabaloo.geometry.submodular.base import HasGreedyForm, HasProximalForm, SetFunction
from hullabaloo.geometry.submodular.cover_parts import Forest, Indices, Lists, group_weights, largest_magnitudes
from hullabaloo.geometry.width import Width

_SHORT = Repr()


@final
@dataclass(frozen=True, slots=True)
class TreeCover(Written, SetFunction, HasGreedyForm, HasProximalForm):
    """F(A) = Σ d_j over all columns j at or above a column of A: Ω(w) = Σ_j d_j max |w| over j and its descendants.

    The `GroupCover` whose group j is column j and all that descends from it, in memory p whatever the depth. Supports
    are closed upwards: each column only with its parent (Zhao, Rocha, Yu 2009).

    `parents`: for each column the one above it, or −1 for a root; no cycles. `weights`: one positive number a column;
    1 by default. Else `InvalidParameter`.

    **Guarantee.** `prox` is within 2^-48 of ‖v‖ of the exact one, in O(p log p) whatever the depth: composition of
    the proxes of the subtrees, leaves first (Jenatton, Mairal, Obozinski, Bach 2011, Theorem 1); see `laminar_prox`.

    >>> TreeCover([-1, 0, 0]).value(np.array([False, True, False]))
    2.0
    """

    parents: tuple[int, ...]
    weights: tuple[float, ...] | None = None
    above: Indices = field(init=False, repr=False, compare=False)
    charges: Vector = field(init=False, repr=False, compare=False)
    rank: Indices = field(init=False, repr=False, compare=False)
    forest: Forest = field(init=False, repr=False, compare=False)
    kind = "tree-cover"

    def __post_init__(self) -> None:
        from hullabaloo.geometry.submodular.laminar_kernels import children_first

        parents = _parents(self.parents)
        p = len(parents)
        weights = group_weights(self.weights, p)
        above, charges = np.array(parents, dtype=np.int64), np.array(weights)
        rank = children_first(above)
        if rank.size < p:
            column = int(np.setdiff1d(np.arange(p), rank)[0])
            raise InvalidParameter(
                f"The way up from column {column} never ends at a root, because its parents go round in a circle; "
                "give −1 as the parent of a column at the top."
            )
        place = np.empty(p + 1, dtype=np.int64)
        place[rank], place[-1] = np.arange(p), -1  # the parent −1 of a root is the last place
        object.__setattr__(self, "parents", parents)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "above", above)
        object.__setattr__(self, "charges", charges)
        object.__setattr__(self, "rank", rank)
        object.__setattr__(self, "forest", Forest(place[above[rank]], charges[rank], Lists(np.arange(p + 1), rank)))

    def __repr__(self) -> str:
        """Short, however many columns there are."""
        weights = "" if set(self.weights or ()) == {1.0} else f", weights={_SHORT.repr(self.weights)}"
        return f"TreeCover(parents={_SHORT.repr(self.parents)}{weights})"

    @property
    def dimension(self) -> int | None:
        """The number of columns."""
        return len(self.parents)

    def value(self, members: NDArray[np.bool_]) -> float:
        """The weights of the columns at or above a member."""
        return float(self.gains(np.flatnonzero(members)).sum())

    def gains(self, order: NDArray[np.int64]) -> Vector:
        """For each column its own weight and those above it, up to the first that an earlier column has paid."""
        from hullabaloo.geometry.submodular.cover_kernels import forest_gains

        gains: Vector = forest_gains(order, self.above, self.charges)
        return gains

    def greedy(self, sizes: Vector) -> Vector:
        """Each weight at the largest column there or below, O(p) whatever the depth."""
        from hullabaloo.geometry.submodular.cover_kernels import forest_greedy

        s: Vector = forest_greedy(sizes, self.rank, self.forest.up, self.forest.weight)
        return s

    def prox(self, v: Vector, weight: float) -> Vector:
        """The nearest u to v under weight·Ω, subtree by subtree from the leaves."""
        return self.forest.prox(vector(v, dimension=self.dimension), weight)

    def gaussian_width(self, p: int) -> Width:
        """Σ_j d_j E max over as many standard normals as column j has descendants, itself with them, of |g|."""
        from hullabaloo.geometry.submodular.cover_kernels import counts_below

        dimension_number(p, self.dimension)
        return largest_magnitudes(counts_below(self.rank, self.above), self.charges)


def _parents(parents: object) -> tuple[int, ...]:
    given = parents.tolist() if isinstance(parents, np.ndarray) else parents
    if not isinstance(given, Sequence) or isinstance(given, str) or not len(given):
        raise InvalidParameter(
            f"The parents of a tree must be a list with the column above each column, but they are {parents!r}; "
            "give for example [-1, 0, 0], −1 for a column at the top."
        )
    p = len(given)
    for j, parent in enumerate(given):
        if isinstance(parent, bool) or not isinstance(parent, Integral) or not -1 <= int(parent) < p:
            raise InvalidParameter(
                f"The parent of column {j} must be a column from 0 to {p - 1}, or −1 at the top, but it is {parent!r}; "
                "give whole numbers, one for each column."
            )
    return tuple(int(parent) for parent in given)
