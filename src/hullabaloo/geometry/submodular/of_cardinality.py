"""Set functions F(A) = g(|A|), for which a sort is all that a norm takes."""

from abc import ABC, abstractmethod

import numpy as np

from hullabaloo.geometry.checks import Vector, vector
from hullabaloo.geometry.expected import expected_sorted_sum, near_quadrature
from hullabaloo.geometry.width import Width


class HasCardinalityForm(ABC):
    """F(A) = g(|A|) with g concave: Ω is a sum of sorted magnitudes, Σ_k (g(k) − g(k−1)) |w|_(k)."""

    __slots__ = ()

    @abstractmethod
    def steps(self, p: int) -> Vector:
        """g(k) − g(k−1) for k = 1..p, falling and at least 0; (p,)."""


def sorted_prox(v: Vector, steps: Vector, weight: float) -> Vector:
    """argmin over u of weight·Σ steps_k |u|_(k) + ½‖u − v‖².

    Signs and order of v are those of u, so that |u| in this order is the nearest falling vector, at least 0, to
    |v| − weight·steps (Bogdan et al. 2015, Proposition 2.2).
    """
    from hullabaloo.geometry.submodular.isotonic_kernels import sorted_fit

    v = np.ascontiguousarray(vector(v))
    below = np.abs(v)
    np.negative(below, out=below)
    order = np.argsort(below)
    if below[order[0]] < -1e280:  # sums would overflow
        return sorted_prox(v * 2.0**-64, steps, weight * 2.0**-64) * 2.0**64
    u: Vector = sorted_fit(v, order, steps, weight, below)
    return u


def sorted_width(steps: Vector) -> Width:
    """E Σ_k steps_k |g|_(k), the width of |P|."""
    return near_quadrature(expected_sorted_sum(steps))
