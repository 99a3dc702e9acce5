"""What streams and what users supply can be compared: faults planted in the saves of a stream, and in what asks user's own code."""

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hullabaloo.curation.intake import StreamBuffer
from hullabaloo.curation.moments_process import MomentsProcess
from hullabaloo.durable import sealed
from hullabaloo.durable.journal import Journal
from hullabaloo.durable.sealed import Snapshot
from hullabaloo.ledger import Ledger
from tests.replay.durable import of_state
from tests.replay.test_streams import told_of_a_stream

Patch = pytest.MonkeyPatch


def high(process: Any) -> bool:
    """One bit of the records that a stream has taken, from its exact sums."""
    sums = [array for name, array in process._curator.state().items() if name.startswith("sums/")]
    return zlib.crc32(b"".join(one.tobytes() for one in sums)) % 2 == 0


def snapshots(patch: Patch, change: Callable[[Snapshot, Any], Snapshot]) -> None:
    real = MomentsProcess.snapshot
    patch.setattr(MomentsProcess, "snapshot", lambda self: change(real(self), self))


def longer(patch: Patch) -> None:
    """Sums written with as many digits as they have."""

    def digits(shot: Snapshot, process: Any) -> Snapshot:
        text = str([one.tolist() for one in shot.arrays.values()]).encode()
        return Snapshot(shot.numbers, {**shot.arrays, "text": np.frombuffer(text, dtype=np.uint8)})

    snapshots(patch, digits)


def header(patch: Patch) -> None:
    snapshots(patch, lambda shot, process: Snapshot({**shot.numbers, "high": high(process)}, shot.arrays))


def twice(patch: Patch) -> None:
    """A save more, of the same content."""
    real = Journal.commit

    def commit(self: Journal, snapshot: Any, position: int, *source: Any) -> None:
        real(self, snapshot, position)
        if high(snapshot.__self__):
            real(self, snapshot, position)

    patch.setattr(Journal, "commit", commit)


def confirmed_again(patch: Patch) -> None:
    """The ledger is told again what it knows: no row changes."""
    real = StreamBuffer._save

    def save(self: StreamBuffer) -> None:
        real(self)
        if high(self.process):
            journal = self._journal
            journal._confirmed = None
            journal._confirm()

    patch.setattr(StreamBuffer, "_save", save)


def late(patch: Patch) -> None:
    """The position that the ledger shows, of some saves a record behind."""
    real = Ledger.advance

    def advance(self: Ledger, dataset: str, stream: str, *, position: int, token: str, previous: str) -> Any:
        return real(
            self, dataset, stream, position=position - (seen[-1] and position > 0), token=token, previous=previous
        )

    seen = [False]
    real_save = StreamBuffer._save

    def save(self: StreamBuffer) -> None:
        seen[-1] = high(self.process)
        real_save(self)

    patch.setattr(Ledger, "advance", advance)
    patch.setattr(StreamBuffer, "_save", save)


FAULTS: dict[str, tuple[Callable[[Patch], None], str]] = {
    "sums with their digits": (longer, "file people.state"),
    "a bit in the header": (header, "files in between"),
    "a save more": (twice, "touched"),
    "a save confirmed again": (confirmed_again, "touched"),
    "a position behind": (late, "files in between"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_of_a_stream_is_seen(fault: str, tmp_path: Path, ledgers: Path, monkeypatch: Patch) -> None:
    plant, where = FAULTS[fault]
    plant(monkeypatch)
    assert where in told_of_a_stream("incremental", "replace-one", tmp_path, ledgers)


def test_a_sealed_state_shows_its_size_alone(tmp_path: Path) -> None:
    state = sealed.State("f", {}, "s", 1, "t", "p", snapshot=Snapshot({"n": 1}, {"x": np.zeros(3)}))
    plain, shut = (sealed.to_bytes(state, key) for key in (None, bytes(32)))
    assert "header" in of_state(plain)
    assert "header" not in of_state(shut)
    again = sealed.to_bytes(state, bytes(32))
    assert again != shut
    assert (of_state(again), len(again)) == (of_state(shut), len(shut))


@pytest.mark.parametrize("key", [None, bytes(32)], ids=["plain", "sealed"])
def test_the_place_of_a_source_shows_its_presence_alone(key: bytes | None, tmp_path: Path) -> None:
    """Digits of an offset say how long records are: the state is of one size, and its header is compared without the place."""
    shown = []
    for offset in (7, 10**6, 10**18):
        source = {"position": 1, "place": {"offset": offset, "device": 1, "inode": 2, "key": "0" * 64, "tag": "1" * 64}}
        data = sealed.to_bytes(sealed.State("f", {}, "s", 1, "t", "p", source=source), key)
        assert sealed.from_bytes(data, key, tmp_path).source == source
        shown.append((len(data), of_state(data)))
    assert shown[0] == shown[1] == shown[2]
