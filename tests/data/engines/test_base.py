"""The seam: what is sent to where records are is public, and parts that are read and added up elsewhere give the bits of memory."""

import itertools
import pickletools
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hullabaloo as hb
from hullabaloo.data import open_table
from hullabaloo.data.engines import units
from hullabaloo.data.engines.base import OtherVersion, Reading, Tally, Task, hashed, packed, unpacked
from hullabaloo.data.engines.local import Local
from hullabaloo.data.source import Rows
from tests.data.engines.fits import FITS, KEY, ONE, N, batches, fitted, table


def rows(n: int = 50, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    return Rows(rng.normal(size=(n, 4)), rng.normal(size=(n, 1)), rng.random(n), rng.random(n))


def some(given: Rows, places: Any) -> Rows:
    own = (None if one is None else one[places] for one in (given.weight, given.offset))
    return Rows(given.X[places], given.Y[places], *own)


def test_the_hash_is_that_of_the_rows_in_any_order_and_in_any_parts() -> None:
    given, order = rows(), np.random.default_rng(1).permutation(50)
    whole = hashed(given)
    assert hashed(some(given, order)) == whole
    assert (hashed(some(given, slice(0, 17))) + hashed(some(given, slice(17, None)))) % 2**64 == whole
    assert hashed(some(given, slice(0, 0))) == 0
    assert hashed(replace(given, X=np.asfortranarray(given.X))) == whole
    long = rows(3_000)
    assert hashed(replace(long, X=np.asfortranarray(long.X), weight=None)) == hashed(replace(long, weight=None))


def test_the_hash_changes_with_any_cell() -> None:
    given = rows()
    whole = hashed(given)
    for name in ("X", "Y", "weight", "offset"):
        for place in range(4 if name == "X" else 1):
            changed = getattr(given, name).copy()
            changed.reshape(50, -1)[7, place] = np.nextafter(changed.reshape(50, -1)[7, place], 9.0)
            assert hashed(replace(given, **{name: changed})) != whole
    swapped = given.X.copy()
    swapped[3, 0], swapped[4, 0] = swapped[4, 0], swapped[3, 0]  # cells of one column, in other records
    assert hashed(replace(given, X=swapped)) != whole


class Elsewhere:
    """Everything in bytes, as between processes: parts in another order each time, sums merged in pairs at random."""

    def __init__(self, reading: Reading, sent: list[bytes]) -> None:
        self.sent, self.rng = sent, np.random.default_rng(3)
        sent.append(packed(reading))
        (theirs,) = unpacked(sent[-1])
        frame = table().iloc[self.rng.permutation(N)]
        parts = [open_table(part) for part in halves(frame, self.rng)]
        if theirs.encoding.domain.unit is None:
            self.parts = [theirs.part(part) for part in parts]
        else:
            dealt = zip(*(units.dealt(theirs, part, 3) for part in parts), strict=True)
            self.parts = [units.part(theirs, units.gathered(theirs, pieces)) for pieces in dealt]

    def map_reduce(self, task: Task) -> Tally:
        self.sent.append(packed(task))
        (theirs,) = unpacked(self.sent[-1])
        found = [theirs.tally(part) for part in self.parts]
        while len(found) > 1:
            one, other = (found.pop(int(self.rng.integers(len(found)))) for _ in range(2))
            both = [replace(part, state=theirs.asked.load(theirs.asked.dump(part.state))) for part in (one, other)]
            found.append(theirs.merged(both))
        return found[0]


def halves(frame: pd.DataFrame, rng: np.random.Generator) -> Iterator[pd.DataFrame]:
    ends = [0, *sorted(rng.integers(0, N, 4).tolist()), N]
    return (frame.iloc[start:stop] for start, stop in itertools.pairwise(ends))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", FITS)
def test_what_is_sent_is_public_and_the_bits_are_those_of_memory(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No key, nothing that is derived from it, no budget, no price and no noise, in any form that pickle writes."""
    from hullabaloo.curator.query import Sum
    from hullabaloo.data.scan import ScannedTable

    sent: list[bytes] = []
    derived: list[Any] = []
    bought: set[float] = {ONE.epsilon, ONE.delta}
    monkeypatch.setattr(ScannedTable, "engine", lambda self, reading: Elsewhere(reading, sent))
    plain = Sum.answered

    def watched(self: Any, rows: Any, question: Any, key: Any, kept: Any) -> Any:
        derived.append(key)
        bought.update((self.mu, self.sigma))
        return plain(self, rows, question, key, kept)

    monkeypatch.setattr(Sum, "answered", watched)
    model = FITS[name]().set_params(budget=ONE, test_key=KEY).fit(hb.scan(batches, cache=tmp_path))
    assert sent
    assert derived
    secrets = {KEY, *(key.secret for key in derived)}
    for data in sent:
        assert not any(secret in data or secret.hex().encode() in data for secret in secrets)
        assert not any(struct.pack(order, number) in data for number in bought for order in ("<d", ">d"))
        words = {str(word) for _, word, _ in pickletools.genops(data)}
        assert not any(word.startswith("hullabaloo.noise") or "Budget" in word or "Ledger" in word for word in words)
    monkeypatch.undo()
    assert model.release_.theta.tobytes() == fitted(name, table())


def test_nothing_is_an_empty_part() -> None:
    """A table without any part is the empty table, with weights and offsets where the encoding has them."""
    from tests.data.engines.fits import COUNTS, WEIGHED

    for domain in (WEIGHED, COUNTS):
        encoding = domain.encoding()
        made, empty = Reading(encoding).nothing(), Reading(encoding).part(open_table(table().iloc[:0]))
        for name in ("X", "Y", "weight", "offset"):
            one, other = getattr(made.rows, name), getattr(empty.rows, name)
            assert (one is None) == (other is None)
            assert one is None or one.shape == other.shape
        assert (made.count, made.checksum) == (0, 0)


class Word(str):
    """Of a class that no worker has."""


def test_names_and_levels_of_somebodys_own_class_are_sent_as_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker could not read them, and would say so after the charge."""
    from hullabaloo.data.parts import rows_of
    from hullabaloo.data.scan import ScannedTable

    a, b, g, c, d, u, v = map(Word, "abgcduv")
    features = {a: (0, 1), b: (0, 1), g: hb.Categorical([u, v], baseline=u)}
    some = hb.Domain(features, classes={c: [u, v]}, missing_target="drop", interactions=[(a, b)], weight=(d, 2.0))
    others = hb.Domain({a: (0, 1)}, target={c: (0, 1), b: (0, 1)}, unit=d)
    monkeypatch.setattr(ScannedTable, "engine", lambda self, reading: reading)
    for domain, target in ((some, c), (some, None), (others, [c, b])):
        rows: Any = rows_of(domain.encoding(), hb.scan(batches), target)
        assert b"Word" not in packed(rows._engine)


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from hullabaloo.data.engines import base

    sent = packed(1)
    monkeypatch.setattr(base, "__version__", "0.0.9")
    with pytest.raises(OtherVersion):
        unpacked(sent)


def test_parts_that_fit_are_kept_and_read_once() -> None:
    from hullabaloo.curator.asked import Asked
    from hullabaloo.privacy import Neighbours
    from hullabaloo.queries import PricedQueries

    reads = [0]

    def tables() -> Iterator[Any]:
        reads[0] += 1
        return (open_table(table().iloc[start : start + 400]) for start in range(0, N, 400))

    from tests.data.engines.fits import NUMBERS

    encoding = NUMBERS.encoding()
    query = PricedQueries(encoding.facts, Neighbours.REPLACE_ONE, N).price("second_moments", mu=1.0)
    task = Task((), Asked.of(query, ()))
    for keep, passes in ((0, 2), (1 << 20, 1)):
        reads[0] = 0
        engine = Local(tables, Reading(encoding), keep)
        one, other = engine.map_reduce(task), engine.map_reduce(task)
        assert (one.count, one.checksum) == (other.count, other.checksum)
        assert one.count == N
        assert reads[0] == passes
