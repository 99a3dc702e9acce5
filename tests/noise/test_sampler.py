"""The law of the integer noise: exact where it can be checked exactly, χ² where not.

Keys are fixed, so a run is deterministic; each χ² would alarm falsely with probability 1e-7 on a fresh key.
"""

import random

import mpmath
import numpy as np
import pytest
from scipy import special, stats

from hullabaloo.noise import TestKey, kernels, sampler
from hullabaloo.noise.keys import Keystream

from . import reference

KEY = TestKey(bytes(range(32)))
DENSITIES = [sampler.GAUSSIAN, sampler.LAPLACE]
RATIOS = [2.0**25, 1.7 * 2.0**26, 1.1 * 2.0**32, 1.37 * 2.0**40, float(np.nextafter(2.0**41, 0))]
ALARM = 1e-7


@pytest.fixture(params=DENSITIES, ids=["gaussian", "laplace"])
def density(request):
    return request.param


def with_window(window, density, ratio, monkeypatch):
    """A table of its own with another window: those that `build` keeps are shared with other tests, and remember theirs."""
    monkeypatch.setattr(sampler, "WINDOW", window)
    table = sampler.build.__wrapped__(density, ratio)
    assert table.window >= window
    return table


def tail(density, x):
    """P(|W| > x)."""
    return mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) if density.power == 2 else mpmath.exp(-mpmath.mpf(x))


def test_the_cut_holds_2_to_the_minus_130(density):
    assert tail(density, density.cutoff) < mpmath.mpf(2) ** -130


@pytest.mark.few(13)
@pytest.mark.parametrize("k", range(25, 41))
def test_the_alias_table_reproduces_the_integer_weights(density, k):
    table = sampler.build(density, 2.0**k * (1 + 0.9 * ((k * 7) % 10) / 10))
    columns, full = 1 << density.column_bits, 1 << (64 - density.column_bits)
    assert 2 * table.strips + 1 <= columns == table.threshold.size
    assert table.width <= 36
    weight = [0] * columns
    for column in range(columns):
        threshold = int(table.threshold[column])
        weight[column] += threshold
        weight[int(table.alias[column])] += full - threshold
    wedge = [b - c for b, c in zip(table.box, table.core, strict=True)]
    expected = [*table.core, *wedge, 2**64 - sum(table.box)]
    assert min(wedge) >= 1
    assert min(expected) >= 0
    assert weight == expected + [0] * (columns - len(expected))
    assert sum(weight) == 2**64
    assert sum(table.core) > 0.95 * 2**64  # the fast path is the common one


@pytest.mark.few(1)
@pytest.mark.parametrize("ratio", RATIOS)
def test_boxes_contain_the_density_and_the_density_contains_cores(density, ratio):
    table = sampler.build(density, ratio)
    with mpmath.workprec(300):
        s = mpmath.mpf(ratio)
        edge = [
            table.total * reference.density(density.power, mpmath.mpf(j << table.width) / s)
            for j in range(table.strips + 1)
        ]
        assert all(b >= left for b, left in zip(table.box, edge[:-1], strict=True))
        assert all(c <= right for c, right in zip(table.core, edge[1:], strict=True))
        assert (table.strips << table.width) / s >= density.cutoff
        assert all(abs(v - e) <= e * 2.0**-52 for v, e in zip(table.value, edge[:-1], strict=True))
        # a float of a strip's height is not used where its error would matter: the gap is made from integers
        assert all(
            abs(g - (b - e)) <= (b - e) * 2.0**-52 for g, b, e in zip(table.gap, table.box, edge[:-1], strict=True)
        )


def kernel_threshold(table, strip, position):
    """The rejection probability that the compiled kernel uses, found by bisection on the coin's word."""
    entry = table.strips + strip
    column_word = entry << (64 - table.density.column_bits)
    word = np.uint64(column_word | position << (36 - table.width))
    tied = int(table.threshold[entry]) >> 37 == 0
    out, undecided = np.empty(1, np.int64), np.empty(4, np.int64)

    def accepted(coin):
        words = np.array([word, 0, coin] if tied else [word, coin, 0], np.uint64)
        done, _, _ = kernels.draw(words, 0, (*table.fields[:-1], 0.0), out, 0, undecided)
        return done == 1

    low, high = -1, 2**64
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if accepted(middle) else (middle, high)
    return mpmath.mpf(high) / 2**64


@pytest.mark.few(4)
@pytest.mark.parametrize("ratio", RATIOS)
def test_the_kernels_doubles_stay_within_the_window(density, ratio):
    """|q_double − q| < 2^-40 for the whole cell's q, and below the window for every point of the cell."""
    table = sampler.build(density, ratio)
    rng = random.Random(1)
    with mpmath.workprec(300):
        for _ in range(60):
            strip = rng.randrange(table.strips) if rng.random() < 0.7 else rng.randrange(4)
            position = rng.choice([0, (1 << table.width) - 1, rng.randrange(1 << table.width)])
            cell = strip << table.width | position
            q = kernel_threshold(table, strip, position)
            assert abs(q - reference.mean_reject_probability(table, strip, cell)) < 2.0**-40
            for point in (cell, cell + mpmath.mpf("0.5"), cell + 1):
                assert abs(q - reference.reject_probability(table, strip, point)) < table.window


