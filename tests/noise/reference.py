"""The sampler once more, in plain Python and mpmath, reading one linear sequence of words: slow and obvious."""

import mpmath
import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hullabaloo.noise.keys import CHUNK, TestKey
from hullabaloo.noise.sampler import Table


class Words:
    """A cursor over one AES-256-CTR sequence; blocks of it are skipped as the chunks of the real stream are."""

    def __init__(self, key: TestKey, count: int) -> None:
        stream = Cipher(algorithms.AES(key.secret), modes.CTR(bytes(16))).encryptor().update(bytes(8 * count))
        self.all = [int(w) for w in np.frombuffer(stream, "<u8")]
        self.cursor = self.end = 0

    def refill(self, count: int) -> None:
        self.cursor = self.end
        self.end += min(max(count, 16), CHUNK)

    def take(self) -> int:
        if self.cursor == self.end:
            self.refill(16)
        self.cursor += 1
        return self.all[self.cursor - 1]


def density(power: int, x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.exp(-(x**power) / power)


def reject_probability(table: Table, strip: int, point: mpmath.mpf) -> mpmath.mpf:
    """Rejection probability at a point (in cells) of a strip's wedge."""
    height = table.total * density(table.density.power, point / mpmath.mpf(table.ratio))
    return (table.box[strip] - height) / (table.box[strip] - table.core[strip])


def mean_reject_probability(table: Table, strip: int, cell: int) -> mpmath.mpf:
    """Rejection probability of a whole cell [cell, cell + 1): its mean, by the closed-form integral."""
    s, low, high = mpmath.mpf(table.ratio), mpmath.mpf(cell), mpmath.mpf(cell + 1)
    if table.density.power == 2:
        root = s * mpmath.sqrt(2)
        integral = s * mpmath.sqrt(mpmath.pi / 2) * (mpmath.erfc(low / root) - mpmath.erfc(high / root))
    else:
        integral = s * (mpmath.exp(-low / s) - mpmath.exp(-high / s))
    return (table.box[strip] - table.total * integral) / (table.box[strip] - table.core[strip])


def draw(table: Table, words: Words, count: int, window: float) -> tuple[list[int], int]:
    """Draw `count` integers; also say how many wedges were undecided at the given window."""
    mpmath.mp.prec = 300
    out: list[int] = []
    undecided = 0
    bits = table.density.column_bits
    while len(out) < count:
        if words.end - words.cursor < 3:
            words.refill(int((count - len(out)) * 1.05) + 16)
        word = words.take()
        column, lead = word >> (64 - bits), (word >> 37) & ((1 << (27 - bits)) - 1)
        sign, position = (word >> 36) & 1, (word & ((1 << 36) - 1)) >> (36 - table.width)
        limit = int(table.threshold[column])
        tied = lead == limit >> 37
        own = (lead << 37 | words.take() >> 27) < limit if tied else lead < limit >> 37
        entry = column if own else int(table.alias[column])
        if entry >= 2 * table.strips:
            continue
        strip = entry % table.strips
        cell = strip << table.width | position
        if entry >= table.strips:
            u = mpmath.mpf(words.take())
            middle = reject_probability(table, strip, cell + mpmath.mpf("0.5"))
            if abs(u / 2**64 - middle) <= window:
                undecided += 1
                x = cell + mpmath.mpf(words.take()) / 2**64  # 64 bits decide but once in 2^60
                if u / 2**64 < reject_probability(table, strip, x):
                    continue
            elif u / 2**64 < middle:
                continue
        out.append(-cell - 1 if sign else cell)
    return out, undecided
