"""Second moments: one joint Gaussian release of `Σ xxᵀ`, `Σ xyᵀ` and `Σ yyᵀ`; and those of shortened records, of their curvature and gradients."""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from hullabaloo.curator.centred_gradient_kernels import PLAIN, shortened_rows, unit_steps
from hullabaloo.curator.exact import (
    BITS,
    CELLS,
    PRODUCT_BLOCK,
    ExactSum,
    blockwise,
    cells_exponent,
    magic_number,
    merged,
    quantised,
)
from hullabaloo.curator.kernels import quantised_rows
from hullabaloo.curator.known import number, numbers
from hullabaloo.curator.query import UNIT_ROUNDOFF, Array, NoisySum, State
from hullabaloo.curator.views import AffineView, public_view
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import Loss
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.answers import NoisyMoments

_FREE_BLOCK = 4096
MOST_PER_UNIT = 1 << 15
_MANY = 16  # blocks from which threads are worth their start


@dataclass(frozen=True)
class MomentsQuery(NoisySum):
    """`A = Σ_i w_i a_i a_iᵀ` with `a = (x/B, κ y/√k)`, so that `‖a‖² ≤ 1 + κ²`, in isometric coordinates.

    Diagonal entries get N(0, σ²), each off-diagonal pair one draw N(0, σ²/2) used twice: the map that keeps diagonal
    entries and multiplies off-diagonal ones by √2 is an isometry from symmetric matrices with the Frobenius norm.

    **Guarantee.** Precondition: `‖x‖₂ ≤ B`, `|y_j| ≤ 1`, `0 ≤ w ≤ W` (enforced by the domain's encoding).
    *Add-or-remove*: `‖w a aᵀ‖_F = w‖a‖² ≤ W(1+κ²)`. *Replace-one*: `‖w aaᵀ − v bbᵀ‖_F² = w²‖a‖⁴ + v²‖b‖⁴ − 2wv⟨a,b⟩²
    ≤ 2W²(1+κ²)²`, hence `√2 W(1+κ²)`. With one target, no weights and κ > 1 the exact supremum is smaller. Write
    `s = ‖x‖², r = κ|y|`, likewise s', r': `|⟨a,b⟩| ≥ (rr' − √(ss'))₊`, so the square is at most
    `(s+r²)² + (s'+r'²)² − 2(rr' − √(ss'))₊²`, increasing in s and s': put both to 1. Where `rr' ≥ 1` this is
    `(r²−r'²)² + 2(r+r')²`, increasing in the larger of the two, say r: put it to κ. With `u = r'` the derivative is
    `4(κ+u)(1 − u(κ−u))`, so the maximum is at `u = κ`, giving `8κ²`, or for κ > 2 at the smaller root of `u(κ−u) = 1`,
    giving `(κ+u)²(2 + u⁻²)`. Where `rr' < 1` the expression increases up to that boundary. (The value at
    `u = 1/κ`, where the bracket starts, would be too small: 17.0332 at κ = 4, where 17.0335 is attained.)
    Rows are rounded to a lattice first (exact.py), which lengthens a by at most a factor `1 + η`, charged as
    `(1+η)²`; products of lattice points are exact in doubles and summed exactly.
    Source: docs/algorithms.md.
    """

    target_scale: float

    name: ClassVar[str] = "moments"
    key_label: ClassVar[str] = "moments"
    tells: ClassVar[tuple[str, ...]] = ("target_scale",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.target_scale > 0.0 and math.isfinite(self.target_scale)):
            raise InvalidParameter(
                f"The weight of the target must be positive and finite, but target_scale = {self.target_scale!r} "
                "was asked. A value near 1 treats features and target alike."
            )

    @cached_property
    def width(self) -> int:
        """p + k."""
        return self.facts.width + len(self.facts.targets)

    @cached_property
    def length(self) -> int:
        """`(p+k)(p+k+1)/2` isometric coordinates."""
        return self.width * (self.width + 1) // 2

    @cached_property
    def scale_y(self) -> float:
        """√k, the bound of ‖y‖₂."""
        return math.sqrt(len(self.facts.targets))

    @cached_property
    def contribution(self) -> float:
        """`1 + κ²` bounds every isometric coordinate."""
        return 1.0 + self.target_scale**2

    @cached_property
    def scales(self) -> Array:
        """Factors that turn encoded columns (x, y) into a."""
        x = np.full(self.facts.width, 1.0 / self.facts.norm_l2)
        return np.append(x, np.full(len(self.facts.targets), self.target_scale / self.scale_y))

    @cached_property
    def stretch(self) -> float:
        """`1 + η`: by which factor the bounds of `√w x/B` and `√w κy/√k` grow for the rounding of rows and norms.

        Half a cell in every entry moves `√w a` by at most `moved` in all. Where the sensitivity rests on ‖a‖ alone that is
        compared with `√(W(1+κ²))`; the large-target bound holds x and y apart, and the shorter of the two is x, `√W`.
        """
        moved = 2.0 ** (self.exponent - 1) * float(np.sqrt(np.sum(self.scales**2)))
        length = 1.0 if self._apart else self.contribution
        return 1.0 + moved / math.sqrt(self.facts.max_weight * length) + (self.width + 16) * UNIT_ROUNDOFF

    @cached_property
    def _apart(self) -> bool:
        """Whether the sharper replace-one bound for κ > 1 applies."""
        replaced = self.neighbours is Neighbours.REPLACE_ONE and len(self.facts.targets) == 1
        return replaced and self.target_scale > 1.0 and self.facts.alike

    @cached_property
    def exponent(self) -> int:
        """Exponent of the lattice that rows are rounded to."""
        return cells_exponent(self.facts)

    @cached_property
    def record_sensitivity(self) -> float:
        """The bound of the guarantee, in normalised coordinates."""
        kappa, weight = self.target_scale, self.facts.max_weight
        stretch = self.stretch**2
        if self.neighbours is Neighbours.ADD_OR_REMOVE:
            return stretch * weight * (1.0 + kappa**2)
        if self._apart:
            return stretch * _pair_of_large_targets(kappa)
        return stretch * weight * math.sqrt(2.0) * (1.0 + kappa**2)

    def partial(self, rows: Rows) -> State:  # noqa: D102
        if self.is_private and isinstance(rows.X, np.ndarray):
            return dense_sum(rows, self.width, self.exponent)
        lattice, block = (self.exponent, PRODUCT_BLOCK) if self.is_private else (None, _FREE_BLOCK)
        exponent = None if lattice is None else 2 * lattice
        products = lambda part: _block_product(*quantised(rows, part, lattice))  # noqa: E731
        return blockwise(rows.Y.shape[0], block, (self.width, self.width), exponent, products)

    def total(self, state: State) -> Array:
        """The isometric coordinates of A, diagonal first, then the upper triangle by rows. PRIVATE."""
        raw = state.value(math.inf) if isinstance(state, ExactSum) else state
        return np.clip(isometric(raw * self.scales[:, None] * self.scales[None, :]), -self.bound, self.bound)

    def read(self, noisy: Array) -> NoisyMoments:  # noqa: D102
        return self.in_means(noisy, self.sigma, self.records)

    def in_means(self, noisy: Array, sigma: float, records: float) -> NoisyMoments:
        """Noisy isometric coordinates as moments in mean form, on the unit domain."""
        p = self.facts.width
        means = symmetric(noisy, self.width) / (self.scales[:, None] * self.scales[None, :]) / records
        return NoisyMoments(
            gram=means[:p, :p],
            cross=means[:p, p:],
            square=means[p:, p:],
            sigma=sigma,
            scale_x=self.facts.norm_l2,
            scale_y=self.scale_y,
            target_scale=self.target_scale,
            records=records,
            counted=self.neighbours is Neighbours.REPLACE_ONE and self.facts.alike,
        )


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
    def stretch(self) -> float:
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
        return self.products(rows, root, nowhere, centre, np.ones(self.size), clip_norm, PLAIN, 0.0, False)

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
                f"Pass one coefficient for each, a positive finite length, and one of {', '.join(self.KINDS)}, "
                "units where one has several records."
            )
        return point, str(of), view, longest

    def partial(self, rows: Rows, theta: Array, of: str, view: AffineView, clip_norm: float) -> ExactSum:  # noqa: D102
        if of == "units":
            sums, one = self._of_units(rows, theta, view, clip_norm), np.ones(self.size)
            root = np.full(len(sums.X), math.sqrt(self.facts.max_weight))
            made = self.products(sums, root, theta, np.zeros(self.size), one, 1.0, PLAIN, 0.0, False)
            return made.times(self.facts.records_per_unit)
        root = np.zeros(0) if rows.weight is None else np.sqrt(rows.weight)
        if of == "gradients":
            root = root**2 / math.sqrt(self.facts.max_weight)
        code = PLAIN if of == "records" else int(self.loss.kernel_code)
        about = (clip_norm, code, self.loss.kernel_parameter, of == "curvature")
        return self.products(rows, root, theta, view.centre, view.scale(self.facts), *about)

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
        y, about = np.ascontiguousarray(rows.Y[:, 0]), (theta, view.centre, view.scale(self.facts), clip_norm)
        loss = int(self.loss.kernel_code), self.loss.kernel_parameter
        for start in range(0, n, _FREE_BLOCK):
            part = slice(start, start + _FREE_BLOCK)
            X = rows.X[part] if isinstance(rows.X, np.ndarray) else rows.X[part].toarray()
            offset = none if rows.offset is None else rows.offset[part]
            unit_steps(X, y[part], weight[part], offset, rows.unit[part], *about, *loss, magic_number(-CELLS), sums)
        return Rows(sums, np.zeros((len(sums), 0)))


