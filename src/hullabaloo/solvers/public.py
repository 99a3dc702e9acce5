"""A table that its user declares public, as solvers use it: its encoded records, a model of them, and how far noisy steps are drawn back to it."""

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PublicTable:
    """Encoded records that nobody has to protect, equal to another of the same digest.

    Attributes:
        digest: of the encoded records.
        X, Y: rows (m, p), the constant column last if there is one, and targets (m, k).
        offset: known offsets, (m,), or None.
        theta: coefficients of a model of them, (p, k).
    """

    digest: str
    X: Array
    Y: Array
    offset: Array | None
    theta: Array

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicTable) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"PublicTable({self.digest!r})"

    def of_target(self, target: int) -> "PublicTable":
        """What it says of one target."""
        one = slice(target, target + 1)
        return PublicTable(f"{self.digest}/{target}", self.X, self.Y[:, one], self.offset, self.theta[:, one])

    def to_dict(self) -> dict[str, str]:
        """By what it is known."""
        return {"digest": self.digest}


def drawn_along(moved: Array, usual: Array, noise: Array) -> Array:
    """Posterior means of moves `d_j = δ_j + N(0, noise_j²)` with `δ_j ~ N(0, τ² usual_j²)`, τ by its largest likelihood (empirical Bayes).

    A public model that is wrong is told by long moves: τ grows, and nothing is drawn back.
    """
    if not moved.size:
        return moved
    variance, usual = np.maximum(noise, 1e-100) ** 2, np.maximum(usual, 1e-100) ** 2
    trials = np.append(0.0, np.median(variance / usual) * 2.0 ** np.arange(-24.0, 36.0, 0.5))
    prior = trials[:, None] * usual
    doubt = (np.log(prior + variance) + moved**2 / (prior + variance)).sum(axis=1)
    best = prior[int(np.argmin(doubt))]
    return np.asarray(moved * best / (best + variance))
