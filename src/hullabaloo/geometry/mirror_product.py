"""The mirror map of a set with intercepts beside it: Ψ(θ) + ½‖b‖²."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.base import MirrorMap
from hullabaloo.geometry.checks import Vector, euclidean_norm
from hullabaloo.geometry.intercept import intercept_number
from hullabaloo.geometry.width import Width, expected_norm


def with_intercept_map(body: MirrorMap, lower: float, upper: float, columns: int = 1) -> "InterceptMap":
    """The map of C × [lower, upper]^columns: `body`'s potential of θ plus ½‖b‖² of the intercepts b, which come last.

    The interval is finite and not empty, and there is at least one column, else `InvalidParameter`.
    """
    if not (-math.inf < lower <= upper < math.inf):
        raise InvalidParameter(
            f"Mirror descent needs a bounded interval for the intercept, but this one is [{lower}, {upper}], so the "
            "distance to go has no bound; give finite ends with lower ≤ upper, or fit without an intercept."
        )
    return InterceptMap(body, float(lower), float(upper), intercept_number(columns))


@final
@dataclass(frozen=True, slots=True)
class InterceptMap(MirrorMap):
    """Ψ(θ) + ½‖b‖² on C × [lower, upper]^columns, 1-strongly convex in ‖(θ, b)‖ = (‖θ‖² + ‖b‖₂²)^{1/2}.

    The two parts do not meet in the potential, so that the step, the range and the divergence are sums or pairs of
    theirs; the dual norm is (‖g_θ‖_*² + ‖g_b‖₂²)^{1/2}.
    """

    body: MirrorMap
    lower: float
    upper: float
    columns: int

    @property
    def range(self) -> float:
        """R² of the body and ½(max b² − min b²) of every intercept."""
        largest, smallest = max(abs(self.lower), abs(self.upper)), abs(self._nearest())
        return self.body.range + 0.5 * self.columns * (largest - smallest) * (largest + smallest)

    @property
    def unit_width(self) -> Width:
        """E(‖g‖_*² + ‖h‖²)^{1/2}, enclosed; value = high.

        By Jensen's inequality it is between ((E‖g‖_*)² + (E‖h‖)²)^{1/2} and (E‖g‖_*² + columns)^{1/2}, and
        E‖g‖_*² ≤ (E‖g‖_*)² + ‖Q‖₂², as ‖·‖_* is Lipschitz with constant ‖Q‖₂ (Gaussian Poincaré inequality).
        """
        head = self.body.unit_width
        low = math.hypot(head.low, expected_norm(self.columns))
        high = math.sqrt(head.high**2 + self.body.unit_radius**2 + self.columns)
        return Width(high, low, high, "moment bound")

    @property
    def unit_radius(self) -> float:
        """The body's, at least 1."""
        return max(1.0, self.body.unit_radius)

    def norm(self, v: Vector) -> float:
        """(‖v_θ‖² + ‖v_b‖₂²)^{1/2}."""
        return math.hypot(self.body.norm(v[: -self.columns]), euclidean_norm(v[-self.columns :]))

    def dual_norm(self, g: Vector) -> float:
        """(‖g_θ‖_*² + ‖g_b‖₂²)^{1/2}."""
        return math.hypot(self.body.dual_norm(g[: -self.columns]), euclidean_norm(g[-self.columns :]))

    def dual_bound(self, norm_l1: float, norm_l2: float, norm_linf: float) -> float:
        """The norms are those of a row whose last entry is the constant 1 that the intercept multiplies."""
        rest = self.body.dual_bound(max(0.0, norm_l1 - 1.0), math.sqrt(max(0.0, norm_l2**2 - 1.0)), norm_linf)
        return math.hypot(rest, 1.0)

    def start(self) -> Vector:
        """The body's start, and zero clipped to the interval."""
        return np.append(self.body.start(), np.full(self.columns, self._nearest()))

    def point(self, state: Vector) -> Vector:
        """The body's point, and the intercepts."""
        return np.append(self.body.point(state[: -self.columns]), state[-self.columns :])

    def value(self, state: Vector) -> float:
        """Ψ of the body's state, and half the squares of the intercepts."""
        b = state[-self.columns :]
        return self.body.value(state[: -self.columns]) + 0.5 * float(b @ b)

    def divergence(self, state: Vector, origin: Vector) -> float:
        """The body's divergence, and ½‖b − b_origin‖²."""
        move = state[-self.columns :] - origin[-self.columns :]
        return self.body.divergence(state[: -self.columns], origin[: -self.columns]) + 0.5 * float(move @ move)

    def step(self, state: Vector, g: Vector) -> Vector:
        """The body's step, and b − g_b clipped to the interval."""
        b = np.clip(state[-self.columns :] - g[-self.columns :], self.lower, self.upper)
        return np.append(self.body.step(state[: -self.columns], g[: -self.columns]), b)

    def _nearest(self) -> float:
        return min(max(0.0, self.lower), self.upper)
