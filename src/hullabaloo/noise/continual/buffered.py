"""Buffered linear Toeplitz factorisation: near the best Toeplitz one, in the memory of a few vectors. The default."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from hullabaloo.noise.continual import buffers
from hullabaloo.noise.continual.base import Array, Decoder, Encoder, Strategy
from hullabaloo.noise.continual.design import Design, design
from hullabaloo.noise.continual.sums import Sums
from hullabaloo.noise.continual.workload import UNIT_ROUNDOFF, UP, all_steps, check

NORMALISED = 1 << 24
"""Up to so many steps columns are normalised; beyond, it would gain less than 3 %."""
STRIDE = 4096


@final
@dataclass(frozen=True, slots=True)
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
    Kalinin and Upadhyay (2025). Parameters: `buffers.py`.

    Attributes:
        steps, decay, window: the workload.
        any_time: near the least error whenever the stream ends, rather than at its last step: parameters for up to 2^28 steps.
    """

    steps: int
    decay: float = 1.0
    window: int | None = None
    any_time: bool = False

    name: ClassVar[str] = "buffered"

    def __post_init__(self) -> None:
        """Refuse what is not a workload; a window of all steps is none."""
        check(self.steps, self.decay, self.window)
        if self.window is not None and self.window >= self.steps:
            object.__setattr__(self, "window", None)

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
            return Design(*buffers.any_time(), self.decay, self.window)
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

    def errors(self, at: npt.NDArray[np.int64] | None = None) -> Array:
        """Row norms of B: closed forms, or with normalised columns the exact recursion of the decoder's covariance.

        Raises:
            InvalidParameter: all steps of a longer stream than a list of their errors should hold are asked for.
        """
        at = all_steps(self.steps, at)
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
            from hullabaloo.noise.continual import kernels

            kernels.column_norms(self.steps - 1 - start, *self.design.pairs, out)
        return out

    def to_dict(self) -> dict[str, Any]:
        """Public description."""
        return {
            "name": self.name,
            "steps": self.steps,
            "decay": self.decay,
            "window": self.window,
            "any_time": self.any_time,
            "buffers": self.buffers,
            "column_norm": self.column_norm,
        }


@final
class _Buffers(Encoder):
    __slots__ = ("_high", "_low", "_step", "_strategy")

    def __init__(self, strategy: BufferedToeplitz, length: int) -> None:
        self._strategy, self._step = strategy, 0
        self._high, self._low = np.zeros((2, strategy.buffers, length))

    def encode(self, x: Array) -> Array:
        from hullabaloo.noise.continual import kernels

        out = np.empty(x.shape)
        norm = self._strategy.norms(self._step, x.shape[0])
        kernels.encode_buffers(x, norm, *self._strategy.design.decayed, self._high, self._low, out)
        self._step += x.shape[0]
        return out

    def state(self) -> dict[str, Array]:
        return {"high": self._high.copy(), "low": self._low.copy(), "step": np.array([float(self._step)])}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._high, self._low = np.array(state["high"]), np.array(state["low"])
        self._step = int(state["step"][0])


@final
class _Inverse(Decoder):
    __slots__ = ("_buffers", "_step", "_strategy", "_sums")

    def __init__(self, strategy: BufferedToeplitz, length: int) -> None:
        self._strategy, self._step = strategy, 0
        self._buffers = np.zeros((strategy.buffers, length))
        self._sums = Sums(length, strategy.decay, strategy.window)

    def decode(self, noisy: Array, steps: int) -> Array:
        from hullabaloo.noise.continual import kernels

        y = np.empty((steps, noisy.shape[1]))
        norm = self._strategy.norms(self._step, steps)
        kernels.decode_buffers(noisy, norm, *self._strategy.design.decayed, self._buffers, y)
        self._step += steps
        return self._sums.add(y)

    def state(self) -> dict[str, Array]:
        sums = {f"sums.{name}": array for name, array in self._sums.state().items()}
        return {"buffers": self._buffers.copy(), "step": np.array([float(self._step)]), **sums}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._buffers, self._step = np.array(state["buffers"]), int(state["step"][0])
        self._sums.restore({name.removeprefix("sums."): array for name, array in state.items() if name[:5] == "sums."})


@lru_cache(maxsize=64)
def _starts(strategy: BufferedToeplitz) -> list[tuple[Array, Array, Array]]:
    """The covariances before every block of `STRIDE` steps."""
    k = strategy.buffers
    current = (np.zeros((k, k)), np.zeros(k), np.zeros(1))
    starts = [current]
    for b in range((strategy.steps - 1) // STRIDE):
        current = (current[0].copy(), current[1].copy(), current[2].copy())
        _spread(strategy, b, current)
        starts.append(current)
    return starts


@lru_cache(maxsize=256)
def _block(strategy: BufferedToeplitz, b: int) -> Array:
    """The errors of one block of steps."""
    covariance, cross, variance = _starts(strategy)[b]
    return np.sqrt(_spread(strategy, b, (covariance.copy(), cross.copy(), variance.copy())))


def _spread(strategy: BufferedToeplitz, b: int, state: tuple[Array, Array, Array]) -> Array:
    from hullabaloo.noise.continual import kernels

    out = np.empty(min(STRIDE, strategy.steps - b * STRIDE))
    loss, drive = strategy.design.modes
    decay = strategy.decay
    norm = strategy.norms(b * STRIDE, out.size)
    kernels.spread((1.0 - decay) + decay * loss, math.sqrt(decay) * drive, norm, decay, *state, out)
    return out
