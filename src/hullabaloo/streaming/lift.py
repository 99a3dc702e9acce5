"""Back from a sketch: least squares over θ in C of moments of Φx, and the θ of least gauge that a sketched model belongs to.

Post-processing: arithmetic on numbers that are already private, and on a public matrix.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.geometry import ConvexSet, HasGauge, L1Ball, L2Ball, Polytope, Projectable, Simplex, require
from hullabaloo.geometry.polytope import least_weights

Array = npt.NDArray[np.float64]

_LP = 4_000_000  # entries of a linear program up to which it is faster than first-order steps
_OUT_OF_REACH = "A sketched model was to be lifted into a set of which no multiple reaches it. Lift Φθ of a θ in the set, or use another set."
_WORK = 4_000_000_000  # multiplications: a few seconds
_CURVE = 60  # Newton steps along the value curve; they converge like Newton's method does


@dataclass(frozen=True, slots=True, eq=False)
class Lifted:
    """θ with Φθ = ϑ, and what is known about its gauge.

    Attributes:
        theta: shape (p,).
        gauge: ‖θ‖_C.
        least: no θ with Φθ = ϑ has a gauge below this.
    """

    theta: Array
    gauge: float
    least: float


def lift(matrix: npt.ArrayLike, vartheta: npt.ArrayLike, body: ConvexSet) -> Lifted:
    """argmin ‖θ‖_C subject to Φθ = ϑ, ‖θ‖_C = min{r ≥ 0 : θ ∈ rC}: the simplest model in the eyes of C behind a sketched one.

    The l2 ball by its closed form `Φᵀ(ΦΦᵀ)⁻¹ϑ`; the l1 ball (basis pursuit), the simplex and polytopes by a linear program on
    weights of vertices; every other set that holds 0 and can be projected onto along its value curve `φ(r) = min{‖Φθ − ϑ‖ : θ ∈
    rC}`, whose root is the answer: φ is convex and falls with slope `−h_C(Φᵀρ)/‖ρ‖`, ρ = ϑ − Φθ, so that Newton's method rises to
    the root from below (van den Berg and Friedlander 2008). Every `⟨λ, ϑ⟩/h_C(Φᵀλ)` is a lower bound of the gauge.

    Args:
        matrix: Φ, shape (m, p).
        vartheta: ϑ, shape (m,), in the image of Φ.
        body: C.

    Raises:
        InvalidParameter: no multiple of C reaches ϑ.
        CapabilityError: C has no gauge, can neither be listed by vertices nor projected onto, or does not hold 0.

    Example:
        >>> lift([[1.0, 2.0]], [2.0], L1Ball(1.0)).theta
        array([0., 1.])

    Source: 003, Theorem 5.3.
    """
    phi, aim = np.asarray(matrix, dtype=np.float64), np.asarray(vartheta, dtype=np.float64)
    m, p = phi.shape
    if not aim.any():
        return Lifted(np.zeros(p), 0.0, 0.0)
    require(body, [HasGauge], "Lifting a sketched model")
    assert isinstance(body, HasGauge)
    if m >= p or isinstance(body, L2Ball):
        shortest = np.linalg.lstsq(phi, aim, rcond=None)[0] if m >= p else phi.T @ np.linalg.solve(phi @ phi.T, aim)
        theta = np.asarray(shortest, dtype=np.float64)
        gauge = body.gauge(theta)
        return Lifted(theta, gauge, gauge if m >= p else gauge * (1.0 - 1e-9))
    if isinstance(body, Polytope):
        weights, least = _least_weights(phi @ body.vertices.T, aim)
        return Lifted(weights @ body.vertices, float(weights.sum()), least)
    if m * p <= _LP and isinstance(body, Simplex):
        weights, least = _least_weights(phi * body.radius, aim)
        return Lifted(body.radius * weights, float(weights.sum()), least)
    if m * p <= _LP and isinstance(body, L1Ball):
        weights, least = _least_weights(np.hstack([phi, -phi]) * body.radius, aim)
        return Lifted(body.radius * (weights[:p] - weights[p:]), float(weights.sum()), least)
    require(body, [Projectable], "Lifting a sketched model")
    if not body.contains(np.zeros(p)):
        raise CapabilityError(
            f"A sketched model was to be lifted into {body!r}, which does not hold 0, so that no gauge measures θ by it. Use a set around 0, such as hb.L1Ball(1.0)."
        )
    return _along_the_curve(phi, aim, body)


def minimise_sketched(
    matrix: Array, gram: Array, cross: Array, body: ConvexSet, *, steps: int | None = None, dense: int = 300
) -> Array:
    """θ in C that minimises ½ϑᵀAϑ − bᵀϑ, ϑ = Φθ, for a symmetric positive semidefinite A of shape (m, m).

    Up to `dense` columns by the quadratic solver, exactly; otherwise by accelerated projected gradient steps, at most `steps`
    of them (None: 1000, fewer where that is over `_WORK` multiplications), that touch Φ by products only: `√ΛVᵀ` of A's positive
    eigenvalues times Φ is all that is kept.
    """
    values, vectors = np.linalg.eigh(gram)
    used = values > 1e-12 * max(float(values[-1]), 0.0)
    factor = (vectors[:, used] * np.sqrt(values[used])).T @ matrix
    linear = cross @ matrix
    if matrix.shape[1] <= dense:
        from hullabaloo.quadratic import minimise_quadratic

        return minimise_quadratic(factor.T @ factor, linear, feasible=body).theta
    require(body, [Projectable], "A sketched regression")
    assert isinstance(body, Projectable)
    most = max(100, min(1000, _WORK // max(2 * factor.size, 1))) if steps is None else steps
    return _accelerated(factor, linear, body, body.start(matrix.shape[1]), most, 1e-9)


def is_least(matrix: Array, theta: Array, pull: Array, body: ConvexSet) -> bool:
    """Whether θ in C provably has the least gauge of all with its Φθ, within 1 %: `pull` λ = b − AΦθ points out of ΦC there."""
    outward = float(pull @ (matrix @ theta))
    return outward > 0.0 and outward >= 0.99 * body.support(pull @ matrix)


def _least_weights(images: Array, aim: Array) -> tuple[Array, float]:
    """argmin Σw over w ≥ 0 with Σ w_i images_i = ϑ, and a lower bound of Σw from the dual problem."""
    size = float(np.abs(aim).max())
    found = least_weights(images, aim / size, 1e-9)
    if found is None:
        raise InvalidParameter(_OUT_OF_REACH)
    used, exact, multipliers = found
    weights = np.zeros(images.shape[1])
    weights[used] = size * exact
    return weights, float(multipliers @ aim) * (1.0 - 1e-7)


def _along_the_curve(phi: Array, aim: Array, body: Any) -> Lifted:
    """Newton's method on φ(r), each value by projected gradient steps from the point before."""
    theta, rho, least, size = np.zeros(phi.shape[1]), aim, 0.0, float(np.linalg.norm(aim))
    linear, enough = aim @ phi, 1e-9 if phi.size <= _LP else 1e-4
    steps = max(100, min(3000, _WORK // (2 * phi.size)))
    for _ in range(_CURVE):
        far = body.support(rho @ phi)
        if not far > 0.0:
            break
        bound = float(rho @ aim) / far
        if bound <= least * (1.0 + enough):
            break
        least = bound
        theta = bound * _accelerated(bound * phi, bound * linear, body, theta / bound, steps, 1e-11)
        rho = aim - phi @ theta
        if float(np.linalg.norm(rho)) <= 1e-7 * size:
            break
    theta = theta + phi.T @ np.linalg.solve(phi @ phi.T, rho)
    if float(np.linalg.norm(aim - phi @ theta)) > 1e-6 * size or not least > 0.0:
        raise InvalidParameter(_OUT_OF_REACH)
    return Lifted(theta, body.gauge(theta), least)


def _accelerated(factor: Array, linear: Array, body: Projectable, start: Array, steps: int, tolerance: float) -> Array:
    """Accelerated projected gradient steps for ½‖Fθ‖² − ⟨l, θ⟩, by products with F alone."""
    from scipy.sparse.linalg import aslinearoperator

    from hullabaloo.quadratic.linear_system import Quadratic
    from hullabaloo.quadratic.shapes import OnSet, accelerated

    # The largest eigenvalue of FᵀF, a little from above.
    curvature = float(np.linalg.eigvalsh(factor @ factor.T)[-1]) * (1.0 + 1e-9) if factor.size else 0.0
    if curvature == 0.0:
        return body.project(start + linear * (1e12 / max(float(np.linalg.norm(linear)), 1e-300)))
    products = aslinearoperator(factor)
    quadratic = Quadratic(products.T @ products, linear, curvature)
    return accelerated(quadratic, OnSet(body), body.project(start), steps, tolerance)[0]
