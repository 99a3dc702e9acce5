"""Numba kernels of the noise: pure functions of arrays, single-threaded, lock released."""

import math

import numpy as np

from hullabaloo.compiled import njit

WORDS_PER_DRAW = 3  # a draw reads one word, a tied threshold a second, a wedge a third


@njit(cache=True, nogil=True)
def paired(weights, full):  # type: ignore[no-untyped-def]  # numba kernel
    """Vose's alias method in whole numbers, which takes `weights` apart: column c gives c with weight threshold_c, else alias_c; every column weighs `full`."""
    threshold, alias = np.full(weights.size, full), np.arange(weights.size)
    small, large = np.flatnonzero(weights < full), np.flatnonzero(weights >= full)
    few, many = small.size, large.size
    while few > 0:
        i, j = small[few - 1], large[many - 1]
        threshold[i], alias[i] = weights[i], j
        weights[j] -= full - weights[i]
        if weights[j] < full:  # in its place, among the small ones
            small[few - 1] = j
            many -= 1
        else:
            few -= 1
    return threshold, alias.astype(np.uint16)


@njit(cache=True, nogil=True)
def draw(words, position, table, out, done, undecided):  # type: ignore[no-untyped-def]  # numba kernel
    """Fill `out[done:]` until it is full, the words run out, or a wedge is undecided: (done, position, undecided?).

    `table` is `Table.fields`.
    """
    threshold, alias, value, gap, inverse, strips, width, column_bits, ratio, curvature, window = table
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


@njit(cache=True, nogil=True)
def release(x, noise, scale, pitch, reach, out):  # type: ignore[no-untyped-def]
    """Write ``pitch·(float(K + N) + ½)`` with K = rint(x·scale) within ±reach; NaN counts as 0."""
    for i in range(x.size):
        v = x[i] * scale  # exact: scale is a power of two
        v = v if v == v else 0.0  # noqa: PLR0124 (only NaN differs from itself)
        cell = np.int64(np.rint(min(max(v, -reach), reach)))
        out[i] = (np.float64(cell + noise[i]) + 0.5) * pitch


@njit(cache=True, nogil=True)
def to_lattice(x, scale, reach, out):  # type: ignore[no-untyped-def]
    """Write rint(x·scale) within ±reach; NaN counts as 0."""
    for i in range(x.size):
        v = x[i] * scale
        v = v if v == v else 0.0  # noqa: PLR0124
        out[i] = np.int64(np.rint(min(max(v, -reach), reach)))


@njit(cache=True, nogil=True)
def coins(behind, rate, words, heads, unsure):  # type: ignore[no-untyped-def]
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
