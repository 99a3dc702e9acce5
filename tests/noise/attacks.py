"""Attacks on floating-point noise, as lower bounds on ε that hold with a stated confidence.

*Precision* (Haney et al. 2022, generalised): cells are (sign, binade of |y|, leading bits below it, exponent of the
lowest set bit); the event, a union of cells, is chosen on one half of the samples and measured on the other. Leading
bits matter: whole binades miss mechanisms that finer cells break. *Porous* (Mironov 2012): is y an output that
inverse-CDF Laplace noise can reach from x at all?
"""

import ctypes
import math

import numba as nb
import numpy as np
from scipy import optimize, special, stats

DELTA = 1e-5
FALSE_ALARM = 1e-7  # of one sweep: four confidence bounds, each with a quarter of it


def lower(count, total, alarm):
    """Clopper-Pearson lower confidence bound."""
    count = np.asarray(count)
    bound = stats.beta.ppf(alarm, np.maximum(count, 1), total - count + 1)
    return np.where(count == 0, 0.0, bound)


def upper(count, total, alarm):
    return 1 - lower(total - np.asarray(count), total, alarm)


def sigma_for(epsilon, delta=DELTA):
    """Noise that makes a query of sensitivity 1 (ε, δ)-DP in real arithmetic (Balle and Wang 2018)."""

    def excess(mu):
        return special.ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * special.ndtr(-mu / 2 - epsilon / mu) - delta

    return 1 / optimize.brentq(excess, 1e-6, 50)


def cells(y, leading):
    """Number each sample's cell; `leading` bits below the leading one refine the binade."""
    mantissa, exponent = np.frexp(y)
    digits = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    lowest = np.where(digits == 0, 1, digits & -digits)
    trailing = np.round(np.log2(lowest.astype(float))).astype(np.int64)
    sub = np.clip((np.abs(mantissa) * 2 - 1) * 2**leading, 0, 2**leading - 1).astype(np.int64)
    binade = np.clip(exponent, -600, 600).astype(np.int64)
    bit = np.clip(binade - 53 + trailing, -1100, 600) + 1200
    return sub << 42 | (y < 0).astype(np.int64) << 40 | (binade + 1000) << 20 | bit


def sweep(y0, y1, leading):
    """Largest ε that the best union of cells proves, at DELTA, wrong with probability FALSE_ALARM at most."""
    half, alarm, best = y0.size // 2, FALSE_ALARM / 4, 0.0
    c0, c1 = cells(y0, leading), cells(y1, leading)
    for likely, unlikely in ((c0, c1), (c1, c0)):
        names, index = np.unique(np.r_[likely[:half], unlikely[:half]], return_inverse=True)
        a = np.bincount(index[:half], minlength=names.size)
        b = np.bincount(index[half:], minlength=names.size)
        order = np.argsort(-(a + 0.5) / (b + 0.5), kind="stable")
        gain = np.maximum(lower(np.cumsum(a[order]), half, alarm) - DELTA, 1e-300)
        chosen = names[order[: 1 + np.argmax(gain / upper(np.cumsum(b[order]), half, alarm))]]
        rest = y0.size - half
        p = float(lower(np.isin(likely[half:], chosen).sum(), rest, alarm))
        q = float(upper(np.isin(unlikely[half:], chosen).sum(), rest, alarm))
        if p > DELTA:
            best = max(best, math.log((p - DELTA) / q))
    return best


_libm = ctypes.CDLL("libm.so.6")
_libm.log.restype, _libm.log.argtypes = ctypes.c_double, [ctypes.c_double]
_log = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(("log", _libm))


@nb.njit
def _reachable(y, x, scale, tries, log):
    out = np.zeros(y.size, np.bool_)
    for i in range(y.size):
        middle = math.floor(math.exp(-abs(y[i] - x) / scale) * 0.5 * 2.0**53 + 0.5)
        for k in range(-tries, tries + 1):
            u = (middle + k) * 2.0**-53
            if 0 < u < 0.5 and x + scale * log(u + u) == y[i]:
                out[i] = True
                break
            u = 1 - u
            if 0.5 <= u < 1 and x - scale * log(2.0 - u - u) == y[i]:
                out[i] = True
                break
    return out


def porous(y0, y1, scale):
    """ε proved by the event "y cannot come from x = 1 by inverse-CDF Laplace noise on a grid of 2^53 uniforms"."""
    alarm = FALSE_ALARM / 4
    from_0 = (~_reachable(y0, 1.0, scale, 24, _log)).sum()
    from_1 = (~_reachable(y1, 1.0, scale, 24, _log)).sum()
    best = 0.0
    for a, b in ((from_0, from_1), (y0.size - from_0, y0.size - from_1), (from_1, from_0)):
        p, q = float(lower(a, y0.size, alarm)), float(upper(b, y0.size, alarm))
        if p > DELTA:
            best = max(best, math.log((p - DELTA) / q))
    return best


def textbook(y0, y1):
    """ε proved by the event of the first precision attacks: y is no multiple of 2^-53."""
    alarm, best = FALSE_ALARM / 4, 0.0
    fine = [int(np.count_nonzero(np.ldexp(y, 53) != np.rint(np.ldexp(y, 53)))) for y in (y0, y1)]
    for a, b in (fine, fine[::-1]):
        p, q = float(lower(a, y0.size, alarm)), float(upper(b, y0.size, alarm))
        if p > DELTA:
            best = max(best, math.log((p - DELTA) / q))
    return best
