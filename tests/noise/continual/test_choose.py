"""What "auto" takes, and how good the strategies are: figures that the documentation states."""

import numpy as np
import pytest

from hullabaloo.noise.continual.buffered import BufferedToeplitz
from hullabaloo.noise.continual.choose import largest_error, strategy_named
from hullabaloo.noise.continual.design import any_time, prefix, windowed
from hullabaloo.noise.continual.history import BestFactorisation, SquareRootToeplitz
from hullabaloo.noise.continual.tree import BinaryTree
from hullabaloo.privacy.schedule import FOREVER


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((4,), "dense"),
        ((64,), "dense"),
        ((65,), "buffered"),
        ((10**7,), "buffered"),
        ((FOREVER,), "hybrid"),
        ((FOREVER, 0.99), "buffered"),
        ((FOREVER, 1.0, 100), "buffered"),
        ((1000, 1.0, 100), "square_root"),
        ((10**6, 1.0, 100), "buffered"),
        ((30, 0.5), "buffered"),
        ((30, 1.0, 1), "buffered"),
    ],
    ids=str,
)
def test_auto_takes_the_best_that_runs_in_little_memory(arguments, name):
    assert strategy_named("auto", *arguments).name == name


def test_two_steps_by_hand():
    """Against the best factorisation of [[1, 0], [1, 1]], of largest error 2/√3 (γ₂ of the triangular matrix of order 2)."""
    assert largest_error(BestFactorisation(2)) == pytest.approx(2 / np.sqrt(3), rel=1e-4)


@pytest.mark.few(1)
@pytest.mark.parametrize("steps", [3, 16, 64])
@pytest.mark.parametrize(("decay", "window"), [(1.0, None), (0.9, None), (1.0, 5)])
def test_the_best_factorisation_beats_all_others(steps, decay, window):
    best = largest_error(BestFactorisation(steps, decay, window))
    for other in (SquareRootToeplitz, BufferedToeplitz):
        assert best <= largest_error(other(steps, decay, window)) * (1 + 1e-9)


def test_trees_need_far_more_noise_than_buffers():
    """Tests: 003, Proposition C.1."""
    steps = 65_536
    buffered = largest_error(BufferedToeplitz(steps))
    k = np.arange(1, steps)
    square_root = 1.0 + float(
        np.sum(np.cumprod((k - 0.5) / k) ** 2)
    )  # without normalised columns; the least of Toeplitz ones
    assert buffered <= 0.96 * square_root
    assert largest_error(BinaryTree(steps)) / buffered >= 3.7


@pytest.mark.parametrize("steps", [70, 333, 1024, 3000])
def test_buffers_come_close_to_the_square_root(steps):
    assert largest_error(BufferedToeplitz(steps)) <= 1.002 * largest_error(SquareRootToeplitz(steps))


@pytest.mark.parametrize(("steps", "window"), [(64, 2), (64, 7), (500, 30), (2000, 500)])
def test_windowed_buffers_stay_within_a_tenth_of_the_square_root(steps, window):
    ratio = largest_error(BufferedToeplitz(steps, 1.0, window)) / largest_error(SquareRootToeplitz(steps, 1.0, window))
    assert 1.0 <= ratio <= 1.1


def test_parameters_make_inverses_that_decay():
    rows = [prefix(round(2.0 ** (e / 5))) for e in range(20, 205)]
    rows += [windowed(round(2.0 ** (e / 5))) for e in range(105)]
    for loss, weight in [*rows, any_time()]:
        assert all(0 < a < b < 1 for a, b in zip(loss, (*loss[1:], 0.95), strict=True))
        assert sum(w / (1 - d) for d, w in zip(loss, weight, strict=True)) < 1


def test_one_mechanism_for_any_end():
    """At every time within 1.47 of the error of buffers that know it, within what the pages say of the mechanism that would be taken, and better than the classical hybrid."""
    endless, classical = strategy_named("auto", FOREVER), strategy_named("hybrid", FOREVER)
    for time in (1, 2, 5, 16, 30, 65, 1000, 100_000):
        now = np.array([time])
        known = strategy_named("auto", time)
        assert endless.errors(now)[0] <= 1.47 * largest_error(BufferedToeplitz(time))
        assert endless.errors(now)[0] <= (1.52 if time <= 64 else 1.45) * largest_error(known)
        assert endless.errors(now)[0] <= 1.8 * known.column_norm * known.errors(now)[0]
        if time & (time - 1):  # at powers of two the classical hybrid has just finished an epoch
            assert endless.errors(now)[0] < 0.9 * classical.errors(now)[0]