def _pair_of_large_targets(kappa: float) -> float:
    """`sup ‖aaᵀ − bbᵀ‖_F` over `‖x‖ ≤ 1, |y| ≤ 1` for κ > 1: the maximum of the guarantee, rounded upwards."""
    value = 2.0 * math.sqrt(2.0) * kappa
    if kappa > 2.0:
        u = 2.0 / (kappa + math.sqrt(kappa**2 - 4.0))
        value = max(value, (kappa + u) * math.sqrt(2.0 + u**-2))
    return value * (1.0 + 16.0 * UNIT_ROUNDOFF)


def dense_sum(rows: Rows, size: int, exponent: int) -> ExactSum:
    """`Σ w (x,y)(x,y)ᵀ` of dense rows, rounded to the lattice, as an exact sum of shape (size, size); PRIVATE."""
    root, magic = np.zeros(0) if rows.weight is None else np.sqrt(rows.weight), magic_number(exponent)

    def fill(part: slice, out: Array) -> None:
        quantised_rows(rows.X[part], rows.Y[part], root[part], magic, out)

    return products_of(rows.Y.shape[0], size, exponent, fill)


def products_of(n: int, size: int, exponent: int, fill: Callable[[slice, Array], None]) -> ExactSum:
    """`Σ b bᵀ` of n rows b; `fill` writes those of a block, rounded to the lattice of exact.py.

    Every thread rounds a block into its own cache and multiplies it there. BLAS runs single-threaded meanwhile (for the
    whole process, as scikit-learn does): its own threads would wait for one another at every block. Sums are integers, so
    neither the threads nor their order change a bit.
    """

    def products(starts: range) -> ExactSum:
        total = ExactSum((size, size), 2 * exponent)
        buffer, product = np.empty((PRODUCT_BLOCK, size)), np.empty((size, size))
        for start in starts:
            part = slice(start, min(start + PRODUCT_BLOCK, n))
            block = buffer[: part.stop - start]
            fill(part, block)
            total.add(np.matmul(block.T, block, out=product))
        return total

    blocks = range(0, n, PRODUCT_BLOCK)
    if len(blocks) < _MANY:
        return products(blocks)
    with threadpool_limits(1, user_api="blas"):
        return merged(products, blocks, threads=True)


def _block_product(X: Any, Y: Array) -> Array:
    """`[X Y]ᵀ[X Y]` of one block."""
    p, k = X.shape[1], Y.shape[1]
    out = np.empty((p + k, p + k))
    gram = X.T @ X
    out[:p, :p] = gram if isinstance(gram, np.ndarray) else gram.toarray()
    out[:p, p:] = X.T @ Y
    out[p:, :p] = out[:p, p:].T
    out[p:, p:] = Y.T @ Y
    return out


def isometric(matrix: Array) -> Array:
    """The diagonal, then √2 times the upper triangle by rows: an isometry from symmetric matrices."""
    return np.concatenate([matrix.diagonal(), math.sqrt(2.0) * matrix[_above(matrix.shape[0])]])


def _above(size: int) -> npt.NDArray[np.bool_]:
    """Where the entries above the diagonal stand."""
    places = np.arange(size)
    return places[:, None] < places


def symmetric(coordinates: Array, size: int) -> Array:
    """The symmetric matrix of given isometric coordinates."""
    matrix = np.zeros((size, size))
    matrix[_above(size)] = coordinates[size:] / math.sqrt(2.0)
    matrix += matrix.T
    matrix[np.diag_indices(size)] = coordinates[:size]
    return matrix
