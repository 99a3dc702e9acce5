"""Every record is in one part only, and of two neighbouring tables one part is the same."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import hullabaloo as hb
from hullabaloo.curation.parts import held_out, part, sizes
from hullabaloo.data import Rows, open_table
from hullabaloo.privacy import Budget, Neighbours
from hullabaloo.release.request import ReleaseRequest

FEATURES = {"x": (0, 1)}


def terms(neighbours: Neighbours, **more) -> ReleaseRequest:
    return ReleaseRequest("a test", hb.Domain(features=FEATURES, target=(0, 1), **more), Budget(1.0, 1e-6), neighbours)


def test_replace_one_draws_a_set_of_public_size():
    asked = terms(Neighbours.REPLACE_ONE)
    x = np.random.default_rng(0).uniform(size=(1001, 1))
    held = held_out(asked, open_table(x), 0.25, bytes(32))
    assert held.sum() == sizes(1001, 0.25)[1] == 250
    assert np.array_equal(held, held_out(asked, open_table(1.0 - x), 0.25, bytes(32)))  # whatever the records are
    other = held_out(asked, open_table(x), 0.25, bytes(range(32)))
    assert other.sum() == 250
    assert abs((held & other).sum() - 62.5) < 40  # independent of each other
    found = np.sum([held_out(asked, open_table(x[:40]), 0.25, i.to_bytes(32, "big")) for i in range(400)], axis=0)
    assert found.sum() == 4000
    assert np.all(np.abs(found - 100) < 50)  # every position as often: 100 ± 9


def test_the_parts_of_sorted_tables_have_one_law():
    # Replacing the smallest record by a largest one moves all others up by a position. Whatever a fixed split is, targets can be such that
    # the sum over the part to train on then moves by a fifth of the records; over the secret the two sums have one law up to one record.
    asked, n = terms(Neighbours.REPLACE_ONE), 200
    table = open_table(np.zeros((n, 1)))
    some = ~held_out(asked, table, 0.25, bytes(32))
    y = (np.append(some, False) & ~np.append(False, some)).astype(float)
    assert y[:n].sum() > 20
    sums = np.array(
        [
            [y[:n][train].sum(), y[1:][train].sum()]
            for train in (~held_out(asked, table, 0.25, i.to_bytes(32, "big")) for i in range(1, 401))
        ]
    )
    assert abs(sums[:, 0].mean() - sums[:, 1].mean()) < 2.5
    assert np.all(np.abs(np.subtract(*(np.sort(column)[20:-20] for column in sums.T))) <= 4.0)


def test_add_or_remove_throws_a_secret_coin_for_every_position():
    asked = terms(Neighbours.ADD_OR_REMOVE, records=1000)
    x = open_table(np.zeros((8000, 1)))
    first, again, other = (held_out(asked, x, 0.25, key) for key in (bytes(32), bytes(32), bytes(range(32))))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    for held in (first, other):
        assert abs(held.sum() - 2000) < 350  # Hoeffding at 1e-6: 233
    assert abs((first & other).sum() - 500) < 250  # independent of each other
    # The coin of a position does not depend on how many records follow it.
    assert np.array_equal(held_out(asked, open_table(np.zeros((7999, 1))), 0.25, bytes(32)), first[:-1])


@pytest.mark.few(1)
@pytest.mark.parametrize("neighbours", list(Neighbours), ids=str)
def test_a_unit_is_in_one_part_whatever_the_others_are(neighbours):
    asked = terms(neighbours, unit="who", records_per_unit=3, records=900)
    names = [f"p{i % 300}" for i in range(900)]
    frame = pd.DataFrame({"x": np.linspace(0, 1, 900), "who": names})
    held = held_out(asked, open_table(frame), 0.3, bytes(32))
    by = pd.Series(held).groupby(names).agg(["min", "max"])
    assert (by["min"] == by["max"]).all()
    assert 40 < by["max"].sum() < 140
    shuffled = frame.sample(frac=1.0, random_state=1)
    again = pd.Series(held_out(asked, open_table(shuffled), 0.3, bytes(32)), index=shuffled.index)
    assert np.array_equal(again.sort_index(), held)
    gone = frame[frame["who"] != "p7"]
    assert np.array_equal(held_out(asked, open_table(gone), 0.3, bytes(32)), held[frame["who"] != "p7"])
    # A unit that is replaced: the others stay where they are, and its own coin is as good as the old one's.
    other = frame.assign(who=frame["who"].replace("p7", "new"))
    moved = held_out(asked, open_table(other), 0.3, bytes(32))
    assert np.array_equal(moved[frame["who"] != "p7"], held[frame["who"] != "p7"])
    coins = [bool(held_out(asked, open_table(frame.iloc[7:8]), 0.3, i.to_bytes(32, "big"))[0]) for i in range(400)]
    assert 60 < sum(coins) < 180  # over secrets a label's part is random: 120 ± 9


def test_one_label_is_one_unit_however_it_is_written_and_nobodys_records_are_no_error():
    asked = terms(Neighbours.ADD_OR_REMOVE, unit="who", records=5)
    frame = pd.DataFrame({"x": [0.0] * 5, "who": pd.Series(["1", 1, 1.0, None, float("nan")], dtype=object)})
    for secret in range(20):
        held = held_out(asked, open_table(frame), 0.5, secret.to_bytes(32, "big"))
        assert len(set(held[:3])) == 1
        assert held.size == 5


@pytest.mark.parametrize("sparse", [False, True])
def test_parts_are_whole_records(sparse):
    rng = np.random.default_rng(3)
    X, Y, w, o = rng.normal(size=(50, 3)), rng.normal(size=(50, 2)), rng.uniform(size=50), rng.normal(size=50)
    rows = Rows(csr_array(X) if sparse else X, Y, w, o)
    chosen = rng.uniform(size=50) < 0.4
    one, two = part(rows, chosen), part(rows, ~chosen)
    for found, mask in ((one, chosen), (two, ~chosen)):
        assert np.array_equal(found.X.toarray() if sparse else found.X, X[mask])
        assert np.array_equal(found.Y, Y[mask])
        assert np.array_equal(found.weight, w[mask])
        assert np.array_equal(found.offset, o[mask])
        assert sparse or found.X.flags.c_contiguous
    assert part(Rows(X, Y), chosen).weight is None
