"""Covers by groups that may overlap, the squares and half-planes of a grid and the ends of a line among them: a support costs the groups it touches."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from reprlib import repr as short

import numpy as np
from numpy.typing import NDArray

from hullabaloo.codec import Written, settle
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.checks import Vector, column_groups, dimension_number, require_all, vector, whole_number
from hullabaloo.geometry.submodular.base import HasProximalForm, SetFunction
from hullabaloo.geometry.submodular.tree_cover import Forest, Lists, TreeCover, cover_width, group_weights, signed_prox
from hullabaloo.geometry.width import Width


def grid_groups(rows: int, columns: int, window: int | None) -> tuple[tuple[int, ...], ...]:
    """All window×window squares that meet a grid, cut off at its border; without a window its half-planes.

    Pixels are numbered row by row. A side shorter than the window counts as the window's: in a single row windows are stretches. Half-planes are the first 1, …, rows − 1 rows, the last 1, …, rows − 1 rows, columns likewise, and once the whole.
    """
    rows, columns = _side(rows, "rows"), _side(columns, "columns")
    pixels = np.arange(rows * columns).reshape(rows, columns)
    if window is not None:
        k = _side(window, "rows of a window")
        if k > max(rows, columns):
            raise InvalidParameter(f"A window of {k}×{k} does not fit a grid of {rows}×{columns}; give a smaller one.")
        high, wide = min(k, rows), min(k, columns)
        places = itertools.product(range(1 - high, rows), range(1 - wide, columns))
        return tuple(tuple(pixels[max(i, 0) : i + high, max(j, 0) : j + wide].ravel().tolist()) for i, j in places)
    sides = [pixels[:i] for i in range(1, rows)] + [pixels[i:] for i in range(1, rows)]
    sides += [pixels[:, :j] for j in range(1, columns)] + [pixels[:, j:] for j in range(1, columns)]
    return tuple(tuple(side.ravel().tolist()) for side in [*sides, pixels])


def _side(number: object, what: str) -> int:
    return whole_number(number, f"The number of {what} of a grid", "give the shape of the image")


# Covers by groups that may overlap: a support costs the groups it touches.


@dataclass(frozen=True, slots=True)
class GroupCover(Written, SetFunction, HasProximalForm):
    """F(A) = Σ_G d_G 1[A ∩ G ≠ ∅] for groups G of columns, which may overlap: Ω(w) = Σ_G d_G max_{j∈G} |w_j|.

    The columns at 0 are a union of groups, so that supports are what unions of groups leave (Jenatton, Audibert, Bach
    2011). Disjoint groups enter a model whole or not at all; prefixes and suffixes of a line leave an interval.

    `groups`: lists of column numbers 0, 1, …, no column twice in one group, every column up to the largest in some
    group; a group given twice counts twice. `weights`: d_G, one positive number a group; 1 for each by default. Else
    `InvalidParameter`. Memory and gains take O(p + Σ|G|).

    **Guarantee.** `prox` is within 2^-48 of ‖v‖ of the exact one. Groups that are nested or disjoint, which is found
    out here: composition of the proxes of the groups, innermost first (`laminar_prox`; proof: Jenatton, Mairal,
    Obozinski, Bach 2011, Theorem 1), levels being ratios of sums that keep their rounding. Groups that cross: divide and conquer
    over minimum cuts (`cover_prox`; proof for exact numbers: Groenevelt 1991, Mairal et al. 2010). Cuts are of flows in
    whole multiples of η = 2^-61 of the largest ‖v_G‖₁, so that s = v − u obeys s(A) ≤ weight·F(A) + δ for all A, with
    δ = O(η(p + groups)). Since s is tight on the level sets of u, and those of the exact u* are others only at levels
    within ‖u − u*‖_∞ of one of the k values of u, ‖u − u*‖² ≤ ⟨s, u*⟩ − weight·Ω(u*) ≤ 2kδ‖u − u*‖: the error is at
    most 2kδ. That it stays below 2^-48 of ‖v‖ is tested against rational arithmetic, not proved.

    >>> GroupCover([[0, 1], [1, 2]]).value(np.array([False, True, False]))
    2.0
    >>> GroupCover([[0, 1], [2]]).prox(np.array([3.0, 2.5, -0.5]), 1.0)
    array([2.25, 2.25, 0.  ])
    """

    groups: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...] | None = None
    lists: Lists = field(init=False, repr=False, compare=False)
    dimension: int = field(init=False, repr=False, compare=False)  # one more than the largest column in a group
    charges: Vector = field(init=False, repr=False, compare=False)
    forest: Forest | None = field(init=False, repr=False, compare=False)
    kind = "group-cover"

    def __post_init__(self) -> None:
        groups = _groups(self.groups)
        weights = group_weights(self.weights, len(groups))
        require_all(groups, "a column outside of all groups would cost nothing")
        lists = Lists.of(np.fromiter(map(len, groups), np.int64), np.fromiter(chain.from_iterable(groups), np.int64))
        p = int(lists.entry.max()) + 1
        settle(self, groups=groups, weights=weights, lists=lists, dimension=p)
        settle(self, charges=np.array(weights), forest=_forest(lists, np.array(weights), p))

    def __repr__(self) -> str:
        """Short, however many groups there are."""
        weights = "" if set(self.weights or ()) == {1.0} else f", weights={short(self.weights)}"
        return f"GroupCover(groups={short(self.groups)}{weights})"

    @classmethod
    def tree(cls, parents: Sequence[int], weights: Sequence[float] | None = None) -> TreeCover:
        """A group for each column: the column and all that descends from it; parents[j] is the column above j, or −1.

        A column is in the support only with all that stand above it, so supports are the tops of the trees: each a
        root with branches cut off somewhere. A term and its interactions, a region and its parts, a low frequency and
        the higher ones that refine it. Chains (each column has one child) leave a first stretch of the chain.
        """
        return TreeCover(parents, weights)  # type: ignore[arg-type]

    @classmethod
    def grid(cls, rows: int, columns: int, window: int | None = None) -> "GroupCover":
        """Pixels of an image, row by row: column i·columns + j of the model stands at row i, place j.

        `window=None`: the half-planes of all rows above, below, to the left and to the right of each line of the grid,
        and the whole: F(A) = rows + columns − 3 + the height + the width of the rectangle around A. What is 0 is a
        union of half-planes, so that supports fill rectangles: one patch wherever it is, in two dimensions what
        `Intervals` is in one.

        `window=k`: all k×k squares, cut off at the border. A pixel touches k² squares and its neighbours mostly the same ones, so that
        a few compact patches of any outline are cheap and scattered pixels dear; what is 0 is a union of squares, so
        that holes and gaps are at least k wide. Every pixel alone costs the same, F({j}) = k² (k in a single row or column,
        where windows are stretches of k).
        """
        return cls(grid_groups(rows, columns, window))

    def value(self, members: NDArray[np.bool_]) -> float:
        """The weights of the groups that meet A."""
        met = np.logical_or.reduceat(np.asarray(members, dtype=bool)[self.lists.entry], self.lists.start[:-1])
        return float(self.charges[met].sum())

    def gains(self, order: NDArray[np.int64]) -> Vector:
        """For each column the weights of the groups that it is the first to touch."""
        place = np.full(self.dimension, order.size)
        place[order] = np.arange(order.size)
        first = np.minimum.reduceat(place[self.lists.entry], self.lists.start[:-1])  # of each group
        return np.asarray(np.bincount(first, self.charges, order.size + 1)[: order.size], dtype=np.float64)

    def prox(self, v: Vector, weight: float) -> Vector:
        """The nearest u to v under weight·Σ d_G max|u_G|: magnitudes lowered group by group, or by minimum cuts."""
        v = vector(v, dimension=self.dimension)
        if self.forest is not None:
            return self.forest.prox(v, weight)
        from hullabaloo.geometry.submodular.flow_kernels import cover_prox

        start, entry = self.lists.start, self.lists.entry
        return signed_prox(v, weight, self.charges, lambda size, charge: cover_prox(size, charge, start, entry))

    def gaussian_width(self, p: int) -> Width:
        """Σ_G d_G E max over |G| standard normals of |g_j|."""
        dimension_number(p, self.dimension)
        return cover_width(np.diff(self.lists.start), self.charges)


def _groups(groups: object) -> tuple[tuple[int, ...], ...]:
    found = []
    for i, group in enumerate(column_groups(groups, "The groups of a cover", "[[0, 1], [1, 2, 3]]")):
        once = sorted(set(group))
        if len(once) < len(group):
            twice = next(column for column in once if list(group).count(column) > 1)
            raise InvalidParameter(f"Group {i} holds column {twice} twice, which adds nothing; give each column once.")
        found.append(tuple(once))
    return tuple(found)


def _forest(lists: Lists, weights: Vector, p: int) -> Forest | None:
    """The groups as a forest when each two are nested or disjoint; None when two cross."""
    from hullabaloo.geometry.submodular.laminar_kernels import nesting

    lengths = np.diff(lists.start)
    rising = np.argsort(lengths, kind="stable")
    if lists.entry.size == p:  # disjoint
        return Forest(np.full(lengths.size, -1), weights, lists)
    start = Lists.of(lengths[rising], lists.entry).start
    spot = np.arange(lists.entry.size) - np.repeat(start[:-1] - lists.start[rising], lengths[rising])
    up, inner = nesting(start, lists.entry[spot], p)
    if not up.size:
        return None
    columns = np.argsort(inner, kind="stable")
    return Forest(up, weights[rising], Lists.of(np.bincount(inner, minlength=lengths.size), columns))


# Contiguous supports: a model costs the stretch from its first column to its last.


@dataclass(frozen=True, slots=True)
class Intervals(Written, SetFunction, HasProximalForm):
    """F(A) = p − 1 + (max A − min A + 1) for A ≠ ∅: supports are stretches of neighbouring columns.

    For columns with an order: wavelengths of a spectrum, positions on a chromosome, hours. `p` is the number of
    columns, a whole number of at least 1, or None to serve every number; else `InvalidParameter`.

    The length alone is not submodular: {0} ∪ {2} is longer than the two together. A constant of p − 2 for A ≠ ∅ makes it
    so, and one of p − 1 a cover with the whole in it: by the p − 1 prefixes {0..i}, i < p − 1, the p − 1 suffixes
    {i..p−1}, i > 0, and the whole, each of weight 1. For A meets the prefixes with i ≥ min A, p − 1 − min A of them,
    the suffixes with i ≤ max A, max A of them, and the whole.
    Hence Ω(w) = Σ_{i<p−1} max_{j≤i} |w_j| + Σ_{i>0} max_{j≥i} |w_j| + max|w|.
    One block of length m and height h has Ω = (p − 1 + m)·h: strengths and radii are to be read on that scale.

    **Guarantee.** `prox` is within 2^-48 of ‖v‖ of the exact one. Proof: {u > t} minimises weight·F(A) − Σ_A (|v_j| − t)
    (Bach 2013, Proposition 8.3), sets that grow as t falls. Once A spans l..r, more columns in there cost nothing, and
    F grows by how far A reaches beyond l and beyond r, two chains of their own; so only the highest level needs a
    search (`interval_prox`). Levels are ratios of sums that keep their rounding. O(p log p), and a few passes to search.

    >>> Intervals().value(np.array([False, True, False, True, False]))
    7.0
    >>> Intervals().prox(np.array([0.0, 3.0, 4.0, 0.0, -0.5]), 0.5)
    array([0., 2., 2., 0., 0.])
    """

    p: int | None = None
    kind = "intervals"

    def __post_init__(self) -> None:
        if self.p is not None:
            p = whole_number(self.p, "The number of columns of Intervals", "leave it out to serve every number")
            settle(self, p=p)

    @property
    def dimension(self) -> int | None:
        """The number of columns, or None."""
        return self.p

    def value(self, members: NDArray[np.bool_]) -> float:
        """p − 1 + the stretch from the first member to the last; 0 for none."""
        found = np.flatnonzero(members)
        return float(np.size(members) + found[-1] - found[0]) if found.size else 0.0

    def gains(self, order: NDArray[np.int64]) -> Vector:
        """p for the first, then what each adds to the stretch."""
        stretch, gains = np.maximum.accumulate(order) - np.minimum.accumulate(order), np.empty(order.size)
        gains[0], gains[1:] = order.size, stretch[1:] - stretch[:-1]
        return gains

    def prox(self, v: Vector, weight: float) -> Vector:
        """The nearest u to v under weight·Ω: the highest block, then its extension to the left and to the right."""
        from hullabaloo.geometry.submodular.laminar_kernels import interval_prox

        v = vector(v, dimension=self.p)
        return signed_prox(v, weight, np.ones(1), lambda size, charge: interval_prox(size, charge[0]))

    def gaussian_width(self, p: int) -> Width:
        """2 Σ_{k<p} E max over k standard normals of |g_j| + that of p."""
        p = dimension_number(p, self.p)
        return cover_width(np.arange(1, p + 1), np.where(np.arange(1, p + 1) < p, 2.0, 1.0))
