"""How the table of `buffers.py` was made: `python -m hullabaloo.noise.continual.tuning` prints it (20 seconds).

For each number of steps T the product `(1 + Σ c_k²)^½ (Σ_{k<T} b_k²)^½`, column norm times largest error of the factorisation of
prefix sums, is minimised over losses and weights, each solution starting from its neighbours'.
"""

import math

import numpy as np

from hullabaloo.noise.continual.base import Array
from hullabaloo.noise.continual.design import Design

SECTIONS = {4: (4, 12, 14), 5: (14, 16, 18), 6: (18, 20, 24), 8: (24, 32, 40)}
"""Buffers -> exponents of the numbers of steps 2^e: first, the one begun with, last. Each within 0.4 % of the best Toeplitz."""


def unpack(v: Array) -> tuple[Array, Array]:
    """Losses and weights from free parameters: logits, then logarithms."""
    logits, logs = np.split(v, 2)
    return 1.0 / (1.0 + np.exp(-logits)), np.exp(logs)


def objective(v: Array, steps: int) -> float:
    """Logarithm of the largest error at column norm 1; steep where buffers meet."""
    loss, weight = unpack(v)
    if np.any(np.diff(v[: loss.size]) < 0.05) or weight.sum() > 1.5:
        return 10.0
    found = Design(tuple(loss), tuple(weight), 1.0, None)
    return math.log(found.column_norm(steps - 1) * float(found.errors(np.array([steps]))[0]))


def tuned(steps: int, start: Array) -> Array:
    """A local minimum from a start: quasi-Newton, simplex, quasi-Newton."""
    from scipy.optimize import minimize

    v = minimize(objective, start, (steps,), method="BFGS", options={"maxiter": 400, "gtol": 1e-7}).x
    simplex = {"maxiter": 3000, "xatol": 1e-5, "fatol": 1e-11, "adaptive": True}
    v = minimize(objective, v, (steps,), method="Nelder-Mead", options=simplex).x
    return np.asarray(minimize(objective, v, (steps,), method="BFGS", options={"maxiter": 400, "gtol": 1e-8}).x)


def ladder(steps: int, buffers: int) -> Array:
    """A geometric ladder of losses to begin with."""
    loss = np.geomspace(1.5 / steps, 0.45, buffers)
    weight = 0.35 * np.sqrt(loss * math.log(loss[1] / loss[0]) / 2.3)
    return np.concatenate((np.log(loss / (1.0 - loss)), np.log(weight)))


def section(buffers: int) -> dict[int, Array]:
    """The parameters for one number of buffers, on a grid of factors of 4."""
    first, begin, last = SECTIONS[buffers]
    found = {begin: tuned(1 << begin, tuned(1 << begin, ladder(1 << begin, buffers)))}
    for exponents in (range(begin + 2, last + 1, 2), range(begin - 2, first - 1, -2)):
        before, now = None, found[begin]
        for e in exponents:
            starts = [now if before is None else 2.0 * now - before, now]
            best = min((tuned(1 << e, start) for start in starts), key=lambda v: objective(v, 1 << e))
            found[e] = tuned(1 << e, best)
            before, now = now, found[e]
    return dict(sorted(found.items()))


if __name__ == "__main__":
    for k in SECTIONS:
        print(f"    {k}: {{")
        for e, v in section(k).items():
            rows = ("(" + ", ".join(f"{value:.6g}" for value in part) + ")" for part in unpack(v))
            print(f"        {e}: ({', '.join(rows)}),")
        print("    },")
