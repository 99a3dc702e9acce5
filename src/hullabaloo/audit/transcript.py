"""The transcript of a fit: every question that a solver asks, and what its answer tells about which of two tables was asked.

Nothing here knows a solver. A curator is wrapped: what the solver asks is asked of the real one, and the query's own code tells what it adds noise
to over *both* tables (coordinate descent, whose predictions move with its answers, is carried out at as little noise as its lattice holds, below
1e-6 of the real). An answer is a public linear map of independent Gaussian coordinates, one line for each query below; so the likelihood of the
whole transcript is known under either table, however questions depend on answers.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.audit import privacy_loss
from hullabaloo.audit.privacy_loss import Array, PrivacyLoss
from hullabaloo.curator import CoordinateGradientQuery, Curator, LaplaceSecondMomentsQuery, Query
from hullabaloo.curator.moments import MomentsQuery, isometric
from hullabaloo.curator.views import centred_rows, chosen_columns, of_target, turned_rows
from hullabaloo.data import Rows
from hullabaloo.erm.objective_perturbation import ObjectivePerturbationQuery
from hullabaloo.erm.output_perturbation import LaplaceMinimiserQuery, OutputPerturbationQuery
from hullabaloo.errors import CalibrationError, CapabilityError
from hullabaloo.noise import TestKey
from hullabaloo.privacy.answers import Descent, NoisyMoments
from hullabaloo.selection.choice import Choice
from hullabaloo.selection.quantiles import QuantilesQuery
from hullabaloo.selection.select import SelectQuery

QUIET = TestKey(bytes(32)).derive("near-noiseless")
MARGIN = 4
"""Octaves above the least noise that a lattice holds: a library whose noise is smaller than it states, which is to be caught, must answer too."""
FAR = 20.0
"""Two near-noiseless answers are never further from the difference of the exact ones, in units of their noise (p < 1e-40)."""


def _matrix(query: MomentsQuery, answer: NoisyMoments) -> Array:
    whole = np.block([[answer.gram, answer.cross], [answer.cross.T, answer.square]])
    return isometric(whole * np.outer(query.scales, query.scales)) * query.records


COORDINATES: Mapping[str, Callable[..., Any]] = {
    "means": lambda q, a: a * (q.records / q.clip_norm),
    "output_perturbation": lambda _, a, *asked: a,
    "laplace_minimiser": lambda _, a, *asked: a,
    "moments": _matrix,
    "score": lambda _, a, *asked: a,
    "covariance": lambda q, a, centre, clip_norm: isometric(a) * (q.records / clip_norm**2),
    "gradient_moments": lambda q, a, theta, of, view, clip_norm: (
        isometric(a) * (q.records / (clip_norm**2 * q.weighing(of)))
    ),
    "centred_gradient": lambda q, a, theta, view, clip_norm: a * view.scale * (q.records / clip_norm),
}
"""The map from an answer to the coordinates that have the stated noise; of sums that are not named, what a mean is made of."""


@dataclass(frozen=True, slots=True, eq=False)
class TracedTables:
    """Queries and two encoded neighbouring tables: all that is computed once for any number of runs.

    Attributes:
        queries: what was planned, and how much noise it states.
        tables: the encoded rows of both.
        kept: what the audit works out once, about these tables or about the queries.
    """

    queries: Sequence[Any]
    tables: tuple[Rows, Rows]
    kept: dict[Any, Any] = field(default_factory=dict)

    def traced(self, truth: int, key: TestKey | None) -> "TracingCurator":
        """A curator of table number `truth` that keeps a transcript."""
        return TracingCurator(self, truth, Curator(self.tables[truth], self.queries, key=key), self.tables)

    def once(self, what: str, query: Query, work: Callable[[], Any]) -> Any:
        """What is worked out about a query, once."""
        if (what, id(query)) not in self.kept:
            self.kept[what, id(query)] = work()
        return self.kept[what, id(query)]


@dataclass(slots=True, eq=False)
class TracingCurator:
    """A curator as a solver sees it, which writes down in `log` what was answered."""

    about: TracedTables
    truth: int
    curator: Curator
    tables: tuple[Rows, Rows]
    log: list[PrivacyLoss] = field(default_factory=list)
    asked: Counter[Any] = field(default_factory=Counter)
    work: dict[Any, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.work = {} if self.tables is not self.about.tables else self.about.kept

    def give_up(self, count: int) -> None:
        """Not here: an audit is of all that is charged for."""
        raise CapabilityError(
            "The solver gives up answers that were paid for, and an audit is of all of them. Let it ask for each, or audit one that does."
        )

    def of_target(self, target: int) -> "TracingCurator":
        """See `Curator`, as for every view."""
        return self._seen(self.curator.of_target(target), lambda rows: of_target(rows, target))

    def restricted(self, columns: npt.ArrayLike) -> "TracingCurator":
        """A selection of columns."""
        intercept, found = any(query.facts.intercept for query in self.about.queries), np.array(columns, dtype=np.int64)
        return self._seen(self.curator.restricted(columns), lambda rows: chosen_columns(rows, found, intercept))

    def projected(self, matrix: npt.ArrayLike) -> "TracingCurator":
        """Rows through a matrix."""
        found = np.array(matrix, dtype=np.float64, order="C")
        return self._seen(self.curator.projected(matrix), lambda rows: turned_rows(rows, found))

    def centred(self, centre: npt.ArrayLike) -> "TracingCurator":
        """Rows from a centre."""
        found = np.array(centre, dtype=np.float64)
        return self._seen(self.curator.centred(centre), lambda rows: centred_rows(rows, found))

    def _seen(self, part: Curator, view: Callable[[Rows], Rows]) -> "TracingCurator":
        first, second = map(view, self.tables)
        return TracingCurator(self.about, self.truth, part, (first, second), self.log, self.asked)

    def answer(self, name: str, /, *given: Any, **named: Any) -> Any:
        """What the curator answers, which is written down."""
        found = self.curator.answer(name, *given, **named)
        query = self._query(name)
        question = query.question(*given, **named)
        self.asked[name, self.tables[0].X.shape[1]] += query.times(question)
        if isinstance(query, CoordinateGradientQuery):
            self.log.append(self._descended(query, found, *question))
        elif isinstance(query, Choice):
            asked = question if isinstance(query, SelectQuery) else (query, *question)
            self.log.append(self._chosen(found, *asked))
        elif isinstance(query, QuantilesQuery):
            self.log += self._bounded(query, found)
        elif isinstance(query, ObjectivePerturbationQuery):
            self.log.append(privacy_loss.perturbed(query, self.tables, found, self.truth))
        else:
            self.log.append(self._heard(query, found, question))
        return found

    def _heard(self, query: Any, answer: Any, question: tuple[Any, ...]) -> PrivacyLoss:
        """A sum or a minimiser with noise, in units of its noise."""
        plain = isinstance(query, LaplaceSecondMomentsQuery | LaplaceMinimiserQuery)
        size = query.scale if plain else query.sigma
        exact = self._exact(query, question)
        white: Callable[..., Any] = COORDINATES.get(query.name, lambda q, a, *_: a * q.records)
        told = np.ravel(np.asarray(white(query, answer, *question), dtype=np.float64)) / size
        pair = exact[0] / size, exact[1] / size
        if plain:
            return privacy_loss.laplace(query.name, query.event.pure_epsilon(), told, pair, self.truth)
        return privacy_loss.gaussian(query.name, query.event.gdp_mu() or 0.0, told, pair, self.truth, each=False)

    def _exact(self, query: Any, question: tuple[Any, ...]) -> list[Array]:
        """What noise is added to over both tables; of both as they are, asked at zero or at nothing, worked out once."""

        def both() -> list[Array]:
            return [self._value(query, which, question) for which in (0, 1)]

        plain = self.tables is self.about.tables and not any(map(np.any, question))
        return self.about.once("exact", query, both) if plain else both()

    def _value(self, query: Any, which: int, question: tuple[Any, ...]) -> Array:
        if not isinstance(query, OutputPerturbationQuery | LaplaceMinimiserQuery):
            return np.ravel(query.exact(self.tables[which], *question))
        place = "work", which, id(query)
        if place not in self.work:
            self.work[place] = query.kept_work(self.tables[which])
        return np.asarray(self.work[place].minimiser(question[0] * query.records))

    def _descended(self, query: CoordinateGradientQuery, found: Descent, updates: Any) -> PrivacyLoss:
        """One number an update, in units of the coordinate's clip, asked at the point to which the updates before it have led."""
        almost = self.about.once("quiet", query, lambda: noiseless(query))
        point, exact, order = updates.theta.copy(), np.empty((2, updates.order.size)), updates.order
        for k, j in enumerate(order.tolist()):
            one = replace(updates, theta=point, order=order[k : k + 1])
            for which, rows in enumerate(self.tables):
                kept = self.work.setdefault(("descent", which), {})
                exact[which, k] = almost.answered(rows, (one,), QUIET.derive(k), kept).partials[0]
            step = float(updates.steps[j])
            point[j] = updates.form.prox_at(j, float(point[j] - step * found.partials[k]), step)
        unit = query.records / updates.clips[order] / query.sigma
        allowed = (query.event.gdp_mu() or 0.0) + FAR * almost.sigma / query.sigma
        pair = (exact[0] * unit, exact[1] * unit)
        return privacy_loss.gaussian("coordinate_gradient", allowed, found.partials * unit, pair, self.truth, each=True)

    def _chosen(self, found: int, query: Choice, theta: Array, excluded: Any, within: Any) -> PrivacyLoss:
        first, second = (query.exact_scores(rows, theta, within) for rows in self.tables)
        return privacy_loss.chosen(query, found, (first, second), excluded, self.truth)

    def _bounded(self, query: QuantilesQuery, found: list[tuple[float, float]]) -> list[PrivacyLoss]:
        """A pair of candidates for each column."""
        told = []
        for column, pair in enumerate(found):
            points = query.grids[column].points
            low, high = (int(np.searchsorted(points, end)) for end in pair)
            scores = [np.clip(query.exact_scores(rows, column), -query.bound, query.bound) for rows in self.tables]
            number = number_of(query.shares, points.size, low, high)
            told.append(privacy_loss.chosen(query, number, (scores[0], scores[1]), None, self.truth))
        return told

    def _query(self, name: str) -> Any:
        """The query that paid: those of one name and width are used up one after the other, as the curator does."""
        width = int(self.tables[0].X.shape[1])
        alike = [query for query in self.about.queries if query.name == name and query.facts.width == width]
        before = self.asked[name, width]
        for query in alike:
            if before < query.count:
                return query
            before -= query.count
        return alike[-1]


def noiseless(query: CoordinateGradientQuery) -> CoordinateGradientQuery:
    """The same question for as many answers as are asked, at as little noise as its lattice holds, and `MARGIN` octaves more."""
    for octaves in range(34, MARGIN, -1):
        try:
            replace(query, mu=math.ldexp(query.mu, octaves)).event  # noqa: B018  # refuses a coarse lattice
        except CalibrationError:
            continue
        return replace(query, mu=math.ldexp(query.mu, octaves - MARGIN))
    return query


def number_of(shares: tuple[float, float], size: int, low: int, high: int) -> int:
    """The number of a pair of candidates: what `quantiles.pair_at` undoes."""
    if shares[1] == 0.0:
        return low
    return high - 1 if shares[0] == 0.0 else low * (size - 1) - low * (low - 1) // 2 + high - low - 1
