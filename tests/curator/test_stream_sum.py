"""The price of a stream: encoded streams of real neighbours never lie further apart than stated, and the worst ones as far."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.curator.stream import StepSums, StreamCurator, StreamSumQuery, plan_stream
from hullabaloo.data.engines.units import hashes_of
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import inflated
from hullabaloo.noise.continual.choose import NAMED, strategy_named
from hullabaloo.noise.continual.mechanism import ContinualSum
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.schedule import FOREVER, Schedule
from tests.curator.neighbours import facts, join, random_rows, reordered

RELATIONS = [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE]
STRATEGIES: dict[str, tuple[str, float, int | None]] = {name: (name, 1.0, None) for name in ("auto", *NAMED)}
STRATEGIES |= {"auto, forgetting": ("auto", 0.9, None), "auto, window": ("auto", 1.0, 4)}
EVERY: dict[str, int | tuple[int, ...]] = {"each": 1, "three": 3, "listed": (2, 3, 7, 11, 15, 20)}
TABLES = {
    "p3": facts(3),
    "ball": facts(4, norm_l2=1.0),
    "two-targets": facts(3, 2),
    "weights": facts(3, max_weight=3.0),
}
N = 20


def query(
    about: RowFacts,
    relation: Neighbours = Neighbours.REPLACE_ONE,
    name: str = "auto",
    every: int | tuple[int, ...] = 1,
    *,
    mu: float = 1.0,
    horizon: int | None = N,
    kappa: float = 1.0,
    share: int | None = None,
) -> StreamSumQuery:
    mechanism, decay, window = STRATEGIES[name]
    schedule = Schedule(horizon, every)
    records = schedule.position(schedule.steps)
    about_time = (records, schedule, mechanism, decay, window)
    return plan_stream(about, relation, *about_time, target_scale=kappa, share=share).priced(mu)


def encoded(rows: Rows, asked: StreamSumQuery) -> np.ndarray:
    """What noise is added to, (m, d)."""
    schedule, n = asked.schedule, rows.Y.shape[0]
    ends = np.array([schedule.position(s) for s in range(1, schedule.completed(n) + 1)], dtype=np.int64)
    vectors = StepSums(asked.moments, asked.step_bound).add(rows, ends)
    assert np.all(np.abs(vectors) <= asked.step_bound)
    found = asked.strategy.encoder(asked.moments.length).encode(vectors)
    assert np.all(np.abs(found) <= asked.strategy.reach * asked.step_bound)
    return found


def nobody(about: RowFacts) -> Rows:
    """An absent record: it contributes nothing and the clock goes on."""
    weight = None if about.max_weight == 1.0 else np.zeros(1)
    return Rows(np.zeros((1, about.width)), np.zeros((1, len(about.targets))), weight)


def streams(
    rng: np.random.Generator, relation: Neighbours, about: RowFacts, rounds: int
) -> Iterator[tuple[Rows, Rows]]:
    """Streams that differ in one record at one position, extreme ones included."""
    for i in range(rounds):
        rows = random_rows(rng, N, about, extreme=i % 3 == 0)
        one = random_rows(rng, 1, about, extreme=i % 2 == 0)
        other = random_rows(rng, 1, about, extreme=i % 2 == 0)
        if i % 4 == 0:
            other = Rows(one.X, -one.Y, one.weight)
        if relation is Neighbours.ADD_OR_REMOVE:
            other = nobody(about)
        place = int(rng.integers(N))
        before, after = reordered(rows, np.arange(place)), reordered(rows, np.arange(place + 1, N))
        yield join(before, one, after), join(before, other, after)


@pytest.mark.few(16)
@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_no_neighbour_moves_the_encoded_stream_by_more_than_the_sensitivity(
    relation: Neighbours, name: str, every: str
) -> None:
    """Tests: 003, Definition 4."""
    rng = np.random.default_rng(8)
    for about in TABLES.values():
        for kappa in (1.0, 3.0):
            asked = query(about, relation, name, EVERY[every], kappa=kappa)
            for left, right in streams(rng, relation, about, 12):
                assert np.linalg.norm(encoded(left, asked) - encoded(right, asked)) <= asked.sensitivity


@pytest.mark.few(7)
@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_the_worst_pair_is_as_far_apart_as_stated(relation: Neighbours, name: str) -> None:
    """Tests: 003, Definition 11."""
    about = facts(3)
    asked = query(about, relation, name)
    worst = Rows(np.ones((1, 3)), np.ones((1, 1)))
    other = Rows(np.ones((1, 3)), -np.ones((1, 1))) if relation is Neighbours.REPLACE_ONE else nobody(about)
    rows, farthest = random_rows(np.random.default_rng(1), N, about), 0.0
    for place in range(N):
        before, after = reordered(rows, np.arange(place)), reordered(rows, np.arange(place + 1, N))
        apart = encoded(join(before, worst, after), asked) - encoded(join(before, other, after), asked)
        farthest = max(farthest, float(np.linalg.norm(apart)))
    assert 0.999 * asked.sensitivity <= farthest <= asked.sensitivity


def taken(rows: Rows, asked: StreamSumQuery, rng: np.random.Generator) -> np.ndarray:
    """What noise is added to, (m, d), of a stream that a curator takes in batches, goes on with from its state in between."""
    vectors: list[np.ndarray] = []
    with pytest.MonkeyPatch.context() as patch:
        add = ContinualSum.add
        patch.setattr(ContinualSum, "add", lambda self, found: vectors.append(found.copy()) or add(self, found))
        curator, ends = StreamCurator(asked), [0, *sorted(rng.integers(0, N + 1, 2).tolist()), N]
        for start, stop in pairwise(ends):
            state, curator = curator.state(), StreamCurator(asked)
            curator.restore(state)
            part = reordered(replace(rows, unit=None), np.arange(start, stop))
            assert rows.unit is not None
            curator.take(replace(part, unit=rows.unit[start:stop]))
    encoder = asked.strategy.encoder(asked.moments.length)
    return encoder.encode(np.concatenate(vectors)) if vectors else np.zeros((0, 0))


def owners(found: list[str | None]) -> np.ndarray:
    return hashes_of(found).view(np.int64)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("share", [1, 3])
def test_no_unit_moves_the_encoded_stream_by_more_than_the_sensitivity(share: int, relation: Neighbours) -> None:
    """All of a person's records, at different times, are another's, who may have fewer, or nobody's; the others have more than count, too."""
    rng, about = np.random.default_rng(4), facts(3, max_weight=2.0, unit=share)
    for name, every in (("auto", "each"), ("tree", "three"), ("auto, window", "each"), ("auto, forgetting", "listed")):
        asked = query(about, relation, name, EVERY[every], share=share)
        for _ in range(8):
            names: list[str | None] = [str(one) for one in rng.integers(0, 5, N)]
            rows = replace(random_rows(rng, N, about, extreme=True), unit=owners(names))
            changed, others = random_rows(rng, N, about, extreme=True), list(names)
            places = [place for place, one in enumerate(names) if one == "0"]
            for place in places:
                absent = relation is Neighbours.ADD_OR_REMOVE or rng.random() < 0.5
                others[place] = None if absent else "another"
            X, Y, weight = rows.X.copy(), rows.Y.copy(), rows.weight.copy()  # type: ignore[union-attr]
            X[places], Y[places], weight[places] = changed.X[places], changed.Y[places], 2.0
            apart = taken(rows, asked, rng) - taken(Rows(X, Y, weight, unit=owners(others)), asked, rng)
            assert np.linalg.norm(apart) <= asked.sensitivity


