"""Minimise a strongly convex objective over private rows, to a distance from the minimiser that holds for every table.

Two forms of evidence. *Certificate*: if `v ∈ ∂F(θ)` and F is λ-strongly convex, `‖θ − θ*‖ ≤ ‖v‖/λ` (strong monotonicity:
`λ‖θ − θ*‖² ≤ ⟨v − 0, θ − θ*⟩`). *Contraction*: a proximal gradient step with step size `1/M`, M ≥ the largest curvature of S, brings
any point nearer to θ* by the factor `1 − λ/M` (a gradient step of a function with curvature in [λ, M] contracts so, and a prox does
not expand), so K of them from distance D leave `D (1 − λ/M)^K ≤ D e^{−Kλ/M}`.

Newton steps, then proximal steps with momentum, reach the certificate on every table that we met. Should they not, or fail in
any way, plain proximal steps follow, at most as many as the contraction needs, after which no certificate is needed.

Without a set (the l1 part of a penalty counts as none) θ is a doubled number and ∇S is computed in doubled precision
(`doubled.py`): rounding is some 2^-80 of the terms, and any distance above the rounding of the released double can be
reached. A set is projected onto in plain doubles: `reach` says what is left.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hullabaloo.erm.evidence import Doubled, Evidence, Stepped
from hullabaloo.erm.newton import newton, with_momentum
from hullabaloo.erm.objective import Objective, euclidean
from hullabaloo.errors import HullabalooError

Array = npt.NDArray[np.float64]

PROJECTION = 2.0**-48
"""How far a computed projection or prox may be from the exact one, relative to its argument and the set's radius; the worst
seen of any set is 2^-51.8 (tests/curator/test_projection_precision.py)."""

_MOMENTUM = 1000
_BURSTS = 4


@dataclass(frozen=True, slots=True)
class Reach:
    """Public constants of a family of objectives: λ ≤ curvature of S ≤ M, every minimiser within the radius R."""

    ridge: float
    curvature: float
    radius: float
    largest_gradient: float

    @property
    def limit(self) -> float:
        """The distance that plain proximal steps reach with a set, whatever the table.

        **Guarantee.** A step's point is off by `e = PROJECTION · (‖argument‖ + R) + 2^-80`, its argument being within
        `R + G/M`. Errors add up to at most `e Σ (1 − λ/M)^k ≤ eM/λ`; K steps leave as much of the first distance 2R.
        """
        argument = self.radius + self.largest_gradient / self.curvature
        return 2.0 * (PROJECTION * (argument + self.radius) + 2.0**-80) * (self.curvature / self.ridge + 1.0)

    def steps(self, distance: float) -> int:
        """K with `2R (1 − λ/M)^K ≤ distance/2`."""
        return math.ceil(self.curvature / self.ridge * math.log(max(4.0 * self.radius / distance, 2.0)))


def minimise(objective: Objective, reach: Reach, distance: float, *, slack: float) -> Array:
    """A point within `distance` of the minimiser, or the nearest double of it, `u·R` further away; PRIVATE.

    Where there is a set, `slack` is the limit that the distance, at least twice it, was stated with.

    **Guarantee.** Without a set: a point is returned when the shortest subgradient there, computed to an error below
    `distance·λ/4`, is at most `distance·λ/2` long, or after `reach.steps` plain steps in doubled precision from within 2R. With a
    set: when the subgradient that a step of size 1/M leaves is, computed with the rounded projection, at most
    `(distance − slack)·λ` long, the rounding hiding at most `2(M + λ)e = slack·λ`; or after as many plain steps, which leave
    `distance/2 + eM/λ`. Nothing is raised because of the data.
    """
    evidence: Evidence
    if objective.shape.kinks is not None:
        evidence = Doubled(objective, distance)
    else:
        evidence = Stepped(objective, reach.curvature, (distance - slack) * reach.ridge)
    start = np.zeros(objective.dimension)
    with np.errstate(all="ignore"):  # a warning would depend on the data, as any exception would
        try:
            theta, done = _quickly(objective, evidence)
        except (HullabalooError, ArithmeticError, ValueError, np.linalg.LinAlgError):  # the slow way
            theta, done = start, False
        if done:
            return theta
        return _surely(objective, evidence, reach, distance, theta if euclidean(theta) <= reach.radius else start)


def _quickly(objective: Objective, evidence: Evidence) -> tuple[Array, bool]:
    """Newton steps and evidence, in turn with bursts of steps with momentum."""
    start = objective.shape.proximal(np.zeros(objective.dimension), 1.0)
    local, hessian = newton(objective, start, 0.0)
    for burst in range(_BURSTS + 1):
        theta, done = evidence.improved(local.theta, hessian)
        if done or burst == _BURSTS:
            return theta, done
        local = with_momentum(objective, objective.at(theta, objective.predictions(theta)), _MOMENTUM)
        local, hessian = newton(objective, local.theta, 0.0)
    return theta, done


def _surely(objective: Objective, evidence: Evidence, reach: Reach, distance: float, theta: Array) -> Array:
    """As many plain steps as the contraction needs, or fewer with evidence."""
    low = np.zeros_like(theta)
    for _ in range(reach.steps(distance)):
        theta, low, done = evidence.step(theta, low, reach.curvature)
        if done:
            break
    return theta
