"""Timing side by side."""

import statistics
import time
from collections.abc import Callable


def alternate(*tasks: Callable[[], object], repeats: int) -> list[float]:
    """Median seconds of each task; the tasks take turns, so that a slow moment of the machine hits all of them."""
    seconds: list[list[float]] = [[] for _ in tasks]
    for task in tasks:
        task()
    for _ in range(repeats):
        for task, kept in zip(tasks, seconds, strict=True):
            start = time.perf_counter()
            task()
            kept.append(time.perf_counter() - start)
    return [statistics.median(kept) for kept in seconds]
