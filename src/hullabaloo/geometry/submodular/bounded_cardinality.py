"""The number of columns up to a bound: its norm is the sum of the largest magnitudes."""

from dataclasses import dataclass
from numbers import Integral
from typing import final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.checks import Vector, dimension_number
from hullabaloo.geometry.submodular.base import HasGreedyForm, HasProximalForm, SetFunction
from hullabaloo.geometry.submodular.of_cardinality import HasCardinalityForm, sorted_prox, sorted_width
from hullabaloo.geometry.width import Width


@final
@dataclass(frozen=True, slots=True)
class BoundedCardinality(Written, SetFunction, HasGreedyForm, HasProximalForm, HasCardinalityForm):
    """F(A) = min(|A|, bound): Ω(w) is the sum of the `bound` largest |w_j|, the largest alone for bound 1.

    `bound` a whole number of at least 1, else `InvalidParameter`. Any number of columns.

    >>> BoundedCardinality(2).value(np.array([True, True, True]))
    2.0
    """

    bound: int = 1
    kind = "bounded-cardinality"
    dimension = None

    def __post_init__(self) -> None:
        if isinstance(self.bound, bool) or not isinstance(self.bound, Integral) or self.bound < 1:
            raise InvalidParameter(
                f"The bound of a BoundedCardinality must be a whole number of at least 1, but it is {self.bound!r}; "
                "give how many columns count."
            )
        object.__setattr__(self, "bound", int(self.bound))

    def value(self, members: NDArray[np.bool_]) -> float:
        """min(|A|, bound)."""
        return float(min(int(np.count_nonzero(members)), self.bound))

    def gains(self, order: NDArray[np.int64]) -> Vector:
        """`bound` ones, then zeros."""
        return self.steps(order.size)

    def greedy(self, sizes: Vector) -> Vector:
        """1 at the `bound` largest, found by a partition."""
        if self.bound >= sizes.size:
            return np.ones(sizes.size)
        least = np.partition(sizes, -self.bound)[-self.bound]
        s: Vector = (sizes > least).astype(np.float64)
        s[np.flatnonzero(sizes == least)[: self.bound - np.count_nonzero(s)]] = 1.0
        return s

    def steps(self, p: int) -> Vector:
        """`bound` ones, then zeros."""
        steps = np.zeros(dimension_number(p))
        steps[: self.bound] = 1.0
        return steps

    def prox(self, v: Vector, weight: float) -> Vector:
        """By a sort and an isotonic regression."""
        return sorted_prox(v, self.steps(np.size(v)), weight)

    def gaussian_width(self, p: int) -> Width:
        """The expected sum of the `bound` largest of p |g_j|, by quadrature."""
        return sorted_width(self.steps(p))
