"""Private elastic net."""

from typing import ClassVar, final

from hullabaloo.geometry import ConvexSet, ElasticNetPenalty, Penalty
from hullabaloo.linear_model.base import PrivateLinearModel


@final
class ElasticNet(PrivateLinearModel):
    """Private elastic net: `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)² + λρ‖θ‖₁ + (λ(1−ρ)/2)‖θ‖₂²` on the unit domain.

    Default: `hb.ElasticNetPenalty(0.001, l1_ratio=0.5)`, in scikit-learn's parametrisation.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    default_constraint: ClassVar[ConvexSet | None] = None
    default_penalty: ClassVar[Penalty] = ElasticNetPenalty(0.001, 0.5)
