import itertools
import random
from fractions import Fraction

import mpmath
import pytest

from hullabaloo.noise import exact, sampler

from .reference import reject_probability


@pytest.fixture(autouse=True)
def precision():
    with mpmath.workprec(1200):
        yield


def real(v: Fraction) -> mpmath.mpf:
    return mpmath.mpf(v.numerator) / v.denominator


def digits(value, count):
    """The binary expansion of value in [0, 1), as 64-bit words."""
    words = []
    for _ in range(count):
        value = value * 2**64
        words.append(int(mpmath.floor(value)))
        value -= words[-1]
    return words


@pytest.mark.parametrize("bits", [1, 8, 64, 144, 192, 700])
def test_exp_minus_encloses(bits):
    rng = random.Random(bits)
    for _ in range(300):
        v = Fraction(rng.getrandbits(60), 1 << 60) * Fraction(2) ** rng.randrange(-70, 12)
        low, high = exact.exp_minus(v, bits)
        assert low <= mpmath.exp(-real(v)) * 2**bits <= high
        assert 0 <= low < high <= low + 3
    assert exact.exp_minus(Fraction(0), bits)[1] >= 1 << bits


@pytest.mark.parametrize(
    ("v", "doublings"), [(Fraction(1, 3), 0), (Fraction(7), 0), (Fraction(139, 2), 100), (Fraction(50), 0)]
)
def test_coins_whose_first_words_tie_are_decided_by_the_later_ones(v, doublings):
    t = mpmath.exp(-real(v)) * 2**doublings
    for ties in (1, 2, 5):
        words = digits(t, ties + 1)
        heads = [*words[:-1], words[-1] - 5, 0, 0]
        tails = [*words[:-1], words[-1] + 5, 0, 0]
        assert exact.bernoulli_exp(v, iter(heads), doublings=doublings) is True
        assert exact.bernoulli_exp(v, iter(tails), doublings=doublings) is False


def test_certain_coins_read_one_word():
    words = iter([1 << 62, 3])
    assert exact.bernoulli_exp(Fraction(1), words) is True
    assert next(words) == 3


@pytest.mark.parametrize("n", [1, 2, 3, 5, 2**63, 2**64, 2**64 + 1, 2**215 + 12345])
def test_below_is_uniform_by_rejection(n):
    rng = random.Random(n)
    words = iter(lambda: rng.getrandbits(64), None)
    drawn = [exact.below(n, words) for _ in range(2000)]
    assert 0 <= min(drawn) <= max(drawn) < n
    assert abs(sum(2 * d < n - 1 for d in drawn) - sum(2 * d > n - 1 for d in drawn)) < 6 * 2000**0.5  # 6 sd


@pytest.mark.parametrize("density", [sampler.GAUSSIAN, sampler.LAPLACE])
@pytest.mark.parametrize("ratio", [1.7 * 2.0**25, 1.37 * 2.0**40])
def test_wedges_that_tie_are_decided_by_later_bits_of_both_uniforms(density, ratio):
    """U a hair above the rejection probability at X accepts, a hair below rejects, however long the words agree."""
    table = sampler.build(density, ratio)
    rng = random.Random(3)
    for strip in (0, 1, 30, 200, table.strips - 1):
        position = rng.randrange(1 << table.width)
        cell = strip << table.width | position
        v_words = [rng.getrandbits(64) for _ in range(8)]
        v = real(Fraction(sum(w << 64 * (7 - i) for i, w in enumerate(v_words)), 1 << 512))
        q = reject_probability(table, strip, cell + v)
        for ties in (0, 1, 3):
            for sign, decision in ((1, True), (-1, False)):
                u_words = digits(q + sign * mpmath.mpf(2) ** (-64 * ties - 20), 8)
                words = itertools.chain.from_iterable(zip(v_words, u_words[1:], strict=False))
                assert (
                    exact.accepts(table.box[strip], table.core[strip], table.density_at, cell, u_words[0], words)
                    is decision
                )


@pytest.mark.parametrize("density", [sampler.GAUSSIAN, sampler.LAPLACE])
@pytest.mark.parametrize("ratio", [1.7 * 2.0**25, 1.37 * 2.0**40])
@pytest.mark.parametrize("edge", [0, 1], ids=["from above", "from below"])
def test_wedges_whose_uniform_ends_at_the_edge_of_its_first_word(density, ratio, edge):
    """The rejection probability at X is 2^-150 from a whole word, where a decision one round too early goes wrong."""
    table = sampler.build(density, ratio)
    side = mpmath.mpf(1 - 2 * edge)
    for strip in (1, 30, 200):
        box, core = table.box[strip], table.core[strip]
        u = (1 << 63) + 12345
        q = mpmath.mpf(u + edge) / 2**64 + side * mpmath.mpf(2) ** -150
        height = (box - (box - core) * q) / table.total
        x = ratio * (-density.power * mpmath.log(height)) ** (mpmath.mpf(1) / density.power)
        cell = int(mpmath.floor(x))
        assert cell >> table.width == strip
        for sign, decision in ((1, True), (-1, False)):
            u_words = digits(q + sign * mpmath.mpf(2) ** -160, 8)
            assert u_words[0] == u
            words = itertools.chain.from_iterable(zip(digits(x - cell, 8), u_words[1:], strict=False))
            assert exact.accepts(box, core, table.density_at, cell, u, words) is decision
