"""Buffered linear Toeplitz factorisation: near the best Toeplitz one, in the memory of a few vectors. The default."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hullabaloo.noise.continual import kernels
from hullabaloo.noise.continual.base import UNIT_ROUNDOFF, UP, Array, Decoder, Encoder, Integers, Strategy, Sums
from hullabaloo.noise.continual.design import STRIDE, Design, any_time, design

NORMALISED = 1 << 24
"""Up to so many steps columns are normalised; beyond, it would gain less than 3 %."""


@dataclass(frozen=True)
class BufferedToeplitz(Strategy):
    """`C = C₀ D⁻¹`: C₀ Toeplitz with `c_k = Σ_i w_i θ_i^{k−1}`, D the norms of its columns for a known horizon (else D = I).

    Encoding is `m_t = v_t + Σ w_i b_i` with `v = x/D` and then `b_i ← θ_i b_i + v`; decoding `y_t = m_t − Σ w_i b_i`,
    `b_i ← θ_i b_i + y_t`, and sums of `D y`. Memory: `buffers` vectors on either side, and a window's sums, whatever the number of
    steps. Under a decay γ, C is conjugated: θγ and wγ.

    **Guarantee** (of `column_norm` and `slack`). Column j of C₀ has the squared norm
    `1 + Σ_{ii'} w_i w_{i'} (1 − (θ_i θ_{i'})^n)/(1 − θ_i θ_{i'})`, n = steps − j: a geometric sum. It rises with n, so without D
    the first column is the longest; with D all have norm 1. `UP` covers the rounding of these formulas.
    *Floating point*: with losses δ = 1 − θ held exactly, `|v| ≤ 1` and hence `|b_i| ≤ 1/δ_i`, a step of the compensated buffer
    computes `v − δ_i b_i` with an error of at most 5u (division, product and difference, each of numbers at most 2, and the low
    word that is left out, `δ_i u |b_i| ≤ u`), and adds it exactly up to `u²|b_i|`: at most 6u. Errors decay like the buffer, so it
    is off by at most `6u/δ_i` for ever; reading its high word adds `u/δ_i`, the product with w_i another, summing k + 1 terms
    `(k + 1)u` of the sum's bound. So an encoded coordinate is off by at most `(k + 9) u (1 + Σ w_i/δ_i)`, in both streams, and
    only from the step that differs on: `slack = 2 √steps (k + 9) u (1 + Σ w_i/δ_i)`.
    Source: McMahan, Pillutla and Rush (2024); Fichtenberger, Henzinger and Upadhyay (2023); normalised columns: Henzinger,
    Kalinin and Upadhyay (2025). Parameters: `design.py`.

    Attributes:
        steps, decay, window: the workload.
        any_time: near the least error whenever the stream ends, rather than at its last step: parameters for up to 2^28 steps.
    """

    any_time: bool = False

    name: ClassVar[str] = "buffered"

    @property
    def normalised(self) -> bool:
        """Whether columns are normalised."""
        return self.window is None and self.steps <= NORMALISED and not self.any_time

    @property
    def buffers(self) -> int:
        """Vectors that the encoder holds."""
        return len(self.design.loss)

    @property
    def design(self) -> Design:
        """The parameters."""
        if self.any_time:
            return Design(*any_time(), self.decay, self.window)
        return design(self.steps, self.decay, self.window)

    @property
    def column_norm(self) -> float:
        """1 for normalised columns, else the norm of the first column."""
        return UP if self.normalised else self.design.column_norm(self.steps - 1) * UP

    @property
    def reach(self) -> float:
        """`Σ c_k`: v is at most x, as columns have norms of at least 1."""
        return self.design.gain(self.steps - 1) * UP

    @property
    def slack(self) -> float:
        """See the guarantee."""
        loss, weight = self.design.decayed
        each = (self.buffers + 9) * UNIT_ROUNDOFF * (1.0 + float(np.sum(weight / loss)))
        return 2.0 * math.sqrt(self.steps) * each * UP

    def errors_at(self, at: Integers) -> Array:
        """Row norms of B: closed forms, or with normalised columns the exact recursion of the decoder's covariance."""
        if not self.normalised:
            return self.design.errors(at)
        order = np.argsort(at, kind="stable")
        block, inside = np.divmod(at[order] - 1, STRIDE)
        found, firsts = np.unique(block, return_index=True)
        parts = zip(found, np.split(inside, firsts[1:]), strict=True)
        out = np.empty(at.size)
        out[order] = np.concatenate([_block(self, int(b))[within] for b, within in parts] or [np.empty(0)])
        return out

    def encoder(self, length: int) -> Encoder:
        """Compensated buffers."""
        return _Buffers(self, length)

    def decoder(self, length: int) -> Decoder:
        """Plain buffers and running sums."""
        return _Inverse(self, length)

    def norms(self, start: int, count: int) -> Array:
        """The diagonal of D at the steps start + 1, …, start + count."""
        out = np.ones(count)
        if self.normalised:
            kernels.column_norms(self.steps - 1 - start, *self.design.pairs, out)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Public description."""
        return {**super().to_dict(), "any_time": self.any_time, "buffers": self.buffers}


class _Buffers(Encoder):
    def __init__(self, strategy: BufferedToeplitz, length: int) -> None:
        high, low = np.zeros((2, strategy.buffers, length))
        super().__init__(high=high, low=low)
        self.strategy = strategy

    def encode(self, x: Array) -> Array:
        out = np.empty(x.shape)
        norm = self.strategy.norms(self.step, x.shape[0])
        kernels.encode_buffers(x, norm, *self.strategy.design.decayed, self.kept["high"], self.kept["low"], out)
        self.step += x.shape[0]
        return out


class _Inverse(Decoder):
    def __init__(self, strategy: BufferedToeplitz, length: int) -> None:
        self.strategy, self.sums = strategy, Sums(length, strategy.decay, strategy.window)
        super().__init__({"sums.": self.sums}, buffers=np.zeros((strategy.buffers, length)))

    def decode(self, noisy: Array, steps: int) -> Array:
        y = np.empty((steps, noisy.shape[1]))
        norm = self.strategy.norms(self.step, steps)
        kernels.decode_buffers(noisy, norm, *self.strategy.design.decayed, self.kept["buffers"], y)
        self.step += steps
        return self.sums.add(y)


@lru_cache(maxsize=64)
def _starts(strategy: BufferedToeplitz) -> list[tuple[Array, Array, Array]]:
    """The covariances before every block of `STRIDE` steps."""
    k = strategy.buffers
    starts = [(np.zeros((k, k)), np.zeros(k), np.zeros(1))]
    for b in range((strategy.steps - 1) // STRIDE):
        starts.append(_spread(strategy, b, starts[-1])[0])
    return starts


@lru_cache(maxsize=256)
def _block(strategy: BufferedToeplitz, b: int) -> Array:
    """The errors of one block of steps."""
    return np.sqrt(_spread(strategy, b, _starts(strategy)[b])[1])


def _spread(
    strategy: BufferedToeplitz, b: int, before: tuple[Array, Array, Array]
) -> tuple[tuple[Array, Array, Array], Array]:
    """The covariances after a block of steps, and the variances of the sums within it."""
    covariance, cross, variance = (part.copy() for part in before)
    out = np.empty(min(STRIDE, strategy.steps - b * STRIDE))
    loss, drive = strategy.design.modes
    decay, norm = strategy.decay, strategy.norms(b * STRIDE, out.size)
    lost, driven = (1.0 - decay) + decay * loss, math.sqrt(decay) * drive
    kernels.spread(lost, driven, norm, decay, covariance, cross, variance, out)
    return (covariance, cross, variance), out
