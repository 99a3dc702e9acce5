"""Row-wise kernels: an output row is a function of its input row alone, bit for bit.

They are sequential Numba loops on purpose: the vector loops of NumPy may differ in the last bit with a value's
position, and a record's encoding must not depend on where it stands.
"""

import math

import numpy as np

from hullabaloo.compiled import Floats, Wholes, njit

Csr = tuple[Floats, Wholes, Wholes]  # cells, their columns, and where rows start
L1, L2, LINF = 1, 2, 3


@njit(cache=True, nogil=True, inline="always")
def _transform(code: int, v: float) -> float:  # noqa: PLR0911 - a table of functions, one line each
    """f(v) for the codes of ``transforms.py``."""
    if code == 0:
        return v
    if code == 1:
        return math.log1p(v)
    if code == 2:
        return math.log(v)
    if code == 3:
        return math.log10(v)
    if code == 4:
        return math.sqrt(v)
    if code == 5:
        return v * v
    if code == 6:
        return abs(v)
    return math.asinh(v)


@njit(cache=True, nogil=True, error_model="numpy")
def scale_numeric(values: Floats, bounds: Floats, codes: Wholes, places: Wholes, out: Floats, filled: Floats) -> None:
    """Write scaled numeric columns into ``out``, and those that interactions need, filled, into ``filled``.

    ``values`` (n, m) holds NaN for missing cells; for column j, ``bounds[j] = (lo, hi, mid, half, fill)`` (fill already
    scaled), ``places[j] = (value column, indicator column or −1, filled column or −1)``. A present v becomes
    ``clip((f(clip(v, lo, hi)) − mid)/half, −1, 1)``. A missing one becomes the fill, or, where there is an indicator,
    the pair (0, 1), whose norm is 1 whatever the fill is; the filled column holds the fill in both cases.
    Branches are choices of one of two numbers, so that a row's cells are scaled by vector instructions, whose sums and quotients are IEEE's, too.
    """
    n, m = values.shape
    lo, hi, mid, half, fill = bounds.T.copy()
    value, indicator, kept = places.T.copy()
    plain, alone = not codes.any(), np.all(value == np.arange(m)) and np.all(places[:, 1:] < 0)
    seen, own = np.empty(m), np.empty(m)
    for i in range(n):
        line = out[i] if alone else own
        for j in range(m):
            seen[j] = v = values[i, j]
            v = lo[j] if v < lo[j] else v
            line[j] = hi[j] if v > hi[j] else v
        for j in range(0 if plain else m):
            line[j] = _transform(codes[j], line[j])
        for j in range(m):
            x = (line[j] - mid[j]) / half[j]
            x = -1.0 if x < -1.0 else x
            x = (1.0 if x > 1.0 else x) + 0.0  # adding 0 makes one zero of the two
            line[j] = fill[j] if math.isnan(seen[j]) else x
        for j in range(0 if alone else m):
            out[i, value[j]] = line[j]
            if kept[j] >= 0:
                filled[i, kept[j]] = line[j]
            if indicator[j] >= 0 and math.isnan(seen[j]):
                out[i, value[j]], out[i, indicator[j]] = 0.0, 1.0


@njit(cache=True, nogil=True)
def log_within(values: Floats, lo: float, hi: float, fill: float, out: Floats) -> None:
    """Write ``log(clip(v, lo, hi))``, with ``fill`` for a missing v; 0 < lo ≤ fill ≤ hi."""
    for i in range(values.shape[0]):
        v = values[i]
        out[i] = math.log(fill if math.isnan(v) else min(max(v, lo), hi))


@njit(cache=True, nogil=True, inline="always")
def _norm(values: Floats, start: int, stop: int, kind: int) -> tuple[float, float]:
    """The largest finite |v| = m, and ‖v/m‖ (0 for a zero row): together overflow- and underflow-safe."""
    m = 0.0
    for k in range(start, stop):
        a = abs(values[k])
        if a > m and a < math.inf:
            m = a
    if m == 0.0:
        return 0.0, 0.0
    if kind == LINF:
        return m, 1.0
    s = 0.0
    for k in range(start, stop):
        a = abs(values[k])
        if a < math.inf:
            r = a / m
            s += r if kind == L1 else r * r
    return m, (s if kind == L1 else math.sqrt(s))


@njit(cache=True, nogil=True, inline="always")
def _clipped(v: float, m: float, norm: float, outside: bool, divisor: float, target: float) -> float:
    if not abs(v) < math.inf:
        return 0.0
    if outside:
        return v / m / norm * target + 0.0
    return v / divisor + 0.0


@njit(cache=True, nogil=True, inline="always")
def _safe(p: int) -> float:
    """A factor just below 1 that makes up for rounding.

    With u = 2^-53, a sum of p nonnegative terms of relative error ≤ 3u has relative error ≤ (p + 3)u, and the products
    and quotients around it add less than 8u: (p + 16)·2u covers both a norm found too small and rows scaled too large.
    """
    return 1.0 - (p + 16) * 2.0**-52


@njit(cache=True, nogil=True)
def clip_dense(rows: Floats, kind: int, radius: float, divisor: float, out: Floats) -> None:
    """Write each row, non-finite cells 0, rescaled onto the ball when outside, all divided by ``divisor``.

    Claim: ``‖out_i‖ ≤ radius/divisor`` in the norm ``kind``, in exact arithmetic. Proof: with m the largest |cell| and
    u = ‖x/m‖, ‖x‖ = m u; the row is outside when ``(m/radius) u > 1 − s`` and is then ``(x/m)/u · (1 − s) radius/divisor``,
    where s covers the rounding of all of it (``_safe``). ``rows`` and the first columns of ``out`` may be the same memory.
    ``rows`` may be the caller's, which others may change meanwhile: each cell is looked at once, and its copy is measured and scaled.
    """
    n, p = rows.shape
    safe = _safe(p)
    for i in range(n):
        row = out[i]
        for j in range(p):
            row[j] = rows[i, j]
        m, norm = _norm(row, 0, p, kind)
        outside = m / radius * norm > safe
        for j in range(p):
            out[i, j] = _clipped(row[j], m, norm, outside, divisor, safe * radius / divisor)


@njit(cache=True, nogil=True)
def clip_sparse(
    rows: Csr, kind: int, radius: float, width: int, intercept: bool, cells: Floats, places: Wholes
) -> None:
    """``clip_dense`` for CSR rows, divided by the radius; ``width`` is p; appends 1 in column p where ``intercept``."""
    data, indices, indptr = rows
    k = 0
    safe = _safe(width)
    for i in range(indptr.shape[0] - 1):
        start, stop = indptr[i], indptr[i + 1]
        m, norm = _norm(data, start, stop, kind)
        outside = m / radius * norm > safe
        for q in range(start, stop):
            cells[k] = _clipped(data[q], m, norm, outside, radius, safe * radius / radius)
            places[k] = indices[q]
            k += 1
        if intercept:
            cells[k] = 1.0
            places[k] = width
            k += 1
