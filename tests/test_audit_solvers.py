"""Audit of whole fits by the other solvers, as in test_audit.py: an attacker who knows both tables and sees every answer.

*Gaussian answers* (gradients, steps, means, histograms, minimisers): the same audit, on canaries that realise nearly all of μ where
the loss allows it. *Choices*: the attacker's error is at least (1 − δ(0))/2, δ(0) the total variation that the event admits; and the
share of choices that fall on the likelier candidate is compared with the probability that the statement implies.
*Objective perturbation*: the drawn b, recovered from the released coefficient, must have the stated variance; and the exact laws of the
two tables' coefficients, at that variance, must keep the event's profile at every ε, which they come close to.
Exact sums, minimisers and laws are computed here, by other code than the library's. Without a bug an alarm has probability at most
5e-8 for each audit, 5e-7 in all.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.special import betaincinv, chdtri, expit, ndtr, ndtri

import hullabaloo as hb
from hullabaloo.curator import Curator, GradientQuery, coordinate_gradient
from hullabaloo.curator import query as room
from hullabaloo.curator.centred_gradient import CentredGradientQuery
from hullabaloo.curator.coordinate_gradient import CoordinateGradientQuery, Predictions
from hullabaloo.curator.shortened_moments import CovarianceQuery
from hullabaloo.erm import objective_perturbation as perturbed_minimizer
from hullabaloo.erm.minimisation import Family
from hullabaloo.erm.repeated import WarmStarted
from hullabaloo.planning.named import solver_named
from hullabaloo.privacy import delta_of
from hullabaloo.selection import choice
from hullabaloo.solvers import GreedyCoordinateDescentSolver, GreedySelectionSolver, PreconditionedGradientSolver
from tests.audit.faults import Bug, halved, noise_reused, one_draw, quieter
from tests.test_audit import KEY, MU, ONES, PLAIN, REMOVED, REPLACED

pytestmark = pytest.mark.slow  # hundreds of fits each; `audit/` looks at every solver in the fast tests
ALARM = 1e-8
WATCHED = (
    "gradient", "means", "norm_histogram", "centred_gradient", "covariance", "second_moments", "select", "output_perturbation", "vertex", "objective_perturbation",
)  # fmt: skip
VIEWS = ("centred", "projected", "restricted")
View = Callable[[np.ndarray], np.ndarray]
Records = list[tuple[float, float, str]]
Asked = tuple[str, tuple[Any, ...], dict[str, Any], Any]

GDP = hb.Budget.gdp(MU)


@dataclass(frozen=True)
class Fit:
    """A fit, its worst pair of neighbours, and the part of what may be learned that these realise at least."""

    solver: Any
    neighbours: str
    columns: slice
    tables: tuple[Records, Records]
    realised: float
    classes: bool = False
    constraint: Any = None
    penalty: Any = None
    budget: Any = GDP
    runs: int = 400

    def model(self) -> Any:
        names = {"classes": {"y": ["no", "yes"]}} if self.classes else {"target": {"y": (-1, 1)}}
        domain = hb.Domain(features={"x": hb.Numeric(-1, 1, indicator=False)}, records=2, **names)
        made = hb.LogisticRegression if self.classes else hb.LinearRegression
        return made(
            budget=self.budget, domain=domain, solver=solver_named(self.solver), neighbours=self.neighbours,
            constraint=self.constraint, penalty=self.penalty, fit_intercept=self.columns is ONES,
        )  # fmt: skip

    def frames(self) -> list[pd.DataFrame]:
        tables = [pd.DataFrame(table, columns=["x", "y", "who"]).drop(columns="who") for table in self.tables]
        return [t.assign(y=np.where(t["y"] > 0.0, "yes", "no")) if self.classes else t for t in tables]

    def records(self, which: int) -> list[tuple[np.ndarray, float]]:
        return [(np.array([x, 1.0])[self.columns], y) for x, y, _ in self.tables[which]]

    def slope(self, z: float, y: float) -> float:
        return -y * float(expit(-y * z)) if self.classes else z - y

    @property
    def kink(self) -> float:
        """Of Ω, which is |θ| for one coefficient, as part of what is minimised."""
        return self.penalty.strength if isinstance(self.penalty, hb.SubmodularPenalty) else 0.0

    @property
    def radius(self) -> float:
        return self.constraint.radius if isinstance(self.constraint, hb.SubmodularBall) else math.inf


BOTH = hb.Budget(6.0, 0.01)  # choices, which have no μ, take their part; among one column they tell nothing
LONE: tuple[Records, Records] = ([(1.0, 1.0, "a")], [])
LARGEST = hb.BoundedCardinality(1)
GAUSSIAN = {
    "gradient, classes": Fit("gradient", "replace-one", PLAIN, REPLACED, 0.68, classes=True),
    "mirror descent": Fit("mirror_descent", "replace-one", PLAIN, REPLACED, 0.999, constraint=hb.L2Ball(0.5)),
    "output perturbation": Fit("output_perturbation", "replace-one", PLAIN, REPLACED, 0.99),
    "output perturbation, removed": Fit("output_perturbation", "add-or-remove", PLAIN, LONE, 0.99),
    "output perturbation, structured": Fit(
        "output_perturbation",
        "replace-one",
        PLAIN,
        REPLACED,
        0.9,
        penalty=hb.SubmodularPenalty(LARGEST, 0.02),
        runs=200,
    ),
    "output perturbation, structured set": Fit(
        "output_perturbation", "add-or-remove", PLAIN, LONE, 0.85, constraint=hb.SubmodularBall(LARGEST, 0.28), runs=200
    ),
    "dual Frank–Wolfe": Fit(
        hb.DualFrankWolfeSolver(steps=4, ridge=3.0), "replace-one", PLAIN, REPLACED, 0.99, penalty=hb.L1Penalty(0.5)
    ),
    "dual Frank–Wolfe, removed": Fit(
        hb.DualFrankWolfeSolver(steps=9, ridge=3.0),
        "add-or-remove",
        PLAIN,
        LONE,
        0.99,
        penalty=hb.L1Penalty(0.5),
        runs=200,
    ),
    "adaptive gradient": Fit("adaptive_gradient", "replace-one", ONES, REPLACED, 0.94),
    "adaptive gradient, removed": Fit("adaptive_gradient", "add-or-remove", ONES, REMOVED, 0.999),
    "coordinate descent": Fit(hb.CoordinateDescentSolver(rounds=2), "replace-one", PLAIN, REPLACED, 0.97),
    "coordinate descent, classes": Fit(hb.CoordinateDescentSolver(), "replace-one", ONES, REPLACED, 0.6, classes=True),
    "coordinate descent, removed": Fit(hb.CoordinateDescentSolver(), "add-or-remove", ONES, REMOVED, 0.999),
    "preconditioned gradient": Fit(PreconditionedGradientSolver(), "add-or-remove", ONES, REMOVED, 0.999, runs=200),
    "greedy coordinate descent": Fit(
        GreedyCoordinateDescentSolver(), "add-or-remove", ONES, REMOVED, 0.35, budget=BOTH, runs=200
    ),
    "subspace descent": Fit("subspace_descent", "add-or-remove", ONES, REMOVED, 0.9, runs=200),
    "greedy selection": Fit(GreedySelectionSolver(), "add-or-remove", ONES, REMOVED, 0.35, budget=BOTH, runs=200),
}
CHOICES = Fit(
    hb.FrankWolfeSolver(steps=8),
    "replace-one",
    PLAIN,
    REPLACED,
    0.5,
    constraint=hb.L1Ball(0.25),
    budget=hb.Budget(6.0, 0.01),
)
PERTURBED = {
    "replaced": Fit("objective_perturbation", "replace-one", PLAIN, REPLACED, 0.2, budget=hb.Budget(2.0, 0.02)),
    "removed": Fit("objective_perturbation", "add-or-remove", PLAIN, LONE, 0.4, budget=hb.Budget(2.0, 0.02)),
    "replaced, structured": Fit(
        "objective_perturbation",
        "replace-one",
        PLAIN,
        REPLACED,
        0.1,
        penalty=hb.SubmodularPenalty(LARGEST, 0.2),
        budget=hb.Budget(2.0, 0.02),
    ),
    "removed, structured set": Fit(
        "objective_perturbation",
        "add-or-remove",
        PLAIN,
        LONE,
        0.1,
        constraint=hb.SubmodularBall(LARGEST, 0.5),
        budget=hb.Budget(2.0, 0.02),
    ),
}


def fits(case: Fit, monkeypatch: pytest.MonkeyPatch, runs: int) -> Any:
    """(truth, fitted model, transcript) of every run."""
    transcript: list[Asked] = []

    seen: dict[int, tuple[Curator, View]] = {}

    plain_answer = Curator.answer

    def ask(curator: Curator, name: str, *given: Any, **named: Any) -> Any:
        found = plain_answer(curator, name, *given, **named)
        view = seen.get(id(curator), (curator, np.array))[1]
        if name == "coordinate_gradient":
            descended(found, view, *given, **named)
        elif name in WATCHED:
            copied = tuple(one.copy() if isinstance(one, np.ndarray) else one for one in given)
            transcript.append((name, copied, {**named, "view": view}, found))
        return found

    def viewed(name: str) -> Callable[..., Any]:
        """Remembers how a part of the curator sees a record."""
        plain = getattr(Curator, name)

        def look(curator: Curator, matrix: Any) -> Curator:
            found: Curator = plain(curator, matrix)
            public, ones = np.array(matrix), case.columns is ONES
            made: dict[str, View] = {
                "centred": lambda x: x - public,
                "projected": lambda x: x @ public,
                "restricted": lambda x: np.append(x[public], x[-1:]) if ones else x[public],
            }
            seen[id(found)] = found, made[name]
            return found

        return look

    def descended(found: Any, view: View, theta: np.ndarray, **named: Any) -> None:
        """Each update is an answer, at the point to which the answers before it have led."""
        point = theta.copy()
        for j, slope in zip(named["order"], found.partials, strict=True):
            about = {"clip": named["clips"][j], "view": view}
            transcript.append(("coordinate_gradient", (point.copy(), j), about, np.array([slope])))
            step = float(named["steps"][j])
            point[j] = named["form"].prox_at(j, point[j] - step * slope, step)
        assert found.theta == pytest.approx(point, rel=1e-9, abs=1e-12)

    with monkeypatch.context() as patch:
        patch.setattr(Curator, "answer", ask)
        for name in VIEWS:
            patch.setattr(Curator, name, viewed(name))
        coin, model, frames = np.random.default_rng(5), case.model(), case.frames()
        for run in range(runs):
            truth = int(coin.integers(2))
            transcript.clear()
            seen.clear()
            model.test_key = KEY.derive(run)
            fitted = model.fit(frames[truth])
            assert case.budget.admits(fitted.statement_.event)
            yield truth, fitted, transcript


def quotes_of(fitted: Any, transcript: list[Asked]) -> list[dict[str, Any]]:
    """The quote of each answer; those of one name are used up one after the other, and to the last."""
    left = {query["name"]: [] for query in fitted.statement_.query_noise}
    for query in fitted.statement_.query_noise:
        left[query["name"]] += [query] * query["answers"]
    found = [left[asked[0]].pop(0) for asked in transcript]
    assert not any(left.values())
    return found


def exact(case: Fit, which: int, asked: Asked, quoted: dict[str, Any]) -> np.ndarray:
    """The exact sum (or minimiser) that a question asks for, by the formula of its query."""
    name, given, named, answer = asked
    total, norm = np.zeros(answer.shape), math.sqrt(2.0) if case.columns is ONES else 1.0
    if name == "output_perturbation":
        return np.full(1, least(case, which, quoted, float(given[0][0]) if given else 0.0))
    for record, y in case.records(which):
        x = named["view"](record)
        if name == "means":
            total += x / norm
            continue
        if name == "second_moments":
            total += x**2
            continue
        if name == "covariance":
            t = x[: answer.shape[0]] - named["centre"]
            t /= max(named["clip_norm"], float(np.linalg.norm(t)))
            total += np.outer(t, t)
            continue
        theta = given[0]
        slope = 1.0 if theta is None else case.slope(float(x @ theta), y)
        if name == "gradient":
            total += np.clip(slope, -quoted["clip"], quoted["clip"]) * x
            continue
        if name == "coordinate_gradient":
            total += np.clip(slope * x[given[1]] / named["clip"], -1.0, 1.0)
            continue
        u = (x - named["centre"]) * scale_of(case, named)
        length = float(np.linalg.norm(u))
        if name == "norm_histogram":
            total[int(np.searchsorted(named["edges"], abs(slope) * length, side="right"))] += 1.0
        else:
            total += u * np.clip(slope / named["clip_norm"], -1.0 / length, 1.0 / length)
    return total.ravel()


def scale_of(case: Fit, named: dict[str, Any]) -> np.ndarray:
    return np.array([1.0, named["intercept_weight"]])[case.columns]


def least(case: Fit, which: int, quoted: dict[str, Any], linear: float) -> float:
    """The minimiser of one coefficient, for the mean over the declared number of records and a linear term."""
    n, clip = quoted["records"], quoted["clip"]

    def rise(t: float) -> float:
        data = sum(np.clip(case.slope(float(x[0] * t), y), -clip, clip) * x[0] for x, y in case.records(which))
        return float(data / n + quoted["ridge"] * t + linear)

    pull = rise(0.0)
    if abs(pull) <= case.kink:
        return 0.0
    found = float(brentq(lambda t: rise(t) - math.copysign(case.kink, pull), -1e3, 1e3, xtol=1e-14))
    return min(max(found, -case.radius), case.radius)


def noisy(case: Fit, asked: Asked, quoted: dict[str, Any]) -> np.ndarray:
    """The answer before it was turned into a mean."""
    name, _, named, answer = asked
    n = quoted["records"]
    if name == "output_perturbation":
        return np.asarray(answer)
    if name == "means":
        return np.asarray(answer * n / (math.sqrt(2.0) if case.columns is ONES else 1.0))
    if name == "centred_gradient":
        return np.asarray(answer * scale_of(case, named) * n / named["clip_norm"])
    if name == "covariance":  # of one column
        return np.asarray(answer * n / named["clip_norm"] ** 2).ravel()
    return np.asarray(answer * n / named["clip"] if name == "coordinate_gradient" else answer * n)


@dataclass(frozen=True)
class Verdict:
    """What an audit of Gaussian answers found.

    Attributes:
        error: the attacker's share of wrong guesses is at most this.
        realised: the largest μ that the canary realised.
        scale: mean square of the noise along the difference of the tables, over what is stated, one number for each answer.
        shared: the same of the sum over a run's answers: above 1 where they share noise.
        runs: how many fits.
        answers: how many answers of a fit.
    """

    error: float
    realised: float
    scale: float
    shared: float
    runs: int
    answers: int

    @property
    def lower(self) -> float:
        return -2.0 * float(ndtri(min(self.error, 0.5)))

    @property
    def caught(self) -> bool:
        too_much = max(self.lower, self.realised) > MU * (1.0 + 1e-9)
        return too_much or unlike(self.scale, self.runs * self.answers) or unlike(self.shared, self.runs)


def unlike(square: float, freedom: int) -> bool:
    """Whether a mean of squares is not that of so many standard normal numbers."""
    low, high = chdtri(freedom, [1.0 - ALARM, ALARM]) / freedom
    return not low <= square <= high


def most(wrong: int, runs: int) -> float:
    return 1.0 if wrong == runs else float(betaincinv(wrong + 1, runs - wrong, 1.0 - ALARM))


def audit(case: Fit, monkeypatch: pytest.MonkeyPatch, runs: int) -> Verdict:
    wrong, scale, shared, realised, answers = 0, 0.0, 0.0, 0.0, 0
    for truth, fitted, transcript in fits(case, monkeypatch, runs):
        ratio = square = total = 0.0
        for asked, quoted in zip(transcript, quotes_of(fitted, transcript), strict=True):
            if asked[0] == "select":  # among one column there is no choice
                continue
            sums = [exact(case, i, asked, quoted) for i in (0, 1)]
            noise = quoted.get("noise_std_of_sum", quoted.get("noise_std"))
            apart, found = (sums[1] - sums[0]) / noise, noisy(case, asked, quoted)
            ratio += float(apart @ (found - 0.5 * (sums[0] + sums[1]))) / noise
            length = float(np.linalg.norm(apart))
            along = apart / length if length > 0.0 else np.eye(len(apart))[0]
            drawn = float(along @ (found - sums[truth])) / noise  # standard normal, whatever came before
            total, scale, square = total + drawn, scale + drawn**2, square + length**2
        answers = sum(asked[0] != "select" for asked in transcript)
        wrong += (ratio > 0.0) != bool(truth)
        shared += total**2 / answers
        realised = max(realised, math.sqrt(square))
    return Verdict(most(wrong, runs), realised, scale / runs / answers, shared / runs, runs, answers)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_gaussian_answers_teach_no_more_than_is_stated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = audit(GAUSSIAN[name], monkeypatch, GAUSSIAN[name].runs)
    assert not found.caught, found
    assert GAUSSIAN[name].realised * MU <= found.realised <= MU, found
    if GAUSSIAN[name].realised >= 0.6:
        assert found.lower >= 0.35 * GAUSSIAN[name].realised * MU, found  # and the attacker does see it


@dataclass(frozen=True)
class Chosen:
    """The attacker's error at most, against that which the event allows at least; and how far choices are from their law."""

    error: float
    allowed: float
    likely: float
    deviation: float

    @property
    def caught(self) -> bool:
        return self.error < self.allowed or abs(self.deviation) > -float(ndtri(ALARM))


