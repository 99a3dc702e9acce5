"""Private linear regression with structured sparsity."""

from typing import ClassVar, final

from hullabaloo.linear_model.least_squares import LeastSquares
from hullabaloo.linear_model.structured_sparse import StructuredSparse


@final
class StructuredSparseRegression(StructuredSparse, LeastSquares):
    """Private regression with structured sparsity: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` over `Ω(θ) ≤ r`, on the unit domain.

    Or with `λ Ω(θ)` added. Ω is the norm of a submodular set function F (Bach 2010): it favours supports that F makes cheap,
    such as contiguous runs, unions or complements of groups, or subtrees with their root.

    Default, structure, radius and strength: see `StructuredSparse`.

    Parameters, attributes and methods: see `PrivateLinearModel`. `selected_` names the columns that entered.
    """

    key_label: ClassVar[str] = "StructuredSparseRegression"

    def _meaning(self) -> str:
        return self._shape()
