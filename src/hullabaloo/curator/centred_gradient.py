"""The step query: the noisy sum of per-record gradients, centred and shortened to a length that may change between answers."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hullabaloo.curator.centred_gradient_kernels import PLAIN, dense_steps, measure, sparse_steps
from hullabaloo.curator.exact import ExactSum
from hullabaloo.curator.known import coefficients, number
from hullabaloo.curator.query import UNIT_ROUNDOFF, Array, NoisySum, State
from hullabaloo.curator.views import AffineView, public_view
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import Loss

_BLOCK = 1 << 14


def with_lengths(query: NoisySum, rows: Rows, view: AffineView, kernels: Any, theta: Array, *settings: Any) -> ExactSum:
    """The exact sum of what two kernels, for dense and for sparse rows, add that need rows' lengths in a view; those of dense rows are kept. PRIVATE.

    A kept length is a function of its own record and of the view alone, and one kernel measures all: which questions were asked before changes no bit.
    """
    (dense, sparse), scale, n = kernels, view.scale, rows.Y.shape[0]
    lengths = rows.kept("lengths", (view.centre[:-1].tobytes(), scale[:-1].tobytes()), lambda: np.full(n, np.nan))

    def add(X: Array, y: Array, weight: Array, offset: Array, squares: Array, *given: Any) -> None:
        measure(X, view.centre, scale, squares)
        dense(X, y, weight, offset, squares, *given)

    y = np.ascontiguousarray(rows.Y[:, 0]) if rows.Y.shape[1] else np.zeros(n)
    scattered = None if isinstance(rows.X, np.ndarray) or view.centre.any() else (sparse, (theta, scale, *settings))
    whole = add, (theta, view.centre, scale, *settings)
    return query.added_up(rows, y, (query.length,), _BLOCK, whole, scattered, lengths)


@dataclass(frozen=True)
class UnitSum(NoisySum):
    """`Σ_i w_i u_i · clip(φ'_i/G, ±1/‖u_i‖₂)`, `u = D(x − m)`: per-record gradients of u, in units of their longest, G.

    **Guarantee.** Precondition: `0 ≤ w_i ≤ W` (enforced by the domain's encoding); θ, m, D and G are functions of earlier
    releases. Every contribution has l2 norm at most W, whatever the record, its derivative and θ, m, D, G > 0 are: so each of
    them may be chosen anew for every answer at the same noise and price. An undefined derivative, or a record on the centre,
    counts as 0. Replacing a record moves the sum by at most `2W`, adding or removing one by at most W. Float rounding of the
    computed length and products (a factor `1 + (p+32)u`) and rounding to the lattice (at most `√p · pitch/2`) are charged;
    the sum is exact. Clipping by norm is Abadi et al. (2016); that a linear model's gradient is a scalar times x makes it
    a clip of φ', and the mean of such gradients that of a convex loss whose records have their own Huber thresholds.
    """

    @cached_property
    def length(self) -> int:
        """p coordinates."""
        return self.facts.width

    contribution = 1.0

    @cached_property
    def record_sensitivity(self) -> float:
        """`2W` (replace-one) or W (add-or-remove), rounding included."""
        norm = self.facts.max_weight * (1.0 + (self.length + 32) * UNIT_ROUNDOFF)
        norm += math.sqrt(self.length) * 2.0 ** (self.exponent - 1)
        return norm * self.copies

    def partial(self, rows: Rows, theta: Array, view: AffineView, clip_norm: float, code: int, about: Array) -> State:
        """In units of `clip_norm`."""
        return with_lengths(self, rows, view, (dense_steps, sparse_steps), theta, clip_norm, code, about)


@dataclass(frozen=True)
class CentredGradientQuery(UnitSum):
    """The `UnitSum` of a loss's gradients.

    **Guarantee.** That of `UnitSum`, for every θ, view and reach.
    """

    loss: Loss

    name: ClassVar[str] = "centred_gradient"
    key_label: ClassVar[str] = "step"
    tells: ClassVar[tuple[str, ...]] = ("loss",)
    any_matrix: ClassVar[bool] = True

    def question(
        self, theta: Any, *, centre: Any, intercept_weight: Any, clip_norm: Any
    ) -> tuple[Array, AffineView, float]:
        """θ, from where records are measured, and the length that gradients are shortened to."""
        point, longest = coefficients(theta, (self.length,), "a step"), number(clip_norm)
        if not 0.0 < longest < math.inf:
            raise InvalidParameter(f"Gradients are shortened to a positive finite length, not to {longest!r}.")
        return point, public_view(centre, intercept_weight, self.facts), longest

    def partial(self, rows: Rows, theta: Array, view: AffineView, clip_norm: float) -> State:  # type: ignore[override]  # noqa: D102
        return super().partial(rows, theta, view, clip_norm, *self.kernel)

    def read(self, noisy: Array, theta: Array, view: AffineView, clip_norm: float) -> Array:  # noqa: D102
        return noisy * (clip_norm / self.records) / view.scale


@dataclass(frozen=True)
class MeansQuery(UnitSum):
    """The means of the encoded columns: the `UnitSum` with φ' ≡ 1, no centre and G the bound of ‖x‖₂.

    **Guarantee.** That of `UnitSum`; no record is shortened, as none is longer than G.
    """

    name: ClassVar[str] = "means"
    key_label: ClassVar[str] = "means"

    @cached_property
    def clip_norm(self) -> float:
        """The bound of ‖x‖₂."""
        return self.facts.norm_l2

    def partial(self, rows: Rows) -> State:  # type: ignore[override]  # noqa: D102
        nowhere = np.zeros(self.length)
        return super().partial(rows, nowhere, AffineView(nowhere), self.clip_norm, PLAIN, nowhere)

    def read(self, noisy: Array) -> Array:  # noqa: D102
        return noisy * (self.clip_norm / self.records)
