"""Laws by sampling: every case in the long tests, in the fast ones a few: of each kind (`sampled`), or spread over all (`few`)."""

import math
import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from itertools import combinations
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tests.planted.bugs import BUGS

PHI = (math.sqrt(5.0) - 1.0) / 2.0
FAST = False
"""Whether slow tests are deselected, so that nobody has to make up what will not run; `conftest.py` says so."""


def chosen(cases: list[Any], kind: Callable[[Any], Hashable], name: str, keep: int = 1) -> set[int]:
    """The places of `keep` cases of each kind, others for each name and kind: laws share the cases of a kind among them."""
    kinds: dict[Hashable, list[int]] = defaultdict(list)
    for place, case in enumerate(cases):
        kinds[kind(case)].append(place)
    first = zlib.crc32(name.encode())
    turns = enumerate(kinds.values(), first)
    return {places[(turn + more) % len(places)] for turn, places in turns for more in range(min(keep, len(places)))}


def sampled(
    names: str, cases: Iterable[Any], kind: Callable[[Any], Hashable], *, keep: int = 1, ids: Any = None
) -> Callable[[Any], Any]:
    """`pytest.mark.parametrize`, with all but the chosen cases marked slow."""
    listed = list(cases)

    def decorate(test: Any) -> Any:
        kept = chosen(listed, kind, test.__name__, keep)
        made = [case if place in kept else slow(case) for place, case in enumerate(listed) if place in kept or not FAST]
        return pytest.mark.parametrize(names, made, ids=ids)(test)

    def slow(case: Any) -> Any:
        if isinstance(case, ParameterSet):
            return case._replace(marks=[*case.marks, pytest.mark.slow])
        return pytest.param(*(case if "," in names else (case,)), marks=[pytest.mark.slow])

    return decorate


def spread(cases: list[dict[str, int]], keep: int, first: Iterable[int] = ()) -> set[int]:
    """The places of `keep` cases, each the values of its parameters by number: the next has most values that none has yet, then most pairs of values.

    Those at `first` are kept before any other, and all of them.

    Of equals it is the first of the places ⌊c · frac(½ + iφ)⌋ of c cases, i = 0, 1, …, which lie apart: places alone may meet one value of a parameter over and over.
    """
    size = len(cases)
    order = list(dict.fromkeys([*(int(size * ((0.5 + turn * PHI) % 1.0)) for turn in range(2 * size)), *range(size)]))
    pairs = [set(combinations(case.items(), 2)) for case in cases]
    kept: set[int] = set()
    values: set[Hashable] = set()
    paired: set[Hashable] = set()

    def new(place: int) -> tuple[int, int]:
        return len(cases[place].items() - values), len(pairs[place] - paired)

    given = list(first)
    while given or len(kept) < min(keep, size):
        place = given.pop() if given else max((place for place in order if place not in kept), key=new)
        kept.add(place)
        values |= cases[place].items()
        paired |= pairs[place]
    return kept


def thin(metafunc: pytest.Metafunc) -> None:
    """Leave out the cases that `few` or a mark of their own makes slow; where that is all of them one stays, which is deselected."""
    test, calls = metafunc.definition, metafunc._calls
    if not calls or test.get_closest_marker("slow"):
        return
    fast = [call for call in calls if not any(mark.name == "slow" for mark in call.marks)]
    if marker := test.get_closest_marker("few"):
        kept = kept_of([(f"{test.nodeid}[{call.id}]", call.params) for call in fast], marker.args[0])
        fast = [call for place, call in enumerate(fast) if place in kept]
    metafunc._calls = fast or calls[:1]


@cache
def _named() -> frozenset[str]:
    """The first test that catches each planted bug."""
    return frozenset(bug.caught_by[0] for bug in BUGS)


def kept_of(cases: list[tuple[str, dict[str, Any]]], keep: int) -> set[int]:
    """The places of the cases of one test, ids and parameters, that are kept."""
    # By values: pytest numbers the cases of a test, whatever they share, in `callspec.indices`.
    indices = [{name: id(value) for name, value in given.items()} for _, given in cases]
    return spread(indices, keep, [place for place, (name, _) in enumerate(cases) if name in _named()])


def few(items: list[pytest.Item]) -> None:
    """Mark the cases of tests with `@pytest.mark.few(n)` slow, but for n of them, `spread` over the values of each parameter and their pairs.

    A case that catches a planted bug, first of all tests that are named for it, is among them.
    """
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("few") and not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for of_one in cases.values():
        marker = of_one[0].get_closest_marker("few")
        assert marker is not None
        values = [(item.nodeid, item.callspec.params if hasattr(item, "callspec") else {}) for item in of_one]
        kept = kept_of(values, marker.args[0])
        for place, item in enumerate(of_one):
            if place not in kept:
                item.add_marker(pytest.mark.slow)
