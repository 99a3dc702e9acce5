"""What private regressions share: predictions in the target's units."""

from abc import ABC
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.linear_model import LinearRegression as PlainRegression
from sklearn.utils import Tags

from hullabaloo.data import TargetScale
from hullabaloo.data.targets import ClassTarget
from hullabaloo.errors import DomainError
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.linear_model.not_private import PlainScore

Array = npt.NDArray[np.float64]


class PrivateRegressor(PlainScore, RegressorMixin, PrivateLinearModel, ABC):  # type: ignore[misc]  # untyped base
    """A private model of numbers, `coef_` (p,) and `intercept_` a float where there is one target."""

    def _publish(self, coef: Array, intercept: Array) -> None:
        single = coef.shape[0] == 1
        self.coef_ = coef[0] if single else coef
        self.intercept_ = float(intercept[0]) if single else intercept


class LinearPredictor(MultiOutputMixin, PrivateRegressor, ABC):  # type: ignore[misc]  # untyped base
    """A private regression whose prediction is `⟨x, θ⟩` itself."""

    def predict(self, X: Any) -> Array:
        """Predictions `⟨x, θ⟩` in the target's units, rows encoded by the domain; (n,) or (n, k)."""
        values = self._linear(X)
        return values[:, 0].copy() if values.shape[1] == 1 else values

    def _target(self) -> tuple[TargetScale, str | None]:
        if self.domain is not None and any(isinstance(target, ClassTarget) for target in self.domain.targets):
            raise DomainError(
                f"{type(self).__name__} learns numbers, and the domain declares classes. Use hb.LogisticRegression or "
                "hb.LinearSVC; or declare target={'column': (0, 1)} where the column holds 0 and 1: predictions are then chances."
            )
        return TargetScale.SYMMETRIC, None

    def _meaning(self) -> str:
        return ""

    def _axis(self, target: str) -> str:
        return target

    def _plain(self, coef: Array, intercept: Array) -> Any:
        single = coef.shape[0] == 1
        plain = PlainRegression(fit_intercept=self.encoding_.facts.intercept)
        plain.coef_ = coef[0] if single else coef
        plain.intercept_ = float(intercept[0]) if single else intercept
        return plain

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.domain is not None and len(self.domain.targets) > 1
        return tags
