"""Private quantile regression."""

from typing import ClassVar, final

from hullabaloo.data import Domain, Encoding
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model.regression import LinearPredictor
from hullabaloo.losses import AnyLoss, Pinball
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Calibration, Neighbours
from hullabaloo.release.parameters import positive
from hullabaloo.solvers import Solver


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

    def __init__(
        self,
        *,
        budget: Budget | None = None,
        domain: Domain | None = None,
        constraint: ConvexSet | None = None,
        penalty: Penalty | None = None,
        quantile: float = 0.5,
        solver: str | Solver = "auto",
        neighbours: str | Neighbours = "replace-one",
        fit_intercept: bool = True,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
        calibration: str | Calibration = "exact",
        test_key: TestKey | bytes | None = None,
    ) -> None:
        super().__init__(
            budget=budget,
            domain=domain,
            constraint=constraint,
            penalty=penalty,
            solver=solver,
            neighbours=neighbours,
            fit_intercept=fit_intercept,
            ledger=ledger,
            dataset=dataset,
            calibration=calibration,
            test_key=test_key,
        )
        self.quantile = quantile

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return Pinball(positive("quantile", self.quantile, "the share of targets below the prediction", 1.0))

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        return None, NoPenalty()
