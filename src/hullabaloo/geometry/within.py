"""A penalty over a set: the prox of both together, where it is known."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry.base import ConvexSet, Projectable
from hullabaloo.geometry.box import Box, Simplex
from hullabaloo.geometry.checks import Vector
from hullabaloo.geometry.intercept import PenaltyWithFreeIntercept, WithIntercept, without_free
from hullabaloo.geometry.norm_balls import L1Ball, L2Ball
from hullabaloo.geometry.penalty import GroupPenalty, HasElasticForm, NoPenalty, NuclearPenalty, Penalty
from hullabaloo.geometry.separable import SeparablePenalty
from hullabaloo.geometry.submodular.shapes import SubmodularPenalty


def prox_within(penalty: Penalty, body: Any, v: Vector, step: float) -> Vector:
    """argmin over u in C of ψ(u) + ‖u − v‖²/(2 step); C can be projected onto, and `require_within` took both.

    Projection after prox, which is exact as follows. Of a quadratic `(b/2)‖u‖²`, on any set: both squares are one, around
    v/(1 + step·b). Of a sum over coordinates, on a box: a convex function's minimiser on an interval is the free one, clipped. Of a
    norm, on an l2 ball: the multiplier adds a square, and the prox of a function that is homogeneous only scales with it. Of the l1 norm, on its own
    ball: the multiplier adds to the threshold; on the simplex the norm is constant.
    """
    penalty, _ = without_free(penalty)
    if isinstance(body, WithIntercept):
        head, last = v[: -body.columns], v[-body.columns :]
        ends = np.clip(last, body.lower, body.upper)
        return np.append(prox_within(penalty, body.body, head, step) if head.size else head, ends)
    if isinstance(body, Simplex) and isinstance(penalty, HasElasticForm):
        v = v / (1.0 + step * penalty.elastic_weights(v.size)[1])
    elif not isinstance(penalty, NoPenalty):
        v = penalty.prox(v, step)
    return body.project(v)  # type: ignore[no-any-return]


def require_within(penalty: Penalty, body: ConvexSet | Projectable | None, slopes: int, who: str) -> None:
    """Refuse a set beside a penalty, of so many slopes, where the prox of both together is not known.

    Raises:
        CapabilityError: as above.
    """
    (penalty, _), inner = without_free(penalty), body.body if isinstance(body, WithIntercept) else body
    if body is None or not slopes or _known(penalty, inner, slopes):
        return
    raise CapabilityError(
        f"{who} was asked for the set {body!r} and the penalty {penalty!r} together, and how a step comes back to both is not known. A "
        "squared l2 penalty goes with every set, a penalty of single coefficients with a Box, a norm with an L2Ball, the l1 norm with an L1Ball. "
        "Use one of these, or keep one of the two."
    )


def _known(penalty: Penalty, body: Any, slopes: int) -> bool:
    if isinstance(penalty, HasElasticForm):
        kinks, squares = penalty.elastic_weights(slopes)
        fits = isinstance(body, L2Ball) or (isinstance(body, L1Ball | Simplex) and np.ptp(kinks) == 0.0)
        return isinstance(body, Box) or (np.ptp(squares) == 0.0 and (fits or not kinks.any()))
    if isinstance(penalty, SeparablePenalty):
        return isinstance(body, Box)
    return isinstance(penalty, GroupPenalty | NuclearPenalty | SubmodularPenalty) and isinstance(body, L2Ball)


def beside(weights: Vector, body: Any) -> Penalty:
    """`Σ weight_j |θ_j|` as a penalty beside a set, the weights of whose intercepts are 0."""
    if isinstance(body, WithIntercept):
        return PenaltyWithFreeIntercept(Kinks(weights[: -body.columns]), body.columns)
    return Kinks(weights)


@dataclass(frozen=True, slots=True, eq=False)
class Kinks(Penalty, HasElasticForm):
    """`Σ weight_j |θ_j|`, what is left of a penalty whose squares are part of something else."""

    weights: Vector

    def value(self, theta: Vector) -> float:
        """`Σ weight_j |θ_j|`."""
        return float(self.weights @ np.abs(theta))

    def prox(self, v: Vector, step: float) -> Vector:
        """Soft threshold."""
        return np.sign(v) * np.maximum(np.abs(v) - step * self.weights, 0.0)

    def elastic_weights(self, p: int) -> tuple[Vector, Vector]:
        """The weights, and none of squares."""
        return self.weights, np.zeros(p)

    def to_dict(self) -> dict[str, Any]:
        """A word: it is never written."""
        return {"kind": "kinks"}
