"""Private selection among candidates, exact: given uniform bits, each is chosen with exactly its stated probability.

Scores are rounded to a lattice and everything after is integers and exact coins. Floating-point Gumbel noise would give
far candidates probability exactly 0, and its porous low bits give the winner away.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hullabaloo.errors import InvalidParameter

from . import exact, kernels
from .keys import CHUNK, Key, Keystream, bound_to
from .lattice import cells, lattice, positive

_REACH = 2.0**61  # differences of two scores stay inside 64 bits
Member = Callable[[int, int], int]  # the candidate of an octave, by its number there
_LAST = 200  # every candidate further than 200 octaves behind shares one bucket


def exponential_mechanism(
    scores: ArrayLike, sensitivity: float, epsilon: float, *, bound: float, key: Key | None = None, excluded: Any = None
) -> int:
    """Choose a candidate with probability ∝ ``exp(ε·score/(2Δ'))``: the higher the score, the likelier.

    Parameters
    ----------
    scores : array of shape (n,)
        One score for each candidate. Private: no value of it raises.
    sensitivity : float
        Δ: no score differs by more between neighbours. Public; add twice the numeric error of a score.
    epsilon : float
        ε > 0. Public.
    bound : float
        Largest magnitude a score can have, by construction. Public.
    key : TestKey, optional
        Fixes the choice, in tests only.
    excluded : array of bool, shape (n,), optional
        Candidates that must not be chosen. Public.

    Returns
    -------
    int
        Index of the chosen candidate.

    Raises
    ------
    InvalidParameter
        When a public argument is outside its domain, scores are not a vector, or no candidate is left.
    CalibrationError
        When bound/sensitivity exceeds 2^35.

    Notes
    -----
    **Guarantee.** *Claim*: ε-bounded range, hence ε-DP and ε²/8-zCDP. *Proof*: scores K = rint(score/g) of neighbours
    differ by at most D = Δ/g + 1 cells. Candidate i has probability ∝ exp(c K_i) with c ≤ ε/(2D), so the ratio of its
    probabilities under two neighbours is ``exp(c(K_i − K'_i))``, within exp(±ε/2), times a factor common to all.
    *Exactness*: candidate i goes to bucket ``b_i ≤ c(K_max − K_i)/ln 2``; one is drawn with the integer weights
    2^(200−b_i), and kept with probability exactly ``2^b_i·exp(−c(K_max − K_i)) ≤ 1``, else all is drawn again (a draw
    is kept with probability about ½ or more, whatever the scores).

    Source: McSherry and Talwar (2007); bounded range: Dong, Durfee and Rogers (2020); zCDP: Cesar and Rogers (2021).
    """
    behind, candidates, rate = _contest(scores, sensitivity, epsilon, bound, excluded)
    octave = np.minimum(rate / math.log(2) * (1 - 2.0**-45) * behind, _LAST).astype(np.uint16)  # rounded down, so b is
    count = np.bincount(octave, minlength=_LAST + 1)
    weights = [int(count[b]) << (_LAST - b) for b in range(_LAST + 1)]
    words = iter(Keystream(bound_to(key, rate, candidates, behind)))
    winner = drawn(weights, lambda b, number: int(np.flatnonzero(octave == b)[number]), behind, rate, words)
    return int(candidates[winner])


def drawn(
    weights: list[int], member: Member, gaps: NDArray[np.int64], rate: float, words: Iterator[int], nearer: int = 0
) -> int:
    """The place that is drawn by octaves' integer weights, which its candidates share alike, and kept with probability `2^b·exp(−c(gap − nearer))`."""
    total = sum(weights)
    while True:
        left, b = exact.below(total, words), 0
        while left >= weights[b]:
            left -= weights[b]
            b += 1
        winner = member(b, left >> (_LAST - b))
        gap = int(gaps[winner]) - nearer
        if gap == 0 or exact.bernoulli_exp(Fraction(rate) * gap, words, doublings=b):
            return winner


def rate_of(sensitivity: float, epsilon: float, bound: float) -> float:
    """c ≤ ε/(2D)."""
    rate = Fraction(epsilon) / (2 * cells(sensitivity, bound))
    return math.nextafter(float(rate), 0.0)


def permute_and_flip(
    scores: ArrayLike, sensitivity: float, epsilon: float, *, bound: float, key: Key | None = None, excluded: Any = None
) -> int:
    """Choose one candidate once, under pure ε-DP, with a smaller error than the exponential mechanism's.

    Candidates are visited in random order and each is taken with probability ``exp(−ε(max − score)/(2Δ'))``.
    Parameters, errors and result are those of `exponential_mechanism`.

    Notes
    -----
    **Guarantee.** *Claim*: ε-DP (ε²/2-zCDP, and no better: compose the exponential mechanism instead). *Proof*: McKenna
    and Sheldon (2020), Theorem 1, for the rounded scores with D = Δ/g + 1 cells and c ≤ ε/(2D). *Exactness*: the first
    head in a random order is a uniform choice among the heads of independent coins, which is what is computed; coins
    that a double cannot decide are decided in integers.

    Source: McKenna and Sheldon (2020), "Permute-and-Flip".
    """
    behind, candidates, rate = _contest(scores, sensitivity, epsilon, bound, excluded)
    stream = Keystream(bound_to(key, rate, candidates, behind))
    heads, unsure = np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64)
    taken: list[NDArray[np.int64]] = []
    for start in range(0, behind.size, CHUNK):
        part = behind[start : start + CHUNK]
        stream.refill(part.size)
        words = stream.words[: part.size]
        n_heads, n_unsure = kernels.coins(part, rate, words, heads, unsure)
        stream.advance(part.size)
        open_coins = [(int(i), int(words[i])) for i in unsure[:n_unsure]]  # before the buffer is refilled
        settled = [i for i, first in open_coins if _head(rate, int(part[i]), first, iter(stream))]
        taken += [heads[:n_heads] + start, np.array(settled, np.int64) + start]
    winners = np.concatenate(taken)
    return int(candidates[winners[exact.below(winners.size, iter(stream))]])


def _head(rate: float, gap: int, first: int, words: Iterator[int]) -> bool:
    return gap == 0 or exact.bernoulli_exp(Fraction(rate) * gap, chain([first], words))


def _contest(
    scores: ArrayLike, sensitivity: float, epsilon: float, bound: float, excluded: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], float]:
    """Give how many cells each candidate is behind the best, the candidates' indices, and c ≤ ε/(2D)."""
    epsilon = positive("epsilon", epsilon)
    grid = lattice(sensitivity, bound)
    values = np.ascontiguousarray(scores, np.float64)
    if values.ndim != 1 or values.size == 0:
        raise InvalidParameter(
            f"A selection was asked for among scores of shape {values.shape}. Each candidate has one score, and one of"
            " them must be chosen. Pass a vector with at least one entry."
        )
    candidates = np.arange(values.size)
    if excluded is not None:
        mask = np.asarray(excluded)
        if mask.shape != values.shape or mask.dtype != np.bool_ or mask.all():
            raise InvalidParameter(
                f"A selection among {values.size} candidates was asked for with a mask of shape {mask.shape} and type"
                f" {mask.dtype} that excludes {np.count_nonzero(mask)} of them. The mask says for each candidate"
                " whether it is left out, and one must remain. Pass one boolean for each score, not all true."
            )
        candidates = np.flatnonzero(~mask)
        values = values[candidates]
    behind = np.empty(values.size, np.int64)
    kernels.to_lattice(values, 1 / grid.pitch, _REACH, behind)
    np.subtract(behind.max(), behind, out=behind)
    return behind, candidates, rate_of(sensitivity, epsilon, bound)
