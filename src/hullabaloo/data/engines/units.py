"""Units whose records lie in several parts: one shuffle brings each unit's share together, in memory that its records do not make grow.

Rows travel as *words*: an array of 64-bit words with the unit's BLAKE2b (four), columns, targets, weight and offset of each; between machines as a *piece*, the bytes of
how many records it stands for and of words. A sparse row takes as many lines of words as it needs, one after the other: in place of columns, how many cells it has from there on, and
`CELLS` of these, as columns and values. All are PRIVATE, as what is made of them is.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.encode import numbered, within_share
from hullabaloo.data.engines.base import Part, Reading, part_of
from hullabaloo.data.engines.cache import Cache
from hullabaloo.data.engines.turns import in_turn
from hullabaloo.data.readers.sparse import csr
from hullabaloo.data.source import Rows
from hullabaloo.data.table import Table

Words = NDArray[np.uint64]
EMPTY = 9
"""Bytes of a piece without rows."""
CELLS = 16
"""Cells of a sparse row in a line of words."""
_BUCKETS = 2048
_SPILL = 1 << 14
"""How many buckets units are dealt to, so many that one of 10^8 records of 20 columns stays below `_LIMIT`; bytes of a bucket that are held in memory before they are sealed,"""
_LIMIT = 1 << 24
"""of rows that are brought together at once, unless one unit's share is larger,"""
_ROWS = 1 << 16
"""and rows of a part at least."""


