"""Exact decisions in integer arithmetic, for the rare draws that doubles cannot settle.

A Bernoulli(t) coin is a uniform U < t. U is revealed 64 bits at a time and t enclosed ever more tightly, until the two
intervals are disjoint: the decision is then exact, and takes one more word with probability about 2^-64 each time.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction

_GUARD = 32


def exp_minus(v: Fraction, bits: int) -> tuple[int, int]:
    """Enclose e^(−v), v ≥ 0, in integers: ``low ≤ 2^bits · e^(−v) ≤ high`` and ``high − low ≤ 3``.

    **Guarantee.** For v ≥ bits, e^(−v) < 2^−bits. Else with y = v/2^r ≤ 2^−8 and P = bits + r + 32, all in units of
    2^−P: flooring y costs less than 1; each term of the alternating series is floored, and its error (≤ 1 + y·previous)
    stays below 2; what follows the first term that floors to 0 is below 2: in total 2n + 3 for n ≤ P/8 + 2 terms. Each
    of the r squarings of a number ≤ 1 at most doubles the error and adds 2: below 2^r (2n + 5) < 2^(r+32), one unit of
    2^−bits. Flooring to `bits` costs one unit more on one side.
    """
    if v >= bits:
        return 0, 1
    halvings = int(v).bit_length() + 8
    precision = bits + halvings + _GUARD
    y = (v.numerator << (precision - halvings)) // v.denominator
    total = term = 1 << precision
    i = 0
    while term:
        i += 1
        term = (term * y >> precision) // i
        total += -term if i & 1 else term
    for _ in range(halvings):
        total = total * total >> precision
    floor = total >> (precision - bits)
    return max(floor - 1, 0), floor + 2


def bernoulli_exp(v: Fraction, words: Iterator[int], *, doublings: int = 0) -> bool:
    """Flip a coin of probability exactly ``2^doublings · e^(−v)`` (the caller's duty: at most 1)."""
    u = bits = 0
    while True:
        u = u << 64 | next(words)
        bits += 64
        low, high = exp_minus(v, bits + doublings + 8)
        if (u + 1) << 8 <= low:
            return True
        if u << 8 >= high:
            return False


def below(n: int, words: Iterator[int]) -> int:
    """Draw a uniform integer in [0, n) by rejection from whole words: exact."""
    count = -(-n.bit_length() // 64)
    excess = 64 * count - n.bit_length()
    while True:
        value = 0
        for _ in range(count):
            value = value << 64 | next(words)
        value >>= excess
        if value < n:
            return value


def accepts(
    box: int, core: int, density: Callable[[Fraction, int], tuple[int, int]], cell: int, head: int, words: Iterator[int]
) -> bool:
    """Accept the point X = cell + V, V uniform in [0, 1), iff ``box − (box − core)·U ≤ density(X)``.

    `box` and `core` are the strip's integers; `density(point, bits)` encloses 2^bits times the density; `head` holds the 64
    leading bits of U. The bits of V, and further bits of U, come from `words`.

    **Guarantee.** The density falls in X ≥ 0, so its values at the ends of the known interval of X enclose it. This
    is the textbook rejection step for the continuous variable X, hence exact for its floor, however long it takes.
    """
    u, u_bits, x, x_bits = head, 64, 0, 0
    while True:
        x, x_bits = x << 64 | next(words), x_bits + 64
        bits = u_bits + 80
        low = density(cell + Fraction(x + 1, 1 << x_bits), bits)[0]
        high = density(cell + Fraction(x, 1 << x_bits), bits)[1]
        unit = box - core << bits - u_bits
        if (box << bits) - unit * u <= low:
            return True
        if (box << bits) - unit * (u + 1) >= high:
            return False
        u, u_bits = u << 64 | next(words), u_bits + 64
