"""Ranks: how two classes are spread over bins of the predicted log-odds, as sums and differences from which many bins add up at little noise."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from hullabaloo.losses.base import Array
from hullabaloo.losses.readings import Scored
from hullabaloo.losses.scores import Statistic

LEVELS = 8
FADES = 0.9
"""What a level weighs beside the one above it: on `adult`, `bank`, `covertype`, `electricity`, `law_school`, `noaa`, `skin` and `spambase` areas had 5 to 11 % less noise than by equal weights, and 9 to 21 % less than by 0.8."""
FARTHEST = 30.0
"""Log-odds beyond which chances hardly differ as doubles."""


@dataclass(frozen=True, slots=True)
class Ranks(Statistic):
    """Haar's wavelets of the 2^L equal bins of a window of log-odds, L = 8, of the record's own class; zeros in the places of the other.

    There are 1 + L places: `h_0`, and for the half, quarter, … of the window that holds the prediction `±h_l`, by the side of its middle; `h_1 = h_0`, and from there on
    `h_{l+1} = 0.9 h_l`. The count of any range of bins rests on 2L coordinates, so that its noise grows with √L, not with the number of bins (Xiao, Wang and Gehrke 2010).

    **Guarantee.** *Radius √½*: `Σ h_l² = ½`. *Diameter 1*: of two classes `‖c − c'‖² = ‖c‖² + ‖c'‖² = 1`. Two records of one class are alike above the level l ≥ 1 at which
    their bins part, `2h_l` apart there, and `√2 h_j` below: `4h_l² + 2Σ_{j>l} h_j² ≤ 2Σ h_j² = 1`, as `h_l ≤ h_0`.

    Attributes:
        middle, reach: the window `middle ± reach` of log-odds, public, reach at most 30; predictions beyond it count as its ends.
    """

    middle: float = 0.0
    reach: float = FARTHEST
    counts = True
    length = 2 << LEVELS
    radius = math.sqrt(0.5)
    diameter = 1.0

    def of(self, seen: Scored) -> Array:
        """(n, 2^(L+1)): the places of the first class, then those of the second."""
        ends = expit(self.middle + min(self.reach, FARTHEST) * np.linspace(-1.0, 1.0, (1 << LEVELS) + 1)[1:-1])
        out = np.zeros((seen.actual.size, 2, 1 << LEVELS))
        out[np.arange(seen.actual.size), seen.actual] = waves(np.searchsorted(ends, seen.forecast[:, 1]))
        return out.reshape(-1, self.length)


def waves(bins: npt.NDArray[np.intp]) -> Array:
    """(n, 2^L): a record's places from the whole to the finest level, by its bin. Those of all bins are orthogonal as columns."""
    heights = FADES ** np.maximum(np.arange(LEVELS + 1) - 1.0, 0.0)
    heights *= math.sqrt(0.5 / float(heights @ heights))
    every, out = np.arange(bins.size), np.zeros((bins.size, 1 << LEVELS))
    out[:, 0] = heights[0]
    for level in range(LEVELS):
        half = bins >> (LEVELS - level - 1)
        out[every, (1 << level) + (half >> 1)] = heights[level + 1] * (2.0 * (half & 1) - 1.0)
    return out
