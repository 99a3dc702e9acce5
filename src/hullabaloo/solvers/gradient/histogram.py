"""Quantiles of a noisy histogram on a logarithmic scale, held up by what is known beforehand where noise drowns it."""

import math

import numpy as np

from hullabaloo.solvers.base import Array

BINS, LOW = 11, 3
"""Of the histograms that decide the first steps, a prior weighs more the more there are; and edges of residuals' far below, for targets that hardly vary within their bounds."""
WIDTH = 0.7
"""Standard deviation of the prior, in powers of two."""
FAR = 0.35
"""How far a table's histogram usually is from the prior, as a vector of shares."""
LOST = 1.0
"""Standard deviation of a gradient's length around what is likely, in powers of two."""
NEAR, SHARP = 0.15, 0.03
"""How far a histogram of gradients usually is from the exponential law that fits it best: all bins, and each of them."""


def edges(largest: float, count: int) -> Array:
    """`count` edges up to `largest`, each √2 times the one before."""
    return largest * 2.0 ** (-0.5 * np.arange(count - 1, -1, -1.0))


def far_edges(largest: float, count: int, low: int = LOW) -> Array:
    """`count` edges up to `largest`: each √2 times the one before, but the `low` lowest, each √8 times."""
    usual = edges(largest, count - low)
    return np.concatenate([usual[0] * 8.0 ** (-0.5 * np.arange(low, 0, -1.0)), usual])


def gradient_quantile(shares: Array, edges: Array, noise: float, *, above: float, likely: float) -> float:
    """`quantile` for lengths of gradients, of which less is known beforehand and whose law is close to an exponential one, which takes the place of the bell."""
    return _read(gradient_shares(shares, edges, noise, likely / math.log(1.0 / above))[0], edges, above)


def gradient_shares(shares: Array, edges: Array, noise: float, likely: float) -> tuple[Array, float]:
    """Shares of gradients weighed with those of the exponential law that fits best, of a `likely` mean; and the noise of each then.

    The scale of that law is fitted first, to all bins at once, which noise hides less than any one share: least squares plus a
    normal prior on the logarithm of the scale.
    """
    powers = np.linspace(-9.0, 3.0, 97)
    tails = np.exp(np.maximum(-edges / (likely * 2.0**powers)[:, None], -700.0))
    laws = -np.diff(tails, axis=1, prepend=1.0, append=0.0)
    doubt = ((laws - shares) ** 2).sum(axis=1) / (noise**2 + SHARP**2) + (powers / LOST) ** 2
    return _mixed(shares, laws[int(np.argmin(doubt))], noise, NEAR)


UNEVEN = 1.5
"""Root mean square length over the median from which records are called uneven."""


def evened(shares: Array, edges: Array) -> Array:
    """A histogram of lengths; of uneven records, most of which may be 0 in a few rare columns, all in the bin of the root mean square.

    Steps are as long as records of the typical length allow, and the median of such lengths tells nothing of them.
    """
    known, middles = _known(shares, edges)
    size = math.sqrt(float(known @ middles**2))
    median = float(middles[min(int(np.searchsorted(np.cumsum(known), 0.5)), middles.size - 1)])
    if size <= UNEVEN * median:
        return shares
    return (np.arange(shares.size) == np.searchsorted(edges, size)).astype(np.float64)  # type: ignore[no-any-return]


def mean_length(shares: Array, edges: Array) -> float:
    """The mean of a histogram of lengths, rather too long: what noise makes negative counts as 0."""
    known, middles = _known(shares, edges)
    return max(float(known @ middles), 0.5 * float(edges[0]))


def _known(shares: Array, edges: Array) -> tuple[Array, Array]:
    """Shares that add up to 1, and the middles of their bins."""
    known = np.maximum(shares, 0.0) / max(float(np.maximum(shares, 0.0).sum()), 1e-12)
    return known, np.concatenate([[0.5 * edges[0]], np.sqrt(edges[1:] * edges[:-1]), [edges[-1]]])


def quantile(shares: Array, edges: Array, noise: float, *, above: float, likely: float) -> float:
    """The length that a share `above` of the records exceeds, within the outer edges.

    `shares` has one noisy number for each bin, the outer two without end. The prior is a bell around `likely` in the logarithm
    of lengths; it and the histogram are weighed by their expected squared errors, `FAR²` and `bins · noise²`, so that it
    matters only where the histogram says little. The tail is interpolated geometrically inside a bin.
    """
    inner = np.log2(edges)
    mids = np.concatenate([[inner[0] - 0.25], 0.5 * (inner[1:] + inner[:-1]), [inner[-1] + 0.25]])
    prior = np.exp(-0.5 * ((mids - math.log2(likely)) / WIDTH) ** 2)
    return _read(_mixed(shares, prior / prior.sum(), noise, FAR)[0], edges, above)


def _mixed(shares: Array, prior: Array, noise: float, far: float) -> tuple[Array, float]:
    """Histogram and prior weighed by their squared errors, and the noise of each share then."""
    error = shares.size * noise**2
    weight = error / (error + far**2)
    return (1.0 - weight) * shares + weight * prior, (1.0 - weight) * noise


def _read(shares: Array, edges: Array, above: float) -> float:
    """The quantile of a histogram."""
    inner = np.log2(edges)
    tail = np.cumsum(shares[::-1])[::-1][1:]  # share above each edge
    tail = np.maximum.accumulate(tail[::-1])[::-1]
    if tail[-1] >= above:
        return float(edges[-1])
    if tail[0] <= above:
        return float(edges[0])
    at = int(np.flatnonzero(tail >= above)[-1])
    part = (tail[at] - above) / (tail[at] - tail[at + 1])
    return float(2.0 ** (inner[at] + part * (inner[at + 1] - inner[at])))


SEEN = 2.5
"""Standard deviations of its noise that the share above an edge has to exceed to be believed."""
FALL = 0.25
"""The share above the next edge over that above this one, where none is seen: of variables with three moments it falls faster."""


def tail(shares: Array, noise: float) -> Array:
    """The share above each edge, falling: as counted before the first edge where noise drowns it, from there by `FALL` an edge."""
    above = np.cumsum(shares[::-1])[::-1][1:].copy()
    drowned = above <= SEEN * noise * np.sqrt(np.arange(above.size, 0.0, -1.0))
    last = int(np.argmax(drowned)) - 1 if drowned.any() else above.size - 1
    last, above[max(last, 0)] = max(last, 0), 1.0 if last < 0 else above[last]
    above[last:] = above[last] * FALL ** np.arange(above.size - last)
    return np.minimum(np.maximum.accumulate(above[::-1])[::-1], 1.0)


def mean_beyond(above: Array, edges: Array, at: Array | float, *, power: int) -> Array:
    """`E(L^k − at^k)₊ = ∫_at^∞ k x^{k−1} P(L > x) dx` for each `at`, the share above x interpolated geometrically, above the last edge a power law."""
    last, low = float(edges[-1]), np.maximum(at, float(edges[0]) / 64.0)
    start = np.maximum(low, last)
    order = -2.0 * math.log2(FALL)  # of the power law: `FALL` an edge of √2
    beyond = power / (order - power) * float(above[-1]) * (last / start) ** order * start**power
    x = np.geomspace(low, start, 400, axis=-1)
    share = np.exp(np.interp(np.log(x), np.log(edges), np.log(above), left=0.0))
    within = np.trapezoid(power * x ** (power - 1) * share, x, axis=-1)
    return np.asarray(low**power - np.power(at, power) + within + beyond, dtype=np.float64)
