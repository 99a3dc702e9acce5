"""Quadratics with a norm Ω of a set function: on the vectors of one order of magnitudes, Ω is linear, and a system solves the rest.

Let the blocks of θ be its coordinates of equal magnitude, in falling order B_1, …, B_m, zeros apart. While magnitudes keep this order,
signs and ties, `Ω(θ) = Σ_k |θ|_{B_k} [F(B_1 ∪ … ∪ B_k) − F(B_1 ∪ … ∪ B_{k−1})]`, so that ½θᵀAθ − bᵀθ + λΩ(θ) is a quadratic of the m block
values, and over {Ω ≤ r} a quadratic under one linear equation. Proximal steps find the blocks, since proxes tie coordinates exactly; a linear system
then gives the values, and one more proximal step says whether the blocks are right (Hare & Lewis 2004 on identification).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo import geometry
from hullabaloo.geometry.intercept import without_free
from hullabaloo.quadratic.linear_system import Array, FaceSystem, Quadratic
from hullabaloo.quadratic.shapes import Shape, accelerated, search

_SYSTEMS = 30  # linear systems after one burst of proximal steps
_ON_THE_BOUNDARY = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The blocks of a point: `number` (p,) counts them in falling order of magnitude, −1 at zeros; `sign` (p,); `slope` (p,) of Ω.

    The slope's sum over a block is Ω's there; the last `free` coordinates, of which Ω knows nothing, are blocks of their own with slope 0.
    """

    number: npt.NDArray[np.int64]
    sign: Array
    slope: Array

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return int(self.number.max(initial=-1)) + 1

    @classmethod
    def of(cls, function: geometry.SetFunction, theta: Array, free: int) -> "Blocks":
        """The blocks of θ."""
        p = theta.size - free
        size = np.abs(theta[:p])
        order = np.argsort(-size, kind="stable")
        falling, gains = size[order], np.asarray(function.gains(order), dtype=np.float64)
        held = np.where(falling > 0.0, np.cumsum(np.append(True, falling[1:] < falling[:-1]))[:p] - 1, -1)
        count = int(held.max(initial=-1)) + 1
        sums = np.bincount(held[held >= 0], gains[held >= 0], count) / np.bincount(held[held >= 0], minlength=count)
        number = np.append(np.empty(p, dtype=np.int64), count + np.arange(free))
        slope, sign = np.zeros(theta.size), np.ones(theta.size)
        number[order] = held
        sign[:p] = np.sign(theta[:p])
        slope[order] = np.where(held >= 0, np.append(sums, 0.0)[held], 0.0)
        return cls(number, sign, slope * sign)

    def same(self, other: "Blocks") -> bool:
        """Whether the other point has these blocks, signs and order."""
        return np.array_equal(self.number, other.number) and np.array_equal(self.sign, other.sign)

    def summed(self, v: Array) -> Array:
        """`Σ_{j ∈ B_k} sign_j v_j` for each block k."""
        kept = self.number >= 0
        return np.asarray(np.bincount(self.number[kept], (self.sign * v)[kept], self.count), dtype=np.float64)

    def spread(self, values: Array) -> Array:
        """The vector with these values on the blocks, and zeros."""
        return np.where(self.number >= 0, self.sign * np.append(values, 0.0)[self.number], 0.0)

    def within(self, quadratic: Quadratic) -> Quadratic:
        """The quadratic of the block values."""
        index = np.flatnonzero(self.number >= 0)
        order = index[np.argsort(self.number[index], kind="stable")]
        signed = quadratic.gram[np.ix_(order, order)] * np.outer(self.sign[order], self.sign[order])
        starts = np.flatnonzero(np.append(True, np.diff(self.number[order]) > 0))
        sums = np.add.reduceat(np.add.reduceat(signed, starts, axis=0), starts, axis=1)
        return Quadratic(sums, self.summed(quadratic.cross), quadratic.largest)


