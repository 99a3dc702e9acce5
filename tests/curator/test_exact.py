"""Exact sums: no rounding, in any order, with any number of blocks."""

from fractions import Fraction

import numpy as np

from hullabaloo.curator.exact import CELLS, ExactSum, exact_sum, magic_number


def test_the_magic_number_rounds_to_the_lattice_exactly() -> None:
    rng = np.random.default_rng(0)
    for exponent in (-60, -20, 0, 30):
        magic = magic_number(exponent)
        values = np.ldexp(rng.uniform(-(2.0**40), 2.0**40, 1000), exponent)
        rounded = (values + magic) - magic
        assert np.array_equal(rounded, np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent))


def test_sums_of_blocks_are_exact_beyond_two_to_the_fifty_three() -> None:
    rng = np.random.default_rng(1)
    cells = rng.integers(-(2**53), 2**53, size=(2000, 3))
    total = ExactSum((3,), -30)
    for row in cells:
        total.add(np.ldexp(row.astype(float), -30))
    expected = [float(Fraction(sum(int(c) for c in cells[:, j])) / 2**30) for j in range(3)]
    assert total.value(np.inf).tolist() == expected


def test_whole_cells_of_many_rows_are_carried_before_they_overflow() -> None:
    """2^28 rows at the largest number of cells, all of one sign: 2^65 of them, which no limb holds. Kernels add to the lower one in whole cells."""

    def add(total: ExactSum, start: int, stop: int) -> None:
        total.low += (stop - start) * 2**CELLS * np.array([1, -1])

    for block in (1 << 12, 1 << 20):
        found = exact_sum(add, 1 << 28, (2,), -CELLS, block, size=0)
        assert found.value(np.inf).tolist() == [2.0**28, -(2.0**28)]


def test_the_order_of_blocks_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    blocks = [np.ldexp(rng.integers(-(2**50), 2**50, size=4).astype(float), -45) for _ in range(100)]
    answers = set()
    for order in (range(100), reversed(range(100)), rng.permutation(100)):
        total = ExactSum((4,), -45)
        for place in order:
            total.add(blocks[place])
        answers.add(total.value(1e300).tobytes())
    assert len(answers) == 1


def test_values_are_clipped_to_the_public_bound() -> None:
    total = ExactSum((1,), 0)
    for _ in range(10):
        total.add(np.array([2.0**53]))
    assert total.value(2.0**54).tolist() == [2.0**54]
