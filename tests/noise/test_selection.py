"""Laws of the two selections. Keys are fixed; each χ² would alarm falsely with probability 1e-7 on fresh keys."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from hullabaloo.errors import CalibrationError, InvalidParameter
from hullabaloo.noise import TestKey, exponential_mechanism, permute_and_flip, selection

KEY = TestKey(bytes(range(32)))
BOTH = pytest.mark.parametrize("select", [exponential_mechanism, permute_and_flip])
SCORES = np.array([0.0, 0.3, 1.0, 1.0, 2.0, -3.0])
ALARM = 1e-7


def exponential_law(scores, epsilon):
    weight = np.exp(epsilon * (scores - scores.max()) / 2)
    return weight / weight.sum()


def permute_and_flip_law(scores, epsilon):
    coin = np.exp(epsilon / 2 * (scores - scores.max()))
    law = np.zeros(scores.size)
    for heads in itertools.product((0, 1), repeat=scores.size):
        h = np.array(heads)
        mass = np.prod(np.where(h, coin, 1 - coin))
        if mass > 0:
            law += mass * h / h.sum()
    return law


def textbook_permute_and_flip(scores, epsilon, rng):
    while True:
        for i in rng.permutation(scores.size):
            if rng.random() < math.exp(epsilon / 2 * (scores[i] - scores.max())):
                return i


def frequencies(select, scores, epsilon, runs, **options):
    drawn = [select(scores, 1.0, epsilon, bound=1e4, key=KEY.derive(i), **options) for i in range(runs)]
    return np.bincount(drawn, minlength=scores.size)


@pytest.mark.few(1)
@pytest.mark.parametrize("epsilon", [0.1, 1.3, 6.0])
@pytest.mark.parametrize(
    ("select", "law"), [(exponential_mechanism, exponential_law), (permute_and_flip, permute_and_flip_law)]
)
def test_law(select, law, epsilon):
    """The lattice's inflation D/(Δ/g) = 1 + 2^-40 is invisible at this sample size."""
    expected = law(SCORES, epsilon)
    assert expected.sum() == pytest.approx(1.0)
    runs = 12_000
    assert stats.chisquare(frequencies(select, SCORES, epsilon, runs), runs * expected).pvalue > ALARM


def test_the_law_of_permute_and_flip_is_the_textbooks():
    rng, runs = np.random.default_rng(0), 12_000
    drawn = np.bincount([textbook_permute_and_flip(SCORES, 1.3, rng) for _ in range(runs)], minlength=6)
    assert stats.chisquare(drawn, runs * permute_and_flip_law(SCORES, 1.3)).pvalue > ALARM


@pytest.mark.slow
def test_the_last_bucket_is_exact_too(monkeypatch):
    """With two octaves instead of 200, most candidates share the last bucket and are settled by the exact coin."""
    monkeypatch.setattr(selection, "_LAST", 2)
    scores = -np.arange(12.0)
    drawn = frequencies(exponential_mechanism, scores, 1.0, 12_000)
    assert stats.chisquare(drawn, 12_000 * exponential_law(scores, 1.0)).pvalue > ALARM


def test_coins_that_doubles_cannot_decide_are_decided_exactly(monkeypatch):
    from hullabaloo.noise import kernels

    decided = kernels.coins

    def unsure_of_everything(behind, rate, words, heads, unsure):
        decided(behind, rate, words, heads, unsure)
        unsure[: behind.size] = np.arange(behind.size)
        return 0, behind.size

    sure = [permute_and_flip(SCORES, 1.0, 1.3, bound=1e4, key=KEY.derive(i)) for i in range(300)]
    monkeypatch.setattr(kernels, "coins", unsure_of_everything)
    assert [permute_and_flip(SCORES, 1.0, 1.3, bound=1e4, key=KEY.derive(i)) for i in range(300)] == sure


@BOTH
def test_far_candidates_lose_and_nothing_overflows(select):
    for scores in ([0.0, 1e10], [-1e300, 1e300], [-np.inf, np.inf], [-1e10, 1e10]):
        drawn = {select(scores, 1.0, 1.0, bound=2e10, key=KEY.derive(i)) for i in range(50)}
        assert drawn == {1}


@pytest.mark.slow
@BOTH
def test_all_equal_is_uniform(select):
    drawn = frequencies(select, np.full(10, 7.25), 1.0, 10_000)
    assert stats.chisquare(drawn).pvalue > ALARM


