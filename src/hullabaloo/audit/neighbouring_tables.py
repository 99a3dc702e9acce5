"""An estimator on a canary: planned once, both tables encoded once; and the canary that it suffers most from."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hullabaloo.audit import canary as canaries
from hullabaloo.audit.canary import Canary
from hullabaloo.audit.privacy_loss import Array, PrivacyLoss, has_law
from hullabaloo.audit.subject import Subject, apart
from hullabaloo.audit.transcript import TracedTables
from hullabaloo.curation.scoring import answer
from hullabaloo.data import Encoding
from hullabaloo.erm.objective_perturbation import ObjectivePerturbationQuery
from hullabaloo.errors import HullabalooError
from hullabaloo.noise import TestKey
from hullabaloo.privacy import compose_answers
from hullabaloo.release.planned import Task, prepare
from hullabaloo.solvers import SeparateTargetsSolver, Solver
from hullabaloo.solvers.gradient.measured_gradient import BRIEF
from hullabaloo.solvers.moments.moments import MomentsFirstSolver

TRIALS = 3
ENOUGH = 0.99
"""The share of the claim at which the search for a canary ends."""
USUAL = 1000
"""Records of a fit whose number nobody said."""
_APART = TestKey(bytes(32)).derive("canaries are chosen under noise of their own")


def staged(estimator: Any, canary: Canary, solver: str | Solver) -> Subject:
    """An estimator, without its ledger and key, planned for a canary's tables."""
    model = apart(estimator, domain=canary.domain)
    domain, scale, exposure = model._declared()
    tables = [canary.table(which) for which in (0, 1)]
    options = {"fit_intercept": bool(model.fit_intercept), "scale": scale, "exposure": exposure}
    encoding = domain.encoding_for(**tables[0], **options)
    task = replace(model._task(encoding), solver=solver, inference=False)
    prepared = prepare(task, encoding, len(tables[0]["table"]) if task.count_is_public else None)
    first, second = (encoding.encode(**table) for table in tables)
    about, plan = TracedTables(prepared.bought.queries, (first, second)), prepared.plan

    def log(truth: int, key: TestKey | None) -> Sequence[PrivacyLoss]:
        traced = about.traced(truth, key)
        prepared.solve(traced)
        return traced.log

    def released(truth: int, key: TestKey | None) -> Array:
        keyed = replace(prepared, task=replace(task, key=key))
        return np.ravel(answer(keyed, about.tables[truth]).theta)

    return Subject(
        name=type(model).__name__,
        solver=plan.solver,
        neighbours=task.neighbours,
        unit=task.unit,
        records=prepared.problem.records,
        words=canary.words,
        claim=plan.event,
        parts=compose_answers(about.queries),
        budget=prepared.bought.budget,
        log=log,
        released=released,
        opaque=not all(has_law(query, about.tables) for query in _perturbed(about.queries)),
        queries=about.queries,
        canary=canary,
    )


def _perturbed(queries: Sequence[Any]) -> list[ObjectivePerturbationQuery]:
    return [query for query in queries if isinstance(query, ObjectivePerturbationQuery)]


def strength(subject: Subject) -> float:
    """How far apart the tables are for this estimator, larger being worse, from a few runs."""
    runs = [(which, _APART.derive(trial)) for trial in range(TRIALS) for which in (0, 1)]
    if _perturbed(subject.queries):  # whose laws have no simple distance: how far one draw moves the coefficients
        found = [subject.released(*run) for run in runs]
        return float(np.mean([np.sum((a - b) ** 2) for a, b in zip(found[::2], found[1::2], strict=True)]))
    return float(np.mean([sum(answer.rho for answer in subject.log(*run)) for run in runs]))


def solver_of(estimator: Any, width: int, records: int | None) -> str | Solver:
    """The solver that a fit of so many records is given: what "auto" chooses for a table of a few is not what is to be audited."""
    if estimator.solver != "auto":
        return estimator.solver  # type: ignore[no-any-return]
    task, encoding = _public(estimator, width)
    count = (records or estimator.domain.records or USUAL) if task.count_is_public else None
    chosen = prepare(task, encoding, count).solver
    if isinstance(chosen, MomentsFirstSolver):  # all that is charged for, of which a fit may ask the first answer alone
        return replace(chosen, enough=-1.0)
    if chosen == BRIEF:
        return replace(BRIEF, brief=False)
    return chosen.solver if isinstance(chosen, SeparateTargetsSolver) else chosen


def hardest(estimator: Any, width: int, solver: str | Solver) -> Subject:
    """The estimator on the canary that realises most: the best pair of records, then its best surroundings."""
    relation = _public(estimator, width)[0].neighbours
    best = _best(estimator, canaries.pairs(estimator.domain, relation, width), solver)
    assert best.canary is not None
    return _best(estimator, canaries.surroundings(best.canary, width), solver, best)


def _public(estimator: Any, width: int) -> tuple[Task, Encoding]:
    model = apart(estimator)
    encoding = model._encoding(None, None if model.domain.features else width)
    return replace(model._task(encoding), inference=False), encoding


def _best(estimator: Any, family: Iterable[Canary], solver: str | Solver, best: Subject | None = None) -> Subject:
    most = strength(best) if best else -1.0
    refused: HullabalooError | None = None
    for canary in family:
        rho = None if best is None or _perturbed(best.queries) else best.claim.zcdp_rho()
        if rho is not None and most >= ENOUGH * rho:
            break
        try:
            tried = staged(estimator, canary, solver)
            found = strength(tried)
        except HullabalooError as error:  # too few records for this solver, say
            refused = error
            continue
        if found > 1.02 * most:  # a little more is not worth longer runs
            best, most = tried, found
    if best is None:
        assert refused is not None
        raise refused
    return best
