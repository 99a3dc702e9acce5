"""Second moments of shortened records, of their curvature and gradients: the formula, and the sensitivity on real neighbours."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from hullabaloo.curator import Curator
from hullabaloo.curator.shortened_moments import GradientMomentsQuery
from hullabaloo.curator.views import AffineView, turned_rows
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import Huber, Logistic, Loss, Poisson, SmoothedHinge, Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.curator.neighbours import facts, pairs, random_rows, reordered
from tests.curator.test_centred_gradient import RELATIONS, TABLES, random_weights

LOSSES: list[Loss] = [Squared(), Logistic(), Poisson(), Huber(0.3), SmoothedHinge(0.5)]
KINDS = GradientMomentsQuery.KINDS


@pytest.mark.few(8)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("about", TABLES.values(), ids=TABLES)
def test_no_neighbour_moves_the_sum_by_more_than_the_sensitivity(relation: Neighbours, about: RowFacts) -> None:
    """Through any matrix, at any point, however far: lengths are undeclared, and the largest move comes near the bound."""
    rng, largest = np.random.default_rng(41), 0.0
    kinds = KINDS if about.records_per_unit > 1 else KINDS[:3]
    for number, (left, right) in enumerate(pairs(rng, relation, about, rounds=120)):
        asked = GradientMomentsQuery(about, relation, 20, 3, 0.5, LOSSES[number % len(LOSSES)])
        theta = rng.normal(0.0, 10.0 ** rng.integers(-3, 200), about.width)
        view, clip_norm = (
            AffineView(np.zeros(about.width), random_weights(rng, about.width)),
            float(10.0 ** rng.uniform(-9.0, 3.0)),
        )
        matrix = rng.normal(size=(about.width, about.width)) * 10.0 ** rng.integers(-3, 100)
        ask = (
            theta,
            kinds[number % len(kinds)],
            view if about.intercept else AffineView(np.zeros(about.width)),
            clip_norm,
        )
        one, other = (asked.exact(turned_rows(rows, matrix), *ask) for rows in (left, right))
        largest = max(largest, float(np.linalg.norm(one - other)))
    assert largest <= asked.sensitivity
    bound = about.records_per_unit * about.max_weight * (math.sqrt(2.0) if relation is Neighbours.REPLACE_ONE else 1.0)
    assert asked.sensitivity <= (1.0 + 1e-5) * bound
    assert largest > 0.3 * bound


@pytest.mark.few(10)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("of", KINDS[:3])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda one: one.name)
def test_the_answer_is_the_formula(loss: Loss, of: str, sparse: bool) -> None:
    about = facts(4, max_weight=3.0, offset=0.5)
    rng = np.random.default_rng(42)
    rows = random_rows(rng, 500, about)
    assert rows.weight is not None
    assert rows.offset is not None
    X = np.asarray(rows.X)
    rows = Rows(sp.csr_array(X) if sparse else X, rows.Y, rows.weight, rows.offset)
    theta, R = np.array([0.4, -0.2, 0.3, 0.1]), 0.3
    query = PricedQueries(about, Neighbours.REPLACE_ONE, 500).price("gradient_moments", loss=loss, mu=math.inf)
    z, y = X @ theta + rows.offset, rows.Y[:, 0]
    factor = {
        "records": np.ones(500),
        "curvature": np.sqrt(loss.second_derivative(z, y)),
        "gradients": np.abs(loss.derivative(z, y)),
    }[of]
    weight = rows.weight**2 if of == "gradients" else rows.weight
    t = X * np.minimum(factor, R / np.linalg.norm(X, axis=1))[:, None]
    expected = (t * weight[:, None]).T @ t / 500
    found = Curator(rows, [query]).answer("gradient_moments", theta, of=of, intercept_weight=1.0, clip_norm=R)
    assert found == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda one: one.name)
def test_units_are_summed_before_the_product(loss: Loss, sparse: bool) -> None:
    """The formula; in any order of the records."""
    about, rng = facts(4, max_weight=3.0, offset=0.5, unit=7), np.random.default_rng(43)
    rows = random_rows(rng, 500, about)
    rows = replace(rows, unit=rng.integers(0, 90, 500))
    theta, R = np.array([0.4, -0.2, 0.3, 0.1]), 0.9
    query = PricedQueries(about, Neighbours.REPLACE_ONE, 500).price("gradient_moments", loss=loss, mu=math.inf)
    slopes = loss.derivative(rows.X @ theta + rows.offset, rows.Y[:, 0])[:, None] * rows.X
    slopes *= (rows.weight * np.minimum(1.0, R / np.linalg.norm(slopes, axis=1)))[:, None]
    sums = np.stack([slopes[rows.unit == one].sum(axis=0) for one in range(90)])
    sums *= np.minimum(1.0, 3.0 * R / np.maximum(np.linalg.norm(sums, axis=1), 1e-300))[:, None]
    asked = {"of": "units", "intercept_weight": 1.0, "clip_norm": R}
    found = Curator(replace(rows, X=sp.csr_array(rows.X)) if sparse else rows, [query]).answer(
        "gradient_moments", theta, **asked
    )
    assert found == pytest.approx(sums.T @ sums / 500, abs=2e-5)
    mixed = reordered(rows, rng.permutation(500))
    assert np.array_equal(Curator(mixed, [query]).answer("gradient_moments", theta, **asked), found)


@pytest.mark.parametrize(
    "wrong",
    [
        {"of": "everything"},
        {"of": None},
        {"of": "units"},
        {"clip_norm": 0.0},
        {"clip_norm": math.inf},
        {"theta": np.zeros(3)},
        {"intercept_weight": -1.0},
    ],
    ids=str,
)
def test_what_cannot_be_asked_spends_nothing(wrong: dict[str, object]) -> None:
    about = facts(4)
    query = PricedQueries(about, Neighbours.REPLACE_ONE, 50).price("gradient_moments", loss=Squared(), mu=1.0)
    curator = Curator(random_rows(np.random.default_rng(1), 50, about), [query])
    given = {"theta": np.zeros(4), "of": "records", "intercept_weight": 1.0, "clip_norm": 1.0}
    with pytest.raises(InvalidParameter):
        curator.answer("gradient_moments", **{**given, **wrong})
    curator.answer("gradient_moments", **given)
