"""Numba kernels of the noise: pure functions of arrays, single-threaded, lock released.

Signatures are explicit, so that the first release of a process never waits for a compiler once the cache is warm.
"""

import math

import numpy as np
from numba import boolean, float64, int64, types, uint16, uint64
from numpy.typing import NDArray

from hullabaloo.compiled import njit

WORDS_PER_DRAW = 3  # a draw reads one word, a tied threshold a second, a wedge a third


def _read(dtype: types.Type) -> types.Array:
    return types.Array(dtype, 1, "C", readonly=True)


_DRAWN = types.Tuple((int64, int64, boolean))  # type: ignore[no-untyped-call]
_TOSSED = types.UniTuple(int64, 2)  # type: ignore[no-untyped-call]


@njit(
    _DRAWN(
        uint64[::1],
        int64,
        _read(uint64),
        _read(uint16),
        int64,
        int64,
        int64,
        float64,
        float64,
        float64,
        _read(float64),
        _read(float64),
        _read(float64),
        int64[::1],
        int64,
        int64[::1],
    ),
    cache=True,
    nogil=True,
)
def draw(  # the fields of a table, one by one: kernels take arrays, not classes
    words: NDArray[np.uint64],
    position: int,
    threshold: NDArray[np.uint64],
    alias: NDArray[np.uint16],
    strips: int,
    width: int,
    column_bits: int,
    ratio: float,
    curvature: float,
    window: float,
    value: NDArray[np.float64],
    gap: NDArray[np.float64],
    inverse: NDArray[np.float64],
    out: NDArray[np.int64],
    done: int,
    undecided: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Fill `out[done:]` until it is full, the words run out, or a wedge is undecided: (done, position, undecided?)."""
    last = words.size - WORDS_PER_DRAW
    to_column = np.uint64(64 - column_bits)
    lead_mask = np.uint64((1 << (27 - column_bits)) - 1)
    to_cell = np.uint64(36 - width)
    while done < out.size and position <= last:
        word = words[position]
        position += 1
        column = np.int64(word >> to_column)
        lead = (word >> np.uint64(37)) & lead_mask
        limit = threshold[column]
        other = np.int64(alias[column])
        limit_lead = limit >> np.uint64(37)
        entry = column if lead < limit_lead else other
        if lead == limit_lead:
            tied = (lead << np.uint64(37)) | (words[position] >> np.uint64(27))
            position += 1
            entry = column if tied < limit else other
        cell = np.int64((word & np.uint64(0xFFFFFFFFF)) >> to_cell)
        sign = -np.int64((word >> np.uint64(36)) & np.uint64(1))  # 0, or −1 to map n to −n − 1
        if entry < strips:
            out[done] = ((entry << width) | cell) ^ sign
            done += 1
        elif entry < 2 * strips:
            strip = entry - strips
            coin = words[position]
            position += 1
            d = (np.float64(cell) + 0.5) / ratio
            left = np.float64(strip << width) / ratio
            slope = left + 0.5 * d if curvature == 1.0 else 1.0
            reject = (gap[strip] - value[strip] * math.expm1(-d * slope)) * inverse[strip]
            uniform = np.float64(coin) * 2.0**-64
            if uniform > reject + window:
                out[done] = ((strip << width) | cell) ^ sign
                done += 1
            elif uniform >= reject - window:
                undecided[0] = strip
                undecided[1] = cell
                undecided[2] = sign
                undecided[3] = np.int64(coin)
                return done, position, True
    return done, position, False


@njit((_read(float64), _read(int64), float64, float64, float64, float64[::1]), cache=True, nogil=True)
def release(
    x: NDArray[np.float64],
    noise: NDArray[np.int64],
    scale: float,
    pitch: float,
    reach: float,
    out: NDArray[np.float64],
) -> None:
    """Write ``pitch·(float(K + N) + ½)`` with K = rint(x·scale) within ±reach; NaN counts as 0."""
    for i in range(x.size):
        v = x[i] * scale  # exact: scale is a power of two
        v = v if v == v else 0.0  # noqa: PLR0124 (only NaN differs from itself)
        cell = np.int64(np.rint(min(max(v, -reach), reach)))
        out[i] = (np.float64(cell + noise[i]) + 0.5) * pitch


@njit((_read(float64), float64, float64, int64[::1]), cache=True, nogil=True)
def to_lattice(x: NDArray[np.float64], scale: float, reach: float, out: NDArray[np.int64]) -> None:
    """Write rint(x·scale) within ±reach; NaN counts as 0."""
    for i in range(x.size):
        v = x[i] * scale
        v = v if v == v else 0.0  # noqa: PLR0124
        out[i] = np.int64(np.rint(min(max(v, -reach), reach)))


@njit((_read(int64), float64, int64, uint16[::1], int64[::1]), cache=True, nogil=True)
def octaves(
    behind: NDArray[np.int64], rate: float, last: int, octave: NDArray[np.uint16], count: NDArray[np.int64]
) -> None:
    """Write min(floor(rate·behind), last) for each candidate, and how many have each value."""
    for i in range(behind.size):
        v = rate * np.float64(behind[i])
        j = np.int64(v) if v < last else last
        octave[i] = j
        count[j] += 1


@njit(
    _TOSSED(_read(int64), float64, uint64[::1], int64[::1], int64[::1]),
    cache=True,
    nogil=True,
)
def coins(
    behind: NDArray[np.int64],
    rate: float,
    words: NDArray[np.uint64],
    heads: NDArray[np.int64],
    unsure: NDArray[np.int64],
) -> tuple[int, int]:
    """Toss a coin of probability exp(−rate·behind) for each: how many are heads, and how many a double cannot tell.

    The double's error is below 2^−41·t + 2^−63: rate·behind ≤ 45 carries 2^−52·45, exp and the word's conversion a few
    2^−53. Beyond 45 a coin is heads with probability below 2^−64 only, that is only if its word is 0: unsure.
    """
    n_heads = 0
    n_unsure = 0
    for i in range(behind.size):
        gamma = rate * np.float64(behind[i])
        if gamma >= 45.0:
            if words[i] == 0:
                unsure[n_unsure] = i
                n_unsure += 1
            continue
        t = math.exp(-gamma)
        error = t * 2.0**-40 + 2.0**-62
        u = np.float64(words[i]) * 2.0**-64
        if u < t - error:
            heads[n_heads] = i
            n_heads += 1
        elif u <= t + error:
            unsure[n_unsure] = i
            n_unsure += 1
    return n_heads, n_unsure
