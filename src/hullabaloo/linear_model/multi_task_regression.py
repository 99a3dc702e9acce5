"""Private regression of several targets that share few directions."""

from typing import ClassVar, final

from hullabaloo.data import Domain, Encoding
from hullabaloo.geometry import ConvexSet, NoPenalty, NuclearBall, Penalty
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model.regression import LinearPredictor
from hullabaloo.losses import AnyLoss, Squared, SquaredTargets
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Calibration, Neighbours
from hullabaloo.release.parameters import positive
from hullabaloo.solvers import Solver


@final
class MultiTaskRegression(LinearPredictor):
    """Private regression of several targets at once: minimise `(1/2n) Σ ‖Θᵀx_i + b − y_i‖₂²` on the unit domain.

    Over matrices Θ whose singular values sum to at most r: targets that share few directions of the features lend each
    other strength. Each target is declared, `Domain(target={"a": (0, 1), "b": (0, 9)})`, and has a row of `coef_`.

    Default: `hb.NuclearBall(1.0, columns=k)`, k the number of targets.

    One parameter more, which plays no part where `constraint` or `penalty` is given:
        radius: r of the default ball.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "MultiTaskRegression"

    def __init__(
        self,
        *,
        budget: Budget | None = None,
        domain: Domain | None = None,
        constraint: ConvexSet | None = None,
        penalty: Penalty | None = None,
        radius: float = 1.0,
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
        self.radius = radius

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return SquaredTargets() if len(encoding.facts.targets) > 1 else Squared()

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        radius = positive("radius", self.radius, "the radius of the default ball")
        return NuclearBall(radius, columns=max(len(encoding.facts.targets), 1)), NoPenalty()
