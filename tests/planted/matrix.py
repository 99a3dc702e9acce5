"""Every bug against the quickest of its tests, with the bug and without it."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

from tests.planted.bug import Bug
from tests.planted.nursery import Nursery


def matrix(bugs: Iterable[Bug], *, processes: int = 2) -> list[dict[str, Any]]:
    """For every bug: whether its quickest test fails, and whether it passes without the bug."""
    free: SimpleQueue[Nursery] = SimpleQueue()

    def row(bug: Bug) -> dict[str, Any]:
        nursery = free.get()
        try:
            return _row(bug, nursery)
        finally:
            free.put(nursery)

    nurseries = [Nursery() for _ in range(processes)]
    for nursery in nurseries:
        free.put(nursery.__enter__())
    try:
        with ThreadPoolExecutor(processes) as pool:
            return list(pool.map(row, bugs))
    finally:
        for nursery in nurseries:
            nursery.__exit__(None, None, None)


def _row(bug: Bug, nursery: Nursery) -> dict[str, Any]:
    first = bug.caught_by[:1]
    own = nursery.run(bug, first)
    return {
        "name": bug.name,
        "wrong": bug.wrong,
        "module": bug.module,
        "caught": own.caught,
        "by": first[0].removeprefix("tests/"),
        "passes_without": nursery.run(replace(bug, new=bug.old), first).clean,
    }
