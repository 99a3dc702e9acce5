"""Private lasso."""

from typing import ClassVar, final

from hullabaloo.geometry import ConvexSet, L1Ball, NoPenalty, Penalty
from hullabaloo.linear_model.base import PrivateLinearModel


@final
class Lasso(PrivateLinearModel):
    """Private lasso: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` over `‖θ‖₁ ≤ r`, or with `λ‖θ‖₁` added, on the unit domain.

    Default: `hb.L1Ball(1.0)`: the features together can move a prediction by at most half the target's range from the
    intercept. scikit-learn's `Lasso(alpha)` on the encoded table is `penalty=hb.L1Penalty(alpha)`.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    default_constraint: ClassVar[ConvexSet | None] = L1Ball(1.0)
    default_penalty: ClassVar[Penalty] = NoPenalty()
