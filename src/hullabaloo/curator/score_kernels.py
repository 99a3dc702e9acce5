"""Kernels of the score query: predictions, each from its own record and the coefficients alone."""

from hullabaloo.compiled import njit
from hullabaloo.curator.gradient_kernels import product


@njit(cache=True, nogil=True)
def dense_predictions(X, theta, out):  # type: ignore[no-untyped-def]  # numba kernel
    """Write `⟨x, θ_m⟩` of every row; θ is (k, p), added up in the one order of `product`."""
    for i in range(X.shape[0]):
        for m in range(theta.shape[0]):
            out[i, m] = product(X[i], theta[m])


@njit(cache=True, nogil=True)
def sparse_predictions(data, indices, indptr, theta, out):  # type: ignore[no-untyped-def]
    """The same for rows in compressed sparse row form, in the order of their cells."""
    for i in range(indptr.size - 1):
        for m in range(theta.shape[0]):
            total = 0.0
            for at in range(indptr[i], indptr[i + 1]):
                total += data[at] * theta[m, indices[at]]
            out[i, m] = total
