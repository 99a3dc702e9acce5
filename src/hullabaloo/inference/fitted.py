"""What inference is told of a fitted model: its release, how its rows are encoded, and what it minimised."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hullabaloo.data import INTERCEPT, Encoding
from hullabaloo.geometry import ConvexSet, Penalty
from hullabaloo.losses import AnyLoss
from hullabaloo.privacy import Neighbours
from hullabaloo.release import Release, Task

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FittedModel:
    """A release and the public facts by which it is read; holds no record, and nothing here can reach one.

    Attributes:
        release: everything released, on the unit domain.
        encoding: the public map from rows to the unit domain.
        loss: of one record.
        constraint, penalty: what the coefficients were fitted with, the estimator's default where none was given.
        name: the estimator's, for sentences.
        meaning: what a coefficient is, where it is not the plain change of the target; else "".
        task: the public arguments of the fit, without ledger and key; None where a fit cannot be planned again.
    """

    release: Release
    encoding: Encoding
    loss: AnyLoss
    constraint: ConvexSet | None
    penalty: Penalty
    name: str
    meaning: str = ""
    task: Callable[[], Task] | None = None

    @property
    def names(self) -> list[str]:
        """Of the coefficients in the user's units, the intercept last."""
        return [*self.encoding.feature_names_out, *[INTERCEPT] * self.encoding.facts.intercept]

    def user_map(self, target: int) -> tuple[Array, Array]:
        """A (q, p) and b (q,): `Aθ + b` are a target's coefficients in the user's units, from unit ones."""
        matrix = self.encoding.user_matrix(target)[: len(self.names)]
        shift = np.zeros(len(matrix))
        if self.encoding.facts.intercept:
            shift[-1] = self.encoding.target_offset[target]
        return matrix, shift

    @property
    def neighbours(self) -> Neighbours:
        """The relation that the release's guarantee is about."""
        return self.release.statement.neighbours

    @property
    def mean_noise(self) -> float:
        """Standard deviation of the noise in each released mean of an encoded column, whose query's sum is in units of the longest row (`MeansQuery`); ∞ where none was asked for, or a file does not say."""
        asked = [one for one in self.release.statement.query_noise if one["name"] == "means"]
        each = [one.get("noise_std_of_sum", math.inf) / max(one.get("records", 1), 1) for one in asked]
        return float(max(each, default=math.inf) * self.encoding.facts.norm_l2)
