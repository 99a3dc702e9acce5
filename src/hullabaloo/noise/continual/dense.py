"""The best factorisation of all, for few steps: least maximum error among all matrices, found numerically."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, final

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import InvalidParameter
from hullabaloo.noise.continual.base import Array, Decoder, Encoder, Strategy
from hullabaloo.noise.continual.history import HistoryDecoder, HistoryEncoder
from hullabaloo.noise.continual.workload import UNIT_ROUNDOFF, UP, check

MOST = 128
"""Steps: the search takes a fraction of a second for as many, and every step combines all vectors so far."""
PRECISE = 2.0**24
ROUNDS = 150
CLOSE = 1e-4


@final
@dataclass(frozen=True, slots=True)
class BestFactorisation(Strategy):
    """Lower triangular `A = BC` with columns of C of norm 1 and the least `max_t ‖e_tᵀ B‖`, to 10⁻⁴ of it for prefix sums.

    For distributions p, v on rows and columns, `‖diag(p)^½ A diag(v)^½‖_*` (the sum of singular values) is a lower bound of
    every factorisation's error, and the largest is attained (Haagerup and Pisier's duality for γ₂). With `U S Vᵀ` that matrix,
    `p ← diag(U S Uᵀ)`, `v ← diag(V S Vᵀ)`, normalised, raises the bound; where it rests, `C = S^½ Vᵀ diag(v)^-½` is best. Any
    rotation of C is as good, among them the lower triangular one. Memory: t vectors after t steps on either side.

    **Guarantee** (of `column_norm` and `slack`). Column norms are those of the very doubles that encode, which are multiples of 2^-24.
    *Floating point*: a coordinate of `m_t` is a sum of at most t products: off by at most `(T + 1)u Σ_s |C_ts|`, in both streams.
    Source: Denisov, McMahan, Rush, Smith and Thakurta (2022) for the mean error; Henzinger, Upadhyay and Upadhyay (2023) for γ₂.

    Attributes:
        steps, decay, window: the workload.
    """

    steps: int
    decay: float = 1.0
    window: int | None = None

    name: ClassVar[str] = "dense"

    def __post_init__(self) -> None:
        """Refuse what is not a workload, and more steps than the search is for."""
        check(self.steps, self.decay, self.window)
        if self.steps > MOST:
            raise InvalidParameter(
                f"The best factorisation was asked for {self.steps} steps. It is found numerically, for at most {MOST}: beyond, choose "
                "mechanism='buffered', a few percent from it."
            )
        if self.window is not None and self.window >= self.steps:
            object.__setattr__(self, "window", None)

    @property
    def column_norm(self) -> float:
        """1."""
        return float(np.linalg.norm(_factors(self)[1], axis=0).max()) * UP

    @property
    def reach(self) -> float:
        """`max_t Σ_s |C_ts|`."""
        return float(np.abs(_factors(self)[1]).sum(axis=1).max()) * UP

    @property
    def slack(self) -> float:
        """See the guarantee."""
        return 2.0 * math.sqrt(self.steps) * (self.steps + 1) * UNIT_ROUNDOFF * self.reach

    def errors(self, at: npt.NDArray[np.int64] | None = None) -> Array:
        """Row norms of B."""
        every = np.linalg.norm(_factors(self)[0], axis=1)
        return np.asarray(every if at is None else every[np.asarray(at, dtype=np.int64) - 1])

    def encoder(self, length: int) -> Encoder:
        """A history of exact vectors."""
        rows = _factors(self)[1]
        return HistoryEncoder(length, lambda t: rows[t, : t + 1])

    def decoder(self, length: int) -> Decoder:
        """A history of noisy vectors."""
        rows = _factors(self)[0]
        return HistoryDecoder(length, lambda t: rows[t, : t + 1])


def workload(steps: int, decay: float, window: int | None) -> Array:
    """A itself."""
    age = np.subtract.outer(np.arange(steps), np.arange(steps))
    kept = (age >= 0) & (age < (window or steps))
    return np.where(kept, float(decay) ** np.maximum(age, 0), 0.0)


@lru_cache(maxsize=16)
def _factors(strategy: BestFactorisation) -> tuple[Array, Array]:
    """B and C, lower triangular. C is rounded so that the last bits of another machine's linear algebra do not show."""
    A = workload(strategy.steps, strategy.decay, strategy.window)
    p = v = np.full(strategy.steps, 1.0 / strategy.steps)
    for round_ in range(ROUNDS):
        left, size, right = np.linalg.svd(np.sqrt(p)[:, None] * A * np.sqrt(v))
        rows, columns = (left * left) @ size, size @ (right * right)
        bound, reached = size.sum(), math.sqrt((rows / p).max() * (columns / v).max())
        if reached <= (1.0 + CLOSE) * bound or round_ == ROUNDS - 1:
            break
        p, v = rows / bound, columns / bound
    factor = np.sqrt(size)[:, None] * right / np.sqrt(v)
    C: Array = np.asarray(np.linalg.qr(factor[:, ::-1], mode="r"))[::-1, ::-1]
    C = C * np.sign(np.diag(C))[:, None] / np.linalg.norm(C, axis=0)
    C = np.tril(np.rint(C * PRECISE) / PRECISE)
    return np.ascontiguousarray(np.tril(np.linalg.solve(C.T, A.T).T)), np.ascontiguousarray(C)
