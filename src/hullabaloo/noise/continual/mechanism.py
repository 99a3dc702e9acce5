"""Continual sums with noise: exact vectors in, noisy running sums out, every noise drawn once."""

from collections.abc import Mapping

import numpy as np

from hullabaloo.codec import as_kept
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise.continual.base import Array, Integers, Strategy, labelled, of_part
from hullabaloo.noise.keys import TestKey
from hullabaloo.noise.release import gaussian

BLOCK = 1 << 18
"""Numbers worked on at a time: they stay in the cache, and memory does not grow with a batch."""


class ContinualSum:
    """Noisy sums `B(Cx + z)`, z ~ N(0, σ²) in every coordinate of every encoded vector, as steps arrive.

    PRIVATE: holds the encoder's exact sums; only what `add` and `last` give may leave.

    **Guarantee.** *Precondition*: neighbours differ in one step's vector by at most Δ in l2 norm, and all coordinates are within
    ±bound/reach. *Claim*: everything that `add` ever gives is μ-GDP with `μ = Δ'/σ`, Δ' = `inflated(Δ · column_norm + slack · √d ·
    bound/reach, sigma, encoded · d, bound)`. *Proof*: the encoded stream moves by `C(x − x′)`, one column of C times a vector, and what
    floating point adds (`Strategy.slack`); it passes once through the Gaussian release (`gaussian`); decoding reads nothing else.
    The noise of an encoded vector is drawn when it is completed, is kept only within the decoder's state and never drawn again. As
    C is lower triangular this holds for adaptively chosen streams. Source: Denisov et al. (2022), Theorem 2.1.

    Parameters
    ----------
    strategy : Strategy
        The factorisation.
    sigma : float
        Standard deviation of the noise of an encoded coordinate; 0 for none (ε = ∞).
    length : int
        d, coordinates of a vector.
    bound : float
        Largest magnitude of an encoded coordinate: `strategy.reach` times that of x (or less: coordinates are clipped to it).
    key : TestKey, optional
        Fixes the noise, in tests only: encoded vector i is noised with `key.derive(i)`, so that batching changes no bit.
    """

    def __init__(
        self, strategy: Strategy, sigma: float | None, *, length: int, bound: float, key: TestKey | None = None
    ) -> None:
        self.__strategy, self.__sigma, self.__bound, self.__key = strategy, sigma or 0.0, bound, key
        self.__length, self.__step, self.__drawn = length, 0, 0
        self.__encoder, self.__decoder = strategy.encoder(length), strategy.decoder(length)
        self.__last: Array | None = None

    def __repr__(self) -> str:
        return f"ContinualSum({self.__strategy!r}, step={self.__step})"

    @property
    def step(self) -> int:
        """Steps taken."""
        return self.__step

    @property
    def last(self) -> Array | None:
        """The noisy sum after the last step, None before the first: reading draws nothing."""
        return None if self.__last is None else self.__last.copy()

    def add(self, x: Array) -> Array:
        """Take the vectors (n, d) of the next n steps; give the noisy sums (n, d) after each of them.

        Raises:
            InvalidParameter: x has another shape, or more steps than noise was calibrated for; nothing was taken.
        """
        x = np.ascontiguousarray(x, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != self.__length:
            raise InvalidParameter(
                f"A continual sum of vectors of {self.__length} coordinates was given an array of shape {x.shape}. Pass one row a step."
            )
        if self.__step + x.shape[0] > self.__strategy.steps:
            raise InvalidParameter(
                f"A continual sum for {self.__strategy.steps} steps was asked for step {self.__step + x.shape[0]}. Noise was calibrated "
                "for those alone: plan a longer stream, or one of unknown length."
            )
        out = np.empty(x.shape)
        stride = max(1, BLOCK // max(1, self.__length))
        for start in range(0, x.shape[0], stride):
            out[start : start + stride] = self.__next(x[start : start + stride])
        if x.shape[0]:
            self.__last = out[-1].copy()
        return out

    def __next(self, x: Array) -> Array:
        noisy = self.__noised(self.__encoder.encode(x))
        self.__drawn += noisy.shape[0]
        self.__step += x.shape[0]
        return self.__decoder.decode(noisy, x.shape[0])

    def __noised(self, encoded: Array) -> Array:
        if self.__sigma == 0.0:
            return encoded
        if self.__key is None:
            return gaussian(encoded, self.__sigma, bound=self.__bound)
        keys = (self.__key.derive(self.__drawn + i) for i in range(encoded.shape[0]))
        rows = [gaussian(m, self.__sigma, bound=self.__bound, key=key) for m, key in zip(encoded, keys, strict=True)]
        return np.array(rows).reshape(encoded.shape)

    def state(self) -> dict[str, Array | Integers]:
        """Everything needed to go on, bit for bit. PRIVATE: the encoder's exact sums are in it."""
        halves = labelled("encoder/", self.__encoder.state()) | labelled("decoder/", self.__decoder.state())
        last = np.empty((0, self.__length)) if self.__last is None else self.__last[None, :].copy()
        return {"clock": np.array([self.__step, self.__drawn], dtype=np.int64), "last": last, **halves}

    def restore(self, state: Mapping[str, Array | Integers]) -> None:
        """Go on from what `state` of a sum with the same strategy and length gave; raises where it is no such state."""
        self.__step, self.__drawn = as_kept(state["clock"], np.zeros(2, dtype=np.int64)).tolist()
        self.__last = next(iter(as_kept(state["last"], np.empty((min(self.__step, 1), self.__length)))), None)
        self.__encoder.restore(of_part("encoder/", state), self.__step)
        self.__decoder.restore(of_part("decoder/", state), self.__step)
