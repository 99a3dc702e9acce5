"""Quadratics with a closed form: a positive semidefinite system, alone, on a Euclidean ball, or within a face."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from hullabaloo.geometry import Face
from hullabaloo.quadratic.kernels import careful_slope

Array = npt.NDArray[np.float64]
_EPS = float(np.finfo(np.float64).eps)


class Quadratic:
    """A, b, and a bound L on the largest eigenvalue of A (kept valid by the steps that rely on it)."""

    def __init__(self, gram: Array, cross: Array, largest: float) -> None:
        self.gram, self.cross = gram, cross
        self.largest = largest if largest > 0.0 else (float(np.linalg.norm(cross)) or 1.0)

    def slope(self, theta: Array) -> Array:
        """Aθ − b."""
        return self.gram @ theta - self.cross


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Eigenvalues and eigenvectors of a positive semidefinite matrix; those below p·eps·largest are set to 0."""

    values: Array
    vectors: Array

    @classmethod
    def of(cls, gram: Array) -> "Spectrum":
        """The spectrum of `gram`."""
        values, vectors = scipy.linalg.eigh(gram)
        cutoff = values.size * _EPS * float(np.abs(values).max(initial=0.0))
        return cls(np.where(values > cutoff, values, 0.0), vectors)

    def solve(self, right: Array) -> Array:
        """The least-squares solution of smallest norm of Aθ = right."""
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.where(self.values > 0.0, (self.vectors.T @ right) / self.values, 0.0)
        return self.vectors @ scaled


@dataclass(frozen=True, slots=True, eq=False)
class Cholesky:
    """The Cholesky factor of a positive definite matrix."""

    factor: Array

    def solve(self, right: Array) -> Array:
        """The solution of Aθ = right."""
        return np.asarray(scipy.linalg.cho_solve((self.factor, True), right, check_finite=False))


def cholesky(gram: Array, worst: float) -> Cholesky | None:
    """The factor when the matrix is positive definite with a reciprocal condition number above `worst`."""
    try:
        factor, _ = scipy.linalg.cho_factor(gram, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    reciprocal, _ = scipy.linalg.lapack.dpocon(factor, float(np.abs(gram).sum(axis=0).max(initial=0.0)), uplo="L")
    return Cholesky(factor) if reciprocal > worst else None


def factorise(gram: Array) -> Cholesky | Spectrum:
    """The Cholesky factor, or the spectrum when the matrix is singular to working precision."""
    return cholesky(gram, 4.0 * len(gram) * _EPS) or Spectrum.of(gram)


def solve(gram: Array, cross: Array, factor: Cholesky | Spectrum) -> Array:
    """argmin ½θᵀAθ − bᵀθ, of smallest norm, refined with residuals of doubled precision until it stops improving."""
    theta = factor.solve(cross)
    last = math.inf
    for _ in range(5):
        move = factor.solve(-careful_slope(gram, theta, cross))
        size = float(np.abs(move).max(initial=0.0))
        if not size < 0.5 * last:
            break
        theta = theta + move
        last = size
    return theta


def solve_on_ball(gram: Array, cross: Array, radius: float, spectrum: Spectrum) -> Array:
    """argmin ½θᵀAθ − bᵀθ over ‖θ‖₂ ≤ radius, of smallest norm.

    In the eigenbasis θ(ν) = c/(λ + ν); ν = 0 when that lies inside, else the root of ‖θ(ν)‖ = radius. 1/‖θ(ν)‖ is
    concave, so Newton's method on it climbs to the root from the left without overshooting (Moré, Sorensen 1983).
    """
    values = spectrum.values
    c = spectrum.vectors.T @ cross
    c = np.where((values == 0.0) & (np.abs(c) <= 1e-10 * np.linalg.norm(c)), 0.0, c)
    live = c != 0.0
    if not live.any():
        return np.zeros_like(cross)
    nu = max(0.0, float((np.abs(c[live]) / radius - values[live]).max()))
    if nu == 0.0 and np.linalg.norm(c[live] / values[live]) <= radius:
        return solve(gram, cross, spectrum)
    for _ in range(100):
        point = c[live] / (values[live] + nu)
        norm = float(np.linalg.norm(point))
        step = (norm / radius - 1.0) * norm**2 / float(point @ (point / (values[live] + nu)))
        if not nu + step > nu:
            break
        nu += step
    theta = np.zeros_like(cross)
    theta[live] = c[live] / (values[live] + nu)
    theta = spectrum.vectors @ theta
    for _ in range(2):  # Newton steps on the optimality conditions, the residual in doubled precision
        right = spectrum.vectors.T @ (-careful_slope(gram, theta, cross) - nu * theta)
        t = spectrum.vectors.T @ theta
        inverse = 1.0 / (values + nu)
        change = (float(t @ (inverse * right)) - 0.5 * (radius**2 - float(t @ t))) / float(t @ (inverse * t))
        theta = theta + spectrum.vectors @ (inverse * (right - change * t))
        nu += change
    norm = float(np.linalg.norm(theta))
    return theta * min(1.0, radius / norm)


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
