"""A view of one target answers as a table that never had another, or not at all: no query reads what its view does not hold."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hullabaloo.curator import Curator
from hullabaloo.curator.views import of_target
from hullabaloo.errors import NotPaidFor
from hullabaloo.geometry import NoPenalty
from hullabaloo.losses import MultinomialLogistic, SquaredTargets
from hullabaloo.losses.readings import Reading, Reads
from hullabaloo.losses.scores import Moments, SquaredError
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.audit.probes import asks
from tests.audit.test_every_query import MENU
from tests.curator.neighbours import random_rows

K, N = 3, 60
NAMES = tuple(f"y{j}" for j in range(K))
KEY = TestKey(bytes(range(32)))
READ = Reading(Reads.NUMBERS, (-1.0,) * K, (1.0,) * K, NAMES, (2.0,) * K)
RIDGE: dict[str, Any] = {"clip": 1.5, "ridge": 5.0, "feasible": None, "penalty": NoPenalty()}
ALL: dict[str, dict[str, Any]] = {
    "moments": {"target_scale": 1.0},
    "score": {"reading": READ, "tallies": (Moments(SquaredError(0, 2.0)),)},
    "gradient": {"loss": SquaredTargets(), "clip": 1.0},
    "gradient of classes": {"loss": MultinomialLogistic(), "clip": 1.0},
    "output_perturbation of classes": {"loss": MultinomialLogistic(), **RIDGE},
}
"""What reads all targets of a record."""


@pytest.mark.parametrize("name", ALL)
def test_no_view_of_one_target_is_asked_what_reads_all(name: str) -> None:
    """A kernel of such a query reads k targets of every record: where rows hold one, those of other records, and memory beyond."""
    about = replace(MENU["gradient"][1], targets=NAMES)
    query = PricedQueries(about, Neighbours.REPLACE_ONE, N).price(name.partition(" ")[0], mu=1.0, **ALL[name])
    curator = Curator(random_rows(np.random.default_rng(1), N, about), [query], key=KEY)
    asked = asks(query)[0]
    for view in (curator.of_target(1), curator.of_target(1).of_target(0), curator.of_target(2).restricted([0, 1])):
        with pytest.raises(NotPaidFor, match="one target alone"):
            asked(view)
    asked(curator)  # nothing was used up


@pytest.mark.parametrize("name", [name for name in MENU if name.partition(" ")[0] not in ("moments", "score")])
def test_another_target_changes_no_bit(name: str) -> None:
    make, alone, _ = MENU[name]
    about = replace(alone, targets=NAMES)
    rows = random_rows(np.random.default_rng(2), N, about)
    whole, single = (make(PricedQueries(one, Neighbours.REPLACE_ONE, N)) for one in (about, alone))
    for ask in asks(whole):
        seen = Curator(rows, [whole], key=KEY).of_target(1)
        assert _told(ask(seen)) == _told(ask(Curator(of_target(rows, 1), [single], key=KEY)))


def _told(answer: Any) -> str:
    with np.printoptions(floatmode="unique", threshold=10**9):
        return repr(answer)
