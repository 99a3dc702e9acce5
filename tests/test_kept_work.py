"""Views of a curator pay together and keep work apart: what is kept for one table must never answer for another."""

import math

import numpy as np
import pytest

from hullabaloo.curator import Curator
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.erm.output_perturbation import OutputPerturbationQuery
from hullabaloo.geometry import NoPenalty
from hullabaloo.losses import Loss, Squared
from hullabaloo.losses.single import Huber
from hullabaloo.privacy import Neighbours

N, P, SLOPE = 300, 3, np.array([0.005, -0.01, 0.002])


def rows() -> Rows:
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (N, P))
    return Rows(X, np.column_stack([X @ [0.9, 0.0, -0.4], X @ [-0.3, 0.8, 0.1]]))


def query(loss: Loss, columns: int, mu: float) -> OutputPerturbationQuery:
    names = tuple(f"x{j}" for j in range(columns))
    about = RowFacts(names, False, float(columns), 1.0, 1.0, ("a", "b"))
    return OutputPerturbationQuery(
        about, Neighbours.REPLACE_ONE, N, 40, loss, 0.3, 0.01, None, NoPenalty(), mu, linear_bound=1.0
    )


@pytest.mark.parametrize("mu", [math.inf, 1e6])
@pytest.mark.parametrize("loss", [Squared(), Huber(0.2)], ids=["squared", "huber"])
def test_targets_asked_in_turn_get_their_own_minimisers(loss: Loss, mu: float) -> None:
    asked = query(loss, P, mu)
    together = Curator(rows(), [asked])
    views = [together.of_target(0), together.of_target(1)]
    apart = [Curator(Rows(rows().X, rows().Y[:, [k]]), [asked]) for k in range(2)]
    near = 1e-9 + 20.0 * asked.sigma + 2.0 * (0.0 if math.isinf(mu) else asked.distance)
    for step in range(4):
        found = [view.answer("output_perturbation", step * SLOPE) for view in views]
        for one, alone in zip(found, apart, strict=True):
            assert np.abs(one - alone.answer("output_perturbation", step * SLOPE)).max() <= near
        assert np.abs(found[0] - found[1]).max() > 0.3 > 100.0 * near


def test_views_of_other_columns_get_their_own_minimisers() -> None:
    asked = query(Squared(), 2, math.inf)
    together = Curator(rows(), [query(Squared(), P, math.inf), asked]).of_target(0)
    for step in range(3):
        for columns in ([0, 1], [1, 2]):
            found = together.restricted(columns).answer("output_perturbation", step * SLOPE[:2])
            alone = Curator(Rows(np.ascontiguousarray(rows().X[:, columns]), rows().Y[:, [0]]), [asked])
            assert found == pytest.approx(alone.answer("output_perturbation", step * SLOPE[:2]), abs=1e-9)
