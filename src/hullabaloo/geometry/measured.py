"""Gaussian widths by simulation where no closed form and no quadrature is known."""

import numpy as np

from hullabaloo.geometry.base import ConvexSet
from hullabaloo.geometry.width import Width, simulated_width


def measured_width(
    body: ConvexSet, p: int, *, generator: np.random.Generator, draws: int = 1000, failure: float = 1e-6
) -> Width:
    """The width of `body` in R^p: as it is where it is known exactly, else the mean of the support of normal vectors.

    Between the proved bounds of `body.gaussian_width(p)` the confidence interval of `simulated_width` applies: the
    true width is in [low, high] with probability at least 1 − `failure`.
    """
    known = body.gaussian_width(p)
    if known.high - known.low <= 1e-9 * abs(known.high) or not np.isfinite(known.high):
        return known
    seen = simulated_width(body.support, p, body.max_norm(2, p), generator=generator, draws=draws, failure=failure)
    low, high = max(seen.low, known.low), min(seen.high, known.high)
    return Width(min(max(seen.value, low), high), low, high, f"{seen.method} within a {known.method}")
