"""The state file: what is read is what was written, by one owner, or a sentence."""

import errno
import multiprocessing
import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from hullabaloo.durable import sealed
from hullabaloo.durable.sealed import Snapshot, State
from hullabaloo.durable.state import StateFile, new_key_file, read_key
from hullabaloo.errors import InvalidParameter, StateError

SNAPSHOT = Snapshot(
    {"steps": 3, "third": 1 / 3, "nested": {"inf": float("inf"), "list": [1, None, "ß"]}},
    {
        "sums": np.array([[0.1, -0.0], [5e-324, np.nan]])[::-1],
        "none": np.zeros((0, 3)),
        "scalar": np.array(-7, np.int64),
        "flags": np.array([True, False]),
        "small": np.arange(5, dtype="<f4"),
        "wide": np.array([2**63], np.uint64),
    },
)
STATE = State("f" * 8, {"horizon": 1000, "every": [1, 2]}, "stream", 12, "token", "before", "clinic", 3, SNAPSHOT)
SECRET = SNAPSHOT.arrays["sums"].tobytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stream.state"


@pytest.fixture(params=["plain", "sealed"])
def key_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return None if request.param == "plain" else new_key_file(tmp_path / "stream.key")


def write(path: Path, state: State = STATE, key_file: Path | None = None) -> bytes:
    file = StateFile(path, key_file)
    try:
        file.open()
        file.write(state)
    finally:
        file.close()
    return path.read_bytes()


def read(path: Path, key_file: Path | None = None) -> State | None:
    file = StateFile(path, key_file)
    try:
        return file.open()
    finally:
        file.close()


def same(one: State | None, other: State) -> bool:
    """Equal in every bit: types, shapes, NaN, signs of zeros."""
    if one is None or one.snapshot is None or other.snapshot is None:
        return False
    if any(getattr(one, f.name) != getattr(other, f.name) for f in fields(State) if f.name != "snapshot"):
        return False
    mine, yours = one.snapshot.arrays, other.snapshot.arrays
    return dict(one.snapshot.numbers) == dict(other.snapshot.numbers) and all(
        (mine[name].dtype, mine[name].shape, mine[name].tobytes()) == (a.dtype, a.shape, a.tobytes())
        for name, a in yours.items()
    )


def test_what_is_read_is_what_was_written(path: Path, key_file: Path | None) -> None:
    assert read(path, key_file) is None
    assert os.listdir(path.parent) == ([] if key_file is None else [key_file.name])
    data = write(path, key_file=key_file)
    found = read(path, key_file)
    assert same(found, STATE)
    assert found is not None
    assert found.snapshot is not None
    assert all(one.flags.writeable for one in found.snapshot.arrays.values())
    assert data.startswith(b"Hullabaloo stream state - PRIVATE DATA")
    assert (SECRET in data, b"horizon" in data) == ((True, True) if key_file is None else (False, False))
    assert "5e-324" not in repr(found) + repr(found.snapshot)
    write(path, replace(STATE, snapshot=None, position=13), key_file)
    later = read(path, key_file)
    assert later is not None
    assert (later.snapshot, later.position) == (None, 13)


def test_equal_states_are_sealed_differently(path: Path, tmp_path: Path) -> None:
    key_file = new_key_file(tmp_path / "key")
    assert write(path, key_file=key_file)[300:] != write(path, key_file=key_file)[300:]


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
def test_nobody_else_may_read_it_at_any_time(path: Path, mask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    modes = []
    real = os.write

    def watched(file: int, data: bytes) -> int:
        modes.append(stat.S_IMODE(os.fstat(file).st_mode))
        return real(file, data)

    monkeypatch.setattr(os, "write", watched)
    before = os.umask(mask)
    try:
        write(path)
        key = new_key_file(path.with_suffix(".key"))
    finally:
        os.umask(before)
    assert set(modes) == {0o600}
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(key.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602, 0o610], ids=oct)
def test_a_file_that_others_may_use_is_refused(path: Path, mode: int) -> None:
    write(path)
    path.chmod(mode)
    with pytest.raises(StateError, match=rf"mode {mode:04o}.*chmod 600"):
        read(path)


