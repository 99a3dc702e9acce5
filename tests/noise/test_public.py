"""Public numbers: the same for everybody, normal, named by their seed, and no noise."""

import hashlib

import numpy as np
import pytest
from scipy import stats

from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import TestKey, gaussian
from hullabaloo.noise.public import known_noise, public_normals


def test_a_table_is_the_same_on_every_machine() -> None:
    found = hashlib.sha256(public_normals(7, 30, 40).tobytes()).hexdigest()
    assert found == "93bb6b18f593fed921dc3a57631f3c70d95ff49bb1b9c59652371ed3e9009d6e"


def test_a_longer_table_begins_with_the_shorter_one() -> None:
    assert np.array_equal(public_normals(3, 500, 20)[:40], public_normals(3, 40, 20))


def test_seeds_and_names_give_other_tables() -> None:
    tables = [public_normals(0, 200, 50), public_normals(1, 200, 50), public_normals(0, 200, 50, name="split")]
    for i in range(3):
        for j in range(i):
            assert abs(np.corrcoef(tables[i].ravel(), tables[j].ravel())[0, 1]) < 0.05  # 5 deviations, 5e-7


def test_numbers_are_standard_normal() -> None:
    drawn = public_normals(11, 400, 500).ravel()
    assert stats.kstest(drawn, "norm").pvalue > 1e-6
    assert abs(drawn.var() - 1.0) < 5.0 * np.sqrt(2.0 / drawn.size)  # 6e-7


@pytest.mark.parametrize("seed", [-1, 1.5, True, "a", None])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(InvalidParameter, match="whole number from 0"):
        public_normals(seed, 2, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("sigma", [1e-3, 0.7, 3e4])
def test_known_noise_is_that_of_a_release_under_the_same_key(sigma: float) -> None:
    """Bit for bit, whatever hides behind it, up to the bound, where sums are beyond what doubles hold."""
    rng = np.random.default_rng(0)
    for number in range(20):
        key, size = TestKey(bytes([number] * 32)), int(rng.integers(1, 400))
        hidden = rng.uniform(-1.0, 1.0, size) * 10.0 ** rng.uniform(-8.0, 6.0, size)
        pitch, noise = known_noise(size, sigma, 1e6, key)
        said = (np.rint(hidden / pitch) + noise + 0.5) * pitch
        assert np.array_equal(said, gaussian(hidden, sigma, bound=1e6, key=key))
