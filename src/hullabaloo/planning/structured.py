"""Coefficients of a structure's own kind, for synthetic tables: supports that the set function makes cheap, from public numbers."""

import math

import numpy as np
import numpy.typing as npt

from hullabaloo.geometry import SetFunction
from hullabaloo.solvers.public_numbers import uniforms

Array = npt.NDArray[np.float64]
Members = npt.NDArray[np.bool_]

SHARE = 0.125
"""The share of columns that count, if the structure has supports so small."""

MOST = 12
"""How often a support is grown at most."""


def cheap_support(function: SetFunction, p: int, stream: int) -> Members:
    """A closed set of some p/8 columns, grown from one by the column that costs least; closed: any further column costs.

    For an interval function it is an interval, for groups a few whole groups, for a tree a subtree with its root, for the cardinality any columns.
    """
    luck = uniforms(p, stream)
    members = np.zeros(p, dtype=np.bool_)
    wanted = max(1, min(math.ceil(SHARE * p), MOST))
    for step in range(wanted):
        if step and int(members.sum()) >= wanted:
            break
        costs = _costs(function, members)
        least = float(costs.min())
        cheapest = np.flatnonzero(costs <= least * (1.0 + 1e-9))
        members[cheapest[int(luck[step] * cheapest.size)]] = True
        members |= _costs(function, members) <= 1e-9 * function.value(np.ones(p, dtype=np.bool_))
        if members.all():
            break
    return members


def structured(function: SetFunction, columns: int, p: int, stream: int) -> Array:
    """Coefficients (p, columns) on such supports, of magnitudes between ½ and 1½, any signs."""
    made = np.zeros((p, columns))
    for column in range(columns):
        kept = cheap_support(function, p, stream + 3 * column)
        size = 0.5 + uniforms(p, stream + 3 * column + 1)
        sign = np.where(uniforms(p, stream + 3 * column + 2) < 0.5, -1.0, 1.0)
        made[:, column] = np.where(kept, sign * size, 0.0)
    return made


def _costs(function: SetFunction, members: Members) -> Array:
    """F(A ∪ {j}) − F(A) for every column j outside A, infinity inside."""
    base = function.value(members) if members.any() else 0.0
    costs = np.full(members.size, math.inf)
    for j in np.flatnonzero(~members):
        members[j] = True
        costs[j] = function.value(members) - base
        members[j] = False
    return costs
