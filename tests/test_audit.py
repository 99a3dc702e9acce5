"""Audit of whole fits: what an attacker who knows both tables, and sees every answer, really learns.

Two tables differ in one record (or one unit) that is as far apart as the domain allows, at every step. Each run draws one of
the two by a fair coin and fits it; the attacker guesses by the sign of the log-likelihood ratio of the whole transcript, a
threshold fixed beforehand. Whatever an attacker does, a μ-GDP fit is guessed wrongly at least Φ(−μ/2) of the time (Dong, Roth,
Su 2022, Def. 2.3), so the Clopper-Pearson upper bound of the error gives a lower bound of μ. The exact sums of both tables are
computed here, by other code than the library's. And the log-likelihood ratio, centred and scaled, must have the variance 1
of the noise that the statement declares: less means less noise, more that noise is shared. Bugs planted in the library are
caught. Without a bug an alarm has probability below 1.2e-7 for each audit, 1e-6 in all.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import betaincinv, chdtri, ndtri

import hullabaloo as hb
from hullabaloo.curator import Curator, GradientQuery, MomentsQuery
from hullabaloo.curator import query as room
from hullabaloo.noise import TestKey
from hullabaloo.planning.named import solver_named
from hullabaloo.privacy.answers import NoisyMoments
from tests.audit.faults import Bug, no_clip, noise_reused, quieter, whole_units

KEY = TestKey(bytes(range(32)))
MU = 3.0
ALARM = 4e-8
PLAIN, ONES = slice(0, 1), slice(0, 2)  # the columns of (x, 1) that are fitted


@dataclass(frozen=True)
class Case:
    """A fit and its worst pair of neighbours: rows (x, y, person), and how many of the first ones count."""

    solver: str
    neighbours: str
    columns: slice
    tables: tuple[list[tuple[float, float, str]], list[tuple[float, float, str]]]
    share: int = 0

    def model(self) -> hb.LinearRegression:
        units = {"unit": "who", "records_per_unit": self.share} if self.share else {}
        domain = hb.Domain(
            features={"x": hb.Numeric(-1, 1, indicator=False)}, target={"y": (-1, 1)}, records=2, **units
        )
        return hb.LinearRegression(
            budget=hb.Budget.gdp(MU), domain=domain, solver=solver_named(self.solver), neighbours=self.neighbours,
            fit_intercept=self.columns is ONES,
        )  # fmt: skip

    def frames(self) -> list[pd.DataFrame]:
        return [pd.DataFrame(table, columns=["x", "y", "who"]) for table in self.tables]

    def sums(self, which: int, contribution: Callable[[np.ndarray, float], np.ndarray]) -> np.ndarray:
        """The exact sum of what the records of a table contribute; those beyond their person's share do not."""
        total = 0.0 * contribution(np.ones(2)[self.columns], 1.0)
        met: list[str] = []
        for x, y, who in self.tables[which]:
            met.append(who)
            if not self.share or met.count(who) <= self.share:
                total += contribution(np.array([x, 1.0])[self.columns], y)
        return total


REPLACED = ([(1.0, 1.0, "a")], [(1.0, -1.0, "a")])
REMOVED = ([(1.0, 1.0, "a"), (0.5, -0.5, "b")], [(0.5, -0.5, "b")])
PERSON = ([*[(1.0, 1.0, "a")] * 3, (-0.5, 0.5, "b")], [(-0.5, 0.5, "b")])
CASES = {
    "moments, replaced": Case("moments", "replace-one", PLAIN, REPLACED),
    "moments, removed": Case("moments", "add-or-remove", ONES, REMOVED),
    "moments, person removed": Case("moments", "add-or-remove", ONES, PERSON, share=2),
    "gradient, replaced": Case("gradient", "replace-one", PLAIN, REPLACED),
    "gradient, removed": Case("gradient", "add-or-remove", ONES, REMOVED),
}


def isometric(a: np.ndarray) -> np.ndarray:
    return np.concatenate([np.diagonal(a), math.sqrt(2.0) * a[np.triu_indices(len(a), 1)]])


def one_record(x: np.ndarray, y: float) -> np.ndarray:
    """`aaᵀ` of a = (x, y)."""
    return isometric(np.outer(np.append(x, y), np.append(x, y)))


def coordinates(answer: NoisyMoments) -> np.ndarray:
    """The noisy sum of `aaᵀ`, a = (x/B, y), as the curator drew it."""
    b = answer.scale_x
    whole = np.block([[answer.gram / b**2, answer.cross / b], [answer.cross.T / b, answer.square]])
    return isometric(whole) * answer.records


