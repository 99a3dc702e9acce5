"""`Prefix`: what was read of a file, told again from its bytes by whoever has the key, and by nobody else."""

import hashlib
import hmac
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hullabaloo.data.sources.base import Mark, SourceChanged

_PURPOSE = b"hullabaloo: the bytes of a source that were taken\0"


class Prefix:
    """HMAC-SHA256, under a key of 32 random bytes, of the bytes of a source that were taken, in their order.

    **Guarantee.** Claim: a file whose beginning differs in any bit from what was taken has another tag, but with probability 2^-128 for
    whoever does not know the key; and the tag says nothing of the bytes to whoever does not know the key. Proof: HMAC-SHA256 is a
    pseudorandom function (Bellare 2006). The key is drawn for one source and used for nothing else. Key and tag are in a stream's
    state only, which is as private as the records and is sealed where it has a key file: nothing that is stored outside of it confirms
    a guess of a record, as a plain hash would.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = AESGCM.generate_key(256) if key is None else key
        self._mac = hmac.new(self._key, _PURPOSE, hashlib.sha256)

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self._mac.update(data)

    def again(self) -> "Prefix":
        """Of no bytes, under the same key."""
        return Prefix(self._key)

    def facts(self) -> dict[str, str]:
        """Key and tag, JSON-ready. PRIVATE."""
        return {"key": self._key.hex(), "tag": self._mac.copy().hexdigest()}

    @classmethod
    def proved(cls, place: Mapping[str, Any], read: Callable[["Prefix"], None]) -> "Prefix | None":
        """The prefix that a place is the end of, when what `read` adds is that prefix; None when it is another."""
        try:
            found = cls(bytes.fromhex(place["key"]))
            tag = bytes.fromhex(place["tag"])
        except (KeyError, TypeError, ValueError):
            return None
        read(found)
        return found if hmac.compare_digest(found._mac.copy().digest(), tag) else None


def identity(path: str | Path, found: os.stat_result) -> dict[str, Any]:
    """Which file a mark is made of."""
    return {"device": found.st_dev, "inode": found.st_ino, "path": os.path.abspath(path)}


def is_same(mark: Mark, known: Mapping[str, Any]) -> bool:
    """Whether a mark was made of this file; older versions wrote no path."""
    return {name: mark.place.get(name, known["path"] if name == "path" else None) for name in known} == known


def goes_on(mark: Mark, path: Path, *, same: bool, proved: bool, continues: bool) -> bool:
    """Whether the file at `path` is gone on with from a mark; False: it is another file, whose records are counted from its first.

    Args:
        mark: made of some file.
        path: for the sentence.
        same: whether the file has the path and the number that the marked one had.
        proved: whether it begins with the bytes that were taken.
        continues: whether the file is said to begin with the first record not taken, if it is another one.

    Raises:
        SourceChanged: a file that must begin with what was taken does not.
    """
    if mark.unproved:
        return same
    if proved:  # also a copy of the file, but of one that stands for the whole stream, or continues it again
        return same or (mark.position > mark.origin and (continues or mark.origin == 0))
    if not same and (continues or mark.origin > 0):
        return False
    raise SourceChanged(
        f"{path} does not begin with what the stream has read of it: it was rewritten, replaced or changed since, or is another source. "
        "Where to go on in it could only be guessed, and records would be skipped or taken twice. Nothing was taken from it. Restore it as it was; "
        "records that follow those that were taken go on in a file of their own, named with --continues."
    )
