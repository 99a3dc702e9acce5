"""Set functions F(A) = g(|A|), for which a sort is all that a norm takes: the cardinality itself, up to a bound, and any concave g."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.codec import Written, settle
from hullabaloo.errors import InvalidParameter, as_whole
from hullabaloo.geometry.checks import Vector, dimension_number, finite_number, listed, vector, whole_number
from hullabaloo.geometry.penalty import soft_threshold
from hullabaloo.geometry.submodular.base import HasGreedyForm, HasProximalForm, SetFunction
from hullabaloo.geometry.width import Width, closed_form, expected_sorted_sum, near_quadrature


def sorted_prox(v: Vector, steps: Vector, weight: float) -> Vector:
    """argmin over u of weight·Σ steps_k |u|_(k) + ½‖u − v‖².

    Signs and order of v are those of u, so that |u| in this order is the nearest falling vector, at least 0, to
    |v| − weight·steps (Bogdan et al. 2015, Proposition 2.2).
    """
    from hullabaloo.geometry.submodular.isotonic_kernels import falling_fit

    size = np.abs(vector(v))
    order = np.argsort(-size)
    if size[order[0]] > 1e280:  # sums would overflow
        return sorted_prox(v * 2.0**-64, steps, weight * 2.0**-64) * 2.0**64
    u = np.empty(size.size)
    u[order] = falling_fit(size[order] - weight * steps, steps, 0.0)
    return np.copysign(u, v) + 0.0


class HasCardinalityForm(SetFunction, HasProximalForm):
    """F(A) = g(|A|) with g concave: Ω is a sum of sorted magnitudes, Σ_k (g(k) − g(k−1)) |w|_(k)."""

    __slots__ = ()

    @abstractmethod
    def steps(self, p: int) -> Vector:
        """g(k) − g(k−1) for k = 1..p, falling and at least 0; (p,)."""

    @final
    def value(self, members: NDArray[np.bool_]) -> float:
        """The sum of the first |A| steps."""
        return float(self.steps(np.size(members))[: np.count_nonzero(members)].sum())

    @final
    def gains(self, order: NDArray[np.int64]) -> Vector:
        """The steps, in any order of the columns."""
        return self.steps(order.size)


class _Sorted(HasCardinalityForm):
    """Whose prox and Gaussian width are those of a sum of sorted magnitudes: all but the plain number of columns."""

    __slots__ = ()

    @final
    def prox(self, v: Vector, weight: float) -> Vector:
        """By a sort and an isotonic regression."""
        return sorted_prox(vector(v, dimension=self.dimension), self.steps(np.size(v)), weight)

    @final
    def gaussian_width(self, p: int) -> Width:
        """Σ_k steps_k E|g|_(k), |g|_(k) the k-th largest of p, by quadrature.

        Source: 001, Section 4.1, widths.
        """
        return near_quadrature(expected_sorted_sum(self.steps(p)))


# The number of columns: its norm is the l1 norm.


@dataclass(frozen=True, slots=True)
class Cardinality(Written, HasCardinalityForm, HasGreedyForm):
    """F(A) = |A|: Ω(w) = ‖w‖₁, Ω*(s) = max|s_j|, |P| the cube of side 2. Any number of columns.

    >>> Cardinality().value(np.array([True, False, True]))
    2.0
    """

    kind = "cardinality"

    dimension = None

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
        """p √(2/π).

        Source: 001, Section 4.1, widths.
        """
        return closed_form(dimension_number(p) * float(np.sqrt(2.0 / np.pi)))


# The number of columns up to a bound: its norm is the sum of the largest magnitudes.


@dataclass(frozen=True, slots=True)
class BoundedCardinality(Written, _Sorted):
    """F(A) = min(|A|, bound): Ω(w) is the sum of the `bound` largest |w_j|, the largest alone for bound 1.

    `bound` a whole number of at least 1, else `InvalidParameter`. Any number of columns.

    >>> BoundedCardinality(2).value(np.array([True, True, True]))
    2.0
    """

    bound: int = 1
    kind = "bounded-cardinality"
    dimension = None

    def __post_init__(self) -> None:
        settle(self, bound=whole_number(self.bound, "The bound of a BoundedCardinality", "give how many columns count"))

    def steps(self, p: int) -> Vector:
        """`bound` ones, then zeros."""
        steps = np.zeros(dimension_number(p))
        steps[: self.bound] = 1.0
        return steps


# A concave function of the number of columns: its norm is the sorted l1 norm.


_WIDEST = 10**8


@dataclass(frozen=True, slots=True)
class ConcaveCardinality(Written, _Sorted):
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
        given = listed(self.weights)
        if given is None:
            raise InvalidParameter(
                f"The weights of a ConcaveCardinality must be a list of numbers, one for each column, but they are {self.weights!r}; give for example [3.0, 2.0, 1.0]."
            )
        weights = tuple(finite_number(w, f"Weight {k} of a ConcaveCardinality") for k, w in enumerate(given))
        array = np.array(weights)
        if weights[0] <= 0.0 or weights[-1] < 0.0 or (np.diff(array) > 0.0).any():
            raise InvalidParameter(
                "The weights of a ConcaveCardinality must fall from a number above 0 to one of at least 0, as Ω is not "
                f"convex otherwise, but they begin with {weights[:4]}; sort them, largest first."
            )
        array.flags.writeable = False
        settle(self, weights=weights, array=array)

    @classmethod
    def power(cls, p: int, exponent: float) -> "ConcaveCardinality":
        """F(A) = |A|^exponent on p columns, 0 < exponent ≤ 1, else `InvalidParameter`."""
        if not 0.0 < finite_number(exponent, "The exponent of a ConcaveCardinality") <= 1.0:
            raise InvalidParameter(
                f"The exponent of a ConcaveCardinality must be above 0 and at most 1, but it is {exponent}; a larger one is not submodular."
            )
        said = f"The columns of a ConcaveCardinality are a whole number from 1 to {_WIDEST:,}, but it is {{!r}}; give the model's own."
        steps = np.diff(np.arange(as_whole(p, said, 1, _WIDEST) + 1.0) ** exponent)
        return cls(tuple(np.minimum.accumulate(steps).tolist()))

    @property
    def dimension(self) -> int | None:
        """The number of weights."""
        return self.array.size

    def steps(self, p: int) -> Vector:
        """The weights."""
        dimension_number(p, self.dimension)
        return self.array
