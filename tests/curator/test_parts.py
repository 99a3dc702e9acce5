"""A sum of a table is that of its parts, sent and merged: bit for bit, whatever the parts are. So partitions on any engine are an addition."""

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from hullabaloo.curator.asked import Asked
from hullabaloo.curator.query import Sum
from hullabaloo.data import Rows
from hullabaloo.data.engines.base import Task, packed, unpacked
from hullabaloo.losses import Logistic, Squared, SquaredTargets
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import QUERIES, PricedQueries
from tests.curator.neighbours import facts, random_rows
from tests.curator.test_score import ASKED

N, P = 301, 4
ABOUT = facts(P)
WHERE: dict[str, Any] = {"centre": np.full(P, 0.1), "intercept_weight": 1.0}
READING, TALLIES = ASKED["two"]
ASKS: dict[str, tuple[dict[str, Any], Callable[[Any], Any]]] = {
    "gradient": ({"loss": Logistic(), "clip": 0.5}, lambda q: q.question(np.full(P, 0.3))),
    "means": ({}, lambda q: q.question()),
    "moments": ({"target_scale": 1.0}, lambda q: q.question()),
    "norm_histogram": ({"loss": Squared(), "bins": 3}, lambda q: q.question(None, **WHERE, edges=np.array([0.3, 0.9]))),
    "score": ({"reading": READING, "tallies": TALLIES}, lambda q: q.question(np.full(P, 0.3))),
    "second_moments": ({}, lambda q: q.question()),
    "second_moments_laplace": ({}, lambda q: q.question()),
    "covariance": ({}, lambda q: q.question(centre=np.full(q.size, 0.1), clip_norm=0.7)),
    "gradient_moments": (
        {"loss": Logistic()},
        lambda q: q.question(np.full(P, 0.3), of="curvature", intercept_weight=1.0, clip_norm=0.7),
    ),
    "centred_gradient": ({"loss": Squared()}, lambda q: q.question(np.full(P, 0.3), **WHERE, clip_norm=0.7)),
}


def test_every_sum_with_parts_is_here() -> None:
    parted = {name for name, kind in QUERIES.items() if issubclass(kind, Sum) and kind.partial is not Sum.partial}
    assert parted == set(ASKS)


@pytest.mark.few(8)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ASKS)
def test_a_sum_is_that_of_its_parts(name: str, sparse: bool) -> None:
    made, ask = ASKS[name]
    price = {"epsilon": 0.5} if name == "second_moments_laplace" else {"mu": 0.5}
    query = PricedQueries(ABOUT, Neighbours.ADD_OR_REMOVE, N).price(name, **made, **price)
    whole = random_rows(np.random.default_rng(3), N, ABOUT)
    question = ask(query)
    sent = packed(Task((), Asked.of(query, question)))
    assert struct.pack("<d", query.sigma) not in sent
    states = []
    for part in (slice(200, N), slice(0, 1), slice(1, 200)):
        X, (task,) = whole.X[part], unpacked(sent)  # as on another machine
        rows = Rows(sp.csr_array(X) if sparse else X, whole.Y[part])
        states.append(Asked.load(task.asked, task.asked.dump(task.asked.state(rows))))
    rows = Rows(sp.csr_array(whole.X) if sparse else whole.X, whole.Y)
    assert query.total(query.merge(states)).tobytes() == query.exact(rows, *question).tobytes()


def test_a_matrix_of_gradients_has_parts_too() -> None:
    about = facts(P, 3)
    query = PricedQueries(about, Neighbours.ADD_OR_REMOVE, N).price("gradient", loss=SquaredTargets(), clip=0.5, mu=0.5)
    whole = random_rows(np.random.default_rng(4), N, about)
    theta = np.full((P, 3), 0.2)
    states = [query.partial(Rows(whole.X[part], whole.Y[part]), theta) for part in (slice(150, N), slice(0, 150))]
    assert query.total(query.merge(states)).tobytes() == query.exact(whole, theta).tobytes()
