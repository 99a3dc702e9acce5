"""A question that is sent: its sums survive as bytes, and its price stays behind."""

import pickle

import numpy as np
import pytest

from hullabaloo.curator.asked import Asked
from hullabaloo.curator.exact import ExactSum
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from tests.data.engines.fits import NUMBERS, table

ENCODING = NUMBERS.encoding()


@pytest.mark.parametrize("mu", [0.37, np.inf])
def test_a_sum_survives_as_bytes_and_in_any_order(mu: float) -> None:
    query = PricedQueries(ENCODING.facts, Neighbours.REPLACE_ONE, 1_500).price("second_moments", mu=mu)
    asked = pickle.loads(pickle.dumps(Asked.of(query, ())))
    parts = [ENCODING.encode(table().iloc[start : start + 300]) for start in range(0, 1_500, 300)]
    states = [asked.load(asked.dump(asked.state(part))) for part in parts]
    totals = [query.total(asked.merge(order)) for order in (states, states[::-1])]
    assert np.array_equal(*totals) or not query.is_private
    assert np.array_equal(totals[0], query.exact(ENCODING.encode(table()))) or not query.is_private
    assert asked.query.mu == (1.0 if query.is_private else np.inf)
    assert asked.query.is_private == query.is_private


def test_what_comes_back_is_numbers_and_never_run() -> None:
    """Bytes of a pickle are refused, not opened; a text would be quoted later, where what a worker says is never heard."""
    import io

    def load(**sent: object) -> None:
        held = io.BytesIO()
        np.savez(held, **sent)
        Asked(None, ()).load(held.getvalue())

    with pytest.raises(ValueError, match="pickle"):
        load(plain=np.array([{"run": 1}], dtype=object))
    cells = np.zeros(2, dtype=np.int64)
    for sent in ({"plain": np.array(["SECRET"])}, {"high": cells, "low": cells + 0.5, "exponent": 0}):
        with pytest.raises(TypeError) as caught:
            load(**sent)
        assert "SECRET" not in str(caught.value)
    total = ExactSum((2,), -5)
    total.add(np.array([1.0, 2.0]) * 2.0**-5)
    again = Asked(None, ()).load(Asked(None, ()).dump(total))
    assert np.array_equal(again.value(np.inf), total.value(np.inf))
