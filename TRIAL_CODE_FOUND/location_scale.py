"""Private location and scale of records and of their gradients: means, noisy histograms of lengths, quantiles, and the clip they speak for."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.solvers.base import Answers, Problem

Array = npt.NDArray[np.float64]

BINS, FINE = 11, 25
"""Bins of a histogram of which a quantile is read, lengths over a factor 2^5; and of one whose tail is, over 2^12."""
TINY = 1e-9
"""Weight of the constant column where the lengths of records are measured: it must not lengthen them."""
WIDTH = 0.7
"""Standard deviation of the prior of a record's length, in powers of two."""
FAR = 0.35
"""How far a table's histogram usually is from the prior, as a vector of shares."""
LOST = 1.0
"""Standard deviation of a gradient's length around what is likely, in powers of two."""
NEAR, SHARP = 0.15, 0.03
"""How far a histogram of gradients usually is from the exponential law that fits it best: all bins, and each of them."""
UNEVEN = 1.5
"""Root mean square length over the median from which records are called uneven."""
SUPPORTED = 2.5
"""Standard deviations of its noise that the share of records above an edge must reach to be seen."""
DECAY = 0.25
"""By what factor the share above an edge is taken to fall from edge to edge beyond the last that is seen: lengths of finite variance fall by
a half at least."""
HALF = 0.5
"""Share of the mean excess that counts as bias: gradients that point in all directions partly cancel."""
FREE = 0.1
"""A clip whose noise is below this share of the sampling error is free, and the longer the better."""


def centred(problem: Problem) -> bool:
    """Whether means are bought: an intercept takes up what a centre leaves."""
    return problem.intercept and problem.dimension > 1


def edges(largest: float, count: int) -> Array:
    """`count` edges up to `largest`, each √2 times the one before."""
    return largest * 2.0 ** (-0.5 * np.arange(count - 1, -1, -1.0))


@final
@dataclass(frozen=True, slots=True, eq=False)
class PrivateLocationScale:
    """Where records lie and how long they then are: functions of two released answers.

    Attributes:
        centre: m, (p,), 0 for the intercept; means shrunk by what of their length is noise.
        typical: the median of ‖x − m‖, the constant column left out.
    """

    centre: Array
    typical: float

    @classmethod
    def bought(
        cls,
        problem: Problem,
        curator: Answers,
        *,
        bound: float,
        likely: float,
        mean_noise: float,
        share_noise: float,
        uneven: bool = False,
    ) -> "PrivateLocationScale":
        """Buy the means, where the problem is `centred`, and one histogram of lengths up to `bound`."""
        p, slopes = problem.dimension, problem.dimension - problem.intercept
        centre = np.zeros(p)
        if centred(problem):
            centre[:-1] = curator.answer("means")[:-1]
            noise, size = slopes * mean_noise**2, float(centre @ centre)
            centre *= max(0.0, 1.0 - noise / size) if size > 0.0 else 0.0
            centre = np.clip(centre, -problem.norm_linf, problem.norm_linf)
        grid = edges(bound, BINS - 1)
        shares = curator.answer("scales", None, centre=centre, lift=TINY if problem.intercept else 1.0, edges=grid)
        shares = evened(shares, grid) if uneven else shares
        return cls(centre, quantile(shares, grid, share_noise, above=0.5, likely=likely))


def quantile(shares: Array, edges: Array, noise: float, *, above: float, likely: float) -> float:
    """The length that a share `above` of the records exceeds, within the outer edges.

    `shares` has one noisy number for each bin, the outer two without end. The prior is a bell around `likely` in the logarithm
    of lengths; it and the histogram are weighed by their expected squared errors, `FAR²` and `bins · noise²`, so that it
    matters only where the histogram says little. The tail is interpolated geometrically inside a bin.
    """
    inner = np.log2(edges)
    mids = np.concatenate([[inner[0] - 0.25], 0.5 * (inner[1:] + inner[:-1]), [inner[-1] + 0.25]])
    prior = np.exp(-0.5 * ((mids - math.log2(likely)) / WIDTH) ** 2)
    return _read(shares, prior / prior.sum(), edges, noise, FAR, above)


def gradient_quantile(shares: Array, edges: Array, noise: float, *, above: float, likely: float) -> float:
    """`quantile` for lengths of gradients, of which less is known beforehand and whose law is close to an exponential one.

    The scale of that law is fitted first, to all bins at once, which noise hides less than any one share: least squares plus a
    normal prior on the logarithm of the scale. The law then takes the place of the bell.
    """
    powers = np.linspace(-4.0, 3.0, 57)
    scales = likely / math.log(1.0 / above) * 2.0**powers
    laws = -np.diff(np.exp(-edges / scales[:, None]), axis=1, prepend=1.0, append=0.0)
    doubt = ((laws - shares) ** 2).sum(axis=1) / (noise**2 + SHARP**2) + (powers / LOST) ** 2
    return _read(shares, laws[int(np.argmin(doubt))], edges, noise, NEAR, above)


