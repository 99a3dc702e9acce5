"""Thinned grids: the cases that the fast tests keep meet every value of every parameter, and its pairs as far as they go."""

from itertools import product
from typing import Any

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


@pytest.mark.few(5)
@pytest.mark.parametrize("b", ["u", "v"])
@pytest.mark.parametrize("a", [0, 1, 2, 3, 4])
def test_cases_that_the_next_test_thins(a: int, b: str) -> None:
    assert (a < 5, b in "uv") == (True, True)


def test_values_are_told_apart_whatever_numbers_pytest_gives_them(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came to number the cases of a test in the place of their values, so that each case was of values that no other had."""
    monkeypatch.setattr(sampling, "FAST", False)
    made, kept = _cases(request), []
    assert len(made) == 10
    sampling.few(made)
    kept.append([one.callspec.params for one in made if not one.get_closest_marker("slow")])
    monkeypatch.setattr(sampling, "FAST", True)
    kept.append([one.callspec.params for one in _cases(request)])
    assert kept[0] == kept[1]
    assert len(kept[0]) == 5
    assert [{case[name] for case in kept[0]} for name in "ab"] == [{0, 1, 2, 3, 4}, {"u", "v"}]


def _cases(request: pytest.FixtureRequest) -> list[Any]:
    return [one for one in request.node.parent.collect() if one.originalname == "test_cases_that_the_next_test_thins"]


@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("also", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_cases_of_which_some_are_slow(
    number: int, also: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """In the fast tests those alone are made that run; all of a test's being slow, one is made, which is not run."""
    for fast, made in ((True, [[0, 1], [2, 1]]), (False, [[a, b] for b in (0, 1) for a in (0, 1, 2)])):
        monkeypatch.setattr(sampling, "FAST", fast)
        found = [one for one in request.node.parent.collect() if one.originalname == request.node.originalname]
        assert sorted([one.callspec.params["number"], one.callspec.params["also"]] for one in found) == sorted(made)
        alone = [one for one in request.node.parent.collect() if one.originalname == "test_of_which_every_case_is_slow"]
        assert [bool(one.get_closest_marker("slow")) for one in alone] == ([True] if fast else [True, True])


@pytest.mark.parametrize("number", [pytest.param(one, marks=pytest.mark.slow) for one in (0, 1)])
def test_of_which_every_case_is_slow(number: int) -> None:
    assert number in (0, 1)


def test_rooms_by_formula_are_none_whose_subject_is_the_planner() -> None:
    assert all((conftest.ROOT / "tests" / room).is_dir() for room in conftest.BY_FORMULA)
    assert not conftest.BY_FORMULA & {"planning", "solvers", "replay", "laws"}


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("unrehearsed")
def test_slow_tests_rehearse(slow: bool) -> None:
    from hullabaloo.planning import choose

    assert (choose.staged.__name__ == "staged") is slow


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
