"""Private Huber regression: squared near the prediction, linear beyond, so that outliers weigh less."""

from typing import ClassVar, final

from hullabaloo.data import Domain, Encoding
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model.regression import LinearPredictor
from hullabaloo.losses import AnyLoss, Huber
from hullabaloo.losses.checks import SHARPEST
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Calibration, Neighbours
from hullabaloo.release.parameters import positive
from hullabaloo.solvers import Solver


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

    def __init__(
        self,
        *,
        budget: Budget | None = None,
        domain: Domain | None = None,
        constraint: ConvexSet | None = None,
        penalty: Penalty | None = None,
        threshold: float = 0.25,
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
        self.threshold = threshold

    def _loss(self, encoding: Encoding) -> AnyLoss:
        what = "the residual beyond which the loss is linear, in units of half the target's range"
        return Huber(positive("threshold", self.threshold, what, highest=1e6, lowest=SHARPEST))

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        return None, NoPenalty()
