"""The law of the perturbed minimiser of one coefficient, which a transcript's likelihood does not hold."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.audit.privacy_loss import PrivacyLoss
from hullabaloo.data import Rows
from hullabaloo.erm.objective_perturbation import PerturbedMinimizerQuery
from hullabaloo.geometry import NoPenalty

Array = npt.NDArray[np.float64]
Elementwise = Callable[[Array, Array], Array]


@final
@dataclass(frozen=True, slots=True)
class PerturbedLaw:
    """A perturbed minimiser of one coefficient: `b = −(λθ + Σ clip(φ'(xθ, y)) x)` is normal, and known once θ is.

    The faint noise on the minimiser is left out: it can only hide, and moves the ratio by a part of it that is as faint.

    Attributes:
        tables: (x, y) of the records of both tables, (n, 2) each.
        slope, bend: φ' and φ'' of (z, y).
        clip: bound of |φ'|, beyond which nothing bends.
        ridge: λ of the sum.
        sigma: standard deviation of b.
    """

    tables: tuple[Array, Array]
    slope: Elementwise
    bend: Elementwise
    clip: float
    ridge: float
    sigma: float

    @classmethod
    def of(cls, query: PerturbedMinimizerQuery, tables: Sequence[Rows]) -> "PerturbedLaw | None":
        """The law for two encoded tables; None where there is more than one coefficient, a set, a penalty, a weight or an offset."""
        plain = query.facts.width == 1 and query.feasible is None and isinstance(query.penalty, NoPenalty)
        if not plain or any(rows.weight is not None or rows.offset is not None for rows in tables):
            return None
        first, second = (np.column_stack([rows.X, rows.Y[:, :1]]) for rows in tables)
        loss = query.loss
        return cls((first, second), loss.derivative, loss.second_derivative, query.clip, query.ridge, query.sigma)

    def privacy_loss(self, name: str, theta: float, truth: int) -> PrivacyLoss:
        """The minimiser as an answer: how far apart the laws are has no simple measure, the noise that was drawn is normal."""
        return PrivacyLoss(name, self.log_ratio(theta), 0.0, 0.0, 0.0, np.array([self.drawn(theta, truth)]))

    def drawn(self, theta: float, which: int) -> float:
        """b in units of its standard deviation, if `which` was the table."""
        x, y = self.tables[which].T
        pull = float(np.clip(self.slope(x * theta, y), -self.clip, self.clip) @ x)
        return -(self.ridge * theta + pull) / self.sigma

    def log_ratio(self, theta: float) -> float:
        """`log p₁(θ) − log p₀(θ)`: of the normal densities of b, and of how fast b moves with θ."""
        found = [0.0, 0.0]
        for which, table in enumerate(self.tables):
            x, y = table.T
            inside = np.abs(self.slope(x * theta, y)) < self.clip
            bend = self.ridge + float(np.sum(np.where(inside, self.bend(x * theta, y), 0.0) * x * x))
            found[which] = -0.5 * self.drawn(theta, which) ** 2 + math.log(bend)
        return found[1] - found[0]