@pytest.mark.parametrize("share", [1, 3])
def test_a_unit_that_has_its_share_at_once_is_as_far_from_nobody_as_stated(share: int) -> None:
    """And its further records, how many there are, move nothing."""
    about, rng = facts(3, unit=share), np.random.default_rng(0)
    asked = query(about, Neighbours.ADD_OR_REMOVE, "auto", N, share=share)
    whole = Rows(np.ones((N, 3)), np.ones((N, 1)), np.ones(N), unit=owners(["one"] * N))
    apart = np.linalg.norm(taken(whole, asked, rng) - taken(replace(whole, unit=owners([None] * N)), asked, rng))
    assert 0.999 * asked.sensitivity <= apart <= asked.sensitivity
    assert asked.sensitivity > 0.999 * share * query(facts(3), Neighbours.ADD_OR_REMOVE, "auto", N).sensitivity


BAD = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0, 1.0, -1.0]


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_records_of_any_content_stay_within_the_sensitivity(relation: Neighbours) -> None:
    """NaN, infinities and overflow in every column, through the domain's encoding, weights included."""
    domain = hb.Domain(features={"a": (-1, 1), "b": (0, 1e9)}, target={"y": (-1, 1)}, weight=("w", 2.0))
    rng = np.random.default_rng(3)
    encoding = domain.encoding()
    asked = query(encoding.facts, relation, "auto", 3)
    columns = ["a", "b", "y", "w"]
    for _ in range(60):
        table = pd.DataFrame(rng.choice(BAD, size=(N, 4)), columns=columns)
        other, place = table.copy(), int(rng.integers(N))
        other.loc[place] = rng.choice(BAD, size=4)
        if relation is Neighbours.ADD_OR_REMOVE:
            other.loc[place, "w"] = 0.0
        left, right = (encoded(encoding.encode(one, "y"), asked) for one in (table, other))
        assert np.all(np.isfinite(left))
        assert np.linalg.norm(left - right) <= asked.sensitivity


