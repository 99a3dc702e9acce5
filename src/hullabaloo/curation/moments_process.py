"""The process of a stream of sums: from public arguments to a process that holds a stream's curator, its price and its releases.

Validate → plan here; the estimator charges the process's event through its journal; only then it hands over records.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hullabaloo.curation.process import Process
from hullabaloo.curator import StreamCurator, StreamSumQuery
from hullabaloo.curator.stream import plan_stream
from hullabaloo.data import Encoding, RowFacts, Rows
from hullabaloo.durable.sealed import Snapshot
from hullabaloo.errors import BudgetError, InvalidParameter, is_whole
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty
from hullabaloo.losses import AnyLoss, Squared
from hullabaloo.privacy import DRAWS, Calibration, NoisyMoments, Schedule, gaussian_mu
from hullabaloo.release import Purchase, Release, positive, shown, stated, whole
from hullabaloo.release.planned import Task, check, problem_of
from hullabaloo.release.request import refuse_overspent
from hullabaloo.solvers import TARGET_SCALE, Problem, Solution, Solver, solve_moments

FORMAT = 1
"""Version of what fingerprints and snapshots mean."""

PAPER_SCALE = 1.0 / math.sqrt(2.0)
"""κ at which one release of `a aᵀ`, `a = (x, κy)`, has as much noise on `x y` as on the diagonal of `x xᵀ`."""

Solve = Callable[[NoisyMoments, Problem], Solution]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTask(Task):
    """The public arguments of one stream: those of a fit by least squares, and when it releases.

    Attributes:
        schedule: when.
        mechanism: the name of the strategy, or "auto".
        window: the number of latest records that a model is about, rounded to whole steps; None for all.
        half_life: after how many records a record counts half, from step to step; None for never.
    """

    schedule: Schedule
    mechanism: str = "auto"
    window: int | None = None
    half_life: float | None = None
    loss: AnyLoss = field(default_factory=Squared)
    constraint: ConvexSet | None = None
    penalty: Penalty = field(default_factory=NoPenalty)
    fit_intercept: bool = True
    solver: str | Solver = "moments"

    @property
    def records(self) -> int:
        """The most records that the stream is accounted for."""
        return self.schedule.position(self.schedule.steps)

    @property
    def as_printed(self) -> bool:
        """Whether noise is what the paper prints."""
        return self.calibration is Calibration.PAPER and self.budget.is_private

    @property
    def decay(self) -> float:
        """What a step's records count for one step later, in (0, 1]."""
        if self.half_life is None:
            return 1.0
        what = "the number of records after which one counts half, or None to forget nothing"
        half_life = positive("half_life", self.half_life, what)
        every = self._spacing("half_life")
        if every > 30 * half_life:
            raise InvalidParameter(
                f"With half_life={self.half_life!r} nothing would be left at a release of one {every} records before. Release more often (every=…), or pass a longer half-life."
            )
        return float(0.5 ** (every / half_life))

    @property
    def window_steps(self) -> int | None:
        """The number of latest steps that a model is about; None for all."""
        if self.window is None:
            return None
        window = whole(self.window)
        if not is_whole(window, 1, 2**63 - 1):
            raise InvalidParameter(
                f"window={shown(self.window)} was asked, of latest records: pass a positive whole number below 2^63, or None for all records."
            )
        steps = max(1, round(window / self._spacing("window")))
        return steps if steps < self.schedule.steps else None

    def _spacing(self, name: str) -> int:
        if not isinstance(self.schedule.every, int):
            raise InvalidParameter(
                f"A {name} was asked together with releases at listed positions, and forgets by equally long steps: pass every=… as one number."
            )
        return self.schedule.every


def check_stream(task: StreamTask, encoding: Encoding) -> Problem:
    """The problem that a stream's models solve; raises for all that can be known to be wrong beforehand."""
    if task.window is not None and task.half_life is not None:
        raise InvalidParameter("A window and a half-life were asked together. Forget in one way: pass one of the two.")
    check(task, encoding)
    return problem_of(task, encoding, task.records)


def plan_moments(task: StreamTask, facts: RowFacts) -> StreamSumQuery:
    """What the running moments of rows of these facts cost and how they are encoded; draws nothing, reads nothing."""
    printed = task.as_printed
    sigma = printed_sigma(task, facts) if printed else 0.0
    mechanism, scale = ("tree", PAPER_SCALE) if printed else (task.mechanism, TARGET_SCALE)
    share = None if task.domain.unit is None else task.domain.records_per_unit
    about = (facts, task.neighbours, task.records, task.schedule)
    query = plan_stream(*about, mechanism, task.decay, task.window_steps, target_scale=scale, share=share)
    if printed:
        query = query.priced(query.sensitivity / sigma)
    else:
        samples = max(DRAWS, query.length)
        query = query.priced(gaussian_mu(task.budget, samples=samples, filter=task.allowance().filter))
    if printed and not task.budget.admits(query.event):
        raise BudgetError(
            f"The noise that the paper prints costs more than the budget {task.budget.describe()}. Nothing was charged or read. Use calibration='exact'."
        )
    refuse_overspent(f"The noise of mechanism {task.mechanism!r}", task.budget, task.budget.admits(query.event))
    return query


