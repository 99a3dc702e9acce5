"""The records of a stream so far, and the estimator that is fitted on all of them again at every release."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.codec import as_kept
from hullabaloo.curation.parts import held, part
from hullabaloo.curation.process import Process
from hullabaloo.curation.scoring import answer
from hullabaloo.data.encode import HEAVIEST, numbered
from hullabaloo.data.source import Rows
from hullabaloo.durable.sealed import SETTINGS, SOLVERS, Snapshot
from hullabaloo.geometry import NoPenalty
from hullabaloo.losses import KernelCode, Loss
from hullabaloo.planning.named import solver_to_dict
from hullabaloo.privacy import Event, GaussianEvent, Schedule
from hullabaloo.release import PlannedFit, Release, Task

Array = npt.NDArray[Any]

FORMAT = 1
"""Version of what fingerprints and snapshots mean."""
TODAY = 8
"""How solvers make use of answers, 0 as they first did. A change of that which asks the same questions raises it, and keeps the old way for `Task.earlier`."""
CORRECTS = ("gradient", "adaptive_gradient", "preconditioned_gradient")
"""Solvers that can start from an earlier model: all that they ask of a record are its prediction's slope and bend."""


@dataclass(frozen=True, slots=True)
class Refits:
    """The fits of a stream: at release k on all records so far, at its share of μ².

    **Guarantee.** Every fit is a plan for the budget `μ √share`; a record takes part in those from its position on, so the first record in
    all of them, and no record in more. Adaptive composition of all plans' events (Dong, Roth, Su 2022) covers every record: earlier
    models, from which a fit starts, are released numbers. *Units*: streams are neighbours that differ where a unit's records are, which are another
    new unit's in the other stream, or nobody's. So the records so far are at most one unit's apart, which is what every plan is priced for.

    *Heights* h_j rise by block of records between releases: in fit k a record of block j counts v = h_j/h_k ≤ 1 times, and pays v times the
    price but for rounding (`Query.rounding`), in all fits `h_j √Σ_{k≥j}(μ_k/h_k)² + √Σ ρ_k²` at most (Minkowski), ρ_k the part of rounding.

    Attributes:
        schedule: the releases' positions.
        fits: the prepared fits, their price and noise included.
        event: what all cost together.
        heights: of blocks, or none where every record counts once in each fit.
    """

    schedule: Schedule
    fits: tuple[PlannedFit, ...]
    event: Event
    heights: tuple[float, ...] = ()

    def counted(self, rows: Rows, step: int) -> Rows:
        """The records so far, each as often as it counts in the fit of that number. PRIVATE."""
        if not self.heights:
            return rows
        blocks = np.diff([self.schedule.position(k) for k in range(step + 1)])
        weight = np.repeat(np.divide(self.heights[:step], self.heights[step - 1]), blocks)
        return replace(rows, weight=weight[len(weight) - rows.Y.shape[0] :])


def together(fits: Sequence[PlannedFit], heights: Sequence[float]) -> Event | None:
    """What fits cost whose blocks have heights, as `Refits` has it; None where some query's answer is not known to move so much less."""
    asked: list[Any] = [query for fit in fits for query in fit.bought.queries]
    if any(math.isinf(query.rounding) for query in asked):
        return None
    mu = np.array([fit.bought.event.gdp_mu() for fit in fits]) / heights
    most = float(np.max(np.array(heights) * np.sqrt(np.cumsum(mu[::-1] ** 2)[::-1])))
    rounding = math.sqrt(math.fsum(query.count * (query.rounding / query.sigma) ** 2 for query in asked))
    return GaussianEvent((1.0 - 1e-9) / (most + rounding), sum(fit.bought.event.samples for fit in fits))


