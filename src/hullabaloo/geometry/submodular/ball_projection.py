"""Projection onto {Ω ≤ radius}."""

import numpy as np

from hullabaloo.geometry.checks import Vector, vector
from hullabaloo.geometry.roots import increasing_root
from hullabaloo.geometry.submodular.base import SetFunction
from hullabaloo.geometry.submodular.norm import dual_omega, omega, prox


def project_ball(function: SetFunction, theta: Vector, radius: float) -> Vector:
    """argmin ½‖u − θ‖² over Ω(u) ≤ radius; a copy of θ inside."""
    theta = vector(theta, dimension=function.dimension)
    if omega(function, theta) <= radius:
        return theta.copy()
    high = dual_omega(function, theta).value
    tau = increasing_root(lambda weight: radius - omega(function, prox(function, theta, weight)), 0.0, high)
    return prox(function, theta, tau)
