"""From noisy moments of sketched records to coefficients of all columns: mend, minimise over C, lift. Post-processing."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hullabaloo.curation.sketch import Sketch
from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import ConvexSet
from hullabaloo.noise.public import public_normals
from hullabaloo.privacy.answers import Array, NoisyMoments
from hullabaloo.solvers import Problem, Solution
from hullabaloo.solvers.moments.shrinkage import EDGE, normalised
from hullabaloo.streaming.lift import is_least, lift, minimise_sketched

SHARES = (1.0, 0.5, 0.25)
"""The set is tried at these shares of its size, in this order: over a smaller one noise does less."""
SPLIT = 0.25
"""α: the noise, in variance, that is added to what the judged models are made from."""
COPIES = 3
"""How many public splits are averaged."""
AHEAD = 2.0
"""By how many deviations a share of the set has to be ahead: one let a model of noise alone through in one stream of four."""


def solve_sketched(moments: NoisyMoments, problem: Problem, sketch: Sketch) -> Solution:
    """θ in C of every target, from moments of `(Φx̃, 1, y)`.

    The intercept, bounded as the loss bounds it, is eliminated first. What is left of the Gram loses `EDGE · s√m` of every
    eigenvalue, s the known noise of its entries, and none goes below 0: noise alone spreads eigenvalues by `s√(2m)`, and C keeps
    short what a ridge would. (Over a set, this kept more than the ridge of `shrinkage` on every simulated stream.) A minimiser that
    is not provably of least gauge is lifted.

    How much of C noise allows is judged on the release itself. For a public copy N′ of its noise N, `u + N + √α N′` and
    `u + N − N′/√α` are independent: models over shares of C are made from the first, and the second estimates without bias by how
    much their risk is below that of the constant model. The largest share that is ahead by `AHEAD` deviations, over `COPIES`
    splits, is solved for again on `u + N`; where none is, the slopes are 0. (Picking the share of least estimated risk kept less.)
    Source of the split: Oliveira, Lei and Tibshirani (2021).
    """
    if sketch.selects:  # how many records were kept is private, and so is the mean of their constant column
        moments = replace(moments, counted=False)
    columns = [_target(moments, problem, sketch, target) for target in range(moments.cross.shape[1])]
    theta, shares = zip(*columns, strict=True)
    trace = tuple({"target": number, "share_of_set": share} for number, share in enumerate(shares))
    return Solution(theta=np.stack(theta, axis=1), trace=trace)


@dataclass(frozen=True, slots=True, eq=False)
class _Noisy:
    """Noisy moments of one target, and the deviations of their entries (off the Gram's diagonal s/√2)."""

    gram: Array
    cross: Array
    s: float
    t: float

    def moved(self, factor: float, copy: tuple[Array, Array]) -> "_Noisy":
        """With so many times a copy of the noise added."""
        grown = math.sqrt(1.0 + factor**2)
        gram, cross = self.gram + factor * self.s * copy[0], self.cross + factor * self.t * copy[1]
        return _Noisy(gram, cross, grown * self.s, grown * self.t)

    def risk(self, z: Array, constant: Array) -> float:
        """½zᵀGz − bᵀz less that of the constant model."""
        moved = z - constant
        return 0.5 * float(z @ self.gram @ z - constant @ self.gram @ constant) - float(self.cross @ moved)

    def deviation(self, z: Array, constant: Array) -> float:
        """The standard deviation of `risk` for given models."""
        a, b, ab, moved = float(z @ z), float(constant @ constant), float(z @ constant), z - constant
        squares = self.t**2 * float(moved @ moved) + 0.25 * self.s**2 * max(a * a + b * b - 2.0 * ab * ab, 0.0)
        return math.sqrt(squares)


def _target(moments: NoisyMoments, problem: Problem, sketch: Sketch, target: int) -> tuple[Array, float]:
    """θ with its intercept, and the share of C that it was looked for in."""
    body, intercept = problem.body, problem.intercept
    gram = normalised(moments, target, intercept, problem.max_weight).gram * moments.scale_x**2 * problem.max_weight
    if intercept and sketch.selects:
        gram[-1, -1] = max(float(moments.gram[-1, -1]), moments.gram_noise)
    noisy = _Noisy(gram, moments.cross[:, target], moments.gram_noise, moments.cross_noise)
    bounds = problem.loss.intercept_bounds if intercept else None
    if noisy.s == 0.0 or not body.contains(np.zeros(sketch.columns)):
        return _model(noisy, sketch, body, 1.0, bounds), 1.0
    for share in SHARES:
        if _ahead(noisy, sketch, body, share, bounds):
            return _model(noisy, sketch, body, share, bounds), share
    return _model(noisy, sketch, body, 0.0, bounds), 0.0


def _ahead(noisy: _Noisy, sketch: Sketch, body: ConvexSet, share: float, bounds: tuple[float, float] | None) -> bool:
    """Whether a model over `share` of C is estimated to be better than the constant one: see `solve_sketched`."""
    root, risks, deviations = math.sqrt(SPLIT), [], []
    for number in range(COPIES):
        copy = _copy_of_noise(len(noisy.gram), number)
        made, judge = noisy.moved(root, copy), noisy.moved(-1.0 / root, copy)
        z, constant = (_seen(sketch, _model(made, sketch, body, part, bounds)) for part in (share, 0.0))
        risks.append(judge.risk(z, constant))
        deviations.append(noisy.deviation(z, constant))
    spread = math.sqrt(1.0 + 1.0 / (SPLIT * COPIES)) * float(np.mean(deviations))
    return float(np.mean(risks)) + AHEAD * spread < 0.0


def _model(noisy: _Noisy, sketch: Sketch, body: ConvexSet, share: float, bounds: tuple[float, float] | None) -> Array:
    """The model over `share` of C, the intercept (within its bounds; None: there is none) last."""
    gram, cross, edge = noisy.gram, noisy.cross, EDGE * noisy.s * math.sqrt(sketch.size)
    if bounds is None:
        return _slopes(sketch, mended(gram, edge), cross, body, share)
    side, corner, last = gram[:-1, -1], float(gram[-1, -1]), float(cross[-1])
    middle = 0.0
    if share == 0.0 and abs(last) < (AHEAD + math.sqrt(AHEAD**2 + 2.0)) * noisy.t:
        return np.zeros(sketch.columns + 1)  # the mean is not ahead of 0 either: -last²/2 + t² + AHEAD t |last| > 0
    if corner > 0.0:
        schur = mended(gram[:-1, :-1] - np.outer(side, side) / corner, edge)
        theta = _slopes(sketch, schur, cross[:-1] - side * (last / corner), body, share)
        middle = (last - float(side @ (sketch.matrix @ theta))) / corner
        if bounds[0] <= middle <= bounds[1]:
            return np.append(theta, middle)
    middle = min(max(middle, bounds[0]), bounds[1])
    return np.append(_slopes(sketch, mended(gram[:-1, :-1], edge), cross[:-1] - side * middle, body, share), middle)


def mended(gram: Array, edge: float) -> Array:
    """The symmetric matrix with `edge` taken from every eigenvalue, and what is then negative put to 0."""
    values, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
    return np.asarray((vectors * np.maximum(values - edge, 0.0)) @ vectors.T, dtype=np.float64)


def _slopes(sketch: Sketch, gram: Array, cross: Array, body: ConvexSet, share: float) -> Array:
    """A minimiser over `share` of C, and the one of least gauge with the same sketch where that is another."""
    if share == 0.0:
        return np.zeros(sketch.columns)
    matrix, gram, cross = sketch.matrix, share**2 * gram, share * cross
    theta = minimise_sketched(matrix, gram, cross, body)
    seen = matrix @ theta
    if not is_least(matrix, theta, cross - gram @ seen, body):
        try:
            lifted = lift(matrix, seen, body)
        except CapabilityError:  # no gauge, as of a set without 0: any minimiser in C is as good
            return theta
        theta = lifted.theta if lifted.gauge <= 1.0 + 1e-9 else theta
    return share * theta


def _seen(sketch: Sketch, theta: Array) -> Array:
    """Φθ, and the intercept where there is one."""
    return np.append(sketch.matrix @ theta[: sketch.columns], theta[sketch.columns :])


@lru_cache(maxsize=4)
def _copy_of_noise(size: int, number: int) -> tuple[Array, Array]:
    """A public matrix and vector distributed like the noise of moments with unit deviations."""
    drawn = public_normals(number, size + 1, size, name="split")
    upper = np.triu(drawn[:size], 1) / math.sqrt(2.0)
    return upper + upper.T + np.diag(np.diagonal(drawn)), drawn[size]
