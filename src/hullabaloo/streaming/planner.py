"""`hb.streaming.plan`: when to keep running sums, when to fit again, when to sketch, from public facts alone."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from hullabaloo.codec import arguments
from hullabaloo.curation.moments_process import StreamTask, plan_moments
from hullabaloo.data import Domain, Encoding
from hullabaloo.errors import HullabalooError, InvalidParameter, as_whole
from hullabaloo.geometry import ConvexSet, Penalty
from hullabaloo.losses import Loss, Squared, VectorLoss
from hullabaloo.planning.context import PlanContext
from hullabaloo.planning.favours import CONSTANT
from hullabaloo.planning.forecasts import WIDEST_REHEARSAL, Forecast, can_rehearse
from hullabaloo.privacy import Budget, Neighbours, Schedule
from hullabaloo.release import PlannedFit, Task, plan_context, whole
from hullabaloo.release.estimator import told
from hullabaloo.release.planned import quiet, tried_out
from hullabaloo.release.planner import planned_task
from hullabaloo.release.price import span
from hullabaloo.solvers import TARGET_SCALE, MomentsSolver, Plan
from hullabaloo.streaming.planned_bounds import StreamBound, of_fits, of_sketch, of_sums
from hullabaloo.streaming.refits import RULES, favours, planned, spacing
from hullabaloo.streaming.regression import SketchedRegression, as_fit, relative_width
from hullabaloo.tables import Printed, text_table

LOOKS = 4
"""Releases at which the ways are compared: the first, the last, and others evenly spaced by the logarithm of the records."""
NOTHING, TINY = 0.005, 1e-12
"""A kept share below which nothing is said to be kept; a loss below which two ways lose nothing."""
SUMS, AGAIN, SKETCH = "IncrementalRegression", "PeriodicERM", "SketchedRegression"
KEEPS = "Keeps: of the non-private model's gain over a constant, from a weak to a strong signal; sums less where columns vary less within their bounds, as price(position=..., known=...) says."
BOUNDS = "Excess risk a record at most, on every stream, at these releases, of the paper's algorithm in a way's place (rate); –: no more is said than that the set is bounded."
Way = tuple[list[tuple[Forecast, float]], float, float, str, list[StreamBound]]
"""Forecasts at each look with their weights, bytes of the state, visits of a record, settings in words, and what theorems say."""
HEAD = ("way", "keeps", "excess risk", "memory", "passes")


@dataclass(frozen=True, slots=True)
class StreamPlanRow:
    """One way to learn from the stream.

    Attributes:
        name: the class of `hullabaloo.streaming`.
        able: whether it can.
        kept: at each release compared, the share of the non-private model's gain over a constant that it can be expected to keep, the
            mean over synthetic tables of the domain; empty where nothing was rehearsed.
        spans: the least and the most of it, as a price tells them.
        risk: expected excess empirical risk there, on the unit domain.
        score: what is compared: the mean over these releases and tables of the share that is lost, all of it at most, solvers favoured as `solver="auto"` favours them.
        memory: bytes of the state, at the horizon.
        passes: how often each record is visited, on average.
        reason: its settings in words, or why it cannot.
        bounds: what theorems say of it.
    """

    name: str
    able: bool
    kept: tuple[float, ...] = ()
    spans: tuple[tuple[float, float], ...] = ()
    risk: tuple[float, ...] = ()
    score: float = math.inf
    memory: float = math.inf
    passes: float = math.inf
    reason: str = ""
    bounds: tuple[StreamBound, ...] = ()

    def cells(self) -> tuple[str, ...]:
        """The line's texts, as in `HEAD`."""
        if not self.able:
            return (self.name, "left out", "", "", "")
        spans = [(f"{low:.0%}", f"{high:.0%}") if high >= NOTHING else ("nothing",) * 2 for low, high in self.spans]
        kept = " ".join(high if low == high else f"{low[:-1]}-{high}" for low, high in spans)
        risk = " ".join(f"{one:.2g}" for one in self.risk)
        return (self.name, kept, risk, _bytes(self.memory), f"{self.passes:,.3g}")