@dataclass(frozen=True)
class Verdict:
    """A lower bound of μ, the largest μ that the canary realised, and the mean square of the scaled noise."""

    lower: float
    realised: float
    square: float
    runs: int

    @property
    def caught(self) -> bool:
        """Whether the fit is not what it says: too much is learned, or the squares are not those of χ²."""
        low, high = chdtri(self.runs, [1.0 - ALARM, ALARM]) / self.runs
        return self.lower > MU or not low <= self.square <= high


def audit(case: Case, monkeypatch: pytest.MonkeyPatch, runs: int, *, key: TestKey | None = KEY) -> Verdict:
    """Fit `runs` times, one table or the other, and judge the transcripts."""
    transcript: list[tuple[np.ndarray, Any]] = []
    plain = Curator.answer

    def answer(curator: Curator, name: str, *given: np.ndarray) -> Any:
        transcript.append((given[0].copy() if given else np.zeros(0), plain(curator, name, *given)))
        return transcript[-1][1]

    monkeypatch.setattr(Curator, "answer", answer)
    coin, wrong, total, realised = np.random.default_rng(5), 0, 0.0, 0.0
    model, frames, bound = case.model(), case.frames(), math.sqrt(1.0 + (case.columns is ONES))
    products = [case.sums(i, lambda x, y: one_record(x / bound, y)) for i in (0, 1)]
    for run in range(runs):
        truth = int(coin.integers(2))
        transcript.clear()
        model.test_key = None if key is None else key.derive(run)
        fitted = model.fit(frames[truth])
        quoted = fitted.statement_.query_noise[0]
        assert fitted.statement_.event.gdp_mu() <= MU
        assert len(transcript) == quoted["answers"]
        ratio = square = centred = 0.0
        for theta, answer in transcript:
            if case.solver == "moments":
                found, sums = coordinates(answer), products
            else:
                clip, units = quoted["clip"], np.ones(len(answer))  # the intercept's noise may be smaller, by a weight
                units[-1] = quoted.get("intercept_weight", 1.0)
                found = answer * units * fitted.statement_.records
                sums = [case.sums(i, lambda x, y: np.clip(x @ theta - y, -clip, clip) * x * units) for i in (0, 1)]  # noqa: B023
            noise = quoted["noise_std_of_sum"]
            apart = (sums[1] - sums[0]) / noise
            ratio += float(apart @ (found - 0.5 * (sums[0] + sums[1]))) / noise
            centred += float(apart @ (found - sums[truth])) / noise
            square += float(apart @ apart)
        wrong += (ratio > 0.0) != bool(truth)
        total += centred**2 / square
        realised = max(realised, math.sqrt(square))
    error = 1.0 if wrong == runs else float(betaincinv(wrong + 1, runs - wrong, 1.0 - ALARM))
    return Verdict(-2.0 * float(ndtri(min(error, 0.5))), realised, total / runs, runs)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.few(1)
def test_nothing_is_learned_beyond_the_statement(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests: 000, Definition 1.3; 001, Definition 1; 001, Definition 2; 002, Definition 2.1."""
    found = audit(CASES[name], monkeypatch, 500)
    assert not found.caught, found
    assert 0.999 * MU <= found.realised <= MU  # an audit with a weak canary would be weak, not passed
    assert found.lower >= 0.6 * MU  # and it does see what there is to see


@pytest.mark.slow
@pytest.mark.parametrize("name", ["moments, replaced", "gradient, removed"])
def test_fresh_noise_has_the_same_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not audit(CASES[name], monkeypatch, 400, key=None).caught


def half_the_sensitivity(monkeypatch: pytest.MonkeyPatch) -> None:
    """The factor of replace-one forgotten; the event is computed from it and claims the same μ."""
    for query, factor in ((GradientQuery, 2.0), (MomentsQuery, math.sqrt(2.0))):
        plain = query.record_sensitivity.func
        monkeypatch.setattr(query, "record_sensitivity", property(lambda q, p=plain, f=factor: p(q) / f))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "bug", "runs"),
    [
        pytest.param("moments, replaced", quieter(room, 0.9), 2400, marks=pytest.mark.slow),
        pytest.param("gradient, removed", quieter(room, 0.9), 2400, marks=pytest.mark.slow),
        ("moments, replaced", half_the_sensitivity, 1000),
        pytest.param("gradient, replaced", half_the_sensitivity, 600, marks=pytest.mark.slow),
        ("gradient, replaced", no_clip, 600),
        ("gradient, replaced", noise_reused, 300),
        pytest.param("moments, person removed", whole_units, 1000, marks=pytest.mark.slow),
    ],
)
def test_planted_bugs_are_caught(name: str, bug: Bug, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    found = audit(CASES[name], monkeypatch, runs)
    assert found.caught, found
