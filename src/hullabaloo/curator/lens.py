"""A public point of view on records: from which centre, and with which weight of the constant column, they are measured."""

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.data.source import RowFacts
from hullabaloo.errors import InvalidParameter

Array = npt.NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Lens:
    """`u = (x_s − m, a)` for a record x = (x_s, 1), or `u = x − m` without an intercept.

    A function of public facts and earlier releases, never of records: the queries that take one are private for each of its
    values.

    Attributes:
        centre: m, of shape (p,), 0 at the intercept.
        lift: a > 0, how heavily the constant column weighs; 1 without an intercept.
    """

    centre: Array
    lift: float = 1.0

    def scale(self, about: RowFacts) -> Array:
        """The weight of each column, (p,).

        Raises:
            InvalidParameter: a centre of another shape or not finite, or a lift that is not positive.
        """
        if self.centre.shape != (about.width,) or not np.all(np.isfinite(self.centre)):
            raise InvalidParameter(
                f"Records were asked to be measured from a centre of shape {self.centre.shape}, but encoded rows have "
                f"{about.width} columns. Pass one finite number for each."
            )
        if not 0.0 < self.lift < np.inf:
            raise InvalidParameter(f"The constant column's weight must be positive and finite, not {self.lift!r}.")
        scale = np.ones(about.width)
        if about.intercept:
            scale[-1] = self.lift
        return scale
