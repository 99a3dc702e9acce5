"""The log-odds of two classes, from those to which steps by cut derivatives have come."""

import numpy as np
from scipy.special import expit

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
WEIGHTS /= WEIGHTS.sum()


def uncut(level: float, spread: float, kept: float, slope: float) -> float:
    """The log-odds b of two classes where derivatives cut at κ (`kept`) have the mean `slope` at `level`; predictions vary normally by `spread` around either.

    A record's derivative is the chance of the class that it is not of: those of the rarer class are the long ones, and cut they weigh less. With p the chances at
    `level` and π those at b, b solves `E[(1 − π) min(p, κ)] − E[π min(1 − p, κ)] = slope`. Without spread and slope that is `π/(1 − π) = p/κ` where `p ≤ κ < 1 − p`. b
    lies between `level` and even odds: what is cut makes a class look rarer.
    """
    low, high = sorted((level, 0.0))
    z, found = level + spread * NODES, level
    up, down = WEIGHTS * np.minimum(expit(-z), kept), WEIGHTS * np.minimum(expit(z), kept)
    for _ in range(30):  # Newton's steps, which stop to move after five to fifteen
        chance, other = expit(found + spread * NODES), expit(-found - spread * NODES)
        out = float(other @ down - chance @ up) - slope
        steep = max(float((chance * other) @ (up + down)), 1e-300)  # 0 where every chance is 0 or 1
        found = min(max(found + out / steep, low), high)
    return found
