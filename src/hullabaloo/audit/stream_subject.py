"""A stream as something to audit."""

from typing import Any

import numpy as np
from sklearn.base import clone

from hullabaloo.audit.privacy_loss import Array
from hullabaloo.audit.refits import TracedRefits
from hullabaloo.audit.streams import TracedSums
from hullabaloo.audit.subject import Subject
from hullabaloo.curation.moments_process import MomentsProcess
from hullabaloo.curation.prefixes import PrefixProcess
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Neighbours
from hullabaloo.streaming.base import PrivateStream

_APART = {"ledger": None, "dataset": None, "test_key": None}


def of_stream(estimator: PrivateStream, width: int) -> Subject:
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
    neighbours, budget = Neighbours.parse(stream.neighbours), stream.budget
    assert budget is not None
    if isinstance(process, MomentsProcess):
        solver, records = process.query.strategy.name, process.task.records
        about: TracedSums | TracedRefits = TracedSums.of(process, encoding.facts)
        where = "the record that counts most in the encoding"
    else:
        assert isinstance(process, PrefixProcess)
        solver = process.refits.fits[-1].plan.solver
        records = process.schedule.position(process.schedule.steps)
        about, where = TracedRefits.of(process.task, process.refits), "the first record"

    def released(truth: int, key: TestKey | None) -> Array:
        release = about.released(truth, key)
        return np.zeros(1) if release is None else np.ravel(release.theta)

    other = "an absent one" if neighbours is Neighbours.ADD_OR_REMOVE else "its opposite"
    return Subject(
        name=type(stream).__name__,
        solver=solver,
        neighbours=neighbours,
        unit="record",
        records=records,
        words=f"{where} replaced by {other}, as long as the domain allows",
        claim=process.event,
        parts=about.parts,
        budget=budget,
        log=about.log,
        released=released,
    )
