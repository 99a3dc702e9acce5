"""What a container does to a process, where this system lets a test do it: mounts and process numbers of its own."""

import ctypes
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests import kill_points

_NEW_MOUNTS, _NEW_PIDS = 0x00020000, 0x20000000


def mount(*words: str | Path) -> None:
    subprocess.run(["mount", *map(str, words)], check=True, capture_output=True, timeout=20)


def with_own_mounts(act: Callable[[], Any]) -> kill_points.Ended:
    """Run in a fork whose mounts nobody else sees and which end with it; skips where that is not permitted."""

    def apart() -> Any:
        _unshare(_NEW_MOUNTS)
        mount("--make-rprivate", "/")
        return act()

    ended = kill_points.killed_at(0, apart)
    if "PermissionError" in ended.raised or "CalledProcessError" in ended.raised:
        pytest.skip(f"this system does not permit mounts of a test's own: {ended.raised}")
    return ended


def with_own_pids(act: Callable[[], Any]) -> kill_points.Ended:
    """Run as process 1 of a namespace, with a /proc that shows it; skips where that is not permitted."""

    def apart() -> Any:
        _unshare(_NEW_MOUNTS)
        mount("--make-rprivate", "/")
        _unshare(_NEW_PIDS)  # last: the next child is number 1, and none can be made after its end

        def first() -> Any:
            mount("-t", "proc", "proc", "/proc")
            return [os.getpid(), act()]

        ended = kill_points.killed_at(0, first)
        assert ended.returned, ended.raised
        return ended.value

    ended = kill_points.killed_at(0, apart)
    if "PermissionError" in ended.raised or "CalledProcessError" in ended.raised:
        pytest.skip(f"this system does not permit process numbers of a test's own: {ended.raised}")
    return ended


def _unshare(flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags):
        number = ctypes.get_errno()
        raise PermissionError(number, os.strerror(number))
