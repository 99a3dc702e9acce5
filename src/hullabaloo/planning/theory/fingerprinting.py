"""The lower bound's own instance at its own size, p = 1000 m² columns, and the attack that its proof is about: who is in the table?

Talwar, Thakurta and Zhang 2014, Theorem 5.8: w = m/ln m rows of a padded Tardos code (m² = τp columns; the others constant) with target 1, over k rows with
orthogonal ±1 columns and target 0. Nothing of size n p is stored: the code is a bit a cell, padding columns are counted by sign, and of the
orthogonal rows `Σ⟨y, θ⟩² = k‖θ‖²` is all that a loss or a gradient sees.

**Its smallest m.** The paper takes k = τwp rows, "possible as k ≫ p": orthogonal columns need k ≥ p, so w ≥ 1/τ = 1000 and m ≥ 9119, where p = 8.3e10. Below
that k is the next power of two from p (Sylvester), and the proof's `k/p` of the reference model is 1 to 2 in place of τw.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import InvalidParameter
from hullabaloo.planning.theory.hard_instances import tardos_bias
from hullabaloo.solvers.base import Array

SHARE = 0.001
"""τ."""
LITERAL = 9119
"""The least m with m/ln m ≥ 1000."""


@dataclass(frozen=True, slots=True, eq=False)
class PaddedModel:
    """Coefficients: one for each column of the code, and groups (sign of the columns, value, how many) of the padding."""

    code: Array
    padding: tuple[tuple[float, float, int], ...]

    @property
    def square(self) -> float:
        """‖θ‖₂²."""
        return float(self.code @ self.code) + math.fsum(count * value**2 for _, value, count in self.padding)

    @property
    def length(self) -> float:
        """‖θ‖₁."""
        return float(np.abs(self.code).sum()) + math.fsum(count * abs(value) for _, value, count in self.padding)


@dataclass(frozen=True, slots=True, eq=False)
class PackedLasso:
    """`(1/2n)(Σ_i (⟨x_i, θ⟩ − 1)² + k‖θ‖²)` over ‖θ‖₁ ≤ 1, n = w + k.

    Attributes:
        bits: (w, ⌈m²/8⌉), the code, a bit a cell.
        bias: (m²,), chances of +1.
        padding: how many padding columns are +1, and how many −1.
        block: k.
    """

    bits: npt.NDArray[np.uint8]
    bias: Array
    padding: tuple[int, int]
    block: int

    @property
    def users(self) -> int:
        """w."""
        return len(self.bits)

    @property
    def columns(self) -> int:
        """p."""
        return self.bias.size + sum(self.padding)

    @property
    def records(self) -> int:
        """n."""
        return self.users + self.block

    def row(self, user: int) -> Array:
        """The code of one user: ±1."""
        return np.asarray(2.0 * np.unpackbits(self.bits[user], count=self.bias.size) - 1.0, dtype=np.float64)

    def pulled(self, weights: Array) -> tuple[Array, float]:
        """`Σ_i weights_i x_i`: by column of the code, and of a padding column over its sign."""
        found = np.zeros(self.bias.size)
        for user, weight in enumerate(weights):
            found += weight * self.row(user)
        return found, float(np.sum(weights))

    def predictions(self, theta: PaddedModel) -> Array:
        """⟨x_i, θ⟩ of the code's rows."""
        shared = math.fsum(sign * value * count for sign, value, count in theta.padding)
        return np.array([float(self.row(user) @ theta.code) + shared for user in range(self.users)])

    def loss(self, theta: PaddedModel) -> float:
        """The mean loss."""
        missed = self.predictions(theta) - 1.0
        return (float(missed @ missed) + self.block * theta.square) / (2.0 * self.records)

    def best(self) -> PaddedModel:
        """The non-private optimum: `θ = Σ α_i x_i`, `(XXᵀ + kI)α = 1`; it is shorter than 1 in l1.

        Source: 002, Theorem 5.8.
        """
        rows = np.array([self.row(user) for user in range(self.users)], dtype=np.float32)
        gram = (rows @ rows.T).astype(np.float64) + sum(self.padding)
        weights: Array = np.linalg.solve(gram + self.block * np.eye(self.users), np.ones(self.users)).astype(np.float64)
        code, shared = self.pulled(weights)
        plus, minus = self.padding
        return PaddedModel(code, ((1.0, shared, plus), (-1.0, -shared, minus)))

    def agreement(self, theta: PaddedModel) -> float:
        """Share of the consensus columns whose sign θ has: at least ¾ for a model of small excess (Lemma 5.10).

        Source: 002, Theorem 5.8.
        """
        total, _ = self.pulled(np.ones(self.users))
        agreed = np.abs(total) == self.users
        right = float(np.sum(np.sign(theta.code[agreed]) == np.sign(total[agreed])))
        right += math.fsum(count for sign, value, count in theta.padding if sign * value > 0.0)
        return right / (float(agreed.sum()) + sum(self.padding))

    def strangers(self, count: int, generator: np.random.Generator) -> npt.NDArray[np.uint8]:
        """Codes of users who are not in the table, as `bits`."""
        return _bits(self.bias, count, generator)

    def traced(self, theta: PaddedModel, bits: npt.NDArray[np.uint8], *, signs: bool = False) -> Array:
        """A score of each user, of mean 0 and variance 1 for a stranger, large for one whom the model tells of.

        `Σ_j r_j (x_j − b_j)/√(Σ_j r_j²(1 − b_j²))`, b = 2P − 1 the columns' means and r what is left of θ (of its signs) beside its fit by b. Of the optimum it
        is near `0.8 √(m ln m)` in the table, by its signs alone a third of that: the proof sees signs, and its m has to be large.

        Source: 002, Theorem 5.9.
        """
        mean, told = 2.0 * self.bias - 1.0, np.sign(theta.code) if signs else theta.code
        left = told - float(told @ mean) / float(mean @ mean) * mean
        spread = math.sqrt(float(np.sum(left**2 * (1.0 - mean**2))))
        if spread == 0.0:
            return np.zeros(len(bits))
        rows = (2.0 * np.unpackbits(one, count=self.bias.size) - 1.0 for one in bits)
        return np.array([float(left @ (row - mean)) / spread for row in rows])


def packed_lasso(m: int, *, generator: np.random.Generator) -> PackedLasso:
    """The instance of size m: w = m/ln m rounded, p = 1000 m², k the paper's τwp from m = 9119 on, else the least power of two from p.

    Memory: m³/(8 ln m) bytes for the code, and m² numbers for a model.

    Raises:
        InvalidParameter: m is below 3.

    Source: 002, Theorem 5.8.
    """
    if m < 3:
        raise InvalidParameter(f"A fingerprinting instance of m = {m} was asked; m/ln m users need m of at least 3.")
    users, length = max(2, round(m / math.log(m))), m * m
    columns = round(length / SHARE)
    block = round(SHARE * users * columns) if m >= LITERAL else 1 << (columns - 1).bit_length()
    bias = tardos_bias(users, length, generator)
    rest = columns - length
    return PackedLasso(_bits(bias, users, generator), bias, (rest - rest // 2, rest // 2), block)


def _bits(bias: Array, count: int, generator: np.random.Generator) -> npt.NDArray[np.uint8]:
    return np.array([np.packbits(generator.uniform(size=bias.size) < bias) for _ in range(count)])
