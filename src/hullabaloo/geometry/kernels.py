"""Compiled kernels of the geometry: pure functions of arrays."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def simplex_level(v: NDArray[np.float64], magnitude: bool, radius: float) -> tuple[float, float]:
    """Give (m, t) such that the projection of v onto {θ ≥ 0, Σθ = radius} is max(0, t − (m − v_j)).

    m is the largest coordinate (of |v| when `magnitude`), t the root of Σ max(0, t − d_j) = radius for the depths
    d_j = m − v_j ≥ 0. Working with depths keeps the digits of the result when the coordinates of v are huge.
    For every nonempty set S of coordinates (radius + Σ_S d)/|S| ≥ t, so what is deeper than that for any S met is
    inactive for good: one pass filters with the running S, later passes until nothing is dropped (Michelot 1986,
    Condat 2016). Expected O(p). For passes that drop one coordinate each, the
    k-th must lie k times further above its threshold than the one before: in float64 no more than about 20 of them.
    """
    m = -np.inf
    for j in range(v.size):
        x = abs(v[j]) if magnitude else v[j]
        m = max(m, x)
    active = np.empty(v.size)
    count = 0
    total = 0.0
    t = radius
    for j in range(v.size):
        d = m - (abs(v[j]) if magnitude else v[j])
        if d < t:
            active[count] = d
            count += 1
            total += d
            t = min(t, (radius + total) / count)
    while True:
        t = (radius + _sum(active, count)) / count
        kept = 0
        for j in range(count):
            if active[j] < t:
                active[kept] = active[j]
                kept += 1
        if kept == count:
            return m, t
        count = kept


@njit(cache=True, nogil=True)
def _sum(values: NDArray[np.float64], count: int) -> float:
    """Compensated sum of the first `count` values (Neumaier 1974)."""
    total = 0.0
    lost = 0.0
    for j in range(count):
        x = values[j]
        new = total + x
        lost += (total - new) + x if abs(total) >= abs(x) else (x - new) + total
        total = new
    return total + lost


@njit(cache=True, nogil=True)
def project_l1(v: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Projection of v onto the l1 ball of that radius, v outside of it."""
    m, t = simplex_level(v, True, radius)
    out = np.empty_like(v)
    for j in range(v.size):
        size = max(0.0, t - (m - abs(v[j])))
        out[j] = -size if v[j] < 0.0 and size > 0.0 else size  # never −0.0
    return out


@njit(cache=True, nogil=True)
def project_simplex(v: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Projection of v onto {θ ≥ 0, Σθ = radius}."""
    m, t = simplex_level(v, False, radius)
    out = np.empty_like(v)
    for j in range(v.size):
        out[j] = max(0.0, t - (m - v[j]))
    return out