class PrefixProcess(Process):
    """Keeps every encoded record, PRIVATE, and fits on all of them at each release.

    A fit that can starts from the model before it: the released model's predictions are known offsets of the records, and what the
    fit learns is added to the model, the point of its score, too. **Guarantee.** That of `Refits`: noise for gradients cut at a bound is the same whatever
    the offsets, and released numbers may be used in any later fit.

    Source: 003, Mechanism 1.
    """

    def __init__(self, task: Task, refits: Refits) -> None:
        self.schedule, self.event = refits.schedule, refits.event
        self.task, self.refits = task, refits
        # A digest of the settings tells other settings from other plans for the same; and "auto" stays with what it took.
        taken = [fit.task.solver for fit in refits.fits if task.solver == "auto"]
        self.public = {SETTINGS: self._digest(), SOLVERS: taken}
        self._parts: list[Rows] = []
        self._position = 0
        self._release: Release | None = None

    @property
    def fingerprint(self) -> str:
        """Names everything public that the kept rows and the models depend on; where answers are made use of as before, as it did before."""
        used = max(TODAY - self.refits.fits[0].task.earlier, 0)
        fits = [*(fit.bought.event.to_dict() for fit in self.refits.fits), *self.refits.heights]
        weights = {"weights": HEAVIEST} if self.task.domain.weight else {}
        return self._digest(fits=fits, **({"used": used} if used else {}), **weights)

    def _digest(self, **bought: Any) -> str:
        task, problem = self.task, self.refits.fits[0].problem
        facts = {
            "format": FORMAT,
            **task.facts,
            "columns": list(self.refits.fits[0].encoding.facts.columns),
            "calibration": str(task.calibration),
            "loss": task.loss.to_dict(),
            "solver": solver_to_dict(task.solver),
            "constraint": None if problem.constraint is None else problem.constraint.to_dict(),
            "penalty": task.penalty.to_dict(),
            "schedule": self.schedule.to_dict(),
            **bought,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True, default=repr).encode()).hexdigest()

    @property
    def position(self) -> int:
        """Records taken."""
        return self._position

    def take(self, rows: Rows) -> None:
        """Keep records, and fit wherever they complete a step; after the last fit nothing is kept."""
        start, count = 0, rows.Y.shape[0]
        while start < count:
            step = self.schedule.completed(self._position) + 1
            if step > self.schedule.steps:
                self._position += count - start
                return
            stop = min(count, start + self.schedule.position(step) - self._position)
            self._parts.append(part(rows, np.arange(start, stop)))
            self._position += stop - start
            start = stop
            if self.schedule.completed(self._position) == step:
                self._fit(step)
                if step == self.schedule.steps:
                    self._parts = []

    def released(self) -> Release | None:
        """The model of the last fit; it stays until the next."""
        return self._release

    def snapshot(self) -> Snapshot:
        """The records and the last release. PRIVATE, of a size that grows with the number of records and says nothing else of them."""
        rows = self._rows()
        arrays: dict[str, Array] = {}
        if rows is not None:
            own = {"Y": rows.Y, "weight": rows.weight, "offset": rows.offset, "unit": rows.unit}
            # Cell by cell, also where rows are sparse: how many cells are not 0 would show in the size of the file.
            matrix = {"X": rows.X} if isinstance(rows.X, np.ndarray) else {"cells": rows.X.toarray()}
            arrays = {**matrix, **{name: value for name, value in own.items() if value is not None}}
        release = None if self._release is None else self._release.to_dict()
        return Snapshot({"position": self._position, "release": release}, arrays)

    def restore(self, snapshot: Snapshot) -> None:
        """Go on with the records and the release of a snapshot; raises where its arrays are not those of so many records."""
        from scipy.sparse import csr_array

        arrays, release = snapshot.arrays, snapshot.numbers["release"]
        self._position = int(snapshot.numbers["position"])
        facts, m, unit = self.refits.fits[0].encoding.facts, self._position, self.task.domain.unit
        p, k = facts.width, len(facts.targets)
        self._release = None if release is None else Release.from_dict(release).of_width(p)
        shapes = {"X": (m, p), "cells": (m, p), "Y": (m, k), "weight": (m,), "offset": (m,), "unit": (m, 4)}
        own = {"Y", *({"unit"} if unit else ())} if 0 < m < self.schedule.position(self.schedule.steps) else set()
        own ^= arrays.keys() & {"Y", "unit"}
        for name, one in arrays.items():
            as_kept(one, np.broadcast_to(np.zeros((), "i8" if name == "unit" else "f8"), shapes[name]))
        if own:
            raise ValueError("records of another stream")
        others: list[Any] = [arrays.get(name) for name in ("Y", "weight", "offset", "unit")]
        self._parts = [Rows(arrays["X"] if "X" in arrays else csr_array(arrays["cells"]), *others)] if arrays else []

    def _fit(self, step: int) -> None:
        fit, before, rows = self.refits.fits[step - 1], self._release, self._rows()
        assert rows is not None
        rows = rows if self.task.domain.unit is None else counting(rows, self.task.domain.records_per_unit)
        rows = self.refits.counted(rows, step)
        if before is None or not corrects(fit):
            release, onward = answer(fit, rows), False
        else:
            fit = replace(fit, problem=replace(fit.problem, before=tuple(before.theta[:, 0].tolist())))
            more, onward = answer(fit, replace(rows, offset=(rows.X @ before.theta)[:, 0])), True
            theta = before.theta + more.theta
            scores = tuple(replace(one, point=before.theta[:, 0] + one.point) for one in more.scores)
            release = replace(more, theta=theta, scores=scores)
        plan = {**release.plan, "fit": step, "of": self.schedule.steps, "starts from the model before": onward}
        plan["records"] = self.schedule.position(step)
        horizon = self.schedule.position(self.schedule.steps)
        together = replace(  # of all fits, in place of the one fit's
            release.statement, event=self.event, budget=self.task.budget, records=horizon, horizon=horizon
        )
        self._release = replace(release, statement=together, plan=plan)

    def _rows(self) -> Rows | None:
        """All records so far, as one table."""
        if len(self._parts) > 1:
            self._parts = [Rows(*map(_joined, zip(*map(held, self._parts), strict=True)))]
        return self._parts[0] if self._parts else None


