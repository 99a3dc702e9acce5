"""What the gradient path does to one eigendirection of the second moments: bias and noise, in closed form."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hullabaloo.solvers.gradient.travel import ProjectedSchedule
from hullabaloo.solvers.reference import Reference

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PathLaw:
    """Second-half step `step` as expected on the reference table; formulas for unclipped squared loss.

    `θ_{t+1} = (1 − sλ)θ_t + s(b + noise)`: the bias is a power of `1 − sλ`, the noise an autoregression whose average over
    the last m iterates keeps about `min(1, 2/(sλm))` of its variance.
    """

    path: ProjectedSchedule
    step: float

    @classmethod
    def of(cls, path: ProjectedSchedule, reference: Reference) -> "PathLaw":
        """Expect the evidence that the reference's signal would give."""
        grown = 1.0 - (1.0 - path.warmup_step * reference.eigenvalues) ** path.first
        p = reference.eigenvalues.size
        q = p + float(np.sum((reference.coefficient * grown) ** 2)) / path.variance
        return cls(path, path.later(path.signal_weight(q, p)))

    @property
    def sigma(self) -> float:
        """Noise of one answer for rows of norm ≤ 1."""
        return self.path.sigma / self.path.scale

    def bias(self, eigenvalues: Array) -> Array:
        """Share of θ that is not reached, in the middle of the averaged iterates."""
        later = self.path.steps - self.path.first - 0.5 * self.path.averaged
        left = np.abs(1.0 - self.path.warmup_step * eigenvalues) ** self.path.first
        return np.asarray(left * np.abs(1.0 - self.step * eigenvalues) ** later, dtype=np.float64)

    def variance(self, eigenvalues: Array) -> Array:
        """Variance of the averaged iterate from noise."""
        path = self.path
        early = _gathered(path.warmup_step, eigenvalues, path.first)
        later = path.steps - path.first
        kept = (1.0 - self.step * eigenvalues) ** (2 * later)
        late = _gathered(self.step, eigenvalues, later)
        averaging = np.minimum(1.0, 2.0 / np.maximum(self.step * eigenvalues * path.averaged, 1e-300))
        return np.asarray(self.sigma**2 * (early * kept + late * averaging), dtype=np.float64)

    @property
    def middle_variance(self) -> float:
        """Variance of the intercept from noise: its curvature is 1 by definition."""
        path = self.path
        if path.middle == 0.0:
            return 0.0
        gathered = float(_gathered(path.middle, np.ones(1), path.steps)[0])
        return path.sigma**2 * gathered * min(1.0, 2.0 / (path.middle * path.averaged))


def _gathered(step: float, eigenvalues: Array, count: int) -> Array:
    """`Σ_{t<count} s²(1 − sλ)^{2t}`."""
    ratio = (1.0 - step * eigenvalues) ** 2
    close = np.abs(1.0 - ratio) < 1e-9
    total = np.where(close, count, (1.0 - ratio**count) / np.where(close, 1.0, 1.0 - ratio))
    return np.asarray(step**2 * total, dtype=np.float64)
