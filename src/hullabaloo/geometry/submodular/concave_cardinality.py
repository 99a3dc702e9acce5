"""A concave function of the number of columns: its norm is the sorted l1 norm."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.codec import Written
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.checks import Vector, dimension_number, finite_number, vector
from hullabaloo.geometry.submodular.base import HasProximalForm, SetFunction
from hullabaloo.geometry.submodular.of_cardinality import HasCardinalityForm, sorted_prox, sorted_width
from hullabaloo.geometry.width import Width

_WIDEST = 10**8


@final
@dataclass(frozen=True, slots=True)
class ConcaveCardinality(Written, SetFunction, HasProximalForm, HasCardinalityForm):
    """F(A) = weights_1 + … + weights_|A|: Ω(w) = Σ_k weights_k |w|_(k), the sorted l1 norm (Bogdan et al. 2015).

    `weights` holds a number for each column: the first above 0, falling, none below 0, finite; else
    `InvalidParameter`. Steep weights favour few columns, and draw large coefficients together (OSCAR, Bondell and
    Reich 2008).

    >>> ConcaveCardinality([3.0, 1.0, 0.5]).value(np.array([True, False, True]))
    4.0
    """

    weights: tuple[float, ...]
    array: Vector = field(init=False, repr=False, compare=False)
    kind = "concave-cardinality"

    def __post_init__(self) -> None:
        given = self.weights.tolist() if isinstance(self.weights, np.ndarray) else self.weights
        if not isinstance(given, Sequence) or isinstance(given, str) or not given:
            raise InvalidParameter(
                f"The weights of a ConcaveCardinality must be a list of numbers, one for each column, but they are "
                f"{self.weights!r}; give for example [3.0, 2.0, 1.0]."
            )
        weights = tuple(finite_number(w, f"Weight {k} of a ConcaveCardinality") for k, w in enumerate(given))
        array = np.array(weights)
        if weights[0] <= 0.0 or weights[-1] < 0.0 or (np.diff(array) > 0.0).any():
            raise InvalidParameter(
                "The weights of a ConcaveCardinality must fall from a number above 0 to one of at least 0, as Ω is not "
                f"convex otherwise, but they begin with {weights[:4]}; sort them, largest first."
            )
        array.flags.writeable = False
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "array", array)

    @classmethod
    def power(cls, p: int, exponent: float) -> "ConcaveCardinality":
        """F(A) = |A|^exponent on p columns, 0 < exponent ≤ 1, else `InvalidParameter`."""
        if not 0.0 < finite_number(exponent, "The exponent of a ConcaveCardinality") <= 1.0:
            raise InvalidParameter(
                f"The exponent of a ConcaveCardinality must be above 0 and at most 1, but it is {exponent}; a larger "
                "one is not submodular."
            )
        if isinstance(p, bool) or not isinstance(p, Integral) or not 1 <= p <= _WIDEST:
            raise InvalidParameter(
                f"The number of columns of a ConcaveCardinality must be a whole number from 1 to {_WIDEST:,}, but it is {p!r}; give the "
                "model's own."
            )
        steps = np.diff(np.arange(p + 1.0) ** exponent)
        return cls(tuple(np.minimum.accumulate(steps).tolist()))

    @property
    def dimension(self) -> int | None:
        """The number of weights."""
        return self.array.size

    def value(self, members: NDArray[np.bool_]) -> float:
        """The sum of the first |A| weights."""
        return float(self.array[: np.count_nonzero(members)].sum())

    def gains(self, order: NDArray[np.int64]) -> Vector:
        """The weights."""
        return self.array

    def steps(self, p: int) -> Vector:
        """The weights."""
        dimension_number(p, self.dimension)
        return self.array

    def prox(self, v: Vector, weight: float) -> Vector:
        """By a sort and an isotonic regression."""
        return sorted_prox(vector(v, dimension=self.dimension), self.array, weight)

    def gaussian_width(self, p: int) -> Width:
        """Σ_k weights_k E|g|_(k), |g|_(k) the k-th largest of p, by quadrature."""
        return sorted_width(self.steps(p))
