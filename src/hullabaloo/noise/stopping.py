"""How often a tuned mechanism is run, and with which candidate: exact draws from public laws, in integer arithmetic."""

from collections.abc import Iterator
from fractions import Fraction

from hullabaloo.noise.exact import below
from hullabaloo.noise.keys import Key, Keystream
from hullabaloo.privacy.repeats import Repeats


def draw_repeats(repeats: Repeats, key: Key | None = None) -> int:
    """Draw K ≥ 1 from `Repeats`: exactly its law, whatever the size of K.

    **Guarantee.** Negative binomial: from k runs on, stop with probability γ; else go on to k + 1 with probability ``(k + η)/(k + 1)``
    and begin anew otherwise. An attempt ends at k with probability ``γ (1 − γ)^{k−1} Π_{l<k} (l + η)/(l + 1)``, l from 1: the law given that
    it ends. γ and η are floats, hence rational, and every coin compares a uniform integer. No search draws by Poisson's law.
    """
    words = iter(Keystream(key))
    parameter, eta = Fraction(repeats.parameter), repeats.eta
    assert eta is not None
    more = Fraction(eta)
    while True:
        k = 1
        while True:
            if _coin(parameter, words):
                return k
            if not _coin((k + more) / (k + 1), words):
                break
            k += 1


def draw_below(count: int, key: Key | None = None) -> int:
    """Draw an integer in [0, count), every one as likely as any other."""
    return below(count, iter(Keystream(key)))


def draw_secret(key: Key | None = None) -> bytes:
    """Draw 32 bytes."""
    words = iter(Keystream(key))
    return b"".join(next(words).to_bytes(8, "little") for _ in range(4))


def _coin(chance: Fraction, words: Iterator[int]) -> bool:
    return chance == 1 or below(chance.denominator, words) < chance.numerator
