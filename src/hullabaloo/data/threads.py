"""How many threads work at once: one for each core, and no further ones below them."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, starmap
from threading import local

MANY = 1 << 20
"""Cells of a table from which threads are worth their start."""
_THREAD = local()


def cores() -> int:
    """How many cores this process may use; 1 in a thread that shares them with others already."""
    every = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 if getattr(_THREAD, "shared", False) else every


def share_cores(shared: bool = True) -> None:
    """Say so of this thread, or no longer."""
    _THREAD.shared = shared


def by_rows(work: Callable[[slice], None], rows: int, columns: int) -> None:
    """Have `work` done of every row, by each core of a share of them where the table is large; all end before this returns.

    For what is made of each row alone, so that no bit depends on which rows one core takes.
    """
    workers = max(min(cores(), rows), 1) if rows * columns >= MANY else 1
    ends = [rows * k // workers for k in range(workers + 1)]
    shares = starmap(slice, pairwise(ends))
    if workers == 1:
        work(*shares)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, shares))