@pytest.mark.parametrize("kappa", [1.0, 2.0])
@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("table", TABLES)
def test_no_step_of_declared_records_is_cut_short(table: str, every: str, kappa: float) -> None:
    """The bound to which a step's vector is clipped is one that records of the greatest weight, cells and targets keep to: it is never met."""
    about = TABLES[table]
    asked = query(about, every=EVERY[every], kappa=kappa)
    count = asked.schedule.position(asked.schedule.steps)
    X = np.zeros((count, len(about.columns)))
    X[:, 0] = min(about.norm_linf, 1.0)
    X[:, -1] = 1.0
    rows = Rows(X, np.ones((count, len(about.targets))), np.full(count, about.max_weight))
    ends = np.array([asked.schedule.position(step + 1) for step in range(asked.schedule.steps)], dtype=np.int64)
    cut, whole = (StepSums(asked.moments, bound).add(rows, ends) for bound in (asked.step_bound, 1e9))
    assert np.array_equal(cut, whole)
    assert np.abs(whole).max() >= 0.2 * asked.step_bound


def test_the_noise_is_what_the_price_allows() -> None:
    for name in STRATEGIES:
        for mu in (0.05, 0.3, 3.0):
            asked = query(facts(4), name=name, every=3, mu=mu, horizon=60)
            assert inflated(asked.sensitivity, asked.sigma, asked.length, asked.bound) <= mu * asked.sigma
            spent = asked.event.gdp_mu()
            assert spent is not None
            assert mu * (1.0 - 1e-3) <= spent <= mu * (1.0 + 1e-15)
            assert asked.length == asked.strategy.encoded * 15
            assert asked.event.to_dict()["samples"] == asked.length


@pytest.mark.parametrize("every", [1, 1000])
def test_a_stream_of_unknown_length_has_a_price_too(every: int) -> None:
    """2^40 releases: what is cut and rounded off costs next to nothing, at every usual price."""
    for mu in (0.05, 1.0, 5.0):
        asked = query(facts(30), every=every, mu=mu, horizon=None, name="auto")
        assert asked.strategy.steps == FOREVER
        assert asked.event.delta0 < 1e-20
        assert asked.sensitivity <= 1.02 * asked.strategy.column_norm * asked.moments.record_sensitivity
        assert asked.sigma <= asked.sensitivity / mu * (1.0 + 2.0**-8 / mu)
        spent = asked.event.gdp_mu()
        assert spent is not None
        assert spent <= mu * (1.0 + 1e-15)
        reach = asked.strategy.reach * asked.step_bound
        assert asked.bound >= min(reach, 2.0**26 * asked.sensitivity / mu)  # a billion records are not cut


def test_without_noise_nothing_is_priced() -> None:
    asked = query(facts(2), mu=math.inf)
    assert asked.sigma == 0.0
    assert asked.event.gdp_mu() == math.inf


def test_effective_records_are_the_weights_that_time_has_left() -> None:
    about = facts(2)
    for every in (1, 3, 7):
        schedule = Schedule(20, every)
        sizes = np.diff([schedule.position(step) for step in range(schedule.steps + 1)])
        for decay, window in ((1.0, None), (0.9, None), (1.0, 2)):
            strategy = strategy_named("auto", schedule.steps, decay, window)
            asked = StreamSumQuery(query(about).moments, strategy, schedule)
            for step in range(1, schedule.steps + 1):
                ages = np.arange(step - 1, -1, -1)
                weights = decay**ages * (True if window is None else ages < window)
                assert asked.effective_records(step) == pytest.approx(float(weights @ sizes[:step]), rel=1e-12)
    listed = Schedule(20, (2, 3, 9))
    asked = StreamSumQuery(query(about).moments, strategy_named("auto", 3, 0.5, None), listed)
    assert asked.effective_records(3) == pytest.approx(6 + 0.5 + 0.25 * 2)


def test_what_the_proof_does_not_cover_is_refused() -> None:
    about = query(facts(2))
    with pytest.raises(InvalidParameter, match="strategy for 3"):
        StreamSumQuery(about.moments, strategy_named("auto", 3, 1.0, None), Schedule(4, 1))
    with pytest.raises(InvalidParameter, match="same number"):
        query(facts(2, unit=3))
