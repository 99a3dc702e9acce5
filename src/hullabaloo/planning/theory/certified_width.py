"""Gaussian widths for bounds: proved ones where they are tight, else the mean of many draws with a proof of how far it is off."""

import math
from functools import lru_cache

import numpy as np

from hullabaloo.foreign import foreign
from hullabaloo.geometry import ConvexSet, Polytope, Width, WithIntercept
from hullabaloo.lazy import recalled
from hullabaloo.solvers.public_numbers import uniforms

STREAM = 7_000
"""Of the public numbers that normal vectors are made of."""
CELLS, DRAWS = 400_000, 4_000
"""Numbers drawn for one width at most, and vectors but of polytopes: some tenths of a second."""


def planned_width(body: ConvexSet, p: int) -> float:
    """The upper end of a width for plans: certified, but as the set says it where asking for supports runs a user's own code."""
    return (certified_width(body, p) if foreign(body) is None else body.gaussian_width(p)).high


def certified_width(body: ConvexSet, p: int, *, within: float = 0.05, failure: float = 1e-9) -> Width:
    """w(C) = E h_C(g) in R^p between proved bounds; value = high, the upper end.

    `body.gaussian_width(p)` where its ends are closer than `within`, else the mean of N draws of `h_C(g) − ⟨c, g⟩`, ± `R √(2 ln(2/β)/N)`: so many that
    this is `within` of the width, but no more than `CELLS/p` and `DRAWS` (and 64). A polytope's
    draws are those of `⟨v_i − c, g⟩` in the span of its k vertices: ten times as many, of k numbers.

    **Guarantee.** `g ↦ h_C(g) − ⟨c, g⟩` has mean w(C) and is R-Lipschitz, R the radius of C about c, so the mean of N draws is farther off with probability
    at most β = `failure` (Boucheron, Lugosi, Massart 2013, Theorem 5.6). The draws are the library's public numbers: one choice,
    fixed before any set was known, and the same width on every run.

    Args:
        body: C.
        p: the dimension.
        within: how near the ends should come.
        failure: β.

    Source: 002, Section 2.2, Gaussian width.
    """
    if isinstance(body, WithIntercept) and p > body.columns:  # whose width is the sum of both
        slopes = certified_width(body.body, p - body.columns, within=within, failure=failure)
        return slopes.plus(body.gaussian_width(body.columns))
    known = body.gaussian_width(p)
    if known.high <= (1.0 + within) * known.low or not math.isfinite(known.high):
        return known
    return recalled(_simulated, body, p, within, failure)  # type: ignore[no-any-return]


@lru_cache(maxsize=64)
def _simulated(body: ConvexSet, p: int, within: float, failure: float) -> Width:
    from scipy.special import ndtri

    known, radius = body.gaussian_width(p), body.max_norm(2.0, p)
    size, cells, most, corners = p, CELLS, DRAWS, None
    if isinstance(body, Polytope):
        rows = body.vertices - body.vertices.mean(axis=0)
        corners = np.asarray(np.linalg.qr(rows.T, mode="r")).T  # of the same inner products, in min(k, p) dimensions
        radius = float(np.linalg.norm(rows, axis=1).max())
        size, cells, most = corners.shape[1], 10 * CELLS, 10 * DRAWS
    surely = 2.0 * math.log(2.0 / failure)
    enough = surely * (radius / (within * known.low)) ** 2 if known.low > 0.0 else math.inf
    draws = max(64, math.ceil(min(enough, cells // size, most)))
    g = ndtri(uniforms(draws * size, STREAM)).reshape(draws, size)
    seen = [body.support(one) for one in g] if corners is None else (g @ corners.T).max(axis=1)
    mean, slack = math.fsum(seen) / draws, radius * math.sqrt(surely / draws)
    low, high = max(mean - slack, known.low), min(mean + slack, known.high)
    return Width(high, low, high, f"{draws:,} draws within a {known.method}")
