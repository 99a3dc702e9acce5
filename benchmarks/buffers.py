"""How the tables of `noise/continual/buffers.json` were made: `python -m benchmarks.buffers` prints them (some minutes).

For each number of steps T the product `(Σ_{k<T} c_k²)^½ (Σ_{k<T} b_k²)^½`, column norm times largest error of the factorisation of
prefix sums, is minimised over losses and weights, each solution starting from its neighbours'; for each window w the same with
the b of sums over a window, T without end; and for a stream that may end at any time up to 2^28 the largest ratio, over all
times, of its error to the least for that end.
"""

import json
import math
from typing import Any

import numpy as np

from hullabaloo.noise.continual.base import Array
from hullabaloo.noise.continual.buffered import BufferedToeplitz
from hullabaloo.noise.continual.choose import largest_error
from hullabaloo.noise.continual.design import Design, Parameters, prefix
from hullabaloo.privacy.schedule import FOREVER

PREFIX = {4: (4, 12, 14), 5: (14, 16, 18), 6: (18, 20, 24), 8: (24, 32, 40)}
"""Buffers -> exponents of the numbers of steps 2^e: first, the one begun with, last. Each within 0.4 % of the best Toeplitz."""
WINDOWS = {1: (1, 2, 4), 2: (4, 5, 9), 3: (9, 10, 12), 4: (12, 14, 20)}
"""Buffers -> exponents of windows of 2^e steps."""


def unpack(v: Array) -> tuple[Array, Array]:
    """Losses and weights from free parameters: logits, then logarithms."""
    logits, logs = np.split(v, 2)
    return 1.0 / (1.0 + np.exp(-logits)), np.exp(logs)


def objective(v: Array, steps: int, window: int | None) -> float:
    """Logarithm of the largest error at column norm 1; steep where buffers meet and where the inverse changes sign."""
    loss, weight = unpack(v)
    if np.any(np.diff(v[: loss.size]) < 0.05) or np.sum(weight / (1.0 - loss)) > 0.9998:
        return 10.0
    found = Design(tuple(loss), tuple(weight), 1.0, window)
    return math.log(found.column_norm(steps - 1) * float(found.errors(np.array([steps]))[0]))


def tuned(about: tuple[int, int | None], start: Array) -> Array:
    """A local minimum from a start: quasi-Newton, simplex, quasi-Newton."""
    from scipy.optimize import minimize

    v = minimize(objective, start, about, method="BFGS", options={"maxiter": 400, "gtol": 1e-7}).x
    simplex = {"maxiter": 3000, "xatol": 1e-5, "fatol": 1e-11, "adaptive": True}
    v = minimize(objective, v, about, method="Nelder-Mead", options=simplex).x
    return np.asarray(minimize(objective, v, about, method="BFGS", options={"maxiter": 400, "gtol": 1e-8}).x)


def ladder(steps: int, buffers: int) -> Array:
    """A geometric ladder of losses to begin with."""
    loss = np.geomspace(1.5 / steps, 0.45, buffers) if buffers > 1 else np.array([0.5])
    weight = 0.35 * np.sqrt(loss * math.log(0.3 * steps) / max(1, buffers - 1) / 2.3)
    return np.concatenate((np.log(loss / (1.0 - loss)), np.log(weight)))


def section(buffers: int, exponents: tuple[int, int, int], *, windows: bool) -> dict[int, Array]:
    """The parameters for one number of buffers, on a grid of factors of 4 (of 2 for short windows)."""
    first, begin, last = exponents
    stride = 1 if windows and buffers < 4 else 2

    def about(e: int) -> tuple[int, int | None]:
        return (FOREVER, 1 << e) if windows else (1 << e, None)

    found = {begin: tuned(about(begin), tuned(about(begin), ladder(1 << begin, buffers)))}
    for others in (range(begin + stride, last + 1, stride), range(begin - stride, first - 1, -stride)):
        before, now = None, found[begin]
        for e in others:
            starts = [now if before is None else 2.0 * now - before, now]
            best = min((tuned(about(e), start) for start in starts), key=lambda v: objective(v, *about(e)))
            found[e] = tuned(about(e), best)
            before, now = now, found[e]
    return dict(sorted(found.items()))


def least(steps: int) -> float:
    """The least error for a known end: with normalised columns, which gain 0.19 where they are not computed."""
    if steps <= 1 << 20:
        return largest_error(BufferedToeplitz(steps))
    return math.exp(objective(pack(prefix(steps)), steps, None)) - 0.19


def pack(parameters: Parameters) -> Array:
    """The inverse of `unpack`."""
    loss, weight = (np.array(part) for part in parameters)
    return np.concatenate((np.log(loss / (1.0 - loss)), np.log(weight)))


def any_time(longest: int = 1 << 28) -> Array:
    """Minimises the largest ratio to `least`, over times a factor √2 apart, through power means of rising exponents."""
    from scipy.optimize import minimize

    times = np.unique(np.rint(2.0 ** np.arange(0.0, math.log2(longest) + 0.01, 0.5)).astype(np.int64))
    references = np.array([least(int(time)) for time in times])

    def ratio(v: Array, exponent: float) -> float:
        loss, weight = unpack(v)
        if np.any(np.diff(v[: loss.size]) < 0.05) or weight.sum() > 2.0:
            return 20.0
        found = Design(tuple(loss), tuple(weight), 1.0, None)
        ratios = np.log(found.column_norm(longest - 1) * found.errors(times) / references)
        return float(ratios.max() + np.log(np.mean(np.exp(exponent * (ratios - ratios.max())))) / exponent)

    v = pack(prefix(longest))
    for exponent in (4.0, 16.0, 64.0, 256.0):
        v = minimize(ratio, v, (exponent,), method="BFGS", options={"maxiter": 200}).x
        simplex = {"maxiter": 2000, "xatol": 1e-5, "fatol": 1e-9, "adaptive": True}
        v = minimize(ratio, v, (exponent,), method="Nelder-Mead", options=simplex).x
    return np.asarray(v)


def shown(v: Array) -> list[list[float]]:
    """Losses and weights as a row of a table."""
    return [[float(f"{value:.6g}") for value in part] for part in unpack(v)]


if __name__ == "__main__":
    found: dict[str, Any] = {}
    for name, sections in (("prefix", PREFIX), ("windows", WINDOWS)):
        found[name] = {
            k: {e: shown(v) for e, v in section(k, exponents, windows=name == "windows").items()}
            for k, exponents in sections.items()
        }
    print(json.dumps({**found, "any_time": shown(any_time())}, indent=1))
