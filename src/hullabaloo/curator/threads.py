"""Exact sums made by several threads: kernels release the interpreter lock, and integers add up in any order."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from hullabaloo.curator.exact import ExactSum


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def merged(work: Callable[[range], ExactSum], starts: range, *, threads: bool) -> ExactSum:
    """The sum over all starts of blocks; `threads` when the work is worth their start. They end before this returns.

    Neither the number of threads nor their order changes a bit of the sum.
    """
    workers = min(cores(), len(starts)) if threads else 1
    if workers <= 1:
        return work(starts)
    with ThreadPoolExecutor(workers) as pool:
        first, *others = pool.map(work, [starts[k::workers] for k in range(workers)])
    for other in others:
        first.merge(other)
    return first
