"""Attacks on what users get: coefficients in their units, saved models, state files. Each is shown to break ordinary noise first.

A mechanism may be exact and its release leak all the same, when a later step of the arithmetic tells what went into it. The attacker knows
both tables, and all public numbers that the noisy answers are multiplied with: coefficients are led back to the answers, of which the
low bits are swept for a difference (`tests/noise/attacks.py`). The controls are the library's own releases with the noise of NumPy in
place of its own. Keys are fixed; on fresh ones a sound release would be flagged with probability 1e-7 by each sweep.
"""

import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo.curation.scoring import answer
from hullabaloo.curator import Curator
from hullabaloo.curator import query as room
from hullabaloo.durable.sealed import from_bytes
from hullabaloo.noise import TestKey
from hullabaloo.privacy import gdp_epsilon
from hullabaloo.release.planned import PlannedFit, prepare
from tests.noise import attacks

KEY = TestKey(bytes(range(32)))
WIDE = 64
LEADING = [0, 1, 2, 3]
Array = np.ndarray


def numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise of NumPy, of the right size, on the exact answers."""
    rng = np.random.default_rng(3)
    monkeypatch.setattr(room, "gaussian", lambda x, sigma, **_: x + sigma * rng.standard_normal(np.shape(x)))


def prepared(width: int, mu: float, **model: Any) -> tuple[PlannedFit, list[Any]]:
    """A fit of one record, that is nothing in one table and everything in the other, planned once."""
    domain = hb.Domain(features={f"x{i}": hb.Numeric(-4, 4, indicator=False) for i in range(width)}, target=(-2, 2))
    made = hb.LinearRegression(budget=hb.Budget.gdp(mu), domain=domain, fit_intercept=False, **model)
    tables = [(np.full((1, width), 4.0 * far), np.full(1, 2.0 * far)) for far in (0.0, 1.0)]
    encoding = domain.encoding_for(domain.open(tables[0][0]), tables[0][1], fit_intercept=False)
    rows = [encoding.encode(domain.open(X), y) for X, y in tables]
    return prepare(made._task(encoding), encoding, 1), rows


def coefficients(width: int, mu: float, fits: int, **model: Any) -> tuple[PlannedFit, list[Array]]:
    """Coefficients of many fits, in the user's units, of either table."""
    plan, tables = prepared(width, mu, **model)
    matrix, found = plan.encoding.user_matrix(0)[:width, :width], []
    for which, rows in enumerate(tables):
        keyed = (replace(plan, task=replace(plan.task, key=KEY.derive(f"{which}/{i}"))) for i in range(fits))
        found.append(np.concatenate([matrix @ answer(one, rows).theta[:, 0] for one in keyed]))
    return plan, found


def stepped() -> list[Array]:
    """Noisy gradients, led back from the coefficients of mirror descent in one step: `θ = −γ g`."""
    plan, found = coefficients(WIDE, 2.144, 400, solver="mirror_descent", constraint=hb.L2Ball(1024.0))
    assert plan.plan.settings["steps"] == 1
    return [coarsest(one, plan.plan.settings["sizes"][0], 0.5) for one in found]


def minimised() -> list[Array]:
    """Coefficients of output perturbation, as they are."""
    return coefficients(WIDE, 2.144, 400, solver="output_perturbation")[1]


def saved_moments() -> list[Array]:
    """Noisy sums of squares, read back from the JSON that a saved model keeps for later fits."""
    plan, tables = prepared(1, 0.25, solver="moments")
    found = []
    for which, rows in enumerate(tables):
        answers = (
            Curator(rows, plan.plan.queries, key=KEY.derive(f"{which}/{i}")).answer("moments") for i in range(5000)
        )
        found.append(np.array([json.loads(json.dumps(one.to_dict()))["gram"][0][0] for one in answers]))
    return found


