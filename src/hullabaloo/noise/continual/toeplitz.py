"""Square root of the workload: the Toeplitz factorisation with the least maximum error, in memory that grows with the steps."""

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

LONGEST = 65_536
"""Steps: combining all vectors so far costs as many of them at every step."""


@final
@dataclass(frozen=True, slots=True)
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

    steps: int
    decay: float = 1.0
    window: int | None = None

    name: ClassVar[str] = "square_root"

    def __post_init__(self) -> None:
        """Refuse what is not a workload, and more steps than memory and time allow."""
        check(self.steps, self.decay, self.window)
        if self.steps > LONGEST:
            raise InvalidParameter(
                f"The square-root factorisation was asked for {self.steps} steps. It combines all vectors so far at every step, in memory "
                f"that grows with them, and is offered up to {LONGEST}. Choose mechanism='buffered': within half a percent of its error, "
                "in the memory of a few vectors."
            )
        if self.window is not None and self.window >= self.steps:
            object.__setattr__(self, "window", None)

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

    def errors(self, at: npt.NDArray[np.int64] | None = None) -> Array:
        """Row norms of B: those of R under a window, else of `A D R⁻¹`, summed row by row."""
        every = _errors(self)
        return every.copy() if at is None else every[np.asarray(at, dtype=np.int64) - 1]

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
    from hullabaloo.noise.continual import kernels

    out = np.empty(strategy.steps)
    kernels.row_norms(_inverse(strategy), _norms(strategy), strategy.decay, out)
    return np.sqrt(out)
