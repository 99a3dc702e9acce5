import copy
import pickle

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import TestKey, gaussian
from hullabaloo.noise.keys import CHUNK, Keystream, secret_bytes

KEY = TestKey(bytes(range(32)))


def test_a_test_key_is_a_value():
    assert TestKey(bytes(range(32))) == KEY
    assert copy.deepcopy(KEY) == KEY == pickle.loads(pickle.dumps(KEY))
    assert len({KEY, TestKey(bytes(range(32))), TestKey(bytes(32))}) == 2


def test_derived_keys_are_distinct_and_repeatable():
    keys = [
        KEY,
        *(KEY.derive(i) for i in range(100)),
        *(KEY.derive(str(i)) for i in range(100)),
        KEY.derive(0).derive(0),
    ]
    assert len(set(keys)) == len(keys)
    assert KEY.derive("a") == KEY.derive("a")


@pytest.mark.parametrize("secret", [b"short", bytes(33), 7, "x" * 32, bytearray(32), None])
def test_only_32_bytes_make_a_key(secret):
    with pytest.raises(InvalidParameter, match="exactly 32 bytes"):
        TestKey(secret)


@pytest.mark.parametrize("index", [1.0, None, True, b"1"])
def test_only_integers_and_strings_derive(index):
    with pytest.raises(InvalidParameter, match="integer or a string"):
        KEY.derive(index)


@pytest.mark.parametrize("key", [0, 7, np.random.default_rng(0), np.random.RandomState(0), bytes(32), "seed"])
def test_generators_and_seeds_are_refused(key):
    with pytest.raises(InvalidParameter, match="TestKey of 32 bytes"):
        gaussian([0.0], 1.0, bound=1.0, key=key)


def test_without_a_key_every_call_is_fresh():
    assert len({secret_bytes(None) for _ in range(100)}) == 100
    assert len({float(gaussian(0.0, 1.0, bound=1.0)) for _ in range(100)}) == 100


def test_the_stream_is_aes_256_in_counter_mode():
    stream = Keystream(TestKey(bytes(32)))
    stream.refill(16)
    assert stream.words[:2].tobytes().hex() == "dc95c078a2408989ad48a21492842087"  # NIST: AES-256, zero key, zero block


def test_no_word_is_handed_out_twice():
    """Chunks, single words and partial reads, in any mixture, are disjoint pieces of one sequence, in order."""
    whole = Keystream(KEY)
    sequence = []
    for _ in range(4):
        whole.refill(CHUNK)
        sequence += whole.words.tolist()
    place = {word: i for i, word in enumerate(sequence)}
    assert len(place) == len(sequence)
    stream, words, rng, seen = Keystream(KEY), None, np.random.default_rng(5), []
    words = iter(stream)
    for _ in range(3000):
        if stream.unread == 0 or rng.random() < 0.1:
            stream.refill(int(rng.integers(1, 100)))
        step = int(rng.integers(0, stream.unread + 1))
        seen += stream.words[stream.position : stream.position + step].tolist()
        stream.advance(stream.position + step)
        seen += [next(words) for _ in range(rng.integers(0, 3))]
    places = [place[word] for word in seen]
    assert places == sorted(set(places))
    assert len(places) > 30_000


def test_a_stream_never_goes_back():
    stream = Keystream(KEY)
    stream.refill(16)
    stream.advance(3)
    with pytest.raises(AssertionError):
        stream.advance(2)
