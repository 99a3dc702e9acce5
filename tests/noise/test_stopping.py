"""How often a tuned mechanism is run: the law of the draws is the law that is accounted."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

from hullabaloo.noise import TestKey, stopping
from hullabaloo.privacy import Repeats

from ..privacy.test_tuned_events import weights_of


class Script:
    """A keystream's words, given."""

    def __init__(self, words: list[int]) -> None:
        self.words = iter(words)

    def __next__(self) -> int:
        return next(self.words)


@pytest.mark.few(2)
@pytest.mark.parametrize("shape", ["geometric", 0.5, "logarithmic"], ids=str)
@pytest.mark.parametrize("expected", [1.0, 8.0])
def test_the_draws_have_the_law_that_is_accounted(shape, expected):
    """Chi squared on 3 000 draws, cells of at least 5 expected; the threshold is passed by chance once in 10^7."""
    law, draws = Repeats(expected, shape), 1_500
    key = TestKey(bytes(32)).derive(f"{shape}/{expected}")
    found = np.array([stopping.draw_repeats(law, key.derive(i)) for i in range(draws)])
    assert found.min() >= 1
    if expected == 1.0:
        assert found.max() == 1
        return
    mass = weights_of(law, 1_000)
    counts = np.bincount(np.minimum(found, mass.size), minlength=mass.size + 1)[1:]
    edges, total = [], 0.0
    for k, share in enumerate(mass):
        total += share * draws
        if total >= 5.0:
            edges.append(k + 1)
            total = 0.0
    edges[-1] = mass.size
    cells = np.split(np.arange(mass.size), edges[:-1])
    theirs = np.array([mass[cell].sum() * draws for cell in cells])
    ours = np.array([counts[cell].sum() for cell in cells])
    assert float(((ours - theirs) ** 2 / theirs).sum()) < chi2.isf(1e-7, len(cells) - 1)


def test_the_same_key_gives_the_same_draw_and_none_gives_fresh_ones():
    law, key = Repeats(8, "geometric"), TestKey(bytes(32))
    assert stopping.draw_repeats(law, key) == stopping.draw_repeats(law, key)
    assert len({stopping.draw_secret() for _ in range(5)}) == 5
    assert len(stopping.draw_secret(key)) == 32
    assert len({stopping.draw_repeats(law) for _ in range(100)}) > 3
    assert {stopping.draw_below(3) for _ in range(100)} == {0, 1, 2}


def test_rational_coins_are_exact():
    assert stopping._coin(Fraction(1), Script([])) is True
    half = Fraction(1, 2)
    assert stopping._coin(half, Script([0])) is True
    assert stopping._coin(half, Script([(1 << 64) - 1, (1 << 63) - 1])) is False
    share = Repeats(10, "geometric").parameter
    heads = sum(stopping._coin(Fraction(share), iter_words(i)) for i in range(4_000))
    assert abs(heads - 4_000 * share) < math.sqrt(2_000 * math.log(2e7))  # Hoeffding at 1e-7


def iter_words(index: int):
    from hullabaloo.noise.keys import Keystream

    return iter(Keystream(TestKey(bytes(32)).derive(index)))
