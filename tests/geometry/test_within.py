"""The prox of a penalty over a set is that of their sum, which Dykstra's iteration finds from each alone."""

from typing import Any

import numpy as np
import pytest

from hullabaloo.errors import CapabilityError
from hullabaloo.geometry import (
    Box,
    Cardinality,
    ElasticNetPenalty,
    GroupBall,
    GroupPenalty,
    Intervals,
    L1Ball,
    L1Penalty,
    L2Ball,
    LpBall,
    NuclearPenalty,
    PenaltyWithFreeIntercept,
    Polytope,
    Simplex,
    SquaredL2Penalty,
    SubmodularBall,
    SubmodularPenalty,
    prox_within,
    require_within,
    with_intercept,
)
from hullabaloo.geometry.within import Kinks

GROUPS = ((0, 1), (2, 3))
SETS = [L1Ball(0.8), L2Ball(0.7), LpBall(1.5, 0.6), Box(-0.2, 0.5), Simplex(0.7), GroupBall(GROUPS, 0.5)]
SETS += [
    SubmodularBall(Intervals(), 0.6),
    Polytope(((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.5, 0.0), (0.0, 0.0, -1.0, 0.3))),
]
PAIRS: list[Any] = [(body, SquaredL2Penalty(0.8)) for body in SETS]
PAIRS += [(body, penalty) for body in (L1Ball(0.8), L2Ball(0.7), Box(-0.2, 0.5), Simplex(0.7)) for penalty in (L1Penalty(0.3), ElasticNetPenalty(0.6, 0.4))]  # fmt: skip
PAIRS += [(L2Ball(0.7), penalty) for penalty in (GroupPenalty(GROUPS, 0.3), NuclearPenalty(0.4, 2))]
PAIRS += [(L2Ball(0.7), SubmodularPenalty(Intervals(), 0.2)), (Box(0.1, 0.6), Kinks(np.array([0.3, 0.0, 0.1, 0.9])))]


@pytest.mark.few(15)
@pytest.mark.parametrize(("body", "penalty"), PAIRS, ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_it_is_the_prox_of_the_sum(body: Any, penalty: Any, intercept: bool) -> None:
    rng = np.random.default_rng(0)
    if intercept:
        body, penalty = with_intercept(body, -0.1, 0.4), PenaltyWithFreeIntercept(penalty)
    require_within(penalty, body, 4, "A test")
    for scale in (0.2, 1.0, 5.0):
        v, step = scale * rng.normal(size=4 + intercept), float(rng.uniform(0.2, 2.0))
        x, p, q = v, np.zeros_like(v), np.zeros_like(v)
        for count in range(20_000):  # Bauschke and Combettes (2008); it may stand still for a while
            y = penalty.prox(x + p, step)
            p = x + p - y
            new = body.project(y + q)
            q = y + q - new
            if count > 300 and np.abs(new - x).max() < 1e-13:
                break
            x = new
        assert prox_within(penalty, body, v, step) == pytest.approx(x, abs=1e-8)


@pytest.mark.parametrize(
    ("body", "penalty"),
    [
        (GroupBall(GROUPS, 0.5), L1Penalty(0.1)),
        (L1Ball(1.0), GroupPenalty(GROUPS, 0.3)),
        (Box(-1.0, 1.0), NuclearPenalty(0.4, 2)),
        (L1Ball(1.0), Kinks(np.array([0.3, 0.0, 0.1, 0.9]))),
        (LpBall(1.5, 0.6), SubmodularPenalty(Cardinality(), 0.1)),
    ],
    ids=str,
)
def test_what_is_not_known_is_refused_in_a_sentence(body: Any, penalty: Any) -> None:
    with pytest.raises(CapabilityError, match=r"A test was asked for the set .* together"):
        require_within(PenaltyWithFreeIntercept(penalty), with_intercept(body, -1.0, 1.0), 4, "A test")
