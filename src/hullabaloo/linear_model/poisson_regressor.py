"""Private Poisson regression of counts."""

from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import PoissonRegressor as PlainPoisson
from sklearn.utils import Tags

from hullabaloo.data import Encoding, TargetScale
from hullabaloo.errors import InvalidParameter
from hullabaloo.linear_model.regression import PrivateRegressor
from hullabaloo.losses import AnyLoss, Poisson
from hullabaloo.release.parameters import found

Array = npt.NDArray[np.float64]
LARGEST = 700.0
"""Predictions of exp(z) beyond this z are held there: exp(710) is no number."""


@final
class PoissonRegressor(PrivateRegressor):
    """Private Poisson regression: minimise `(1/n) Σ exp(z_i) − y_i z_i` on the unit domain, `z_i = ⟨x_i, θ⟩ + b`.

    A count has the mean `exp(z)` times its declared upper bound; with an exposure e (a time, an area, a number of
    people), the mean is e times as large: `z_i = ⟨x_i, θ⟩ + b + log e_i`, and coefficients are of the rate.

    Default: no constraint and no penalty; with finite ε the solvers stabilise what noise would dominate, from public
    facts. scikit-learn's `PoissonRegressor(alpha)` on the encoded table is `penalty=hb.SquaredL2Penalty(alpha / hi)`, hi the
    count's declared upper bound.

    One parameter more:
        exposure: the column of exposures, declared in the domain as a numeric feature with a positive lower bound; or
            None. Exposures are clipped to their bounds, and a missing one takes the declared fill (default: the bounds'
            geometric middle).

    The target is declared as `target=(lo, hi)` with lo ≥ 0; larger counts count as hi.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "PoissonRegressor"
    exposure: str | None = None

    def predict(self, X: Any) -> Array:
        """Expected counts `exp(z)`, for the exposure of each row; (n,) or (n, k)."""
        values = np.exp(np.minimum(self._linear(X), LARGEST))
        return values[:, 0].copy() if values.shape[1] == 1 else values

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return Poisson()

    def _target(self) -> tuple[TargetScale, str | None]:
        if not isinstance(self.exposure, str | None):
            raise InvalidParameter(
                f"The exposure must be the name of a column that the domain declares, but {found(self.exposure)} was given. "
                "Exposures are part of the table: add them as a column, declare its bounds, and pass its name."
            )
        return TargetScale.NONNEGATIVE, self.exposure

    def _meaning(self) -> str:
        what = "count" if self.exposure is None else f"count (for one unit of {self.exposure!r})"
        return f"A coefficient is the change of the logarithm of the expected {what} for one unit of its column."

    def _axis(self, target: str) -> str:
        return f"the logarithm of {target}"

    def _plain(self, coef: Array, intercept: Array) -> Any:
        if coef.shape[0] != 1:
            raise InvalidParameter(
                f"scikit-learn's PoissonRegressor has one target, and this model has {coef.shape[0]}. Use this model's predict, or "
                "fit one target at a time."
            )
        plain = PlainPoisson(fit_intercept=self.encoding_.facts.intercept)
        plain.fit(np.zeros((2, coef.shape[1])), np.ones(2))  # it predicts only after a fit; nothing of this one stays
        plain.coef_, plain.intercept_ = coef[0], float(intercept[0])
        return plain

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
