"""A table that its user declares public, as solvers use it: its encoded records, and a model of them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


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
