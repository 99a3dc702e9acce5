"""Speed of the noise: whole releases, key and conversion included, against numpy's unsafe draws in the same run."""

from collections.abc import Callable

import numpy as np

from benchmarks.timing import alternate
from hullabaloo.noise import exponential_mechanism, gaussian, laplace, permute_and_flip, sampler

SPEED = True
VALUES = 1_000_000
CANDIDATES = 200_000


def build_table(density: sampler.Density) -> Callable[[], object]:
    return lambda: sampler.build.__wrapped__(density, 1.37 * 2.0**40)


def run() -> dict[str, float]:
    rng = np.random.default_rng(0)
    x, one = rng.normal(size=VALUES), np.zeros(1)
    scores = rng.normal(size=CANDIDATES)
    ours, theirs, our_laplace, their_laplace = alternate(
        lambda: gaussian(x, 2.5, bound=10.0),
        lambda: rng.normal(0.0, 2.5, VALUES),
        lambda: laplace(x, 2.5, bound=10.0),
        lambda: rng.laplace(0.0, 2.5, VALUES),
        repeats=21,
    )
    exponential, flip = alternate(
        lambda: exponential_mechanism(scores, 1e-3, 1.0, bound=10.0),
        lambda: permute_and_flip(scores, 1e-3, 1.0, bound=10.0),
        repeats=51,
    )
    small, small_theirs, few = alternate(
        lambda: gaussian(one, 2.5, bound=10.0),
        lambda: rng.normal(0.0, 2.5, 1),
        lambda: exponential_mechanism(scores[:10], 1e-3, 1.0, bound=10.0),
        repeats=2001,
    )
    gaussian_table, laplace_table = alternate(build_table(sampler.GAUSSIAN), build_table(sampler.LAPLACE), repeats=21)
    return {
        "gaussian_million_values_ms": ours * 1e3,
        "numpy_normal_million_values_ms": theirs * 1e3,
        "gaussian_over_numpy_ratio": ours / theirs,
        "laplace_million_values_ms": our_laplace * 1e3,
        "numpy_laplace_million_values_ms": their_laplace * 1e3,
        "laplace_over_numpy_ratio": our_laplace / their_laplace,
        "exponential_mechanism_2e5_candidates_ms": exponential * 1e3,
        "permute_and_flip_2e5_candidates_ms": flip * 1e3,
        "gaussian_one_value_us": small * 1e6,
        "numpy_normal_one_value_us": small_theirs * 1e6,
        "exponential_mechanism_10_candidates_us": few * 1e6,
        "gaussian_table_ms": gaussian_table * 1e3,
        "laplace_table_ms": laplace_table * 1e3,
    }
