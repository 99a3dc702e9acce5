"""ψ and C as a minimisation inside the curator meets them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo import geometry
from hullabaloo.geometry.within import beside
from hullabaloo.quadratic.order_faces import elastic_weights, plainer

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What is added to the smooth part.

    Attributes:
        kinks: weights of an l1 penalty, (p,), its quadratic part being in the objective's squares; None for what is not of
            that form.
        body: the set, or None.
        penalty: a penalty of another form, or any with kinks beside a set; or None.
        copies: by how much that penalty is multiplied.
    """

    kinks: Array | None
    body: Any = None
    penalty: geometry.Penalty | None = None
    copies: float = 1.0

    def proximal(self, point: Array, step: float) -> Array:
        """`argmin ψ(u) + ‖u − point‖²/(2 step)` over C."""
        if self.body is not None:
            return geometry.prox_within(self.penalty or geometry.NoPenalty(), self.body, point, step * self.copies)
        if self.penalty is not None:
            return self.penalty.prox(point, step * self.copies)
        assert self.kinks is not None
        return np.sign(point) * np.maximum(np.abs(point) - step * self.kinks, 0.0)

    def change(self, theta: Array, new: Array) -> float:
        """`ψ(new) − ψ(θ)`."""
        if self.penalty is not None:
            return self.copies * (self.penalty.value(new) - self.penalty.value(theta))
        return 0.0 if self.kinks is None else float(self.kinks @ (np.abs(new) - np.abs(theta)))


def shape_of(
    feasible: geometry.ConvexSet | None, penalty: geometry.Penalty, copies: float, ridge: float, p: int
) -> tuple[Shape, Array]:
    """The shape of `copies · ψ` and C, and the squares: at least the ridge in every coordinate, more where ψ has more."""
    feasible = plainer(feasible)
    body = feasible if isinstance(feasible, geometry.Projectable) else None
    weights = elastic_weights(penalty, p)
    if weights is None:
        return Shape(None, body, penalty, copies), np.full(p, ridge)
    kinks, squares = copies * weights[0], np.maximum(copies * weights[1], ridge)
    if body is None:
        return Shape(kinks), squares
    return Shape(None, body, beside(kinks, body) if kinks.any() else None), squares