@dataclass(frozen=True, slots=True, repr=False)
class StreamPlan(Printed):
    """What `hb.streaming.plan` gives. Printing shows the table.

    Attributes:
        title: the problem in words.
        chosen: the way to take.
        why: a sentence.
        positions: the releases at which the ways are compared.
        releases: how many there are up to the horizon.
        ways: the lines, the best first.
    """

    title: str
    chosen: str
    why: str
    positions: tuple[int, ...]
    releases: int
    ways: tuple[StreamPlanRow, ...]

    def __str__(self) -> str:
        lines = [HEAD, *[way.cells() for way in self.ways]]
        table = text_table(lines, marks=["→ " if line[0] == self.chosen else "  " for line in lines])
        after = ", ".join(f"{position:,}" for position in self.positions)
        notes = [f"Compared after {after} records, of {self.releases:,} releases. {self.why}"]
        notes += [KEEPS] if any(way.kept for way in self.ways) else []
        bounds = [bound.cells() for way in self.ways for bound in way.bounds]
        notes += [BOUNDS, *text_table(bounds)] if bounds else []
        notes += [f"{way.name} is left out: {way.reason}" for way in self.ways if not way.able]
        return "\n".join([self.title, "", *table, "", *notes, "Nothing was read or spent."])

    to_dict = arguments


@quiet()
@partial(told, name="hb.streaming.plan")
def plan(
    *,
    horizon: int,
    budget: Budget,
    every: int | tuple[int, ...] | str = "auto",
    p: int | None = None,
    domain: Domain | None = None,
    loss: Loss | None = None,
    set: ConvexSet | None = None,  # the word of the papers
    penalty: Penalty | None = None,
    neighbours: str | Neighbours = "replace-one",
    fit_intercept: bool = True,
) -> StreamPlan:
    """Compare keeping sums, fitting again and sketching for one stream, from public facts alone; reads no data and spends nothing.

    Each way's model at a release is tried out on synthetic tables of the declared domain, at the noise that it would have there: sums at
    the noise of the running sum, fits at their share of the budget, by the solver that would be taken. Few releases leave each fit
    enough to be the better; of many, each fit has next to nothing, and the error of running sums hardly grows.

    Args:
        horizon: the largest number of records.
        budget: what all releases may cost together.
        every: records between two releases, or their positions; "auto" is some thousand releases for sums, and for fits the "convex"
            rule of `PeriodicERM`: each way at the spacing that it would take.
        p: the number of columns, where no domain is given: rows of l2 norm at most 1 and a target in [−1, 1].
        domain: what is declared about the records.
        loss: the loss of one record; only the squared loss has sums.
        set, penalty: on the unit domain; at most one.
        neighbours: "replace-one" or "add-or-remove".
        fit_intercept: whether a constant column is added.

    Raises:
        InvalidParameter: arguments that do not fit together.

    Example:
        >>> import hullabaloo as hb
        >>> few = hb.streaming.plan(horizon=4_000, every=1_000, p=3, budget=hb.Budget(1.0, 1e-8))
        >>> few.chosen, few.releases
        ('PeriodicERM', 4)

    Source: 003, Table 1; 003, Remark 4.3.
    """
    horizon, every, p = whole(horizon), whole(every), whole(p)
    said = "A plan needs the horizon as a positive whole number, such as horizon=100_000, but got {!r}. Without an end keep sums: hb.streaming.IncrementalRegression(horizon=None)."
    horizon = as_whole(horizon, said)
    if isinstance(loss, VectorLoss):
        raise InvalidParameter(
            f"A stream is planned for losses of one prediction, and {loss.name!r} has several. Pass a loss such as hb.Squared()."
        )
    about: dict[str, Any] = {"budget": budget, "p": p, "domain": domain, "loss": loss, "set": set, "penalty": penalty}
    about |= {"neighbours": neighbours, "fit_intercept": fit_intercept}
    task, encoding = planned_task("hb.streaming.plan", horizon, **about)
    schedule = Schedule.of(horizon, every)
    looks = _looks(schedule)
    ways = [_way(SUMS, lambda: _sums(task, encoding, schedule, looks))]
    ways.append(_way(AGAIN, lambda: _again(task, encoding, every, horizon, looks)))
    if set is not None and isinstance(task.loss, Squared) and encoding.facts.width > WIDEST_REHEARSAL:
        ways.append(_way(SKETCH, lambda: _sketch(task, encoding, schedule, looks)))
    able = [way for way in ways if way.able]
    if not able:
        raise InvalidParameter(" ".join(["No way to learn from this stream.", *[way.reason for way in ways]]))
    # Of ways that lose all, the one that harms less.
    ordered = sorted(ways, key=lambda way: (way.score, -sum(way.kept)))
    best = next(way for way in ordered if way.able)
    title = f"{task.loss.name} loss, up to {horizon:,} records, {encoding.facts.width} columns, {budget.describe()}, {task.neighbours}"
    return StreamPlan(title, best.name, _why(best, able), tuple(looks), schedule.steps, tuple(ordered))


