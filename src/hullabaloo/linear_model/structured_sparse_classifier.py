"""Private logistic regression with structured sparsity."""

from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from hullabaloo.data import Encoding
from hullabaloo.linear_model.classification import PrivateClassifier
from hullabaloo.linear_model.one_vs_rest import plain_logistic, probabilities_apart
from hullabaloo.linear_model.structured_sparse import StructuredSparse
from hullabaloo.losses import AnyLoss, Logistic

Array = npt.NDArray[np.float64]


@final
class StructuredSparseClassifier(StructuredSparse, PrivateClassifier):
    """Private classification with structured sparsity: minimise `(1/n) Σ log(1 + exp(−y_i (⟨x_i, θ⟩ + b)))` over `Ω(θ) ≤ r`.

    On the unit domain, y = ±1; or with `λ Ω(θ)` added. Ω is the norm of a submodular set function F (Bach 2010): it favours
    supports that F makes cheap, such as contiguous runs, unions or complements of groups, or subtrees with their root. Of
    more than two classes: one against the rest for each, with a structure of its own. The classes are declared,
    `Domain(classes=[...])`.

    Default, structure, radius and strength: see `StructuredSparse`.

    Parameters, attributes and methods: see `PrivateLinearModel`. `selected_` names the columns that entered.
    """

    key_label: ClassVar[str] = "StructuredSparseClassifier"

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, (n, k), in the order of `classes_`."""
        return probabilities_apart(self._linear(X))

    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`."""
        return np.log(np.maximum(self.predict_proba(X), 1e-300))

    def _loss(self, encoding: Encoding) -> AnyLoss:
        return Logistic()

    def _unit(self) -> str:
        return "the log-odds"

    def _meaning(self) -> str:
        return f"{super()._meaning()} {self._shape()}".rstrip()

    def _plain(self, coef: Array, intercept: Array) -> Any:
        return plain_logistic(self, coef, intercept)
