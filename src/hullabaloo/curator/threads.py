"""Exact sums made by several threads: kernels release the interpreter lock, and integers add up in any order."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.exact import ExactSum

CELLS = 37
"""A contribution spans at most 2^37 lattice cells: 2^14 of them stay below 2^53, and 2^24 in whole cells below 2^63."""
_ROWS = 1 << 24  # rows after which what their whole cells add up to is carried
_MANY = 1 << 20  # table cells from which threads are worth their start


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


def exact_sum(
    add: Callable[[ExactSum, int, int], None],
    rows: int,
    *,
    shape: tuple[int, ...],
    exponent: int,
    bound: float,
    block: int,
    size: int,
) -> npt.NDArray[np.float64]:
    """The sum that `add(total, start, stop)` adds to for blocks of rows, as doubles clipped to ±bound.

    `size` is how many cells of a table are read. The bits depend on neither blocks nor threads.
    """
    every = max(1, _ROWS // block)

    def work(starts: range) -> ExactSum:
        total = ExactSum(shape, exponent)
        for number, start in enumerate(starts, 1):
            add(total, start, start + block)
            if number % every == 0:
                total.carry()
        total.carry()
        return total

    return merged(work, range(0, rows, block), threads=size >= _MANY).value(bound)
