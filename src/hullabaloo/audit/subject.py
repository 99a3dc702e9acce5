"""What is audited: anything that releases from one of two neighbouring tables and claims a price for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hullabaloo.audit.canary import Canary
from hullabaloo.audit.privacy_loss import Array, PrivacyLoss
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Event, Neighbours

OWN = ("ledger", "dataset", "test_key", "state", "key_file")
"""Parameters of an estimator or a stream that an audit leaves aside."""


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """An estimator, a stream or a query on the pair of tables that it suffers most from: planned once, run any number of times.

    Attributes:
        name, solver, neighbours, unit, records: what its statement says.
        words: how the two tables differ.
        claim: what a release is said to cost.
        parts: what its answers cost, put together here.
        budget: what it was allowed.
        log: what all answers of one run on table number `truth` tell, given truth and key.
        released: what one run releases, as one vector.
        opaque: whether the law of an answer is not known, so that the release is judged as a black box.
        queries: the queries that were planned, of an estimator or a query.
        canary: the tables in the user's units, of an estimator.
    """

    name: str
    solver: str
    neighbours: Neighbours
    unit: str
    records: int
    words: str
    claim: Event
    parts: Event
    budget: Budget
    log: Callable[[int, TestKey | None], Sequence[PrivacyLoss]]
    released: Callable[[int, TestKey | None], Array]
    opaque: bool = False
    queries: Sequence[Any] = ()
    canary: Canary | None = None


def apart(estimator: Any, **changed: Any) -> Any:
    """A fresh estimator or stream without what is its owner's (`OWN`), other parameters changed."""
    given = estimator.get_params(deep=False)
    own: dict[str, Any] = {name: None for name in OWN if name in given}
    if "estimator" in given:
        own["estimator"] = apart(given["estimator"])
    return type(estimator)(**{**given, **own, **changed})
