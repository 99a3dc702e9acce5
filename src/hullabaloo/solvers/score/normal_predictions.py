"""Chances of two classes, or rates of counts, where predictions are normal, as those of normal records are: their mean, curvature, and what moves them."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq, least_squares
from scipy.special import expit

from hullabaloo.privacy.answers import Array, NoisyScore

NODES = np.linspace(-8.0, 8.0, 161)
WEIGHTS = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()
"""Of the trapezoidal rule, whose error for chances of normal log-odds of deviation σ is about exp(−197/σ)."""
STEEP = 1.25
"""How many times the usual φ'' of classes curvatures are shortened at: normal log-odds lose 4 % there (at 1 9 %). Chosen on `bank`, `law_school` and synthetic classes of 4 and 9 %."""
TINY, FAR = 1e-12, 100.0


@dataclass(frozen=True, slots=True, eq=False)
class NormalPredictions:
    """Log-odds, or of `counts` log-rates, that are normal, as those of normal records are: their mean, and the coefficients of directions in which records have variance 1.

    Of counts the largest rate is the target's bound.
    """

    mean: float
    slopes: Array
    counts: bool = False

    @classmethod
    def of(cls, found: NoisyScore, theta: Array) -> "NormalPredictions":
        """At a point, of records around their released centre."""
        slopes = (found.scale * np.linalg.solve(found.matrix, theta))[:-1]
        return cls(float(np.append(found.centre, 1.0) @ theta), slopes)

    @property
    def chances(self) -> Array:
        """At `NODES`, which with `WEIGHTS` integrate over the normal law."""
        z = self.mean + float(np.linalg.norm(self.slopes)) * NODES
        return np.asarray(np.exp(np.minimum(z, 0.0)) if self.counts else expit(z), dtype=np.float64)

    @property
    def curvatures(self) -> Array:
        """φ'' at `NODES`, positive: p(1 − p), or the rate."""
        return np.maximum(self.chances * (1.0 - self.chances * (not self.counts)), TINY)

    @property
    def chance(self) -> float:
        """E p."""
        return float(WEIGHTS @ self.chances)

    @property
    def curvature(self) -> float:
        """E φ''."""
        return float(WEIGHTS @ self.curvatures)

    @property
    def steepness(self) -> float:
        """`E φ''² / E φ''`."""
        return float(WEIGHTS @ self.curvatures**2) / self.curvature

    def bentness(self, move: float) -> float:
        """`(E φ'''²/φ'' / E φ'')^{1/2}` of classes, at most, on the way of a step that moves predictions by so much.

        `|φ'''| = φ''|1 − 2p|`, and |1 − 2p| changes by half a move at most; by a sixth in the mean with weights 1 − s, s from 0 to 1 on the way.
        """
        slant = np.minimum(np.abs(1.0 - 2.0 * self.chances) + move / 6.0, 1.0)
        return float(np.sqrt(WEIGHTS @ (self.curvatures * slant**2) / self.curvature))

    def linear(self, other: "NormalPredictions") -> tuple[float, float]:
        """`E p(1 − p)δ`, δ the move to the others, and the move of the level by which it would be 0."""
        along = float(self.slopes @ (other.slopes - self.slopes)) / max(float(np.linalg.norm(self.slopes)), TINY)
        tilt = along * float(WEIGHTS @ (self.curvatures * NODES))
        return self.curvature * (other.mean - self.mean) + tilt, -tilt / self.curvature

    def bent(self, curvature: float, tilt: float) -> "NormalPredictions":
        """Those whose E φ'' and E φ''z are these, or nearest to them, sought from these on."""

        def off(law: Array) -> list[float]:
            one = replace(self, mean=float(law[0]), slopes=law[1:])
            z = law[0] + law[1] * NODES
            return [one.curvature / curvature - 1.0, float(WEIGHTS @ (one.curvatures * z) - tilt) / curvature]

        start = np.clip([self.mean, np.linalg.norm(self.slopes)], [-11.0, 0.1], [11.0, 7.0])
        law = least_squares(off, start, bounds=([-12.0, 1e-3], [12.0, 8.0])).x
        return replace(self, mean=float(law[0]), slopes=law[1:])

    def shift(self, chance: float) -> float:
        """The move of the level at which E p is `chance`."""

        def beyond(level: float) -> float:
            return replace(self, mean=self.mean + level).chance - chance

        return float(brentq(beyond, -FAR, FAR)) if beyond(-FAR) < 0.0 < beyond(FAR) else 0.0
