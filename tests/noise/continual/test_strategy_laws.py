"""Laws of every strategy: the matrices that its encoder and decoder are, rebuilt from unit vectors, are what it states."""

import importlib
import inspect
import pickle
import pkgutil

import numpy as np
import pytest

from hullabaloo.noise import continual
from hullabaloo.noise.continual.base import Strategy
from hullabaloo.noise.continual.hybrid import LONGEST, Hybrid
from hullabaloo.privacy.schedule import FOREVER

from .zoo import ENDLESS, LONG, SAMPLES, factors, label, workload

every_sample = pytest.mark.parametrize("strategy", SAMPLES, ids=label)


def test_every_strategy_has_samples():
    found = set()
    for module in pkgutil.iter_modules(continual.__path__):
        classes = inspect.getmembers(
            importlib.import_module(f"hullabaloo.noise.continual.{module.name}"), inspect.isclass
        )
        found |= {kind for _, kind in classes if issubclass(kind, Strategy) and kind is not Strategy}
    assert found == {type(strategy) for strategy in SAMPLES}


@pytest.mark.few(10)
@every_sample
def test_the_factors_multiply_to_the_workload(strategy):
    B, C = factors(strategy, strategy.steps)
    assert np.allclose(B @ C, workload(strategy, strategy.steps), rtol=0, atol=1e-13)
    assert C.shape[0] == strategy.encoded


@pytest.mark.few(12)
@every_sample
def test_columns_have_the_stated_norm(strategy):
    """Tests: 003, Proposition C.1."""
    _, C = factors(strategy, strategy.steps)
    norms = np.linalg.norm(C, axis=0)
    assert norms.max() <= strategy.column_norm
    cut_off = (
        strategy.name == "hybrid" and strategy.lengths[0] > strategy.steps
    )  # no epoch ends: its sum is never released
    if not cut_off:
        assert norms.max() >= strategy.column_norm * (1 - 1e-10)


@pytest.mark.few(10)
@every_sample
def test_rows_have_the_stated_errors(strategy):
    """Tests: 003, Algorithm 4."""
    B, _ = factors(strategy, strategy.steps)
    stated = strategy.errors()
    assert np.allclose(np.linalg.norm(B, axis=1), stated, rtol=1e-10)
    some = np.unique([1, strategy.steps, (strategy.steps + 1) // 2])
    assert np.array_equal(strategy.errors(some), stated[some - 1])
    assert np.array_equal(strategy.errors(some[::-1]), stated[some[::-1] - 1])


@pytest.mark.few(12)
@every_sample
def test_encoded_coordinates_stay_within_reach(strategy):
    _, C = factors(strategy, strategy.steps)
    assert np.abs(C).sum(axis=1).max() <= strategy.reach
    extreme = np.sign(C)  # the streams of ±1 that push each encoded coordinate the farthest
    encoded = strategy.encoder(C.shape[0]).encode(np.ascontiguousarray(extreme.T))
    assert np.abs(encoded).max() <= strategy.reach


@every_sample
@pytest.mark.few(25)
def test_a_step_encodes_nothing_of_the_future_and_decodes_nothing_of_it(strategy):
    n = strategy.steps
    encoder, done = strategy.encoder(n), 0
    B, C = factors(strategy, n)
    for t, row in enumerate(np.eye(n), start=1):
        done += encoder.encode(row[None, :]).shape[0]
        assert not C[:done, t:].any()
        assert not B[:t, done:].any()
    assert done == strategy.encoded


@pytest.mark.parametrize("strategy", SAMPLES + LONG, ids=label)
@pytest.mark.few(15)
def test_a_strategy_is_a_public_value(strategy):
    assert pickle.loads(pickle.dumps(strategy)) == strategy
    assert hash(pickle.loads(pickle.dumps(strategy))) == hash(strategy)
    assert strategy.to_dict()["name"] == strategy.name
    assert all(np.isfinite([strategy.column_norm, strategy.reach, strategy.slack]))
    assert strategy.slack <= 1e-5 * strategy.column_norm


@pytest.mark.few(10)
@pytest.mark.parametrize("strategy", SAMPLES + LONG, ids=label)
def test_halves_resume_bit_for_bit(strategy):
    rng = np.random.default_rng(1)
    steps = min(strategy.steps, 40)
    x = rng.normal(size=(steps, 3))
    m = strategy.encoder(3).encode(x)
    sums = strategy.decoder(3).decode(m, steps)
    for stop in range(steps + 1):
        encoder, decoder = strategy.encoder(3), strategy.decoder(3)
        head = encoder.encode(x[:stop])
        early = decoder.decode(head, stop)
        encoder, decoder = _resumed(strategy.encoder(3), encoder, stop), _resumed(strategy.decoder(3), decoder, stop)
        tail = encoder.encode(x[stop:])
        assert np.array_equal(np.concatenate((head, tail)), m)
        assert np.array_equal(np.concatenate((early, decoder.decode(tail, steps - stop))), sums)


def _resumed(fresh, old, stop):
    state = old.state()
    kept = {name: array.copy() for name, array in state.items()}
    fresh.restore(state, stop)
    old.restore(kept, stop)
    return fresh


@pytest.mark.parametrize("strategy", LONG, ids=label)
def test_memory_does_not_grow_with_the_steps(strategy):
    encoder, decoder = strategy.encoder(2), strategy.decoder(2)
    sizes = []
    for count in (20, 2000):
        decoder.decode(encoder.encode(np.ones((count, 2))), count)
        sizes.append([sum(array.size for array in half.state().values()) for half in (encoder, decoder)])
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("strategy", LONG, ids=label)
def test_long_sums_come_back_without_noise(strategy):
    x = np.random.default_rng(2).uniform(-1, 1, size=(5000, 2))
    sums = strategy.decoder(2).decode(strategy.encoder(2).encode(x), 5000)
    expected, window = np.empty_like(x), strategy.window or 5000
    total = np.zeros(2)
    for t in range(5000):
        total = strategy.decay * total + x[t]
        expected[t] = total
    expected[window:] -= strategy.decay**window * expected[:-window].copy()
    assert np.allclose(sums, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("strategy", ENDLESS, ids=label)
def test_endless_streams_have_finite_errors_at_any_time(strategy):
    times = np.array([1, 10, 1000, 10**5])
    if strategy != Hybrid(FOREVER):  # whose epochs up to 2^24 steps would each be computed
        times = np.concatenate((times, [2**28 - 1, 2**28, 2**28 + 1, 2**35]))
    errors = strategy.errors(times)
    assert np.all(np.isfinite(errors))
    assert np.all(errors >= 1 - 1e-12)
    with pytest.raises(ValueError, match="would fill the memory"):
        strategy.errors()


@pytest.mark.parametrize("first", [1, 8, LONGEST])
def test_epochs_follow_each_other(first):
    strategy, start = Hybrid(FOREVER, first=first), 0
    for epoch in range(40):
        assert strategy.start(epoch) == start
        assert strategy.epoch(start) == strategy.epoch(start + strategy.length(epoch) - 1) == epoch
        start += strategy.length(epoch)
    assert strategy.lengths[-1] == LONGEST
    assert strategy.start(strategy.epoch(FOREVER)) <= FOREVER
