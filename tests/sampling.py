"""Laws by sampling: every case in the long tests; in the fast ones, of each kind of cases a few, others for each law."""

import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet

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