@pytest.mark.timeout(10)
def test_a_pipe_is_no_key_and_is_not_waited_for(path: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(StateError, match="no ordinary file"):
        read(path, tmp_path / "pipe")


@pytest.mark.timeout(10)
def test_links_folders_and_pipes_are_refused(path: Path, tmp_path: Path) -> None:
    write(path)
    link = tmp_path / "link"
    link.symlink_to(path)
    with pytest.raises(StateError, match="symbolic link"):
        read(link)
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "nowhere")
    with pytest.raises(StateError, match="symbolic link"):
        write(dangling)
    assert not (tmp_path / "nowhere").exists()
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(0o700)
    for name in ("pipe", "folder"):
        with pytest.raises(StateError):
            read(tmp_path / name)
    with pytest.raises(StateError, match="No such file"):
        read(tmp_path / "missing" / "file")


def test_a_flipped_bit_is_refused_wherever_it_is(path: Path, key_file: Path | None) -> None:
    data = write(path, key_file=key_file)
    dense = {*range(260), *range(len(data) - 40, len(data)), *range(0, len(data), 7)}
    for place in sorted(dense):
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        with pytest.raises(StateError):
            sealed.from_bytes(bytes(changed), key_file and read_key(key_file), path)
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(StateError, match="damaged"):
        read(path, key_file)


def test_a_cut_file_is_refused_at_every_length(path: Path, key_file: Path | None) -> None:
    data = write(path, key_file=key_file)
    key = key_file and read_key(key_file)
    for length in range(len(data)):
        with pytest.raises(StateError):
            sealed.from_bytes(data[:length], key, path)
    for longer in (data + b"\0", data + data, data[:200] + b"\n" + data[200:]):
        with pytest.raises(StateError):
            sealed.from_bytes(longer, key, path)
    assert same(sealed.from_bytes(data, key, path), STATE)


def _with_digest(data: bytes) -> bytes:
    import hashlib

    return data + hashlib.sha256(data).digest()


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\n", b"[]\n", b"{}\n", b'{"arrays": [], "numbers": null}\n',
        b'{"fingerprint":"f","public":{},"stream":"s","position":1,"token":"t","previous":"p","dataset":null,"charge":null,'
        b'"numbers":{},"arrays":[["a","|O",[1]]]}\n12345678',
        b'{"fingerprint":"f","public":{},"stream":"s","position":1,"token":"t","previous":"p","dataset":null,"charge":null,'
        b'"numbers":{},"arrays":[["a","<f8",[-1]]]}\n12345678',
        b'{"fingerprint":"f","public":{},"stream":"s","position":1,"token":"t","previous":"p","dataset":null,"charge":null,'
        b'"numbers":{},"arrays":[["a","<f8",[2]]]}\n12345678',
        b'{"fingerprint":"f","public":{},"stream":"s","position":1,"token":"t","previous":"p","dataset":null,"charge":null,'
        b'"numbers":{},"arrays":[]}\n12345678',
        *(b'{"fingerprint":"f","public":%s,"stream":"s","position":1,"token":"t","previous":"p","dataset":null,"charge":null,'
        b'"numbers":{},"arrays":[]}\n' % public for public in (b"5", b"null", b'"ab"', b"[1]", b'{"solvers":5}', b'{"solvers":[["moments"]]}', b'{"event":5}')),
    ],
    ids=["empty", "line", "list", "nothing", "parts", "objects", "negative", "short", "long", "number", "null", "text", "facts", "solver", "solvers", "event"],
)  # fmt: skip
def test_content_with_a_right_checksum_is_not_believed_either(path: Path, body: bytes) -> None:
    data = write(path)
    head = data[: data.index(b"\n", len(sealed.first_line("stream"))) + 1]
    with pytest.raises(StateError, match="not what this library writes"):
        sealed.from_bytes(_with_digest(head + body), None, path)


def test_what_has_no_plain_bytes_is_never_written(path: Path) -> None:
    objects = Snapshot({}, {"a": np.array([object()])})
    with pytest.raises(TypeError, match="no plain bytes"):
        write(path, replace(STATE, snapshot=objects))
    assert not path.exists()


def test_another_format_and_another_kind_of_file_are_named(path: Path) -> None:
    data = write(path)
    for version in ("3", "99"):
        path.write_bytes(_with_digest(data.replace(b'"format":2', f'"format":{version}'.encode())[:-32]))
        with pytest.raises(StateError, match=rf"format {version}.*newer one"):
            read(path)
    for other in (b"", b"PK\3\4", pickle.dumps(STATE.public), data[1:]):
        path.write_bytes(other)
        with pytest.raises(StateError, match="not the state of a stream"):
            read(path)
        assert path.read_bytes() == other


