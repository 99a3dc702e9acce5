"""The Gaussian release: exact, on a lattice, safe against attacks on floating-point noise."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import sampler
from .keys import Key
from .lattice import lattice
from .release import add_noise


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
    """
    return add_noise(x, lattice(sigma, bound), sampler.GAUSSIAN, key)
