"""Newton's method with double noise, in floats: a yardstick for second_order.py, not a private implementation.

Ganesh, Haghifam, Steinke & Thakurta (2023): every step takes a noisy gradient and a noisy curvature matrix `Σ w(z_i) x_i x_iᵀ`, w the
quadratic majoriser of the logistic loss, `tanh(z/2)/(2z) ≤ ¼`, and steps by the inverse of the second, its eigenvalues raised to
a multiple of their noise. The yardstick is favoured: of all choices of `GRID` the best on the test rows is taken, and in the
centred form the true means and the true median length are given away for nothing.
"""

import itertools
import math

import numpy as np

Array = np.ndarray

GRID = tuple(itertools.product((2, 4), (0.2, 0.5), (False, True)))
"""Steps, share of μ² for curvatures, whether rows are centred and shortened."""
FLOOR = 0.5
"""Least eigenvalue over the spectral radius of the curvatures' noise; 2 was worse on four tables of four."""


def newton(
    X: Array,
    y: Array,
    norm: float,
    mu: float,
    copies: float,
    setting: tuple[int, float, bool],
    rng: np.random.Generator,
) -> Array:
    """θ for rows (x_s, 1) of norm at most `norm`; `copies` is 2 (replace-one) or 1 (add-or-remove)."""
    steps, share, centred = setting
    n, p = X.shape
    centre, length = np.zeros(p), norm
    if centred:
        centre[:-1] = X[:, :-1].mean(axis=0)
        length = float(np.median(np.linalg.norm(X - centre, axis=1)))
    U = X - centre
    U = U * np.minimum(1.0, length / np.maximum(np.linalg.norm(U, axis=1), 1e-300))[:, None]
    gradient_noise = copies * length / (mu * math.sqrt((1.0 - share) / steps)) / n
    matrix_noise = math.sqrt(copies) * 0.25 * length**2 / (mu * math.sqrt(share / steps)) / n
    theta = np.zeros(p)
    for _ in range(steps):
        z = U @ theta
        gradient = U.T @ (-y / (1.0 + np.exp(np.clip(y * z, -700.0, 700.0)))) / n + gradient_noise * rng.normal(size=p)
        weight = np.where(np.abs(z) > 1e-6, np.tanh(0.5 * z) / np.where(z == 0.0, 1.0, 2.0 * z), 0.25)
        noise = rng.normal(0.0, matrix_noise, (p, p))
        values, vectors = np.linalg.eigh((U.T * weight) @ U / n + (noise + noise.T) / 2.0)
        bend = np.maximum(values, FLOOR * matrix_noise * math.sqrt(2.0 * p))
        theta = theta - vectors @ ((vectors.T @ gradient) / bend)
    return np.append(theta[:-1], theta[-1] - float(centre[:-1] @ theta[:-1]))
