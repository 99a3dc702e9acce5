"""Audit of whole streams: what an attacker who knows two streams, and sees every release, really learns about one record.

As in `test_audit.py`: two streams differ in one record, as far apart as the domain allows and at the position that the strategy
encodes with the longest column. Each run draws one of the two by a fair coin; the attacker sees all that ever gets noise (more
than the models: every model of the stream is a function of it) and guesses by the sign of the log-likelihood ratio. A μ-GDP
stream is guessed wrongly at least Φ(−μ/2) of the time. The exact encoded streams are computed here, by other code than the
library's, and the noise must have the declared variance, in all coordinates and along the record that differs. Bugs planted in
the library are caught. Without a bug an alarm has probability below 2e-7 for each audit.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import betaincinv, chdtri, ndtri

import hullabaloo as hb
from hullabaloo.curation.moments_process import MomentsProcess, StreamTask, open_moments
from hullabaloo.noise import TestKey
from hullabaloo.noise.continual import mechanism as room
from hullabaloo.privacy import Neighbours
from hullabaloo.privacy.schedule import Schedule
from tests.audit.faults import Bug, column_norm_forgotten, quieter

KEY = TestKey(bytes(range(32)))
MU, ALARM, T = 3.0, 4e-8, 12
DOMAIN = hb.Domain(features={"x": hb.Numeric(-1, 1, indicator=False)}, target=(-1, 1))
ENCODING = DOMAIN.encoding(fit_intercept=False)


def square_root(steps: int) -> np.ndarray:
    """The Toeplitz matrix of (1 − z)^(−1/2) with normalised columns: Henzinger, Kalinin and Upadhyay (2025)."""
    f = [1.0]
    for k in range(1, steps):
        f.append(f[-1] * (1.0 - 0.5 / k))
    matrix = np.array([[f[t - s] if s <= t else 0.0 for s in range(steps)] for t in range(steps)])
    return matrix / np.linalg.norm(matrix, axis=0)


def tree(steps: int) -> np.ndarray:
    """Row t: ones over the last 2^l steps, l the lowest set bit of t = 1, 2, …"""
    return np.array([[1.0 if t - (t & -t) <= s < t else 0.0 for s in range(steps)] for t in range(1, steps + 1)])


@dataclass(frozen=True)
class Case:
    """A mechanism, its matrix, a relation, and the spacing of releases."""

    mechanism: str
    matrix: Callable[[int], np.ndarray]
    neighbours: Neighbours
    every: int

    def open(self, key: TestKey | None) -> MomentsProcess:
        task = StreamTask(
            "audit", DOMAIN, hb.Budget.gdp(MU), self.neighbours, schedule=Schedule(T, self.every),
            fit_intercept=False, mechanism=self.mechanism, key=key,
        )  # fmt: skip
        return open_moments(task, ENCODING)

    def streams(self) -> list[np.ndarray]:
        """Records (x, y), (T, 2), of both neighbours; an absent record contributes nothing."""
        C = self.matrix(T // self.every)
        step = int(np.argmax(np.sum(C**2, axis=0)))
        plain = np.random.default_rng(2).uniform(-1.0, 1.0, (T, 2))
        one, other = plain.copy(), plain.copy()
        place = step * self.every + self.every // 2
        one[place] = [1.0, 1.0]
        other[place] = [1.0, -1.0] if self.neighbours is Neighbours.REPLACE_ONE else [0.0, 0.0]
        return [one, other]

    def encoded(self, records: np.ndarray) -> np.ndarray:
        """`C v`, v the isometric coordinates of each step's `Σ aaᵀ`, a = (x, y)."""
        x, y = records.T
        each = np.column_stack([x * x, y * y, math.sqrt(2.0) * x * y])
        return self.matrix(T // self.every) @ each.reshape(T // self.every, self.every, 3).sum(axis=1)


CASES = {
    "square root, replaced": Case("square_root", square_root, Neighbours.REPLACE_ONE, 1),
    "square root, absent, every 3": Case("square_root", square_root, Neighbours.ADD_OR_REMOVE, 3),
    "tree, replaced, every 2": Case("tree", tree, Neighbours.REPLACE_ONE, 2),
    "tree, absent": Case("tree", tree, Neighbours.ADD_OR_REMOVE, 1),
}


@dataclass(frozen=True)
class Verdict:
    """A lower bound of μ, the μ that the canary realised, and mean squares of the scaled noise: along the record, and of all."""

    lower: float
    realised: float
    along: float
    square: float
    runs: int
    samples: int

    @property
    def caught(self) -> bool:
        """Whether the stream is not what it says: too much is learned, or the squares are not those of χ²."""
        odd = [
            not chdtri(count, 1.0 - ALARM) <= count * mean <= chdtri(count, ALARM)
            for mean, count in ((self.along, self.runs), (self.square, self.runs * self.samples))
        ]
        return self.lower > MU or any(odd)


def audit(case: Case, monkeypatch: pytest.MonkeyPatch, runs: int, *, key: TestKey | None = KEY) -> Verdict:
    """Release `runs` streams, one of the two each, and judge the transcripts."""
    transcript: list[np.ndarray] = []
    plain = room.gaussian

    def watched(*args: object, **options: object) -> np.ndarray:
        transcript.append(plain(*args, **options))
        return transcript[-1]

    monkeypatch.setattr(room, "gaussian", watched)
    streams = case.streams()
    sums = [case.encoded(records) for records in streams]
    coin, wrong, along, square, realised = np.random.default_rng(5), 0, 0.0, 0.0, 0.0
    for run in range(runs):
        truth = int(coin.integers(2))
        transcript.clear()
        process = case.open(None if key is None else key.derive(run))
        rows = ENCODING.encode(streams[truth][:, :1], streams[truth][:, 1])
        process.take(rows)
        release = process.released()
        assert release is not None
        assert release.statement.event.gdp_mu() <= MU
        noise = release.statement.query_noise[0]["noise_std_of_sum"]
        found = np.vstack([np.atleast_2d(one) for one in transcript])
        assert found.shape == sums[0].shape
        apart = (sums[1] - sums[0]) / noise
        ratio = float(np.sum(apart * (found - 0.5 * (sums[0] + sums[1])))) / noise
        drawn = (found - sums[truth]) / noise
        wrong += (ratio > 0.0) != bool(truth)
        along += float(np.sum(apart * drawn)) ** 2 / float(np.sum(apart**2))
        square += float(np.sum(drawn**2))
        realised = max(realised, float(np.linalg.norm(apart)))
    error = 1.0 if wrong == runs else float(betaincinv(wrong + 1, runs - wrong, 1.0 - ALARM))
    lower, samples = -2.0 * float(ndtri(min(error, 0.5))), sums[0].size
    return Verdict(lower, realised, along / runs, square / (runs * samples), runs, samples)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_learned_beyond_the_statement(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests: 003, Definition 4."""
    found = audit(CASES[name], monkeypatch, 500)
    assert not found.caught, found
    assert 0.999 * MU <= found.realised <= MU  # an audit with a weak canary would be weak, not passed
    assert found.lower >= 0.65 * MU  # and it does see what there is to see


def test_fresh_noise_has_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not audit(CASES["tree, absent"], monkeypatch, 150, key=None).caught


def noise_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    derive = TestKey.derive
    monkeypatch.setattr(TestKey, "derive", lambda key, i: derive(key, i) if key is KEY else key)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bug", "runs"),
    [
        ("square root, replaced", quieter(room, 0.9), 150),
        ("tree, replaced, every 2", column_norm_forgotten, 300),
        ("tree, absent", noise_reused, 300),
    ],
)
def test_planted_bugs_are_caught(name: str, bug: Bug, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    found = audit(CASES[name], monkeypatch, runs)
    assert found.caught, found
