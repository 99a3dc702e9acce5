"""Streams of unknown length: epochs, each with its noisy sum and a fresh mechanism inside."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, final

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import InvalidParameter
from hullabaloo.noise.continual.base import Array, Decoder, Encoder, Strategy
from hullabaloo.noise.continual.buffered import BufferedToeplitz
from hullabaloo.noise.continual.workload import UNIT_ROUNDOFF, UP, all_steps, check, only_prefix_sums

LONGEST = 1 << 28
"""Steps of the longest epoch: longer sums would leave the noise lattice, and floating point would show."""
DOUBLING, RARE = 0.5, 1.0 / 32.0
"""Share of the privacy (in squares) that the noisy sum of an epoch takes: measured best where epochs double, little where they do not."""


@final
@dataclass(frozen=True, slots=True)
class Hybrid(Strategy):
    """Epochs of `first`, then `first, 2 first, 4 first, …` steps, none longer than 2^28; the sum after a step is that of the epochs
    before plus that of the mechanism inside its own.

    A step is in one epoch sum (times α) and in one inner mechanism (times β over its column norm), `α² + β² = 1`. A finished epoch is
    estimated from its noisy sum and the last of its inner sums, weighted by their precisions. Epochs of 2^28 steps use inner
    parameters that are good at any time. Hence `first = 2^28` is one buffered mechanism for 268 million steps, within 1.47 of the
    least error for a known end at every time, and only then begins anew; `first = 1` is the classical hybrid.

    **Guarantee** (of `column_norm` and `slack`). Columns of C are `(α, β c/‖c‖)` for a column c of the inner mechanism: norm at most
    1. *Floating point*: a sum of n ≤ 2^28 vectors in two words is off by at most `n²u²` and, read and scaled, by `2un`: at most
    `3un`; the inner mechanism is off by its own slack times its factor, and by one rounding of its scaled output: `2 √L u reach`.
    Epochs begin anew, so no other is touched. Source: Chan, Shi and Song (2011), hybrid mechanism.

    Attributes:
        steps, decay, window: the workload; prefix sums alone.
        first: steps of the first epoch, a power of two.
    """

    steps: int
    decay: float = 1.0
    window: int | None = None
    first: int = 1

    name: ClassVar[str] = "hybrid"
    column_norm = UP

    def __post_init__(self) -> None:
        """Refuse what is not a workload of prefix sums, and a first epoch that is not a power of two."""
        check(self.steps, self.decay, self.window)
        only_prefix_sums(self.name, self.decay, self.window)
        if self.first not in {1 << e for e in range(29)}:
            raise InvalidParameter(
                f"A hybrid mechanism was asked for a first epoch of {self.first!r} steps. Epochs double from it to 2^28: pass a power of "
                "two, at most 2^28."
            )

    @property
    def share(self) -> float:
        """α²."""
        return RARE if self.first == LONGEST else DOUBLING

    @property
    def encoded(self) -> int:
        """A vector a step and one an epoch."""
        return self.steps + self.epoch(self.steps)

    @property
    def lengths(self) -> list[int]:
        """Lengths of the epochs that the stream begins, each once."""
        return sorted({self.length(e) for e in range(min(self.epoch(self.steps - 1), 29) + 1)})

    @property
    def reach(self) -> float:
        """The longest epoch's sum, or what an inner mechanism reaches."""
        inner = max(self.factor(length) * self.inner(length).reach for length in self.lengths)
        return max(math.sqrt(self.share) * min(self.lengths[-1], self.steps), inner) * UP

    @property
    def slack(self) -> float:
        """See the guarantee; an epoch is off by at most that of its own length."""
        inside = max(self.factor(length) * self._inner_slack(length) for length in self.lengths)
        return math.hypot(inside, 6.0 * UNIT_ROUNDOFF * self.lengths[-1]) * UP

    def _inner_slack(self, length: int) -> float:
        inner = self.inner(length)
        return inner.slack + 2.0 * math.sqrt(length) * UNIT_ROUNDOFF * inner.reach

    def errors(self, at: npt.NDArray[np.int64] | None = None) -> Array:
        """Errors of the epochs before and of the inner mechanism together, in squares."""
        at = all_steps(self.steps, at)
        epoch = np.array([self.epoch(int(t)) for t in at])
        out = np.empty(at.size)
        for e in np.unique(epoch):
            chosen = epoch == e
            inside = at[chosen] - self.start(int(e))
            length = self.length(int(e))
            own = self.inner(length).errors(np.maximum(inside, 1)) / self.factor(length)
            out[chosen] = np.sqrt(self.before(int(e)) + np.where(inside > 0, own, 0.0) ** 2)
        return out

    def length(self, epoch: int) -> int:
        """Steps of an epoch 0, 1, …"""
        return min(self.first << max(0, min(epoch, 64) - 1), LONGEST)

    def start(self, epoch: int) -> int:
        """Steps before it."""
        doublings = LONGEST.bit_length() - self.first.bit_length()
        doubled = self.first << (min(epoch, doublings + 1) - 1) if epoch else 0
        return doubled + max(0, epoch - doublings - 1) * LONGEST

    def epoch(self, step: int) -> int:
        """How many epochs are complete after `step`."""
        doublings = LONGEST.bit_length() - self.first.bit_length()
        return (step // self.first).bit_length() if step < LONGEST else doublings + step // LONGEST

    def inner(self, length: int) -> BufferedToeplitz:
        """The mechanism inside an epoch of this length."""
        return BufferedToeplitz(length, any_time=length == LONGEST)

    def factor(self, length: int) -> float:
        """β over the inner column norm."""
        return math.sqrt(1.0 - self.share) / self.inner(length).column_norm

    def weight(self, length: int) -> float:
        """Weight of the noisy sum of an epoch in its estimate; the rest is that of the last inner sum."""
        return self.share * self._estimate(length)

    def before(self, epoch: int) -> float:
        """Variance of the sum of all epochs before this one."""
        doublings = LONGEST.bit_length() - self.first.bit_length()
        total = sum(self._estimate(self.length(e)) for e in range(min(epoch, doublings + 1)))
        return total + max(0, epoch - doublings - 1) * self._estimate(LONGEST)

    def _estimate(self, length: int) -> float:
        return 1.0 / (self.share + (self.factor(length) / _last_error(self.inner(length))) ** 2)

    def encoder(self, length: int) -> Encoder:
        """The epoch's sum in two words, and the inner encoder."""
        return _Epochs(self, length)

    def decoder(self, length: int) -> Decoder:
        """The estimate of all epochs before, and the inner decoder."""
        return _Estimates(self, length)

    def to_dict(self) -> dict[str, Any]:
        """Public description."""
        return {
            "name": self.name,
            "steps": self.steps,
            "first_epoch": self.first,
            "share_of_epochs": self.share,
            "column_norm": self.column_norm,
        }


@lru_cache(maxsize=64)
def _last_error(inner: BufferedToeplitz) -> float:
    return float(inner.errors(np.array([inner.steps]))[0])


class _ByEpochs:
    """The clock that both halves keep, and the inner half of the epoch under way."""

    __slots__ = ("_epoch", "_inner", "_length", "_step", "_strategy")

    def __init__(self, strategy: Hybrid, length: int) -> None:
        self._strategy, self._length, self._step, self._epoch = strategy, length, 0, 0

    def pieces(self, count: int) -> Iterator[tuple[int, int, bool]]:
        """Batches within an epoch: its length, the batch's steps, and whether it ends the epoch; the clock moves on after each."""
        while count:
            length = self._strategy.length(self._epoch)
            end = self._strategy.start(self._epoch) + length
            steps = min(count, end - self._step)
            ends = self._step + steps == end
            yield length, steps, ends
            self._step, self._epoch, count = self._step + steps, self._epoch + ends, count - steps

    def clock(self) -> Array:
        return np.array([float(self._step)])

    def set_clock(self, clock: Array) -> None:
        self._step = int(clock[0])
        self._epoch = self._strategy.epoch(self._step)

    def current(self) -> BufferedToeplitz:
        return self._strategy.inner(self._strategy.length(self._epoch))


@final
class _Epochs(_ByEpochs, Encoder):
    __slots__ = ("_sum",)
    _inner: Encoder

    def __init__(self, strategy: Hybrid, length: int) -> None:
        super().__init__(strategy, length)
        self._sum, self._inner = np.zeros((2, length)), self.current().encoder(length)

    def encode(self, x: Array) -> Array:
        from hullabaloo.noise.continual import kernels

        done, parts = 0, []
        for length, steps, ends in self.pieces(x.shape[0]):
            piece = x[done : done + steps]
            done += steps
            kernels.add_exactly(piece, self._sum)
            parts.append(self._inner.encode(piece) * self._strategy.factor(length))
            if ends:
                parts.append(self._sum[:1] * math.sqrt(self._strategy.share))
                following = self._strategy.inner(self._strategy.length(self._epoch + 1))
                self._sum, self._inner = np.zeros((2, self._length)), following.encoder(self._length)
        return np.concatenate(parts) if parts else np.empty((0, self._length))

    def state(self) -> dict[str, Array]:
        inner = {f"inner.{name}": array for name, array in self._inner.state().items()}
        return {"epochs": self.clock(), "sum": self._sum.copy(), **inner}

    def restore(self, state: Mapping[str, Array]) -> None:
        self.set_clock(state["epochs"])
        self._sum, self._inner = np.array(state["sum"]), self.current().encoder(self._length)
        self._inner.restore({name[6:]: array for name, array in state.items() if name.startswith("inner.")})


@final
class _Estimates(_ByEpochs, Decoder):
    __slots__ = ("_before",)
    _inner: Decoder

    def __init__(self, strategy: Hybrid, length: int) -> None:
        super().__init__(strategy, length)
        self._before, self._inner = np.zeros(length), self.current().decoder(length)

    def decode(self, noisy: Array, steps: int) -> Array:
        read, written = 0, 0
        out = np.empty((steps, self._length))
        for length, count, ends in self.pieces(steps):
            inside = self._inner.decode(noisy[read : read + count] / self._strategy.factor(length), count)
            out[written : written + count] = self._before + inside
            read, written = read + count, written + count
            if ends:
                weight = self._strategy.weight(length)
                total = noisy[read] / math.sqrt(self._strategy.share)
                self._before = self._before + (weight * total + (1.0 - weight) * inside[-1])
                out[written - 1] = self._before
                following = self._strategy.inner(self._strategy.length(self._epoch + 1))
                read, self._inner = read + 1, following.decoder(self._length)
        return out

    def state(self) -> dict[str, Array]:
        inner = {f"inner.{name}": array for name, array in self._inner.state().items()}
        return {"epochs": self.clock(), "before": self._before.copy(), **inner}

    def restore(self, state: Mapping[str, Array]) -> None:
        self.set_clock(state["epochs"])
        self._before, self._inner = np.array(state["before"]), self.current().decoder(self._length)
        self._inner.restore({name[6:]: array for name, array in state.items() if name.startswith("inner.")})
