"""Where entropy comes from and where it goes: every noise key is one read of the operating system, used whole, once."""

import ast
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from cryptography.hazmat.primitives import ciphers
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import hullabaloo as hb
from hullabaloo.noise.keys import Keystream, ReleaseKey, TestKey, secret_bytes
from tests import kill_points

GDP, DP = hb.Budget.gdp(1.0), hb.Budget(1.0, 1e-6)
DOMAIN = hb.Domain(features={"a": (-1, 1), "b": (-1, 1)}, target=(-1, 1))
X = np.linspace(-1, 1, 120).reshape(60, 2)
Y = np.linspace(-1, 1, 60)


@contextmanager
def spied() -> Iterator[tuple[list[bytes], list[bytes]]]:
    """What the noise room read of the operating system, and the keys that its cipher was given."""
    read, used = [], []
    real, cipher = os.urandom, ciphers.Cipher

    def urandom(size: int) -> bytes:
        drawn = real(size)
        if f"{os.sep}hullabaloo{os.sep}noise{os.sep}" in sys._getframe(1).f_code.co_filename:
            read.append(drawn)
        return drawn

    def keyed(algorithm: Any, mode: Any) -> Any:
        used.append(bytes(algorithm.key))
        return cipher(algorithm, mode)

    with patch.object(os, "urandom", urandom), patch.object(ciphers, "Cipher", keyed):
        yield read, used


def stream() -> None:
    made = hb.streaming.IncrementalRegression(budget=GDP, domain=DOMAIN, horizon=16, every=4)
    made.partial_fit(X[:8], Y[:8])


RELEASES: dict[str, Callable[[], Any]] = {
    "moments": lambda: hb.LinearRegression(budget=GDP, domain=DOMAIN, solver="moments").fit(X, Y),
    "gradient": lambda: hb.LinearRegression(budget=GDP, domain=DOMAIN, solver=hb.GradientSolver()).fit(X, Y),
    "output perturbation": lambda: hb.Ridge(budget=GDP, domain=DOMAIN, solver=hb.OutputPerturbationSolver()).fit(X, Y),
    "greedy selection": lambda: hb.LinearRegression(budget=DP, domain=DOMAIN, solver=hb.GreedySelectionSolver()).fit(
        X, Y
    ),
    "bounds": lambda: hb.private_bounds(X, outer={"x0": (-9, 9), "x1": (-9, 9)}, budget=hb.Budget.gdp(20.0)),
    "stream": stream,
}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", RELEASES)
def test_every_answer_has_a_key_of_its_own_which_is_one_read_and_is_used_whole(name: str) -> None:
    """A key from time and pid reads nothing; one of 8 bytes repeated, or with a plain half, is not what was read."""
    with spied() as (read, used):
        RELEASES[name]()
    read_by_rehearsals = [key for key in used if key not in set(read)]  # of fixed keys, for plans from public facts
    assert len(read) >= 1
    assert {len(one) for one in read} == {32}
    assert len(set(read)) == len(read)
    assert [key for key in used if key in set(read)] == read
    again: list[bytes] = []
    with spied() as (other, more):
        RELEASES[name]()
        again += [key for key in more if key not in set(other)]
    assert not set(read) & set(other)
    assert len(other) == len(read)
    assert set(again) <= set(read_by_rehearsals)  # what is not fresh is the same for every table and release


def test_a_search_reads_once_and_derives_the_rest() -> None:
    search = hb.PrivateSearchCV(
        hb.Ridge(domain=DOMAIN, solver="moments"),
        {"penalty": [hb.SquaredL2Penalty(one) for one in (1e-4, 1e-2)]},
        budget=DP,
        expected_candidates=4,
    )
    with spied() as (read, _):
        search.fit(X, Y)
    assert [len(one) for one in read] == [32]


