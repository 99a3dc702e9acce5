"""Encoded parts in a file that has no name, sealed under a key that is held in memory alone."""

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock, local
from typing import Any, final
from weakref import finalize

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from hullabaloo.data.engines.base import Part
from hullabaloo.data.readers.sparse import csr
from hullabaloo.data.source import Rows
from hullabaloo.data.table import TornTable
from hullabaloo.errors import InvalidParameter


class TornCache(TornTable):
    """Encoded parts cannot be written to their folder, or read from it as they were written."""

    why = "the folder of its encoded parts is full or failed, or somebody changed what lies there. See that it has room, about 8 bytes for each record and encoded column."


@final
class Cache:
    """Parts in one file of a folder, each piece of them sealed by AES-256-GCM under its own number. PRIVATE.

    The file is readable by its owner alone and has no name (where the file system cannot have such files, a name for an instant), so that it is
    gone when it is closed, however the process ends. The key was never outside of the process's memory.
    """

    def __init__(self, folder: Path) -> None:
        self._file = _checked(lambda: tempfile.TemporaryFile(buffering=0, prefix="hullabaloo-", dir=folder))  # noqa: SIM115
        finalize(self, self._file.close)
        self._room = local()
        self._seal, self._lock, self._count, self._end = AESGCM(AESGCM.generate_key(256)), Lock(), 0, 0

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("Sealed rows cannot be pickled or copied.")

    def held(self, part: Part) -> "SealedPart":
        """The part, from now on in the file."""
        rows, sparse = part.rows, not isinstance(part.rows.X, np.ndarray)
        X = [rows.X.data, rows.X.indices, rows.X.indptr] if sparse else [rows.X]
        arrays = [
            None if one is None else np.ascontiguousarray(one)
            for one in (rows.Y, rows.weight, rows.offset, rows.unit, *X)
        ]
        shapes = tuple(None if one is None else (one.shape, one.dtype) for one in arrays)
        sealed = self.sealed(b"".join(one.data for one in arrays if one is not None))
        return SealedPart(self, *sealed, shapes, rows.X.shape if sparse else None, replace(part, rows=_NONE))

    def sealed(self, data: bytes) -> tuple[int, int, int]:
        """What `opened` is told to give these bytes again."""
        plain = memoryview(data)
        pieces = range(0, max(len(plain), 1), _PIECE)
        size = len(plain) + _TAG * len(pieces)
        with self._lock:
            number, self._count = self._count, self._count + len(pieces)
            start, self._end = self._end, self._end + size
        for place, first in enumerate(pieces):
            sealed = self._seal.encrypt(_nonce(number + place), plain[first : first + _PIECE], None)
            written = _checked(partial(os.pwrite, self._file.fileno(), sealed, start + first + _TAG * place))
            if written != len(sealed):
                raise TornCache
        return number, start, size

    def opened(self, number: int, start: int, size: int) -> NDArray[np.uint8]:
        """What was sealed; in a thread's own memory, until the thread opens the next."""
        pieces = range(0, size, _PIECE + _TAG)
        if len(vars(self._room).get("plain", ())) < size:
            self._room.sealed, self._room.plain = (
                np.empty(most, dtype=np.uint8) for most in (min(size, _PIECE + _TAG), size)
            )
        plain = self._room.plain[: size - _TAG * len(pieces)]
        for place, first in enumerate(pieces):
            part = plain[_PIECE * place : _PIECE * (place + 1)]
            sealed = self._room.sealed[: len(part) + _TAG]
            read = _checked(partial(os.preadv, self._file.fileno(), [sealed.data], start + first))
            try:
                if hasattr(self._seal, "decrypt_into"):
                    self._seal.decrypt_into(_nonce(number + place), sealed[:read].data, None, part.data)
                else:
                    part[:] = np.frombuffer(
                        self._seal.decrypt(_nonce(number + place), sealed[:read].data, None), dtype=np.uint8
                    )
            except (InvalidTag, ValueError):
                raise TornCache from None
        return plain  # type: ignore[no-any-return]


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SealedPart:
    """A part in the file of a cache. PRIVATE."""

    cache: Cache
    number: int
    start: int
    size: int
    shapes: tuple[Any, ...]
    sparse: tuple[int, int] | None
    about: Part

    def opened(self) -> Part:
        """The part, in a thread's own memory, until the thread opens the next.

        Raises:
            TornCache: the file is not as it was written.
        """
        data, at, found = self.cache.opened(self.number, self.start, self.size), 0, list[Any]()
        for one in self.shapes:
            if one is not None:
                size = int(np.prod(one[0])) * one[1].itemsize
                found.append(data[at : at + size].view(one[1]).reshape(one[0]))
                at += size
            else:
                found.append(None)
        Y, weight, offset, unit, *X = found
        return replace(self.about, rows=Rows(csr(self.sparse, *X) if self.sparse else X[0], Y, weight, offset, unit))


_TAG, _PIECE = 16, 1 << 20
"""Bytes of a seal, and those sealed at once at most: so few that what is read stays in the processor's cache until it is opened."""
_NONE = Rows(np.zeros((0, 0)), np.zeros((0, 0)))


def _nonce(number: int) -> bytes:
    return number.to_bytes(12, "big")


def _checked(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except OSError:
        raise TornCache from None


def folder_of(cache: Any) -> Path | None:
    """The folder for encoded parts, which has to be there.

    Raises:
        InvalidParameter: it is no folder that can be written to.
    """
    if cache is None:
        return None
    if not isinstance(cache, str | Path) or not Path(cache).is_dir() or not os.access(cache, os.W_OK | os.X_OK):
        raise InvalidParameter(
            "cache= names no folder that can be written to. Pass the path of one on a local disk, with room for 8 bytes for each record and encoded column."
        )
    return Path(cache)
