"""Private least squares."""

from typing import ClassVar, final

from hullabaloo.data import Encoding
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.linear_model.least_squares import LeastSquares


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

    def _default(self, encoding: Encoding) -> tuple[ConvexSet | None, Penalty]:
        return None, NoPenalty()