class Shuffle:
    """All parts of a table whose domain declares a unit, each unit in one of them. PRIVATE.

    **Guarantee.** The rows are those of the whole table's `Encoding.encode` that count, at its weights. Proof: the `records_per_unit` rows of smallest hash
    of a unit are among those of each part and of each collection of parts, so what is dropped there counts for nothing; `shares` brings all that was kept of a unit
    together, in whole rows, and the same rule is applied to it. Two units have one BLAKE2b of 256 bits with a chance that nobody can raise above 2^-100. What is held
    is `_BUCKETS` times `_SPILL`, or one row that is larger, a few times `_LIMIT` or one unit's share, and 16 bytes for each `_SPILL` of the folder.

    Args:
        tables: the parts, from the beginning.
        reading: how they become rows.
        folder: where rows are kept, sealed, until all have been read.
    """

    __slots__ = ("_cache", "_filled", "_held", "_reading", "_sealed", "_tables")

    def __init__(self, tables: Callable[[], Iterator[Table]], reading: Reading, folder: Path) -> None:
        self._tables, self._reading, self._cache = tables, reading, Cache(folder)
        width = _nothing(reading).shape[1]
        many = max(min(_BUCKETS, _BUCKETS * _SPILL // (8 * width)), 1)  # fewer of rows that are wider than `_SPILL`
        self._held = np.empty((many, max(_SPILL // (8 * width), 1), width), dtype=np.uint64)
        self._filled, self._sealed = [0] * many, [array("q") for _ in range(many)]

    def parts(self) -> Iterator[Part]:
        """The parts; the first of them counts all records that were read, and no other counts any."""
        read, waiting, many = 0, [_nothing(self._reading)], len(self._filled)
        for count, dealt in in_turn(partial(_dealt, self._reading, buckets=many), self._tables()):
            read += count
            for bucket, words in enumerate(dealt):
                self._put(bucket, words)
        for bucket in range(many):
            for words in shares(partial(self._taken, bucket), self._reading, _LIMIT):
                waiting.append(words)
                if sum(map(len, waiting)) >= _ROWS:
                    yield _part(self._reading, np.concatenate(waiting), read)
                    waiting, read = waiting[:1], 0
        yield _part(self._reading, np.concatenate(waiting), read)

    def _put(self, bucket: int, words: Words) -> None:
        held = self._held[bucket]
        while len(words):
            filled = self._filled[bucket]
            some = words[: len(held) - filled]
            held[filled : filled + len(some)] = some
            self._filled[bucket] += len(some)
            words = words[len(some) :]
            if self._filled[bucket] == len(held):
                self._sealed[bucket].extend(self._cache.sealed(held.tobytes()))
                self._filled[bucket] = 0

    def _taken(self, bucket: int) -> Iterator[Words]:
        """All that was put into a bucket, the lines of a row together: what counts is asked of whole rows alone."""
        held, places, rest = self._held[bucket], self._sealed[bucket], _nothing(self._reading)
        for place in zip(places[::2], places[1::2], strict=True):
            words = np.concatenate([rest, self._cache.opened(*place).view(np.uint64).reshape(held.shape)])
            end = np.flatnonzero(np.append(True, _last(self._reading, words)))[-1]
            yield words[:end]
            rest = words[end:]
        yield np.concatenate([rest, held[: self._filled[bucket]]])


def dealt(reading: Reading, table: Table, buckets: int) -> list[bytes]:
    """The rows of one part of a table that may count, as a piece for each bucket of units; the first stands for all of its records."""
    count, found = _dealt(reading, table, buckets)
    return [_piece(words, 0 if bucket else count) for bucket, words in enumerate(found)]


def gathered(reading: Reading, pieces: Iterable[bytes]) -> bytes:
    """All pieces of a bucket as one, of the rows that count; it may be gathered again, alone or with others."""
    count = 0

    def found() -> Iterator[Words]:
        nonlocal count
        for piece in pieces:
            count += _count(piece)
            yield _words(reading, piece)

    return _piece(next(shares(found, reading, np.inf)), count)


def part(reading: Reading, piece: bytes) -> Part:
    """A piece that was gathered."""
    return _part(reading, _words(reading, piece), _count(piece))


def shares(found: Callable[[], Iterator[Words]], reading: Reading, most: float) -> Iterator[Words]:
    """What counts of rows: of all units, or, where that is more than `most` bytes, of some at once, while the rows are given anew for the others."""
    low: int | None = 0
    while low is not None:
        high, kept, waiting, size = None, _nothing(reading), list[Words](), 0
        for words in found():
            inside = words[:, 0] >= low if high is None else (words[:, 0] >= low) & (words[:, 0] < high)
            waiting.append(words[inside])
            size += waiting[-1].nbytes
            if size > max(_LIMIT, kept.nbytes):
                kept, waiting, size = _counting(reading, [kept, *waiting]), [], 0
                units = np.unique(kept[:, 0])
                if kept.nbytes > most and len(units) > 1:
                    high = int(units[len(units) // 2])
                    kept = kept[kept[:, 0] < high]
        yield _counting(reading, [kept, *waiting])
        low = high


def _counting(reading: Reading, words: list[Words]) -> Words:
    whole = np.concatenate(words)
    first, share = _first(reading, whole), reading.encoding.domain.records_per_unit
    counts = within_share(_rows(reading, whole), _numbers(whole[:, :4][first]), share)
    return np.asarray(whole[counts[np.cumsum(first) - 1]])


def _numbers(words: Words) -> NDArray[np.int64]:
    """The units by number."""
    order, numbers = np.lexsort(words[:, :4].T), np.zeros(len(words), dtype=np.int64)
    numbers[order[1:]] = np.cumsum(np.diff(words[order, :4], axis=0).any(axis=1))
    return numbers


def _dealt(reading: Reading, table: Table, buckets: int) -> tuple[int, list[Words]]:
    """How many records there are, and the words of each bucket."""
    rows, owners = reading.encoding.owned(table, reading.target)
    assert owners is not None
    units, names = numbered(owners), hashes_of(owners)
    places = np.flatnonzero(names.any(axis=1) & within_share(rows, units, reading.encoding.domain.records_per_unit))
    dealt_to = names[places, 0] % np.uint64(buckets)
    places = places[np.argsort(dealt_to, kind="stable")]
    extra = [np.ones(len(owners)) if one is None else one for one in (rows.weight, rows.offset)]
    X, of = _lines(rows.X[places]) if reading.sparse else (rows.X[places], slice(None))
    others = (one[places][of] for one in (rows.Y, *extra))
    words = np.column_stack([names.view(np.float64)[places][of], X, *others]).view(np.uint64)
    ends = np.searchsorted(np.sort(dealt_to)[of], np.arange(buckets + 1))
    return len(owners), [words[start:stop] for start, stop in pairwise(ends.tolist())]


def _lines(X: Any) -> tuple[NDArray[np.float64], Any]:
    """Sparse rows as lines, and which row each is of."""
    many = np.diff(X.indptr).astype(np.int64)
    each = np.maximum(-(-many // CELLS), 1)
    of = np.repeat(np.arange(len(many)), each)
    left = many[of] - CELLS * (np.arange(len(of)) - (np.cumsum(each) - each)[of])
    cells = np.zeros((2, len(of), CELLS))
    cells[:, np.arange(CELLS) < left[:, None]] = X.indices, X.data
    return np.column_stack([left, *cells]), of


def _last(reading: Reading, words: Words) -> Any:
    """Which lines of words end a row."""
    return words[:, 4].view(np.float64) <= CELLS if reading.sparse else np.ones(len(words), dtype=bool)


def _first(reading: Reading, words: Words) -> NDArray[np.bool_]:
    """Which begin one, of whole rows."""
    return np.append(True, _last(reading, words))[: len(words)]


def hashes_of(owners: list[str | None]) -> Words:
    """(n, 4) the BLAKE2b of whose each record is; 0 where it is nobody's. PRIVATE."""
    known = [
        bytes(32) if one is None else blake2b(one.encode(errors="surrogatepass"), digest_size=32).digest()
        for one in dict.fromkeys(owners)
    ]
    return np.frombuffer(b"".join(known), dtype="<u8").reshape(-1, 4).astype(np.uint64)[numbered(owners)]


def _nothing(reading: Reading) -> Words:
    facts = reading.encoding.facts
    width = 1 + 2 * CELLS if reading.sparse else facts.width
    return np.zeros((0, 6 + width + len(facts.targets)), dtype=np.uint64)


def _piece(words: Words, count: int) -> bytes:
    return b"=" + count.to_bytes(8, "little") + words.tobytes()


def _count(piece: bytes) -> int:
    return int.from_bytes(piece[1:9], "little")


def _words(reading: Reading, piece: bytes) -> Words:
    return np.frombuffer(piece, dtype=np.uint64, offset=9).reshape(-1, _nothing(reading).shape[1])


def _rows(reading: Reading, words: Words) -> Rows:
    facts, values = reading.encoding.facts, words[:, 4:].view(np.float64)
    width = values.shape[1] - 2 - len(facts.targets)
    X = np.ascontiguousarray(values[:, :width])
    if reading.sparse:
        inside, values = np.arange(CELLS) < X[:, :1], values[_first(reading, words)]
        columns, cells = X[:, 1 : CELLS + 1][inside].astype(np.int64), X[:, CELLS + 1 :][inside]
        starts = np.append(0.0, np.cumsum(values[:, 0])).astype(np.int64)
        X = csr((len(values), facts.width), cells, columns, starts)
    Y = np.ascontiguousarray(values[:, width:-2])
    return Rows(X, Y, values[:, -2].copy(), None if reading.encoding.offset is None else values[:, -1].copy())


def _part(reading: Reading, words: Words, count: int) -> Part:
    several = reading.encoding.facts.records_per_unit > 1
    rows = replace(_rows(reading, words), unit=_numbers(words[:, :4][_first(reading, words)]) if several else None)
    return replace(part_of(rows), count=count)
