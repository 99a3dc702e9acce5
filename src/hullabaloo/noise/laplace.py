"""The Laplace release: exact, on a lattice, like the Gaussian's."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import sampler
from .keys import Key
from .lattice import lattice
from .release import add_noise


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
