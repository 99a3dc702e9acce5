"""Speed of the projection onto the l1 ball, against one numpy sort of the same vector in the same run."""

import numpy as np

from benchmarks.timing import alternate
from hullabaloo.geometry import L1Ball, Simplex

SOURCES = ["benchmarks/timing.py", "src/hullabaloo/geometry"]
REPEATS = {1_000: 301, 1_000_000: 15}


def run() -> dict[str, float]:
    """Median seconds at p = 1e3 and 1e6: a sparse result, a dense result, the simplex, and the sort."""
    results: dict[str, float] = {}
    for p, repeats in REPEATS.items():
        v = np.random.default_rng(0).normal(size=p)
        sparse, dense, simplex = L1Ball(1.0), L1Ball(0.4 * p), Simplex()
        times = alternate(
            lambda v=v, body=sparse: body.project(v),
            lambda v=v, body=dense: body.project(v),
            lambda v=v, body=simplex: body.project(v),
            lambda v=v: np.sort(v),
            repeats=repeats,
        )
        for name, seconds in zip(("l1_sparse", "l1_dense", "simplex", "numpy_sort"), times, strict=True):
            results[f"{name}_p{p}_seconds"] = seconds
        results[f"l1_sparse_over_sort_p{p}"] = times[0] / times[3]
        results[f"l1_dense_over_sort_p{p}"] = times[1] / times[3]
    return results
