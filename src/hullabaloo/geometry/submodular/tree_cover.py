"""Covers by the subtrees of a forest on the columns, each column only with all that stand above it, and what all covers share."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from reprlib import repr as short

import numpy as np
from numpy.typing import NDArray

from hullabaloo.codec import Written, settle
from hullabaloo.errors import InvalidParameter, as_whole
from hullabaloo.geometry.checks import Vector, dimension_number, listed, nonnegative_number, positive_number, vector
from hullabaloo.geometry.submodular.base import HasProximalForm, SetFunction
from hullabaloo.geometry.width import Width, by_quadrature

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of indices one after the other: list i is entry[start[i]:start[i + 1]]."""

    start: Indices
    entry: Indices

    @staticmethod
    def of(lengths: Indices, entry: Indices) -> "Lists":
        """Lists of these lengths."""
        return Lists(np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)]), entry)


@dataclass(frozen=True, slots=True)
class Forest:
    """Groups that are nested or disjoint, numbered children first.

    `up` is the next larger group around each, or −1; `weight` its weight; `own` the columns whose smallest group it is.
    """

    up: Indices
    weight: Vector
    own: Lists

    def prox(self, v: Vector, weight: float) -> Vector:
        """argmin over u of weight·Σ weight_G max|u_G| + ½‖u − v‖²."""
        from hullabaloo.geometry.submodular.laminar_kernels import laminar_prox

        def solve(size: Vector, charge: Vector) -> Vector:
            return laminar_prox(size, self.up, charge, self.own.start, self.own.entry)  # type: ignore[no-any-return]

        return signed_prox(v, weight, self.weight, solve)


def group_weights(weights: object, count: int) -> tuple[float, ...]:
    """One positive number for each of `count` groups, 1 for None; else `InvalidParameter`."""
    if weights is None:
        return (1.0,) * count
    given = listed(weights)
    if given is None or len(given) != count:
        raise InvalidParameter(
            f"The weights of a cover must be one positive number for each of its {count} groups, but they are "
            f"{weights!r}; give a list of {count} numbers, or leave them out for 1 each."
        )
    found = tuple(positive_number(weight, f"The weight of group {i}") for i, weight in enumerate(given))
    if not np.isfinite(sum(found)):
        raise InvalidParameter("The weights of the groups add up to more than a float can hold; give smaller ones.")
    return found


def signed_prox(v: Vector, weight: float, weights: Vector, solve: Callable[[Vector, Vector], Vector]) -> Vector:
    """The prox at v by a kernel that takes |v|/2^k, with largest entry in [½, 1), and the charges weight·weights/2^k.

    Ω(u) = f(|u|) with f nondecreasing in each coordinate, so the prox keeps the signs of v, and |u| minimises over
    u ≥ 0 alone. Powers of two lose no digit; so neither huge nor tiny vectors leave the range of floats on the way.
    What is charged beyond twice Σ|v| makes everything 0 and is charged no more than that.
    """
    weight = nonnegative_number(weight, "The weight of the norm in a prox")
    size = np.abs(v)
    largest = float(size.max(initial=0.0))
    if weight == 0.0 or largest == 0.0:
        return v + 0.0
    power = math.frexp(largest)[1]
    digits, exponent = math.frexp(weight)
    with np.errstate(over="ignore", under="ignore"):
        charge = np.minimum(np.ldexp(digits * weights, exponent - power), 2.0 * v.size)
        found = np.ldexp(solve(np.ldexp(size, -power), charge), power)
    return np.copysign(found, v) + 0.0  # never −0.0


def cover_width(sizes: Indices, weights: Vector) -> Width:
    """Σ_i weights_i E max over sizes_i independent standard normals of |g_j|.

    ∫₀^∞ Σ_i weights_i (1 − q(t)^sizes_i) dt with q(t) = P(|g| ≤ t), all groups in one quadrature.
    """
    from scipy.special import erfc

    from hullabaloo.geometry.submodular.cover_kernels import geometric_sums
    from hullabaloo.geometry.width import quadrature_nodes

    t, panel = quadrature_nodes()
    total = np.bincount(sizes, weights=weights)
    return by_quadrature(float(panel @ geometric_sums(np.log1p(-erfc(t / math.sqrt(2.0))), total)))


@dataclass(frozen=True, slots=True)
class TreeCover(Written, SetFunction, HasProximalForm):
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
        parents = _parents(self.parents)
        p = len(parents)
        weights = group_weights(self.weights, p)
        above, charges = np.array(parents, dtype=np.int64), np.array(weights)
        rank = _children_first(parents)
        if rank.size < p:
            column = int(np.setdiff1d(np.arange(p), rank)[0])
            raise InvalidParameter(
                f"The way up from column {column} never ends at a root, because its parents go round in a circle; give −1 as the parent of a column at the top."
            )
        place = np.empty(p + 1, dtype=np.int64)
        place[rank], place[-1] = np.arange(p), -1  # the parent −1 of a root is the last place
        forest = Forest(place[above[rank]], charges[rank], Lists(np.arange(p + 1), rank))
        settle(self, parents=parents, weights=weights, above=above, charges=charges, rank=rank, forest=forest)

    def __repr__(self) -> str:
        """Short, however many columns there are."""
        weights = "" if set(self.weights or ()) == {1.0} else f", weights={short(self.weights)}"
        return f"TreeCover(parents={short(self.parents)}{weights})"

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

        return forest_gains(order, self.above, self.charges)  # type: ignore[no-any-return]

    def prox(self, v: Vector, weight: float) -> Vector:
        """The nearest u to v under weight·Ω, subtree by subtree from the leaves."""
        return self.forest.prox(vector(v, dimension=self.dimension), weight)

    def gaussian_width(self, p: int) -> Width:
        """Σ_j d_j E max over as many standard normals as column j has descendants, itself with them, of |g|."""
        counts = np.ones(dimension_number(p, self.dimension), dtype=np.int64)
        for j in self.rank.tolist():  # children first
            if self.parents[j] >= 0:
                counts[self.parents[j]] += counts[j]
        return cover_width(counts, self.charges)


def _children_first(parents: tuple[int, ...]) -> Indices:
    """Every column after all that stand below it; those that go round in a circle are left out."""
    waiting = np.bincount([parent for parent in parents if parent >= 0], minlength=len(parents)).tolist()
    order = [j for j, below in enumerate(waiting) if not below]
    for j in order:  # grows while it is read
        if parents[j] >= 0:
            waiting[parents[j]] -= 1
            if not waiting[parents[j]]:
                order.append(parents[j])
    return np.array(order, dtype=np.int64)


def _parents(parents: object) -> tuple[int, ...]:
    given = listed(parents)
    if given is None:
        raise InvalidParameter(
            f"The parents of a tree must be a list with the column above each column, but they are {parents!r}; give for example [-1, 0, 0], −1 for a column at the top."
        )
    p = len(given)
    said = "The parent of column {} must be a column from 0 to {}, or −1 at the top, but it is {{!r}}; give whole numbers, one for each column."
    return tuple(as_whole(parent, said.format(j, p - 1), -1, p - 1) for j, parent in enumerate(given))
