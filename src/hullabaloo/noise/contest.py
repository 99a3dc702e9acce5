"""The exponential mechanism over many candidates of which few change between two choices: a choice does not touch them all."""

import math
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import exact, kernels
from .keys import Key, Keystream, bound_to
from .lattice import cells, lattice, positive

_LAST = 200  # every candidate further than 200 octaves behind shares one bucket
_WINDOW, _MARGIN = 512, 128  # octaves that are counted one by one, and how many of them lie before the first candidate
_BITS = 12  # a block has 2^12 candidates
_LN2 = math.nextafter(math.log(2), 0.0)


@final
class Contest:
    """Candidates with scores that may be changed, and choices among them with probability ∝ ``exp(ε·score/(2Δ'))``. PRIVATE.

    **Guarantee.** Claim: `choose` has exactly the law of `exponential_mechanism` of the present scores, and under a key its choice is a function of them, however
    they came about. Proof: scores lie on the same lattice, K_i, and c ≤ ε/(2D) is the same. Let ``gap_i = M − K_i ≥ 0``, M the public bound in cells, ``b_i``
    an integer with ``b_i ln 2 ≤ c·gap_i`` (the slope is less than c/ln 2 by more than its product rounds), B the least of them, and ``G = ⌊B ln 2/c⌋``. A candidate is drawn
    with integer weight 2^(200 − min(b_i − B, 200)) and kept with probability ``2^min(b_i − B, 200)·exp(−c(gap_i − G))``, else all is drawn again:
    together ∝ exp(c K_i). It is a probability, as ``(b_i − B) ln 2 ≤ c·gap_i − c·G``, and ½ or more up to rounding for those within 200 octaves. B and how many
    candidates have which b_i are sums over candidates, so moving some candidates changes them by those alone; within an octave
    candidates are numbered by their index.

    Args:
        scores: one for each candidate; none raises.
        sensitivity, epsilon, bound: as for `exponential_mechanism`; public.
    """

    def __init__(self, scores: ArrayLike, sensitivity: float, epsilon: float, *, bound: float) -> None:
        self._scale = 1.0 / lattice(sensitivity, bound).pitch
        self._reach = bound * self._scale
        rate = Fraction(positive("epsilon", epsilon)) / (2 * cells(sensitivity, bound))
        self._rate = math.nextafter(float(rate), 0.0)
        self._cells = self._rounded(scores)
        self._count()

    def move(self, candidates: NDArray[np.int64], scores: ArrayLike) -> None:
        """Give distinct candidates other scores."""
        new = self._rounded(scores)
        for found, sign in ((self._cells[candidates], -1), (new, 1)):
            places = self._places(found)
            np.add.at(self._counts.reshape(-1), (candidates >> _BITS) * (_WINDOW + 2) + places, sign)
            np.add.at(self._total, places, sign)
        self._cells[candidates] = new

    def choose(self, key: Key | None = None) -> int:
        """The index of one candidate."""
        if (low := int(np.flatnonzero(self._total)[0])) == 0 or low + _LAST > _WINDOW:
            self._count()
            low = _MARGIN + 1
        best = self._first + low - 1
        nearer = math.floor(Fraction(best) * Fraction(_LN2) / Fraction(self._rate))
        found = [int(number) for number in self._total[low : low + _LAST]]
        weights = [number << (_LAST - b) for b, number in enumerate((*found, self._cells.size - sum(found)))]
        words = iter(Keystream(bound_to(key, self._rate, self._cells)))
        while True:
            drawn, b = exact.below(sum(weights), words), 0
            while drawn >= weights[b]:
                drawn -= weights[b]
                b += 1
            winner = self._member(low, b, drawn >> (_LAST - b))
            gap = math.ceil(self._reach) - int(self._cells[winner]) - nearer
            if gap == 0 or exact.bernoulli_exp(Fraction(self._rate) * gap, words, doublings=b):
                return winner

    def _rounded(self, scores: ArrayLike) -> NDArray[np.int64]:
        values = np.ascontiguousarray(scores, np.float64)
        found = np.empty(values.size, np.int64)
        kernels.to_lattice(values, self._scale, self._reach, found)
        return found

    def _octaves(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        slope = self._rate / math.log(2) * (1 - 2.0**-45)
        behind: NDArray[np.int64] = np.minimum((math.ceil(self._reach) - found) * slope, 2.0**60).astype(np.int64)
        return behind

    def _places(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        """Columns of the counts: 0 before the window, `_WINDOW + 1` behind it."""
        return np.clip(self._octaves(found) - self._first + 1, 0, _WINDOW + 1)

    def _count(self) -> None:
        """Begin the window a little before the best candidate, and count all by block and octave."""
        self._first = int(self._octaves(self._cells.max(keepdims=True))[0]) - _MARGIN
        blocks = np.arange(self._cells.size) >> _BITS
        counts = np.bincount(
            blocks * (_WINDOW + 2) + self._places(self._cells), minlength=(blocks[-1] + 1) * (_WINDOW + 2)
        )
        self._counts = counts.reshape(-1, _WINDOW + 2)
        self._total = self._counts.sum(0)

    def _member(self, low: int, b: int, number: int) -> int:
        """The candidate of that number, by index, among those that are b octaves behind the best (200: or more)."""
        sizes = self._counts[:, low + b] if b < _LAST else self._counts[:, low + _LAST :].sum(1)
        ends = np.cumsum(sizes)
        block = int(np.searchsorted(ends, number, side="right"))
        part = self._cells[block << _BITS : (block + 1) << _BITS]
        behind = np.minimum(self._octaves(part) - (self._first + low - 1), _LAST)
        return (block << _BITS) + int(np.flatnonzero(behind == b)[number - int(ends[block] - sizes[block])])
