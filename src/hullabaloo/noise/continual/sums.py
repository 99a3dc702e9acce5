"""Public running sums of noisy vectors: with decay, and less what left the window."""

from collections.abc import Mapping
from typing import final

import numpy as np

from hullabaloo.noise.continual.base import Array


@final
class Sums:
    """`S_t = decay · S_{t−1} + y_t`, and `S_t − decay^w S_{t−w}` under a window of w steps. Post-processing."""

    __slots__ = ("_decay", "_ring", "_step", "_total")

    def __init__(self, length: int, decay: float, window: int | None) -> None:
        self._decay, self._step = decay, 0
        self._total = np.zeros(length)
        self._ring = np.zeros((window or 0, length))

    def add(self, y: Array) -> Array:
        """The sums after each of the next steps; y (steps, d) is overwritten."""
        from hullabaloo.noise.continual import kernels

        kernels.running_sums(y, self._decay, self._total)
        if self._ring.size:
            kernels.forget(y, self._decay ** self._ring.shape[0], self._ring, self._step)
        self._step += y.shape[0]
        return y

    def state(self) -> dict[str, Array]:
        """As arrays."""
        return {"total": self._total.copy(), "ring": self._ring.copy(), "step": np.array([float(self._step)])}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from what `state` gave."""
        self._total, self._ring = np.array(state["total"]), np.array(state["ring"])
        self._step = int(state["step"][0])
