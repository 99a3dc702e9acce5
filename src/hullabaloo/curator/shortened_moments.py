"""Second moments of records shortened to a length: of records, of their curvature, of their gradients and of those of units."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hullabaloo.curator.centred_gradient_kernels import PLAIN, shortened_rows, unit_steps
from hullabaloo.curator.exact import BITS, CELLS, ExactSum, magic_number
from hullabaloo.curator.known import number, numbers
from hullabaloo.curator.moments import isometric, products_of, symmetric
from hullabaloo.curator.query import UNIT_ROUNDOFF, Array, NoisySum
from hullabaloo.curator.views import AffineView, public_view
from hullabaloo.data.source import MOST_PER_UNIT, Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import Loss
from hullabaloo.privacy import Neighbours

_BLOCK = 4096


@dataclass(frozen=True)
class ShortenedMoments(NoisySum):
    """`Σ_i w_i t_i t_iᵀ` of vectors t of length at most 1, in isometric coordinates.

    Diagonal entries get N(0, σ²), each off-diagonal pair one draw N(0, σ²/2) used twice (as in `MomentsQuery`).

    **Guarantee.** Precondition: `0 ≤ w_i ≤ W` (enforced by the domain's encoding); `‖t‖₂ ≤ 1` whatever the record and the question are,
    so that each question may be chosen anew from earlier answers. *Add-or-remove*: `‖w ttᵀ‖_F = w‖t‖² ≤ W`. *Replace-one*:
    `‖w ttᵀ − v ssᵀ‖_F² = w²‖t‖⁴ + v²‖s‖⁴ − 2wv⟨t,s⟩² ≤ 2W²`. A record on the centre, or at a distance that overflows, counts as 0. `√w t` is
    rounded to a lattice (exact.py), which with the float rounding of lengths and products lengthens it to at most `√W(1 + η)`, charged
    as `(1 + η)²`; products of lattice points are exact in doubles and summed exactly. Source: docs/second-order.md.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """q, the number of coordinates of t."""

    @cached_property
    def length(self) -> int:
        """`q(q + 1)/2` isometric coordinates."""
        return self.size * (self.size + 1) // 2

    @cached_property
    def contribution(self) -> float:
        """1 bounds every isometric coordinate, but for rounding."""
        return self.stretch**2

    @cached_property
    def exponent(self) -> int:
        """Exponent of the lattice of `√w t`: an entry is at most 2^21 cells."""
        return math.frexp(math.sqrt(self.facts.max_weight))[1] - BITS

    @cached_property
    def stretch(self) -> float:  # type: ignore[override]
        """`1 + η`."""
        moved = math.sqrt(self.size) * 2.0 ** (self.exponent - 1)
        return 1.0 + moved / math.sqrt(self.facts.max_weight) + (self.size + 40) * UNIT_ROUNDOFF

    @cached_property
    def record_sensitivity(self) -> float:
        """`√2 W` (replace-one) or W (add-or-remove), rounding included."""
        copies = math.nextafter(math.sqrt(2.0), 2.0) if self.neighbours is Neighbours.REPLACE_ONE else 1.0
        return copies * self.stretch**2 * self.facts.max_weight

    def products(self, rows: Rows, root: Array, theta: Array, centre: Array, scale: Array, *about: Any) -> ExactSum:
        """The exact sum of what `shortened_rows` makes of these rows; `root` is √w or empty. PRIVATE."""
        magic, n, none = magic_number(self.exponent), rows.Y.shape[0], np.zeros(0)
        offset = none if rows.offset is None else rows.offset
        y = np.ascontiguousarray(rows.Y[:, 0]) if rows.Y.shape[1] else np.zeros(n)

        def fill(part: slice, out: Array) -> None:
            X = rows.X[part]
            X = X if isinstance(X, np.ndarray) else X.toarray()
            given = (X, y[part], root[part], offset[part], theta, centre, scale, *about)
            shortened_rows(*given, magic, out)

        return products_of(n, self.size, self.exponent, fill)

    def total(self, state: Any) -> Array:  # noqa: D102
        return np.clip(isometric(state.value(math.inf)), -self.bound, self.bound)


@dataclass(frozen=True)
class CovarianceQuery(ShortenedMoments):
    """`Σ_i w_i t_i t_iᵀ`, `t = (x_s − m) · min(1/R, 1/‖x_s − m‖₂)`, the constant column left out.

    The noise of the matrix in the units of x is R²σ: where records lie within R of a centre that is much less than their declared bound.

    **Guarantee.** That of `ShortenedMoments`: m and R > 0 are functions of earlier releases, and `‖t‖₂ ≤ 1`.
    """

    name: ClassVar[str] = "covariance"
    key_label: ClassVar[str] = "spread"

    @cached_property
    def size(self) -> int:
        """The number of columns but for the constant one."""
        return self.facts.width - self.facts.intercept

    def question(self, *, centre: Any, clip_norm: Any) -> tuple[Array, float]:
        """m and R."""
        point, longest = numbers(centre), number(clip_norm)
        if point.shape != (self.size,) or not np.all(np.isfinite(point)) or not 0.0 < longest < math.inf:
            raise InvalidParameter(
                f"The spread of {self.size} columns was asked around a centre of shape {point.shape} within {longest!r}. Pass one "
                "finite number for each column but the constant one, and a positive finite length."
            )
        return point, longest

    def partial(self, rows: Rows, centre: Array, clip_norm: float) -> ExactSum:  # noqa: D102
        root = np.zeros(0) if rows.weight is None else np.sqrt(rows.weight)
        nowhere = np.zeros(self.facts.width)
        return self.products(rows, root, nowhere, centre, np.ones(self.size), clip_norm, PLAIN, nowhere, False)

    def read(self, noisy: Array, centre: Array, clip_norm: float) -> Array:  # noqa: D102
        return symmetric(noisy, self.size) * (clip_norm**2 / self.records)


@dataclass(frozen=True)
class GradientMomentsQuery(ShortenedMoments):
    """Second moments of records `u = Dx`, of their curvature, of their gradients, or of units' gradients, each shortened to a length R.

    `Σ w f² uuᵀ` with f = 1, `√φ''(⟨x, θ⟩, y)` or |φ'|, `fu` shortened to R; of gradients `Σ w² φ'² uuᵀ`, the middle of a sandwich
    (White 1980), as `W Σ (w²/W) …`; of units `Σ_v s_v s_vᵀ`, `s_v = Σ_{i∈v} w_i φ'_i u_i`, each term, and the sum, shortened to
    R at weight W, that of clustered errors (Liang and Zeger 1986). Divided by the number of records.

    **Guarantee.** That of `ShortenedMoments`: θ, D and R > 0 are functions of earlier releases, `t = u · min(f/R, 1/‖u‖)` has
    `‖t‖₂ ≤ 1` whatever the record, its derivative and the view are, and `w²/W ≤ W`. An undefined derivative counts as 0.
    *Of units*, of `m ≤ 2^15` records: terms are rounded to 2^-37 of WR, so that `s_v` is exact in a double and a function of the unit's own
    records, whatever their order, and the sum is of `mW ttᵀ`, `t = s_v · min(1/(WR), 1/‖s_v‖)`, each of norm at most mW. A unit that comes, goes or
    is replaced changes one of them, by at most mW, or √2 mW: m times what a record does, as `NoisySum.sensitivity` has it. A unit is
    never in two parts.
    """

    loss: Loss

    name: ClassVar[str] = "gradient_moments"
    key_label: ClassVar[str] = "gradient_moments"
    tells: ClassVar[tuple[str, ...]] = ("loss",)
    any_matrix: ClassVar[bool] = True
    KINDS: ClassVar[tuple[str, ...]] = ("records", "curvature", "gradients", "units")

    @cached_property
    def size(self) -> int:
        """All columns."""
        return self.facts.width

    def question(
        self, theta: Any, *, of: Any, intercept_weight: Any, clip_norm: Any
    ) -> tuple[Array, str, AffineView, float]:
        """θ (of records any), what the moments are of, D, and R."""
        point, longest = numbers(theta), number(clip_norm)
        view = public_view(np.zeros(self.size), intercept_weight, self.facts)
        known = (
            type(of) is str and of in self.KINDS and (of != "units" or 1 < self.facts.records_per_unit <= MOST_PER_UNIT)
        )
        if not known or point.shape != (self.size,) or not 0.0 < longest < math.inf:
            raise InvalidParameter(
                f"Second moments were asked at a point of shape {point.shape} within {longest!r}, where there are {self.size} encoded columns. "
                f"Pass one coefficient for each, a positive finite length, and one of {', '.join(self.KINDS)}, units where one has several records."
            )
        return point, str(of), view, longest

    def partial(self, rows: Rows, theta: Array, of: str, view: AffineView, clip_norm: float) -> ExactSum:  # noqa: D102
        if of == "units":
            sums, one = self._of_units(rows, theta, view, clip_norm), np.ones(self.size)
            root = np.full(len(sums.X), math.sqrt(self.facts.max_weight))
            made = self.products(sums, root, theta, np.zeros(self.size), one, 1.0, PLAIN, theta, False)
            return made.times(self.facts.records_per_unit)
        root = np.zeros(0) if rows.weight is None else np.sqrt(rows.weight)
        if of == "gradients":
            root = root**2 / math.sqrt(self.facts.max_weight)
        code, table = self.kernel
        about = (clip_norm, PLAIN if of == "records" else code, table, of == "curvature")
        return self.products(rows, root, theta, view.centre, view.scale, *about)

    def read(self, noisy: Array, theta: Array, of: str, view: AffineView, clip_norm: float) -> Array:  # noqa: D102
        return symmetric(noisy, self.size) * (self.weighing(of) * clip_norm**2 / self.records)

    def weighing(self, of: str) -> float:
        """What the sum is multiplied by beside R²/n: gradients hold their weights over √W, units' over W, and those are counted m times."""
        m, W = self.facts.records_per_unit, self.facts.max_weight
        return {"gradients": W, "units": W / m}.get(of, 1.0)

    def _of_units(self, rows: Rows, theta: Array, view: AffineView, clip_norm: float) -> Rows:
        """The sums of units' gradients over WR, as rows. PRIVATE."""
        n, none = rows.Y.shape[0], np.zeros(0)
        if rows.unit is None:
            raise TypeError("these rows were read without their units")
        sums = np.zeros((int(rows.unit.max(initial=-1)) + 1, self.size))
        weight = (np.ones(n) if rows.weight is None else rows.weight) / self.facts.max_weight
        y, about = np.ascontiguousarray(rows.Y[:, 0]), (theta, view.centre, view.scale, clip_norm)
        loss = self.kernel
        for start in range(0, n, _BLOCK):
            part = slice(start, start + _BLOCK)
            X = rows.X[part]
            X = X if isinstance(X, np.ndarray) else X.toarray()
            offset = none if rows.offset is None else rows.offset[part]
            unit_steps(X, y[part], weight[part], offset, rows.unit[part], *about, *loss, magic_number(-CELLS), sums)
        return Rows(sums, np.zeros((len(sums), 0)))
