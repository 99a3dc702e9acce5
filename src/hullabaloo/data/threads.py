"""How many threads work at once: one for each core, and no further ones below them."""

import os
from threading import local

_THREAD = local()


def cores() -> int:
    """How many cores this process may use; 1 in a thread that shares them with others already."""
    every = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 if getattr(_THREAD, "shared", False) else every


def share_cores(shared: bool = True) -> None:
    """Say so of this thread, or no longer."""
    _THREAD.shared = shared