def coarsest(coefficient: Array, size: float, scale: float) -> Array:
    """The answer with the fewest bits among those that public arithmetic turns into the coefficient."""
    target = -coefficient / scale
    found, fewest = np.zeros(target.shape), np.full(target.shape, -np.inf)
    near = target / size
    for _ in range(3):
        near = np.nextafter(near, -np.inf)
    for _ in range(7):
        mantissa, exponent = np.frexp(near)
        digits = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
        lowest = np.log2((digits & -digits).astype(float)) + exponent
        better = (size * near == target) & (lowest > fewest)
        found[better], fewest[better] = near[better], lowest[better]
        near = np.nextafter(near, np.inf)
    assert np.all(np.isfinite(fewest)), "the attacker's arithmetic is not the library's"
    return found


@pytest.mark.slow
@pytest.mark.parametrize("release", [stepped, minimised, saved_moments])
def test_low_bits_of_a_release_tell_nothing(
    release: Callable[[], list[Array]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = release()
    with monkeypatch.context() as patch:
        numpys(patch)
        theirs = release()
    honest = gdp_epsilon(abs(float(theirs[1].mean() - theirs[0].mean())) / float(theirs[0].std()), attacks.DELTA)
    control = max(attacks.sweep(*theirs, leading) for leading in LEADING)
    assert control > 2.0 * honest, (control, honest)  # it works where noise is ordinary
    assert max(attacks.sweep(*ours, leading) for leading in LEADING) <= honest


def test_released_coefficients_are_the_same_set_whatever_the_table() -> None:
    """The reason: led back, they are odd multiples of half a public pitch, from either table."""
    ours = stepped()
    bits = [float(np.min(np.abs(one[one != 0.0]))) for one in ours]
    pitch = 2.0 ** np.floor(np.log2(min(bits)))
    while not all(np.array_equal(one / pitch, np.rint(one / pitch)) for one in ours):
        pitch /= 2.0
    assert pitch > 2.0**-45  # far coarser than the doubles between the values, so no value has bits of its own
    assert all(np.all(np.rint(one / pitch) % 2.0 == 1.0) for one in ours)


def stream_state(tmp_path: Path, name: str, value: float, key_file: Path | None) -> bytes:
    domain = hb.Domain(features={"x": hb.Numeric(-1, 1, indicator=False)}, target=(-1, 1))
    path = tmp_path / name
    stream = hb.streaming.IncrementalRegression(
        budget=hb.Budget.gdp(1.0), domain=domain, horizon=64, every=8, state=path, key_file=key_file, test_key=KEY,
        fit_intercept=False,
    )  # fmt: skip
    with stream:
        stream.partial_fit(np.full((20, 1), value), np.full(20, value))
    return path.read_bytes()


def test_a_sealed_state_shows_nothing_of_the_records(tmp_path: Path) -> None:
    """Neighbouring streams' files have the same length and public head; the body is noise to whoever lacks the key."""
    key_file = tmp_path / "key"
    key_file.write_bytes(bytes(range(32)))
    key_file.chmod(0o600)
    values = (0.75, -0.5)
    plain = [stream_state(tmp_path, f"plain {v}", v, None) for v in values]
    sealed = [stream_state(tmp_path, f"sealed {v}", v, key_file) for v in values]
    again = stream_state(tmp_path, "again", values[0], key_file)
    exact = [from_bytes(one, None, tmp_path).snapshot.arrays["mechanism/encoder/kept"][0, 2].tobytes() for one in plain]
    control = [[secret in one for secret in exact] for one in plain]
    assert control == [[True, False], [False, True]]  # without a key the file is private data, as its first line says
    assert not any(secret in one for one in sealed for secret in exact)
    assert len({len(one) for one in (*sealed, again)}) == 1
    bodies = [one.split(b"\n", 2)[2] for one in (*sealed, again)]
    assert len(zlib.compress(bodies[0], 9)) > len(bodies[0])  # nothing to compress
    alike = np.mean([np.frombuffer(bodies[0], np.uint8) == np.frombuffer(other, np.uint8) for other in bodies[1:]])
    assert alike < 0.05  # 1/256 by chance: no keystream is used twice, not even for the same records
