"""The mechanism around a strategy: noise drawn once, predicted variances, the whole stream's guarantee, refusals."""

import math

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import TestKey
from hullabaloo.noise.continual.buffered import BufferedToeplitz
from hullabaloo.noise.continual.choose import NAMED, strategy_named
from hullabaloo.noise.continual.history import BestFactorisation, SquareRootToeplitz
from hullabaloo.noise.continual.hybrid import Hybrid
from hullabaloo.noise.continual.mechanism import ContinualSum

from .zoo import DRIFTING, factors, label, workload

KEY = TestKey(bytes(range(32)))
MANY = 20_000
STRATEGIES = [strategy_named(name, 21) for name in NAMED]
STRATEGIES += [kind(21, decay, window) for kind in DRIFTING for decay, window in ((0.8, None), (1.0, 5))]
each = pytest.mark.parametrize("strategy", STRATEGIES, ids=label)


def summing(strategy, length, sigma=2.0, key=KEY):
    return ContinualSum(strategy, sigma, length=length, bound=strategy.reach * 1.0, key=key)


@pytest.mark.few(5)
@each
def test_batching_changes_no_bit(strategy):
    x = np.random.default_rng(4).uniform(-1, 1, size=(21, 3))
    at_once, one_by_one, uneven = (summing(strategy, 3) for _ in range(3))
    expected = at_once.add(x)
    assert np.array_equal(np.concatenate([one_by_one.add(row[None, :]) for row in x]), expected)
    parts = [uneven.add(x[a:b]) for a, b in ((0, 0), (0, 7), (7, 8), (8, 8), (8, 21))]
    assert np.array_equal(np.concatenate(parts), expected)
    assert at_once.step == 21


@pytest.mark.few(5)
@each
def test_a_restored_stream_goes_on_bit_for_bit(strategy):
    x = np.random.default_rng(5).uniform(-1, 1, size=(21, 3))
    expected = summing(strategy, 3).add(x)
    for stop in range(22):
        first = summing(strategy, 3)
        first.add(x[:stop])
        state = first.state()
        for second in (summing(strategy, 3), summing(strategy, 3)):  # what goes on from a state leaves it as it was
            second.restore(state)
            assert second.step == stop
            if stop:
                assert np.array_equal(second.last, expected[stop - 1])
            assert np.array_equal(second.add(x[stop:]), expected[stop:])


@pytest.mark.few(5)
@each
def test_reading_draws_nothing(strategy):
    stream = summing(strategy, 3, key=None)
    assert stream.last is None
    shown = stream.add(np.ones((4, 3)))
    for _ in range(3):
        assert np.array_equal(stream.last, shown[-1])
        stream.last[:] = 0.0  # a copy
        assert all(np.array_equal(a, b) for a, b in zip(stream.state().values(), stream.state().values(), strict=True))


@pytest.mark.few(5)
@each
def test_without_noise_sums_are_exact(strategy):
    x = np.random.default_rng(6).uniform(-1, 1, size=(21, 2))
    for sigma in (0.0, None):
        assert np.allclose(summing(strategy, 2, sigma).add(x), workload(strategy, 21) @ x, rtol=0, atol=1e-12)


@pytest.mark.few(5)
@each
def test_fresh_noise_differs_between_streams(strategy):
    x = np.zeros((2, 3))
    assert not np.any(summing(strategy, 3, key=None).add(x) == summing(strategy, 3, key=None).add(x))


@pytest.mark.few(5)
@each
def test_measured_variance_is_the_predicted_one(strategy):
    """20 000 coordinates with independent noise: their variance is within 6.5 standard errors, false alarm 2e-9 in all steps.

    Tests: 003, Algorithm 4.
    """
    x = np.random.default_rng(7).uniform(-1, 1, size=(21, 1)) * np.ones(MANY)
    off = summing(strategy, MANY, sigma=3.0).add(x) - (workload(strategy, 21) @ x[:, :1])
    predicted = (3.0 * strategy.errors()) ** 2
    assert np.all(np.abs((off**2).mean(axis=1) / predicted - 1.0) <= 6.5 * math.sqrt(2.0 / MANY))
    assert np.all(np.abs(off.mean(axis=1)) <= 6.5 * np.sqrt(predicted / MANY))


