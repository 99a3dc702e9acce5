"""The curator of a stream: exact in any batches, the same again after a restart, noise of the stated law, never copied."""

import copy
import math
import os
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import chdtri

from hullabaloo.curator.moments import MomentsQuery, isometric
from hullabaloo.curator.stream import StepSums, StreamCurator
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter, NotPaidFor
from hullabaloo.noise import TestKey
from hullabaloo.noise.continual.mechanism import ContinualSum
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.answers import NoisyMoments
from tests.curator.neighbours import facts, random_rows, reordered
from tests.curator.test_stream_sum import EVERY, STRATEGIES, N, query

KEY = TestKey(bytes(range(32)))
ABOUT = facts(4, 2, max_weight=2.0)
ROWS = random_rows(np.random.default_rng(4), N, ABOUT)


def coordinates(answer: NoisyMoments) -> np.ndarray:
    """The noisy sum in isometric coordinates, as it was drawn."""
    b, c = answer.scale_x, answer.scale_y / answer.target_scale
    whole = np.block([[answer.gram / b**2, answer.cross / (b * c)], [answer.cross.T / (b * c), answer.square / c**2]])
    return isometric(whole) * answer.records


def told(curator: StreamCurator, rows: Rows, sizes: list[int]) -> list[bytes]:
    """What is seen after each batch."""
    seen, start = [], 0
    for size in sizes:
        curator.take(reordered(rows, np.arange(start, start + size)))
        start += size
        found = curator.moments()
        seen.append(b"" if found is None else found.gram.tobytes() + found.cross.tobytes() + found.square.tobytes())
    return seen


@pytest.mark.few(10)
@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("name", STRATEGIES)
def test_batches_change_no_bit(name: str, every: str) -> None:
    asked = query(ABOUT, name=name, every=EVERY[every])
    single = told(StreamCurator(asked, key=KEY), ROWS, [1] * N)
    assert len(set(single) - {b""}) == asked.schedule.steps
    assert told(StreamCurator(asked, key=KEY), ROWS, [N])[0] == single[-1]
    found = told(StreamCurator(asked, key=KEY), ROWS, [0, 2, 7, 1, 0, 10])
    assert found == [b"", single[1], single[8], single[9], single[9], single[19]]


@pytest.mark.few(7)
@pytest.mark.parametrize("mu", [1.0, math.inf])
@pytest.mark.parametrize("name", STRATEGIES)
def test_a_restart_changes_no_bit(name: str, mu: float) -> None:
    asked = query(ABOUT, name=name, every=3, mu=mu)
    straight = told(StreamCurator(asked, key=KEY), ROWS, [1] * N)
    for stop in (0, 1, 3, 8, 19):
        first = StreamCurator(asked, key=KEY)
        assert told(first, ROWS, [1] * stop) == straight[:stop]
        state = first.state()
        first.take(reordered(ROWS, np.arange(stop, N)))  # what goes on elsewhere does not touch the saved state
        for _ in range(2):  # nor does what goes on from it
            second = StreamCurator(asked, key=KEY)
            second.restore(state)
            assert second.position == stop
            assert told(second, reordered(ROWS, np.arange(stop, N)), [1] * (N - stop)) == straight[stop:]


def test_the_order_of_records_inside_a_step_changes_no_bit() -> None:
    asked, rng = query(ABOUT, every=5), np.random.default_rng(6)
    order = np.concatenate([start + rng.permutation(5) for start in range(0, N, 5)])
    assert not np.array_equal(order, np.arange(N))
    moved = told(StreamCurator(asked, key=KEY), reordered(ROWS, order), [5] * 4)
    assert moved == told(StreamCurator(asked, key=KEY), ROWS, [5] * 4)


@pytest.mark.parametrize("width", [5, 40])
def test_long_and_sparse_steps_have_the_bits_of_short_and_dense_ones(width: int) -> None:
    """Matrix products of many records and the kernel of single ones come to the same integers."""
    about = facts(width, norm_l2=1.0)
    rows = random_rows(np.random.default_rng(7), 6000, about)
    rows = Rows(rows.X * (np.random.default_rng(8).random(rows.X.shape) < 0.2), rows.Y)
    asked = query(about, every=2500, horizon=6000)
    whole = told(StreamCurator(asked, key=KEY), rows, [6000])
    assert told(StreamCurator(asked, key=KEY), rows, [100] * 60)[-1] == whole[-1]
    curator = StreamCurator(asked, key=KEY)
    curator.take(Rows(sp.csr_array(rows.X), rows.Y))
    found = curator.moments()
    assert found is not None
    assert found.gram.tobytes() + found.cross.tobytes() + found.square.tobytes() == whole[0]


@pytest.mark.parametrize("weighted", [True, False])
def test_the_vector_of_a_step_is_its_moments_answer(weighted: bool) -> None:
    about = facts(4, max_weight=2.0) if weighted else facts(4)
    rows = random_rows(np.random.default_rng(9), 5000, about, extreme=True)
    asked = MomentsQuery(about, Neighbours.ADD_OR_REMOVE, 5000, 1, 0.5, 1.3)
    found = StepSums(asked, math.inf).add(rows, np.array([5000]))
    assert found[0] == pytest.approx(asked.exact(rows), rel=1e-14)


