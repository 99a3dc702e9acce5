"""What is asked of records that are encoded already, as part of what was charged as a whole: a planned fit, and a score of coefficients."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.curator import Curator, Query, ScoreQuery
from hullabaloo.curator.search_randomness import SearchRandomness
from hullabaloo.data import Encoding, Rows
from hullabaloo.noise import Key
from hullabaloo.privacy import Neighbours
from hullabaloo.queries import PricedQueries
from hullabaloo.release import PlannedFit, Release
from hullabaloo.release.run import answered, stated

__all__ = ["Noise", "SearchRandomness", "answer", "score_noise", "score_of", "score_quote"]


@dataclass(frozen=True, slots=True)
class Noise:
    """Public facts of an answer.

    Attributes:
        sigma: noise of each coordinate.
        records: the public number of records: n, or the declared one.
        count_weight: what the number of records is multiplied by in the answer's last coordinate; 0 where it has none.
        inflation: W m: weights and several records of a person make a sum's sampling variance at most so many times that of
            records counted one by one, `Var Σ w s ≤ W m Σ w Var s`.
    """

    sigma: float
    records: int
    count_weight: float
    inflation: float

    @property
    def number_variance(self) -> float:
        """Of the noisy number of records; 0 where it is public."""
        return (self.sigma / self.count_weight) ** 2 if self.count_weight else 0.0


Read = Callable[[npt.NDArray[np.float64], Noise], float]
"""From a noisy answer to a score; larger is better."""


def score_quote(encoding: Encoding, neighbours: Neighbours, records: int, **question: Any) -> ScoreQuery:
    """What one score costs: a query whose event is at most μ-GDP; `records` is public, the question a reading, its tallies and μ."""
    return PricedQueries(encoding.facts, neighbours, records).price("score", **question)  # type: ignore[no-any-return]


def score_noise(query: Query) -> Noise:
    """The public facts by which an answer to it is read."""
    assert isinstance(query, ScoreQuery)
    facts = query.facts
    inflation = 1.0 if facts.alike else facts.max_weight * facts.records_per_unit
    return Noise(query.sigma, query.records, query.count_weight, inflation)


def score_of(read: Read, query: ScoreQuery, theta: npt.ArrayLike, rows: Rows, key: Key | None = None) -> float:
    """A private score of released coefficients θ, (p, k), on encoded records; larger is better.

    **Guarantee.** One answer to the query, which costs its event; θ is a function of public facts and earlier releases. What it
    costs has been charged, or is part of what was.
    """
    return read(Curator(rows, [query], key=key).answer("score", theta), score_noise(query))


def answer(planned: PlannedFit, rows: Rows, key: Key | None = None) -> Release:
    """Carry a planned fit out, of a release of a stream or a run of a search; what it costs is part of what has been charged, or is not counted.

    `key` is for the noise in place of the task's: a secret one, from which a private fit can be drawn again, or one derived from the task's.
    """
    statement = stated(planned.task, planned.bought, None)  # not made at a time that tells how long it took
    solution = answered(rows, planned.bought, planned.solve, planned.task.key if key is None else key)
    return planned.release(solution, statement)
