"""The chain of hashes over a dataset's rows, by which a row that was changed, removed or put back is noticed.

    head 0 = SHA-256("hullabaloo dataset", database id, the dataset's fixed terms, its salt)
    head n = SHA-256("hullabaloo charge", head n-1, every column of row n: what was charged, the running sums after it, its salt)

Each part is preceded by its type and length, so no two lists of parts are written alike. A salt is 32 bytes from the operating
system that never leave the database. A head may therefore be public: whoever holds it and guesses all else of a row cannot tell
whether the guess is right, and whoever holds the head of row n can tell whether a ledger still has row n and those before it.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import Any

TERMS = (
    "name", "budget", "neighbours", "unit", "records_per_unit", "filter", "capacity", "created_at", "created_by", "library_version",
    "accounting_version", "schema_version", "salt",
)  # fmt: skip
"""The columns of a dataset that are fixed when it is created."""
ROW = (
    "dataset", "number", "charged_at", "who", "what", "event", "budget", "cost", "neighbours", "unit", "records_per_unit", "detail",
    "library_version", "accounting_version", "schema_version", "analyst", "purpose", "approval", "project", "sum_main", "sum_tail", "salt",
)  # fmt: skip
"""The columns of a charge, all but its head."""


def fresh_salt() -> str:
    """32 secret random bytes, in hexadecimal."""
    return os.urandom(32).hex()


def fresh_database() -> str:
    """16 random bytes that tell one ledger from every other, in hexadecimal."""
    return os.urandom(16).hex()


def first(database: str, terms: Mapping[Any, Any]) -> str:
    """Head 0 of a dataset with these columns."""
    return _hash(("hullabaloo dataset", database, *(terms[name] for name in TERMS)))


def following(head: object, row: Mapping[Any, Any]) -> str:
    """The head of a row after that of the row before it."""
    return _hash(("hullabaloo charge", head, *(row[name] for name in ROW)))


def _hash(parts: Iterable[object]) -> str:
    written = bytearray()
    for part in parts:
        if isinstance(part, str):  # of any class of text: it comes back as plain text
            kind, data = b"str", part.encode("utf-8", "surrogatepass")
        elif isinstance(part, int):
            kind, data = b"int", b"%d" % part
        else:
            kind, data = type(part).__name__.encode(), part if isinstance(part, bytes) else str(part).encode()
        written += b"%s %d %s" % (kind, len(data), data)
    return hashlib.sha256(written).hexdigest()
