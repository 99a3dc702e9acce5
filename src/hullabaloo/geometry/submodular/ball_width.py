"""The Gaussian width of {Ω ≤ 1}, E Ω*(g)."""

import math

import numpy as np

from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.bounded_cardinality import BoundedCardinality
from hullabaloo.geometry.submodular.cardinality import Cardinality
from hullabaloo.geometry.submodular.extremes import longest_of_ball
from hullabaloo.geometry.submodular.norm import dual_omega
from hullabaloo.geometry.submodular.singletons import singletons
from hullabaloo.geometry.width import Width, by_quadrature, closed_form, expected_largest_magnitude, expected_norm


def ball_width(function: SetFunction, p: int) -> Width:
    """E Ω*(g) for g standard normal in R^p: exact where Ω is the l1 or the l∞ norm, else between bounds; value = high.

    Below: Ω*(g) ≥ ‖g‖_∞/max F({j}) and ≥ ‖g‖₁/F(V). Above: the ball lies in those of the norms l1, l2 and l∞ that
    hold it, Ω*(g) ≤ ‖g‖_∞·Ω*(1) and ≤ ‖g‖₁/min F({j}), and ≤ ‖g‖₂·max ‖w‖₂.
    """
    flat, full = expected_largest_magnitude(p), p * math.sqrt(2.0 / math.pi)
    if isinstance(function, Cardinality):
        return by_quadrature(flat)
    if isinstance(function, BoundedCardinality) and function.bound == 1:
        return closed_form(full)
    alone = singletons(function, p)
    l1 = dual_omega(function, np.ones(p)).value
    linf = 1.0 / float(alone.min())
    low = max(flat / float(alone.max()), full / function.value(np.ones(p, dtype=bool)))
    high = min(flat * l1, full * linf, expected_norm(p) * longest_of_ball(function, p))
    return Width(max(low, high), low, max(low, high), "bounds by norms")
