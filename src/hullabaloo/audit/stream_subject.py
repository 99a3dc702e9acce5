"""A stream as something to audit."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import clone

from hullabaloo.audit.heard import Array, Heard
from hullabaloo.audit.refits import RefitStage
from hullabaloo.audit.streams import SumsStage
from hullabaloo.curation.moments_process import MomentsProcess
from hullabaloo.curation.prefixes import PrefixProcess
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Event, Neighbours
from hullabaloo.streaming.base import PrivateStream

_APART = {"ledger": None, "dataset": None, "test_key": None}


@final
@dataclass(frozen=True, slots=True, eq=False)
class StreamSubject:
    """Two streams that differ in one record, for one kind of stream.

    Attributes:
        name, solver, neighbours, records, claim, budget: what its statements say.
        stage: the streams, encoded, and how they are run.
    """

    name: str
    solver: str
    neighbours: Neighbours
    records: int
    claim: Event
    budget: Budget
    stage: SumsStage | RefitStage

    unit = "record"
    opaque = False

    @property
    def words(self) -> str:
        """How the streams differ."""
        other = "an absent one" if self.neighbours is Neighbours.ADD_OR_REMOVE else "its opposite"
        where = (
            "the first record" if isinstance(self.stage, RefitStage) else "the record that counts most in the encoding"
        )
        return f"{where} replaced by {other}, as long as the domain allows"

    @property
    def parts(self) -> Event:
        """What its answers cost together."""
        return self.stage.parts

    def log(self, truth: int, key: TestKey | None) -> list[Heard]:
        """What all answers of one stream tell."""
        return self.stage.log(truth, key)

    def released(self, truth: int, key: TestKey | None) -> Array:
        """The coefficients of the last model."""
        release = self.stage.released(truth, key)
        return np.zeros(1) if release is None else np.ravel(release.theta)


def of_stream(estimator: PrivateStream, width: int) -> StreamSubject:
    """A stream, without its ledger, key and state file, on the pair of streams that it suffers most from."""
    stream = clone(estimator)
    private = {"state": None, "key_file": None}
    if hasattr(stream, "estimator"):
        stream.set_params(estimator=clone(stream.estimator).set_params(**_APART), **private)
    else:
        stream.set_params(**_APART, **private)
    domain, scale, exposure = stream._declared()
    options: dict[str, Any] = {"fit_intercept": bool(stream.fit_intercept), "scale": scale, "exposure": exposure}
    encoding = domain.encoding(None, None if domain.features else width, **options)
    process = stream._open(encoding)
    about = (type(stream).__name__, Neighbours.parse(stream.neighbours), process.event, stream.budget)
    name, neighbours, claim, budget = about
    assert budget is not None
    if isinstance(process, MomentsProcess):
        solver, records = process.query.strategy.name, process.task.records
        return StreamSubject(name, solver, neighbours, records, claim, budget, SumsStage.of(process, encoding.facts))
    assert isinstance(process, PrefixProcess)
    last, schedule = process.refits.fits[-1], process.schedule
    stage = RefitStage.of(process.task, process.refits)
    return StreamSubject(name, last.plan.solver, neighbours, schedule.position(schedule.steps), claim, budget, stage)
