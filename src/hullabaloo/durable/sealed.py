"""The bytes of a state file: words, a header, arrays, a checksum; sealed with a key where there is one.

    line 1    what this is, in words: private data
    line 2    JSON: format and library version; sealed or not, and with which salt
    body      line 3, JSON: fingerprint, public facts, stream, position, tokens, charge, numbers, the arrays' names, types and
              shapes, and of a source its place, in a text of one length; then the arrays' bytes in that order. Under a key all
              of it is ciphertext.
    32 bytes  SHA-256 of everything before

**Sealing.** Each file has a fresh 256-bit salt; HKDF-SHA256 of key and salt gives the file's own AES-256-GCM key (so the nonce may
be constant: it is used once) and 16 bytes by which a wrong key is told from a changed file. Lines 1 and 2 are authenticated too.

Reading builds numbers, strings and arrays of plain types, and never runs or unpickles anything.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from hullabaloo._version import __version__
from hullabaloo.errors import StateError, bare, once

FORMAT = 2
"""Version of the layout and of what the arrays mean. Raise it with every change of either."""

READ = (1, FORMAT)
"""Formats that are read. In the first no state says where its source stood."""

HOLDS = {"stream": "exact sums of records", "search": "the secret of its noise, or its end"}
"""What a state file may be of, and what makes it private."""

UNLIKE = (ArithmeticError, LookupError, ValueError, TypeError, AttributeError, RecursionError, SyntaxError)
"""What comes of content that is not what was written."""

SETTINGS, SOLVERS = "settings", "solvers"
"""Public facts of a state that no setting of the user's names: a digest of all settings, which leaves out what they buy, and the solvers that were taken."""

