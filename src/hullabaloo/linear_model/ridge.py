"""Private ridge regression."""

from typing import ClassVar, final

from hullabaloo.geometry import ConvexSet, Penalty, SquaredL2Penalty
from hullabaloo.linear_model.base import PrivateLinearModel


@final
class Ridge(PrivateLinearModel):
    """Private ridge regression: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)² + (λ/2)‖θ‖₂²` on the unit domain.

    Default: `hb.SquaredL2Penalty(0.001)`. scikit-learn's `Ridge(alpha)` on the encoded table is `λ = alpha/n`.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    default_constraint: ClassVar[ConvexSet | None] = None
    default_penalty: ClassVar[Penalty] = SquaredL2Penalty(0.001)
