"""The hard lasso: data on which every private method over the l1 ball loses of the order of n^{−2/3}.

Talwar, Thakurta and Zhang 2014, Section 5.3: rows of a padded Tardos code with target 1, over a block of rows with
orthogonal ±1 columns and target 0 that makes θ spread itself. A good model has to name the columns on which the code's rows
agree; who can do that privately could trace, and fingerprinting codes are made so that nobody can (Tardos 2008).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import hadamard

from hullabaloo.errors import InvalidParameter
from hullabaloo.solvers.base import Array


@dataclass(frozen=True, slots=True, eq=False)
class HardLasso:
    """A table (X, y) for `(1/2n) Σ (⟨x_i, θ⟩ − y_i)²` over ‖θ‖₁ ≤ 1: entries of X are ±1, of y 1 (code) and 0 (block).

    Attributes:
        X: (n, p), the w rows of the code first.
        y: (n,).
        code_rows: w.
        consensus: (p,), the common sign of the code's rows in a column, 0 where they differ.
    """

    X: Array
    y: Array
    code_rows: int
    consensus: Array

    @property
    def reference(self) -> Array:
        """θ* of the proof: `sign/p` by the consensus, +1/p elsewhere; in the l1 ball.

        Source: 000, Equation (3).
        """
        sign = np.where(self.consensus == 0.0, 1.0, self.consensus)
        return np.asarray(sign / sign.size, dtype=np.float64)

    def loss(self, theta: Array) -> float:
        """`(1/2n) Σ (⟨x_i, θ⟩ − y_i)²`."""
        return 0.5 * float(np.mean((self.X @ theta - self.y) ** 2))

    def agreement(self, theta: Array) -> float:
        """Share of consensus columns whose sign θ has: the proof's Lemma 5.10 is about this number.

        Source: 000, Lemma 3.3; 002, Lemma 5.10.
        """
        decided = self.consensus != 0.0
        return float(np.mean(np.sign(theta[decided]) == self.consensus[decided]))


def tardos_code(users: int, length: int, generator: np.random.Generator) -> Array:
    """±1 rows of Tardos's code: column j is +1 with probability P_j, P_j = sin² r, r uniform on [a, π/2 − a], sin² a = 1/(300w).

    Args:
        users: w, rows.
        length: columns.
        generator: the source of randomness, so that the instance is reproducible.

    Source: 002, Theorem 5.9.
    """
    bias = tardos_bias(users, length, generator)
    return np.where(generator.uniform(size=(users, length)) < bias, 1.0, -1.0)


def tardos_bias(users: int, length: int, generator: np.random.Generator) -> Array:
    """P_j of so many columns; see `tardos_code`."""
    cut = math.asin(math.sqrt(1.0 / (300.0 * users)))
    return np.asarray(np.sin(generator.uniform(cut, math.pi / 2.0 - cut, length)) ** 2)


def padded_code(users: int, columns: int, share: float, generator: np.random.Generator) -> Array:
    """A Tardos code on a `share` of the columns, the others constant, half +1 and half −1; columns in random order.

    Source: 002, Theorem 5.9.

    Source: 000, Theorem 3.2.
    """
    length = max(1, round(share * columns))
    constant = np.where(np.arange(columns - length) % 2 == 0, 1.0, -1.0)
    padding = np.broadcast_to(constant, (users, columns - length))
    whole = np.concatenate([tardos_code(users, length, generator), padding], axis=1)
    return np.asarray(whole[:, generator.permutation(columns)], dtype=np.float64)


def orthogonal_block(columns: int, copies: int = 1) -> Array:
    """`copies` Sylvester matrices of 2^a ≥ p rows, their first p columns: ±1 and mutually orthogonal.

    Source: 002, Theorem 5.8.
    """
    block = hadamard(1 << max(0, columns - 1).bit_length(), dtype=float)
    return np.tile(block[:, :columns], (copies, 1))


def hard_lasso(
    code_rows: int, columns: int, *, generator: np.random.Generator, share: float = 0.001, copies: int | None = None
) -> HardLasso:
    """The instance with w rows of the code and p columns.

    The paper has w = m/ln m, p = 1000 m², share τ = 0.001 and k = τwp rows in the block; then n = w + k and its risk is
    of the order w/n = n^{−2/3} up to logarithms. Here p is given, so that it fits into memory, and the block has
    `copies · 2^a` rows, 2^a ≥ p, by default as many copies as come nearest to τwp rows, at least one.

    Raises:
        InvalidParameter: no rows or columns, or a share outside (0, 1].

    Source: 002, Theorem 5.8; 000, Theorem 3.1.
    """
    if code_rows < 1 or columns < 1 or not 0.0 < share <= 1.0 or (copies is not None and copies < 1):
        raise InvalidParameter(
            f"A hard instance was asked with {code_rows} code rows, {columns} columns, share {share} and copies {copies}. Pass at "
            "least one of each and a share of the columns above 0 and at most 1."
        )
    size = 1 << max(0, columns - 1).bit_length()
    repeats = copies if copies is not None else max(1, round(share * code_rows * columns / size))
    code = padded_code(code_rows, columns, share, generator)
    block = orthogonal_block(columns, repeats)
    total = code.sum(axis=0)
    consensus = np.where(np.abs(total) == code_rows, np.sign(total), 0.0)
    y = np.append(np.ones(code_rows), np.zeros(len(block)))
    return HardLasso(np.ascontiguousarray(np.concatenate([code, block])), y, code_rows, consensus)
