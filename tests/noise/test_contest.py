"""A contest has the law of the exponential mechanism of its present scores, whichever scores came before. Each χ² would alarm falsely with probability 1e-7."""

import numpy as np
import pytest
from scipy import stats

from hullabaloo.noise import ReleaseKey, TestKey, contest, selection
from hullabaloo.noise.contest import Contest
from tests.noise.test_selection import ALARM, KEY, SCORES, exponential_law

HOSTILE = np.array([0.0, -70.0, 1.0, 1.0, np.nan, -np.inf, 2.5, -3.0])


def drawn(found: Contest, runs: int, size: int) -> np.ndarray:
    return np.bincount([found.choose(KEY.derive(i)) for i in range(runs)], minlength=size)


@pytest.mark.few(1)
@pytest.mark.parametrize("bound", [3.0, 1e4, 1e10], ids=str)
@pytest.mark.parametrize("epsilon", [0.1, 6.0])
def test_law(epsilon: float, bound: float) -> None:
    """The public bound, from which octaves are counted, is near or far; scores came one by one from anywhere."""
    found, rng = Contest(np.zeros(SCORES.size), 1.0, epsilon, bound=bound), np.random.default_rng(1)
    for _ in range(20):
        found.move(np.arange(SCORES.size), rng.uniform(-1.0, 1.0, SCORES.size) * bound)
    for i in rng.permutation(SCORES.size):
        found.move(np.array([i]), SCORES[[i]])
    assert stats.chisquare(drawn(found, 3_000, 6), 3_000 * exponential_law(SCORES, epsilon)).pvalue > ALARM


@pytest.mark.slow
def test_law_of_those_that_are_not_excluded() -> None:
    excluded, scores = np.arange(SCORES.size) % 3 == int(SCORES.argmax()) % 3, SCORES.copy()
    scores[excluded] = -20.0
    found = Contest(scores, 1.0, 2.0, bound=20.0)
    chosen = np.bincount([found.choose(KEY.derive(i), excluded) for i in range(3_000)], minlength=SCORES.size)
    assert not chosen[excluded].any()
    assert stats.chisquare(chosen[~excluded], 3_000 * exponential_law(SCORES[~excluded], 2.0)).pvalue > ALARM
    alike = Contest(np.full(3, -20.0), 1.0, 2.0, bound=20.0)  # all are as bad as excluded ones
    assert alike.choose(KEY, np.array([True, False, True])) == 1


@pytest.mark.slow
def test_law_of_the_last_octave(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two octaves instead of 200, most candidates share the last bucket."""
    monkeypatch.setattr(selection, "_LAST", 2)
    scores = -np.arange(12.0)
    found = Contest(scores, 1.0, 1.0, bound=20.0)
    assert stats.chisquare(drawn(found, 3_000, 12), 3_000 * exponential_law(scores, 1.0)).pvalue > ALARM


@pytest.mark.few(1)
def test_choices_are_those_of_a_new_contest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the same key, after any moves: over several blocks, into and out of the window on both sides, whatever a score is."""
    monkeypatch.setattr(contest, "_WINDOW", 12)
    monkeypatch.setattr(contest, "_MARGIN", 3)
    monkeypatch.setattr(selection, "_LAST", 6)
    rng, size = np.random.default_rng(2), 3 * 2**contest._BITS + 5
    scores = rng.normal(size=size)
    found = Contest(scores, 1.0, 2.0, bound=1e3)
    for step in range(60):
        some = rng.choice(size, rng.integers(1, 300), replace=False)
        scores[some] = rng.choice([0.1, 30.0, 3000.0]) * rng.normal(size=some.size) + rng.choice([0.0, 50.0, -50.0])
        scores[some[:8]] = HOSTILE[: some.size]
        found.move(some, scores[some])
        if step % 3 == 0:  # no choice in between: several windows may be passed
            anew = Contest(scores, 1.0, 2.0, bound=1e3)
            assert [found.choose(KEY.derive(i)) for i in range(4)] == [anew.choose(KEY.derive(i)) for i in range(4)]


@pytest.mark.slow
def test_all_alike_is_uniform_over_blocks() -> None:
    size = 2**contest._BITS + 2000
    found = Contest(np.full(size, -7.25), 1.0, 1.0, bound=1e4)
    chosen = np.array([found.choose(KEY.derive(i)) for i in range(2_400)])
    assert stats.chisquare(np.bincount(chosen * 12 // size, minlength=12)).pvalue > ALARM


def test_a_secret_key_is_bound_to_the_scores() -> None:
    """The same key meets no two different scores with the same noise; of the same scores the choice is the same."""
    key, size = ReleaseKey.fresh(), 4096
    one, same, other = (Contest(np.arange(size) == at, 1.0, 1e-3, bound=2.0) for at in (0, 0, 1))
    chosen = [[found.choose(key.derive(i)) for i in range(3)] for found in (one, same, other)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert isinstance(one.choose(TestKey(bytes(32))), int)