def counting(rows: Rows, share: int) -> Rows:
    """A stream's records, their units by number: the first `share` of positive weight of each unit at their weights, others and those of nobody at 0. PRIVATE.

    Whether a record counts depends on its own unit's records alone, and once it counts it does so in all later fits.
    """
    assert rows.unit is not None
    units = numbered([one.tobytes().hex() for one in rows.unit])
    weight = np.ones(len(units)) if rows.weight is None else rows.weight
    places = np.flatnonzero(rows.unit.any(axis=1) & (weight > 0.0))
    places = places[np.argsort(units[places], kind="stable")]
    earlier = np.arange(len(places)) - np.searchsorted(units[places], units[places])  # of the same unit
    counts = np.isin(np.arange(len(units)), places[earlier < share])
    return replace(rows, weight=weight * counts, unit=units if share > 1 else None)


def _joined(parts: Sequence[Any]) -> Any:
    """The parts' values, one after the other; None where they have none."""
    if parts[0] is None:
        return None
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")


def corrects(fit: PlannedFit) -> bool:
    """Whether a fit can start from the model before it: it then learns what is to be added to that model.

    The predictions of the earlier model are known offsets of the records. Where a set or penalty speaks of the coefficients themselves,
    or the solver asks for moments or minimisers, a fit starts afresh.
    """
    problem = fit.problem
    free = problem.constraint is None and isinstance(problem.penalty, NoPenalty) and problem.targets == 1
    smooth = isinstance(problem.loss, Loss) and problem.loss.kernel_code != KernelCode.POISSON
    return free and smooth and fit.plan.solver in CORRECTS and fit.allowance.is_private
