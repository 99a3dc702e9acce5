"""A vector seen through sizes: the norms of its blocks, or the singular values of the matrix it is the rows of.

Group and nuclear balls, penalties and mirror maps are functions of the sizes alone, so that each of them is a
one-dimensional matter once the vector is taken apart: `split`, change the sizes, `joined`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hullabaloo.codec import settle
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.checks import Vector, column_groups, dimension_number, require_all, vector, whole_number


@dataclass(frozen=True, slots=True)
class Split:
    """A vector's sizes, and the vector with its directions and other sizes: `joined(sizes)`; what is 0 has no direction and stays 0."""

    sizes: Vector
    joined: Callable[[Vector], Vector]


@dataclass(frozen=True, slots=True)
class Blocks:
    """A partition of the coordinates 0..p−1 into groups, each a list of column indices.

    No group is empty, no column is in two groups or missing from 0 to the largest, else `InvalidParameter`.
    """

    groups: tuple[tuple[int, ...], ...]
    label: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    lengths: NDArray[np.int64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        groups = tuple(map(tuple, column_groups(self.groups, "The groups", "[[0, 1], [2, 3, 4]]")))
        require_all(groups, "every column must be in one")
        columns = np.array([column for group in groups for column in group], dtype=np.int64)
        lengths = np.array([len(group) for group in groups], dtype=np.int64)
        label = np.full(columns.size, -1, dtype=np.int64)
        owner = np.repeat(np.arange(len(groups)), lengths)
        seen = np.bincount(columns, minlength=columns.size)
        if (seen > 1).any():
            column = int(np.flatnonzero(seen > 1)[0])
            holders = [int(i) for i in owner[columns == column]]
            raise InvalidParameter(
                f"Column {column} is in groups {holders}, but groups must not overlap: each column's coefficient is shrunk with one group; leave it in one of them."
            )
        label[columns] = owner
        label.flags.writeable = lengths.flags.writeable = False
        settle(self, groups=groups, label=label, lengths=lengths)

    @property
    def dimension(self) -> int:
        """p, the number of columns in all groups."""
        return self.label.size

    @property
    def count(self) -> int:
        """The number of groups."""
        return self.lengths.size

    def norms(self, v: Vector) -> Vector:
        """‖v_G‖₂ for each group G."""
        v = vector(v, dimension=self.dimension)
        largest = np.zeros(self.count)
        np.maximum.at(largest, self.label, np.abs(v))
        if not ((largest == 0.0) | (largest >= 1e-140) & (largest <= 1e140)).all():  # squares would leave the floats
            unit = np.where(largest > 0.0, largest, 1.0)[self.label]
            return largest * np.sqrt(np.bincount(self.label, (v / unit) ** 2, self.count))
        return np.sqrt(np.bincount(self.label, v * v, self.count))

    def split(self, v: Vector) -> Split:
        """v and the norms of its blocks."""
        v = vector(v, dimension=self.dimension)
        sizes = self.norms(v)

        def joined(changed: Vector) -> Vector:
            old, new = sizes[self.label], changed[self.label]
            there = (old > 0.0) & (new > 0.0)
            moved = np.divide(v, old, out=np.zeros(v.size), where=there) * new
            return np.where(there & (new == old), v, moved)

        return Split(sizes, joined)

    def lengths_counted(self) -> tuple[tuple[int, int], ...]:
        """(length, how many groups have it), rising."""
        lengths, counts = np.unique(self.lengths, return_counts=True)
        return tuple(zip(lengths.tolist(), counts.tolist(), strict=True))

    def columns_of(self, group: int) -> NDArray[np.intp]:
        """The columns of one group, in order."""
        return np.flatnonzero(self.label == group)


@dataclass(frozen=True, slots=True)
class SingularValues:
    """Vectors of m·columns numbers, the rows of a matrix with that many columns one after the other."""

    columns: int

    def __post_init__(self) -> None:
        columns = whole_number(self.columns, "The number of columns of the matrix", "give the number of targets")
        settle(self, columns=columns)

    def shape(self, p: int) -> tuple[int, int]:
        """(m, columns) with m·columns = p, else `InvalidParameter`."""
        rows, rest = divmod(dimension_number(p), self.columns)
        if rest:
            raise InvalidParameter(
                f"{p} coordinates are not the rows of a matrix with {self.columns} columns, as {p} is no multiple of {self.columns}; give the number of targets as columns."
            )
        return rows, self.columns

    def matrix(self, v: Vector) -> Vector:
        """The vector as a matrix, row by row."""
        v = vector(v)
        return v.reshape(self.shape(v.size))

    def norms(self, v: Vector) -> Vector:
        """The singular values, falling."""
        return np.asarray(np.linalg.svd(self.matrix(v), compute_uv=False), dtype=np.float64)

    def split(self, v: Vector) -> Split:
        """The singular value decomposition U diag(sizes) Vᵀ."""
        left, values, right = np.linalg.svd(self.matrix(v), full_matrices=False)

        def joined(sizes: Vector) -> Vector:
            kept = int(np.flatnonzero(sizes).max(initial=-1)) + 1
            matrix: Vector = (left[:, :kept] * sizes[:kept]) @ right[:kept]
            return matrix.ravel()

        return Split(values, joined)


Parts = Blocks | SingularValues
