"""What a strategy of continual release is: a factorisation `A = BC` of the running sums A that a stream asks for.

The stream of vectors `x_1, x_2, …` is encoded as `m = Cx`; each encoded vector receives Gaussian noise **once** and is then public;
sums are decoded as `Bm`, which is post-processing. C is lower triangular by steps (what step t encodes depends on `x_1 … x_t`
alone), so the guarantee holds for streams that are chosen after looking at earlier releases (Denisov et al. 2022, Theorem 2.1).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hullabaloo.codec import as_kept
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise.continual import kernels
from hullabaloo.privacy.schedule import FOREVER

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

LISTED = 1 << 24
"""Steps whose errors are listed at once."""
UNIT_ROUNDOFF = 2.0**-53
UP = 1.0 + 2.0**-36
"""Factor by which column norms and reaches are enlarged: far more than the rounding of the few hundred operations behind them."""


def labelled(prefix: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """A part's arrays by names within the whole's state."""
    return {prefix + name: array for name, array in arrays.items()}


def of_part(prefix: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays that `labelled` named so."""
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}


class Half:
    """One half of a factorisation under way: arrays that change from step to step, and parts that have such.

    Attributes:
        step: how many steps it has taken.
        before: how many of them its parts, which begin anew, have not.
        kept: its arrays, by their names in a state.
        parts: halves within it, by the prefix of their names.
    """

    clock: ClassVar[str] = "step"
    """The name of `step` in a state; empty where the arrays tell it."""

    def __init__(self, parts: Mapping[str, "Half"] | None = None, **kept: Array) -> None:
        self.step, self.before, self.kept, self.parts = 0, 0, kept, dict(parts or {})

    def state(self) -> dict[str, Array]:
        """Everything that a later `restore` needs, as arrays (copies); of a size that does not grow with the steps where the strategy allows it."""
        found = {name: array.copy() for name, array in self.kept.items()}
        if self.clock:
            found[self.clock] = np.array([float(self.step)])
        for prefix, part in self.parts.items():
            found |= labelled(prefix, part.state())
        return found

    def restore(self, state: Mapping[str, Array], step: int) -> None:
        """Go on from what `state` gave after so many steps, bit for bit; raises where it is no such state."""
        self.step = step
        self.kept = {name: as_kept(state[name], own).copy() for name, own in self.kept.items()}
        if self.clock and as_kept(state[self.clock], np.zeros(1)).tolist() != [step]:
            raise ValueError("a state of other steps")
        for prefix, part in self.parts.items():
            part.restore(of_part(prefix, state), step - self.before)


class Encoder(Half, ABC):
    """The private half: exact vectors in, encoded vectors out. PRIVATE: its state is a function of exact sums."""

    @abstractmethod
    def encode(self, x: Array) -> Array:
        """The encoded vectors (m, d) that the next n steps complete, x of shape (n, d); deterministic, never raises on values."""


class Decoder(Half, ABC):
    """The public half: noisy encoded vectors in, noisy sums out. Everything here is post-processing."""

    @abstractmethod
    def decode(self, noisy: Array, steps: int) -> Array:
        """The noisy sums (steps, d) after each of the next steps, from the encoded vectors (m, d) that they completed."""


class Sums(Half):
    """`S_t = decay · S_{t−1} + y_t`, and `S_t − decay^w S_{t−w}` under a window of w steps. Post-processing."""

    def __init__(self, length: int, decay: float, window: int | None = None) -> None:
        super().__init__(total=np.zeros(length), ring=np.zeros((window or 0, length)))
        self.decay = decay

    def add(self, y: Array) -> Array:
        """The sums after each of the next steps; y (steps, d) is overwritten."""
        kernels.running_sums(y, self.decay, self.kept["total"])
        ring = self.kept["ring"]
        if ring.size:
            kernels.forget(y, self.decay ** ring.shape[0], ring, self.step)
        self.step += y.shape[0]
        return y


@dataclass(frozen=True)
class Strategy(ABC):
    """A public factorisation for a known number of steps. Concrete ones are frozen, hashable records, equal when they do the same.

    The workload A is `A_{ts} = decay^{t−s}` for `s ≤ t` (prefix sums at decay 1), cut off at `t − s < window` where a window is set.

    Attributes:
        steps: the number of steps that noise is calibrated for.
        decay: γ in (0, 1].
        window: the number of latest steps that a sum holds; None for all.
    """

    steps: int
    decay: float = 1.0
    window: int | None = None

    name: ClassVar[str]
    forgets: ClassVar[bool] = True
    """Whether it has factorisations for decay and windows; else it knows prefix sums alone."""

    def __post_init__(self) -> None:
        """Refuse what is not a workload, or none of this strategy's; a window of all steps is none."""
        check(self.steps, self.decay, self.window)
        if not self.forgets and (self.decay != 1.0 or self.window is not None):
            raise InvalidParameter(
                f"The mechanism {self.name!r} was asked for decay={self.decay!r} and window={self.window!r}, and it knows sums of everything so "
                "far alone. Choose 'auto', 'buffered' or 'square_root', which have factorisations of their own for drift."
            )
        if self.window is not None and self.window >= self.steps:
            object.__setattr__(self, "window", None)

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

    def errors(self, at: Integers | None = None) -> Array:
        """`‖e_tᵀ B‖₂` for the steps `at` (1-based; None: all): the standard deviation of the sum after step t when encoded vectors have noise 1.

        Raises:
            InvalidParameter: all steps of a longer stream than a list of their errors should hold are asked for.
        """
        if at is None and self.steps > LISTED:
            raise InvalidParameter(
                f"The errors of all {self.steps} steps were asked for, and a list of so many would fill the memory. Ask for errors(at)."
            )
        return self.errors_at(np.arange(1, self.steps + 1) if at is None else np.asarray(at, dtype=np.int64))

    @abstractmethod
    def errors_at(self, at: Integers) -> Array:
        """The errors of these steps."""

    @abstractmethod
    def encoder(self, length: int) -> Encoder:
        """A fresh encoder of vectors of `length` coordinates."""

    @abstractmethod
    def decoder(self, length: int) -> Decoder:
        """A fresh decoder."""

    def to_dict(self) -> dict[str, Any]:
        """Public description, JSON-ready."""
        return {name: getattr(self, name) for name in ("name", "steps", "decay", "window", "column_norm")}


def check(steps: int, decay: float, window: int | None) -> None:
    """Refuse a workload that is none."""
    why = ""
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= FOREVER:
        why = f"steps={steps!r}. Noise is calibrated for a number of steps fixed beforehand: pass a whole number from 1 to {FOREVER} (the latter for a stream whose length is unknown)"
    elif not isinstance(decay, int | float) or not 0.0 < decay <= 1.0:
        why = f"decay={decay!r}. It is the factor by which the past weighs less after every step: pass a number in (0, 1], 1 for a sum that forgets nothing"
    elif window is not None and (not isinstance(window, int) or isinstance(window, bool) or window < 1):
        why = f"window={window!r}. It is the number of latest steps that a sum holds: pass a positive whole number, or None for all steps"
    if why:
        raise InvalidParameter(f"A continual sum was asked for {why}.")
