"""Private logistic regression with structured sparsity."""

from typing import ClassVar, final

import numpy as np
import numpy.typing as npt

from hullabaloo.linear_model.one_vs_rest import LogisticClassifier
from hullabaloo.linear_model.structured_sparse import StructuredSparse

Array = npt.NDArray[np.float64]


@final
class StructuredSparseClassifier(StructuredSparse, LogisticClassifier):
    """Private classification with structured sparsity: minimise `(1/n) Σ log(1 + exp(−y_i (⟨x_i, θ⟩ + b)))` over `Ω(θ) ≤ r`.

    On the unit domain, y = ±1; or with `λ Ω(θ)` added. Ω is the norm of a submodular set function F (Bach 2010): it favours
    supports that F makes cheap, such as contiguous runs, unions or complements of groups, or subtrees with their root. Of
    more than two classes: one against the rest for each, with a structure of its own. The classes are declared,
    `Domain(classes=[...])`.

    Default, structure, radius and strength: see `StructuredSparse`.

    Parameters, attributes and methods: see `PrivateLinearModel`. `selected_` names the columns that entered.
    """

    key_label: ClassVar[str] = "StructuredSparseClassifier"

    def _meaning(self) -> str:
        return f"{super()._meaning()} {self._shape()}".rstrip()
