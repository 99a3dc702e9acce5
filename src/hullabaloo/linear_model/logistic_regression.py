"""Private logistic regression, of two classes or more."""

from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from hullabaloo.data import Encoding
from hullabaloo.geometry import ConvexSet, NoPenalty, NuclearBall, Penalty
from hullabaloo.linear_model.classification import PrivateClassifier
from hullabaloo.linear_model.one_vs_rest import plain_logistic, probabilities_apart
from hullabaloo.losses import AnyLoss, Logistic, MultinomialLogistic
from hullabaloo.planning.named import name_of
from hullabaloo.release.parameters import one_of

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

    key_label: ClassVar[str] = "LogisticRegression"
    multi_class: str = "auto"

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (n, k), in the order of `classes_`."""
        values = self._linear(X)
        if values.shape[1] > 1 and self._multinomial():
            return np.asarray(softmax(values, axis=1), dtype=np.float64)
        return probabilities_apart(values)

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
        return plain_logistic(self, coef, intercept, together=self._multinomial())
