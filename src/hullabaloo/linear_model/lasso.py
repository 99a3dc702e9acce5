"""Private lasso."""

from typing import ClassVar, final

from hullabaloo.data import Encoding
from hullabaloo.geometry import ConvexSet, L1Ball, NoPenalty, Penalty
from hullabaloo.linear_model.least_squares import LeastSquares


@final
class Lasso(LeastSquares):
    """Private lasso: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` over `‖θ‖₁ ≤ r`, or with `λ‖θ‖₁` added, on the unit domain.

    Default: `hb.L1Ball(1.0)`: the features together can move a prediction by at most half the target's range from the
    intercept. scikit-learn's `Lasso(alpha)` on the encoded table is `penalty=hb.L1Penalty(alpha)`.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "Lasso"

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        return L1Ball(1.0), NoPenalty()