def unbiased_clip(
    shares: Array, edges: Array, noise: float, *, sum_noise: float, dimension: int, records: int
) -> float:
    """The length c at which the bias that clipping can cause and the noise that c costs are least together.

    Clipping at c moves the mean gradient by at most `E(L − c)₊ = ∫_c P(L > t) dt`, L the length of a gradient; noise of `c · sum_noise` in each of
    `dimension` coordinates is what c costs. What is minimised is `(HALF · E(L − c)₊)² + (1 + dimension/5) (c · sum_noise)²`, the share of
    records above each edge read off the noisy histogram up to the last edge at which it is seen, and falling by `DECAY` from edge to edge beyond: what is
    beyond cannot be bounded privately, and this is the assumption made about it. Both terms vanish as the budget grows: no clip is bounded away from
    the longest gradient. And where noise is far below the sampling error `√(E L²/n)`, a longer clip costs nothing.
    """
    above = np.cumsum(shares[1:][::-1])[::-1]
    doubt = SUPPORTED * noise * np.sqrt(np.arange(above.size, 0, -1.0))
    seen = np.flatnonzero(above > doubt)
    last = int(seen[-1]) if seen.size else 0
    beyond = np.maximum(np.arange(above.size) - last, 0)
    above = np.where(beyond > 0, max(above[last], doubt[last]) * DECAY**beyond, above).clip(0.0, 1.0)
    lost = np.cumsum((above * np.diff(edges, append=edges[-1]))[::-1])[::-1]
    best = edges[int(np.argmin((HALF * lost) ** 2 + (1.0 + 0.2 * dimension) * (sum_noise * edges) ** 2))]
    square = float(above @ np.diff(edges**2, append=edges[-1] ** 2))
    free = FREE * math.sqrt(square / records) / (sum_noise * math.sqrt(dimension))
    return float(min(max(best, free), edges[-1]))


def largest_eigenvalue(shares: Array, edges: Array, noise: float, *, typical: float) -> float:
    """A bound of the largest eigenvalue of E uuᵀ over that of records of usual length: 1 and what the longer ones add, `E(‖u‖² − 2r²)₊`."""
    above = np.cumsum(shares[1:][::-1])[::-1]
    doubt = SUPPORTED * noise * np.sqrt(np.arange(above.size, 0, -1.0))
    seen = np.flatnonzero(above > doubt)
    last = int(seen[-1]) if seen.size else 0
    beyond = np.maximum(np.arange(above.size) - last, 0)
    above = np.where(beyond > 0, max(above[last], doubt[last]) * DECAY**beyond, above).clip(0.0, 1.0)
    squares = np.maximum(np.append(edges, edges[-1]) ** 2 - 2.0 * typical**2, 0.0)
    return float(above @ np.diff(squares))


def evened(shares: Array, edges: Array) -> Array:
    """A histogram of lengths; of uneven records, most of which may be 0 in a few rare columns, all in the bin of the root mean square.

    Steps are as long as records of the typical length allow, and the median of such lengths tells nothing of them.
    """
    known = np.maximum(shares, 0.0) / max(float(np.maximum(shares, 0.0).sum()), 1e-12)
    middles = np.concatenate([[0.5 * edges[0]], np.sqrt(edges[1:] * edges[:-1]), [edges[-1]]])
    size = math.sqrt(float(known @ middles**2))
    median = float(middles[min(int(np.searchsorted(np.cumsum(known), 0.5)), middles.size - 1)])
    if size <= UNEVEN * median:
        return shares
    alone: Array = (np.arange(shares.size) == np.searchsorted(edges, size)).astype(np.float64)
    return alone


def _read(shares: Array, prior: Array, edges: Array, noise: float, far: float, above: float) -> float:
    """The quantile of histogram and prior, weighed by their squared errors."""
    inner = np.log2(edges)
    error = shares.size * noise**2
    weight = error / (error + far**2)
    mixed = (1.0 - weight) * shares + weight * prior
    tail = np.cumsum(mixed[::-1])[::-1][1:]  # share above each edge
    tail = np.maximum.accumulate(tail[::-1])[::-1]
    if tail[-1] >= above:
        return float(edges[-1])
    if tail[0] <= above:
        return float(edges[0])
    at = int(np.flatnonzero(tail >= above)[-1])
    part = (tail[at] - above) / (tail[at] - tail[at + 1])
    return float(2.0 ** (inner[at] + part * (inner[at + 1] - inner[at])))
