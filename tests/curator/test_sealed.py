"""What leaves the curator when it fails is the failure alone, whatever kind it is of."""

from typing import Any

import numpy as np
import pytest

from hullabaloo.curator import Curator
from hullabaloo.data import Rows
from hullabaloo.data.table import MEMORY, sealed
from hullabaloo.losses import Squared
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.curator.neighbours import facts


@pytest.mark.parametrize("kind", [ValueError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_no_failure_carries_the_frames_in_which_numbers_lie(kind: type[BaseException]) -> None:
    @sealed
    def answer(exact: float) -> float:
        hidden = 2.0 * exact
        try:
            return hidden / 0.0
        except ZeroDivisionError as inner:
            raise kind from inner

    with pytest.raises(kind) as caught:
        answer(0.125)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    step = caught.tb
    while step is not None:
        assert "hidden" not in step.tb_frame.f_locals
        step = step.tb_next


class Vast:
    """Rows of which no copy has room, in NumPy's own words."""

    shape = (12_345, 3)

    def __getattr__(self, _: str) -> Any:
        return np.empty((*self.shape, 1 << 40))

    def __getitem__(self, _: object) -> Any:
        return self.anything


DOORS = {
    "means": lambda curator: curator.answer("means"),
    "columns": lambda curator: curator.restricted([0, 1, 2]),
    "matrix": lambda curator: curator.projected(np.eye(3)),
    "centre": lambda curator: curator.centred(np.zeros(3)),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_machine_that_runs_out_of_memory_does_not_say_for_how_many_records(door: str) -> None:
    """NumPy names the array that it has no room for: a wide sparse table seen from a centre told a private number of rows, to the last digit."""
    prices = PricedQueries(facts(3), Neighbours.ADD_OR_REMOVE, 100)
    queries = [
        prices.price("means", mu=1.0),
        *(prices.price(name, loss=Squared(), mu=1.0) for name in ("centred_gradient", "coordinate_gradient")),
    ]
    curator = Curator(Rows(Vast(), np.zeros((12_345, 1))), queries)
    with pytest.raises(MemoryError) as caught:
        DOORS[door](curator)
    assert type(caught.value) is MemoryError
    assert caught.value.args == (MEMORY,)