def test_keys_are_told_apart(path: Path, tmp_path: Path) -> None:
    key, other = new_key_file(tmp_path / "a"), new_key_file(tmp_path / "b")
    assert read_key(key) != read_key(other)
    assert len(read_key(key)) == 32
    data = write(path, key_file=key)
    with pytest.raises(StateError, match="no key was given"):
        read(path)
    with pytest.raises(StateError, match="another key"):
        read(path, other)
    path.write_bytes(_with_digest(data[:-40] + bytes([data[-40] ^ 1]) + data[-39:-32]))
    with pytest.raises(StateError, match="changed by somebody without the key"):
        read(path, key)
    moved = data.replace(b'"library":"', b'"library":"9')
    path.write_bytes(_with_digest(moved[:-32]))
    with pytest.raises(StateError, match="changed by somebody without the key"):
        read(path, key)
    path.unlink()
    write(path)
    with pytest.raises(StateError, match="anybody could have written it"):
        read(path, key)


def test_key_files_are_guarded_like_the_state(path: Path, tmp_path: Path) -> None:
    key = new_key_file(tmp_path / "key")
    with pytest.raises(InvalidParameter, match="overwriting a key"):
        new_key_file(key)
    with pytest.raises(StateError, match="does not exist"):
        read(path, tmp_path / "none")
    with pytest.raises(StateError, match="cannot be written"):
        new_key_file(tmp_path / "none" / "key")
    key.chmod(0o644)
    with pytest.raises(StateError, match="chmod 600"):
        read(path, key)
    key.write_bytes(bytes(31))
    key.chmod(0o600)
    with pytest.raises(StateError, match="31 bytes"):
        read(path, key)
    link = tmp_path / "link"
    link.symlink_to(key)
    with pytest.raises(StateError, match="symbolic link"):
        read(path, link)


# ---- one at a time --------------------------------------------------------------------------------------------------


@pytest.fixture
def held(path: Path) -> Iterator[StateFile]:
    file = StateFile(path)
    assert file.open() is None
    file.write(STATE)
    yield file
    file.close()


def _try(path: Path) -> str:
    try:
        return "read" if same(read(path), STATE) else "other"
    except StateError as error:
        return str(error)


def test_two_objects_and_two_processes_cannot_both_go_on(held: StateFile) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for _ in range(2):  # also after the file has been replaced
            assert "in use" in _try(held.path)
            assert "in use" in pool.apply(_try, (held.path,))
            with pytest.raises(StateError, match="in use"):
                held.open()
            held.write(STATE)
    held.close()
    held.close()
    assert _try(held.path) == "read"
    with pytest.raises(StateError, match="not open in this process"):
        held.write(STATE)


def test_of_two_beginnings_one_goes_on(path: Path) -> None:
    one, other = StateFile(path), StateFile(path)
    assert (one.open(), other.open()) == (None, None)
    one.write(STATE)
    with pytest.raises(StateError, match="in use"):
        other.write(replace(STATE, stream="other"))
    other.close()
    one.close()
    assert same(read(path), STATE)
    assert os.listdir(path.parent) == [path.name]


def test_a_forked_child_leaves_the_file_to_its_parent(held: StateFile) -> None:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            try:
                held.write(replace(STATE, position=99))
            except StateError as error:
                code = 0 if "forked child" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert "in use" in _try(held.path)
    held.write(STATE)


def test_a_forgotten_object_unlocks(held: StateFile) -> None:
    path = held.path
    held.close()
    forgotten = StateFile(path)
    forgotten.open()
    del forgotten
    assert _try(path) == "read"


def test_a_file_that_was_taken_away_is_not_written_again(held: StateFile) -> None:
    content = held.path.read_bytes()
    held.path.unlink()
    with pytest.raises(StateError, match="removed or replaced"):
        held.write(STATE)
    held.path.write_bytes(content)
    held.path.chmod(0o600)
    with pytest.raises(StateError, match="removed or replaced"):
        held.write(replace(STATE, position=99))
    assert held.path.read_bytes() == content
    assert os.listdir(held.path.parent) == [held.path.name]


