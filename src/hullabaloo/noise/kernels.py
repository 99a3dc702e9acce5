"""Numba kernels of the noise: pure functions of arrays, single-threaded, lock released.

Signatures are explicit, so that the first release of a process never waits for a compiler once the cache is warm.
"""

import math

import numpy as np
from numba import boolean, float64, int64, njit, types, uint16, uint64

WORDS_PER_DRAW = 3  # a draw reads one word, a tied threshold a second, a wedge a third


def _read(dtype: types.Type) -> types.Array:
    return types.Array(dtype, 1, "C", readonly=True)


@njit(
    types.Tuple((int64, int64, boolean))(
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
def draw(
    words,
    position,
    threshold,
    alias,
    strips,
    width,
    column_bits,
    ratio,
    curvature,
    window,
    value,
    gap,
    inverse,
    out,
    done,
    undecided,
):
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


@njit(int64[::1](_read(float64), float64, float64), cache=True, nogil=True)
def to_lattice(x, scale, reach):
    """Round x·scale (scale a power of two: exact) to integers within ±reach; NaN gives 0."""
    cells = np.empty(x.size, np.int64)
    for i in range(x.size):
        v = x[i] * scale
        v = v if v == v else 0.0  # noqa: PLR0124 (NaN differs from itself)
        cells[i] = np.int64(np.rint(min(max(v, -reach), reach)))
    return cells


@njit((_read(float64), _read(int64), float64, float64, float64, float64[::1]), cache=True, nogil=True)
def release(x, noise, scale, pitch, reach, out):
    """Write ``pitch·(float(K + N) + ½)`` with K = rint(x·scale) within ±reach; NaN counts as 0."""
    for i in range(x.size):
        v = x[i] * scale
        v = v if v == v else 0.0  # noqa: PLR0124
        cell = np.int64(np.rint(min(max(v, -reach), reach)))
        out[i] = (np.float64(cell + noise[i]) + 0.5) * pitch
