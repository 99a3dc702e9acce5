"""Private Huber regression: squared near the prediction, linear beyond, so that outliers weigh less."""

from typing import ClassVar, final

from hullabaloo.data import Encoding
from hullabaloo.linear_model.regression import LinearPredictor
from hullabaloo.losses import AnyLoss, Huber
from hullabaloo.losses.base import SHARPEST
from hullabaloo.release.parameters import positive


@final
class HuberRegressor(LinearPredictor):
    """Private Huber regression: minimise `(1/n) Σ φ(⟨x_i, θ⟩ + b − y_i)` on the unit domain.

    `φ(r) = ½r²` for |r| ≤ h, else `h|r| − ½h²`. A record pulls with at most h, so less noise protects it than under the
    squared loss, and a few wild targets do not decide the model.

    Default: no constraint and no penalty; with finite ε the solvers stabilise what noise would dominate, from public
    facts.

    One parameter more:
        threshold: h, the residual beyond which the loss is linear, in units of half the target's declared range.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "HuberRegressor"
    threshold: float = 0.25

    def _loss(self, encoding: Encoding) -> AnyLoss:
        what = "the residual beyond which the loss is linear, in units of half the target's range"
        return Huber(positive("threshold", self.threshold, what, highest=1e6, lowest=SHARPEST))
