"""z and p of linear functions of coefficients, never at odds with their intervals, and p-values adjusted for several comparisons.

The interval of `aᵀθ` at quantile q holds the c with `d² ≤ q² V(c)`, `d = c − aᵀθ̃`, `V(c) = v + sd + bd²`: v the squared standard error, s and b what noise in the
matrix of the equations adds (`debiased.py`; 0 where it has none). With m the interval's middle less aᵀθ̃, and h half its length, the quadratic's coefficients are

    1 − q²b = q²v/(h² − m²),   s = 2m(1 − q²b)/q²,

so that one interval tells V everywhere, and `z(c) = −d/√V(c)`. An interval ends in c exactly where q = |z(c)|.
"""

import numpy as np
from scipy.special import stdtr

from hullabaloo.inference.debiased import Intervals
from hullabaloo.inference.fitted import Array
from hullabaloo.release.parameters import one_of
from hullabaloo.release.planned import quiet

ADJUSTMENTS = ("holm", "bh", "bonferroni")
ALIASES = {"fdr": "bh", "fdr_bh": "bh"}
"""What others call them."""


def z_against(found: Intervals, quantile: float, values: Array) -> Array:
    """z of each function against its value, from its interval at ± `quantile`; NaN where that has no ends."""
    d, q2 = values - found.estimate, quantile**2
    v = found.sampling_error**2 + found.privacy_error**2
    # What an end is stretched by is left out for values on the other side.
    low, high = found.low - (d > 0) * np.minimum(found.stretch, 0), found.high - (d < 0) * np.maximum(found.stretch, 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        middle, half = (low + high) / 2.0 - found.estimate, (high - low) / 2.0
        rounding = 16.0 * np.finfo(float).eps * (np.abs(found.estimate) + half) / half  # what subtraction leaves of h
        middle = np.where(np.abs(middle) <= rounding * half, 0.0, middle)
        left = np.where(v > 0.0, q2 * v / (half**2 - middle**2), 1.0)
        bend = np.where(np.abs(1.0 - left) <= rounding, 0.0, 1.0 - left)
        variance = v + (2.0 * middle * left * d + bend * d**2) / q2
        z = np.where(d == 0.0, 0.0, -d / np.sqrt(np.maximum(variance, 0.0)))
    return np.asarray(np.where(np.isnan(found.low), np.nan, z), dtype=np.float64)


@quiet()
def p_values(z: Array, freedom: float) -> Array:
    """P(|T| > |z|) by Student's law, that of the intervals."""
    return np.asarray(2.0 * stdtr(freedom, -np.abs(z)), dtype=np.float64)


def adjusted(p: Array, how: str | None) -> Array:
    """p-values adjusted for being looked at together; NaN stays, and counts as 1, so that what is told does not choose the family.

    "bonferroni" and "holm" (Holm 1979) hold the chance of any false rejection, whatever the dependence; "bh" (Benjamini and Hochberg 1995)
    the expected share of false ones among the rejected, for independent or positively dependent tests.
    """
    if how is None:
        return p
    chosen, known, m = one_of("adjust", ALIASES.get(how, how), ADJUSTMENTS), np.where(np.isnan(p), 1.0, p), p.size
    order, rank = np.argsort(known), np.arange(1, m + 1)
    if chosen == "bh":
        steps = np.minimum.accumulate((known[order] * m / rank)[::-1])[::-1]
    else:
        steps = np.maximum.accumulate(known[order] * (m + 1 - rank)) if chosen == "holm" else known[order] * m
    found = np.empty(m)
    found[order] = np.minimum(steps, 1.0)
    return np.where(np.isnan(p), np.nan, found)
