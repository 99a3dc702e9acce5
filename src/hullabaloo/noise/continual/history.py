"""Factorisations by their rows: every step combines all vectors so far, so memory grows with the steps."""

from collections.abc import Callable, Mapping
from typing import final

import numpy as np

from hullabaloo.noise.continual.base import Array, Decoder, Encoder
from hullabaloo.noise.continual.sums import Sums

Row = Callable[[int], Array]
"""Step t = 0, 1, … -> the weights of the vectors 0 … t."""


class _History:
    """Vectors so far, in a block that doubles; each new one is answered by its row's combination."""

    __slots__ = ("_kept", "_row", "_step")

    def __init__(self, length: int, row: Row) -> None:
        self._row, self._step = row, 0
        self._kept = np.empty((16, length))

    def combined(self, x: Array) -> Array:
        from hullabaloo.noise.continual import kernels

        after = self._step + x.shape[0]
        if after > self._kept.shape[0]:
            self._kept = np.concatenate((self._kept, np.empty((after, x.shape[1]))))
        self._kept[self._step : after] = x
        out = np.empty(x.shape)
        for t in range(x.shape[0]):
            kernels.combine(self._row(self._step + t), self._kept, out[t])
        self._step = after
        return out

    def state(self) -> dict[str, Array]:
        return {"kept": self._kept[: self._step].copy()}

    def restore(self, state: Mapping[str, Array]) -> None:
        self._kept = np.array(state["kept"])
        self._step = self._kept.shape[0]


@final
class HistoryEncoder(_History, Encoder):
    """`m_t = Σ_s C_ts x_s`, added up in the order of the steps."""

    __slots__ = ()

    def encode(self, x: Array) -> Array:
        """See `Encoder`."""
        return self.combined(x)


@final
class HistoryDecoder(_History, Decoder):
    """`Σ_s B_ts m_s`; with `norm`, running sums of `norm_t Σ_s (C⁻¹)_ts m_s`."""

    __slots__ = ("_norm", "_sums")

    def __init__(self, length: int, row: Row, norm: Array | None = None, decay: float = 1.0) -> None:
        super().__init__(length, row)
        self._norm = norm
        self._sums = Sums(length, decay, None)

    def decode(self, noisy: Array, steps: int) -> Array:
        """See `Decoder`."""
        start = self._step
        out = self.combined(noisy)
        if self._norm is None:
            return out
        return self._sums.add(out * self._norm[start : start + steps, None])

    def state(self) -> dict[str, Array]:
        """As arrays."""
        return {**super().state(), **self._sums.state()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from what `state` gave."""
        super().restore(state)
        self._sums.restore(state)
