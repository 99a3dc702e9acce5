"""From noisy moments of sketched records to coefficients of all columns: mend, minimise over C, lift. Post-processing."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import ConvexSet
from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.solvers import Problem, Solution
from hullabaloo.solvers.shrinkage import EDGE, normalised
from hullabaloo.streaming.lift import is_least, lift, minimise_sketched
from hullabaloo.streaming.sketch import Sketch

Array = npt.NDArray[np.float64]


def solve_sketched(moments: NoisyMoments, problem: Problem, sketch: Sketch) -> Solution:
    """θ in C of every target, from moments of `(Φx̃, 1, y)`.

    The intercept, bounded as the loss bounds it, is eliminated first. What is left of the Gram loses `EDGE · s√m` of every
    eigenvalue, s the known noise of its entries, and none goes below 0: noise alone spreads eigenvalues by `s√(2m)`, and C keeps
    short what a ridge would. (Over a set, this was better than the ridge of `shrinkage` on every simulated stream.) A minimiser that
    is not provably of least gauge is lifted.
    """
    assert problem.constraint is not None
    columns = [_target(moments, problem, sketch, target) for target in range(moments.cross.shape[1])]
    return Solution(theta=np.stack(columns, axis=1), trace=())


def _target(moments: NoisyMoments, problem: Problem, sketch: Sketch, target: int) -> Array:
    body = problem.constraint
    assert body is not None
    if sketch.selects:  # how many records were kept is private, and so is the mean of their constant column
        moments = replace(moments, counted=False)
    gram = normalised(moments, target, problem.intercept).gram * moments.scale_x**2
    cross, edge = moments.cross[:, target], EDGE * moments.gram_noise * math.sqrt(sketch.size)
    if not problem.intercept:
        return _slopes(sketch, mended(gram, edge), cross, body)
    if sketch.selects:
        gram[-1, -1] = max(float(moments.gram[-1, -1]), moments.gram_noise)
    side, corner, last = gram[:-1, -1], float(gram[-1, -1]), float(cross[-1])
    lower, upper = problem.loss.intercept_bounds
    if corner > 0.0:
        schur = mended(gram[:-1, :-1] - np.outer(side, side) / corner, edge)
        theta = _slopes(sketch, schur, cross[:-1] - side * (last / corner), body)
        middle = (last - float(side @ (sketch.matrix @ theta))) / corner
        if lower <= middle <= upper:
            return np.append(theta, middle)
    else:
        middle = 0.0
    middle = min(max(middle, lower), upper)
    return np.append(_slopes(sketch, mended(gram[:-1, :-1], edge), cross[:-1] - side * middle, body), middle)


def mended(gram: Array, edge: float) -> Array:
    """The symmetric matrix with `edge` taken from every eigenvalue, and what is then negative put to 0."""
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    return np.asarray((vectors * np.maximum(values - edge, 0.0)) @ vectors.T, dtype=np.float64)


def _slopes(sketch: Sketch, gram: Array, cross: Array, body: ConvexSet) -> Array:
    """The slopes: a minimiser over C, and the one of least gauge with the same sketch where that is another."""
    matrix = sketch.matrix
    theta = minimise_sketched(matrix, gram, cross, body)
    seen = matrix @ theta
    if is_least(matrix, theta, cross - gram @ seen, body):
        return theta
    try:
        lifted = lift(matrix, seen, body)
    except CapabilityError:  # a set without 0 has no gauge: any minimiser is as good
        return theta
    return lifted.theta if lifted.gauge <= 1.0 + 1e-9 else theta