def audit_choices(case: Fit, monkeypatch: pytest.MonkeyPatch, runs: int) -> Chosen:
    """`deviation`: choices of the likelier vertex, less their expected number, in standard deviations."""
    wrong, more, variance, allowed, errors = 0, 0.0, 0.0, 0.0, 0.0
    radius = case.constraint.radius
    for truth, fitted, transcript in fits(case, monkeypatch, runs):
        quoted = quotes_of(fitted, transcript)[0]
        rate = quoted["event"]["epsilon"] / (2.0 * quoted["score_sensitivity_of_sum"])
        ratio = 0.0
        for _, given, _, chosen in transcript:
            s = radius * (1.0 if chosen == 0 else -1.0)
            assert case.constraint.vertex_at(chosen, 1)[0] == s
            logs = []
            for which in (0, 1):
                g = 0.0
                for x, y in case.records(which):
                    g += float(np.clip(case.slope(float(x @ given[0]), y), -quoted["clip"], quoted["clip"]) * x[0])
                logs.append(-math.log1p(math.exp(2.0 * rate * s * g)))  # of exp(−rate s g) among s and −s
            ratio += logs[1] - logs[0]
            p = math.exp(logs[truth])
            more += (1.0 - p) * (1.0 if p > 0.5 else -1.0)
            variance += p * (1.0 - p)
        wrong += (ratio > 0.0) != bool(truth)
        errors += float(expit(-abs(ratio)))
        allowed = 0.5 * (1.0 - delta_of(fitted.statement_.event, 0.0))
    return Chosen(most(wrong, runs), allowed, errors / runs, more / math.sqrt(variance))


