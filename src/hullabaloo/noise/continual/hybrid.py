"""Streams of unknown length: epochs, each with its noisy sum and a fresh mechanism inside."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.noise.continual import kernels
from hullabaloo.noise.continual.base import UNIT_ROUNDOFF, UP, Array, Decoder, Encoder, Half, Integers, Strategy
from hullabaloo.noise.continual.buffered import BufferedToeplitz

LONGEST = 1 << 28
"""Steps of the longest epoch: longer sums would leave the noise lattice, and floating point would show."""
DOUBLING, RARE = 0.5, 1.0 / 32.0
"""Share of the privacy (in squares) that the noisy sum of an epoch takes: measured best where epochs double, little where they do not."""


@dataclass(frozen=True)
class Hybrid(Strategy):
    """Epochs of `first`, then `first, 2 first, 4 first, …` steps, none longer than 2^28; the sum after a step is that of the epochs
    before plus that of the mechanism inside its own.

    A step is in one epoch sum (times α) and in one inner mechanism (times β over its column norm), `α² + β² = 1`. A finished epoch is
    estimated from its noisy sum and the last of its inner sums, weighted by their precisions. Epochs of 2^28 steps use inner
    parameters that are good at any time. Hence `first = 2^28` is one buffered mechanism for 268 million steps, at every time within 1.47 of
    the largest error of buffers that know the end (1.52 of the best factorisation's), and only then begins anew; `first = 1` is the classical hybrid.

    **Guarantee** (of `column_norm` and `slack`). Columns of C are `(α, β c/‖c‖)` for a column c of the inner mechanism: norm at most
    1. *Floating point*: a sum of n ≤ 2^28 vectors in two words is off by at most `n²u²` and, read and scaled, by `2un`: at most
    `3un`; the inner mechanism is off by its own slack times its factor, and by one rounding of its scaled output: `2 √L u reach`.
    Epochs begin anew, so no other is touched. Source: Chan, Shi and Song (2011), hybrid mechanism.

    Attributes:
        steps, decay, window: the workload; prefix sums alone.
        first: steps of the first epoch, a power of two.
    """

    first: int = 1

    name: ClassVar[str] = "hybrid"
    forgets: ClassVar[bool] = False
    column_norm = UP

    def __post_init__(self) -> None:
        """Refuse what is not a workload of prefix sums, and a first epoch that is not a power of two."""
        super().__post_init__()
        if self.first not in {1 << e for e in range(29)}:
            raise InvalidParameter(
                f"A hybrid mechanism was asked for a first epoch of {self.first!r} steps. Epochs double from it to 2^28: pass a power of two, at most 2^28."
            )

    @property
    def share(self) -> float:
        """α²."""
        return RARE if self.first == LONGEST else DOUBLING

    @property
    def doublings(self) -> int:
        """How often an epoch is twice as long as the one before."""
        return LONGEST.bit_length() - self.first.bit_length()

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

    def errors_at(self, at: Integers) -> Array:
        """Errors of the epochs before and of the inner mechanism together, in squares."""
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
        doubled = self.first << (min(epoch, self.doublings + 1) - 1) if epoch else 0
        return doubled + max(0, epoch - self.doublings - 1) * LONGEST

    def epoch(self, step: int) -> int:
        """How many epochs are complete after `step`."""
        return (step // self.first).bit_length() if step < LONGEST else self.doublings + step // LONGEST

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
        total = sum(self._estimate(self.length(e)) for e in range(min(epoch, self.doublings + 1)))
        return total + max(0, epoch - self.doublings - 1) * self._estimate(LONGEST)

    def _estimate(self, length: int) -> float:
        return 1.0 / (self.share + (self.factor(length) / _last_error(self.inner(length))) ** 2)

    def encoder(self, length: int) -> Encoder:
        """The epoch's sum in two words, and the inner encoder."""
        return _Epochs(self, lambda inner: inner.encoder(length), sum=np.zeros((2, length)))

    def decoder(self, length: int) -> Decoder:
        """The estimate of all epochs before, and the inner decoder."""
        return _Estimates(self, lambda inner: inner.decoder(length), before=np.zeros(length))

    def to_dict(self) -> dict[str, Any]:
        """Public description."""
        own = {"first_epoch": self.first, "share_of_epochs": self.share, "column_norm": self.column_norm}
        return {"name": self.name, "steps": self.steps, **own}


@lru_cache(maxsize=64)
def _last_error(inner: BufferedToeplitz) -> float:
    return float(inner.errors(np.array([inner.steps]))[0])


class _ByEpochs(Half):
    """The clock that both halves keep, and the inner half of the epoch under way."""

    clock = "epochs"

    def __init__(self, strategy: Hybrid, half: Callable[[BufferedToeplitz], Half], **kept: Array) -> None:
        self.strategy, self.half = strategy, half
        super().__init__(None, **kept)
        self.begin()

    def begin(self) -> None:
        """A fresh inner half, for the epoch of the next step."""
        epoch = self.strategy.epoch(self.step)
        self.before = self.strategy.start(epoch)
        self.inner: Any = self.half(self.strategy.inner(self.strategy.length(epoch)))
        self.parts = {"inner.": self.inner}

    def pieces(self, count: int) -> Iterator[tuple[int, slice, bool]]:
        """Batches within an epoch: its length, the batch's place, and whether it ends the epoch; the clock moves on after each."""
        done = 0
        while done < count:
            epoch = self.strategy.epoch(self.step)
            length = self.strategy.length(epoch)
            left = self.strategy.start(epoch) + length - self.step
            steps = min(count - done, left)
            yield length, slice(done, done + steps), steps == left
            self.step, done = self.step + steps, done + steps
            if steps == left:
                self.begin()

    def restore(self, state: Mapping[str, Array], step: int) -> None:
        self.step = step
        self.begin()
        super().restore(state, step)


class _Epochs(_ByEpochs, Encoder):
    def encode(self, x: Array) -> Array:
        parts = [np.empty((0, x.shape[1]))]
        for length, place, ends in self.pieces(x.shape[0]):
            kernels.add_exactly(x[place], self.kept["sum"])
            parts.append(self.inner.encode(x[place]) * self.strategy.factor(length))
            if ends:
                parts.append(self.kept["sum"][:1] * math.sqrt(self.strategy.share))
                self.kept["sum"] = np.zeros_like(self.kept["sum"])
        return np.concatenate(parts)


class _Estimates(_ByEpochs, Decoder):
    def decode(self, noisy: Array, steps: int) -> Array:
        epochs, out = 0, np.empty((steps, noisy.shape[1]))
        for length, place, ends in self.pieces(steps):
            own = noisy[place.start + epochs : place.stop + epochs]
            inside = self.inner.decode(own / self.strategy.factor(length), len(own))
            out[place] = self.kept["before"] + inside
            if ends:
                weight = self.strategy.weight(length)
                total = noisy[place.stop + epochs] / math.sqrt(self.strategy.share)
                self.kept["before"] = self.kept["before"] + (weight * total + (1.0 - weight) * inside[-1])
                out[place.stop - 1] = self.kept["before"]
                epochs += 1
        return out
