"""What single columns cost, and the columns that cost nothing more."""

import numpy as np
from numpy.typing import NDArray

from hullabaloo.geometry.checks import Vector, dimension_number
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.cardinality import HasCardinalityForm
from hullabaloo.geometry.submodular.group_cover import GroupCover
from hullabaloo.geometry.submodular.intervals import Intervals
from hullabaloo.geometry.submodular.tree_cover import TreeCover


def singletons(function: SetFunction, p: int) -> Vector:
    """F({j}) for every column; (p,). In one pass for the families of this library, else p evaluations."""
    p = dimension_number(p, function.dimension)
    if isinstance(function, HasCardinalityForm):
        return np.full(p, function.steps(p)[0])
    if isinstance(function, Intervals):
        return np.full(p, float(p))
    if isinstance(function, GroupCover):
        lengths = np.diff(function.lists.start)
        return np.bincount(function.lists.entry, np.repeat(function.charges, lengths), p).astype(np.float64)
    if isinstance(function, TreeCover):
        alone = function.charges.copy()
        for j in function.rank[::-1].tolist():  # parents first
            if function.parents[j] >= 0:
                alone[j] += alone[function.parents[j]]
        return alone
    return np.array([function.value(np.arange(p) == j) for j in range(p)])


def closure(function: SetFunction, members: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The set A with every column j that costs nothing more, F(A ∪ {j}) = F(A).

    Along A and then the columns still in question, a column that costs something does so after A alone too, and is out;
    when none costs anything they all belong to the closure.
    """
    inside, asked = np.flatnonzero(members), np.flatnonzero(~members)
    out = asked[:0]
    while asked.size:
        gains = function.gains(np.concatenate([inside, asked, out]))[inside.size : inside.size + asked.size]
        if not gains.any():
            break
        out = np.concatenate([out, asked[gains > 0.0]])
        asked = asked[gains == 0.0]
    closed = members.copy()
    closed[asked] = True
    return closed
