"""The precision of projections and proxes that certified minimisers reckon with (`optimise.PROJECTION`).

Every point on the ray from `P(w)` through w has the same projection, and `prox_{2s}(c + 2(v − c)) = c` for `c = prox_s(v)`: two
computations of one exact answer from different numbers, whose difference shows their rounding.
"""

from typing import Any

import numpy as np
import pytest

from hullabaloo.erm.optimise import PROJECTION
from hullabaloo.geometry import ConvexSet, Penalty, Projectable
from tests.laws import zoo


@pytest.mark.few(12)
@pytest.mark.parametrize(("body", "p"), zoo.sets(Projectable, dimensions=(1, 2, 7, 100)), ids=str)
def test_projections_are_as_precise_as_minimisers_assume(body: Any, p: int) -> None:
    assert isinstance(body, ConvexSet)
    rng = np.random.default_rng(p)
    norm = body.max_norm(2.0, p)
    radius = norm if np.isfinite(norm) else 1.0
    for size in (0.5, 2.0, 50.0):
        for _ in range(3):
            w = rng.normal(size=p) * size * radius / np.sqrt(p)
            c = body.project(w)
            beyond = c + 1.7 * (w - c)
            scale = np.linalg.norm(w) + np.linalg.norm(beyond) + 2.0 * radius
            assert np.linalg.norm(body.project(beyond) - c) <= 0.5 * PROJECTION * scale


@pytest.mark.few(8)
@pytest.mark.parametrize(("penalty", "p"), zoo.penalties(2, 7, 100), ids=str)
def test_proxes_are_as_precise_as_minimisers_assume(penalty: Penalty, p: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        v = rng.normal(size=p)
        c = penalty.prox(v, 0.3)
        again = penalty.prox(c + 2.0 * (v - c), 0.6)
        assert np.linalg.norm(again - c) <= 0.5 * PROJECTION * (2.0 + 3.0 * np.linalg.norm(v))
