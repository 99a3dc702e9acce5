"""Speed of projections against what they contain: a numpy sort of the same vector, an SVD of the same matrix."""

import numpy as np

from benchmarks.timing import alternate
from hullabaloo.geometry import GroupBall, L1Ball, NuclearBall, Simplex

SPEED = True
REPEATS = {1_000: 301, 1_000_000: 15}
SHAPES = {(1_000, 10): 151, (300, 300): 7}


def run() -> dict[str, float]:
    """Median seconds of projections at p = 1e3 and 1e6 and of matrices, and the ratios to the sort and the SVD."""
    results: dict[str, float] = {}
    for p, repeats in REPEATS.items():
        v = np.random.default_rng(0).normal(size=p)
        scattered = np.random.default_rng(1).permutation(p).reshape(-1, 5).tolist()
        bodies = {
            "l1_sparse": L1Ball(1.0),
            "l1_dense": L1Ball(0.4 * p),
            "simplex": Simplex(),
            "group_sparse": GroupBall([range(j, j + 5) for j in range(0, p, 5)], 1.0),
            "group_dense": GroupBall([range(j, j + 5) for j in range(0, p, 5)], 0.2 * p),
            "group_scattered": GroupBall(scattered, 1.0),
        }
        ours = [lambda v=v, body=body: body.project(v) for body in bodies.values()]
        times = alternate(*ours, lambda v=v: np.sort(v), repeats=repeats)
        for name, seconds in zip((*bodies, "numpy_sort"), times, strict=True):
            results[f"{name}_p{p}_seconds"] = seconds
            if name in bodies and name != "simplex":
                results[f"{name}_over_sort_p{p}"] = seconds / times[-1]
    for shape, repeats in SHAPES.items():
        v, name = np.random.default_rng(0).normal(size=shape[0] * shape[1]), f"{shape[0]}x{shape[1]}"
        body = NuclearBall(1.0, shape[1])
        times = alternate(
            lambda v=v, body=body: body.project(v),
            lambda v=v, shape=shape: np.linalg.svd(v.reshape(shape), full_matrices=False),
            repeats=repeats,
        )
        results[f"nuclear_{name}_seconds"], results[f"numpy_svd_{name}_seconds"] = times
        results[f"nuclear_over_svd_{name}"] = times[0] / times[1]
    return results
