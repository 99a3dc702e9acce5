"""The only room that draws privacy noise: keys, exact samplers, Gaussian, Laplace and selection."""

from hullabaloo.noise.contest import Contest as Contest
from hullabaloo.noise.keys import Key as Key
from hullabaloo.noise.keys import ReleaseKey as ReleaseKey
from hullabaloo.noise.keys import TestKey as TestKey
from hullabaloo.noise.lattice import Lattice as Lattice
from hullabaloo.noise.lattice import cells as cells
from hullabaloo.noise.lattice import gaussian_scale as gaussian_scale
from hullabaloo.noise.lattice import inflated as inflated
from hullabaloo.noise.lattice import inflated_l1 as inflated_l1
from hullabaloo.noise.lattice import laplace_scale as laplace_scale
from hullabaloo.noise.lattice import lattice as lattice
from hullabaloo.noise.release import gaussian as gaussian
from hullabaloo.noise.release import laplace as laplace
from hullabaloo.noise.selection import exponential_mechanism as exponential_mechanism
from hullabaloo.noise.selection import permute_and_flip as permute_and_flip
