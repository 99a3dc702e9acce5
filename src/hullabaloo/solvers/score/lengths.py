"""Where to shorten records, from a noisy histogram of their lengths: what it costs in bias against what it saves in noise.

Up to an edge x₀ a few edges before the last one at which records are still seen, shares are taken as they are. From there the share longer than x is

    s₀ exp(−h ((x/x₀)^κ − 1)/κ),

a tail whose index `−d log share/d log x = h (x/x₀)^κ` never falls: Pareto at κ = 0, exponential at 1, normal at 2. All bins from x₀ on speak for h and κ,
those in which noise hides the records as well: the posterior on a grid (flat in h and κ) weighs the tails, and costs are expectations over it. One edge
after the last one seen the index stops rising (Hill 1975), and is at least what the caller says.

No such tail has a second hump, of a cluster of records far off. Beside it one is looked for in every run of one to `RUN` bins beyond what is usual, its share anything up to that above x₀. Where all together are likelier than none,
from even chances (Bayes factors; Kass & Raftery 1995), they are reckoned with. Their records may all point one way. (Of five laws without one three of 150 histograms show one at most, at noise of 0.0005 and 0.002; where noise is so low that evidence overflows none is reckoned with.)
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_ndtr

from hullabaloo.privacy.answers import Array

SEEN, LIKELY, BACK, MIDDLE = 2.5, 1.0, 3, 0.4
"""Standard deviations from which a share is seen, and from which one of a known shape is taken as there: of 200 events in 20 000 records, from bound to bound, at ε = 1, one in fifty is not; how many edges before the last such one x₀ lies, and the share above it at most that."""
MISFIT = 0.3
"""Of a bin's share: how far no tail of the family may come to it. This, `BACK` and where the index stops were chosen on the development tables of `benchmarks/inference.py`, where what is lost
came out as it is (at 0.1 and 5 edges it was half of it, and less, on half of the tables at ε = 3); those of the report half had no part in it."""
FLOOR = 1.4
"""Floor of eigenvalues over half the spectral radius of a covariance's noise."""
AROUND = 1.5
"""How many typical lengths records are shortened to for the covariances."""
DOUBT_SCORE, DOUBT_CURVATURE = 0.3, 0.7
"""Weights of what shortening can cost against noise. Gradients' excess points not all one way: of it 0.04 to 0.7 of the length is left in the mean on the development tables of `benchmarks/inference.py` at ε = 1, and noise in the tail makes
E(L − c)₊ larger than it is, so that what is left is 0.03 to 0.7 of what is told of it, root mean square 0.27. (At 0.2 large tables whose excess points one way are cut short: of skin's colours, 980 228 records, ε = 1, half of the intervals held, at 0.3 all.) A step is short where the curvature's matters."""
BEGUN = 0.4
"""`DOUBT_SCORE` of streams that were begun before."""
BEYOND = 16
"""Edges beyond the last one that are reckoned with."""
SURE = 5.0
"""Standard deviations from which records beyond the last edge are taken as a cluster of unknown length: what is told is hardly worth anything then, so that noise may not feign them."""
RUN = 3
"""Bins over which a cluster spreads at most: so far as its longest records are twice as long as its shortest."""
RESOLVED = 700.0
"""Log odds of a hump beside any tail of the family above which none is reckoned with: noise is so low there that tails miss whole bins by 37 deviations, and what the best of them leaves is its own misfit, not a cluster's records."""
_GRID = np.meshgrid(
    np.geomspace(0.03, 24.0, 34), [0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0], indexing="ij"
)
SLOPES, BENDS = _GRID[0].reshape(-1, 1), _GRID[1].reshape(-1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Lengths:
    """Edges, further ones included (m,); likely shares of records above each (k, m), nonincreasing; and the weights of these (k,). The shares of the bins as they are seen, and the noise of each. Share above each edge of records
    in a second hump (m,), 0 where tails alone are likelier. Whether records lie evenly within each bin, or crowd at its lower end where shares fall, as streams that were begun before have it."""

    ends: Array
    above: Array
    weights: Array
    bins: Array
    noise: float
    hump: Array
    even: bool = True

    def excess(self, power: int = 1) -> Array:
        """Root mean square over the weights of `E (L^power − c^power)_+` for c at each end: areas under the shares beyond it.

        The middle of a bin's two shares is their mean: where lengths end within a bin their geometric mean is next to nothing, and so was what the cut was taken to lose.
        """
        lower, upper = self.above[:, :-1], self.above[:, 1:]
        middles = 0.5 * (lower + upper) if self.even else np.sqrt(lower * upper)
        areas = np.append(middles * np.diff(self.ends**power), np.zeros((len(middles), 1)), axis=1)
        lost = np.cumsum(areas[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(np.sqrt(self.weights @ lost**2), dtype=np.float64)

    def apart(self, power: int = 1) -> Array:
        """The same of a second hump, whose records lie evenly within each bin."""
        areas = 0.5 * (self.hump[1:] + self.hump[:-1]) * np.diff(self.ends**power)
        return np.append(np.cumsum(areas[::-1])[::-1], 0.0)

    def gradient_clip(self, noise: float, size: int, doubt: float) -> tuple[float, float]:
        """The c that is least of `(doubt · E(L − c)_+)² + size (noise c)²`, and `E(L − c)_+` there; of a second hump, which may lie along any one direction, `E(L − c)_+` is weighed against the noise there."""
        lost = self.excess()
        at = int(np.argmin((doubt * lost) ** 2 + size * (self.apart() ** 2 + (noise * self.ends) ** 2)))
        return float(self.ends[at]), float(lost[at])

    def moment_clip(self, noise: float, size: int, doubt: float) -> float:
        """The R that is least of `(doubt · E(L² − R²)_+ / size)² + ½ size (noise R²)²`, and of a second hump `E(L² − R²)_+²` besides, as along one direction."""
        lost = (doubt * self.excess(2) / size) ** 2 + self.apart(2) ** 2
        return float(self.ends[int(np.argmin(lost + 0.5 * size * (noise * self.ends**2) ** 2))])

    def off(self, clip: float, wide: float, records: float) -> float:
        """How far a mean of gradients that are shortened to c may be off by a second hump: what it loses, and its sampling beyond what a spread of gradients shortened to w shows, the root of `E(L − c)_+² + (E(L² − w²)_+ − E(L² − c²)_+)_+ / n`."""
        lost, seen = np.interp(clip, self.ends, self.apart()), np.interp([wide, clip], self.ends, self.apart(2))
        return math.sqrt(lost**2 + max(seen[0] - seen[1], 0.0) / records)

    def crowd(self, records: float) -> Array:
        """Lower ends of the bins, and how many of so many records may be in each: what is seen, at least none, and noise, root mean square, (2, m)."""
        lower = np.append(0.0, self.ends[: self.bins.size - 1])
        return np.stack([lower, records * np.hypot(np.maximum(self.bins, 0.0), self.noise)])

    def about(self, lengths: Array) -> Array:
        """The likely share of records of about each length: in any one of three bins, that of the length and two before."""
        shares, bins = -np.diff(self.weights @ self.above, prepend=1.0), np.searchsorted(self.ends, lengths)
        return np.asarray(shares[np.clip(bins[:, None] - [2, 1, 0], 0, shares.size - 1)].max(axis=1), dtype=np.float64)

    def beyond(self, clip: float, power: int = 2) -> float:
        """`E (L² − c²)_+`: what shortening to c takes of the trace of the second moments; or of another power."""
        return float(np.interp(clip, self.ends, self.excess(power)))

    def taken(self, clip: float, bends: Array, weights: Array, size: int, *, clusters: bool = True) -> float:
        """The mean of `h E (L² − c²/h)_+` over values h of a curvature, so often each, beside whose roots lengths are shortened to c: in each of so many directions as if all lost alike, and of a second hump, where `clusters` are reckoned with, as along one."""
        lost = self.excess(2) + clusters * size * self.apart(2)
        return float(weights @ (bends * np.interp(clip / np.sqrt(bends), self.ends, lost))) / size

    def at_least(self, records: "Lengths", share: float, factor: float, shown: bool = True) -> "Lengths":
        """With so large a share of gradients of `factor` times the length of records, which noise may have hidden: those of a rare class. At edges where it would be seen it is no more than the histogram has `shown`, and `SEEN` deviations."""
        known = np.interp(self.ends / factor, records.ends, records.weights @ records.above)
        if shown:
            longer = np.cumsum(self.bins[:0:-1])[::-1]
            doubt, of = SEEN * self.noise * np.sqrt(np.arange(longer.size, 0, -1.0)), known[: longer.size]
            seen = share * of > doubt
            share = min([share, *(np.maximum(longer + doubt, 0.0)[seen] / of[seen])])
        return replace(self, above=np.maximum(self.above, share * known))

    def share_of(self, factor: float, records: "Lengths") -> float:
        """The share of gradients of `factor` times the length of records, by least squares over all bins as if no others were as long; 0 where it is less than `LIKELY` deviations of its noise."""
        above = np.interp(self.ends[: self.bins.size - 1] / factor, records.ends, records.weights @ records.above)
        shape = -np.diff(above, append=0.0)
        share, power = float(shape @ self.bins[1:]), float(shape @ shape)
        return share / power if share > LIKELY * self.noise * math.sqrt(power) else 0.0

    def quantile(self, share: float) -> float:
        """The length that this share of records exceeds."""
        at = np.flatnonzero(self.weights @ self.above <= share)
        return float(self.ends[int(at[0])]) if at.size else float(self.ends[-1])


def tail(
    shares: Array, edges: Array, noise: float, slowest: float, usual: float = math.inf, longest: float = 0.0
) -> Lengths:
    """What a histogram of shares (m + 1,), each of this noise, says of lengths; the share falls from edge to edge to `slowest` of itself at least beyond those seen. Second humps are looked for beyond `usual` lengths.

    The last bin has no upper end. Where it is beyond what is usual, and its records are seen by `SURE` deviations, they are taken as as long as may be, `longest`.
    """
    over, under = np.arange(edges.size, 0, -1.0), np.arange(1.0, edges.size + 1.0)  # numbers of bins
    longer, shorter = np.cumsum(shares[::-1])[::-1][1:], np.cumsum(shares)[:-1]
    above = (under * longer + over * (1.0 - shorter)) / (over + under)
    doubt = noise * np.sqrt(over * under / (over + under))
    last = max(int(np.argmin(np.append(above > SEEN * doubt, False))) - 1, 0)
    known = np.minimum(np.maximum.accumulate(np.maximum(above[: last + 1], 0.0)[::-1])[::-1], 1.0)
    first = max(int(np.sum(known > MIDDLE)) - 1, last - BACK, 0)
    ends = np.append(edges, edges[-1] * 2.0 ** (0.5 * np.arange(1, BEYOND + 1)))
    falls = _falls(ends[first:] / ends[first], last - first, slowest)
    tails = np.cumprod(np.append(np.ones((len(falls), 1)), falls, axis=1), axis=1)
    bins = -np.diff(tails[:, : edges.size - first], axis=1, append=0.0)
    spread = noise**2 + (MISFIT * max(float(known[first]), 2.0 * noise) * bins) ** 2
    body, rest = 1.0 - float(shares[: first + 1].sum()), noise**2 * (first + 1)
    precision = (bins**2 / spread).sum(axis=1) + 1.0 / rest
    start = np.clip(((bins * shares[first + 1 :] / spread).sum(axis=1) + body / rest) / precision, 0.0, 1.0)
    left = shares[first + 1 :] - start[:, None] * bins
    misses = (left**2 / spread + np.log(spread)).sum(axis=1)
    misses += (body - start) ** 2 / rest + np.log(precision)
    weights = SLOPES[:, 0] * np.exp(-0.5 * (misses - misses.min()))
    weights /= weights.sum()
    most, beyond = max(float(known[first]), 2.0 * noise), int(np.searchsorted(edges[first:], usual))
    hump = np.zeros(ends.size)
    weights, hump[first : edges.size] = _second_hump(left, spread, weights, most, beyond)
    if shares[-1] > SURE * noise and edges[-1] >= usual:
        permitted = int(np.searchsorted(ends, longest))
        hump[:permitted] = np.maximum(hump[:permitted], shares[-1])
    before = np.maximum(known[:first], float(weights @ start))
    likely = np.append(np.tile(before, (len(tails), 1)), start[:, None] * tails, axis=1)
    return Lengths(ends, likely, weights, shares, noise, hump)


def _second_hump(left: Array, variance: Array, weights: Array, most: float, beyond: int) -> tuple[Array, Array]:
    """Weights of the tails (k,) beside a second hump, and its share above the lower edge of each bin, by what tails leave of the shares of bins, (k, bins), of such variance. It is a run of bins from number `beyond` on, and its share `most` at most."""
    places = np.arange(left.shape[1])
    lowest, wide = (one.reshape(-1, 1) for one in np.meshgrid(places[beyond:], np.arange(1, RUN + 1)))
    runs = ((places >= lowest) & (places < lowest + wide)) / np.minimum(wide, places.size - lowest)
    precision = (1.0 / variance) @ (runs**2).T
    signs = (left / variance) @ runs.T / np.sqrt(precision)
    odds = 0.5 * signs**2 + log_ndtr(signs) - np.log(np.sqrt(precision / (2.0 * math.pi)) * most * len(runs))
    chances = weights[:, None] * np.exp(np.minimum(odds, RESOLVED))
    whole = float(chances.sum())
    if whole <= 1.0 or np.any(odds > RESOLVED):
        return weights, np.zeros(places.size)
    size = np.sum(chances * np.maximum(signs, 0.0) / np.sqrt(precision), axis=0)
    shares = np.asarray(size @ runs / whole, dtype=np.float64)
    return chances.sum(axis=1) / whole, np.cumsum(shares[::-1])[::-1]


def _falls(ratios: Array, seen: int, slowest: float) -> Array:
    """Share above an edge over that above the one before, for every tail of the family, (k, m − 1), at edges x/x₀ = `ratios`."""
    bent = np.where(BENDS > 0.0, (ratios**BENDS - 1.0) / np.maximum(BENDS, 1e-9), np.log(ratios))
    falls = np.exp(-np.minimum(SLOPES * np.diff(bent, axis=1), 700.0))
    at = min(max(seen, 1), falls.shape[1] - 1)
    falls[:, at:] = falls[:, at : at + 1]
    falls[:, seen:] = np.minimum(falls[:, seen:], slowest)
    return np.asarray(falls, dtype=np.float64)


def typical(count: float) -> float:
    """Root mean square length of so many directions of variance 1, at least of a half."""
    return math.sqrt(max(count, 0.25))


def floor(noise: float, size: int) -> float:
    """Down to which a covariance of this noise is believed."""
    return max(FLOOR * noise * math.sqrt(0.5 * size), 1e-300)
