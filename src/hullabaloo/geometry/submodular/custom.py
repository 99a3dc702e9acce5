"""A set function given as a callable of the user's, checked for what a norm needs: on every set for few columns, else on a sample."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.errors import CapabilityError, HullabalooError, InvalidParameter
from hullabaloo.geometry.checks import Vector, whole_number
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.shapes import polyhedron_width
from hullabaloo.geometry.width import Width

EVERY_SET = 12
_SAMPLE = 200
_SLACK = 1e-9

SetCallable = Callable[[frozenset[int]], float]


def checked_value(function: SetCallable, columns: Sequence[int]) -> float:
    """F of these columns; `InvalidParameter` when it raises (of which only the kind is told) or gives no finite number."""
    try:
        found = function(frozenset(columns))
    except HullabalooError:
        raise
    except Exception as error:  # reason: a user's function may raise anything
        raise InvalidParameter(
            f"The set function raised {type(error).__name__} for the columns {_set(columns)}, but it must give a finite number for every set; check the callable."
        ) from error
    try:
        value = float(found)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise InvalidParameter(
            f"The set function gave {found!r} for the columns {_set(columns)}, but it must give a finite number for every set; check the callable."
        )
    return value


def refuse_unless_submodular(function: SetCallable, p: int) -> None:
    """`InvalidParameter` for a set where F is not 0, positive, nondecreasing or submodular as it must be."""
    known: dict[int, float] = {}

    def value(m: int) -> float:
        """F of the columns j where bit j of m is 1."""
        if m not in known:
            known[m] = checked_value(function, _columns(m))
        return known[m]

    if value(0) != 0.0:
        raise InvalidParameter(
            f"The set function gives {value(0)} for the empty set, but Ω is a norm only when that is 0; subtract it."
        )
    for j in range(p):
        if value(1 << j) <= 0.0:
            raise InvalidParameter(
                f"The set function gives {value(1 << j)} for the column {j} alone, but Ω is a norm only when every column costs something; add a small cost for each."
            )
    slack = _SLACK * abs(value((1 << p) - 1))
    for m, i, j in _pairs(p):
        first, second = m | 1 << i, m | 1 << j
        base, one, other, both = value(m), value(first), value(second), value(first | second)
        if min(one, other) < base - slack:
            _refuse_falling(_columns(m), i if one < base - slack else j)
        if both < max(one, other) - slack:
            _refuse_falling(_columns(first if both < one - slack else second), j if both < one - slack else i)
        if one + other < both + base - slack:
            raise InvalidParameter(
                f"The set function is not submodular: for A = {_set(_columns(first))} and B = {_set(_columns(second))}, F(A) + F(B) is below "
                "F(A ∪ B) + F(A ∩ B), and Ω is not convex then; make a column's cost fall, or stay, as the set around it grows."
            )


def _pairs(p: int) -> Iterator[tuple[int, int, int]]:
    """A set, and two columns outside: all of them for few columns, else a fixed public sample with sets of all sizes."""
    if p <= EVERY_SET:
        for i, j in combinations(range(p), 2):
            yield from ((m, i, j) for m in range(1 << p) if not m & (1 << i | 1 << j))
        return
    for draw in range(_SAMPLE):
        i, j, *rest = sorted(range(p), key=partial(_public, draw))
        yield sum(1 << column for column in rest[: _public(draw, p) % (p - 1)]), i, j


def _refuse_falling(a: Sequence[int], column: int) -> None:
    raise InvalidParameter(
        f"The set function falls when column {column} joins {_set(a)}, but Ω is a norm only when a larger set never costs less; make the function nondecreasing."
    )


def _columns(m: int) -> list[int]:
    return [j for j in range(m.bit_length()) if m >> j & 1]


def _set(columns: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, sorted(columns))) + "}"


def _public(stream: int, counter: int) -> int:
    """A number of 64 bits that depends on the two counters only."""
    return int.from_bytes(blake2b(f"{stream} {counter}".encode(), digest_size=8).digest())


# A set function given as a callable of the user's, checked for what a norm needs.


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
                f"A CustomSetFunction is made of a callable, but it was given {self.function!r}; give a function of a frozenset of column numbers."
            )
        p = whole_number(self.p, "The p of a CustomSetFunction", "give the number of columns")
        object.__setattr__(self, "p", p)
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
