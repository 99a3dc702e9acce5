import copy
import pickle

import numpy as np
import pytest

from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import ReleaseKey, TestKey, exponential_mechanism, gaussian, laplace, permute_and_flip
from hullabaloo.noise.keys import CHUNK, Keystream, bound_to, secret_bytes

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
        if stream.position == stream.words.size or rng.random() < 0.1:
            stream.refill(int(rng.integers(1, 100)))
        step = int(rng.integers(0, stream.words.size - stream.position + 1))
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


# Release keys: secret, and from them the same private noise can be drawn again.

SECRET = ReleaseKey.reopened(bytes(range(32)))


def test_a_release_key_is_neither_made_shown_compared_copied_nor_taken_apart():
    with pytest.raises(TypeError, match="no bytes are made into one"):
        ReleaseKey()
    with pytest.raises(TypeError):
        ReleaseKey(bytes(32))
    with pytest.raises(TypeError, match="no subclasses"):
        type("Own", (ReleaseKey,), {})
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled or copied"):
            take(SECRET)
    key = ReleaseKey.fresh()
    for shown in (repr(key), str(key), f"{key}", format(key)):
        assert shown == "ReleaseKey(<secret>)"
    assert key.sealed() != ReleaseKey.fresh().sealed()
    assert ReleaseKey.reopened(key.sealed()) != key
    assert not hasattr(key, "__dict__")
    with pytest.raises(AttributeError):
        key.secret = bytes(32)
    with pytest.raises(ValueError, match="32 bytes"):
        ReleaseKey.reopened(b"short")


def test_no_user_can_pass_a_release_key():
    """What is drawn under bytes that somebody chose must be marked, as under a test key."""
    import hullabaloo as hb

    domain = hb.Domain(features={"a": (0, 1)}, target=(0, 1))
    for made in (
        hb.Ridge(domain=domain, budget=hb.Budget(1.0, 1e-6), test_key=SECRET),
        hb.PrivateSearchCV(hb.Ridge(domain=domain), [{}], budget=hb.Budget(1.0, 1e-6), test_key=SECRET),
    ):
        with pytest.raises(InvalidParameter, match="test_key must be"):
            made.fit([[0.5]] * 10, [0.5] * 10)
    with pytest.raises(TypeError, match="cannot be pickled or copied"):  # scikit-learn copies parameters
        hb.clone(SECRET) if hasattr(hb, "clone") else copy.deepcopy({"test_key": SECRET})


WORDS = [
    (), ("",), ("a",), ("a", "b"), ("ab",), ("a", ""), ("", "a"), (1,), ("1",), (1.0,), (True,), (12,), (1, 2), (None,), ("None",),
    (0.0,), (-0.0,), (float("nan"),), ("\ud800",), ("str 1:a",), (np.zeros(0),), (np.zeros(1),), (np.zeros(2),), (np.zeros((2, 1)),),
    (np.zeros((1, 2)),), (np.zeros((0, 2)),), (-np.zeros(2),), (np.zeros(2, np.float32),), (np.zeros(2, np.int64),), (np.zeros(1), np.zeros(1)),
    (np.zeros(2), "a"), ("a", np.zeros(2)), (np.ones((3, 2)),), (np.ones((2, 3)),),
]  # fmt: skip


def test_other_words_derive_other_keys():
    found = [SECRET.derive(*words).sealed() for words in WORDS]
    assert len(set(found)) == len(found)
    assert found == [SECRET.derive(*words).sealed() for words in WORDS]
    table = np.arange(12.0).reshape(3, 4)
    assert SECRET.derive(table[:, ::2]).sealed() == SECRET.derive(table[:, ::2].copy()).sealed()
    assert SECRET.derive("a").derive("b").sealed() not in {
        SECRET.derive("a", "b").sealed(),
        SECRET.derive("b").sealed(),
    }


@pytest.mark.parametrize("hide", [gaussian, laplace])
def test_the_same_noise_never_meets_two_numbers(hide):
    """Under a test key it does, and their difference is shown without noise; under a release key one bit more, anywhere, is other noise."""
    x = np.linspace(-1.0, 1.0, 50)
    moved = x.copy()
    moved[31] += 0.25
    keyed = TestKey(bytes(32))
    plain = [hide(one, 1.0, bound=10.0, key=keyed) for one in (x, moved)]
    assert np.count_nonzero(plain[0] != plain[1]) == 1
    base = hide(x, 1.0, bound=10.0, key=SECRET)
    assert np.array_equal(base, hide(x, 1.0, bound=10.0, key=SECRET))
    nearest = x.copy()
    nearest[0] = np.nextafter(nearest[0], 0.0)
    others = [hide(one, 1.0, bound=10.0, key=SECRET) for one in (moved, nearest, x.reshape(5, 10)[:, ::-1].ravel())]
    others += [hide(x, scale, bound=10.0, key=SECRET) for scale in (1.0 + 2.0**-52, 1.5)]
    others += [hide(x, 1.0, bound=10.0, key=SECRET.derive("next"))]
    for other in others:
        assert np.count_nonzero(np.abs((other - x) - (base - x)) < 1e-6) <= 2


@pytest.mark.parametrize("choose", [exponential_mechanism, permute_and_flip])
def test_the_same_coins_never_meet_two_contests(choose):
    """The words of the stream themselves: choices are too few to tell by."""
    seen = []

    class Spied(Keystream):
        def __init__(self, key):
            seen.append(secret_bytes(key))
            super().__init__(key)

    scores = np.linspace(0.0, 5.0, 20)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("hullabaloo.noise.selection.Keystream", Spied)
        for changed in (scores, scores, scores + np.eye(20)[3], scores[:-1]):
            choose(changed, 1.0, 1.0, bound=10.0, key=SECRET)
        choose(scores, 1.0, 2.0, bound=10.0, key=SECRET)
        choose(scores, 1.0, 1.0, bound=10.0, key=SECRET, excluded=np.arange(20) == 2)
    assert seen[0] == seen[1]
    assert len(set(seen)) == 5


def test_only_a_release_key_is_bound():
    key = TestKey(bytes(32))
    assert bound_to(key, 1.0) is key
    assert bound_to(None, 1.0) is None
