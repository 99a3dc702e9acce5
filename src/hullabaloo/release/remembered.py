"""Forecasts that are kept on disk: what plans lost on synthetic tables, by public facts and the code that measured it.

They lie in `hullabaloo/` of the user's cache folder (`XDG_CACHE_HOME`, else `~/.cache`); `HULLABALOO_CACHE` names another folder, or is `off`.
A file holds the numbers of one problem, loss, set, budget and relation, its name their digest; nothing in it comes from a record.

**Guarantee.** Claim: whatever a file holds, a fit buys what a solver plans by itself from public facts, within its allowance, or refuses.
Proof: a file is read as numbers by name, which are compared and never multiplied into a plan; σ, events and charge are worked out anew.
So whoever can write to it can make "auto" take a worse solver, and nothing else.
"""

import hashlib
import json
import os
import platform
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from hullabaloo.codec import plain
from hullabaloo.data.saving import closing, write_whole
from hullabaloo.foreign import foreign

PLACE = "HULLABALOO_CACHE"
OFF = {"", "0", "false", "no", "off"}
MOST_FILES, MOST_BYTES = 500, 1 << 20
LARGEST = 1e100
"""What a number is below: products and ratios of a few of them stay finite."""


@contextmanager
def remembered(*facts: object) -> Iterator[dict[str, float]]:
    """The numbers that are kept for these public facts, by name; those that are added are kept, too.

    Nothing is kept of sets and losses of somebody's own, whose code is not known, nor where a folder cannot be written to.
    """
    path = _path(facts)
    kept = {} if path is None else _read(path)
    before = set(kept)
    yield kept
    if path is not None and set(kept) != before:
        with suppress(OSError):
            _write(path, kept)


def _path(facts: tuple[object, ...]) -> Path | None:
    chosen = os.environ.get(PLACE)
    if str(chosen).strip().lower() in OFF or foreign(*facts) is not None or (code := _code()) is None:
        return None
    try:
        told = json.dumps([code, *([type(one).__name__, plain(one)] for one in facts)], sort_keys=True, default=repr)
        folder = Path(chosen or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hullabaloo")
    except (TypeError, ValueError, RuntimeError):  # a key that is no text; no home
        return None
    return folder / f"{hashlib.sha256(told.encode()).hexdigest()}.json"


@cache
def _code() -> str | None:
    """A digest of the library's files and of what they run on; None where they cannot be read."""
    root = Path(__file__).resolve().parents[1]
    versions = [
        f"{name} {sys.modules[name].__version__}" for name in ("numpy", "scipy", "numba") if name in sys.modules
    ]
    found = hashlib.sha256(repr((sys.version, platform.machine(), versions)).encode())
    try:
        for path in sorted(root.rglob("*.py")):
            found.update(str(path.relative_to(root)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    except OSError:
        return None
    return found.hexdigest()


def _read(path: Path) -> dict[str, float]:
    """The numbers of a file that this user alone writes; none where it is not that, or broken."""
    try:
        with closing(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)) as file:
            found = os.fstat(file)
            own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
            if not own or found.st_size > MOST_BYTES:
                return {}
            data = b"".join(iter(lambda: os.read(file, MOST_BYTES), b""))
        told: Any = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(told, dict) or not all(type(one) is float and 0.0 <= one < LARGEST for one in told.values()):
        return {}
    return told


def _write(path: Path, kept: dict[str, float]) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    numbers = {name: float(value) for name, value in kept.items() if 0.0 <= value < LARGEST}
    write_whole(path, json.dumps(numbers), private=True)
    files = sorted(path.parent.glob("*.json"), key=lambda one: one.stat().st_mtime)
    for old in files[:-MOST_FILES]:
        old.unlink(missing_ok=True)