def _why(best: StreamPlanRow, able: Sequence[StreamPlanRow]) -> str:
    if all(way.kept and max(way.kept) < NOTHING for way in able):
        return "No way is expected to beat a constant at any of these releases: more records, a larger epsilon, fewer columns or tighter bounds are needed first."
    rivals = [way for way in able if way is not best]
    verb = {
        SUMS: "Keep sums: their error hardly grows with the number of releases, and a fit's share of the budget shrinks with it",
        AGAIN: "Fit again: the releases are few enough that each fit, which looks at the records anew, loses less than running sums do",
        SKETCH: "Sketch: sums of fewer coordinates have less noise than the columns it folds together cost",
    }[best.name]
    if not rivals:
        return f"{verb}; it is the one way that can."
    against = []
    for way in rivals:
        times = "" if way.score < 1.05 * best.score + TINY else f"{way.score / max(best.score, TINY):.2g} times "
        against.append(f"{way.name} is expected to lose {times}as much")
    return f"{verb}; {', '.join(against)}."


def _way(name: str, made: Callable[[], Way]) -> StreamPlanRow:
    """A line from the forecasts at each look, and how many times better than rehearsed solvers can be expected to do there."""
    try:
        found, memory, passes, reason, bounds = made()
    except HullabalooError as refused:
        return StreamPlanRow(name, False, reason=str(refused))
    score = float(np.mean([_favoured(one, weight) if one.rehearsed else one.predicted for one, weight in found]))
    kept = tuple(1.0 - one.lost for one, _ in found if one.rehearsed)
    spans = tuple(_span(one) for one, _ in found if one.rehearsed)
    risks = tuple(one.risk for one, _ in found)
    return StreamPlanRow(name, True, kept, spans, risks, score, memory, passes, reason, tuple(bounds))


def _span(one: Forecast) -> tuple[float, float]:
    """The least and the most that is kept."""
    lost = (1.0,) if one.name == CONSTANT else span(one.rehearsed)
    return max(1.0 - max(lost), 0.0), max(1.0 - min(lost), 0.0)


def _looks(schedule: Schedule) -> list[int]:
    """Positions of the releases that are compared."""
    last = math.log(schedule.steps)
    chosen = {round(math.exp(last * k / (LOOKS - 1))) for k in range(LOOKS)} | {schedule.steps}
    return [schedule.position(step) for step in sorted(chosen)]


def _sums(task: Task, encoding: Encoding, schedule: Schedule, looks: list[int]) -> Way:
    """The moments solver at the noise of the running sum."""
    if not isinstance(task.loss, Squared):
        raise InvalidParameter(
            f"Running sums determine the squared loss, not the loss {task.loss.name!r}. A target of 0 and 1 by squared loss makes chances."
        )
    about = {one.name: getattr(task, one.name) for one in fields(task)} | {"solver": "moments"}
    sums = StreamTask(**about, schedule=schedule)
    query = plan_moments(sums, encoding.facts)
    found = [(_tried(as_fit(sums, query, encoding, schedule.completed(position))), 1.0) for position in looks]
    reason = f"noise {query.sigma:.3g} on each encoded sum, mechanism {query.strategy.name}"
    bounds = of_sums(SUMS, _posed(task, encoding, looks[-1]).problem, query, schedule, looks)
    return found, _state(query), 1.0, reason, bounds


def _state(query: Any) -> float:
    """Bytes of the running sums and of their noise."""
    parts = query.strategy.encoder(1).state(), query.strategy.decoder(1).state()
    kept = sum(array.nbytes or 8.0 * query.strategy.steps for part in parts for array in part.values())
    return float((kept + 24.0) * query.moments.length)