_PLACE = 4096  # characters, of which the place of a source takes some hundred: their number must not say how long records are
_DIGEST = hashlib.sha256().digest_size
_KINDS = "biuf"
_HEADER = {"fingerprint": "str", "public": "dict", "stream": "str", "position": "int"}
_HEADER |= {"token": "str", "previous": "str", "dataset": "str NoneType", "charge": "int NoneType"}
"""What a header holds beside numbers and arrays, and of which types."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Snapshot:
    """The whole state of a process. PRIVATE: it holds exact sums of records; only the state file may hold it.

    Attributes:
        numbers: JSON-ready values (positions, counters); floats survive exactly.
        arrays: named arrays of plain dtypes.
    """

    numbers: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return "Snapshot(<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class State:
    """What a state file holds. PRIVATE through its snapshot; everything else is public.

    Attributes:
        fingerprint, public: of the stream's public configuration, and the facts by which two of them are told apart.
        stream: the stream's name in the ledger.
        position, token, previous: records taken, the name of this save and of the last *confirmed* save before it.
        dataset, charge: in the ledger; None without one, `charge` also before it is made.
        snapshot: of the process; None before its first save.
        source: PRIVATE: position and place to which a source was taken (`Mark`); None where records came otherwise.
        library: the version that wrote the file.
        room: the least number of bytes that the header takes, so that its length tells nothing; not kept.
    """

    fingerprint: str
    public: Mapping[str, Any]
    stream: str
    position: int
    token: str
    previous: str
    dataset: str | None = None
    charge: int | None = None
    snapshot: Snapshot | None = None
    source: Mapping[str, Any] | None = None
    library: str = __version__
    room: int = 0

    def __repr__(self) -> str:
        return f"State(stream={self.stream!r}, position={self.position}, <private>)"


def first_line(kind: str) -> bytes:
    """What such a file is, in words."""
    words = f"Hullabaloo {kind} state - PRIVATE DATA: {HOLDS[kind]}. Guard it like the records themselves; only releases may leave.\n"
    return words.encode()


def to_bytes(state: State, key: bytes | None, kind: str = "stream") -> bytes:
    """Everything that is written."""
    body = _body(state)
    facts: dict[str, Any] = {"format": FORMAT, "library": __version__, "sealed": None}
    if key is None:
        head = first_line(kind) + _line(facts)
    else:
        salt = AESGCM.generate_key(256)
        own, check = _derive(key, salt)
        head = first_line(kind) + _line(facts | {"sealed": {"salt": salt.hex(), "key": check.hex()}})
        body = AESGCM(own).encrypt(bytes(12), body, head)
    return head + body + hashlib.sha256(head + body).digest()


def from_bytes(data: bytes, key: bytes | None, path: Path, kind: str = "stream") -> State:
    """Read what `to_bytes` wrote, or refuse; `path` is for the sentences only."""
    end = data.find(b"\n", data.find(b"\n") + 1) + 1
    if not data.startswith(first_line(kind).partition(b" - ")[0]):
        raise StateError(
            f"{path} is not the state of a {kind}: it does not begin with the words of one. Nothing was read from it or written to "
            f"it. Name a state file, or a file that does not exist to begin a new {kind}."
        )
    facts = _facts(data, end, path)
    if hashlib.sha256(data[:-_DIGEST]).digest() != data[-_DIGEST:]:
        raise damaged(path, "its checksum does not fit its content")
    body = data[end:-_DIGEST]
    if facts["sealed"] is not None or key is not None:
        body = _unseal(body, data[:end], facts["sealed"], key, path)
    try:
        return _state(body, facts)
    except UNLIKE:
        bare(damaged(path, "its checksum is right but its content is not what this library writes"))


def damaged(path: Path, why: str) -> StateError:
    """The sentence for a file that cannot be believed."""
    return StateError(
        f"The state file {path} is damaged ({why}): bytes were changed or are missing, and numbers that may be wrong are not gone on "
        "from. Nothing was released. Repair the disk or use the newest good copy; a copy that is behind the ledger will be refused."
    )


def _body(state: State) -> bytes:
    shot = state.snapshot
    arrays = {} if shot is None else {name: np.asarray(one) for name, one in shot.arrays.items()}
    for name, one in arrays.items():
        if one.dtype.kind not in _KINDS:
            raise TypeError(f"array {name!r} of a snapshot has the type {one.dtype}, which has no plain bytes")
    header = {name: getattr(state, name) for name in _HEADER} | {
        "public": dict(state.public),
        "numbers": None if shot is None else dict(shot.numbers),
        "arrays": [[name, one.dtype.str, one.shape] for name, one in arrays.items()],
    }
    if state.source is not None:
        text = json.dumps(dict(state.source))
        header["source"] = text + " " * (-len(text) % _PLACE)
    return b"".join([_line(header, state.room), *(one.tobytes() for one in arrays.values())])


def _state(body: bytes, facts: Mapping[str, Any]) -> State:
    start = body.index(b"\n") + 1
    header = json.loads(body[:start], object_pairs_hook=once)
    numbers, arrays, position = header.pop("numbers"), {}, header["position"]
    other = any(type(header[name]).__name__ not in kinds.split() for name, kinds in _HEADER.items())
    if other or not 0 <= position == dict(numbers or {}).get("position", position) < 2**63:
        raise ValueError("a header of other types, or another position")
    for name, kind, shape in header.pop("arrays"):
        dtype = np.dtype(kind)
        if name in arrays or dtype.kind not in _KINDS or any(not isinstance(size, int) or size < 0 for size in shape):
            raise ValueError(name)
        count = math.prod(shape)
        arrays[name] = np.frombuffer(body, dtype, count, start).reshape(shape).copy()
        start += count * dtype.itemsize
    if start != len(body):
        raise ValueError("bytes are left over")
    public = dict(header["public"])
    if any(type(one) is not str for one in public.get(SOLVERS, ())) or type(public.get("event", {})) is not dict:
        raise ValueError("solvers without names, or an event without fields")
    if "source" in header:
        header["source"] = _source(json.loads(header["source"], object_pairs_hook=once))
    return State(**header, snapshot=None if numbers is None else Snapshot(numbers, arrays), library=facts["library"])


def _source(found: Any) -> dict[str, Any]:
    if found.keys() != {"position", "place"} or type(found["position"]) is not int or type(found["place"]) is not dict:
        raise ValueError("no place of a source")
    return dict(found)


def _line(value: object, room: int = 0) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode().ljust(room) + b"\n"


def _facts(data: bytes, end: int, path: Path) -> dict[str, Any]:
    """Line 2, which every format has."""
    try:
        facts = json.loads(data[data.index(b"\n") : end], object_pairs_hook=once)
        version, _, _ = facts["format"], facts["library"], facts["sealed"]
    except (ValueError, KeyError, TypeError, RecursionError):
        bare(damaged(path, "its second line cannot be read"))
    if version not in READ:
        raise StateError(
            f"The state file {path} has format {version!r}, written by hullabaloo {facts['library']}, and this version ({__version__}) "
            f"reads the formats up to {FORMAT} only: another layout would be misread. Nothing was read. Go on with the version that wrote it, or a newer one."
        )
    return dict(facts)


def _derive(key: bytes, salt: bytes) -> tuple[bytes, bytes]:
    both = HKDF(SHA256(), 48, salt, b"hullabaloo stream state").derive(key)
    return both[:32], both[32:]


def _unseal(body: bytes, head: bytes, sealed: Any, key: bytes | None, path: Path) -> bytes:
    if key is None:
        raise StateError(
            f"The state file {path} is sealed with a key, and no key was given, so it cannot be read. Pass the key file with which it was begun as key_file."
        )
    if sealed is None:
        raise StateError(
            f"A key file was given, but the state file {path} is not sealed: anybody could have written it. Nothing was read. Leave out "
            "key_file if it was begun without one; otherwise this is another file."
        )
    try:
        own, check = _derive(key, bytes.fromhex(sealed["salt"]))
        expected = bytes.fromhex(sealed["key"])
    except (ValueError, KeyError, TypeError):
        bare(damaged(path, "its second line cannot be read"))
    if check != expected:
        raise StateError(
            f"The state file {path} was sealed with another key than the one given (or its second line was changed), so it cannot be "
            "read. Pass the key file with which it was begun."
        )
    try:
        return AESGCM(own).decrypt(bytes(12), body, head)
    except InvalidTag:
        raise StateError(
            f"The state file {path} was changed by somebody without the key: its content does not pass the authentication of the key "
            "that sealed it. Nothing was released. Use the newest good copy; a copy that is behind the ledger will be refused."
        ) from None