class Tapped:
    """A strategy whose decoder keeps what it is shown: everything that is ever public."""

    def __init__(self, strategy):
        self.strategy, self.steps, self.shown = strategy, strategy.steps, []

    def encoder(self, length):
        return self.strategy.encoder(length)

    def decoder(self, length):
        tap, inner = self, self.strategy.decoder(length)

        class Decoder:
            def decode(self, noisy, steps):
                tap.shown.append(noisy.copy())
                return inner.decode(noisy, steps)

        return Decoder()


@pytest.mark.few(5)
@each
def test_the_whole_stream_is_as_private_as_stated_and_not_more(strategy):
    """The most powerful test of the worst step, the likelihood ratio of the encoded stream, separates by μ = column norm/σ.

    Its statistic is N(0, 1) without and N(μ, 1) with the step: 20 000 independent coordinates measure mean and variance; 5.5
    standard errors each, false alarm 2e-7 over both.

    Tests: 003, Proposition C.1.
    """
    sigma = 1.7
    _, C = factors(strategy, 21)
    worst = int(np.linalg.norm(C, axis=0).argmax())
    direction = C[:, worst] / np.linalg.norm(C[:, worst])
    rest = np.random.default_rng(8).uniform(-1, 1, size=(21, 1)) * np.ones(MANY)
    rest[worst] = 0.0
    statistics = []
    for present, key in ((0.0, KEY.derive("without")), (1.0, KEY.derive("with"))):
        x = rest.copy()
        x[worst] = present
        tapped = Tapped(strategy)
        ContinualSum(tapped, sigma, length=MANY, bound=strategy.reach, key=key).add(x)
        shown = np.concatenate(tapped.shown)
        assert shown.shape[0] == strategy.encoded
        statistics.append(direction @ (shown - (C @ rest)) / sigma)
    without, present = statistics
    mu = np.linalg.norm(C[:, worst]) / sigma
    assert mu <= strategy.column_norm / sigma
    assert abs(without.mean()) <= 5.5 / math.sqrt(MANY)
    assert abs(present.mean() - mu) <= 5.5 / math.sqrt(MANY)
    for statistic in statistics:
        assert abs(statistic.var() - 1.0) <= 5.5 * math.sqrt(2.0 / MANY)


@each
def test_more_steps_than_planned_are_refused_whole(strategy):
    stream = summing(strategy, 2)
    stream.add(np.ones((20, 2)))
    with pytest.raises(InvalidParameter, match="Noise was calibrated for those alone"):
        stream.add(np.ones((2, 2)))
    assert stream.step == 20
    stream.add(np.ones((1, 2)))


def test_vectors_of_another_length_are_refused():
    stream = summing(BufferedToeplitz(5), 3)
    for wrong in (np.ones(3), np.ones((2, 4))):
        with pytest.raises(InvalidParameter, match="Pass one row a step"):
            stream.add(wrong)


@pytest.mark.few(12)
@pytest.mark.parametrize("kind", [BufferedToeplitz, SquareRootToeplitz, BestFactorisation, Hybrid])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0,), "number of steps"),
        ((2.0,), "number of steps"),
        ((True,), "number of steps"),
        ((1 << 41,), "number of steps"),
        ((5, 0.0), "the past weighs less"),
        ((5, 1.5), "the past weighs less"),
        ((5, float("nan")), "the past weighs less"),
        ((5, 1.0, 0), "latest steps"),
        ((5, 1.0, 2.5), "latest steps"),
    ],
)
def test_what_is_no_workload_is_refused(kind, arguments, words):
    with pytest.raises(InvalidParameter, match=words):
        kind(*arguments)


@pytest.mark.parametrize("name", ["tree", "hybrid"])
@pytest.mark.parametrize("drift", [(0.9, None), (1.0, 3)])
def test_prefix_sums_alone(name, drift):
    with pytest.raises(InvalidParameter, match="everything so far alone"):
        strategy_named(name, 10, *drift)


def test_what_needs_a_history_names_the_one_that_does_not():
    for name in ("square_root", "dense"):
        with pytest.raises(InvalidParameter, match="'buffered'"):
            strategy_named(name, 100_000)
    with pytest.raises(InvalidParameter, match="Use one of auto, tree"):
        strategy_named("magic", 10)
    with pytest.raises(InvalidParameter, match="power of two"):
        Hybrid(10, first=3)
