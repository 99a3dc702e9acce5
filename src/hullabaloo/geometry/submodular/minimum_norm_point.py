"""The prox of Ω for any set function."""

from hullabaloo.geometry.checks import Vector
from hullabaloo.geometry.submodular.base import SetFunction


def minimum_norm_prox(function: SetFunction, v: Vector, weight: float) -> Vector:
    """argmin over u of weight·Ω(u) + ½‖u − v‖²."""
    raise NotImplementedError
