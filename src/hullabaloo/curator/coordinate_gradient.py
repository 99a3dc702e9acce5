"""The partial query: noisy sums of one coordinate's clipped derivatives, and updates by them, predictions being kept in between."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.coordinate_gradient_kernels import dense_descent, dense_moves, sparse_descent, sparse_moves
from hullabaloo.curator.coordinate_kernels import HUGE, RESIDUAL_CODES
from hullabaloo.curator.known import anything, kernel_of, numbers
from hullabaloo.curator.query import Array, NoisySum
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.separable import SeparableForm
from hullabaloo.losses import Loss
from hullabaloo.noise import Key, gaussian, lattice
from hullabaloo.noise.keys import bound_to
from hullabaloo.noise.release import REACH
from hullabaloo.privacy.answers import Descent

Order = npt.NDArray[np.int64]

_LARGEST = 2.0**200


@dataclass(frozen=True)
class CoordinateGradientQuery(NoisySum):
    """`Σ_i w_i clip(φ'_i x_ij / C, ±1)` of one coordinate j, `φ'_i = φ'(⟨x_i, θ⟩ + o_i, y_i)`, with Gaussian noise.

    **Guarantee.** Precondition: `0 ≤ w_i ≤ W` (enforced by the domain's encoding); j, C > 0 and θ are functions of earlier
    releases. A contribution is a number within ±W whatever the record, j, C and θ are: so each of them may be chosen anew for
    every answer at the same noise and price. An undefined derivative, or an absent cell, counts as 0. Replacing a record
    moves the sum by at most `2W`, adding or removing one by at most W. Clipping comes before the weight, and rounding to the
    nearest double is monotone, so no rounding lengthens a contribution but that to the lattice, by at most half a
    cell: charged. The sum is exact. A record's prediction is moved by the same public increments as every other's,
    so a contribution depends on its record alone. Source: docs/algorithms.md; Mangold, Bellet, Salmon and Tommasi (2022), in
    units of each coordinate's clip and with Gaussian-DP accounting.

    Source: 004, Coordinate-wise clipping.
    """

    loss: Loss

    name: ClassVar[str] = "coordinate_gradient"
    in_parts: ClassVar[bool] = False
    key_label: ClassVar[str] = "partial"
    tier: ClassVar[int] = 2
    tells: ClassVar[tuple[str, ...]] = ("loss",)
    any_centre: ClassVar[bool] = True

    length = 1
    contribution = 1.0

    @cached_property
    def record_sensitivity(self) -> float:
        """`2W` (replace-one) or W (add-or-remove), rounding included."""
        largest = self.facts.max_weight + 2.0 ** (self.exponent - 1)
        return largest * self.copies

    def question(self, theta: Any, *, order: Any, clips: Any, steps: Any, form: SeparableForm) -> tuple["Updates"]:
        """`θ_j ← prox_at(j, θ_j − γ_j g̃_j, γ_j)` for each j in `order`, g̃ the noisy mean of derivatives clipped to ±C_j."""
        return (public_updates(Updates(theta, order, clips, steps, form), self.facts.width),)

    def times(self, question: tuple[Any, ...]) -> int:  # noqa: D102
        return int(question[0].order.size)

    def answered(self, rows: Rows, question: tuple[Any, ...], key: Key | None, kept: dict[Any, Any]) -> Descent:  # noqa: D102
        if "columns" not in kept:  # targets share them
            kept["columns"] = by_columns(rows.X)
        if ("predictions", id(rows)) not in kept:
            kept["predictions", id(rows)] = Predictions(rows, kept["columns"])
        predictions: Predictions = kept["predictions", id(rows)]
        return predictions.descend(self, question[0], key)


@dataclass(frozen=True, slots=True, eq=False)
class Updates:
    """Which coordinates are updated, in which order, and how: public numbers.

    Attributes:
        theta: where to start, (p,).
        order: the coordinates, (K,).
        clips: C_j > 0, (p,).
        steps: γ_j > 0, (p,).
        form: ψ, of p coordinates.
    """

    theta: Array
    order: Order
    clips: Array
    steps: Array
    form: SeparableForm


def public_updates(asked: Updates, p: int) -> Updates:
    """The same in arrays that nobody else has; refused unless made for p columns.

    Raises:
        InvalidParameter: a form of somebody's own, a wrong shape, or a number beyond what keeps predictions finite: 2^±200, 2^900 for θ.
    """
    theta, clips, steps, order = numbers(asked.theta), numbers(asked.clips), numbers(asked.steps), anything(asked.order)
    form = asked.form
    if type(form) is not SeparableForm or form.own is not None:
        raise InvalidParameter(
            f"Coordinates were to be updated under a {type(form).__name__} with a prox or vectors of its own, but kernels read the four "
            "vectors of a SeparableForm, and no other code runs beside records. Ask for one update after the other, with each coordinate held where it is (lower = upper = θ), "
            "and move it outside."
        )
    form = SeparableForm(form.kinks, form.curvatures, form.lower, form.upper)
    for name, value in (("theta", theta), ("clips", clips), ("steps", steps)):
        if value.shape != (p,) or form.dimension != p:
            raise InvalidParameter(
                f"Coordinates were to be updated with {name} of shape {value.shape} and a penalty of {form.dimension} "
                f"coordinates, but there are {p} encoded columns. Pass one number for each."
            )
        if name != "theta" and not np.all((value >= 1.0 / _LARGEST) & (value <= _LARGEST)):
            raise InvalidParameter(
                f"The {name} of coordinate updates must lie between 2^-200 and 2^200, but the least is {value.min()} and the "
                f"largest {value.max()}. Give positive numbers of ordinary size."
            )
    if not np.all(np.abs(theta) <= 2.0**900):
        raise InvalidParameter(
            "Coordinates were to be updated from a point that is not finite, or beyond 2^900, where predictions would overflow. Start elsewhere."
        )
    if order.dtype.kind not in "iu" or order.ndim != 1 or not order.size or order.min() < 0 or order.max() >= p:
        raise InvalidParameter(
            f"Coordinates were to be updated in an order that is empty or leaves 0 … {p - 1}. Name at least one encoded column by its number."
        )
    return Updates(theta, order, clips, steps, form)


def by_columns(table: Any) -> tuple[Any, ...]:
    """A table by columns: (p, n) for a dense one, else data, row numbers and starts. PRIVATE."""
    if isinstance(table, np.ndarray):
        return (np.ascontiguousarray(table.T),)
    table = table.tocsc()
    table.sum_duplicates()  # one cell for each record: what the bound of a contribution rests on
    unsigned = table.indices.view(f"u{table.indices.dtype.itemsize}")  # kernels need not check their sign
    return table.data, unsigned, table.indptr


class Predictions:
    """The table by columns, and each record's prediction at the last point: made when first asked for. PRIVATE."""

    def __init__(self, rows: Rows, columns: tuple[Any, ...] | None = None) -> None:
        self._rows, self._columns, self._dense = rows, columns or by_columns(rows.X), isinstance(rows.X, np.ndarray)
        self._point: Array | None = None
        self._residual, self._z = False, np.zeros(0)

    def descend(self, query: CoordinateGradientQuery, updates: Updates, key: Key | None) -> Descent:
        """Carry the updates out, at noise that is drawn in one call.

        **Guarantee.** Claim: each partial derivative that comes back is the Gaussian release (noise/release.py) of its exact
        sum, with the bits that `gaussian` of all K sums in one call would have under the same key; θ and the mean are
        functions of them. Proof: that release is `g(float(R + N) + ½)`, R the sum rounded to the lattice. Of zeros it is
        `g(N + ½)`, exact as `|N| < 2^48`, so N is read off; the kernel applies the same function to R + N. N_k is
        independent of the records and of all earlier answers whether it is drawn beforehand or on time, so the
        joint law of answers and of questions chosen by them is that of K releases one after the other.
        """
        count, theta = updates.order.size, updates.theta.copy()
        code, numbers_of_loss = kernel_of(query.loss)
        z = self._at(theta, code in RESIDUAL_CODES)
        whole = tuple(np.array(getattr(updates.form, one)) for one in ("kinks", "curvatures", "lower", "upper"))
        asked = (updates.theta, updates.order, updates.clips, updates.steps, *whole)
        noise, grid = _drawn(query, count, bound_to(key, z, code, numbers_of_loss, *asked))  # what the sums follow from
        none, rows = np.zeros(0), self._rows
        y = none if self._residual else np.ascontiguousarray(rows.Y[:, 0])
        weight = none if rows.weight is None else np.ascontiguousarray(rows.weight)
        loss = (code, numbers_of_loss, HUGE)
        table = (*self._columns, z, y, weight, loss, 2.0**-query.exponent if query.sigma else 0.0)
        run: Any = dense_descent if self._dense else sparse_descent

        mean, since, partials = np.zeros(theta.size), np.zeros(theta.size), np.zeros(count)
        settings = (updates.clips, updates.steps, whole, noise, grid, float(query.records))
        run(*table, updates.order.astype(np.int64), *settings, (theta, mean, since, partials))
        self._point = theta.copy()
        return Descent(theta, mean, partials)

    def _at(self, theta: Array, residual: bool) -> Array:
        """Predictions (or residuals) at θ: moved there from the last point, or made afresh where that is less work."""
        moves = None if self._point is None or residual != self._residual else theta - self._point
        self._point = None  # until the updates are through
        if moves is None or np.count_nonzero(moves) >= np.count_nonzero(theta):
            rows, moves = self._rows, theta
            self._z = np.zeros(rows.Y.shape[0]) if rows.offset is None else np.array(rows.offset, dtype=np.float64)
            self._residual = residual
            if residual:
                self._z -= rows.Y[:, 0]
        move: Any = dense_moves if self._dense else sparse_moves
        move(*self._columns, self._z, moves)
        return self._z


def _drawn(
    query: CoordinateGradientQuery, count: int, key: Key | None
) -> tuple[npt.NDArray[np.int64], tuple[float, ...]]:
    """Noise of `count` answers in cells of their lattice, and (bound, pitch, reach); pitch 0 where there is none."""
    if not query.sigma:
        return np.zeros(count, dtype=np.int64), (math.inf, 0.0, 0.0)
    pitch = lattice(query.sigma, query.bound).pitch
    noise = gaussian(np.zeros(count), query.sigma, bound=query.bound, key=key)
    return (noise / pitch - 0.5).astype(np.int64), (query.bound, pitch, REACH)
