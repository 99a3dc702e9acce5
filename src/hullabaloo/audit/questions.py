"""One question of a curator as something to audit: what no solver asks, such as a score of coefficients or bounds of columns."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np

from hullabaloo.audit import heard
from hullabaloo.audit.heard import Array, Heard
from hullabaloo.audit.transcript import QUIET, quiet
from hullabaloo.curator import Curator, NoisySum, QuantilesQuery
from hullabaloo.curator.quantiles import exact_scores
from hullabaloo.data import Rows
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Event, Neighbours, compose

Pair = tuple[Rows, Rows]
Ask = Callable[[Curator], Any]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A query on two encoded tables that differ in one record.

    Attributes:
        query: a noisy sum that is answered as a sum, or a choice of quantiles.
        tables: the tables.
        ask: the question.
        budget: what it was allowed.
        words: how the tables differ.
    """

    query: Any
    tables: Pair
    ask: Ask
    budget: Budget
    words: str
    _exact: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    unit = "record"
    opaque = False

    @property
    def name(self) -> str:
        """The query's."""
        return str(self.query.name)

    solver = name

    @property
    def neighbours(self) -> Neighbours:
        """The relation."""
        found: Neighbours = self.query.neighbours
        return found

    @property
    def records(self) -> int:
        """The public number of records."""
        return int(self.query.records)

    @property
    def claim(self) -> Event:
        """What all answers cost."""
        return compose(self.query.event, count=self.query.count)

    parts = claim

    def log(self, truth: int, key: TestKey | None) -> list[Heard]:
        """What the answers of one run tell."""
        answer = self.ask(Curator(self.tables[truth], [self.query], key=key))
        if isinstance(self.query, QuantilesQuery):
            return [self._chosen(number, pair, truth) for number, pair in enumerate(answer)]
        assert isinstance(self.query, NoisySum)
        if not self._exact:
            made = quiet(self.query)
            first, second = (self.ask(Curator(rows, [made], key=QUIET)) / self.query.sigma for rows in self.tables)
            self._exact[0] = first, second
        allowed = self.query.event.gdp_mu() or 0.0
        return [heard.gaussian(self.name, allowed, answer / self.query.sigma, self._exact[0], truth, each=False)]

    def _chosen(self, number: int, pair: tuple[float, float], truth: int) -> Heard:
        """A pair of candidates, by the laws of all of them."""
        query, points = self.query, self.query.grids[number].points
        if number not in self._exact:
            rate = query.epsilon / (2.0 * query.sensitivity)
            first, second = (heard.exponential(rate * exact_scores(rows, query, number)) for rows in self.tables)
            self._exact[number] = first, second
        logs = self._exact[number]
        found = _number(query, points, pair)
        losses, best = logs[1] - logs[0], int(np.argmax(logs[truth]))
        realised, chance = float(np.ptp(losses)), float(np.exp(logs[truth][best]))
        luck = (float(found == best) - chance, chance * (1.0 - chance))
        return Heard(self.name, float(losses[found]), realised, query.epsilon, realised**2 / 8.0, luck=luck)

    def released(self, truth: int, key: TestKey | None) -> Array:
        """The answer."""
        return np.ravel(np.asarray(self.ask(Curator(self.tables[truth], [self.query], key=key)), dtype=np.float64))


def _number(query: QuantilesQuery, points: Array, pair: tuple[float, float]) -> int:
    """The number of a pair of candidates, in the order of `exact_scores`."""
    low, high = (int(np.searchsorted(points, end)) for end in pair)
    if query.shares[1] == 0.0:
        return low
    if query.shares[0] == 0.0:
        return high - 1
    return low * (points.size - 1) - low * (low - 1) // 2 + high - low - 1


def worst(question: Question, pairs: Iterable[tuple[Pair, str]]) -> Question:
    """The question on the pair of tables whose answers are furthest apart."""
    tried = [replace(question, tables=tables, words=words, _exact={}) for tables, words in pairs]
    return max(tried, key=lambda one: sum(h.rho for h in one.log(0, QUIET)))
