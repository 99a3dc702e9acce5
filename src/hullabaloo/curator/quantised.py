"""Rows rounded to a lattice so coarse that products of two cells, and sums of a block of products, are exact doubles.

With entries of modulus at most L = 2^l and pitch `2^{l−21}`, a product spans at most 2^42 cells of `2^{2(l−21)}`, and 2048
of them add up below 2^53: any BLAS, with any blocking, order, fused multiply-add or number of threads, computes the
block's Gram matrix without a single rounding.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.exact import magic_number
from hullabaloo.curator.kernels import quantise
from hullabaloo.data.source import RowFacts, Rows

Array = npt.NDArray[np.float64]

BITS = 21
PRODUCT_BLOCK = 1 << (53 - 2 * BITS)


def cells_exponent(facts: RowFacts) -> int:
    """Exponent of the lattice: the largest weighted entry `√W max(|x_ij|, |y_ij|)` is at most `2^21` cells."""
    largest = math.sqrt(facts.max_weight) * max(1.0, facts.norm_linf)
    mantissa, exponent = math.frexp(largest)
    return (exponent - 1 if mantissa == 0.5 else exponent) - BITS


def quantised(rows: Rows, part: slice, exponent: int | None) -> tuple[Any, Array]:
    """Rows of a block times √w, rounded to the lattice (None: as they are); fresh arrays. PRIVATE."""
    X, Y = rows.X[part], rows.Y[part]
    if rows.weight is not None:
        root = np.sqrt(rows.weight[part])[:, None]
        X = X * root if isinstance(X, np.ndarray) else X.multiply(root).tocsr()
        Y = Y * root
    if exponent is None:
        return X, Y
    magic = magic_number(exponent)
    X, Y = X.copy(), Y.copy()
    quantise(X if isinstance(X, np.ndarray) else X.data, magic)
    quantise(Y, magic)
    return X, Y