def test_choices_teach_no_more_than_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests: 000, Theorem 2.4; 002, Theorem 5.4."""
    found = audit_choices(CHOICES, monkeypatch, 400)
    assert not found.caught, found
    assert found.likely <= 2.0 * found.allowed, found  # the canary shows most of what may be learned


@dataclass(frozen=True)
class Law:
    """The mean square of the recovered noise over its stated variance, and exact δ(ε) over the event's profile."""

    square: float
    used: tuple[float, ...]
    runs: int

    @property
    def caught(self) -> bool:
        return max(self.used) > 1.0 or unlike(self.square, self.runs)


def audit_law(case: Fit, monkeypatch: pytest.MonkeyPatch, runs: int) -> Law:
    """With one coefficient, `b = −(λθ + Σ φ'_c x)` is known once θ is: its law is that of the released coefficient."""
    squares, law, coin = 0.0, None, np.random.default_rng(6)
    for truth, fitted, transcript in fits(case, monkeypatch, runs):
        quoted = quotes_of(fitted, transcript)[0]
        clip, ridge, sigma = quoted["clip"], quoted["ridge_of_sum"], quoted["noise_std_of_linear_term"]

        def drawn(theta: Any, which: int) -> Any:
            data = sum(np.clip(x[0] * theta - y, -clip, clip) * x[0] for x, y in case.records(which))  # noqa: B023
            return -(ridge * theta + data)  # noqa: B023

        kink, radius, near = quoted["records"] * case.kink, case.radius, 8.0 * quoted["noise_std_of_output"]

        def behind(point: float, which: int) -> tuple[float, float]:
            """The b, lowest and highest, whose minimiser is so near to the point that faint noise may hide the difference."""
            if kink > 0.0:  # noqa: B023
                b = float(drawn(point, which))
                return (b - kink, b + kink) if abs(point) <= near else (b - math.copysign(kink, point),) * 2  # noqa: B023
            if abs(point) < radius - near:  # noqa: B023
                return (float(drawn(point, which)),) * 2
            edge = float(drawn(math.copysign(radius, point), which))  # noqa: B023
            return (-math.inf, edge) if point > 0.0 else (edge, math.inf)

        low, high = (end / sigma for end in behind(float(transcript[0][3][0]), truth))
        if low < high:  # many b lead to a kink or the edge of a set: one of them is as likely as the law has it
            low = float(ndtri(ndtr(low) + coin.random() * (ndtr(high) - ndtr(low))))
        squares += low**2
        if law is None:
            end = min(16.0 * sigma / ridge, radius)
            theta = np.linspace(-end, end, 400_001)
            step, laws = theta[1] - theta[0], []
            for which in (0, 1):
                b = drawn(theta, which) - kink * np.sign(theta)
                bend = ridge + sum(
                    np.where(np.abs(x[0] * theta - y) < clip, x[0] ** 2, 0.0) for x, y in case.records(which)
                )
                dense = np.exp(-0.5 * (b / sigma) ** 2) * bend * step / (sigma * math.sqrt(2.0 * math.pi))
                points = [0.0] * (kink > 0.0) + [-radius, radius] * math.isfinite(radius)
                atoms = [np.diff(ndtr(np.array(behind(point, which)) / sigma))[0] for point in points]
                laws.append(np.append(dense, atoms))
            assert all(float(p.sum()) == pytest.approx(1.0, abs=1e-4) for p in laws)
            law = []
            for epsilon in (0.0, 0.5, 1.0, 2.0, 3.0):
                pairs = ((laws[0], laws[1]), (laws[1], laws[0]))
                delta = max(float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) for p, q in pairs)
                law.append((delta - 1e-5) / delta_of(fitted.statement_.event, epsilon))
    assert law is not None
    return Law(squares / runs, tuple(law), runs)


