"""What a fit would cost and what it can be expected to gain over a constant, from public facts, before any data is read."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from hullabaloo.codec import arguments
from hullabaloo.data.reference import halves, undetermined
from hullabaloo.errors import CalibrationError, CapabilityError
from hullabaloo.losses import Huber, KernelCode, Squared
from hullabaloo.planning.favours import CONSTANT
from hullabaloo.planning.forecasts import Forecast, Rehearsed
from hullabaloo.planning.named import name_of
from hullabaloo.planning.synthetic import TWO_CLASSES, WIDE
from hullabaloo.planning.table import UNCONFIRMED, asks_public, bound_lines
from hullabaloo.planning.theory.lower_bound import LowerBound
from hullabaloo.planning.theory.lower_bounds import lower_bounds
from hullabaloo.planning.theory.upper_bounds import UpperBound, upper_bounds
from hullabaloo.privacy import Budget, Event, epsilon_of
from hullabaloo.release.expected_errors import ExpectedError, alike, expected_errors, expected_totals, publicly_known
from hullabaloo.release.planned import PlannedFit, replanned, tried_out
from hullabaloo.release.release import large_delta
from hullabaloo.solvers import Problem, WithInference
from hullabaloo.solvers.moments.moments import MomentsFirstSolver
from hullabaloo.solvers.options import passes
from hullabaloo.solvers.reference import EXPLAINED, TARGET_VARIANCE
from hullabaloo.tables import Printed, text_table


def spent(budget: Budget, event: Event) -> dict[str, Any]:
    """The fields of a price that say what an event costs."""
    delta = budget.delta if budget.kind == "dp" and budget.delta > 0.0 else 1e-6
    mu = event.gdp_mu() if budget.is_private else math.inf
    return {"epsilon": epsilon_of(event, delta), "delta": delta, "mu": mu}


FARTHER = 2.0
"""How many times more or less of the gain than rehearsed a plan may lose: chosen so that nine tenths of the prices of one half of 32 real tables hold (docs/planning.md)."""


Prospect = tuple[tuple[float, ...], str, str, dict[str, float]]


def prospect(prepared: PlannedFit, predicted: float, known: Mapping[str, float]) -> Prospect:
    """The plan's excess risk over a constant's, of tables with so much signal, how that is known, and what these tables take of what is `known`.

    The plan is rehearsed on synthetic tables of a weak and a strong signal, a rare class and even ones, of the class, the mean count or the deviations that are `known`; what it loses of them is told
    `FARTHER` times more and less. Where that would take long, the formula of the risk stands beside the squared loss's gain.

    Source: 000, Equation (1); 002, Equation (1).
    """
    if not (runs := tried_out(prepared, told := _shape(prepared, known))):
        return (2.0 * predicted / (TARGET_VARIANCE * EXPLAINED),), "a tenth", "by formula", {}
    if runs[0].scenario == WIDE[0].name:
        return span(runs, 1.0), "half to four fifths", "rehearsed on fewer columns", {}
    most = "a half" if prepared.problem.loss.kernel_code in (*TWO_CLASSES, KernelCode.MULTINOMIAL) else "nine tenths"
    return span(runs), f"a fiftieth to {most}", REHEARSED, told


def span(runs: Sequence[Rehearsed], farther: float = FARTHER) -> tuple[float, float]:
    """The most and the least that is lost of what a constant loses."""
    lost = [max(one.risk, 1e-12) / max(one.constant, 1e-12) for one in runs]
    return max(lost) * farther, min(lost) / farther


def _shape(prepared: PlannedFit, known: Mapping[str, float]) -> dict[str, float]:
    """What a scenario takes of known deviations: how far numbers vary within their bounds, what is left of targets (root mean square), a class's share, or how often the mean count goes into its bound.

    Usual of numbers is a third of half the range, mean squares 0.1 and 0.12. A row is as long as one bound for each feature.
    """
    encoding, problem = prepared.encoding, prepared.problem
    (name, *others), code = encoding.facts.targets, problem.loss.kernel_code
    more = sum(9.0 * (known[one] / half) ** 2 - 1.0 for one, half in halves(encoding).items() if one in known)
    varied = {"varied": max(1.0 + more / (problem.norm_l2**2 - problem.intercept), 1e-9)} if more else {}
    if not known.keys() >= {name, *others}:
        return varied
    if code not in (*TWO_CLASSES, KernelCode.MULTINOMIAL, KernelCode.POISSON):
        left = np.array([known[one] for one in (name, *others)]) / encoding.target_scale
        return varied | {"left": min(float(np.sqrt(np.mean(left**2))), 1.0)}
    if others:
        return varied
    if code == KernelCode.POISSON:
        return varied | {"rarity": max(encoding.targets[0].hi * min(1.0 / known[name], 1e9) ** 2, 1.0)}  # type: ignore[union-attr]
    variance = min(max(known[name], 1e-9), 0.5) ** 2  # s(1 − s)
    return varied | {"rare": variance / (0.5 + math.sqrt(0.25 - variance))}


def words(problem: Problem) -> tuple[str, str, str]:
    """The tables whose features tell a share, what a model has to beat on them, and what of the target, where it is not known, decides beside the signal where in its range a share is."""
    code = problem.loss.kernel_code
    if code in (*TWO_CLASSES, KernelCode.MULTINOMIAL):
        table = "tables in which the features hold {} of what decides the class"
        return table, "the shares of the classes alone", "how rare a class" * (code in TWO_CLASSES)
    if code == KernelCode.POISSON:
        table = "tables in which expected counts vary with the features by a seventh or more up or down"
        return table, "the mean", "how low the mean"
    constant = "the quantile of all records" if code == KernelCode.PINBALL else "the mean"
    return "tables whose features explain {} of a target{}", constant, ""


SIGNAL, REHEARSED = "how strong the signal is", "rehearsed"
NARROWER = "the gain is that of columns whose s.d. is a sixth of their range; publicly known standard deviations of columns, and of what a model leaves of the target, tell it more closely: price(known={{{0!r}: …}}), in a shell --known {0}=…; of a class its share does so, too, and of counts their mean: 'mean of {0}'"
QUARTER = " whose s.d. is a quarter of its range"
# A budget beyond this protects so little that it is not offered as a remedy.
LARGEST_EPSILON = 10.0
HELD_UP = "the private constant holds the model up: after the solver a second look at the records decides how far its model is moved towards that constant; to have the solver's own model whatever it is, pass its class as solver="
FIRST = "moments are asked for first, at a quarter of the budget, of many cells with two gradients along them: where their own release says that noise has cost them next to nothing they are the model, or where errors are told its start, and none of the other solver's questions is asked; the charge is that of all"
EXPECTED = "expected standard errors, of sampling and privacy together, in the units of the table (eight to nine tables of ten are within the range; publicly known standard deviations, and for totals means of targets, narrow it: price(known={'x': …, 'mean of y': …})):"
HIDDEN = "the fit tells no error of a column that is too narrow in its bounds for the noise, that one or two records could decide, or that rests on how columns that go together differ where noise hides it"
APART = "it tells errors and totals if coefficients are near their estimates, which is known after the fit alone: noise, a set, a penalty or a rare class may hold them apart"
WEIGHED = "plan and price take weights to be half their bound on average: where their mean is less, expect larger errors than these, and declare a smaller bound, beyond which weights are clipped; a factor of weights and bound changes nothing"
DROPS = "records without a target count for nothing (missing_target='drop'), and this is the price of a table in which all have one: where many lack it errors are far larger than expected here, about those of a table of the others alone; under add-or-remove declare as records= about how many have one, and plan and fit are those of a table of these alone"
CHOSEN = "which columns are chosen is not known beforehand; steps along one column at a time may end short of the optimum, and all other coefficients are 0"
DIFFERENCES = "{}: every level has a column beside the intercept, so only differences between levels are determined. Predictions do not suffer; to read the coefficients, declare a baseline: hb.Categorical([...], baseline=...), in a file baseline = ..."
DEFAULTED = "{} is this estimator's default and holds its models, the non-private one beside which a gain is told among them: pass another as constraint= or penalty=, in a shell as --set or --penalty"
LOUD = "it tells no total whose error is above 0.13"
UNSELECTED = "the gain is that of the fit before selection: columns whose effects noise hides are then set to 0, and where that is so of all the mean is left; of columns that go together noise may hide each, so that all of them go"
# Passes over the table from which a price tells their time.
LONG = 1_000
NOTHING: Mapping[str, float] = MappingProxyType({})
# Nor is a larger multiple of what there is.
FARTHEST = 2.0**20


@dataclass(frozen=True, slots=True, repr=False)
class Price(Printed):
    """Spend and expected gain of one fit.

    Attributes:
        solver: the algorithm that would run.
        epsilon: ε at `delta` that the plan costs.
        delta: the δ at which ε is quoted.
        mu: its Gaussian-DP parameter (None when it has none; ∞ when no noise is drawn).
        errors: standard errors that the unpenalised coefficients can be expected to have, sampling and privacy together, as ranges
            (`release/expected_errors.py`); empty where the fit tells none.
        totals: the same of each target's predicted over observed total.
        withheld: which of these the fit may not tell all the same, which is known after it alone.
        expectation: a sentence that says whether the model can be expected to beat a constant, and from which n or ε.
        reason: why this solver and these settings.
        notes: sentences on what should be changed before the fit, if anything.
        upper_bounds: what the plan loses at most in expectation, where its theorem holds.
        lower_bounds: what no private method does better than, in the worst case.
    """

    solver: str
    epsilon: float
    delta: float
    mu: float | None
    records: int
    expectation: str
    reason: str
    notes: tuple[str, ...] = ()
    upper_bounds: tuple[UpperBound, ...] = ()
    lower_bounds: tuple[LowerBound, ...] = ()
    errors: tuple[ExpectedError, ...] = ()
    totals: tuple[ExpectedError, ...] = ()
    withheld: tuple[str, ...] = ()

    @property
    def expected(self) -> list[tuple[str, str]]:
        """Which standard errors are expected, and their range in words."""
        return [*alike(self.totals), *alike(self.errors)]

    def __str__(self) -> str:
        mu = "" if self.mu is None or math.isinf(self.mu) else f", mu = {self.mu:.4g}"
        spend = f"epsilon = {self.epsilon:.4g} at delta = {self.delta:.3g}{mu}"
        if math.isinf(self.epsilon):
            spend = "no privacy at all (epsilon is infinite)"
        lines = [
            f"spend: {spend}, for {self.records} records, by the solver {self.solver!r}",
            f"gain:  {self.expectation}",
        ]
        if shown := self.expected:
            lines.append(EXPECTED)
            lines += text_table(shown, marks=["  "] * len(shown))
        bounds = bound_lines(self.lower_bounds, self.upper_bounds)
        return "\n".join([*lines, *bounds, *(f"note:  {note}" for note in (*self.withheld, *self.notes))])

    to_dict = arguments


def price(prepared: PlannedFit, known: Mapping[str, float] = NOTHING) -> Price:
    """Read the price off a prepared fit; `known` are standard deviations that narrow the expected errors."""
    task, plan, known = prepared.task, prepared.plan, publicly_known(prepared, known)
    private = task.budget.is_private
    expected, totals = expected_errors(prepared, known), expected_totals(prepared, known)
    expectation = _expectation(prepared, known)
    pair, bent = task.budget.pair if private else None, not isinstance(prepared.problem.loss, Squared | Huber)
    withheld = ((HIDDEN, expected), (APART, (expected or totals) and bent), (LOUD, totals))
    return Price(
        solver=plan.solver,
        **spent(task.budget, plan.event),
        records=prepared.problem.records,
        expectation=expectation,
        reason=plan.reason,
        notes=_notes(prepared, bool(expected), f"({REHEARSED})" in expectation, known),
        upper_bounds=upper_bounds(prepared.problem, [Forecast(prepared.solver, plan)]) if private else (),
        lower_bounds=() if pair is None else tuple(lower_bounds(prepared.problem, *pair)),
        errors=expected,
        totals=totals,
        withheld=tuple(one for one, about in withheld if private and about),
    )


def _notes(prepared: PlannedFit, expected: bool, rehearsed: bool, known: Mapping[str, float]) -> tuple[str, ...]:
    task, encoding, problem, told = prepared.task, prepared.encoding, prepared.problem, prepared.encoding.facts.targets
    notes = [UNCONFIRMED] * asks_public(prepared.plan) + [HELD_UP] * ("floor" in prepared.plan.settings)
    inner = prepared.solver.solver if isinstance(prepared.solver, WithInference) else prepared.solver
    notes += [FIRST] * isinstance(inner, MomentsFirstSolver)
    notes += [NARROWER.format(*told)] * (rehearsed and len(told) == 1 and told[0] not in known)
    notes += [WEIGHED] * (task.domain.weight is not None)
    notes += [DROPS] * task.domain.drops + [CHOSEN] * any(query.name == "select" for query in prepared.plan.queries)
    if prepared.without and task.inference is not False:
        notes.append(prepared.without.rstrip(".").replace("No errors", "no errors of coefficients", 1))
    count = sum(
        query.count / (problem.dimension if query.name == "coordinate_gradient" else 1)
        for query in prepared.plan.queries
    )
    notes += [f"it takes {passes(problem, count)}"] * (count >= LONG)
    notes += filter(None, [large_delta(task.budget, prepared.problem.records)])
    if expected and (features := undetermined(encoding)) and task.budget.is_private:
        names = ", ".join(repr(name) for name in features[:5]) + (" and others" if len(features) > 5 else "")
        notes.append(DIFFERENCES.format(names))
    return tuple(notes)


def _expectation(prepared: PlannedFit, known: Mapping[str, float]) -> str:
    if not prepared.task.budget.is_private:
        return "the non-private optimum: no noise is drawn and nothing is protected"
    problem = prepared.problem
    table, constant, unknown = words(problem)
    if prepared.solver.name == CONSTANT:
        asked = name_of(prepared.task.solver)
        if asked == CONSTANT:
            return f"no slope is released, as solver={asked!r} was asked: the model is {constant}"
        gives_way = "" if asked == "auto" else f"{asked!r} gives way to the constant: "
        return f"{gives_way}no slope is released, as noise of this budget would drown every one: the model is {constant}; a price for more records or a larger epsilon says what they bring"
    formula = _risk(prepared, problem.records, 1.0)
    lost, shares, how, told = prospect(prepared, formula, known)
    where = f"{table.format(shares, QUARTER * ('left' not in told))} ({how})"
    mean = math.exp(math.fsum(map(math.log, lost)) / len(lost))
    least, most = (100.0 * max(1.0 - one, 0.0) for one in (max(lost), min(lost)))
    deciding = SIGNAL + f" and {unknown}" * bool(unknown and how == REHEARSED and not told.keys() - {"varied"})
    spread = f"{least:.0f} to {most:.0f} %, by {deciding}" * (round(least) < round(most))
    if mean < 1.0:
        return f"for {where}, expected to keep about {100 * (1 - mean):.0f} %{f' ({spread})' * bool(spread)} of what the non-private model gains over {constant}"
    # what the formula must come down to, if it is off by the same factor elsewhere; below what it is here, which is not enough
    enough = formula / mean * (1.0 - 1e-9)
    records = _first(lambda scale: _risk(prepared, math.ceil(problem.records * scale), 1.0) < enough)
    epsilon = prepared.task.budget.epsilon if prepared.task.budget.kind == "dp" else None
    most = 0.0 if epsilon is None else min(LARGEST_EPSILON / epsilon, FARTHEST)
    budget = _first(lambda scale: _risk(prepared, problem.records, scale) < enough, most)
    remedies = []
    if records is not None:
        wanted = problem.records * records
        unit = 10 ** max(0, math.floor(math.log10(wanted)) - 1)
        remedies.append(f"about {int(math.ceil(wanted / unit) * unit):,} records")
    if budget is not None and epsilon is not None:
        remedies.append(f"about epsilon = {epsilon * budget:.2g}")
    hope = " or ".join(remedies) if remedies else "far more records"
    return f"for {where}, NOT expected to beat {constant}{f' (of what the non-private model gains it keeps {spread})' * bool(spread)}; that would take {hope}"


def _risk(prepared: PlannedFit, records: int, budget: float) -> float:
    """Predicted excess risk with another number of records or a multiple of the budget; ∞ where no lattice, or no solver, takes so many."""
    try:
        made = replanned(prepared, records, budget)
        return made.solver.predicted_risk(made.problem, made.plan)
    except (CalibrationError, CapabilityError):
        return math.inf


def _first(enough: Any, most: float = FARTHEST) -> float | None:
    """The smallest factor from 1 up to `most`, within a few per cent, for which `enough` holds; None when there is none."""
    low, high = 0.5, 1.0
    while high > most or not enough(high):
        if high >= most:
            return None
        low, high = high, min(2.0 * high, most)
    for _ in range(5):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
