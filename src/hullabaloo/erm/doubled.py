"""Kernels in doubled precision: gradients of sums over records with some thirty digits.

A number is kept as an unevaluated sum `high + low` of two doubles (Dekker 1971). The building blocks lose nothing: the error of
a sum and of a product of two doubles is a double again (Knuth; Veltkamp's splitting). With u = 2^-53, a product of two such
numbers errs by at most `8u²` of itself, a sum by `4u²` (Joldes, Muller & Popescu 2017), `e^a` for |a| ≤ 700 by 2^-90 of itself.
Nothing here may be compiled with reassociation or contraction.
"""

import math

import numpy as np

from hullabaloo.compiled import njit
from hullabaloo.geometry.kernels import halves, product_by_halves, two_product, two_sum
from hullabaloo.losses.kernels import HUBER, LOGISTIC, MARGIN_TABLE, POISSON, RESIDUAL_TABLE, SMOOTHED_HINGE, SQUARED

_LOG2_HIGH, _LOG2_MIDDLE, _LOG2_LOW = 0.6931471805599453, 2.3190468138462996e-17, 5.707708438416212e-34
_HALVINGS = 9
_TERMS = 10
_FAINT = -200.0  # e^-200 is below 2^-288


@njit(cache=True, nogil=True, inline="always")
def add(a, a_low, b, b_low):  # type: ignore[no-untyped-def]  # numba kernel
    """The sum of two doubled numbers."""
    s, e = two_sum(a, b)
    t, f = two_sum(a_low, b_low)
    s, e = two_sum(s, e + t)
    return two_sum(s, e + f)


@njit(cache=True, nogil=True, inline="always")
def multiply(a, a_low, b, b_low):  # type: ignore[no-untyped-def]
    """The product of two doubled numbers."""
    p, e = two_product(a, b)
    return two_sum(p, e + (a * b_low + a_low * b))


@njit(cache=True, nogil=True, inline="always")
def divide(a, a_low, b, b_low):  # type: ignore[no-untyped-def]
    """The quotient of two doubled numbers: a rounded quotient and one correction by the exact remainder, twice."""
    q = a / b
    p, e = multiply(q, 0.0, b, b_low)
    r, r_low = add(a, a_low, -p, -e)
    q2 = r / b
    p, e = multiply(q2, 0.0, b, b_low)
    r, r_low = add(r, r_low, -p, -e)
    s, t = two_sum(q, q2)
    return two_sum(s, t + r / b)


@njit(cache=True, nogil=True)
def exponential(a, a_low):  # type: ignore[no-untyped-def]
    """`e^a` for a ≤ 700: `2^k (1 + t)^512`, t from the series of `e^{r/512} − 1`; squared without leaving `e − 1`."""
    if a < _FAINT:
        return 0.0, 0.0
    k = float(np.rint(a / _LOG2_HIGH))
    p, e = two_product(-k, _LOG2_HIGH)
    r, r_low = add(a, a_low, p, e)
    p, e = two_product(-k, _LOG2_MIDDLE)
    r, r_low = add(r, r_low, p, e - k * _LOG2_LOW)
    scale = 0.5**_HALVINGS
    r, r_low = r * scale, r_low * scale
    t, t_low = 1.0, 0.0
    for n in range(_TERMS, 1, -1):
        t, t_low = multiply(t, t_low, r, r_low)
        t, t_low = divide(t, t_low, float(n), 0.0)
        t, t_low = add(1.0, 0.0, t, t_low)
    t, t_low = multiply(t, t_low, r, r_low)
    for _ in range(_HALVINGS):
        s, s_low = multiply(t, t_low, t, t_low)
        t, t_low = add(2.0 * t, 2.0 * t_low, s, s_low)
    t, t_low = add(1.0, 0.0, t, t_low)
    power = math.ldexp(1.0, int(k))
    return t * power, t_low * power


@njit(cache=True, nogil=True)
def table_slope(table, t, t_low):  # type: ignore[no-untyped-def]
    """g'(t) of `losses/tabulated.py` at a doubled number: its knots, and differences of its slopes over their distance, are exact doubles."""
    last = table.size - 1
    place = (t - table[0]) / table[1]
    if not place >= -1.0:
        return (table[2], 0.0) if place < 0.0 else (math.nan, 0.0)
    if place > last - 1.0:
        return table[last], 0.0
    i = min(max(int(place), 0), last - 3)
    u, u_low = add(t, t_low, -(table[0] + i * table[1]), 0.0)
    if u < 0.0:  # the tail of t may lie on the other side of a knot
        if i == 0:
            return table[2], 0.0
        i, (u, u_low) = i - 1, add(u, u_low, table[1], 0.0)
    elif u > table[1] or (u == table[1] and u_low >= 0.0):
        if i == last - 3:
            return table[last], 0.0
        i, (u, u_low) = i + 1, add(u, u_low, -table[1], 0.0)
    d, d_low = multiply(u, u_low, (table[3 + i] - table[2 + i]) / table[1], 0.0)
    return add(d, d_low, table[2 + i], 0.0)


