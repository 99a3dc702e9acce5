"""Private logistic regression, of two classes or more."""

from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression as PlainLogistic

from hullabaloo.data import Domain, Encoding
from hullabaloo.geometry import ConvexSet, NoPenalty, NuclearBall, Penalty
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model.classification import PrivateClassifier
from hullabaloo.linear_model.parameters import one_of
from hullabaloo.losses import AnyLoss, Logistic, MultinomialLogistic
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import name_of
from hullabaloo.privacy import Budget, Calibration, Neighbours
from hullabaloo.solvers import Solver

Array = npt.NDArray[np.float64]

TOGETHER = ("auto", "mirror_descent", "frank_wolfe", "output_perturbation")
"""Solvers that learn all classes' predictions at once."""


@final
class LogisticRegression(PrivateClassifier):
    """Private logistic regression: minimise `(1/n) Σ log(1 + exp(−y_i (⟨x_i, θ⟩ + b)))` on the unit domain, y = ±1.

    Of more than two classes: the multinomial log-likelihood, or one logistic regression a class.

    Default: no constraint and no penalty; with finite ε the solvers stabilise what noise would dominate, from public
    facts. scikit-learn's `LogisticRegression(C)` on the encoded table is `penalty=hb.SquaredL2Penalty(1 / (C n))`.

    The classes are declared, `Domain(classes=[...])`: one that no record has is no error, and a record of another
    class counts as the domain's `target_fill`.

    One parameter more:
        multi_class: of more than two classes, "multinomial" (probabilities that are fitted together), "one-vs-rest", or
            "auto": one-vs-rest where the solver is left to the planner, whose best solvers are of losses of one
            prediction, or needs such a loss; multinomial without noise, over a nuclear ball, and for other named solvers.

    Parameters, attributes and methods: see `PrivateLinearModel`.

    Example:
        >>> import numpy as np, hullabaloo as hb
        >>> X = np.linspace(0.0, 10.0, 4000)[:, None]
        >>> y = np.where(X[:, 0] > 6.0, "high", "low")
        >>> domain = hb.Domain(features={"a": (0, 10)}, classes=["low", "high"], indicators=False)
        >>> model = hb.LogisticRegression(budget=hb.Budget(1.0, 1e-8), domain=domain).fit(X, y)
        >>> model.predict([[0.0], [10.0]]).tolist()
        ['low', 'high']
    """

    def __init__(
        self,
        *,
        budget: Budget | None = None,
        domain: Domain | None = None,
        constraint: ConvexSet | None = None,
        penalty: Penalty | None = None,
        multi_class: str = "auto",
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
        self.multi_class = multi_class

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (n, k), in the order of `classes_`."""
        values = self._linear(X)
        if values.shape[1] == 1:
            return np.column_stack([expit(-values[:, 0]), expit(values[:, 0])])
        if self._multinomial():
            return np.asarray(softmax(values, axis=1), dtype=np.float64)
        apart = expit(values)
        return np.asarray(apart / np.maximum(apart.sum(axis=1, keepdims=True), 1e-300), dtype=np.float64)

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`."""
        return np.log(np.maximum(self.predict_proba(X), 1e-300))

    def _multinomial(self) -> bool:
        chosen = one_of("multi_class", self.multi_class, ("auto", "multinomial", "one-vs-rest"))
        if chosen != "auto":
            return chosen == "multinomial"
        if self.solver == "auto" and self.budget is not None and self.budget.is_private:
            return isinstance(self.constraint, NuclearBall)
        return name_of(self.solver) in TOGETHER

    def _loss(self, encoding: Encoding) -> AnyLoss:
        together = self._multinomial()
        return MultinomialLogistic() if self._columns(encoding) > 1 and together else Logistic()

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        return None, NoPenalty()

    def _unit(self) -> str:
        return "the log-odds" if not self._multinomial() or len(self.classes_) == 2 else "the log-probability"

    def _plain(self, coef: Array, intercept: Array) -> Any:
        plain = PlainLogistic(fit_intercept=self.encoding_.facts.intercept)
        if coef.shape[0] > 1 and not self._multinomial():
            from sklearn.multiclass import OneVsRestClassifier

            return _apart(OneVsRestClassifier(plain), coef, intercept, self.classes_)
        plain.classes_, plain.coef_, plain.intercept_ = self.classes_, coef, intercept
        return plain


def _apart(plain: Any, coef: Array, intercept: Array, classes: npt.NDArray[Any]) -> Any:
    """scikit-learn's one-vs-rest with these coefficients."""
    from sklearn.base import clone
    from sklearn.preprocessing import LabelBinarizer

    plain.estimators_ = []
    for row, constant in zip(coef, intercept, strict=True):
        one = clone(plain.estimator)
        one.classes_, one.coef_, one.intercept_ = np.array([0, 1]), row[None, :], np.array([constant])
        one.n_features_in_ = coef.shape[1]
        plain.estimators_.append(one)
    plain.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(classes)
    plain.classes_ = plain.label_binarizer_.classes_
    return plain
