"""The exponential mechanism over many candidates of which few change between two choices: a choice does not touch them all."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import kernels, selection
from .keys import Key, Keystream, bound_to
from .lattice import lattice, positive

_WINDOW, _MARGIN = 512, 128  # octaves that are counted one by one, and how many of them lie before the first candidate
_SOME = 8  # beyond this part of all candidates it is quicker to count all anew
_BITS = 12  # a block has 2^12 candidates
_LN2 = math.nextafter(math.log(2), 0.0)


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
        self._rate = selection.rate_of(sensitivity, positive("epsilon", epsilon), bound)
        self._scale = 1.0 / lattice(sensitivity, bound).pitch
        self._reach = bound * self._scale
        self._gaps = self._behind(scores)
        self._count()

    def move(self, candidates: NDArray[np.int64], scores: ArrayLike) -> None:
        """Give distinct candidates other scores."""
        new = self._behind(scores)
        before, self._gaps[candidates] = self._gaps[candidates], new
        if _SOME * candidates.size > self._gaps.size:
            self._count()
        else:
            for gaps, sign in ((before, -1), (new, 1)):
                places = self._places(gaps)
                np.add.at(self._counts.reshape(-1), (candidates >> _BITS) * (_WINDOW + 2) + places, sign)
                np.add.at(self._total, places, sign)

    def choose(self, key: Key | None = None, excluded: NDArray[np.bool_] | None = None) -> int:
        """The index of one candidate; all is drawn again where it is excluded, so that the law is that of the others. Let excluded ones have the least score."""
        last = selection._LAST
        if (low := int(np.flatnonzero(self._total)[0])) == 0 or low + last > _WINDOW:
            self._count()
            low = _MARGIN + 1
        best = self._first + low - 1
        nearer = math.floor(Fraction(best) * Fraction(_LN2) / Fraction(self._rate))
        found = [int(number) for number in self._total[low : low + last]]
        weights = [number << (last - b) for b, number in enumerate((*found, self._gaps.size - sum(found)))]

        def member(b: int, number: int) -> int:
            sizes = self._counts[:, low + b] if b < last else self._counts[:, low + last :].sum(1)
            ends = np.cumsum(sizes)
            block = int(np.searchsorted(ends, number, side="right"))
            behind = np.minimum(self._octaves(self._gaps[block << _BITS : (block + 1) << _BITS]) - best, last)
            return (block << _BITS) + int(np.flatnonzero(behind == b)[number - int(ends[block] - sizes[block])])

        words = iter(Keystream(bound_to(key, self._rate, self._gaps)))
        while True:
            chosen = selection.drawn(weights, member, self._gaps, self._rate, words, nearer)
            if excluded is None or not excluded[chosen]:
                return chosen

    def _behind(self, scores: ArrayLike) -> NDArray[np.int64]:
        """How many cells scores are behind the bound."""
        values = np.ascontiguousarray(scores, np.float64)
        found = np.empty(values.size, np.int64)
        kernels.to_lattice(values, self._scale, self._reach, found)
        return math.ceil(self._reach) - found

    def _octaves(self, gaps: NDArray[np.int64]) -> NDArray[np.int64]:
        slope = self._rate / math.log(2) * (1 - 2.0**-45)
        return np.minimum(gaps * slope, 2.0**60).astype(np.int64)  # type: ignore[no-any-return]

    def _places(self, gaps: NDArray[np.int64]) -> NDArray[np.int64]:
        """Columns of the counts: 0 before the window, `_WINDOW + 1` behind it."""
        return np.clip(self._octaves(gaps) - self._first + 1, 0, _WINDOW + 1)

    def _count(self) -> None:
        """Begin the window a little before the best candidate, and count all by block and octave."""
        self._first = int(self._octaves(self._gaps.min(keepdims=True))[0]) - _MARGIN
        places = (np.arange(self._gaps.size) >> _BITS) * (_WINDOW + 2) + self._places(self._gaps)
        size = (-(-self._gaps.size >> _BITS)) * (_WINDOW + 2)
        self._counts = np.bincount(places, minlength=size).reshape(-1, _WINDOW + 2)
        self._total = self._counts.sum(0)
