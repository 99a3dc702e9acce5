"""Widths of every set are enclosed: independent draws lie within, and the upper end is near."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hullabaloo.geometry import (
    BoundedCardinality,
    ConcaveCardinality,
    ConvexSet,
    ElasticBall,
    GroupCover,
    Intervals,
    L1Ball,
    NuclearBall,
    Polytope,
    SubmodularBall,
    Width,
    with_intercept,
)
from hullabaloo.planning.theory.certified_width import certified_width

P, DRAWS = 36, 1500
CORNERS = np.random.default_rng(0).normal(size=(9, P))
BODIES = {
    "far corners": Polytope(np.vstack([CORNERS, 4.0 * CORNERS[:1]])),
    "a heap far off": Polytope(5.0 + 0.1 * CORNERS),
    "elastic": ElasticBall(0.5, 1.0),
    "nuclear": NuclearBall(1.0, 6),
    "largest": SubmodularBall(BoundedCardinality(6), 1.0),
    "concave": SubmodularBall(ConcaveCardinality([k**-0.5 for k in range(1, P + 1)]), 1.0),
    "groups": SubmodularBall(GroupCover([range(j, j + 6) for j in range(0, P, 6)]), 1.0),
    "intervals": SubmodularBall(Intervals(P), 1.0),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", BODIES)
def test_the_upper_end_is_above_the_width_and_within_a_seventh_of_it(name: str) -> None:
    """Own draws' mean, six of its standard errors aside: a false alarm below 1e-8."""
    body, rng = BODIES[name], np.random.default_rng(1)
    found = certified_width(body, P)
    seen = np.array([body.support(g) for g in rng.normal(size=(DRAWS, P))])
    error = 6.0 * seen.std() / math.sqrt(DRAWS)
    assert found.low - error <= seen.mean() <= found.high + error
    assert found.high <= 1.15 * seen.mean() + error
    known = body.gaussian_width(P)
    assert known.low <= found.low
    assert found.high <= known.high
    assert certified_width(body, P) == found


def test_what_is_known_exactly_stays_as_it_is() -> None:
    assert certified_width(L1Ball(2.0), P) == L1Ball(2.0).gaussian_width(P)


def test_an_intercept_adds_its_own_width() -> None:
    """Over [−8, 8]: 16/√(2π), exactly; and nothing to what the slopes' width is off by."""
    alone, both = (
        certified_width(NuclearBall(1.0, 6), P),
        certified_width(with_intercept(NuclearBall(1.0, 6), -8.0, 8.0), P + 1),
    )
    assert both.high - alone.high == pytest.approx(16.0 / math.sqrt(2.0 * math.pi))
    assert both.high - both.low == pytest.approx(alone.high - alone.low)


def test_a_set_of_ones_own_of_which_only_an_upper_end_is_known() -> None:
    """{θ ≥ 0, Σθ ≤ 1}, of which E max(0, max g) is the width."""

    @dataclass(frozen=True)
    class Portfolio(ConvexSet):
        radius: float
        dimension = None

        def support(self, g: Any) -> float:
            return self.radius * max(float(np.max(g)), 0.0)

        def max_norm(self, q: float, p: int) -> float:
            return self.radius

        def gaussian_width(self, p: int) -> Width:
            larger = L1Ball(self.radius).gaussian_width(p).high
            return Width(larger, 0.0, larger, "at most that of the l1 ball")

        def vertex(self, g: Any) -> Any:
            raise NotImplementedError

        def contains(self, theta: Any, tolerance: float = 1e-9) -> bool:
            raise NotImplementedError

        def start(self, p: int) -> Any:
            raise NotImplementedError

        def to_dict(self) -> dict[str, Any]:
            return {"kind": "portfolio", "radius": self.radius}

    found = certified_width(Portfolio(1.0), P)
    exact = np.random.default_rng(2).normal(size=(100_000, P)).max(axis=1).clip(0.0).mean()
    assert 0.0 < found.low <= exact <= found.high < L1Ball(1.0).gaussian_width(P).high