def printed_sigma(task: StreamTask, facts: RowFacts) -> float:
    """σ of a node as the paper prints it, `σ² = 2 log₂²(T) Δ₂² ln(2/δ')/ε'²`, Δ₂ = 2, ε' = ε/2, δ' = δ/2, for rows of norm at most 1.

    The paper runs two trees: of `x y`, and of all d² cells of `x xᵀ`, of which `(Q + Qᵀ)/2` is a function that keeps all it tells. That pair has
    the noise of one release of `a aᵀ`, `a = (x, y/√2)`, in isometric coordinates: σ on the diagonal, σ/√2 beside it, `(σ/√2)/(1/√2)` on
    `x y`. So one tree of that stream with this σ is the paper's pair (and `y²` with it), and what it costs is counted exactly.
    Source: 003, Algorithm 2; 003, Algorithm 3; 003, Algorithm 4.

    Raises:
        InvalidParameter: another mechanism, forgetting, a single release, several targets, or a budget without ε and δ > 0.
    """
    budget, steps = task.budget, task.schedule.steps
    if task.mechanism not in ("auto", "tree") or task.window is not None or task.half_life is not None:
        raise InvalidParameter(
            "calibration='paper' is the tree mechanism over all records; another mechanism, a window or a half-life was asked. Leave these out, or leave calibration='exact'."
        )
    stated = budget.kind == "dp" and budget.delta > 0.0
    if not stated or task.schedule.horizon is None or steps < 2 or len(facts.targets) > 1:
        raise InvalidParameter(
            "calibration='paper' takes its noise from a formula in ε, δ > 0, a horizon and at least two releases, for one target; given were "
            f"{budget.describe()}, {steps} releases and {len(facts.targets)} targets. Pass hb.Budget(1.0, 1e-8) and horizon=…, or leave calibration='exact'."
        )
    epsilon, delta, diameter = budget.epsilon / 2.0, budget.delta / 2.0, 2.0 * facts.max_weight
    return math.sqrt(2.0 * math.log(2.0 / delta)) * math.log2(steps) * diameter / epsilon


class MomentsProcess(Process):
    """A stream whose models are solved from the noisy moments after each step.

    Args:
        task, problem, query: the public arguments, the problem that models solve, and the priced sums.
        transform: a public map of rows, record by record (a sketch): what it gives obeys the query's facts whatever the records hold.
        solve: how a model is computed from noisy moments: post-processing.
        public: what else belongs into the plan and the fingerprint (a sketch's seed, a solver's settings).
    """

    def __init__(
        self,
        task: StreamTask,
        problem: Problem,
        query: StreamSumQuery,
        *,
        transform: Callable[[Rows], Rows] | None = None,
        solve: Solve = solve_moments,
        public: Mapping[str, Any] | None = None,
    ) -> None:
        self.task, self.problem, self.query, self.schedule = task, problem, query, query.schedule
        self.transform, self._solve, self._public = transform, solve, dict(public or {})
        self.event, self._quoted = query.event, query.to_dict()
        self._curator = StreamCurator(query, key=task.key)
        self._latest: tuple[int, Release] | None = None

    @property
    def position(self) -> int:
        """Records taken."""
        return self._curator.position

    def take(self, rows: Rows) -> None:
        """Take records; noise is drawn for every step that they complete."""
        self._curator.take(rows if self.transform is None else self.transform(rows))

    def moments(self) -> NoisyMoments | None:
        """The noisy moments of the last completed step."""
        return self._curator.moments()

    def released(self) -> Release | None:
        """The model of the last completed step: solved when it is first read, remembered until the next."""
        step = self.schedule.completed(self.position)
        if self._latest is not None and self._latest[0] == step:
            return self._latest[1]
        moments = self.moments()
        if moments is None:
            return None
        solution = self._solve(moments, self.problem)
        settings = {"target_scale": moments.target_scale, "sigma": self._quoted["noise_std_of_sum"], **self._public}
        reason = "one noisy running sum serves every model of the stream"
        plan = {"solver": "continual_moments", "queries": [self._quoted], "settings": settings, "reason": reason}
        task, records = self.task, self.schedule.horizon or self.schedule.position(step)
        bought = Purchase(
            (), self.event, (self._quoted,), records, task.budget, task.budget if task.as_printed else None
        )
        statement = replace(stated(task, bought, None), horizon=task.records)  # whoever has charged adds where
        release = Release.of(solution, statement, plan)
        self._latest = step, release
        return release

    def snapshot(self) -> Snapshot:
        """Everything needed to go on, bit for bit. PRIVATE."""
        return Snapshot({"format": FORMAT, "position": self.position}, self._curator.state())

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot of the same public configuration (the caller has compared fingerprints)."""
        self._curator.restore(snapshot.arrays)
        self._latest = None

    @property
    def fingerprint(self) -> str:
        """Names everything public that the encoding and the noise depend on: a state goes on under no other."""
        task, moments = self.task, self.query.moments
        facts = {
            "format": FORMAT,
            **task.facts,
            "fit_intercept": task.fit_intercept,
            "schedule": task.schedule.to_dict(),
            "window": task.window_steps,
            "decay": task.decay,
            "columns": list(moments.facts.columns),
            "strategy": self.query.strategy.to_dict(),
            # without noise the bound of weights tells their unit; 0 where none are declared
            "sigma": self._quoted["noise_std_of_sum"] or moments.facts.max_weight - 1.0,
            "target_scale": moments.target_scale,
            **self._public,
        }
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=True)
        return hashlib.sha256(text.encode()).hexdigest()


def open_moments(task: StreamTask, encoding: Encoding, *, facts: RowFacts | None = None, **how: Any) -> MomentsProcess:
    """A process for the stream, planned and priced; nothing is charged or read.

    Args:
        task: the public arguments.
        encoding: how records become rows.
        facts: the public facts of the rows that `transform` makes, where it is given.
        how: `transform`, `solve` and `public` of `MomentsProcess`.
    """
    problem = check_stream(task, encoding)
    return MomentsProcess(task, problem, plan_moments(task, encoding.facts if facts is None else facts), **how)
