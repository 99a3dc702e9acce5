"""Second moments: one joint Gaussian release of `Σ xxᵀ`, `Σ xyᵀ` and `Σ yyᵀ`."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from hullabaloo.curator import exact
from hullabaloo.curator.kernels import quantised_rows
from hullabaloo.curator.query import UNIT_ROUNDOFF, Array, NoisySum, State
from hullabaloo.data import Rows, cores
from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import Neighbours, NoisyMoments

_FREE_BLOCK = 4096
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
    all_targets: ClassVar[bool] = True

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
    def stretch(self) -> float:  # type: ignore[override]
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
        return exact.cells_exponent(self.facts)

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
        lattice, block = (self.exponent, exact.PRODUCT_BLOCK) if self.is_private else (None, _FREE_BLOCK)
        exponent = None if lattice is None else 2 * lattice
        products = lambda part: _block_product(*exact.quantised(rows, part, lattice))  # noqa: E731
        return exact.blockwise(rows.Y.shape[0], block, (self.width, self.width), exponent, products)

    def total(self, state: State) -> Array:
        """The isometric coordinates of A, diagonal first, then the upper triangle by rows. PRIVATE."""
        raw = state.value(math.inf) if isinstance(state, exact.ExactSum) else state
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


def _pair_of_large_targets(kappa: float) -> float:
    """`sup ‖aaᵀ − bbᵀ‖_F` over `‖x‖ ≤ 1, |y| ≤ 1` for κ > 1: the maximum of the guarantee, rounded upwards."""
    value = 2.0 * math.sqrt(2.0) * kappa
    if kappa > 2.0:
        u = 2.0 / (kappa + math.sqrt(kappa**2 - 4.0))
        value = max(value, (kappa + u) * math.sqrt(2.0 + u**-2))
    return value * (1.0 + 16.0 * UNIT_ROUNDOFF)


def dense_sum(rows: Rows, size: int, exponent: int) -> exact.ExactSum:
    """`Σ w (x,y)(x,y)ᵀ` of dense rows, rounded to the lattice, as an exact sum of shape (size, size); PRIVATE."""
    root, magic = np.zeros(0) if rows.weight is None else np.sqrt(rows.weight), exact.magic_number(exponent)

    def fill(part: slice, out: Array) -> None:
        quantised_rows(rows.X[part], rows.Y[part], root[part], magic, out)

    return products_of(rows.Y.shape[0], size, exponent, fill)


def products_of(n: int, size: int, exponent: int, fill: Callable[[slice, Array], None]) -> exact.ExactSum:
    """`Σ b bᵀ` of n rows b; `fill` writes those of a block, rounded to the lattice of exact.py.

    Every thread rounds a block into its own cache and multiplies it there. BLAS runs single-threaded meanwhile (for the
    whole process, as scikit-learn does): its own threads would wait for one another at every block. Sums are integers, so
    neither the threads nor their order change a bit.
    """

    def products(starts: range) -> exact.ExactSum:
        total = exact.ExactSum((size, size), 2 * exponent)
        buffer, product = np.empty((exact.PRODUCT_BLOCK, size)), np.empty((size, size))
        for start in starts:
            part = slice(start, min(start + exact.PRODUCT_BLOCK, n))
            block = buffer[: part.stop - start]
            fill(part, block)
            total.add(np.matmul(block.T, block, out=product))
        return total

    blocks = range(0, n, exact.PRODUCT_BLOCK)
    if len(blocks) < _MANY or cores() == 1:
        return products(blocks)
    with threadpool_limits(1, user_api="blas"):
        return exact.merged(products, blocks, threads=True)


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
