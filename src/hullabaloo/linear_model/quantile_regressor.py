"""Private quantile regression."""

from typing import ClassVar, final

from hullabaloo.data import Encoding
from hullabaloo.linear_model.regression import LinearPredictor
from hullabaloo.losses import AnyLoss, Pinball
from hullabaloo.release.parameters import positive


@final
class QuantileRegressor(LinearPredictor):
    """Private quantile regression: minimise `(1/n) Σ max(τ r_i, (τ − 1) r_i)`, `r_i = y_i − ⟨x_i, θ⟩ − b`, on the unit domain.

    Default: no constraint and no penalty; with finite ε the solvers stabilise what noise would dominate, from public
    facts. scikit-learn's `QuantileRegressor(alpha)` on the encoded table is `penalty=hb.L1Penalty(alpha)`.

    One parameter more:
        quantile: τ, between 0 and 1; the default 0.5 is the median.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "QuantileRegressor"
    quantile: float = 0.5

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return Pinball(positive("quantile", self.quantile, "the share of targets below the prediction", 1.0))
