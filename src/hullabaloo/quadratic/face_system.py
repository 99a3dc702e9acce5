"""The linear system that minimises a quadratic within a face."""

import math
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.geometry import Face
from hullabaloo.quadratic.linear_system import cholesky
from hullabaloo.quadratic.shapes import Quadratic

Array = npt.NDArray[np.float64]


@final
class FaceSystem:
    """The linear system of a face: moves δ with δ_j = 0 off the free coordinates and ⟨normal, δ⟩ = 0.

    The direction across the face is removed by a Householder reflection. A system singular to working precision gets
    1e-12·L on its diagonal: a proximal-point step, which also travels far along flat directions that still descend.
    """

    def __init__(self, quadratic: Quadratic, face: Face) -> None:
        self.face = face
        self.index = np.flatnonzero(face.free)
        whole = self.index.size == len(quadratic.gram)
        matrix = quadratic.gram if whole else quadratic.gram[np.ix_(self.index, self.index)]
        self.mirror: Array | None = None
        if face.normal is not None and self.index.size:
            axis = face.normal[self.index] / np.linalg.norm(face.normal[self.index])
            axis[0] += 1.0 if axis[0] >= 0.0 else -1.0
            axis /= np.linalg.norm(axis)
            image = matrix @ axis
            image -= axis * float(axis @ image)
            matrix = (matrix - 2.0 * np.outer(axis, image) - 2.0 * np.outer(image, axis))[1:, 1:]
            self.mirror = axis
            # with u the axis: HAH = A − 2u(Au)ᵀ − 2(Au)uᵀ + 4(uᵀAu)uuᵀ = A − 2u wᵀ − 2w uᵀ, w = Au − (uᵀAu)u
        self.factor = None
        if len(matrix):
            self.factor = cholesky(matrix, 1e-13)
            shift = 1e-12 * quadratic.largest
            while self.factor is None and math.isfinite(shift):
                self.factor = cholesky(matrix + shift * np.eye(len(matrix)), 0.0)
                shift *= 100.0

    def solve(self, slope: Array) -> Array:
        """The move δ within the face from a point with that slope to the minimiser."""
        move = np.zeros_like(slope)
        if self.factor is None:
            return move
        right = -slope[self.index]
        if self.mirror is None:
            move[self.index] = self.factor.solve(right)
            return move
        right = right - 2.0 * self.mirror * float(self.mirror @ right)
        inner = np.concatenate([[0.0], self.factor.solve(right[1:])])
        move[self.index] = inner - 2.0 * self.mirror * float(self.mirror @ inner)
        return move
