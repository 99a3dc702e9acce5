"""The penalty strength·Ω(θ): structured sparsity."""

from dataclasses import dataclass
from typing import final

from hullabaloo.codec import Written
from hullabaloo.geometry.checks import Vector, nonnegative_number, vector
from hullabaloo.geometry.penalty import Penalty
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.checks import set_function
from hullabaloo.geometry.submodular.norm import omega, prox


@final
@dataclass(frozen=True, slots=True)
class SubmodularPenalty(Written, Penalty):
    """ψ(θ) = strength·Ω(θ), Ω the norm of a set function: supports that the function makes cheap are favoured.

    strength ≥ 0 and finite, `function` a `SetFunction`, else `InvalidParameter`.

    >>> from hullabaloo.geometry import BoundedCardinality
    >>> SubmodularPenalty(BoundedCardinality(2), 0.5).value([3.0, -1.0, 2.0])
    2.5
    """

    function: SetFunction
    strength: float
    kind = "submodular"
    strong_convexity = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "function", set_function(self.function, "A SubmodularPenalty"))
        object.__setattr__(self, "strength", nonnegative_number(self.strength, "The strength of a SubmodularPenalty"))

    def value(self, theta: Vector) -> float:
        """strength·Ω(θ)."""
        return self.strength * omega(self.function, theta)

    def prox(self, v: Vector, step: float) -> Vector:
        """The prox of step·strength·Ω."""
        if self.strength == 0.0:
            return vector(v, dimension=self.function.dimension).copy()
        return prox(self.function, v, step * self.strength)
