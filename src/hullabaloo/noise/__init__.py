"""The only room that draws privacy noise: keys, exact samplers, Gaussian, Laplace and selection."""

from .keys import Key, ReleaseKey, TestKey
from .lattice import Lattice, cells, gaussian_scale, inflated, inflated_l1, laplace_scale, lattice
from .release import gaussian, laplace
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
