"""Contiguous supports: a model costs the stretch from its first column to its last."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.codec import Written
from hullabaloo.geometry.checks import Vector, dimension_number, vector, whole_number
from hullabaloo.geometry.submodular.base import HasGreedyForm, HasProximalForm, SetFunction
from hullabaloo.geometry.submodular.tree_cover import largest_magnitudes, signed_prox
from hullabaloo.geometry.width import Width


@final
@dataclass(frozen=True, slots=True)
class Intervals(Written, SetFunction, HasGreedyForm, HasProximalForm):
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
        said = f"The number of columns of Intervals must be a whole number of at least 1, but it is {self.p!r}; "
        if self.p is not None:
            object.__setattr__(self, "p", whole_number(self.p, f"{said}leave it out to serve every number."))

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
        from hullabaloo.geometry.submodular.interval_kernels import interval_gains

        gains: Vector = interval_gains(order)
        return gains

    def greedy(self, sizes: Vector) -> Vector:
        """1 for the largest column of each prefix, each suffix and the whole, O(p)."""
        from hullabaloo.geometry.submodular.cover_kernels import interval_greedy

        s: Vector = interval_greedy(sizes)
        return s

    def prox(self, v: Vector, weight: float) -> Vector:
        """The nearest u to v under weight·Ω: the highest block, then its extension to the left and to the right."""
        from hullabaloo.geometry.submodular.interval_kernels import interval_prox

        v = vector(v, dimension=self.p)
        return signed_prox(v, weight, np.ones(1), lambda size, charge: interval_prox(size, charge[0]))

    def gaussian_width(self, p: int) -> Width:
        """2 Σ_{k<p} E max over k standard normals of |g_j| + that of p."""
        p = dimension_number(p, self.p)
        return largest_magnitudes(np.arange(1, p + 1), np.where(np.arange(1, p + 1) < p, 2.0, 1.0))