@pytest.mark.parametrize("name", PERTURBED)
def test_a_perturbed_minimiser_has_the_law_that_its_event_allows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = audit_law(PERTURBED[name], monkeypatch, 400)
    assert not found.caught, found
    assert max(found.used) >= PERTURBED[name].realised, found


def last_term(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of a table answers the question before."""
    plain, asked = WarmStarted.minimiser, [np.zeros(1)]

    def minimiser(kept: WarmStarted, slope: np.ndarray) -> np.ndarray:
        asked.append(slope)
        return plain(kept, asked[-2])

    monkeypatch.setattr(WarmStarted, "minimiser", minimiser)


def unclipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise as for C_j, contributions as for 8 C_j."""
    plain = Predictions.descend

    def descend(made: Any, query: CoordinateGradientQuery, updates: Any, key: Any) -> Any:
        return plain(made, replace(query, mu=8.0 * query.mu), replace(updates, clips=8.0 * updates.clips), key)

    monkeypatch.setattr(Predictions, "descend", descend)


def constants_read_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns' second moments as they are."""
    plain = room.gaussian

    def gaussian(x: np.ndarray, sigma: float, **rest: Any) -> np.ndarray:
        return x if np.all(x >= 0.0) else plain(x, sigma, **rest)

    monkeypatch.setattr(room, "gaussian", gaussian)


def hotter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores twice as far apart as their sensitivity says."""
    plain = choice.exponential_mechanism
    monkeypatch.setattr(
        choice,
        "exponential_mechanism",
        lambda scores, sensitivity, *rest, **more: plain(scores, 0.5 * sensitivity, *rest, **more),
    )


@pytest.mark.parametrize(
    ("name", "bug"),
    [
        ("mirror descent", quieter(room)),
        ("adaptive gradient, removed", quieter(room)),
        ("adaptive gradient", halved(CentredGradientQuery, "record_sensitivity")),
        ("adaptive gradient, removed", noise_reused),
        ("gradient, classes", halved(GradientQuery, "record_sensitivity")),
        ("coordinate descent, removed", quieter(coordinate_gradient, 0.9)),
        ("coordinate descent", halved(CoordinateGradientQuery, "record_sensitivity")),
        ("coordinate descent", unclipped),
        ("coordinate descent", constants_read_exactly),
        ("coordinate descent", one_draw),
        ("coordinate descent", noise_reused),
        ("preconditioned gradient", halved(CovarianceQuery, "record_sensitivity")),
        ("output perturbation", quieter(room)),
        ("output perturbation", halved(Family, "lipschitz")),
        ("output perturbation, structured", quieter(room)),
        ("output perturbation, structured", halved(Family, "lipschitz")),
        ("output perturbation, structured set", quieter(room)),
        ("dual Frank–Wolfe", quieter(room)),
        ("dual Frank–Wolfe", halved(Family, "lipschitz")),
        ("dual Frank–Wolfe, removed", noise_reused),
        ("dual Frank–Wolfe, removed", last_term),
    ],
)
def test_bugs_in_gaussian_answers_are_caught(name: str, bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    found = audit(GAUSSIAN[name], monkeypatch, GAUSSIAN[name].runs)
    assert found.caught, found


def test_a_temperature_that_is_too_low_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    hotter(monkeypatch)
    assert audit_choices(CHOICES, monkeypatch, 400).caught


@pytest.mark.parametrize("name", PERTURBED)
@pytest.mark.parametrize("bug", [quieter(perturbed_minimizer), halved(Family, "lipschitz")])
def test_bugs_in_perturbed_minimisers_are_caught(name: str, bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    assert audit_law(PERTURBED[name], monkeypatch, 400).caught
