"""The hinge of streams: what is refused before anything is spent, what a stream costs, what its releases say."""

import copy
import json
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.curation.moments_process import MomentsProcess, StreamTask, open_moments
from hullabaloo.data.source import Rows
from hullabaloo.durable.sealed import Snapshot
from hullabaloo.errors import HullabalooError, InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.answers import NoisyMoments
from hullabaloo.privacy.schedule import FOREVER, Schedule
from hullabaloo.release import PrivacyStatement, Release
from hullabaloo.solvers import Problem, Solution

KEY = TestKey(bytes(range(32)))
DOMAIN = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1), indicators=False)
ENCODING = DOMAIN.encoding()
N = 400


def task(**changes: Any) -> StreamTask:
    basics = {
        "what": "a stream",
        "domain": DOMAIN,
        "budget": hb.Budget(1.0, 1e-8),
        "neighbours": Neighbours.REPLACE_ONE,
        "schedule": Schedule(N, 40),
    }
    return StreamTask(**{**basics, **changes})


def records(n: int = N, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    return ENCODING.encode(X, 0.5 * X[:, 0] - 0.3 * X[:, 1] + 0.1)


def part(rows: Rows, start: int, stop: int) -> Rows:
    return Rows(rows.X[start:stop], rows.Y[start:stop])


def run(asked: StreamTask, rows: Rows, **options: Any) -> MomentsProcess:
    process = open_moments(asked, ENCODING, **options)
    process.take(rows)
    return process


def released(process: MomentsProcess) -> Release:
    found = process.released()
    assert found is not None
    return found


def test_without_noise_every_release_is_least_squares_of_its_prefix() -> None:
    rows, process = records(), open_moments(task(budget=hb.Budget(math.inf)), ENCODING)
    assert process.released() is None
    for stop in range(40, N + 1, 40):
        process.take(part(rows, stop - 40, stop))
        plain = np.linalg.lstsq(rows.X[:stop], rows.Y[:stop], rcond=None)[0]
        assert released(process).theta == pytest.approx(plain, rel=1e-7, abs=1e-9)
        assert not released(process).statement.private


def test_with_noise_a_long_stream_is_learned() -> None:
    """The noise of 10^5 records at μ = 1 is a hundredth of a coefficient: an error beyond 0.2 has probability below 1e-6."""
    asked = task(budget=hb.Budget.gdp(1.0), schedule=Schedule(100_000, 10_000), key=KEY)
    rows = records(100_000)
    plain = np.linalg.lstsq(rows.X, rows.Y, rcond=None)[0]
    assert np.max(np.abs(released(run(asked, rows)).theta - plain)) < 0.2


def test_reading_is_free_and_gives_the_same_object() -> None:
    process = run(task(), part(records(), 0, 50))
    first = released(process)
    process.take(part(records(), 50, 60))
    assert released(process) is first
    process.take(part(records(), 60, 90))
    assert released(process) is not first


def test_what_is_charged_is_what_the_budget_allows() -> None:
    for budget in (hb.Budget(1.0, 1e-8), hb.Budget(0.1, 1e-6), hb.Budget.gdp(0.5), hb.Budget.zcdp(0.1)):
        for horizon, every in ((N, 40), (10_000_000, 1), (None, 1)):
            process = open_moments(task(budget=budget, schedule=Schedule(horizon, every)), ENCODING)
            assert budget.admits(process.event)
            more = replace(process.query, moments=replace(process.query.moments, mu=1.01 * process.query.moments.mu))
            assert not budget.admits(more.event)  # and nothing to speak of is left over


def test_a_ledgers_filter_is_planned_for(tmp_path: Any) -> None:
    ledger = hb.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("clicks", hb.Budget(1.0, 1e-6), filter="renyi")
    asked = task(budget=hb.Budget(1.0, 1e-6))
    alone, listed = (
        open_moments(asked, ENCODING),
        open_moments(replace(asked, ledger=ledger, dataset="clicks"), ENCODING),
    )
    assert listed.query.moments.mu < alone.query.moments.mu
    ledger.open_stream("clicks", "one", listed.event, budget=asked.budget, neighbours=asked.neighbours, what="a stream")
    assert len(ledger.charges("clicks")) == 1


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no target": ({"domain": hb.Domain(features={"a": (-1, 1)})}, "declares no target"),
    "a set of other dimensions": ({"constraint": hb.Box(np.zeros(3), np.ones(3))}, "a set in 3 dimensions"),
    "a ledger without a dataset": ({"dataset": "clicks"}, "go together"),
    "both ways to forget": ({"window": 80, "half_life": 100.0}, "Forget in one way"),
    "a window of nothing": ({"window": 0}, "window=0"),
    "a half-life of nothing": ({"half_life": 0.0}, "half_life.*above 0, but 0.0"),
    "a half-life shorter than a step": ({"half_life": 1.0}, "nothing would be left"),
    "a window at listed positions": ({"window": 80, "schedule": Schedule(N, (10, 100))}, "listed positions"),
    "a half-life at listed positions": ({"half_life": 80, "schedule": Schedule(N, (10, 100))}, "listed positions"),
    "an unknown mechanism": ({"mechanism": "magic"}, "magic"),
    "a pure budget": ({"budget": hb.Budget(1.0, 0.0)}, "delta = 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_before_anything_is_spent(name: str) -> None:
    changes, words = REFUSED[name]
    asked = task(**changes)
    with pytest.raises(HullabalooError, match=words):
        open_moments(asked, asked.domain.encoding())


def test_forgetting_is_by_whole_steps() -> None:
    assert task(window=100).window_steps == 2  # 100 records are 2.5 steps of 40: two
    assert task(window=10).window_steps == 1
    assert task(window=N).window_steps is None
    assert task(half_life=40).decay == 0.5
    assert task(half_life=120.0).decay == pytest.approx(0.5 ** (1 / 3))
    late = records(seed=3)
    late = Rows(late.X, np.concatenate([-late.Y[:200], late.Y[200:]]))  # the world turns over in the middle
    for changes in ({"window": 80}, {"half_life": 20.0}):
        process = run(task(budget=hb.Budget(math.inf), **changes), late)
        now = np.linalg.lstsq(late.X[-80:], late.Y[-80:], rcond=None)[0]
        assert released(process).theta == pytest.approx(now, abs=0.01)


def test_a_snapshot_goes_on_where_it_was_taken() -> None:
    rows, asked = records(), task(key=KEY)
    straight = run(asked, rows)
    first = run(asked, part(rows, 0, 133))
    kept = first.snapshot()
    json.dumps(dict(kept.numbers))
    second = open_moments(asked, ENCODING)
    second.restore(Snapshot(dict(kept.numbers), dict(kept.arrays)))
    assert second.position == 133
    assert released(second).theta.tobytes() == released(first).theta.tobytes()
    second.take(part(rows, 133, N))
    assert released(second).theta.tobytes() == released(straight).theta.tobytes()
    end, whole = second.snapshot(), straight.snapshot()
    np.testing.assert_equal((dict(end.numbers), dict(end.arrays)), (dict(whole.numbers), dict(whole.arrays)))


def test_the_state_does_not_grow() -> None:
    sizes = []
    for n in (10, 300):
        process = run(task(schedule=Schedule(N, 1)), part(records(), 0, n))
        sizes.append(sum(array.nbytes for array in process.snapshot().arrays.values()))
    assert sizes[0] == sizes[1]


def test_a_process_is_not_copied() -> None:
    process = run(task(), part(records(), 0, 50))
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="their sums"):
            take(process)


def test_a_fingerprint_names_what_noise_depends_on() -> None:
    plain = open_moments(task(), ENCODING).fingerprint
    assert plain == open_moments(task(constraint=hb.L2Ball(1.0)), ENCODING).fingerprint  # sets are post-processing
    others = [
        task(budget=hb.Budget(1.1, 1e-8)),
        task(neighbours=Neighbours.ADD_OR_REMOVE),
        task(schedule=Schedule(N, 20)),
        task(schedule=Schedule(2 * N, 40)),
        task(mechanism="square_root"),
        task(half_life=100.0),
        task(window=80),
        task(key=KEY),
        task(domain=hb.Domain(features={"a": (-1, 1), "b": (-1, 2)}, target=(-1, 1), indicators=False)),
    ]
    found = {open_moments(one, one.domain.encoding()).fingerprint for one in others}
    found |= {open_moments(task(), DOMAIN.encoding(fit_intercept=False)).fingerprint}
    found |= {open_moments(task(), ENCODING, public={"seed": 1}).fingerprint}
    assert len(found) == len(others) + 2
    assert plain not in found


def test_rows_may_be_mapped_and_models_solved_in_another_way() -> None:
    """What a sketch and the paper's own solver need."""
    seen: list[NoisyMoments] = []

    def solve(moments: NoisyMoments, problem: Problem) -> Solution:
        seen.append(moments)
        return Solution(theta=np.full((problem.dimension, 1), 0.25), moments=moments)

    facts = replace(ENCODING.facts, columns=("one",), intercept=False)
    process = run(
        task(budget=hb.Budget(math.inf)),
        records(),
        facts=facts,
        transform=lambda rows: Rows(np.ascontiguousarray(rows.X[:, :1]), rows.Y),
        solve=solve,
        public={"seed": 7},
    )
    release = released(process)
    assert release.theta.shape == (3, 1)
    assert np.all(release.theta == 0.25)
    assert seen[0].gram.shape == (1, 1)
    assert release.plan["settings"]["seed"] == 7


@pytest.mark.parametrize("relation", ["replace-one", "add-or-remove"])
def test_the_statement_speaks_of_streams(relation: str) -> None:
    asked = task(neighbours=Neighbours.parse(relation))
    said = released(run(asked, part(records(), 0, 50))).statement
    text = str(said)
    assert said.horizon == said.records == N
    assert "streams that differ in one record" in text
    assert ("replaced in its place" if relation == "replace-one" else "present or absent in its place") in text
    assert "all models released along the stream together, of up to 400 records" in text
    assert "k records in the stream" in text
    assert "nominal" not in text
    assert PrivacyStatement.from_dict(json.loads(json.dumps(said.to_dict()))) == said
    old = {name: value for name, value in said.to_dict().items() if name != "horizon"}
    assert PrivacyStatement.from_dict(old).horizon is None


def test_a_stream_of_unknown_length_says_so() -> None:
    said = released(run(task(schedule=Schedule(None, 40)), part(records(), 0, 100))).statement
    assert said.records == 80  # where the model was released
    assert said.horizon is not None
    assert said.horizon >= FOREVER
    assert "however long it grows" in str(said)


def test_marks_of_what_is_not_private() -> None:
    assert released(run(task(key=KEY), records())).statement.not_private == "test_key"
    assert released(run(task(budget=hb.Budget(math.inf)), records())).statement.not_private == "epsilon"


def test_a_release_survives_its_file() -> None:
    release = released(run(task(half_life=100.0), part(records(), 0, 90)))
    again = Release.from_dict(json.loads(json.dumps(release.to_dict())))
    assert release.moments is not None
    assert again.moments is not None
    assert again.moments.records == release.moments.records == pytest.approx(40 * (1 + 0.5**0.4))
    assert again.theta.tobytes() == release.theta.tobytes()


def test_more_records_than_the_horizon_are_refused() -> None:
    process = run(task(), records())
    with pytest.raises(InvalidParameter, match="horizon"):
        process.take(part(records(), 0, 1))
