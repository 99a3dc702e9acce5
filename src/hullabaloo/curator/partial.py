"""The partial query: one coordinate's noisy sum of clipped derivatives, and the updates of coordinate descent made of it."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.coordinate_kernels import (
    HUGE,
    RESIDUAL_CODES,
    dense_descent,
    dense_moves,
    sparse_descent,
    sparse_moves,
)
from hullabaloo.curator.query import NoisySum
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.separable import SeparableForm
from hullabaloo.losses import Loss, clipped_at
from hullabaloo.noise import TestKey, gaussian, lattice
from hullabaloo.noise.release import REACH
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.answers import Descent

Array = npt.NDArray[np.float64]
Order = npt.NDArray[np.int64]

_CELLS = 37
_LARGEST = 2.0**200


@final
@dataclass(frozen=True, slots=True)
class PartialQuery(NoisySum):
    """`Σ_i w_i clip(φ'_i x_ij / C, ±1)` of one coordinate j, `φ'_i = φ'(⟨x_i, θ⟩ + o_i, y_i)`, with Gaussian noise.

    **Guarantee.** Precondition: `0 ≤ w_i ≤ W` (enforced by the domain's encoding); j, C > 0 and θ are functions of earlier
    releases. A contribution is a number within ±W whatever the record, j, C and θ are: so each of them may be chosen anew for
    every answer at the same noise and price. An undefined derivative, or an absent cell, counts as 0. Replacing a record
    moves the sum by at most `2W`, adding or removing one by at most W. Clipping comes before the weight, and rounding to the
    nearest double is monotone, so no rounding lengthens a contribution but that to the lattice, by at most half a
    cell: charged. The sum is exact. A record's prediction is moved by the same public increments as every other's,
    so a contribution depends on its record alone. Source: docs/algorithms.md; Mangold, Bellet, Salmon and Tommasi (2022), in
    units of each coordinate's clip and with Gaussian-DP accounting.
    """

    loss: Loss

    name: ClassVar[str] = "partial"

    @property
    def length(self) -> int:
        """1."""
        return 1

    @property
    def contribution(self) -> float:
        """1."""
        return 1.0

    @property
    def exponent(self) -> int:
        """Exponent of the lattice of contributions: the largest is below `2^37` cells."""
        return math.frexp(self.facts.max_weight)[1] - _CELLS

    @property
    def record_sensitivity(self) -> float:
        """`2W` (replace-one) or W (add-or-remove), rounding included."""
        largest = self.facts.max_weight + 2.0 ** (self.exponent - 1)
        return largest * (2.0 if self.neighbours is Neighbours.REPLACE_ONE else 1.0)

    def to_dict(self) -> dict[str, Any]:
        """The query with its loss."""
        return {**super(PartialQuery, self).to_dict(), "loss": self.loss.to_dict()}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Updates:
    """Which coordinates are updated, in which order, and how: public numbers, checked before anything is spent.

    Attributes:
        theta: where to start, (p,).
        order: the coordinates, (K,).
        clips: C_j > 0, (p,).
        steps: γ_j > 0, (p,).
        form: ψ, of p coordinates.

    Raises:
        InvalidParameter: a wrong shape, or a number beyond 2^±200 (2^900 for θ).
    """

    theta: Array
    order: Order
    clips: Array
    steps: Array
    form: SeparableForm

    def check(self, p: int) -> None:
        """Refuse what is not made for p columns."""
        for name in ("theta", "clips", "steps"):
            shape = getattr(self, name).shape
            if shape != (p,) or self.form.dimension != p:
                raise InvalidParameter(
                    f"Coordinates were to be updated with {name} of shape {shape} and a penalty of {self.form.dimension} "
                    f"coordinates, but there are {p} encoded columns. Pass one number for each."
                )
        for name in ("clips", "steps"):
            value = getattr(self, name)
            if not np.all((value >= 1.0 / _LARGEST) & (value <= _LARGEST)):
                raise InvalidParameter(f"The {name} of coordinate updates must be positive and ordinary in size.")
        if not np.all(np.abs(self.theta) <= 2.0**900):
            raise InvalidParameter("Coordinates were to be updated from a point that is not finite. Start elsewhere.")
        if self.order.ndim != 1 or not self.order.size or self.order.min() < 0 or self.order.max() >= p:
            raise InvalidParameter(
                f"Coordinates were to be updated in an order that is empty or leaves 0 … {p - 1}. Name at least one "
                "encoded column by its number."
            )


class Columns:
    """A table by columns, copied when first asked for: (p, n) for a dense one, else data, row numbers and starts. PRIVATE."""

    __slots__ = ("_made", "_table")

    def __init__(self, table: Any) -> None:
        self._table = table
        self._made: tuple[Any, ...] | None = None

    def arrays(self) -> tuple[Any, ...]:
        """What the kernels take."""
        if self._made is None:
            if isinstance(self._table, np.ndarray):
                self._made = (np.ascontiguousarray(self._table.T),)
            else:
                table = self._table.tocsc()
                self._made = (table.data, table.indices, table.indptr)
        return self._made


class Predictions:
    """The table by columns, and each record's prediction at the last point: made when first asked for. PRIVATE."""

    __slots__ = ("_columns", "_point", "_rows", "_z")

    def __init__(self, rows: Rows, columns: Columns | None = None) -> None:
        self._rows = rows
        self._columns = columns or Columns(rows.X)
        self._point: Array | None = None
        self._z = np.zeros(0)

    def of(self, rows: Rows) -> "Predictions":
        """Those of rows with the same X, whose columns are shared."""
        return Predictions(rows, self._columns)

    def descend(self, query: PartialQuery, updates: Updates, key: TestKey | None) -> Descent:
        """Carry the updates out, at noise that is drawn in one call.

        **Guarantee.** Each partial derivative that comes back is the Gaussian release (noise/gaussian.py) of its exact sum,
        and the others are functions of them. Claim: for the same noise integers N it has the same bits as `gaussian` of all
        K sums in one call. Proof: the release of a sum is `g(float(K + N) + ½)`, K its rounding to the lattice. Of zeros it is
        `g(N + ½)`, exact because `|N| < 2^48`, so N is read off; the kernel then applies the same function to K + N. N_k is
        independent of the data and of what was released before, when it is drawn beforehand as when it is drawn on time, so the joint law of
        answers and adaptive questions is that of K releases one after the other.
        """
        sigma, count = query.sigma, updates.order.size
        pitch = lattice(sigma, query.bound).pitch if sigma else 0.0
        noise = np.zeros(count, dtype=np.int64)
        if sigma:
            noise = (gaussian(np.zeros(count), sigma, bound=query.bound, key=key) / pitch - 0.5).astype(np.int64)
        theta = np.array(updates.theta, dtype=np.float64)
        residual = int(query.loss.kernel_code) in RESIDUAL_CODES
        z = self._at(theta, residual)
        none = np.zeros(0)
        y = none if residual else np.ascontiguousarray(self._rows.Y[:, 0])
        weight = none if self._rows.weight is None else self._rows.weight
        loss = (int(query.loss.kernel_code), query.loss.kernel_parameter, clipped_at(query.loss, HUGE))
        grid = (2.0**-query.exponent if sigma else 0.0, query.bound if sigma else math.inf, pitch, REACH)
        form = (updates.form.kinks, updates.form.curvatures, updates.form.lower, updates.form.upper)
        mean, partials = np.zeros(theta.size), np.zeros(count)
        arguments = (z, y, weight, loss, grid, updates.order, updates.clips, updates.steps, form, noise)
        self._point = None  # until the updates are through
        run: Any = dense_descent if isinstance(self._rows.X, np.ndarray) else sparse_descent
        run(*self._columns.arrays(), *arguments, query.records, theta, mean, partials)
        self._point = theta.copy()
        return Descent(theta, mean, partials)

    def _at(self, theta: Array, residual: bool) -> Array:
        """Predictions (or residuals) at θ: moved there from the last point, or made afresh where that is less work."""
        moves = theta if self._point is None else theta - self._point
        if self._point is None or np.count_nonzero(moves) >= np.count_nonzero(theta):
            rows, moves = self._rows, theta
            self._z = np.zeros(rows.Y.shape[0]) if rows.offset is None else np.array(rows.offset, dtype=np.float64)
            if residual:
                self._z -= rows.Y[:, 0]
        move: Any = dense_moves if isinstance(self._rows.X, np.ndarray) else sparse_moves
        move(*self._columns.arrays(), self._z, moves)
        return self._z
