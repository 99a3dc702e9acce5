"""One rule of what a whole number is, wherever an argument is one: Python's and NumPy's, and neither True nor 3.0 nor "3"."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hullabaloo as hb
from hullabaloo.curation.sketch import Sketch
from hullabaloo.errors import InvalidParameter, is_whole
from hullabaloo.geometry import ConcaveCardinality, NuclearBall
from hullabaloo.noise.public import public_normals
from hullabaloo.privacy import GaussianEvent
from hullabaloo.release.planner import planned_task
from hullabaloo.streaming.opening import check_stream

BUDGET = hb.Budget(1.0, 1e-8)
ROWS = hb.Domain(row_norm=1.0, target=(-1, 1))
PLAIN = {"domain": None, "loss": None, "set": None, "penalty": None, "neighbours": "replace-one", "fit_intercept": True}


def scanned(**numbers):
    found = hb.scan(lambda: iter([pa.record_batch({"a": [0.0]})]), **numbers)
    return found._batch, found.keep_bytes


def stream(window=None, **numbers):
    model = hb.streaming.IncrementalRegression(budget=BUDGET, domain=ROWS, window=window, every=1, **numbers)
    check_stream(model)
    return model._open(model._encoding(None, 2)).task.window_steps


DOORS = {
    "batch_rows of a scan": lambda k: scanned(batch_rows=k),
    "keep_bytes of a scan": lambda k: scanned(keep_bytes=k),
    "n of a plan": lambda k: planned_task("hb.plan", k, budget=BUDGET, p=3, **PLAIN)[0].domain.records,
    "p of a plan": lambda k: planned_task("hb.plan", 9, budget=BUDGET, p=k, **PLAIN)[1].n_features_in,
    "columns of a matrix": lambda k: ROWS.encoding(n_features=k).n_features_in,
    "rows of a grid": lambda k: hb.FeatureGrid(k, 4).rows,
    "size of a sketch": lambda k: Sketch(5, k).size,
    "seed of public numbers": lambda k: public_normals(k, 2, 2).tolist(),
    "targets of a nuclear ball": lambda k: NuclearBall(1.0, k).columns,
    "columns of a set function": lambda k: ConcaveCardinality.power(k, 0.5).weights,
    "records of a group": lambda k: GaussianEvent(2.0).group(k).gdp_mu(),
    "horizon of a stream": lambda k: stream(horizon=k),
    "window of a stream": lambda k: stream(k, horizon=9),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_whole_number_of_numpy_is_taken_as_the_same_of_python(door):
    given = [DOORS[door](kind(3)) for kind in (int, np.int64, np.uint8)]
    assert [json.dumps(one) for one in given] == [json.dumps(given[0])] * 3


@pytest.mark.few(40)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3.0), "3", Fraction(7, 2), -1], ids=repr)
def test_what_is_none_is_refused(door, value):
    with pytest.raises(InvalidParameter):
        DOORS[door](value)


def test_bounds_are_held_whatever_their_size():
    assert is_whole(10**400, 10**400, 10**400)
    assert is_whole(np.uint64(2**64 - 1), 2**64 - 1)
    assert not is_whole(np.int8(-1), 0)
    assert not is_whole(10**400, 1, 2**63)
