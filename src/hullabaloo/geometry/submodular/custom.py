"""A set function given as a callable of the user's, checked for what a norm needs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry.checks import Vector
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.custom_checks import checked_value, refuse_unless_submodular
from hullabaloo.geometry.submodular.width_bounds import polyhedron_width
from hullabaloo.geometry.width import Width


@final
@dataclass(frozen=True, slots=True, repr=False)
class CustomSetFunction(SetFunction):
    """F(A) = function(A), `function` a callable of a frozenset of the columns 0..p−1 that gives a number.

    F must be 0 at the empty set, positive at single columns, nondecreasing and submodular: F(A) + F(B) ≥ F(A ∪ B) +
    F(A ∩ B). `check` tries these at construction, for p ≤ 12 on every set, else on a fixed public sample of sets (which
    can miss a fault), and names the sets of a violation in an `InvalidParameter`; check=False leaves it to the caller.
    The function must be public and always give the same numbers.

    Hidden costs: p calls a greedy vertex or a value of Ω, p calls a step of the minimum-norm point (tens to hundreds of
    steps a prox). Two are equal when they have the same callable and p. A callable cannot be written down: `to_dict`
    is a `CapabilityError`.

    >>> CustomSetFunction(lambda columns: len(columns) ** 0.5, 9).value(np.arange(9) < 4)
    2.0
    """

    function: Callable[[frozenset[int]], float]
    p: int
    check: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InvalidParameter(
                f"A CustomSetFunction is made of a callable, but it was given {self.function!r}; give a function of a "
                "frozenset of column numbers."
            )
        if isinstance(self.p, bool) or not isinstance(self.p, Integral) or self.p < 1:
            raise InvalidParameter(
                f"The p of a CustomSetFunction must be a whole number of at least 1, but it is {self.p!r}; give the "
                "number of columns."
            )
        object.__setattr__(self, "p", int(self.p))
        if self.check:
            refuse_unless_submodular(self.function, self.p)

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"CustomSetFunction({name}, p={self.p})"

    @property
    def dimension(self) -> int | None:
        """p."""
        return self.p

    def value(self, members: NDArray[np.bool_]) -> float:
        """function(A)."""
        return checked_value(self.function, np.flatnonzero(members).tolist())

    def gains(self, order: NDArray[np.int64]) -> Vector:
        """Differences of p calls."""
        columns = order.tolist()
        values = [checked_value(self.function, columns[:k]) for k in range(1, len(columns) + 1)]
        return np.maximum(0.0, np.diff(values, prepend=0.0))

    def gaussian_width(self, p: int) -> Width:
        """Exact for p ≤ 10, else between bounds."""
        return polyhedron_width(self, p)

    def to_dict(self) -> dict[str, Any]:
        """A `CapabilityError`: a callable has no text form."""
        raise CapabilityError(
            f"{self!r} cannot be written down, as it is made of a callable; use a named set function, such as a "
            "GroupCover or a ConcaveCardinality, where a model must be saved or described."
        )