@pytest.mark.few(4)
@pytest.mark.parametrize("name", STRATEGIES)
def test_without_noise_the_moments_are_those_of_the_prefix(name: str) -> None:
    _, decay, window = STRATEGIES[name]
    about = facts(3)
    rows = random_rows(np.random.default_rng(10), N, about)
    curator = StreamCurator(query(about, name=name, mu=math.inf))
    for stop in range(1, N + 1):
        curator.take(reordered(rows, np.array([stop - 1])))
        ages = np.arange(stop - 1, -1, -1.0)
        weight = decay**ages * (1.0 if window is None else ages < window)
        found = curator.moments()
        assert found is not None
        assert found.sigma == 0.0
        assert found.records == pytest.approx(weight.sum(), rel=1e-12)
        X, Y = rows.X[:stop], rows.Y[:stop]
        assert found.gram == pytest.approx((X.T * weight) @ X / weight.sum(), rel=1e-10, abs=1e-11)
        assert found.cross == pytest.approx((X.T * weight) @ Y / weight.sum(), rel=1e-10, abs=1e-11)
        assert found.square == pytest.approx((Y.T * weight) @ Y / weight.sum(), rel=1e-10, abs=1e-11)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", STRATEGIES)
def test_the_noise_has_the_stated_deviation(name: str) -> None:
    """χ² of the noise of one release over independent streams; false alarm 1e-6 for each strategy and step."""
    about = facts(2)
    rows = random_rows(np.random.default_rng(11), N, about)
    asked = query(about, name=name, every=2)
    exact = StreamCurator(query(about, name=name, every=2, mu=math.inf))
    exact.take(rows)
    plain, runs = exact.moments(), 300
    assert plain is not None
    total = 0.0
    for run in range(runs):
        curator = StreamCurator(asked, key=KEY.derive(run))
        curator.take(rows)
        noisy = curator.moments()
        assert noisy is not None
        assert noisy.sigma == pytest.approx(asked.sigma * asked.error(asked.schedule.steps))
        total += float(np.sum(((coordinates(noisy) - coordinates(plain)) / noisy.sigma) ** 2))
    degrees = runs * asked.moments.length
    assert chdtri(degrees, 1.0 - 5e-7) <= total <= chdtri(degrees, 5e-7)


def test_fresh_noise_differs() -> None:
    """False alarm below 2^-100."""
    asked = query(ABOUT)
    seen = [told(StreamCurator(asked), ROWS, [N])[0] for _ in range(2)]
    assert seen[0] != seen[1]


def test_nothing_is_shown_before_the_first_step_ends() -> None:
    curator = StreamCurator(query(ABOUT, every=7))
    curator.take(reordered(ROWS, np.arange(6)))
    assert curator.moments() is None
    assert curator.position == 6


def test_reading_again_gives_the_same() -> None:
    curator = StreamCurator(query(ABOUT))
    curator.take(ROWS)
    first, second = curator.moments(), curator.moments()
    assert first is not None
    assert second is not None
    assert coordinates(first).tobytes() == coordinates(second).tobytes()


def test_counts_are_known_where_nothing_weighs_records() -> None:
    for about, relation, counted in (
        (facts(2), Neighbours.REPLACE_ONE, True),
        (facts(2), Neighbours.ADD_OR_REMOVE, False),
        (facts(2, max_weight=2.0), Neighbours.REPLACE_ONE, False),
    ):
        curator = StreamCurator(query(about, relation))
        curator.take(random_rows(np.random.default_rng(12), 5, about))
        found = curator.moments()
        assert found is not None
        assert found.counted is counted
        assert found.records == 5.0


def test_records_beyond_the_horizon_are_refused_whole() -> None:
    curator = StreamCurator(query(ABOUT))
    curator.take(reordered(ROWS, np.arange(15)))
    with pytest.raises(InvalidParameter, match="horizon of 20 records was asked to take record 21"):
        curator.take(reordered(ROWS, np.arange(6)))
    assert curator.position == 15
    curator.take(reordered(ROWS, np.arange(5)))
    assert curator.position == 20


def test_a_curator_never_leaves_its_process() -> None:
    curator = StreamCurator(query(ABOUT))
    curator.take(reordered(ROWS, np.arange(3)))
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="private sums"):
            take(curator)
    assert repr(curator) == "StreamCurator(<private sums>)"
    refused = [lambda: curator.take(ROWS), curator.state, lambda: curator.restore({})]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn when any library's thread is alive
        child = os.fork()
    if child == 0:
        caught = 0
        try:
            for use in refused:
                try:
                    use()
                except NotPaidFor:
                    caught += 1
        finally:  # whatever happens, the child must not go on as a test runner
            os._exit(caught)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == len(refused)
    curator.take(reordered(ROWS, np.arange(3)))  # here it goes on


def test_an_interrupted_batch_is_not_taken_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    curator = StreamCurator(query(ABOUT))
    curator.take(reordered(ROWS, np.arange(3)))
    state, before = curator.state(), curator.moments()

    def interrupted(*_: object) -> np.ndarray:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ContinualSum, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            curator.take(reordered(ROWS, np.arange(3, 6)))
    for use in (lambda: curator.take(reordered(ROWS, np.arange(3, 6))), curator.state):
        with pytest.raises(NotPaidFor, match="interrupted"):
            use()
    found = curator.moments()  # what was released can still be read
    assert before is not None
    assert found is not None
    assert found.gram.tobytes() == before.gram.tobytes()
    again = StreamCurator(query(ABOUT))
    again.restore(state)
    assert again.position == 3
