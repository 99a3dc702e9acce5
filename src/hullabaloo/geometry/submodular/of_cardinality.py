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
    from hullabaloo.geometry.submodular.isotonic_kernels import falling_fit

    v = vector(v)
    size = np.abs(v)
    order = np.argsort(-size)
    u = np.empty(v.size)
    u[order] = falling_fit(size[order], steps, weight)
    return np.copysign(u, v) + 0.0


def sorted_width(steps: Vector) -> Width:
    """E Σ_k steps_k |g|_(k), the width of |P|."""
    return near_quadrature(expected_sorted_sum(steps))
