"""Encoded parts in a file that has no name, sealed under a key that is held in memory alone."""

import mmap
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock, local
from typing import Any
from weakref import finalize

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from hullabaloo.data.engines.base import Part
from hullabaloo.data.readers.sparse import csr
from hullabaloo.data.source import Rows
from hullabaloo.data.table import TornTable
from hullabaloo.errors import InvalidParameter, bare


class TornCache(TornTable):
    """Encoded parts cannot be written to their folder, or read from it as they were written."""

    why = "the folder of its encoded parts is full or failed, or somebody changed what lies there. See that it has room, about 8 bytes for each record and encoded column."


class Cache:
    """Parts in one file of a folder, each sealed by AES-256-GCM under the place of its first byte. PRIVATE.

    The file is readable by its owner alone and has no name (where the file system cannot have such files, a name for an instant), so that it is
    gone when it is closed, however the process ends. The key was never outside of the process's memory.

    **Guarantee.** Claim: `opened` gives the bytes that were sealed there, or raises. Proof: no two seals begin at one place, so no nonce of AES-GCM is used twice; bytes that
    differ anywhere, or are those of another place, have another tag but with a chance of 2^-100, and no byte is handed out before the tag was compared. Where the file is mapped, somebody
    who changes it at that very instant goes unnoticed only if OpenSSL's code loads a byte twice and the change comes between: that takes the right to write to an unnamed
    file of this process, which is its own user's and the system's.
    """

    def __init__(self, folder: Path) -> None:
        self._file = _checked(lambda: tempfile.TemporaryFile(buffering=0, prefix="hullabaloo-", dir=folder))  # noqa: SIM115
        finalize(self, self._file.close)
        self._room, self._lock, self._end, self._laid, self._maps = local(), Lock(), 0, 0, True
        self._key = AESGCM.generate_key(256)

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("Sealed rows cannot be pickled or copied.")

    def held(self, part: Part) -> "SealedPart":
        """The part, from now on in the file."""
        rows, sparse = part.rows, not isinstance(part.rows.X, np.ndarray)
        X = {name: getattr(rows.X, name) for name in _CSR} if sparse else {"X": rows.X}
        given = {"Y": rows.Y, "weight": rows.weight, "offset": rows.offset, "unit": rows.unit, **X}
        arrays = {name: np.ascontiguousarray(one) for name, one in given.items() if one is not None}
        shapes = {name: (one.shape, one.dtype) for name, one in arrays.items()}
        sealed = self.sealed(b"".join(one.data for one in arrays.values()))
        return SealedPart(self, *sealed, shapes, rows.X.shape if sparse else None, replace(part, rows=_NONE))

    def sealed(self, data: bytes) -> tuple[int, int]:
        """What `opened` is told to give these bytes again."""
        with self._lock:
            start, self._end = self._end, self._end + len(data) + _TAG
            # what is written a whole block at once is one page of the system's, and stays one when parts are written over it
            while self._laid < self._end:
                self._write(bytes(_BLOCK), self._laid)
                self._laid += _BLOCK
        seal = self._cipher(start).encryptor()
        for first in range(0, len(data), _BLOCK):
            self._write(seal.update(memoryview(data)[first : first + _BLOCK]), start + first)
        self._write(seal.finalize() + seal.tag, start + len(data))
        return start, len(data)

    def opened(self, start: int, size: int) -> NDArray[np.uint8]:
        """What was sealed; in a thread's own memory, until the thread opens the next."""
        # a part without rows may be a thread's first
        if "plain" not in vars(self._room) or len(self._room.plain) < size:
            self._room.plain, self._room.sealed = (np.empty(most, dtype=np.uint8) for most in (size, min(size, _READ)))
        plain, seal = self._room.plain[:size], self._cipher(start).decryptor()
        before = start % _BLOCK
        mapped = self._mapped(start - before, -(-(before + size) // _BLOCK)) if size >= _BLOCK else None
        if mapped is not None:
            with mapped, memoryview(mapped)[before : before + size] as sealed:
                seal.update_into(sealed, plain.data)
        for at in range(0, size if mapped is None else 0, _READ):
            sealed = self._room.sealed[: size - at]
            read = _checked(partial(os.preadv, self._file.fileno(), [sealed.data], start + at))
            seal.update_into(sealed[:read].data, plain[at:].data)
        try:
            seal.finalize_with_tag(_checked(partial(os.pread, self._file.fileno(), _TAG, start + size)))
        except (InvalidTag, ValueError):
            bare(TornCache())
        return plain  # type: ignore[no-any-return]

    def _cipher(self, start: int) -> Cipher[modes.GCM]:
        return Cipher(algorithms.AES(self._key), modes.GCM(start.to_bytes(12, "big")))

    def _write(self, sealed: bytes, start: int) -> None:
        if _checked(partial(os.pwrite, self._file.fileno(), sealed, start)) != len(sealed):
            raise TornCache

    def _mapped(self, start: int, blocks: int) -> mmap.mmap | None:
        """Blocks of the file where the system's cache has them, all of them there; None where they are better read, which also says what is wrong with them.

        To map is free where a block is one page of the system's cache, and costs as much as copying does where it is many.
        """
        if sys.platform != "linux" or not self._maps:
            return None
        import resource  # which Windows has not

        try:
            before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
            found = mmap.mmap(self._file.fileno(), blocks * _BLOCK, prot=mmap.PROT_READ, offset=start)
            found.madvise(_POPULATE)
            self._maps = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before <= 2 * blocks
        except (OSError, ValueError):  # ValueError: the file is shorter
            return None
        return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SealedPart:
    """A part in the file of a cache. PRIVATE."""

    cache: Cache
    start: int
    size: int
    shapes: dict[str, Any]
    sparse: tuple[int, int] | None
    about: Part

    def opened(self) -> Part:
        """The part, in a thread's own memory, until the thread opens the next.

        Raises:
            TornCache: the file is not as it was written.
        """
        data, at, found = self.cache.opened(self.start, self.size), 0, dict[str, Any]()
        for name, (shape, kind) in self.shapes.items():
            size = int(np.prod(shape)) * kind.itemsize
            found[name] = data[at : at + size].view(kind).reshape(shape)
            at += size
        X = csr(self.sparse, *map(found.pop, _CSR)) if self.sparse else found.pop("X")
        return replace(self.about, rows=Rows(X, **found))


_TAG, _BLOCK, _READ = 16, 1 << 21, 1 << 20
"""Bytes of a seal; of a huge page of x86 and ARM; and those read at once, which stay in the processor's cache until they are opened."""
_POPULATE = 22
"""MADV_POPULATE_READ of Linux 5.14, which says so where a page cannot be read, and so spares the process its signal."""
_CSR = "data", "indices", "indptr"
_NONE = Rows(np.zeros((0, 0)), np.zeros((0, 0)))


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
    place = cache if isinstance(cache, str | Path) else ""
    if not os.path.isdir(place) or not os.access(place, os.W_OK | os.X_OK):
        why = "is no folder that this user can write to" if os.path.exists(place) else "is no folder that is there"
        raise InvalidParameter(
            f"What cache= names {why}. Make a new one first (in a shell: mkdir), on a local disk with room for 8 bytes for each record and encoded column. Nothing was charged or read."
        )
    return Path(place)