def test_it_is_never_pickled(held: StateFile) -> None:
    with pytest.raises(StateError, match="released model"):
        pickle.dumps(held)


def test_what_a_killed_save_left_is_removed_and_nothing_else(held: StateFile) -> None:
    folder, name = held.path.parent, held.path.name
    left = folder / f".{name}.{'0' * 32}.part"
    others = [folder / f".{name}.backup.{'0' * 32}.part", folder / f".{name}.part", folder / f"{name}.{'0' * 32}.part"]
    for one in (left, *others):
        one.write_bytes(b"private")
    held.close()
    assert _try(held.path) == "read"
    assert not left.exists()
    assert all(one.exists() for one in others)


# ---- a disk that fails ----------------------------------------------------------------------------------------------

CALLS = ("open", "write", "fsync", "replace", "fchmod")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EACCES], ids=["full", "broken", "forbidden"])
@pytest.mark.parametrize("call", CALLS)
def test_a_save_that_fails_says_so_and_can_be_made_again(
    held: StateFile, call: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every system call of a save fails once; afterwards the file holds the old save (or, past the rename, the new one)."""
    later = replace(STATE, position=13)
    failed, place = 0, 0
    while True:
        calls = _fail_at(monkeypatch, call, place, code)
        said = _refusal(lambda: held.write(later))
        monkeypatch.undo()
        failed += bool(said)
        assert not said or (os.strerror(code) in said and "nothing is released" in said)
        found = sealed.from_bytes(held.path.read_bytes(), None, held.path)
        assert same(found, STATE) or same(found, later)
        assert os.listdir(held.path.parent) == [held.path.name]
        held.write(STATE)
        if calls() <= place:
            break
        place += 1
    assert failed == {"open": 1, "write": 1, "fsync": 2, "replace": 1, "fchmod": 1}[call]


@pytest.mark.parametrize("call", ["open", "write", "fsync", "link", "unlink", "listdir"])
def test_a_first_save_that_fails_leaves_nothing_half(path: Path, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    file, place = StateFile(path), 0
    while True:
        assert file.open() is None
        calls = _fail_at(monkeypatch, call, place, errno.ENOSPC)
        said = _refusal(lambda: file.write(STATE))
        monkeypatch.undo()
        file.close()
        assert not path.exists() or same(read(path), STATE), "there is a whole file, or none"
        assert set(os.listdir(path.parent)) <= {path.name}
        path.unlink(missing_ok=True)
        if calls() <= place:
            break
        assert said
        place += 1
    assert place >= 1


def _refusal(act: Callable[[], object]) -> str:
    try:
        act()
    except StateError as error:
        return str(error)
    return ""


def _fail_at(monkeypatch: pytest.MonkeyPatch, name: str, place: int, code: int) -> Callable[[], int]:
    count = 0
    real = getattr(os, name)

    def call(*arguments: object, **keywords: object) -> object:
        nonlocal count
        count += 1
        if count - 1 == place:
            raise OSError(code, os.strerror(code))
        return real(*arguments, **keywords)

    monkeypatch.setattr(os, name, call)
    return lambda: count


def test_short_writes_are_finished(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, bytes(data)[:7]))
    write(path)
    assert same(read(path), STATE)


FULL = """
import resource, sys
from dataclasses import replace
sys.path[:0] = sys.argv[1:2]
from test_state import STATE, StateFile, StateError, same, sealed
file = StateFile(sys.argv[2])
file.open()
file.write(STATE)
size = file.path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    file.write(replace(STATE, position=13))
except StateError as error:
    print(error)
print(same(sealed.from_bytes(file.path.read_bytes(), None, file.path), STATE))
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.getrlimit(resource.RLIMIT_FSIZE)[1],) * 2)
file.write(replace(STATE, position=13))
print(sealed.from_bytes(file.path.read_bytes(), None, file.path).position)
"""


@pytest.mark.slow
def test_a_full_disk_of_the_system_itself(path: Path) -> None:
    words = [sys.executable, "-c", FULL, str(Path(__file__).parent), str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said, kept, after = done.stdout.splitlines()
    assert "cannot be written (File too large)" in said
    assert (kept, after) == ("True", "13")
    assert os.listdir(path.parent) == [path.name]