@pytest.mark.few(1)
@pytest.mark.parametrize("window", [sampler.WINDOW, 0.25])
@pytest.mark.parametrize("ratio", [1.37 * 2.0**40, 1.7 * 2.0**25])
def test_the_kernel_is_the_plain_python_sampler(density, ratio, window, monkeypatch):
    """Same key, same integers, across chunks and through undecided draws: no word is read twice or out of turn."""
    table, count = with_window(window, density, ratio, monkeypatch), 60_000 if window < 0.1 else 40_000
    out = np.empty(count, np.int64)
    stream = Keystream(KEY)
    half = count // 3
    sampler.fill(out[:half], table, stream)
    sampler.fill(out[half:], table, stream)
    words = reference.Words(KEY, 2 * count)
    first, undecided = reference.draw(table, words, half, table.window)
    second, more = reference.draw(table, words, count - half, table.window)
    assert out.tolist() == first + second
    if window == 0.25:
        assert undecided + more > 200


def test_noise_of_a_test_key_is_pinned(density):
    """A golden value: the same key gives the same noise on every machine and in every release of the library."""
    out = np.empty(4, np.int64)
    sampler.fill(out, sampler.build(density, 2.0**40), Keystream(TestKey(bytes(32))))
    golden = {
        2: [692502678254, -691662824535, 1082294339497, 732172005844],
        1: [795581893358, -760382301271, 1357172246441, 800891482580],
    }
    assert out.tolist() == golden[density.power]


def chi_square(count, expected):
    """p-value with cells of fewer than 25 expected put together."""
    small = expected < 25
    count = np.append(count[~small], count[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    keep = expected > 5
    return stats.chi2.sf(((count - expected)[keep] ** 2 / expected[keep]).sum(), keep.sum() - 1)


def check_law(density, ratio, total, key):
    """χ² of signed strips, of eighths within the first strips, and of the low bits of the integer."""
    table, size = sampler.build(density, ratio), 1_000_000
    out = np.empty(size, np.int64)
    strips = np.zeros(2 * table.strips, np.int64)
    eighths = np.zeros(64 * 8, np.int64)
    low = np.zeros(256, np.int64)
    serial = np.zeros(4, np.int64)
    stream = Keystream(key)
    for _ in range(total // size):
        sampler.fill(out, table, stream)
        sign = (out < 0).astype(np.int64)
        n = out ^ -sign
        strip = n >> table.width
        strips += np.bincount(sign * table.strips + strip, minlength=strips.size)
        near = strip < 64
        eighths += np.bincount(strip[near] * 8 + ((n[near] >> (table.width - 3)) & 7), minlength=512)
        low += np.bincount(out & 255, minlength=256)
        serial += np.bincount(2 * sign[1:] + sign[:-1], minlength=4)
    step = 2.0**table.width / ratio
    survival = (lambda x: 2 * special.ndtr(-x)) if density.power == 2 else (lambda x: np.exp(-x))
    edge = survival(np.arange(table.strips + 1) * step)
    mass = edge[:-1] - edge[1:]
    assert chi_square(strips, total / 2 * np.r_[mass, mass]) > ALARM
    fine = survival(np.arange(513) * step / 8)
    parts = (fine[:-1] - fine[1:]).reshape(64, 8)
    expected = eighths.reshape(64, 8).sum(1, keepdims=True) * parts / parts.sum(1, keepdims=True)
    assert stats.chi2.sf(((eighths.reshape(64, 8) - expected) ** 2 / expected).sum(), 64 * 7) > ALARM
    assert stats.chisquare(low).pvalue > ALARM
    assert stats.chisquare(serial).pvalue > ALARM


@pytest.mark.few(1)
@pytest.mark.parametrize("ratio", [1.37 * 2.0**40, 1.9 * 2.0**25])
def test_law(density, ratio):
    check_law(density, ratio, 20_000_000, KEY.derive(str(ratio)))


@pytest.mark.slow
def test_law_at_4e8_draws(density):
    check_law(density, 1.37 * 2.0**40, 400_000_000, KEY.derive("long"))


@pytest.mark.few(1)
def test_law_when_every_wedge_is_settled_exactly(density, monkeypatch):
    table, out = with_window(2.0, density, 1.37 * 2.0**40, monkeypatch), np.empty(200_000, np.int64)
    sampler.fill(out, table, Keystream(KEY))
    law = stats.norm if density.power == 2 else stats.laplace
    assert stats.kstest((out + 0.5) / table.ratio, law.cdf).pvalue > ALARM
