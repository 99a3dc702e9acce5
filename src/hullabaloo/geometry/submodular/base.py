"""What a set function must say of itself, so that a norm with structured sparsity can be made of it."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.geometry.checks import Vector
from hullabaloo.geometry.width import Width


class SetFunction(ABC):
    """F on subsets of {0, …, p−1}: submodular, nondecreasing, F(∅) = 0, F({j}) > 0.

    Submodular: F(A) + F(B) ≥ F(A ∪ B) + F(A ∩ B), so the gain of one more column falls as the set grows. Of F are made
    the norm `Ω(w) = f(|w|)`, f the Lovász extension of F; its dual norm `Ω*(s) = max_A ‖s_A‖₁/F(A)`; and the symmetric
    submodular polyhedron `|P|(F) = {s : ‖s_A‖₁ ≤ F(A) for all A}`, whose support function is Ω (Bach 2010, 2013).
    Supports that Ω favours are those that F makes cheap.

    Source: 001, Equation (3).
    """

    __slots__ = ()

    @property
    @abstractmethod
    def dimension(self) -> int | None:
        """The p that F is made for, or None when it serves every p."""

    @abstractmethod
    def value(self, members: NDArray[np.bool_]) -> float:
        """F(A) for A = {j : members_j}, members (p,)."""

    @abstractmethod
    def gains(self, order: NDArray[np.int64]) -> Vector:
        """F(S_k) − F(S_{k−1}) for k = 1..p, S_k the first k entries of `order`, a permutation of 0..p−1; (p,)."""

    @abstractmethod
    def gaussian_width(self, p: int) -> Width:
        """w(|P|(F)) = E Ω(g) for g standard normal in R^p."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data from which `set_function_from_dict` makes an equal function; under "kind" its name."""


class HasGreedyForm(ABC):
    """Where the gains go is known without a walk through the columns in falling order, mostly without a sort."""

    __slots__ = ()

    @abstractmethod
    def greedy(self, sizes: Vector) -> Vector:
        """The s ≥ 0 of |P|(F) with ⟨s, sizes⟩ = Ω(sizes) that `gains` gives in the falling order of sizes; a new array.

        `sizes` (p,), at least 0; of equal ones the smaller column comes first.
        """


class HasProximalForm(ABC):
    """The prox of Ω is known in closed form, or by a finite algorithm, to the last digits."""

    __slots__ = ()

    @abstractmethod
    def prox(self, v: Vector, weight: float) -> Vector:
        """argmin over u of weight·Ω(u) + ½‖u − v‖², a new array; within 2^-48 of ‖v‖ of the exact one."""
