"""What a strategy of continual release is: a factorisation `A = BC` of the running sums A that a stream asks for.

The stream of vectors `x_1, x_2, …` is encoded as `m = Cx`; each encoded vector receives Gaussian noise **once** and is then public;
sums are decoded as `Bm`, which is post-processing. C is lower triangular by steps (what step t encodes depends on `x_1 … x_t`
alone), so the guarantee holds for streams that are chosen after looking at earlier releases (Denisov et al. 2022, Theorem 2.1).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Encoder(ABC):
    """The private half: exact vectors in, encoded vectors out. PRIVATE: its state is a function of exact sums."""

    @abstractmethod
    def encode(self, x: Array) -> Array:
        """The encoded vectors (m, d) that the next n steps complete, x of shape (n, d); deterministic, never raises on values."""

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Everything that a later `restore` needs, as arrays (copies); of a size that does not grow with the steps where the strategy allows it."""

    @abstractmethod
    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from what `state` gave, bit for bit."""


class Decoder(ABC):
    """The public half: noisy encoded vectors in, noisy sums out. Everything here is post-processing."""

    @abstractmethod
    def decode(self, noisy: Array, steps: int) -> Array:
        """The noisy sums (steps, d) after each of the next steps, from the encoded vectors (m, d) that they completed."""

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """Everything that a later `restore` needs, as arrays (copies)."""

    @abstractmethod
    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from what `state` gave, bit for bit."""


class Strategy(ABC):
    """A public factorisation for a known number of steps. Concrete ones are frozen, hashable records, equal when they do the same.

    The workload A is `A_{ts} = decay^{t−s}` for `s ≤ t` (prefix sums at decay 1), cut off at `t − s < window` where a window is set.

    Attributes:
        steps: the number of steps that noise is calibrated for.
        decay: γ in (0, 1].
        window: the number of latest steps that a sum holds; None for all.
    """

    __slots__ = ()
    name: ClassVar[str]
    steps: int
    decay: float
    window: int | None

    @property
    @abstractmethod
    def column_norm(self) -> float:
        """`max_j ‖C e_j‖₂` over the steps, rounded upwards: a step that moves by Δ moves the encoded stream by Δ times this."""

    @property
    def encoded(self) -> int:
        """How many encoded vectors all steps complete together: one each."""
        return self.steps

    @property
    @abstractmethod
    def reach(self) -> float:
        """Bound of a coordinate of an encoded vector when coordinates of x are at most 1 in magnitude, rounded upwards."""

    @property
    @abstractmethod
    def slack(self) -> float:
        """Bound of `‖fl(Cx) − fl(Cx′) − C(x − x′)‖₂ / √d` for |x|, |x′| ≤ 1 that differ in one step: what floating point adds; proved where it is computed."""

    @abstractmethod
    def errors(self, at: npt.NDArray[np.int64] | None = None) -> Array:
        """`‖e_tᵀ B‖₂` for the steps `at` (1-based; None: all): the standard deviation of the sum after step t when encoded vectors have noise 1."""

    @abstractmethod
    def encoder(self, length: int) -> Encoder:
        """A fresh encoder of vectors of `length` coordinates."""

    @abstractmethod
    def decoder(self, length: int) -> Decoder:
        """A fresh decoder."""

    def to_dict(self) -> dict[str, Any]:
        """Public description, JSON-ready."""
        return {
            "name": self.name,
            "steps": self.steps,
            "decay": self.decay,
            "window": self.window,
            "column_norm": self.column_norm,
        }
