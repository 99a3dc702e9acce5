"""The table that prices and choices are quoted for, made from declared facts alone.

Features spread evenly over their declared ranges (a uniform variable on [−1, 1] has variance 1/3), rows declared by a norm
alone have that norm. Columns are correlated as those of real tables are: the jth eigenvalue of the second moments falls like
1/j. The target's standard deviation is a quarter of its declared range, a tenth of its variance is explained by a linear
model whose coefficients are of the same size along all directions.
"""

from dataclasses import dataclass

import numpy as np

from hullabaloo.solvers.base import Array, Problem

TARGET_VARIANCE = 0.25
EXPLAINED = 0.1
UNIFORM = 1.0 / 3.0


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """The reference table in coordinates where encoded rows without the intercept have norm at most 1.

    Attributes:
        eigenvalues: of the slopes' second moments, the intercept taken out.
        signal: variance that the best model explains.
    """

    eigenvalues: Array
    signal: float

    @classmethod
    def of(cls, problem: Problem) -> "Reference":
        """The reference table of a problem."""
        falling = 1.0 / np.arange(1.0, max(1, problem.slopes) + 1.0)
        return cls(spread(problem) * falling / falling.sum(), EXPLAINED * TARGET_VARIANCE)

    @property
    def coefficient(self) -> float:
        """θ's entry along each eigendirection."""
        return float(np.sqrt(self.signal / self.eigenvalues.sum()))


def spread(problem: Problem) -> float:
    """Expected ‖x‖² of the slopes' columns around their mean, over its declared bound."""
    return UNIFORM if problem.intercept else 1.0
