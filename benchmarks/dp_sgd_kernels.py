"""The loop of DP-SGD, compiled: Poisson batches, per-record clipping, Gaussian noise, proximal step."""

import math

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def descend(X, y, lengths, logistic, l1, l2, rate, steps, step, clip, noise, rng):  # type: ignore[no-untyped-def]
    """The last iterate and the mean of the second half's; batches by the geometric gaps between chosen records, of mean size `rate` · n."""
    n, p = X.shape
    theta, mean, total = np.zeros(p), np.zeros(p), np.empty(p)
    expected, half = rate * n, steps // 2
    log_left = math.log1p(-rate) if rate < 1.0 else 0.0
    for t in range(steps):
        total[:] = 0.0
        i = -1
        while True:
            i += 1 if rate >= 1.0 else 1 + int(math.log(1.0 - rng.random()) / log_left)
            if i >= n:
                break
            add_clipped(total, X, y, lengths, logistic, theta, i, clip)
        for j in range(p):
            if noise > 0.0:
                total[j] += noise * clip * rng.standard_normal()
            moved = theta[j] - step * total[j] / expected
            left = max(abs(moved) - step * l1, 0.0) / (1.0 + step * l2)
            theta[j] = left if moved > 0.0 else -left
            if t >= half:
                mean[j] += (theta[j] - mean[j]) / (t - half + 1.0)
    return theta, mean


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def add_clipped(total, X, y, lengths, logistic, theta, i, clip):  # type: ignore[no-untyped-def]
    """Add record i's gradient of the loss at θ, shortened to l2 norm at most `clip`."""
    p = X.shape[1]
    z = 0.0
    for j in range(p):
        z += X[i, j] * theta[j]
    slope = -y[i] / (1.0 + math.exp(y[i] * z)) if logistic else z - y[i]
    length = abs(slope) * lengths[i]
    if length > clip:
        slope *= clip / length
    for j in range(p):
        total[j] += slope * X[i, j]
