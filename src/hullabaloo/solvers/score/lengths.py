"""Where to shorten records, from a noisy histogram of their lengths: what it costs in bias against what it saves in noise."""

import math

import numpy as np

from hullabaloo.privacy.answers import Array

STEPS, FASTEST = 4, 0.1
"""Over how many edges before the last one that is seen the fall of the shares is measured, which goes on beyond it (Hill 1975), and the fastest that is
believed; the slowest is the caller's: a quarter leaves lengths a fourth moment, a half a second one."""
SEEN = 2.5
"""Standard deviations from which a share is seen; the first edge at which it is not ends what is."""
BEYOND = 16
"""Edges beyond the last one that are reckoned with."""


def tail(shares: Array, edges: Array, noise: float, slowest: float) -> tuple[Array, Array]:
    """Edges, further ones included, and the share of records above each, nonincreasing: by the bins above and by those below, of variance 1 for each bin."""
    over, under = np.arange(edges.size, 0, -1.0), np.arange(1.0, edges.size + 1.0)  # numbers of bins
    longer, shorter = np.cumsum(shares[::-1])[::-1][1:], np.cumsum(shares)[:-1]
    above = (under * longer + over * (1.0 - shorter)) / (over + under)
    doubt = noise * np.sqrt(over * under / (over + under))
    last = max(int(np.argmin(np.append(above > SEEN * doubt, False))) - 1, 0)
    known = np.minimum(np.maximum.accumulate(np.maximum(above[: last + 1], 0.0)[::-1])[::-1], 1.0)
    ends = np.append(edges, edges[-1] * 2.0 ** (0.5 * np.arange(1, BEYOND + 1)))
    first = max(last - STEPS, 0)
    fall = ((known[-1] + doubt[last]) / max(known[first], doubt[first])) ** (1.0 / max(last - first, 1))
    fall = min(max(float(fall), FASTEST), slowest)
    hidden = max(float(known[-1]), SEEN * float(doubt[last])) * fall ** np.arange(1.0, ends.size - last)
    return ends, np.append(known, hidden)


def excess(ends: Array, above: Array, power: int = 1) -> Array:
    """`E (L^power − c^power)_+` for c at each end: the area under the shares beyond it."""
    middles = np.sqrt(above[1:] * above[:-1])
    areas = np.append(middles * np.diff(ends**power), 0.0)
    return np.asarray(np.cumsum(areas[::-1])[::-1], dtype=np.float64)


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
