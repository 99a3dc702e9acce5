"""Every bug against every family of detectors: which of them would have noticed it."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue
from types import MappingProxyType
from typing import Any

from tests.planted.bug import Bug
from tests.planted.nursery import Nursery

FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"audits": ("tests/planted/test_subjects.py", "-k", "quick")}
)
"""By name: what pytest is told to run; the first failure counts."""


def matrix(bugs: Iterable[Bug], *, processes: int = 2) -> list[dict[str, Any]]:
    """For every bug: which of its own tests fail, which families notice, and whether its tests pass without it."""
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
    own = nursery.run(bug, bug.caught_by, whole=True)
    return {
        "name": bug.name,
        "wrong": bug.wrong,
        "module": bug.module,
        "caught": own.caught,
        "caught_by": list(own.failed),
        "passes_without": nursery.run(replace(bug, new=bug.old), bug.caught_by, whole=True).clean,
        "families": [name for name, tests in FAMILIES.items() if nursery.run(bug, tests).caught],
    }


def markdown(rows: Iterable[Mapping[str, Any]]) -> str:
    """A table of bugs, the quickest test that catches each, and the families that do."""
    lines = ["| bug | where | caught by | also noticed by |", "|---|---|---|---|"]
    for row in rows:
        test = row["caught_by"][0].rpartition("/")[2].partition("[")[0] if row["caught_by"] else "nothing"
        families = ", ".join(row["families"]) or "–"
        lines.append(f"| {row['wrong']} | `{row['module']}` | `{test}` | {families} |")
    return "\n".join(lines)
