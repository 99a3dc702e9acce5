"""Private logistic regression, of two classes or more."""

from typing import ClassVar, final

from hullabaloo.geometry import NuclearBall
from hullabaloo.linear_model.one_vs_rest import LogisticClassifier
from hullabaloo.planning.named import name_of
from hullabaloo.release.parameters import one_of

TOGETHER = ("auto", "mirror_descent", "frank_wolfe", "output_perturbation")
"""Solvers that learn all classes' predictions at once."""


@final
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

    def _multinomial(self) -> bool:
        chosen = one_of("multi_class", self.multi_class, ("auto", "multinomial", "one-vs-rest"))
        if chosen != "auto":
            return chosen == "multinomial"
        if self.solver == "auto" and self.budget is not None and self.budget.is_private:
            return isinstance(self.constraint, NuclearBall)
        return name_of(self.solver) in TOGETHER
