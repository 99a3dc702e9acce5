"""Whether a callable is a set function that a norm can be made of: on every set for few columns, else on a sample."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hullabaloo.errors import HullabalooError, InvalidParameter

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
            f"The set function raised {type(error).__name__} for the columns {_set(columns)}, but it must give a finite number for "
            "every set; check the callable."
        ) from error
    try:
        value = float(found)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise InvalidParameter(
            f"The set function gave {found!r} for the columns {_set(columns)}, but it must give a finite number for every set; "
            "check the callable."
        )
    return value


def table(function: SetCallable, p: int) -> NDArray[np.float64]:
    """F of all 2^p sets, set m holding column j where bit j of m is 1."""
    return np.array([checked_value(function, _columns(m, p)) for m in range(1 << p)])


def refuse_unless_submodular(function: SetCallable, p: int) -> None:
    """`InvalidParameter` for a set where F is not 0, positive, nondecreasing or submodular as it must be."""
    empty = checked_value(function, [])
    if empty != 0.0:
        raise InvalidParameter(
            f"The set function gives {empty} for the empty set, but Ω is a norm only when that is 0; subtract it."
        )
    for j in range(p):
        if checked_value(function, [j]) <= 0.0:
            raise InvalidParameter(
                f"The set function gives {checked_value(function, [j])} for the column {j} alone, but Ω is a norm only "
                "when every column costs something; add a small cost for each."
            )
    if p <= EVERY_SET:
        _check_every_set(table(function, p), p)
    else:
        _check_sample(function, p)


def _check_every_set(values: NDArray[np.float64], p: int) -> None:
    slack = _SLACK * float(np.abs(values).max())
    every = np.arange(values.size)
    for i in range(p):
        without = every[(every >> i) & 1 == 0]
        gain = values[without | 1 << i] - values[without]
        if gain.min() < -slack:
            m = int(without[gain.argmin()])
            _refuse_falling(_columns(m, p), i)
        for j in range(i):
            base = without[(without >> j) & 1 == 0]
            excess = values[base | 1 << i] + values[base | 1 << j] - values[base | 1 << i | 1 << j] - values[base]
            if excess.min() < -slack:
                m = int(base[excess.argmin()])
                _refuse_supermodular(_columns(m | 1 << i, p), _columns(m | 1 << j, p))


def _check_sample(function: SetCallable, p: int) -> None:
    """Sets of all sizes A, and two columns outside: the gain of one must not grow by the other."""
    slack = _SLACK * abs(checked_value(function, range(p)))
    for draw in range(_SAMPLE):
        keys = np.array([_public(draw, j) for j in range(p)], dtype=np.uint64)
        order = np.argsort(keys).tolist()
        i, j, *rest = order
        a = rest[: _public(draw, p) % (p - 1)]
        base, one, other, both = (checked_value(function, [*a, *more]) for more in ([], [i], [j], [i, j]))
        if min(one, other) < base - slack:
            _refuse_falling(a, i if one < base - slack else j)
        if both < max(one, other) - slack:
            _refuse_falling([*a, i] if both < one - slack else [*a, j], j if both < one - slack else i)
        if one + other < both + base - slack:
            _refuse_supermodular([*a, i], [*a, j])


def _refuse_falling(a: Sequence[int], column: int) -> None:
    raise InvalidParameter(
        f"The set function falls when column {column} joins {_set(a)}, but Ω is a norm only when a larger set never "
        "costs less; make the function nondecreasing."
    )


def _refuse_supermodular(a: Sequence[int], b: Sequence[int]) -> None:
    raise InvalidParameter(
        f"The set function is not submodular: for A = {_set(a)} and B = {_set(b)}, F(A) + F(B) is below F(A ∪ B) + "
        "F(A ∩ B), and Ω is not convex then; make a column's cost fall, or stay, as the set around it grows."
    )


def _columns(m: int, p: int) -> list[int]:
    return [j for j in range(p) if m >> j & 1]


def _set(columns: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, sorted(columns))) + "}"


def _public(stream: int, counter: int) -> int:
    """A number of 64 bits that depends on the two counters only (SplitMix64, Steele, Lea and Flood 2014)."""
    mask = (1 << 64) - 1
    z = ((stream << 32) + counter + 1) * 0x9E3779B97F4A7C15 & mask
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return z ^ z >> 31
