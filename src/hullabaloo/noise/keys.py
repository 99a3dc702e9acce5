"""Where randomness comes from: a fresh 256-bit key per release, expanded by AES-256 in counter mode.

Nothing random outlives one call, so forked and threaded workers never repeat noise: a generator kept between calls is
copied by `fork`, and every child then draws the same numbers.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NoReturn, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hullabaloo.errors import InvalidParameter

KEY_BYTES = 32
CHUNK = 1 << 15  # words (256 KiB): large enough for AES at full speed, small enough for the second-level cache


@dataclass(frozen=True, slots=True)
class TestKey:
    """A fixed key for tests: the same key gives the same noise, on every machine.

    What is released under it is *not private* (whoever knows the key subtracts the noise): statements say so and
    ledgers refuse it.

    Parameters
    ----------
    secret : bytes
        Exactly 32 bytes, for example ``TestKey(bytes(32))``.

    Raises
    ------
    InvalidParameter
        For anything but 32 bytes.

    Examples
    --------
    >>> TestKey(bytes(32)).derive("first fit") == TestKey(bytes(32)).derive("second fit")
    False
    """

    __test__: ClassVar[bool] = False  # pytest: not a class of tests

    secret: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.secret, bytes) or len(self.secret) != KEY_BYTES:
            found = f"{len(self.secret)} bytes" if isinstance(self.secret, bytes) else type(self.secret).__name__
            raise InvalidParameter(
                f"A test key was asked for, and {found} was given where exactly {KEY_BYTES} bytes are needed. The key"
                " of AES-256 has that length and is not stretched from anything shorter. Write for example"
                " TestKey(bytes(32)), and .derive(1), .derive(2), … for further independent keys."
            )

    def derive(self, index: int | str) -> "TestKey":
        """Give an independent key for each index (SHA-256 of key, kind of index, and index; 1 and "1" differ)."""
        if isinstance(index, bool) or not isinstance(index, int | str):
            raise InvalidParameter(
                f"A test key was asked to derive another by an index of type {type(index).__name__}. Only an integer"
                " or a string names a derived key unambiguously. Pass one of those."
            )
        label = f"hullabaloo test key:{type(index).__name__}:{index}".encode(errors="surrogatepass")
        return TestKey(hashlib.sha256(self.secret + label).digest())


class ReleaseKey:
    """A secret from which private noise can be drawn again: 32 fresh bytes of the operating system, or derived from such.

    Nothing prints, compares, copies or pickles it, and no argument of a user is one: what is released under it is private because
    nobody knows it. A mechanism that is given one binds it to the number that it hides (`bound_to`).

    **Guarantee** (computational). Precondition: the first key came from `fresh` and never leaves memory but for a private file. Claim: keys that were
    derived by different words are uniform and independent of each other, whichever words are asked for and however they depend
    on keys before. Proof: BLAKE2b under a key is a pseudo-random function (RFC 7693; Luykx, Mennink & Neves 2016), and words are
    written so that no two lists of them have the same bytes: each with its kind and its length.
    """

    __slots__ = ("__secret",)
    __secret: bytes

    def __init__(self) -> None:
        """Refused: see `fresh`."""
        raise TypeError("A release key is drawn by ReleaseKey.fresh() or derived from one; no bytes are made into one.")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("A release key has no subclasses: what draws from it relies on how it derives.")

    @classmethod
    def fresh(cls) -> Self:
        """A new one, from the operating system."""
        return cls.reopened(os.urandom(KEY_BYTES))

    @classmethod
    def reopened(cls, sealed: bytes) -> Self:
        """The one whose bytes `sealed` gave to a private file."""
        if len(sealed) != KEY_BYTES:
            raise ValueError("a release key has 32 bytes")
        made: Self = object.__new__(cls)
        made.__secret = sealed
        return made

    def sealed(self) -> bytes:
        """Its bytes; PRIVATE: for a private file that draws the same noise again, and for the cipher."""
        return self.__secret

    def derive(self, *words: Any) -> "ReleaseKey":
        """An independent key for each list of words: texts, whole numbers, floats, None and arrays of numbers."""
        digest = hashlib.blake2b(key=self.__secret, digest_size=KEY_BYTES, person=b"hullabaloo key")
        for word in words:
            if isinstance(word, np.ndarray):
                flat = np.ascontiguousarray(word)
                digest.update(f"array {flat.dtype.str} {flat.shape}:".encode())
                digest.update(flat.reshape(-1).view(np.uint8).data if flat.size else b"")
                continue
            text = (word.hex() if isinstance(word, float) else str(word)).encode(errors="surrogatepass")
            digest.update(f"{type(word).__name__} {len(text)}:".encode() + text)
        return ReleaseKey.reopened(digest.digest())

    def __repr__(self) -> str:
        return "ReleaseKey(<secret>)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A release key cannot be pickled or copied: whoever has it can subtract the noise.")


Key: TypeAlias = TestKey | ReleaseKey


def bound_to(key: Key | None, *hidden: Any) -> Key | None:
    """The key for hiding this number, and at this scale, alone.

    **Guarantee.** Under one `ReleaseKey` the same noise never meets two different numbers: a number that is another in any bit, whatever made
    it so (another table, question, scale or machine), has a key of its own. Test keys are left as they are.
    """
    return key.derive("hides", *hidden) if isinstance(key, ReleaseKey) else key


def secret_bytes(key: Key | None) -> bytes:
    """Give the 32 bytes that drive one release: from the operating system unless a key fixes them."""
    if key is None:
        return os.urandom(KEY_BYTES)
    if isinstance(key, TestKey):
        return key.secret
    if isinstance(key, ReleaseKey):
        return key.sealed()
    raise InvalidParameter(
        f"A release was asked to draw its noise from {type(key).__name__}. Seeds and numpy generators are predictable,"
        " and a forked worker repeats them, so whoever holds two releases can subtract the noise. Leave key=None for"
        " fresh randomness from the operating system; in tests pass a TestKey of 32 bytes."
    )


class Keystream:
    """The words of one release, each handed out once: state that lives exactly as long as one call.

    `words[position:]` are unread. Kernels read from there and say how far they came (`advance`), exact resolution takes
    single words; the position only grows, and a refill continues the AES counter, so no word is ever read twice.
    """

    __slots__ = ("_buffer", "_encryptor", "position", "words")

    def __init__(self, key: Key | None) -> None:
        ciphers, start = _ciphers()
        self._encryptor = ciphers.Cipher(ciphers.algorithms.AES(secret_bytes(key)), start).encryptor()
        self._buffer = bytearray()
        self.words: NDArray[np.uint64] = np.empty(0, np.uint64)
        self.position = 0

    def refill(self, count: int) -> None:
        """Replace what is unread by about `count` fresh words (16 at least, one chunk at most)."""
        count = min(max(count, 16), CHUNK)
        if len(self._buffer) < 8 * count + 16:  # the cipher asks for one block of room beyond the text
            self._buffer = bytearray(8 * count + 16)
        self._encryptor.update_into(memoryview(_ZEROS)[: 8 * count], self._buffer)
        self.words = np.frombuffer(self._buffer, np.dtype("<u8"), count=count)
        self.position = 0

    def advance(self, position: int) -> None:
        """Mark everything before `position` as read."""
        if position < self.position:
            raise AssertionError("a keystream never goes back")
        self.position = position

    def __iter__(self) -> Iterator[int]:
        """Single words, for the few draws that are resolved exactly."""
        while True:
            if self.position == self.words.size:
                self.refill(16)
            self.position += 1
            yield int(self.words[self.position - 1])


@cache
def _ciphers() -> tuple[Any, Any]:
    """The ciphers, loaded when first needed, and a counter that starts at 0."""
    from cryptography.hazmat.primitives import ciphers

    return ciphers, ciphers.modes.CTR(bytes(16))


_ZEROS = bytes(8 * CHUNK)