class OnOrders(Shape):
    """λΩ on all but the last `free` coordinates, or the set {Ω ≤ r}: bursts of proximal steps, then systems on blocks."""

    def __init__(self, added: geometry.SubmodularPenalty | geometry.SubmodularBall, free: int = 0) -> None:
        self.added, self.free = added, free

    def proximal(self, point: Array, step: float) -> Array:  # noqa: D102
        if isinstance(self.added, geometry.SubmodularBall):
            return self.added.project(point)
        if not self.free:
            return self.added.prox(point, step)
        return np.append(self.added.prox(point[: -self.free], step), point[-self.free :])

    def descend(self, quadratic: Quadratic, theta: Array, steps: int) -> tuple[Array, int]:  # noqa: D102
        moved, made = accelerated(quadratic, self, theta, steps)
        return self._settled(quadratic, moved), made

    def change(self, theta: Array, new: Array) -> float:  # noqa: D102
        if isinstance(self.added, geometry.SubmodularBall):
            return 0.0
        last = theta.size - self.free
        return self.added.value(new[:last]) - self.added.value(theta[:last])

    def retract(self, point: Array, theta: Array) -> Array:  # noqa: D102
        return self.added.project(point) if isinstance(self.added, geometry.SubmodularBall) else point

    def _settled(self, quadratic: Quadratic, theta: Array) -> Array:
        """Systems on blocks, each followed by a proximal step that corrects the blocks, while the objective falls."""
        blocks = Blocks.of(self.added.function, theta, self.free)
        for _ in range(_SYSTEMS):
            if not blocks.count:
                break
            system, extra = self._system(quadratic, theta, blocks)
            move = blocks.spread(system.solve(blocks.summed(quadratic.slope(theta) + extra)))
            new = search(quadratic, self, theta, move)
            if new is None:
                return theta
            theta = self.proximal(new - quadratic.slope(new) / quadratic.largest, 1.0 / quadratic.largest)
            found = Blocks.of(self.added.function, theta, self.free)
            if found.same(blocks):
                return theta
            blocks = found
        return theta

    def _system(self, quadratic: Quadratic, theta: Array, blocks: "Blocks") -> tuple[FaceSystem, Array]:
        """What gives the best block values, and the slope of the penalty."""
        inner, free = blocks.within(quadratic), np.ones(blocks.count, dtype=np.bool_)
        if isinstance(self.added, geometry.SubmodularPenalty):
            return FaceSystem(inner, geometry.Face(free, None)), self.added.strength * blocks.slope
        held = float(blocks.slope @ theta) >= self.added.radius * (1.0 - _ON_THE_BOUNDARY)
        face = geometry.Face(free, blocks.summed(blocks.slope) if held else None)
        return FaceSystem(inner, face), np.zeros_like(theta)


def plainer(added: Any) -> Any:
    """The norm of the cardinality is the l1 norm, for which there are ways of its own; anything else stays as it is."""
    if isinstance(added, geometry.WithIntercept):
        body = plainer(added.body)
        return added if body is added.body else geometry.with_intercept(body, added.lower, added.upper, added.columns)
    if isinstance(added, geometry.PenaltyWithFreeIntercept):
        inner = plainer(added.penalty)
        return added if inner is added.penalty else replace(added, penalty=inner)
    if isinstance(added, geometry.SubmodularBall) and isinstance(added.function, geometry.Cardinality):
        return geometry.L1Ball(added.radius)
    if isinstance(added, geometry.SubmodularPenalty) and isinstance(added.function, geometry.Cardinality):
        return geometry.L1Penalty(added.strength)
    return added


def elastic_weights(penalty: geometry.Penalty, p: int) -> tuple[Array, Array] | None:
    """Weights of the l1 and the quadratic part, (p,) each; None for a penalty of another form."""
    penalty, free = without_free(plainer(penalty))
    if not isinstance(penalty, geometry.HasElasticForm):
        return None
    kinks, squares = penalty.elastic_weights(p - free)
    return np.append(kinks, np.zeros(free)), np.append(squares, np.zeros(free))
