"""Thinned grids: the cases that the fast tests keep meet every value of every parameter, and its pairs as far as they go."""

from itertools import product

import pytest

from tests import conftest, sampling
from tests.sampling import spread


@pytest.mark.parametrize("sizes", [(7, 5, 11), (3, 5), (2, 2), (20,), (4, 1, 6)])
def test_each_value_is_met_by_as_many_cases_as_the_longest_parameter_has(sizes: tuple[int, ...]) -> None:
    """Of 11 tables, 5 kinds and 7 solvers, places that lie apart alone met one solver sixteen times."""
    cases = [dict(zip("abc", one, strict=False)) for one in product(*map(range, sizes))]
    kept = [cases[place] for place in spread(cases, max(sizes))]
    assert len(kept) == max(sizes)
    for name, size in zip("abc", sizes, strict=False):
        assert {case[name] for case in kept} == set(range(size))


def test_pairs_of_values_come_next() -> None:
    cases = [{"a": a, "b": b, "c": c} for a, b, c in product(range(4), range(3), range(2))]
    kept = [cases[place] for place in spread(cases, 16)]
    assert {(case["a"], case["b"]) for case in kept} == set(product(range(4), range(3)))
    assert len(spread(cases, 100)) == len(cases)


def test_cases_that_are_named_are_kept_before_any_other() -> None:
    cases = [{"a": a, "b": b} for a, b in product(range(4), range(3))]
    assert spread(cases, 1, [7]) == {7}
    assert spread(cases, 2, [0, 1, 2]) == {0, 1, 2}
    kept = spread(cases, 4, [11])
    assert len(kept) == 4
    assert {cases[place]["a"] for place in kept} == set(range(4))


def test_functions_of_the_long_tests_are_not_made_in_the_fast_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    @pytest.mark.slow
    @pytest.mark.parametrize("number", range(9))
    def test_long(number: int) -> None: ...

    @pytest.mark.few(1)
    @pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.slow)])
    def test_short(number: int) -> None: ...

    for fast, left_out in ((True, [True, False, False]), (False, [False, False, False])):
        monkeypatch.setattr(sampling, "FAST", fast)
        asked = (("test_long", test_long), ("test_short", test_short), ("test_number", 7))
        assert [conftest.pytest_pycollect_makeitem(name, one) == [] for name, one in asked] == left_out
