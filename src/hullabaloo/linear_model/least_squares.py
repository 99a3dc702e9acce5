"""Private least squares: plain, ridge, lasso, elastic net and group lasso, which differ in their default penalty or constraint."""

from abc import ABC
from typing import ClassVar, final

from hullabaloo.data import Encoding
from hullabaloo.geometry import (
    ConvexSet,
    ElasticNetPenalty,
    GroupBall,
    GroupPenalty,
    L1Ball,
    NoPenalty,
    Penalty,
    SquaredL2Penalty,
)
from hullabaloo.linear_model.regression import LinearPredictor
from hullabaloo.losses import AnyLoss, Squared
from hullabaloo.release.parameters import positive
from hullabaloo.structure.groups import Groups, column_groups

Shape = tuple[ConvexSet | None, Penalty]


class LeastSquares(LinearPredictor, ABC):
    """A private regression with the squared loss; several targets share one release of moments, from which further models follow."""

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return Squared()


@final
class LinearRegression(LeastSquares):
    """Private least squares: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` on the unit domain.

    Default: no constraint and no penalty. With finite ε the solvers still stabilise what noise would dominate: they
    shrink from the *known* noise level, never from the records, and not at all at ε = ∞, where the result is the least
    squares of the encoded table.

    Parameters, attributes and methods: see `PrivateLinearModel`.

    Example:
        >>> import numpy as np, hullabaloo as hb
        >>> a, b = np.meshgrid(np.linspace(0, 10, 80), np.linspace(0, 10, 80))
        >>> X = np.column_stack([a.ravel(), b.ravel()])
        >>> y = 0.3 * X[:, 0] - 0.2 * X[:, 1]
        >>> domain = hb.Domain(features={"a": (0, 10), "b": (0, 10)}, target=(-5, 5), indicators=False)
        >>> model = hb.LinearRegression(budget=hb.Budget(1.0, 1e-8), domain=domain).fit(X, y)
        >>> model.coef_.shape
        (2,)
    """

    key_label: ClassVar[str] = "LinearRegression"


@final
class Ridge(LeastSquares):
    """Private ridge regression: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)² + (λ/2)‖θ‖₂²` on the unit domain.

    Default: `hb.SquaredL2Penalty(0.001)`. scikit-learn's `Ridge(alpha)` on the encoded table is `λ = alpha/n`.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "Ridge"
    DEFAULT: ClassVar[Shape] = (None, SquaredL2Penalty(0.001))


@final
class Lasso(LeastSquares):
    """Private lasso: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` over `‖θ‖₁ ≤ r`, or with `λ‖θ‖₁` added, on the unit domain.

    Default: `hb.L1Ball(1.0)`: the features together can move a prediction by at most half the target's range from the
    intercept. scikit-learn's `Lasso(alpha)` on the encoded table is `penalty=hb.L1Penalty(alpha)`.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "Lasso"
    DEFAULT: ClassVar[Shape] = (L1Ball(1.0), NoPenalty())


@final
class ElasticNet(LeastSquares):
    """Private elastic net: `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)² + λρ‖θ‖₁ + (λ(1−ρ)/2)‖θ‖₂²` on the unit domain.

    Default: `hb.ElasticNetPenalty(0.001, l1_ratio=0.5)`, in scikit-learn's parametrisation.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "ElasticNet"
    DEFAULT: ClassVar[Shape] = (None, ElasticNetPenalty(0.001, 0.5))


@final
class GroupLasso(LeastSquares):
    """Private group lasso: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` over `Σ_G ‖θ_G‖₂ ≤ r`, on the unit domain.

    Or with `λ Σ_G ‖θ_G‖₂` added. A group enters the model as a whole or stays out: all levels of a category, or columns
    that measure one thing.

    Default: `hb.GroupBall(groups, 1.0)`, a group for each feature: the columns of a category (and whether it is missing),
    a number with whether it is missing, an interaction.

    Three parameters more, which play no part where `constraint` or `penalty` is given:
        groups: lists of features, by name or by their place in the declaration, or of single encoded columns by name;
            what no list names is a group of its own, as by default. With a mapping its keys name the groups, for readers.
        radius: r of the default ball.
        strength: λ; when given, the default is `hb.GroupPenalty(groups, λ)` instead of the ball.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "GroupLasso"
    groups: Groups = None
    radius: float = 1.0
    strength: float | None = None

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        groups = column_groups(encoding, self.groups)
        if self.strength is not None:
            return None, GroupPenalty(groups, positive("strength", self.strength, "the weight of the groups' norms"))
        return GroupBall(groups, positive("radius", self.radius, "the radius of the default ball")), NoPenalty()
