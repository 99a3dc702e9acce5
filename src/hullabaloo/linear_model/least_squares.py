"""What private least squares share: the squared loss, and so the moments that further models are computed from."""

from abc import ABC

from hullabaloo.data import Encoding
from hullabaloo.linear_model.regression import LinearPredictor
from hullabaloo.losses import AnyLoss, Squared


class LeastSquares(LinearPredictor, ABC):
    """A private regression with the squared loss; several targets share one release of moments."""

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return Squared()
