"""Private ridge regression."""

from typing import ClassVar, final

from hullabaloo.data import Encoding
from hullabaloo.geometry import ConvexSet, Penalty, SquaredL2Penalty
from hullabaloo.linear_model.least_squares import LeastSquares


@final
class Ridge(LeastSquares):
    """Private ridge regression: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)² + (λ/2)‖θ‖₂²` on the unit domain.

    Default: `hb.SquaredL2Penalty(0.001)`. scikit-learn's `Ridge(alpha)` on the encoded table is `λ = alpha/n`.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "Ridge"

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        return None, SquaredL2Penalty(0.001)
