"""Units whose records lie in several parts: one shuffle brings each unit's share together, in memory that its records do not make grow."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.encode import numbered, within_share
from hullabaloo.data.engines.base import Part, Reading, part_of
from hullabaloo.data.engines.cache import Cache, SealedPart
from hullabaloo.data.engines.turns import in_turn
from hullabaloo.data.source import Rows
from hullabaloo.data.table import Table

_BUCKETS = 512
_SPILL = 1 << 17  # bytes of a bucket that are held in memory
_ROOM = 1 << 10  # that a few rows take beside their numbers
_ROWS = 1 << 16


@final
class Shuffle:
    """All parts of a table whose domain declares a unit, each unit in one of them. PRIVATE.

    **Guarantee.** The rows are those of the whole table's `Encoding.encode` that count, at its weights. Proof: the `records_per_unit` rows of smallest hash
    of a unit are among those of each part, so what is dropped of a part counts for nothing; a bucket has all rows that were kept of its units, and the same rule is
    applied to them. Two units have one BLAKE2b of 256 bits with a chance that nobody can raise above 2^-100. Of a unit at most `records_per_unit`
    rows of each part are held.

    Args:
        tables: the parts, from the beginning.
        reading: how they become rows.
        folder: where rows are kept, sealed, until all have been read.
    """

    __slots__ = ("_cache", "_held", "_reading", "_sealed", "_share", "_tables")

    def __init__(self, tables: Callable[[], Iterator[Table]], reading: Reading, folder: Path) -> None:
        self._tables, self._reading, self._cache = tables, reading, Cache(folder)
        self._share = reading.encoding.domain.records_per_unit
        self._sealed: list[list[SealedPart]] = [[] for _ in range(_BUCKETS)]
        self._held: list[list[Rows]] = [[] for _ in range(_BUCKETS)]

    def parts(self) -> Iterator[Part]:
        """The parts; the first of them counts all records that were read, and no other counts any."""
        read = 0
        for count, buckets in in_turn(self._sorted, self._tables()):
            read += count
            for bucket, rows in enumerate(buckets):
                self._put(bucket, rows)
        several, none = self._share > 1, np.zeros(0, dtype=np.int64)
        waiting = [_some(self._reading.nothing().rows, none, none)]
        for bucket in range(_BUCKETS):
            waiting += self._taken(bucket, sum(len(rows.Y) for rows in waiting))
            if sum(len(rows.Y) for rows in waiting) >= _ROWS or bucket == _BUCKETS - 1:
                rows = _together(waiting)
                yield replace(part_of(rows if several else replace(rows, unit=None)), count=read)
                waiting, read = waiting[:1], 0

    def _sorted(self, table: Table) -> tuple[int, list[Rows]]:
        """How many records there are, and the rows of each bucket, their units' hashes as ``unit``."""
        rows, owners = self._reading.encoding.owned(table, self._reading.target)
        assert owners is not None
        named = np.array([one is not None for one in owners], dtype=bool)
        counts = np.flatnonzero(named & within_share(rows, numbered(owners), self._share))
        known = {one: blake2b(str(one).encode(errors="surrogatepass"), digest_size=32).digest() for one in {*owners}}
        found = b"".join(known[owners[place]] for place in counts.tolist())
        hashes = np.frombuffer(found, dtype=np.int64).reshape(-1, 4)
        buckets = hashes[:, 0] % _BUCKETS
        order = np.argsort(buckets, kind="stable")
        ends = np.searchsorted(buckets[order], np.arange(_BUCKETS + 1))
        places = [order[start:stop] for start, stop in pairwise(ends.tolist())]
        return len(owners), [_some(rows, counts[one], hashes[one]) for one in places]

    def _put(self, bucket: int, rows: Rows) -> None:
        held = self._held[bucket]
        held += [rows] if len(rows.Y) else []
        if sum(one.X.nbytes + _ROOM for one in held) >= _SPILL:
            self._sealed[bucket].append(self._cache.held(Part(_together(held), 0, 0, 0)))
            held.clear()

    def _taken(self, bucket: int, before: int) -> list[Rows]:
        """The rows of a bucket that count, their units numbered from `before`."""
        found = [*(_together([one.opened().rows]) for one in self._sealed[bucket]), *self._held[bucket]]
        self._held[bucket], self._sealed[bucket] = [], []
        if not found:
            return []
        rows = _together(found)
        assert rows.unit is not None
        units = np.unique(rows.unit, axis=0, return_inverse=True)[1].reshape(-1)
        counts = np.flatnonzero(within_share(rows, units, self._share))
        return [_some(rows, counts, units[counts] + before)]


def _some(rows: Rows, places: NDArray[np.intp], unit: NDArray[np.int64]) -> Rows:
    weight = np.ones(len(places)) if rows.weight is None else rows.weight[places]
    return Rows(rows.X[places], rows.Y[places], weight, None if rows.offset is None else rows.offset[places], unit)


def _together(found: list[Rows]) -> Rows:
    def joined(name: str) -> Any:
        parts = [getattr(rows, name) for rows in found]
        return None if parts[0] is None else np.concatenate(parts)

    return Rows(*map(joined, ("X", "Y", "weight", "offset", "unit")))
