"""The Gaussian and the Laplace release: exact, on a lattice, safe against attacks on floating-point noise.

Both round to the lattice, add an exact integer, and convert once.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import kernels, sampler
from .keys import CHUNK, Key, Keystream, bound_to
from .lattice import Lattice, lattice

REACH = 2.0**62 - 2.0**45  # with |N| < 2^48 the sum stays inside 64 bits


def add_noise(x: ArrayLike, grid: Lattice, density: sampler.Density, key: Key | None) -> NDArray[np.float64]:
    """Release ``y = g·(float(K + N) + ½)``, K = rint(x/g), N = floor(s·W) for W of the given density."""
    exact = np.asarray(x, np.float64, order="C")
    flat = exact.reshape(-1)
    stream = Keystream(bound_to(key, density.power, grid.pitch, grid.ratio, flat))
    y = np.empty(flat.size)
    for start in range(0, flat.size, CHUNK):
        stop = min(start + CHUNK, flat.size)
        part = np.empty(stop - start, np.int64)
        sampler.fill(part, sampler.build(density, grid.ratio), stream)
        kernels.release(flat[start:stop], part, 1 / grid.pitch, grid.pitch, REACH, y[start:stop])
    return y.reshape(exact.shape)


def gaussian(x: ArrayLike, sigma: float, *, bound: float, key: Key | None = None) -> NDArray[np.float64]:
    """Release x with Gaussian noise of standard deviation σ.

    ``y = g·(K + floor(s·Z) + ½)``, Z ~ N(0, 1), K = rint(x/g), with the pitch g and s = σ/g of `lattice(sigma, bound)`.

    Parameters
    ----------
    x : array of float64, any shape
        The exact answer. Private: no value of it raises, or changes anything but y.
    sigma : float
        Standard deviation of the noise, in the units of x. Public.
    bound : float
        Largest magnitude an entry of x can have, by construction. Public.
    key : TestKey, optional
        Fixes the noise, in tests only. By default a fresh key comes from the operating system for each call.

    Returns
    -------
    ndarray
        y, of the shape of x.

    Raises
    ------
    InvalidParameter
        When sigma or bound is not a positive finite number, or key is neither None nor a key.
    CalibrationError
        When bound/sigma exceeds 2^35.

    Notes
    -----
    **Guarantee.** *Precondition*: neighbours' exact answers differ by at most Δ in l2 norm (numeric error of the query
    included), and lie within ±bound (else they are clipped, which is 1-Lipschitz). *Claim*: with
    ``Δ' = inflated(Δ, sigma, x.size, bound) = Δ + g√p``, y is Δ'/σ-GDP, so every accounting of the Gaussian mechanism
    holds for it (Rényi, PLD, subsampling, adaptive composition), with ``(1 + e^ε)·p·2^-130`` added to δ; computational,
    as randomness is AES-256. *Proof*: K is an integer, so ``K + floor(sZ) = floor(K + sZ)``: a function of the
    continuous Gaussian mechanism applied to K. Rounding moves each coordinate's difference by at most one cell, so the
    l2 sensitivity of gK is Δ'. What follows (int64 addition, which cannot overflow, and one conversion to double) is a
    function of that integer. Z is cut at 13.25σ, of mass 2^-130 (erfc(13.25/√2) < 2^-130). The discrete Gaussian does
    not have this property. NaN → 0 is a guard that no query of this library reaches.

    Source: Dong, Roth and Su (2019), Theorem 2.7 and Proposition 2.8 (post-processing);
    attacks that this withstands: Mironov (2012), Haney et al. (2022).

    Examples
    --------
    >>> gaussian([1.0, 2.0], 0.5, bound=10.0).shape
    (2,)

    Source: 003, Theorem A.2.
    """
    return add_noise(x, lattice(sigma, bound), sampler.GAUSSIAN, key)


def laplace(x: ArrayLike, scale: float, *, bound: float, key: Key | None = None) -> NDArray[np.float64]:
    """Release x with Laplace noise of scale b: density ``exp(−|t|/b)/2b``, standard deviation √2 b.

    ``y = g·(K + floor(s·L) + ½)``, L standard Laplace, K = rint(x/g), pitch g and s = b/g of `lattice(scale, bound)`.

    Parameters, errors and result are those of `gaussian`, with `scale` for `sigma`.

    Notes
    -----
    **Guarantee.** *Precondition*: neighbours' exact answers differ by at most Δ₁ in l1 norm. *Claim*: with
    ``Δ' = inflated_l1(Δ₁, scale, x.size, bound) = Δ₁ + g p``, y is (ε, δ)-DP for ε = Δ'/b and
    δ = ``(1 + e^ε)·p·2^-130``: not literally pure, because L is cut at 90.2 b. *Proof*: as for `gaussian`,
    ``K + floor(sL) = floor(K + sL)`` is a function of the continuous Laplace mechanism applied to K.

    Source: Dwork, McSherry, Nissim and Smith (2006), Theorem 1.
    """
    return add_noise(x, lattice(scale, bound), sampler.LAPLACE, key)