@BOTH
def test_one_candidate_is_chosen(select):
    assert select([-3.0], 1.0, 1e-3, bound=5.0) == 0
    assert isinstance(select([-3.0], 1.0, 1e-3, bound=5.0), int)


@pytest.mark.slow
@BOTH
def test_many_candidates(select):
    """2e5 candidates, ten groups of equal scores: χ² of the groups; with so many coins both laws share them alike."""
    scores = np.tile(np.arange(10.0), 20_000)
    weight = np.exp(0.5 * (np.arange(10.0) - 9))
    runs = 600
    drawn = [select(scores, 1.0, 1.0, bound=1e4, key=KEY.derive(i)) for i in range(runs)]
    assert stats.chisquare(np.bincount(np.array(drawn) % 10, minlength=10), runs * weight / weight.sum()).pvalue > ALARM
    assert len(set(drawn)) > 0.98 * runs


@pytest.mark.few(4)
@BOTH
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
def test_no_value_of_the_data_raises(select, value):
    for scores in (np.full(5, value), np.array([0.0, value, 1.0]), np.array([value])):
        assert 0 <= select(scores, 1.0, 1.0, bound=1.0) < scores.size


@BOTH
def test_higher_scores_win(select):
    assert {select([0.0, 50.0, 20.0], 1.0, 10.0, bound=50.0, key=KEY.derive(i)) for i in range(100)} == {1}


@pytest.mark.few(1)
@BOTH
def test_excluded_candidates_are_never_chosen(select):
    scores, excluded = np.array([5.0, 9.0, 5.0, 5.0]), np.array([False, True, False, False])
    drawn = frequencies(select, scores, 1.0, 3000, excluded=excluded)
    assert drawn[1] == 0
    assert stats.chisquare(drawn[[0, 2, 3]]).pvalue > ALARM


@BOTH
def test_bad_public_arguments_are_refused(select):
    with pytest.raises(InvalidParameter, match="vector with at least one"):
        select(np.zeros((2, 2)), 1.0, 1.0, bound=1.0)
    with pytest.raises(InvalidParameter, match="vector with at least one"):
        select([], 1.0, 1.0, bound=1.0)
    for mask in ([True, True], [False], [0, 1]):
        with pytest.raises(InvalidParameter, match="not all true"):
            select([0.0, 1.0], 1.0, 1.0, bound=1.0, excluded=mask)
    for public in ({"epsilon": 0.0}, {"epsilon": math.nan}, {"sensitivity": -1.0}, {"bound": math.inf}):
        with pytest.raises(InvalidParameter, match="positive"):
            select([0.0], **({"sensitivity": 1.0, "epsilon": 1.0, "bound": 1.0} | public))
    with pytest.raises(CalibrationError):
        select([0.0], 1.0, 1.0, bound=2.0**36)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 37.0])
def test_the_rate_never_exceeds_half_epsilon_per_sensitivity_in_cells(epsilon):
    """The premise of both proofs, on real neighbours: c·|K(q) − K(q')| ≤ ε/2 for scores that differ by at most Δ."""
    from fractions import Fraction

    from hullabaloo.noise import lattice

    rng = np.random.default_rng(1)
    for sensitivity, bound in ((1.0, 1.0), (0.37, 1e4), (1e-7, 3e3)):
        q = rng.uniform(-bound, bound, 2000)
        other = q + rng.uniform(-sensitivity, sensitivity, 2000)
        other[::3] = q[::3] + sensitivity * rng.choice([-1, 1], other[::3].size)
        near = np.array(
            [abs(Fraction(a) - Fraction(b)) <= Fraction(sensitivity) for a, b in zip(q, other, strict=True)]
        )
        pitch = lattice(sensitivity, bound).pitch
        apart = np.abs(np.rint(q / pitch) - np.rint(other / pitch))[near].max()
        rate = selection._contest(q, sensitivity, epsilon, bound, None)[2]
        assert Fraction(rate) * Fraction(int(apart)) <= Fraction(epsilon) / 2


def test_the_least_likely_candidate_is_chosen_when_the_words_say_so(monkeypatch):
    """One of probability e^-70, which no sum of a score and a double of noise would ever give: its words are 2^63, then zeros."""
    words = itertools.chain([1 << 63], itertools.repeat(0))
    monkeypatch.setattr(selection, "Keystream", lambda _: words)
    assert exponential_mechanism([0.0, -70.0], 1.0, 2.0, bound=100.0) == 1
