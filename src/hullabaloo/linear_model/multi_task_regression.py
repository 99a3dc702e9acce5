"""Private regression of several targets that share few directions."""

from typing import ClassVar, final

from hullabaloo.data import Encoding
from hullabaloo.geometry import ConvexSet, NoPenalty, NuclearBall, Penalty
from hullabaloo.linear_model.regression import LinearPredictor
from hullabaloo.losses import AnyLoss, Squared, SquaredTargets
from hullabaloo.release.parameters import positive


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
    radius: float = 1.0

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return SquaredTargets() if len(encoding.facts.targets) > 1 else Squared()

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        radius = positive("radius", self.radius, "the radius of the default ball")
        return NuclearBall(radius, columns=max(len(encoding.facts.targets), 1)), NoPenalty()