@njit(cache=True, nogil=True)
def derivative(code, numbers, z, z_low, y, clip):  # type: ignore[no-untyped-def]  # noqa: PLR0912  # one branch a loss
    """φ'(z, y) clipped to ±clip, for the smooth losses of one prediction."""
    d, d_low = math.nan, 0.0
    if code in (SQUARED, HUBER):
        d, d_low = add(z, z_low, -y, 0.0)
        if code == HUBER:
            clip = min(clip, numbers[0])
    elif code == POISSON:
        if z > 690.0:
            return clip, 0.0
        d, d_low = exponential(z, z_low)
        d, d_low = add(d, d_low, -y, 0.0)
    elif code == RESIDUAL_TABLE:
        d, d_low = add(z, z_low, -y, 0.0)
        d, d_low = table_slope(numbers, d, d_low)
    else:
        m, m_low = multiply(y, 0.0, z, z_low)
        if code == LOGISTIC:
            sign = -1.0 if m > 0.0 else 1.0
            small, small_low = exponential(sign * m, sign * m_low)
            above, above_low = add(1.0, 0.0, small, small_low)
            if m > 0.0:
                d, d_low = divide(small, small_low, above, above_low)
            else:
                d, d_low = divide(1.0, 0.0, above, above_low)
        elif code == SMOOTHED_HINGE:
            s, s_low = two_sum(1.0, numbers[0])
            d, d_low = add(s, s_low, -m, -m_low)
            d, d_low = divide(d, d_low, 2.0 * numbers[0], 0.0)
            if d <= 0.0:
                d, d_low = 0.0, 0.0
            elif d >= 1.0:
                d, d_low = 1.0, 0.0
        elif code == MARGIN_TABLE:
            d, d_low = table_slope(numbers, m, m_low)
        d, d_low = multiply(d, d_low, y if code == MARGIN_TABLE else -y, 0.0)
    if d > clip or (d == clip and d_low > 0.0):
        return clip, 0.0
    if d < -clip or (d == -clip and d_low < 0.0):
        return -clip, 0.0
    return d, d_low


@njit(cache=True, nogil=True)
def dense_doubled(X, y, offset, weight, theta, theta_low, clip, code, numbers, out, out_low):  # type: ignore[no-untyped-def]
    """Add `w_i φ'_i x_i` over the rows to the doubled numbers `out + out_low`, shape (p,)."""
    n, p = X.shape
    whole = p - p % 8
    lane, lost = np.empty(8), np.empty(8)
    theta_high, theta_rest = np.empty(p), np.empty(p)  # split once
    for j in range(p):
        theta_high[j], theta_rest[j] = halves(theta[j])
    for i in range(n):
        row = X[i]
        lane[:] = 0.0
        lost[:] = 0.0
        for j in range(0, whole, 8):
            for m in range(8):
                q, e = product_by_halves(row[j + m], theta[j + m], theta_high[j + m], theta_rest[j + m])
                lane[m], rest = two_sum(lane[m], q)
                lost[m] += rest + (e + row[j + m] * theta_low[j + m])
        z, z_low = (offset[i] if offset.size > 0 else 0.0), 0.0
        for m in range(8):
            z, z_low = add(z, z_low, lane[m], lost[m])
        for j in range(whole, p):
            q, e = two_product(row[j], theta[j])
            z, z_low = add(z, z_low, q, e + row[j] * theta_low[j])
        d, d_low = derivative(code, numbers, z, z_low, y[i], clip)
        if weight.size > 0:
            d, d_low = multiply(d, d_low, weight[i], 0.0)
        if d == 0.0:
            continue
        d_high, d_rest = halves(d)
        for j in range(p):
            q, e = product_by_halves(row[j], d, d_high, d_rest)
            out[j], rest = two_sum(out[j], q)
            out_low[j] += rest + (e + row[j] * d_low)


@njit(cache=True, nogil=True)
def sparse_doubled(  # type: ignore[no-untyped-def]
    data, indices, indptr, y, offset, weight, theta, theta_low, clip, code, numbers, out, out_low
):
    """The same for rows in compressed sparse row form."""
    for i in range(y.size):
        z, z_low = (offset[i] if offset.size > 0 else 0.0), 0.0
        for at in range(indptr[i], indptr[i + 1]):
            q, e = two_product(data[at], theta[indices[at]])
            z, z_low = add(z, z_low, q, e + data[at] * theta_low[indices[at]])
        d, d_low = derivative(code, numbers, z, z_low, y[i], clip)
        if weight.size > 0:
            d, d_low = multiply(d, d_low, weight[i], 0.0)
        if d == 0.0:
            continue
        for at in range(indptr[i], indptr[i + 1]):
            j = indices[at]
            q, e = two_product(data[at], d)
            s, lost = two_sum(out[j], q)
            out_low[j] += lost + (e + data[at] * d_low)
            out[j] = s
