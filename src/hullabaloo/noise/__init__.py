"""The only room that draws privacy noise: keys, exact samplers, Gaussian, Laplace and selection."""

from hullabaloo.noise.contest import Contest
from hullabaloo.noise.keys import Key, ReleaseKey, TestKey
from hullabaloo.noise.lattice import Lattice, cells, gaussian_scale, inflated, inflated_l1, laplace_scale, lattice
from hullabaloo.noise.release import gaussian, laplace
from hullabaloo.noise.selection import exponential_mechanism, permute_and_flip

__all__ = [
    "Contest", "Key", "Lattice", "ReleaseKey", "TestKey", "cells", "exponential_mechanism", "gaussian",
    "gaussian_scale", "inflated", "inflated_l1", "laplace", "laplace_scale", "lattice", "permute_and_flip",
]  # fmt: skip
