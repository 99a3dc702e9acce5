"""The number of columns: its norm is the l1 norm."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.codec import Written
from hullabaloo.geometry.checks import Vector, dimension_number, vector
from hullabaloo.geometry.penalty import soft_threshold
from hullabaloo.geometry.submodular.base import HasGreedyForm, HasProximalForm, SetFunction
from hullabaloo.geometry.submodular.of_cardinality import HasCardinalityForm
from hullabaloo.geometry.width import Width, closed_form


@final
@dataclass(frozen=True, slots=True)
class Cardinality(Written, SetFunction, HasGreedyForm, HasProximalForm, HasCardinalityForm):
    """F(A) = |A|: Ω(w) = ‖w‖₁, Ω*(s) = max|s_j|, |P| the cube of side 2. Any number of columns.

    >>> Cardinality().value(np.array([True, False, True]))
    2.0
    """

    kind = "cardinality"

    dimension = None

    def value(self, members: NDArray[np.bool_]) -> float:
        """|A|."""
        return float(np.count_nonzero(members))

    def gains(self, order: NDArray[np.int64]) -> Vector:
        """Ones."""
        return np.ones(order.size)

    def greedy(self, sizes: Vector) -> Vector:
        """Ones."""
        return np.ones(sizes.size)

    def steps(self, p: int) -> Vector:
        """Ones."""
        return np.ones(dimension_number(p))

    def prox(self, v: Vector, weight: float) -> Vector:
        """Soft threshold: v_j moved towards 0 by the weight, at most to 0."""
        return soft_threshold(vector(v), weight)

    def gaussian_width(self, p: int) -> Width:
        """p √(2/π)."""
        return closed_form(dimension_number(p) * float(np.sqrt(2.0 / np.pi)))
