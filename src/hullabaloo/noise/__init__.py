"""The only room that draws privacy noise: keys, exact samplers, Gaussian, Laplace and selection."""

from .gaussian import gaussian
from .keys import Key, ReleaseKey, TestKey
from .laplace import laplace
from .lattice import Lattice, cells, gaussian_scale, inflated, inflated_l1, laplace_scale, lattice
from .selection import exponential_mechanism, permute_and_flip

__all__ = [
    "Key",
    "Lattice",
    "ReleaseKey",
    "TestKey",
    "cells",
    "exponential_mechanism",
    "gaussian",
    "gaussian_scale",
    "inflated",
    "inflated_l1",
    "laplace",
    "laplace_scale",
    "lattice",
    "permute_and_flip",
]
