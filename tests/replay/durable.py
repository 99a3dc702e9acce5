"""Everything of a run that outlives it or passes through the operating system: files, databases, and what was asked of the system on the way.

Files are compared byte for byte. What a state file is private for, the cells of its arrays, is left out; its header and its size are not.
"""

import json
import os
import re
import shutil
import sqlite3
import struct
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.replay.exact import exact

ASKED = frozenset(
    [
        "open",
        "sqlite3.connect",
        "socket.connect",
        "subprocess.Popen",
        "tempfile.mkstemp",
        "tempfile.mkdtemp",
        "fcntl.flock",
        "fcntl.lockf",
        "shutil.copyfile",
        "shutil.move",
        "shutil.rmtree",
        "os.fork",
        "os.system",
        "os.posix_spawn",
        "os.kill",
        "os.putenv",
        "os.rename",
        "os.remove",
        "os.link",
        "os.symlink",
        "os.mkdir",
        "os.rmdir",
        "os.truncate",
        "os.chmod",
        "os.chown",
        "os.utime",
        "os.listdir",
        "os.scandir",
        "os.mkfifo",
        "os.setxattr",
    ]
)
"""Audit events that leave a trace outside the process, or that a bystander could see."""

_HEADER = (("change counter", 24), ("pages", 28), ("free pages", 36), ("schema", 40), ("version counter", 92))
"""Big-endian numbers in the first hundred bytes of a SQLite file, by their offsets."""

_listening: list[list[Any]] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if not _listening or event not in ASKED or threading.current_thread() is not threading.main_thread():
        return
    if event == "open" and not isinstance(arguments[0], str):
        return  # a descriptor, which was opened by name before
    names = [_named(one) for one in arguments if isinstance(one, str | bytes | os.PathLike)]
    if not any(name.endswith((".py", ".nbc")) or "__pycache__" in name for name in names):  # met once in a process
        _listening[-1].append((event, *names))


sys.addaudithook(_hear)  # for good: there is no way to remove it


def _named(path: Any) -> str:
    """A name without what differs from run to run whatever the records: random parts."""
    return re.sub(r"[0-9a-f]{32}", "#", os.fsdecode(path))


@contextmanager
def touching() -> Iterator[list[Any]]:
    """What is asked of the operating system while this is open, in order: calls with names, and writes with their sizes."""
    asked: list[Any] = []
    write, sync = os.write, os.fsync

    def written(file: int, data: Any) -> int:
        asked.append(("os.write", len(data)))
        return write(file, data)

    def synced(file: Any) -> None:
        asked.append(("os.fsync",))
        sync(file)

    _listening.append(asked)
    try:
        with patch("os.write", written), patch("os.fsync", synced):
            yield asked
    finally:
        _listening.remove(asked)


def emptied(folder: Path) -> None:
    """Empty a folder, and forget what was asked of the system until now: that was the test."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for asked in _listening:
        asked.clear()


def left(folder: Path) -> dict[str, Any]:
    """The files in a folder and in those below, by name: all that anybody but the curator may see of them."""
    return {_named(path.relative_to(folder)): of_file(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def of_file(path: Path) -> Any:
    """A file's bytes, mode and size; of databases also what they say, so that a difference can be read."""
    data, mode = path.read_bytes(), path.stat().st_mode
    if data.startswith(b"SQLite format 3\x00"):
        return {"mode": mode, **of_database(path, data), "bytes": data}
    if data.startswith(b"Hullabaloo ") and b" state - PRIVATE DATA" in data[:60]:
        return {"mode": mode, "size": len(data), **of_state(data)}
    return {"mode": mode, "bytes": data}


def of_database(path: Path, data: bytes) -> dict[str, Any]:
    """Counters in the header of a SQLite file, and every row of every table, also of those that are not the library's."""
    found: dict[str, Any] = {name: struct.unpack_from(">I", data, at)[0] for name, at in _HEADER}
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        tables = connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()
        found["tables"] = tables
        for kind, name, _ in tables:
            if kind == "table":
                found[f"rows of {name}"] = connection.execute(f'SELECT rowid, * FROM "{name}"').fetchall()
    return found


def of_state(data: bytes) -> dict[str, Any]:
    """What is public in a state file: its first lines and, where it is not sealed, its header with the shapes of the arrays."""
    words, facts, body = data.split(b"\n", 2)
    about = json.loads(facts)
    found: dict[str, Any] = {"words": words}
    if about["sealed"] is not None:
        about["sealed"] = sorted(about["sealed"])  # a salt is random
    elif words.startswith(b"Hullabaloo stream"):
        header = json.loads(body.partition(b"\n")[0])
        header.pop("source", None)  # where a source stood: private, as the cells of the arrays
        found["header"] = exact(header)
    return {**found, "facts": exact(about)}
