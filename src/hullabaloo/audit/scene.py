"""An estimator on a canary: planned once, both tables encoded once; and the canary that it suffers most from."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from hullabaloo.audit import canary as canaries
from hullabaloo.audit.canary import Canary
from hullabaloo.audit.heard import Array, Heard
from hullabaloo.audit.laws import PerturbedLaw
from hullabaloo.audit.transcript import Stage
from hullabaloo.data import Domain, Encoding
from hullabaloo.erm.objective_perturbation import PerturbedMinimizerQuery
from hullabaloo.errors import HullabalooError
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Event, Neighbours, compose
from hullabaloo.release.fit import Prepared, Task, answer, prepare
from hullabaloo.solvers import Solver
from hullabaloo.solvers.separate_targets import SeparateTargetsSolver

TRIALS = 3
ENOUGH = 0.99
"""The share of the claim at which the search for a canary ends."""
USUAL = 1000
"""Records of a fit whose number nobody said."""
_APART = TestKey(bytes(32)).derive("canaries are chosen under noise of their own")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """An estimator on a canary.

    Attributes:
        name: the estimator's.
        canary: the tables in the user's units.
        prepared: the plan.
        stage: its quotes and the encoded tables.
    """

    name: str
    canary: Canary
    prepared: Prepared
    stage: Stage

    def released(self, truth: int, key: TestKey | None) -> Array:
        """The coefficients that one fit of table number `truth` releases, as one vector."""
        keyed = replace(self.prepared, task=replace(self.prepared.task, key=key))
        return np.ravel(answer(keyed, self.stage.tables[truth], None).theta)

    def log(self, truth: int, key: TestKey | None) -> Sequence[Heard]:
        """What the answers of one fit of table number `truth` tell."""
        listener = self.stage.listener(truth, key)
        self.prepared.solver.run(self.prepared.problem, self.prepared.plan, listener)
        return listener.log

    @property
    def solver(self) -> str:
        """The plan's."""
        return self.prepared.plan.solver

    @property
    def neighbours(self) -> Neighbours:
        """The relation."""
        return self.prepared.task.neighbours

    @property
    def unit(self) -> str:
        """The unit of privacy."""
        return self.prepared.task.terms.unit

    @property
    def records(self) -> int:
        """The public number of records."""
        return self.prepared.problem.records

    @property
    def words(self) -> str:
        """How the tables differ."""
        return self.canary.words

    @property
    def claim(self) -> Event:
        """What the plan says that it costs."""
        return self.prepared.plan.event

    @property
    def parts(self) -> Event:
        """What its answers cost together."""
        return compose(*(compose(quote.event, count=quote.count) for quote in self.stage.quotes))

    @property
    def budget(self) -> Budget:
        """What the fit declares."""
        return self.prepared.budget

    @property
    def opaque(self) -> bool:
        """Whether an answer's law is not known in closed form."""
        return any(PerturbedLaw.of(quote, self.stage.tables) is None for quote in self._perturbed)

    @property
    def _perturbed(self) -> list[PerturbedMinimizerQuery]:
        return [quote for quote in self.stage.quotes if isinstance(quote, PerturbedMinimizerQuery)]

    def strength(self) -> float:
        """How far apart the tables are for this estimator, larger being worse, from a few runs."""
        runs = [(which, _APART.derive(trial)) for trial in range(TRIALS) for which in (0, 1)]
        if (
            self._perturbed
        ):  # how far apart their laws are has no simple measure: how far one draw moves the coefficients
            found = [self.released(*run) for run in runs]
            return float(np.mean([np.sum((a - b) ** 2) for a, b in zip(found[::2], found[1::2], strict=True)]))
        return float(np.mean([sum(answer.rho for answer in self.log(*run)) for run in runs]))

    @property
    def enough(self) -> float:
        """The strength at which there is nothing more to find."""
        rho = None if self._perturbed else self.claim.zcdp_rho()
        return math.inf if rho is None else ENOUGH * rho


def staged(estimator: Any, canary: Canary, solver: str | Solver) -> Scene:
    """An estimator, without its ledger and key, planned for a canary's tables."""
    model = _apart(estimator, canary.domain)
    domain, scale, exposure = model._declared()
    tables = [canary.table(which) for which in (0, 1)]
    options = {"fit_intercept": bool(model.fit_intercept), "scale": scale, "exposure": exposure}
    encoding = domain.encoding_for(**tables[0], **options)
    task = replace(model._task(encoding), solver=solver)
    prepared = prepare(task, encoding, len(tables[0]["table"]) if task.terms.count_is_public else None)
    first, second = (encoding.encode(**table) for table in tables)
    return Scene(type(model).__name__, canary, prepared, Stage(prepared.plan.quotes, (first, second)))


def solver_of(estimator: Any, width: int, records: int | None) -> str | Solver:
    """The solver that a fit of so many records is given: what "auto" chooses for a table of a few is not what is to be audited."""
    if estimator.solver != "auto":
        named: str | Solver = estimator.solver
        return named
    model = _apart(estimator, estimator.domain)
    task, encoding = _public(model, width)
    count = (records or model.domain.records or USUAL) if task.terms.count_is_public else None
    chosen = prepare(task, encoding, count).solver
    return chosen.solver if isinstance(chosen, SeparateTargetsSolver) else chosen


def hardest(estimator: Any, width: int, solver: str | Solver) -> Scene:
    """The estimator on the canary that realises most: the best pair of records, then its best surroundings."""
    relation = _public(_apart(estimator, estimator.domain), width)[0].neighbours
    best = _best(estimator, canaries.pairs(estimator.domain, relation, width), solver)
    return _best(estimator, canaries.surroundings(best.canary, width), solver, best)


def _apart(estimator: Any, domain: Domain) -> Any:
    others = {"ledger": None, "dataset": None, "test_key": None, "domain": domain}
    return type(estimator)(**{**estimator.get_params(deep=False), **others})


def _public(model: Any, width: int) -> tuple[Task, Encoding]:
    encoding = model._encoding(None, None if model.domain.features else width)
    return model._task(encoding), encoding


def _best(estimator: Any, tried: Iterable[Canary], solver: str | Solver, best: Scene | None = None) -> Scene:
    most = best.strength() if best else -1.0
    refused: HullabalooError | None = None
    for canary in tried:
        if best is not None and most >= best.enough:
            break
        try:
            scene = staged(estimator, canary, solver)
            found = scene.strength()
        except HullabalooError as error:  # too few records for this solver, say
            refused = error
            continue
        if found > 1.02 * most:  # a little more is not worth longer runs
            best, most = scene, found
    if best is None:
        assert refused is not None
        raise refused
    return best