def _again(task: Task, encoding: Encoding, every: int | tuple[int, ...] | str, horizon: int, looks: list[int]) -> Way:
    """The best batch solver at its share of the budget."""
    own = spacing(RULES[0], task, encoding, horizon) if every == "auto" else every
    schedule = Schedule.of(horizon, own)
    refits = planned(task, encoding, schedule)
    found = [_fitted(refits.fits[max(1, schedule.completed(position)) - 1], encoding) for position in looks]
    answers = [sum(query.count for query in fit.plan.queries) for fit in refits.fits]
    visits = math.fsum(count * schedule.position(step) for step, count in enumerate(answers, start=1))
    facts = encoding.facts
    solvers = ", ".join(dict.fromkeys(fit.plan.solver for fit in refits.fits))
    memory = 8.0 * horizon * (facts.width + len(facts.targets) + 4 * (task.domain.unit is not None))
    bounds = of_fits(AGAIN, _posed(task, encoding, horizon).problem, schedule, task.allowance().mu, looks)
    return found, memory, visits / horizon, f"{len(refits.fits)} fits by {solvers}", bounds


def _fitted(fit: PlannedFit, encoding: Encoding) -> tuple[Forecast, float]:
    """A fit tried out, and the weight that `solver="auto"` gives it."""
    posed = _posed(fit.task, encoding, fit.problem.records)
    weight = favours(*posed.facts) if fit.allowance.is_private else {}
    return _tried(fit), weight.get(fit.plan.solver, 1.0)


def _sketch(task: Task, encoding: Encoding, schedule: Schedule, looks: list[int]) -> Way:
    """Sums of sketched rows: the moments' formula in as many dimensions, what the sketch distorts left out."""
    shared = {name: getattr(task, name) for name in ("budget", "domain", "constraint", "fit_intercept", "neighbours")}
    stream = SketchedRegression(horizon=schedule.horizon, every=schedule.every, **shared)
    query = stream._open(encoding).query
    found, facts = [], query.moments.facts
    if facts.width >= encoding.facts.width:
        raise InvalidParameter(
            f"A sketch that tells such rows and models apart keeps all of their {facts.width} columns, and adds nothing to running sums."
        )
    norms: dict[str, Any] = {name: getattr(facts, name) for name in ("norm_l1", "norm_l2", "norm_linf")}
    for position in looks:
        small = replace(_posed(task, encoding, position).problem, dimension=facts.width, constraint=None, **norms)
        sums, noise = MomentsSolver(), query.sigma * query.error(schedule.completed(position))
        plan = Plan(sums.name, (), {"sigma": noise, "target_scale": TARGET_SCALE})
        found.append((Forecast(sums, plan, predicted=sums.predicted_risk(small, plan)), 1.0))
    assert task.constraint is not None  # as `plan` saw to it
    width = relative_width(encoding.facts, task.constraint, stream.sketch_)
    bounds = of_sketch(SKETCH, _posed(task, encoding, looks[-1]).problem, query, width, schedule, looks)
    return found, _state(query), 1.0, f"{facts.width} coordinates of {encoding.facts.width}", bounds


def _posed(task: Task, encoding: Encoding, position: int) -> PlanContext:
    """The problem of the records so far."""
    alone = replace(task, domain=Domain.from_dict({**task.domain.to_dict(), "records": position}))
    return plan_context(alone, encoding, position)


def _tried(fit: PlannedFit) -> Forecast:
    """What is expected of a fit, as its price has it."""
    runs = tried_out(fit, {}) if can_rehearse(fit.problem) else ()
    return Forecast(fit.solver, fit.plan, None, fit.solver.predicted_risk(fit.problem, fit.plan), runs)


def _favoured(one: Forecast, weight: float) -> float:
    """The mean over tables of the odds of what is lost to what is kept, divided by the weight; all of it where a constant would lose less, however much less: one drowned table decides no more than any other."""
    lost = np.array([min(run.risk / max(run.constant, 1e-300), 1.0) for run in one.rehearsed])
    return float(np.mean(lost / (lost + weight * (1.0 - lost))))


def _bytes(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} GB"
