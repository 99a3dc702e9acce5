"""The Gaussian width of |P|(F) for any set function, E Ω(g)."""

import math

import numpy as np

from hullabaloo.geometry.checks import dimension_number
from hullabaloo.geometry.expected import expected_sorted_sum, near_quadrature
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.extremes import EVERY_SET, every_value
from hullabaloo.geometry.submodular.singletons import singletons
from hullabaloo.geometry.width import Width, expected_norm


def polyhedron_width(function: SetFunction, p: int) -> Width:
    """E Ω(g) for g standard normal in R^p: exact for p ≤ 10, else between bounds; value = high.

    The order of |g| is independent of its sorted magnitudes, and every order equally likely, so that E Ω(g) is that of
    ḡ(|A|), ḡ(k) the mean of F over the sets of k columns. Below: E Ω(g) ≥ Ω(E|g|) = F(V)√(2/π) (Jensen). Above: F(A)
    ≤ min(F(V), the sum of the |A| largest F({j})), a function of the cardinality; Ω(w) ≤ Σ F({j})|w_j|; and |P| lies
    in the l2 ball of √Σ F({j})².
    """
    p = dimension_number(p, function.dimension)
    if p <= EVERY_SET:
        sizes = np.array([m.bit_count() for m in range(1 << p)])
        means = np.bincount(sizes, every_value(function, p)) / np.bincount(sizes)
        return near_quadrature(expected_sorted_sum(np.diff(means)))
    alone = singletons(function, p)
    whole = function.value(np.ones(p, dtype=bool))
    typical = math.sqrt(2.0 / math.pi)
    envelope = np.minimum(whole, np.cumsum(np.sort(alone)[::-1]))
    low = whole * typical * (1.0 - 1e-14)
    high = min(
        float(alone.sum()) * typical,
        expected_sorted_sum(np.diff(envelope, prepend=0.0)) * (1.0 + 1e-10),
        float(np.linalg.norm(alone)) * expected_norm(p),
    )
    return Width(max(low, high), low, max(low, high), "bounds by symmetric functions")
