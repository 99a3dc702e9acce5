"""Forked children must not repeat noise: three children, three releases; streams that live longer do repeat."""

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hullabaloo.noise import TestKey, exponential_mechanism, gaussian, laplace, permute_and_flip
from hullabaloo.noise.keys import Keystream

X = np.zeros(8)
SCORES = np.zeros(200_000)


def distinct_in_children(draw: Callable[[], object], children: int = 3) -> int:
    seen = set()
    for _ in range(children):
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer Pythons warn when any library's thread is alive
            child = os.fork()
        if child == 0:
            try:
                os.write(write, np.asarray(draw()).tobytes())
            finally:
                os._exit(0)
        os.close(write)
        seen.add(os.read(read, 4096))
        os.close(read)
        os.waitpid(child, 0)
    assert b"" not in seen, "a child died"
    return len(seen)


@pytest.mark.parametrize(
    "release",
    [
        lambda: gaussian(X, 1.0, bound=1.0),
        lambda: laplace(X, 1.0, bound=1.0),
        lambda: [exponential_mechanism(SCORES, 1.0, 1.0, bound=1.0) for _ in range(8)],
        lambda: [permute_and_flip(SCORES, 1.0, 1.0, bound=1.0) for _ in range(8)],
    ],
    ids=["gaussian", "laplace", "exponential", "permute"],
)
def test_three_children_make_three_different_releases(release):
    """False alarm below 2^-100."""
    release()  # whatever a first call keeps is there to be copied
    assert distinct_in_children(release) == 3


def test_control_streams_that_outlive_a_call_repeat():
    generator = np.random.default_rng()
    assert distinct_in_children(lambda: generator.normal(size=8)) == 1
    stream = Keystream(None)
    stream.refill(64)
    assert distinct_in_children(lambda: stream.words[:8]) == 1


def test_threads_share_nothing():
    keys = [TestKey(bytes(32)).derive(i) for i in range(16)]
    x = np.zeros(100_000)
    alone = [gaussian(x, 1.0, bound=1.0, key=key) for key in keys]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda key: gaussian(x, 1.0, bound=1.0, key=key), keys))
        fresh = list(pool.map(lambda _: gaussian(X, 1.0, bound=1.0).tobytes(), range(64)))
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))
    assert len(set(fresh)) == 64
