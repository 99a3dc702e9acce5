"""Factorisations by their rows, with the least error: every step combines all vectors so far, so memory grows with the steps."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.noise.continual import kernels
from hullabaloo.noise.continual.base import UNIT_ROUNDOFF, UP, Array, Decoder, Encoder, Half, Integers, Strategy, Sums

LONGEST = 65_536
"""Steps of a square root: combining all vectors so far costs as many of them at every step."""
MOST = 128
"""Steps of the best factorisation: the search takes a fraction of a second for as many."""
PRECISE = 2.0**24
ROUNDS = 150
CLOSE = 1e-4

Row = Callable[[int], Array]
"""Step t = 0, 1, … -> the weights of the vectors 0 … t."""


class _History(Half):
    """Vectors so far; each new one is answered by its row's combination."""

    clock = ""

    def __init__(self, length: int, row: Row, parts: dict[str, Half] | None = None) -> None:
        super().__init__(parts, kept=np.empty((0, length)))
        self.row = row

    def restore(self, state: Mapping[str, Array], step: int) -> None:
        self.kept = {"kept": np.empty((step, self.kept["kept"].shape[1]))}
        super().restore(state, step)

    def combined(self, x: Array) -> Array:
        start, out = len(self.kept["kept"]), np.empty(x.shape)
        every = self.kept["kept"] = np.concatenate((self.kept["kept"], x))
        for t in range(len(x)):
            kernels.combine(self.row(start + t), every, out[t])
        return out


class HistoryEncoder(_History, Encoder):
    """`m_t = Σ_s C_ts x_s`, added up in the order of the steps."""

    def encode(self, x: Array) -> Array:
        """See `Encoder`."""
        return self.combined(x)


class HistoryDecoder(_History, Decoder):
    """`Σ_s B_ts m_s`; with `norm`, running sums of `norm_t Σ_s (C⁻¹)_ts m_s`."""

    def __init__(self, length: int, row: Row, norm: Array | None = None, decay: float = 1.0) -> None:
        self.norm, self.sums = norm, Sums(length, decay)
        super().__init__(length, row, {} if norm is None else {"": self.sums})

    def decode(self, noisy: Array, steps: int) -> Array:
        """See `Decoder`."""
        start, out = len(self.kept["kept"]), self.combined(noisy)
        return out if self.norm is None else self.sums.add(out * self.norm[start : start + steps, None])


@dataclass(frozen=True)
class SquareRootToeplitz(Strategy):
    """`C = R D⁻¹`, `R² = A` the sums, D the norms of the columns of R (I under a window).

    R is Toeplitz with the coefficients of `((1 − (γz)^w)/(1 − γz))^½`: without a window `γ^k |binom(−½, k)|`. Memory: t vectors after
    t steps on either side, and time to combine them: for up to 65 536 steps.

    **Guarantee** (of `column_norm` and `slack`). Column j of R holds the first `steps − j` coefficients of R: their norm, taken from
    the very doubles that encode; with D it is 1. *Floating point*: a coordinate of `m_t` is a sum of at most t products, each weight
    within 2u of `R_ts/D_s`, added in order: off by at most `(T + 3)u Σ|c|`, in both streams, from the step that differs on.
    Source: Fichtenberger, Henzinger and Upadhyay (2023); normalised columns: Henzinger, Kalinin and Upadhyay (2025).

    Attributes:
        steps, decay, window: the workload.
    """

    name: ClassVar[str] = "square_root"

    def __post_init__(self) -> None:
        """Refuse what is not a workload, and more steps than memory and time allow."""
        super().__post_init__()
        if self.steps > LONGEST:
            raise InvalidParameter(
                f"The square-root factorisation was asked for {self.steps} steps. It combines all vectors so far at every step, in memory "
                f"that grows with them, and is offered up to {LONGEST}. Choose mechanism='buffered': within half a percent of its error, in the memory of a few vectors."
            )

    @property
    def column_norm(self) -> float:
        """1 for normalised columns, else the norm of the first."""
        return UP if self.window is None else float(np.linalg.norm(_coefficients(self))) * UP

    @property
    def reach(self) -> float:
        """`Σ |c_k|`."""
        return float(np.abs(_coefficients(self)).sum()) * UP

    @property
    def slack(self) -> float:
        """See the guarantee."""
        return 2.0 * math.sqrt(self.steps) * (self.steps + 3) * UNIT_ROUNDOFF * self.reach

    def errors_at(self, at: Integers) -> Array:
        """Row norms of B: those of R under a window, else of `A D R⁻¹`, summed row by row."""
        return _errors(self)[at - 1]

    def encoder(self, length: int) -> Encoder:
        """A history of exact vectors."""
        backwards = _coefficients(self)[::-1].copy()
        norm = _norms(self)
        return HistoryEncoder(length, lambda t: backwards[self.steps - 1 - t :] / norm[: t + 1])

    def decoder(self, length: int) -> Decoder:
        """A history of noisy vectors, combined by R⁻¹, or by R under a window."""
        windowed = self.window is not None
        backwards = (_coefficients(self) if windowed else _inverse(self))[::-1].copy()
        norm = None if windowed else _norms(self)
        return HistoryDecoder(length, lambda t: backwards[self.steps - 1 - t :], norm, self.decay)


def _power(exponent: float, count: int) -> Array:
    """Coefficients of `(1 − z)^exponent`."""
    k = np.arange(1, count)
    return np.concatenate(([1.0], np.cumprod((k - 1 - exponent) / k)))


@lru_cache(maxsize=16)
def _coefficients(strategy: SquareRootToeplitz) -> Array:
    plain = _power(-0.5, strategy.steps)
    out = plain
    if strategy.window is not None:
        out = np.zeros(strategy.steps)
        for j, share in enumerate(_power(0.5, -(-strategy.steps // strategy.window))):
            out[j * strategy.window :] += share * plain[: strategy.steps - j * strategy.window]
    return np.asarray(out * strategy.decay ** np.arange(strategy.steps))


def _inverse(strategy: SquareRootToeplitz) -> Array:
    """Coefficients of `(1 − γz)^½`."""
    return np.asarray(_power(0.5, strategy.steps) * strategy.decay ** np.arange(strategy.steps))


@lru_cache(maxsize=16)
def _norms(strategy: SquareRootToeplitz) -> Array:
    if strategy.window is not None:
        return np.ones(strategy.steps)
    return np.sqrt(np.cumsum(_coefficients(strategy) ** 2))[::-1].copy()


@lru_cache(maxsize=16)
def _errors(strategy: SquareRootToeplitz) -> Array:
    if strategy.window is not None:
        return np.sqrt(np.cumsum(_coefficients(strategy) ** 2))
    out = np.empty(strategy.steps)
    kernels.row_norms(_inverse(strategy), _norms(strategy), strategy.decay, out)
    return np.sqrt(out)


@dataclass(frozen=True)
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

    name: ClassVar[str] = "dense"

    def __post_init__(self) -> None:
        """Refuse what is not a workload, and more steps than the search is for."""
        super().__post_init__()
        if self.steps > MOST:
            raise InvalidParameter(
                f"The best factorisation was asked for {self.steps} steps. It is found numerically, for at most {MOST}: beyond, choose "
                "mechanism='buffered', a few percent from it."
            )

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

    def errors_at(self, at: Integers) -> Array:
        """Row norms of B."""
        return np.asarray(np.linalg.norm(_factors(self)[0], axis=1)[at - 1])

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
