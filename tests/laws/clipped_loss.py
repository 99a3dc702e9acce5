"""The loss whose derivative is a loss's, clipped: what is minimised when per-record derivatives are clipped."""

import numpy as np

from hullabaloo.losses import Loss


def clipped_value(loss: Loss, clip: float, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`φ(z̄) + c|z − z̄|`, z̄ the point nearest to z where |φ'(z̄, y)| ≤ c: by bisection, as φ' does not fall in z."""
    z, y = np.broadcast_arrays(np.asarray(z, dtype=np.float64), np.asarray(y, dtype=np.float64))
    slope, found = loss.derivative(z, y), np.array(loss.value(z, y))
    cut = np.abs(slope) > clip
    z, y, side = z[cut], y[cut], np.sign(slope[cut])  # z̄ lies below z where φ' is above c
    near, far = np.zeros(z.size), np.ones(z.size)
    while z.size and (short := side * loss.derivative(z - side * far, y) > clip).any():
        far = np.where(short, 2.0 * far, far)
    for _ in range(56 if z.size else 0):
        middle = 0.5 * (near + far)
        short = side * loss.derivative(z - side * middle, y) > clip
        near, far = np.where(short, middle, near), np.where(short, far, middle)
    found[cut] = loss.value(z - side * far, y) + clip * far
    return found
