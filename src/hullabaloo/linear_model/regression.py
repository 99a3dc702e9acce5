"""Private regressions: least squares, which differ in their default penalty or constraint, and regressions of other losses."""

from abc import ABC
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags

from hullabaloo import geometry
from hullabaloo.data import BoundedTarget, Encoding, TargetScale
from hullabaloo.errors import InvalidParameter
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.linear_model.shared import NumberTargets, PlainScore
from hullabaloo.losses import AnyLoss, Huber, Loss, Pinball, Poisson, ResidualLoss, Squared, SquaredTargets
from hullabaloo.losses.base import SHARPEST, Array
from hullabaloo.release import RegressorMixin, found, positive
from hullabaloo.release.parameters import yes_or_no
from hullabaloo.structure.structure import Groups, column_groups

Shape = tuple[geometry.ConvexSet | None, geometry.Penalty]


class PrivateRegressor(PlainScore, RegressorMixin, PrivateLinearModel, ABC):
    """A private model of numbers, `coef_` (p,) and `intercept_` a float where there is one target."""

    def _publish(self, coef: Array, intercept: Array) -> None:
        _told(self, coef, intercept)

    def _held(self, values: Array, clip: bool) -> Array:
        """Predictions (n, k) as they are given, (n,) of one target, with `clip` inside the declared bounds."""
        if yes_or_no("clip", clip):
            bounds = [(one.lo, one.hi) for one in self.encoding_.targets if isinstance(one, BoundedTarget)]
            values = np.clip(values, *np.array(bounds).T)
        return values[:, 0].copy() if values.shape[1] == 1 else values


def _told(model: Any, coef: Array, intercept: Array) -> Any:
    """The model with coefficients (k, q) and intercepts (k,): (q,) and a float of one target."""
    single = coef.shape[0] == 1
    model.coef_ = coef[0] if single else coef
    model.intercept_ = float(intercept[0]) if single else intercept
    return model


class LinearPredictor(NumberTargets, PrivateRegressor, ABC):
    """A private regression whose prediction is `⟨x, θ⟩` itself."""

    def predict(self, X: Any, *, clip: bool = False) -> Array:
        """Predictions `⟨x, θ⟩` in the target's units, rows encoded by the domain; (n,) or (n, k).

        With `clip` each is held to the target's declared bounds: for single records. Totals and means are of predictions as they are:
        those held are too small in sum where targets are skewed to the right.
        """
        return self._held(self._linear(X), clip)

    def _plain(self, coef: Array, intercept: Array) -> Any:
        from sklearn.linear_model import LinearRegression as PlainRegression

        return _told(PlainRegression(fit_intercept=self.encoding_.facts.intercept), coef, intercept)


class LeastSquares(LinearPredictor, ABC):
    """A private regression with the squared loss; by `solver='moments'` several targets share one release, from which further models follow."""

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return Squared()


class LinearRegression(LeastSquares):
    """Private least squares: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` on the unit domain.

    Default: no constraint and no penalty. With finite ε the solvers still stabilise what noise would dominate: they
    shrink from the *known* noise level, never from the records, and not at all at ε = ∞, where the result is the least
    squares of the encoded table.

    One parameter more:
        loss: φ, to be minimised in place of ½(⟨x_i, θ⟩ + b − y_i)²: a convex function of the residual in units of half the target's declared range,
            `hb.custom_loss(..., of="residual")`, which tabulates a function of yours before anything is charged. None for the squared loss.

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
    loss: ResidualLoss | None = None

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return Squared() if self.loss is None else table_of(self, ResidualLoss, "residual")


def table_of(model: Any, kind: type[Loss], of: str) -> Loss:
    """A model's parameter `loss`, a table of one's own.

    Raises:
        InvalidParameter: it is something else.
    """
    if type(model.loss) is kind:
        return model.loss
    raise InvalidParameter(
        f"The loss of a {type(model).__name__} is None or a table of the {of}, but {found(model.loss)} was given. Nothing was read or charged. Pass hb.custom_loss(function, of={of!r}, name=...); the library's own losses have estimators of their own, such as hb.HuberRegressor."
    )


class Ridge(LeastSquares):
    """Private ridge regression: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)² + (λ/2)‖θ‖₂²` on the unit domain.

    Default: `hb.SquaredL2Penalty(0.001)`. scikit-learn's `Ridge(alpha)` on the encoded table is `λ = alpha/n`.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "Ridge"
    DEFAULT: ClassVar[Shape] = (None, geometry.SquaredL2Penalty(0.001))


class Lasso(LeastSquares):
    """Private lasso: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` over `‖θ‖₁ ≤ r`, or with `λ‖θ‖₁` added, on the unit domain.

    Default: `hb.L1Ball(1.0)`: the features together can move a prediction by at most half the target's range from the
    intercept. scikit-learn's `Lasso(alpha)` on the encoded table is `penalty=hb.L1Penalty(alpha)`.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "Lasso"
    DEFAULT: ClassVar[Shape] = (geometry.L1Ball(1.0), geometry.NoPenalty())


class ElasticNet(LeastSquares):
    """Private elastic net: `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)² + λρ‖θ‖₁ + (λ(1−ρ)/2)‖θ‖₂²` on the unit domain.

    Default: `hb.ElasticNetPenalty(0.001, l1_ratio=0.5)`, in scikit-learn's parametrisation.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "ElasticNet"
    DEFAULT: ClassVar[Shape] = (None, geometry.ElasticNetPenalty(0.001, 0.5))


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

    def _default(self, encoding: Encoding) -> Shape:
        groups = column_groups(encoding, self.groups)
        if self.strength is not None:
            strength = positive("strength", self.strength, "the weight of the groups' norms")
            return None, geometry.GroupPenalty(groups, strength)
        radius = positive("radius", self.radius, "the radius of the default ball")
        return geometry.GroupBall(groups, radius), geometry.NoPenalty()


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


LARGEST = 700.0
"""Predictions of exp(z) beyond this z are held there: exp(710) is no number."""


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

    def predict(self, X: Any, *, clip: bool = False) -> Array:
        """Expected counts `exp(z)`, for the exposure of each row; (n,) or (n, k). With `clip` held to the declared bounds, as of other regressors."""
        return self._held(np.exp(np.minimum(self._linear(X), LARGEST)), clip)

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return Poisson()

    def _target(self) -> tuple[TargetScale, str | None]:
        if not isinstance(self.exposure, str | None):
            raise InvalidParameter(
                f"The exposure must be the name of a column that the domain declares, but {found(self.exposure)} was given. Exposures are part of the table: add them as a column, declare its bounds, and pass its name."
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
                f"scikit-learn's PoissonRegressor has one target, and this model has {coef.shape[0]}. Use this model's predict, or fit one target at a time."
            )
        from sklearn.linear_model import PoissonRegressor as PlainPoisson

        plain = PlainPoisson(fit_intercept=self.encoding_.facts.intercept)
        plain.fit(np.zeros((2, coef.shape[1])), np.ones(2))  # it predicts only after a fit; nothing of this one stays
        return _told(plain, coef, intercept)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


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

    def _default(self, encoding: Encoding) -> Shape:
        radius = positive("radius", self.radius, "the radius of the default ball")
        return geometry.NuclearBall(radius, columns=max(len(encoding.facts.targets), 1)), geometry.NoPenalty()
