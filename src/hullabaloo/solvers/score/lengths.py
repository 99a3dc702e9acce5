"""Where to shorten records, from a noisy histogram of their lengths: what it costs in bias against what it saves in noise."""

import math

import numpy as np

from hullabaloo.privacy.answers import Array

FALL = 0.25
"""By which the share above an edge is taken to fall from each edge to the next (√2 as long) where noise hides it: lengths have a fourth moment."""
SEEN = 2.5
"""Standard deviations from which a share is seen; the first edge at which it is not ends what is."""
BEYOND = 16
"""Edges beyond the last one that are reckoned with."""


def tail(shares: Array, edges: Array, noise: float) -> tuple[Array, Array]:
    """Edges, further ones included, and the share of records above each, nonincreasing."""
    above = np.cumsum(shares[::-1])[::-1][1:]
    doubt = noise * np.sqrt(np.arange(edges.size, 0, -1.0))
    last = max(int(np.argmin(np.append(above > SEEN * doubt, False))) - 1, 0)
    known = np.minimum(np.maximum.accumulate(np.maximum(above[: last + 1], 0.0)[::-1])[::-1], 1.0)
    ends = np.append(edges, edges[-1] * 2.0 ** (0.5 * np.arange(1, BEYOND + 1)))
    hidden = max(float(known[-1]), SEEN * float(doubt[last])) * FALL ** np.arange(1.0, ends.size - last)
    return ends, np.append(known, hidden)


def excess(ends: Array, above: Array, power: int = 1) -> Array:
    """`E (L^power − c^power)_+` for c at each end: the area under the shares beyond it."""
    middles = np.sqrt(above[1:] * above[:-1])
    areas = np.append(middles * np.diff(ends**power), 0.0)
    return np.asarray(np.cumsum(areas[::-1])[::-1], dtype=np.float64)


def mean_power(ends: Array, above: Array, power: int) -> float:
    """`E L^power`."""
    return float(ends[0] ** power) * 0.5 + float(excess(ends, above, power)[0])


def gradient_clip(ends: Array, above: Array, noise: float, size: int, doubt: float) -> tuple[float, float]:
    """The c that is least of `(doubt · E(L − c)_+)² + size (noise c)²`, and `E(L − c)_+` there."""
    lost = excess(ends, above)
    at = int(np.argmin((doubt * lost) ** 2 + size * (noise * ends) ** 2))
    return float(ends[at]), float(lost[at])


def moment_clip(ends: Array, above: Array, noise: float, size: int, doubt: float) -> float:
    """The R that is least of `(doubt · E(L² − R²)_+ / size)² + ½ size (noise R²)²`."""
    lost = excess(ends, above, 2) / size
    return float(ends[int(np.argmin((doubt * lost) ** 2 + 0.5 * size * (noise * ends**2) ** 2))])


def quantile(ends: Array, above: Array, share: float) -> float:
    """The length that this share of records exceeds."""
    at = np.flatnonzero(above <= share)
    return float(ends[int(at[0])]) if at.size else float(ends[-1])


def typical(count: float) -> float:
    """Root mean square length of so many directions of variance 1, at least of a half."""
    return math.sqrt(max(count, 0.25))
