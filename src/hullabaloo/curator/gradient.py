"""The gradient query: the noisy mean of clipped per-record gradients of a linear model."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.exact import ExactSum, magic_number
from hullabaloo.curator.kernels import dense_gradient, sparse_gradient
from hullabaloo.curator.query import UNIT_ROUNDOFF, NoisySum
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import AnyLoss
from hullabaloo.privacy import Neighbours

Array = npt.NDArray[np.float64]

_BLOCK = 1 << 14
_CELLS = 37  # a contribution spans at most 2^37 lattice cells; 2^14 rows of them stay below 2^53


@dataclass(frozen=True, slots=True)
class GradientQuery(NoisySum):
    """`Σ_i w_i clip(φ'(⟨x_i, θ⟩, y_i), ±c) x_i`, released with Gaussian noise and divided by the public record count.

    **Guarantee.** Precondition: `‖x_i‖₂ ≤ B` and `0 ≤ w_i ≤ W` (enforced by the domain's encoding), θ is a function of
    earlier releases. Every contribution has l2 norm at most `G = W c B` whatever θ, y and x are, because the derivative
    of a linear model's loss is a scalar times x. Replacing a record moves the sum by at most `2G`, adding or removing
    one by at most `G`. Computed contributions differ from the formula by float rounding of one product and of the row's
    norm (factor `1 + (p+16)u`), and by rounding to the lattice (at most `√p · pitch/2`); both are charged, and their sum is
    exact. Clipping φ' is the gradient of a convex loss again (a Huberised φ). Source: docs/algorithms.md; Bassily, Smith
    and Thakurta (2014).
    """

    loss: AnyLoss
    clip: float

    name: ClassVar[str] = "gradient"

    def __post_init__(self) -> None:
        super(GradientQuery, self).__post_init__()  # slots dataclasses break the short form
        if not (self.clip > 0.0 and math.isfinite(self.clip)):
            raise InvalidParameter(
                f"Per-record derivatives need a positive finite clip, but clip = {self.clip!r} was asked. Without it "
                "one record could move the gradient without limit."
            )

    @property
    def length(self) -> int:
        """p coordinates."""
        return self.facts.width

    @property
    def contribution(self) -> float:
        """`c · max|x_ij|`."""
        return self.clip * self.facts.norm_linf

    @property
    def exponent(self) -> int:
        """Exponent of the lattice of contributions: the largest is below `2^37` cells."""
        largest = self.facts.max_weight * self.contribution
        return math.frexp(largest)[1] - _CELLS

    @property
    def record_sensitivity(self) -> float:
        """`2 W c B` (replace-one) or `W c B` (add-or-remove), rounding included."""
        norm = self.facts.max_weight * self.clip * self.facts.norm_l2 * (1.0 + (self.length + 16) * UNIT_ROUNDOFF)
        norm += math.sqrt(self.length) * 2.0 ** (self.exponent - 1)
        return norm * (2.0 if self.neighbours is Neighbours.REPLACE_ONE else 1.0)

    def to_dict(self) -> dict[str, Any]:
        """The query with its loss and clip."""
        return {**super(GradientQuery, self).to_dict(), "loss": self.loss.to_dict(), "clip": self.clip}


def exact_gradient(rows: Rows, query: GradientQuery, theta: Array) -> Array:
    """The exact sum of clipped contributions of all rows, as doubles; PRIVATE."""
    exponent = query.exponent
    magic = magic_number(exponent) if math.isfinite(query.mu) else 0.0
    total = ExactSum((query.length,), exponent)
    plain = np.zeros(query.length)
    target = np.ascontiguousarray(rows.Y[:, 0])
    weight = rows.weight if rows.weight is not None else np.ones(0)
    code, parameter = query.loss.kernel_code, query.loss.kernel_parameter
    for start in range(0, target.size, _BLOCK):
        part = slice(start, min(start + _BLOCK, target.size))
        block = np.zeros(query.length)
        arguments = (target[part], weight[part], theta, query.clip, code, parameter, magic, block)
        if isinstance(rows.X, np.ndarray):
            dense_gradient(rows.X[part], *arguments)
        else:
            sparse = rows.X[part]
            sparse_gradient(sparse.data, sparse.indices, sparse.indptr, *arguments)
        if magic:
            total.add(block)
        else:
            plain += block
    return total.value(query.bound) if magic else plain
