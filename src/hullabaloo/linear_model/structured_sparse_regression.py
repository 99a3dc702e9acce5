"""Private linear regression with structured sparsity."""

from typing import ClassVar, final

from hullabaloo.data import Domain
from hullabaloo.geometry import ConvexSet, Penalty
from hullabaloo.ledger import Ledger
from hullabaloo.linear_model.least_squares import LeastSquares
from hullabaloo.linear_model.structured_sparse import StructuredSparse
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Calibration, Neighbours
from hullabaloo.solvers import Solver
from hullabaloo.structure.structure import Structure


@final
class StructuredSparseRegression(StructuredSparse, LeastSquares):
    """Private regression with structured sparsity: minimise `(1/2n) Σ (⟨x_i, θ⟩ + b − y_i)²` over `Ω(θ) ≤ r`, on the unit domain.

    Or with `λ Ω(θ)` added. Ω is the norm of a submodular set function F (Bach 2010): it favours supports that F makes cheap,
    such as contiguous runs, unions or complements of groups, or subtrees with their root.

    Default, structure, radius and strength: see `StructuredSparse`.

    Parameters, attributes and methods: see `PrivateLinearModel`. `selected_` names the columns that entered.
    """

    key_label: ClassVar[str] = "StructuredSparseRegression"

    def __init__(
        self,
        *,
        budget: Budget | None = None,
        domain: Domain | None = None,
        constraint: ConvexSet | None = None,
        penalty: Penalty | None = None,
        structure: Structure = None,
        radius: float = 1.0,
        strength: float | None = None,
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
        self.structure = structure
        self.radius = radius
        self.strength = strength

    def _meaning(self) -> str:
        return self._shape()
