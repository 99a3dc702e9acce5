"""Exact integer noise ``N = floor(s·W)`` for a continuous symmetric W, by alias-of-strips rejection.

The half-line is cut into strips of 2^width cells. Strip j is covered by an integer box ``box_j ≥ C f(left)`` that holds
an integer core ``core_j ≤ C f(right)``; the boxes and a rejection weight sum to exactly 2^64. One 64-bit word draws

    column of the alias table | leading bits of its threshold | sign | position within the strip (36 bits)

A core accepts at once (98 % of the draws); a wedge (box minus core) accepts when a second word says so; the remaining
weight rejects. The wedge's test compares that word with a double; when it falls into the proven error window of the
double (once in 1e11 draws at k = 40) it is settled in integers with more bits of the same keystream.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import exact
from .kernels import WORDS_PER_DRAW, draw, paired
from .keys import Keystream

_T = TypeVar("_T", bound=np.generic)

WINDOW = 2.0**-34
_BITS = 192  # fixed point of the strip heights
_SLACK = 1 << 26  # their error, see `_heights`


@dataclass(frozen=True, slots=True, eq=False)
class Density:
    """``f(x) = exp(−x^power/power)``, x ≥ 0, cut where its tail holds 2^-130 of the mass."""

    power: int
    cutoff: float
    column_bits: int


GAUSSIAN = Density(power=2, cutoff=13.25, column_bits=11)
LAPLACE = Density(power=1, cutoff=90.2, column_bits=13)


@dataclass(frozen=True, eq=False)
class Table:
    """What the kernel reads for one density at one ratio s; public, immutable, exact in the sense of `build`."""

    density: Density
    ratio: float
    width: int
    total: int  # C
    box: tuple[int, ...]
    core: tuple[int, ...]
    threshold: NDArray[np.uint64]
    alias: NDArray[np.uint16]
    value: NDArray[np.float64]  # C f(left)
    gap: NDArray[np.float64]  # box − C f(left)
    inverse: NDArray[np.float64]  # 1/(box − core)

    @cached_property
    def strips(self) -> int:
        """Number of strips."""
        return len(self.box)

    @cached_property
    def window(self) -> float:
        """Half-width of the undecided window around the double that decides a wedge.

        **Guarantee.** Over a strip of width ≤ 1/16 the steepest slope of f is at most 2.001 times its mean slope, and
        box − core ≥ C (f(left) − f(right)): so the rejection probability moves by at most 1.001·2^−width from the
        middle of a cell to any of its points. Evaluating it in doubles costs below 2^−44: every factor is within a few
        2^−53 of its value, and value·inverse·expm1(…) ≤ 1.
        """
        return WINDOW + 2.0 ** (1 - self.width)

    def density_at(self, point: Fraction, bits: int) -> tuple[int, int]:
        """Enclose 2^bits times ``total · exp(−(X/ratio)^power/power)`` at a point."""
        power = self.density.power
        low, high = exact.exp_minus((point / Fraction(self.ratio)) ** power / power, bits)
        return self.total * low, self.total * high

    @cached_property
    def fields(self) -> tuple[Any, ...]:
        """What the kernel takes."""
        arrays = (self.threshold, self.alias, self.value, self.gap, self.inverse)
        numbers = (self.strips, self.width, self.density.column_bits, self.ratio)
        return (*arrays, *numbers, float(self.density.power - 1), self.window)


@lru_cache(maxsize=64)
def build(density: Density, ratio: float) -> Table:
    """Make the table of one density for s = `ratio` in [2^25, 2^41); a few milliseconds.

    **Guarantee.** Boxes contain and cores are contained in C f over their strips (enclosures, not rounded doubles), the
    alias table reproduces the integer weights exactly, and the strips reach at least `cutoff`: a uniform keystream
    gives P(N = n) exactly proportional to the integral of f(x/s) over [n, n + 1), up to the cut.
    """
    k = math.frexp(ratio)[1] - 1
    columns = 1 << density.column_bits
    width = k - 5
    if 2 * _strips(density, ratio, width) + 1 > columns:
        width += 1
    strips = _strips(density, ratio, width)
    heights = _heights(density.power, Fraction(1 << width) / Fraction(ratio), strips + 1)
    total = ((1 << 64) - (1 << 34) << _BITS) // sum(height + _SLACK for height in heights[:-1])
    box = tuple((total * (height + _SLACK) >> _BITS) + 1 for height in heights[:-1])
    core = tuple(total * height >> _BITS for height in heights[1:])
    wedge = tuple(b - c for b, c in zip(box, core, strict=True))
    weights = [*core, *wedge, (1 << 64) - sum(box)]
    whole = np.array(weights + [0] * (columns - len(weights)), np.uint64)
    threshold, alias = paired(whole, np.uint64(1 << 64 - density.column_bits))
    unit = 2.0**-_BITS  # a whole number becomes the nearest double, and its multiples by powers of two are exact
    return Table(
        density,
        ratio,
        width,
        total,
        box,
        core,
        _frozen(threshold),
        _frozen(alias),
        _frozen(np.array([float(total * height) * unit for height in heights[:-1]])),
        _frozen(
            np.array([float((b << _BITS) - total * height) * unit for b, height in zip(box, heights, strict=False)])
        ),
        _frozen(np.array([1 / weight for weight in wedge])),
    )


def fill(out: NDArray[np.int64], table: Table, stream: Keystream) -> None:
    """Fill `out` with independent draws of N."""
    undecided = np.empty(4, np.int64)
    done = 0
    while done < out.size:
        if stream.words.size - stream.position < WORDS_PER_DRAW:
            stream.refill(int((out.size - done) * 1.05) + 16)
        done, position, stopped = draw(stream.words, stream.position, table.fields, out, done, undecided)
        stream.advance(position)
        if stopped and _settle(table, undecided, stream):
            cell = int(undecided[0]) << table.width | int(undecided[1])
            out[done] = cell ^ int(undecided[2])
            done += 1


def _settle(table: Table, undecided: NDArray[np.int64], stream: Keystream) -> bool:
    """Decide in integers the wedge that the kernel left open: (strip, position, sign mask, first word of U)."""
    strip, position, _, first = (int(v) for v in undecided)
    cell = strip << table.width | position
    return exact.accepts(
        table.box[strip], table.core[strip], table.density_at, cell, first & (1 << 64) - 1, iter(stream)
    )


def _strips(density: Density, ratio: float, width: int) -> int:
    return math.ceil(Fraction(density.cutoff) * Fraction(ratio) / (1 << width))


def _heights(power: int, step: Fraction, count: int) -> list[int]:
    """Lower bounds of ``2^192 f(j·step)``, j < count ≤ 4096, each too low by less than `_SLACK` = 2^26.

    f_{j+1} = f_j r_j and r_{j+1} = r_j q with q = exp(−step²) (Gaussian) or 1 (Laplace). All factors are at most 1 and
    rounded down: r_j is too low by at most 4j + 3, hence f_j by at most Σ (4i + 4) ≤ 2(j + 1)² < 2^26.
    """
    q = exact.exp_minus(step**2, _BITS)[0] if power == 2 else 1 << _BITS
    r = exact.exp_minus(step**power / power, _BITS)[0]
    heights = [1 << _BITS]
    for _ in range(count - 1):
        heights.append(heights[-1] * r >> _BITS)
        r = r * q >> _BITS
    return heights


def _frozen(array: NDArray[_T]) -> NDArray[_T]:
    array.flags.writeable = False
    return array
