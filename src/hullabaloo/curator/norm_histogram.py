"""The query that counts records: how many have gradients of which length."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hullabaloo.curator.centred_gradient import with_lengths
from hullabaloo.curator.centred_gradient_kernels import PLAIN, dense_counts, sparse_counts
from hullabaloo.curator.known import coefficients, numbers
from hullabaloo.curator.query import Array, NoisySum, State
from hullabaloo.curator.views import AffineView, public_view
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import Loss
from hullabaloo.privacy import Neighbours


@dataclass(frozen=True)
class NormHistogramQuery(NoisySum):
    """How many records have `|φ'| ‖D(x − m)‖₂` between given edges, with Gaussian noise on each number.

    **Guarantee.** A record (of positive weight) is counted in exactly one bin: adding or removing it changes one number by 1,
    replacing it at most two numbers by 1 each, an l2 distance of `√2`. This holds for every θ, view and edges, so each may be
    chosen anew for every answer from earlier ones. Where rows count alike but for public weights v ≤ 1 it is counted v times, in cells of 2^-36.
    Whole counts are exact below 2^53. A length that is not a number is counted in the lowest bin.
    """

    loss: Loss
    bins: int

    name: ClassVar[str] = "norm_histogram"
    key_label: ClassVar[str] = "scales"
    tells: ClassVar[tuple[str, ...]] = ("loss",)
    any_matrix: ClassVar[bool] = True

    @property
    def length(self) -> int:
        """One number for each bin."""
        return self.bins

    @cached_property
    def contribution(self) -> float:
        """1 at full weight W, by which the bound is multiplied."""
        return 1.0 / self.facts.max_weight

    @cached_property
    def record_sensitivity(self) -> float:
        """1 (add-or-remove) or √2 (replace-one; rounded up)."""
        return math.nextafter(math.sqrt(2.0), 2.0) if self.neighbours is Neighbours.REPLACE_ONE else 1.0

    def question(
        self, theta: Any, *, centre: Any, intercept_weight: Any, edges: Any
    ) -> tuple[Array | None, AffineView, Array]:
        """θ (None: φ' ≡ 1), from where records are measured, and the ends of the bins."""
        view, ends = public_view(centre, intercept_weight, self.facts), numbers(edges)
        if ends.shape != (self.bins - 1,) or not np.all(np.diff(ends) > 0.0):
            raise InvalidParameter(
                f"A histogram of {self.bins} bins was paid for, which needs {self.bins - 1} rising edges, not {ends.size}."
            )
        point = None if theta is None else coefficients(theta, (self.facts.width,), "a histogram of lengths")
        return point, view, ends

    def partial(self, rows: Rows, theta: Array | None, view: AffineView, edges: Array) -> State:
        """How many records lie below `edges[0]`, from there to `edges[1]`, …"""
        point = np.zeros(self.facts.width) if theta is None else theta
        loss = (PLAIN, point) if theta is None else self.kernel
        return with_lengths(self, rows, view, (dense_counts, sparse_counts), point, *loss, edges, self.facts.alike)