def test_the_spy_sees_what_it_must() -> None:
    with spied() as (read, used):
        secret_bytes(None)
        Keystream(None)
        Keystream(TestKey(bytes(32)))
        os.urandom(7)
    assert len(read) == 2
    assert used == [read[1], bytes(32)]


def drawn() -> str:
    with spied() as (read, used):
        RELEASES["moments"]()
    assert [key for key in used if key in read] == read
    return b"".join(read).hex()


def test_no_release_thread_process_or_fork_has_the_key_of_another() -> None:
    """Of 256 bits each: two equal ones are a fault, not chance (2e-73 for a thousand)."""
    hexes = [drawn()]
    forked = [kill_points.killed_at(0, drawn) for _ in range(4)]
    assert all(one.returned for one in forked), forked
    hexes += [one.value for one in forked]
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(secret_bytes(None))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = found + [bytes.fromhex(text)[at : at + 32] for text in hexes for at in range(0, len(text) // 2, 32)]
    assert len(set(keys)) == len(keys) >= 8 + len(hexes)


def test_all_256_bits_are_fresh_every_time() -> None:
    """Of 200 keys every bit is 0 and 1 (chance of a false alarm: 256 × 2^-199), and no 8 bytes are repeated, in a key or across (2e-14)."""
    keys = [secret_bytes(None) for _ in range(100)] + [ReleaseKey.fresh().sealed() for _ in range(100)]
    bits = np.unpackbits(np.frombuffer(b"".join(keys), np.uint8).reshape(200, 32), axis=1)
    assert ((bits.sum(axis=0) > 0) & (bits.sum(axis=0) < 200)).all()
    words = np.frombuffer(b"".join(keys), "<u8")
    assert len(set(words.tolist())) == 800


def words_under(key: TestKey | ReleaseKey) -> list[int]:
    stream = iter(Keystream(key))
    return [next(stream) for _ in range(32)]


def test_noise_depends_on_every_bit_of_the_key_and_is_aes_256_in_counter_mode_from_zero() -> None:
    key = bytes(range(32))
    ecb = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    whole = b"".join(ecb.update(count.to_bytes(16, "big")) for count in range(16))
    assert words_under(TestKey(key)) == np.frombuffer(whole, "<u8").tolist()
    seen = set(words_under(TestKey(key)))
    for bit in range(256):
        other = bytearray(key)
        other[bit // 8] ^= 1 << bit % 8
        words = set(words_under(TestKey(bytes(other))))
        assert not words & seen  # not one word stays: no bit is idle, and no counter block meets another key's
        seen |= words


def test_derived_keys_depend_on_every_bit_of_the_first_and_never_meet_each_other() -> None:
    key = bytes(range(32))
    seen: set[bytes] = {key}
    for bit in range(-1, 256):
        other = bytearray(key)
        if bit >= 0:
            other[bit // 8] ^= 1 << bit % 8
        for first in (TestKey(bytes(other)), ReleaseKey.reopened(bytes(other))):
            for word in ("records", "parts", "runs", "columns/2", 0, 1):
                made = first.derive(word)
                secret = made.secret if isinstance(made, TestKey) else made.sealed()
                assert secret not in seen
                seen.add(secret)


def test_a_sealed_file_shows_no_part_of_a_key_and_no_key_meets_a_nonce_twice() -> None:
    """Header, cipher and check of a state file come from disjoint parts of what is derived, which is fresh for each file."""
    from hullabaloo.durable import sealed

    master, real, used = os.urandom(32), sealed.AESGCM, []

    class Spy:
        generate_key = staticmethod(real.generate_key)

        def __init__(self, key: bytes) -> None:
            self.key = key

        def encrypt(self, nonce: bytes, data: bytes, head: bytes) -> bytes:
            used.append((bytes(self.key), bytes(nonce)))
            return real(self.key).encrypt(nonce, data, head)

    state = sealed.State("print", {}, "s", 0, "token", "token")
    with patch.object(sealed, "AESGCM", Spy):
        files = [sealed.to_bytes(state, master) for _ in range(20)]
    assert len({key for key, _ in used}) == len(used) == 20
    for written, (key, _) in zip(files, used, strict=True):
        assert len(key) == 32
        for secret in (master, key):
            for at in range(29):
                piece = secret[at : at + 4]
                assert piece not in written or written.count(piece) < 2, "a piece of a key is in the file"
                assert piece.hex().encode() not in written, "a piece of a key is in the plain header"
    assert not any(key[at : at + 8] in written for written in files for key, _ in used for at in range(25))


def test_every_key_file_is_fresh_and_whole(tmp_path: Path) -> None:
    keys = [hb.streaming.new_key_file(tmp_path / f"{n}.key").read_bytes() for n in range(20)]
    assert {len(key) for key in keys} == {32}
    assert len({key[at : at + 8] for key in keys for at in (0, 8, 16, 24)}) == 80


USES: dict[str, str] = {
    "compiled.py": "checksums of kept kernels, and names of unfinished files: no secret",
    "data/encode.py": "which records of a unit count: no secret",
    "data/engines/cache.py": "a key of 256 fresh bits for AES-256-GCM, held in memory alone (tests/data/engines/test_cache.py)",
    "data/engines/dask.py": "names of questions: no secret",
    "data/engines/spark.py": "names of jobs: no secret",
    "geometry/submodular/custom.py": "which sets of columns a function is tried on: no secret",
    "data/engines/units.py": "which bucket a unit's records are brought to: no secret",
    "release/public_table.py": "a digest of public rows: no secret",
    "data/saving.py": "names of unfinished files: no secret",
    "ledger/chain.py": "salts of rows and a database's id; SHA-256 of rows with their salts",
    "curation/kept.py": "names of saves: no secret",
    "curation/parts.py": "coins and orders of records, under a secret derived for parts",
    "curation/searching.py": "a fingerprint of public configuration",
    "noise/keys.py": "noise keys: 32 bytes read, AES-256 counter mode; BLAKE2b and SHA-256 derive",
    "noise/public.py": "public draws from a named seed: no secret",
    "curation/moments_process.py": "a fingerprint of public configuration",
    "durable/journal.py": "names of saves: no secret",
    "curation/prefixes.py": "a fingerprint of public configuration",
    "durable/sealed.py": "HKDF of key and fresh salt, AES-256-GCM, and a checksum",
    "planning/forecasts.py": "digests of public facts: no secret",
    "release/remembered.py": "digests of public facts: no secret",
    "data/sources/prefix.py": "a key of 32 fresh bytes, HMAC-SHA256 of the bytes of a source",
    "durable/state.py": "a key file: 32 fresh bytes; names of unfinished files: no secret",
}
SOURCES = {"urandom", "secrets", "hashlib", "hmac", "uuid4", "uuid1", "AES", "AESGCM", "HKDF", "ChaCha20", "getrandom"}


def test_nobody_else_draws_hashes_or_encrypts() -> None:
    """A closed table: who is added says here what for, and adds a law above where it is about a secret."""
    source = Path(hb.__file__).parent
    found = set()
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(name in text for name in SOURCES) else ():
            names = {getattr(node, "attr", None), getattr(node, "module", None)}
            if isinstance(node, ast.Import | ast.ImportFrom):
                names |= {alias.name for alias in node.names}
            if names & SOURCES:
                found.add(path.relative_to(source).as_posix())
    assert found == set(USES)


def test_coins_of_parts_depend_on_the_whole_secret() -> None:
    from hullabaloo.curation import parts

    first = parts._order(50, bytes(32)).tolist()
    for byte in range(32):
        assert parts._order(50, bytes(byte) + b"\1" + bytes(31 - byte)).tolist() != first  # 1 in 50! by chance
    assert hashlib.shake_256(b"positions" + bytes(32)).digest(4) != bytes(4)
