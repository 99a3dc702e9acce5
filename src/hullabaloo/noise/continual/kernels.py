"""Numba kernels of continual release: pure functions of arrays, one coordinate like another, one step after the other.

What a step does is the same arithmetic whatever batch it comes in, so batching never changes a bit. No `fastmath`: the encoder
relies on additions whose rounding error is recovered exactly.
"""

import math

import numpy as np

from hullabaloo.compiled import njit

GONE = -40.0
"""exp of less than this adds nothing to 1."""


@njit(cache=True, nogil=True)
def column_norms(later, rates, shares, out):  # type: ignore[no-untyped-def]
    """`sqrt(1 + Σ_p shares_p (1 − exp(rates_p n)))` for n = later, later − 1, …: norms of columns with n steps after their own."""
    for t in range(out.size):
        left = float(later - t)
        total = 1.0
        for p in range(rates.size):
            gone = left * rates[p]
            total += shares[p] if gone < GONE else -shares[p] * math.expm1(gone)
        out[t] = math.sqrt(total)


@njit(cache=True, nogil=True, inline="always")
def _added(high, low, x):  # type: ignore[no-untyped-def]
    """`high + low + x` as a number and what its rounding took off (Knuth's two-sum)."""
    total = high + x
    back = total - high
    rest = low + ((high - (total - back)) + (x - back))
    new = total + rest
    return new, rest - (new - total)


@njit(cache=True, nogil=True)
def encode_buffers(x, norm, loss, weight, high, low, out):  # type: ignore[no-untyped-def]
    """`m_t = v_t + Σ_i w_i b_i` with `v = x/norm`, then `b_i ← (1 − δ_i) b_i + v_t`; b = high + low, compensated."""
    steps, length = x.shape
    v = np.empty(length)
    for t in range(steps):
        m = out[t]
        for j in range(length):
            v[j] = x[t, j] / norm[t]
            m[j] = v[j]
        for i in range(loss.size):
            d, w, h, e = loss[i], weight[i], high[i], low[i]
            for j in range(length):
                m[j] += w * h[j]
                h[j], e[j] = _added(h[j], e[j], v[j] - d * h[j])


@njit(cache=True, nogil=True)
def decode_buffers(m, norm, loss, weight, buffers, out):  # type: ignore[no-untyped-def]
    """`y_t = m_t − Σ_i w_i b_i`, then `b_i ← (1 − δ_i) b_i + y_t`; gives `norm_t y_t`, the noisy vector of step t."""
    steps, length = m.shape
    y = np.empty(length)
    for t in range(steps):
        y[:] = m[t]
        for i in range(loss.size):
            w, b = weight[i], buffers[i]
            for j in range(length):
                y[j] -= w * b[j]
        for i in range(loss.size):
            d, b = loss[i], buffers[i]
            for j in range(length):
                b[j] += y[j] - d * b[j]
        for j in range(length):
            out[t, j] = norm[t] * y[j]


@njit(cache=True, nogil=True)
def running_sums(y, decay, total):  # type: ignore[no-untyped-def]
    """Replace y by `S_t = decay · S_{t−1} + y_t`, in place; `total` holds the last S."""
    steps, length = y.shape
    for t in range(steps):
        for j in range(length):
            total[j] = decay * total[j] + y[t, j]
            y[t, j] = total[j]


@njit(cache=True, nogil=True)
def forget(sums, factor, ring, start):  # type: ignore[no-untyped-def]
    """Replace sums by `S_t − factor · S_{t−w}`, in place; `ring` holds the last w sums, `start` is the step of the first."""
    steps, length = sums.shape
    for t in range(steps):
        old = ring[(start + t) % ring.shape[0]]
        for j in range(length):
            now = sums[t, j]
            sums[t, j] = now - factor * old[j]
            old[j] = now


@njit(cache=True, nogil=True)
def combine(row, history, out):  # type: ignore[no-untyped-def]
    """`out = Σ_s row_s history_s`, added up in the order of the steps."""
    out[:] = 0.0
    for s in range(row.size):
        r, h = row[s], history[s]
        for j in range(out.size):
            out[j] += r * h[j]


@njit(cache=True, nogil=True)
def spread(loss, drive, norm, decay, covariance, cross, variance, out):  # type: ignore[no-untyped-def]
    """Variances of decoded sums under unit noise, step by step, from the modes `z_i ← (1 − ε_i) z_i + a_i m` of the decoder.

    `y = m − Σ a_i z_i`, `S ← decay · S + norm_t y`; the lower half of `covariance` is that of z, `cross` of z
    with S, `variance[0]` of S.
    """
    k = loss.size
    kept = 1.0 - loss
    product = np.empty(k)
    for t in range(out.size):
        n = norm[t]
        product[:] = 0.0
        for i in range(k):
            for j in range(i):
                old = covariance[i, j]
                product[i] += old * drive[j]
                product[j] += old * drive[i]
                covariance[i, j] = kept[i] * kept[j] * old + drive[i] * drive[j]
            old = covariance[i, i]
            product[i] += old * drive[i]
            covariance[i, i] = kept[i] * kept[i] * old + drive[i] * drive[i]
        vary = 1.0
        backward = 0.0
        for i in range(k):
            vary += drive[i] * product[i]
            backward += drive[i] * cross[i]
            cross[i] = kept[i] * (decay * cross[i] - n * product[i]) + n * drive[i]
        variance[0] = decay * decay * variance[0] - 2.0 * decay * n * backward + n * n * vary
        out[t] = variance[0]


@njit(cache=True, nogil=True)
def row_norms(inverse, norm, decay, out):  # type: ignore[no-untyped-def]
    """`‖e_tᵀ A D C⁻¹‖²` for a Toeplitz C⁻¹ with these coefficients and D = diag(norm), A the sums with decay."""
    row = np.zeros(out.size)
    for t in range(out.size):
        total = 0.0
        for s in range(t + 1):
            row[s] = decay * row[s] + norm[t] * inverse[t - s]
            total += row[s] * row[s]
        out[t] = total


@njit(cache=True, nogil=True)
def add_exactly(x, total):  # type: ignore[no-untyped-def]
    """Add all rows to `total[0] + total[1]`, a sum in two words."""
    for t in range(x.shape[0]):
        for j in range(x.shape[1]):
            total[0, j], total[1, j] = _added(total[0, j], total[1, j], x[t, j])


@njit(cache=True, nogil=True)
def encode_nodes(x, start, nodes, out):  # type: ignore[no-untyped-def]
    """The node of step t = start + 1, …: of the level of t's lowest set bit; `nodes[l]` keeps left children until their parent."""
    for i in range(x.shape[0]):
        out[i] = x[i]
        t, level = start + i + 1, 0
        while t % 2 == 0:
            out[i] += nodes[level]
            t, level = t // 2, level + 1
        nodes[level] = out[i]


@njit(cache=True, nogil=True)
def decode_nodes(noisy, start, nodes, out):  # type: ignore[no-untyped-def]
    """The sum of one noisy node per set bit of t, the largest first."""
    for i in range(out.shape[0]):
        t, level = start + i + 1, 0
        while (t >> level) % 2 == 0:
            level += 1
        nodes[level] = noisy[i]
        out[i] = 0.0
        for level in range(nodes.shape[0] - 1, -1, -1):
            if (t >> level) % 2 == 1:
                out[i] += nodes[level]
