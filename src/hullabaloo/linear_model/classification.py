"""Private classifiers: declared classes, decisions, labels in the user's own type, and probabilities learned together or apart."""

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from hullabaloo.data import ClassTarget, Encoding, TargetScale
from hullabaloo.errors import CapabilityError, DomainError, InvalidParameter
from hullabaloo.geometry import NuclearBall
from hullabaloo.linear_model.base import PrivateLinearModel
from hullabaloo.linear_model.regression import table_of
from hullabaloo.linear_model.shared import PlainScore, probabilities_apart
from hullabaloo.losses import AnyLoss, Logistic, MarginLoss, MultinomialLogistic, SmoothedHinge
from hullabaloo.losses.base import SHARPEST, Array
from hullabaloo.planning.named import name_of
from hullabaloo.release.estimator import ClassifierMixin
from hullabaloo.release.parameters import declared, one_of, positive


class PrivateClassifier(PlainScore, ClassifierMixin, PrivateLinearModel, ABC):
    """A private model of classes that the domain declares; a class that no record has is no error."""

    @abstractmethod
    def _unit(self) -> str:
        """What a decision is measured in."""

    def decision_function(self, X: Any) -> Array:
        """`⟨x, θ⟩`, rows encoded by the domain: (n,) for two classes, positive for the second; else (n, k)."""
        values = self._linear(X)
        return values[:, 0].copy() if values.shape[1] == 1 else values

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of the largest decision, as it was declared; (n,)."""
        values = self._linear(X)
        places = (values[:, 0] > 0.0).astype(np.intp) if values.shape[1] == 1 else np.argmax(values, axis=1)
        return np.asarray(self.classes_[places])

    def _target(self) -> tuple[TargetScale, str | None]:
        """The scale of bounded targets plays no part.

        Raises:
            DomainError: the domain declares bounds of a number.
        """
        classes_of(self)
        return TargetScale.SYMMETRIC, None

    def _publish(self, coef: Array, intercept: Array) -> None:
        self.classes_ = labels(classes_of(self).ordered)
        self.coef_ = coef
        self.intercept_ = intercept

    def _meaning(self) -> str:
        classes = classes_of(self).ordered
        if len(classes) == 2:
            return f"A coefficient is the change of {self._unit()} of {classes[1]!r}, against {classes[0]!r}, for one unit of its column."
        return f"A coefficient is the change of {self._unit()} of the class for one unit of its column."

    def _axis(self, target: str) -> str:
        classes = classes_of(self).ordered
        return f"{self._unit()} of {f'{target}={classes[1]}' if len(classes) == 2 else target}"


def classes_of(model: PrivateLinearModel) -> ClassTarget:
    """The declared classes.

    Raises:
        DomainError: the domain declares none.
    """
    targets = declared(model).targets
    if len(targets) == 1 and isinstance(targets[0], ClassTarget):
        return targets[0]
    found = "declares no target" if not targets else "bounds the target as a number"
    raise DomainError(
        f"{type(model).__name__} learns classes, and the domain {found}. Which classes occur would be read from the records "
        "otherwise, and reveal the only record of a rare one: declare them, classes=['no', 'yes'], or classes={'column': ['no', 'yes']} where the table holds the column."
    )


def labels(classes: tuple[Any, ...]) -> npt.NDArray[Any]:
    """The classes as an array of their own type; of objects where texts, numbers and bools are mixed."""
    kinds = {type(level) for level in classes}
    if len(kinds) == 1 or kinds == {int, float}:
        return np.asarray(classes)
    mixed = np.empty(len(classes), dtype=object)
    mixed[:] = classes
    return mixed


class LogisticClassifier(PrivateClassifier, ABC):
    """A private classifier that gives probabilities; classes are learned together where `_multinomial` says so, else each against the rest."""

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (n, k), in the order of `classes_`; of classes learned apart, each against the rest, see `probabilities_apart`."""
        values = self._linear(X)
        if values.shape[1] > 1 and self._multinomial():
            return np.asarray(softmax(values, axis=1), dtype=np.float64)
        return probabilities_apart(values)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`."""
        return np.log(np.maximum(self.predict_proba(X), 1e-300))

    def _multinomial(self) -> bool:
        return False

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return MultinomialLogistic() if self._multinomial() and len(encoding.facts.targets) > 1 else Logistic()

    def _unit(self) -> str:
        apart = not self._multinomial() or len(self.classes_) == 2
        return "the log-odds" if apart else "the log-probability, up to what all classes share,"

    def _plain(self, coef: Array, intercept: Array) -> Any:
        from sklearn.linear_model import LogisticRegression as PlainLogistic

        from hullabaloo.linear_model.exported import holding, one_vs_rest

        made = one_vs_rest if coef.shape[0] > 1 and not self._multinomial() else holding
        return made(PlainLogistic(fit_intercept=self.encoding_.facts.intercept), self.classes_, coef, intercept)


MULTINOMIAL = ("auto", "mirror_descent", "frank_wolfe", "output_perturbation")
"""Solvers that learn all classes' predictions at once."""


class LogisticRegression(LogisticClassifier):
    """Private logistic regression: minimise `(1/n) Σ log(1 + exp(−y_i (⟨x_i, θ⟩ + b)))` on the unit domain, y = ±1.

    Of more than two classes: the multinomial log-likelihood, or one logistic regression a class.

    Default: no constraint and no penalty; with finite ε the solvers stabilise what noise would dominate, from public
    facts. scikit-learn's `LogisticRegression(C)` on the encoded table is `penalty=hb.SquaredL2Penalty(1 / (C n))`.

    The classes are declared, `Domain(classes=[...])`: one that no record has is no error, and a record of another
    class counts as the domain's `target_fill`.

    One parameter more:
        multi_class: of more than two classes, "multinomial" (probabilities that are fitted together), "one-vs-rest", or
            "auto": one-vs-rest where the solver is left to the planner, whose best solvers are of losses of one
            prediction, or needs such a loss; multinomial without noise, over a nuclear ball, and for other named solvers. Multinomial under noise ends
            short of the optimum along columns much narrower than their bounds: of three classes on mixed columns (20 000 records, ε = 50) 0.68 of the gain was kept, one-vs-rest 0.99.
            One-vs-rest spends a part of the budget on totals: the intercepts that predict are shifted until the chances of each class add up to its records.

    Parameters, attributes and methods: see `PrivateLinearModel`.

    Example:
        >>> import numpy as np, hullabaloo as hb
        >>> X = np.linspace(0.0, 10.0, 4000)[:, None]
        >>> y = np.where(X[:, 0] > 6.0, "high", "low")
        >>> domain = hb.Domain(features={"a": (0, 10)}, classes=["low", "high"], indicators=False)
        >>> model = hb.LogisticRegression(budget=hb.Budget(2.0, 1e-8), domain=domain).fit(X, y)
        >>> model.predict([[0.0], [10.0]]).tolist()
        ['low', 'high']
    """

    key_label: ClassVar[str] = "LogisticRegression"
    multi_class: str = "auto"

    def _multinomial(self) -> bool:
        if isinstance(self.multi_class, str) and self.multi_class == "ovr":
            raise InvalidParameter(
                "multi_class='ovr' was given, which is scikit-learn's word for a model of each class against all others. Nothing was charged or read. Here it is called multi_class='one-vs-rest'."
            )
        chosen = one_of("multi_class", self.multi_class, ("auto", "multinomial", "one-vs-rest"))
        if chosen != "auto":
            return chosen == "multinomial"
        if self.solver == "auto" and self.budget is not None and self.budget.is_private:
            return isinstance(self.constraint, NuclearBall)
        return name_of(self.solver) in MULTINOMIAL


SUBGRADIENTS = ("auto", "gradient", "adaptive_gradient", "preconditioned_gradient", "mirror_descent")
"""Solvers for which a subgradient is enough."""


class LinearSVC(PrivateClassifier):
    """Private linear support vector classifier: the hinge `max(0, 1 − y z)`, its corner rounded, on the unit domain.

    `φ = 0` where yz ≥ 1 + h, `1 − yz` where yz ≤ 1 − h, a parabola between. Of more than two classes: one against the
    rest for each.

    Default: no constraint and no penalty; with finite ε the solvers stabilise what noise would dominate, from public
    facts. The classes are declared, `Domain(classes=[...])`.

    Two parameters more:
        smoothing: h, half the width of the rounded corner. A larger one needs less noise in objective perturbation. 0 is the plain hinge (to
            2e-9), for methods that need subgradients only: the gradient solvers, mirror descent and "auto".
        loss: a convex function of the margin yz to be minimised in its place, `hb.custom_loss(..., of="margin")`, which tabulates a function of
            yours before anything is charged. None for the hinge.

    Parameters, attributes and methods: see `PrivateLinearModel`.
    """

    key_label: ClassVar[str] = "LinearSVC"
    smoothing: float = 0.5
    loss: MarginLoss | None = None

    def _loss(self, encoding: Encoding) -> AnyLoss:
        if self.loss is not None:
            return table_of(self, MarginLoss, "margin")
        if isinstance(self.smoothing, Real) and not isinstance(self.smoothing, bool) and self.smoothing == 0:
            if name_of(self.solver) not in SUBGRADIENTS:
                raise CapabilityError(
                    f"smoothing=0 is the plain hinge, which has a corner and no curvature, and solver={name_of(self.solver)!r} rests on curvature. Nothing was charged or read. Use one of {', '.join(map(repr, SUBGRADIENTS))}, or smoothing=0.5."
                )
            return SmoothedHinge(2.0 * SHARPEST)
        what = "half the width of the rounded corner, or 0"
        return SmoothedHinge(positive("smoothing", self.smoothing, what, lowest=SHARPEST))

    def _unit(self) -> str:
        return "the decision in favour"

    def _plain(self, coef: Array, intercept: Array) -> Any:
        from sklearn.svm import LinearSVC as PlainSVC

        from hullabaloo.linear_model.exported import holding

        return holding(PlainSVC(fit_intercept=self.encoding_.facts.intercept), self.classes_, coef, intercept)
