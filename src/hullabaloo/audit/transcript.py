"""The transcript of a fit: every question that a solver asks, and what its answer tells about which of two tables was asked.

Nothing here knows a solver. A curator is wrapped: what the solver asks is asked of the real one, and of curators of *both* tables
that answer the same quote without noise, or almost (the library's own code and rounding, at as little noise as the lattice holds,
below 1e-6 of the real: `quiet.py`). An answer is a public linear map of independent Gaussian coordinates, one line for each method of
the curator below; so the likelihood of the whole transcript is known under either table, however questions depend on answers.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, final

import numpy as np
import numpy.typing as npt

from hullabaloo.audit import heard
from hullabaloo.audit.heard import Array, Heard
from hullabaloo.audit.laws import PerturbedLaw
from hullabaloo.audit.quiet import Questions
from hullabaloo.curator import Curator
from hullabaloo.curator.choice import Choice, exact_scores
from hullabaloo.curator.columns import chosen_columns
from hullabaloo.curator.count import CountQuery
from hullabaloo.curator.gradient import GradientQuery
from hullabaloo.curator.lens import Lens
from hullabaloo.curator.minimizer import MinimizerQuery
from hullabaloo.curator.moments import MomentsQuery, isometric
from hullabaloo.curator.partial import PartialQuery
from hullabaloo.curator.perturbed_minimizer import PerturbedMinimizerQuery
from hullabaloo.curator.quantiles import QuantilesQuery
from hullabaloo.curator.quantiles import exact_scores as ranks
from hullabaloo.curator.query import Query
from hullabaloo.curator.scales import ScalesQuery
from hullabaloo.curator.score import ScoreQuery
from hullabaloo.curator.second_moments import LaplaceSecondMomentsQuery, SecondMomentsQuery
from hullabaloo.curator.select import SelectQuery
from hullabaloo.curator.spread import SpreadQuery
from hullabaloo.curator.step import MeansQuery, StepQuery
from hullabaloo.curator.vertex import VertexQuery
from hullabaloo.data import Rows
from hullabaloo.geometry.separable import SeparableForm
from hullabaloo.noise import TestKey
from hullabaloo.privacy.answers import Descent, NoisyMoments

QUIET = TestKey(bytes(32)).derive("near-noiseless")
View = tuple[str, Any]
R = TypeVar("R")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """Quotes and two encoded neighbouring tables: all that is computed once for any number of runs.

    Attributes:
        quotes: what was planned, and how much noise it states.
        tables: the encoded rows of both.
        questions: what the audit knows of the quotes.
    """

    quotes: Sequence[Any]
    tables: tuple[Rows, Rows]
    questions: Questions = field(default_factory=Questions)
    _quiet: dict[int, tuple[Curator, Curator]] = field(default_factory=dict)
    _known: dict[int, tuple[Array, Array]] = field(default_factory=dict)

    def listener(self, truth: int, key: TestKey | None) -> "Listener":
        """A curator of table number `truth` that is listened to."""
        return Listener(self, truth, Curator(self.tables[truth], self.quotes, key=key), (), Counter(), [])

    @property
    def intercept(self) -> bool:
        """Whether rows end with the constant column."""
        return any(quote.facts.intercept for quote in self.quotes)

    def curators(self, query: Query, views: Sequence[View]) -> list[Any]:
        """Near-noiseless curators of both tables for one quote, seen as the solver sees its own."""
        if id(query) not in self._quiet:
            made = self.questions.quiet(query)
            first, second = (Curator(rows, [made], key=QUIET) for rows in self.tables)
            self._quiet[id(query)] = first, second
        found: list[Any] = list(self._quiet[id(query)])
        for name, argument in views:
            found = [getattr(one, name)(argument) for one in found]
        return found

    def known(self, query: Query, answer: Callable[[Any], Array]) -> tuple[Array, Array]:
        """What both tables answer, almost exactly, to a question that does not say where to look: once for all."""
        if id(query) not in self._known:
            first, second = map(answer, self.curators(query, ()))
            self._known[id(query)] = first, second
        return self._known[id(query)]


@final
class Listener:
    """A curator as a solver sees it, which writes down what was answered."""

    def __init__(
        self, stage: Stage, truth: int, curator: Curator, views: tuple[View, ...], asked: Counter[Any], log: list[Heard]
    ) -> None:
        self._stage, self._truth, self._curator, self._views = stage, truth, curator, views
        self._asked, self.log = asked, log
        self._both: dict[int, list[Any]] = {}

    # ---- views -------------------------------------------------------------------------------------------------------

    def of_target(self, target: int) -> "Listener":
        """See `Curator`, as for every method."""
        return self._seen("of_target", target)

    def of_columns(self, columns: npt.ArrayLike) -> "Listener":
        """A selection of columns."""
        return self._seen("of_columns", columns)

    def turned(self, matrix: npt.ArrayLike) -> "Listener":
        """Rows through a matrix."""
        return self._seen("turned", matrix)

    def centred(self, centre: npt.ArrayLike) -> "Listener":
        """Rows from a centre."""
        return self._seen("centred", centre)

    def _seen(self, name: str, argument: Any) -> "Listener":
        argument = argument if isinstance(argument, int) else np.array(argument)
        part = getattr(self._curator, name)(argument)
        return Listener(self._stage, self._truth, part, (*self._views, (name, argument)), self._asked, self.log)

    # ---- sums and minimisers with Gaussian noise: the map from an answer to coordinates with the noise σ -------------

    def gradient(self, theta: Array) -> Array:
        """σ/n a coordinate."""
        return self._listen(GradientQuery, lambda q, a: a * q.records, Curator.gradient, theta)

    def means(self) -> Array:
        """In units of the reach."""
        return self._listen(MeansQuery, lambda q, a: a * (q.records / q.reach), Curator.means)

    def scales(self, theta: Array | None, *, centre: Array, lift: float, edges: Array) -> Array:
        """σ/n a bin."""
        view = {"centre": centre, "lift": lift, "edges": edges}
        return self._listen(ScalesQuery, lambda q, a: a * q.records, Curator.scales, theta, **view)

    def step(self, theta: Array, *, centre: Array, lift: float, reach: float) -> Array:
        """In units of the reach, the intercept's by its weight."""
        lens = Lens(centre, lift)
        view = {"centre": centre, "lift": lift, "reach": reach}
        white = lambda q, a: a * lens.scale(q.facts) * (q.records / reach)  # noqa: E731
        return self._listen(StepQuery, white, Curator.step, theta, **view)

    def spread(self, *, centre: Array, reach: float) -> Array:
        """A symmetric matrix in units of the reach's square."""
        white = lambda q, a: isometric(a) * (q.records / reach**2)  # noqa: E731
        return self._listen(SpreadQuery, white, Curator.spread, centre=centre, reach=reach)

    def second_moments(self) -> Array:
        """σ/n a column."""
        return self._listen(SecondMomentsQuery, lambda q, a: a * q.records, Curator.second_moments)

    def count(self) -> float:
        """One number."""
        return self._listen(CountQuery, lambda _, a: np.array([a]), Curator.count)

    def moments(self) -> NoisyMoments:
        """A symmetric matrix of the normalised rows."""

        def white(q: MomentsQuery, a: NoisyMoments) -> Array:
            whole = np.block([[a.gram, a.cross], [a.cross.T, a.square]])
            return isometric(whole * np.outer(q.scales, q.scales)) * q.records

        return self._listen(MomentsQuery, white, Curator.moments)

    def minimizer(self, linear: Array | None = None) -> Array:
        """σ a coordinate."""
        return self._listen(MinimizerQuery, lambda _, a: a, Curator.minimizer, *([] if linear is None else [linear]))

    def descend(
        self, theta: Array, *, order: npt.NDArray[np.int64], clips: Array, steps: Array, form: SeparableForm
    ) -> Descent:
        """One number an update, in units of the coordinate's clip, asked at the point to which the updates before it have led."""
        about: dict[str, Any] = {"clips": clips, "steps": steps, "form": form}
        query = self._quote(PartialQuery, len(order))
        found = self._curator.descend(theta, order=order, **about)
        curators, point, exact = self._curators(query), theta.copy(), np.empty((2, len(order)))
        for k, j in enumerate(order.tolist()):
            for which in (0, 1):
                exact[which, k] = curators[which].descend(point, order=order[k : k + 1], **about).partials[0]
            point[j] = form.prox_at(j, float(point[j] - steps[j] * found.partials[k]), float(steps[j]))
        sigma, allowed = self._stage.questions.noise(query)
        unit = query.records / clips[order] / sigma
        pair = (exact[0] * unit, exact[1] * unit)
        self.log.append(heard.gaussian("partial", allowed, found.partials * unit, pair, self._truth, each=True))
        return found

    def score(self, theta: npt.ArrayLike) -> Array:
        """σ a coordinate."""
        return self._listen(ScoreQuery, lambda _, a: a, Curator.score, theta)

    # ---- other laws --------------------------------------------------------------------------------------------------

    def second_moments_laplace(self) -> Array:
        """b/n a column."""
        white = lambda q, a: a * q.records  # noqa: E731
        return self._listen(LaplaceSecondMomentsQuery, white, Curator.second_moments_laplace, law=heard.laplace)

    def vertex(self, theta: Array) -> int:
        """A vertex's number."""
        query = self._quote(VertexQuery)
        return self._chosen(self._stage.questions.kept(query), self._curator.vertex(theta), theta)

    def select(
        self,
        theta: Array,
        excluded: npt.ArrayLike | None = None,
        *,
        clip: float | None = None,
        scales: Sequence[float] | None = None,
        within: tuple[Array, Array] | None = None,
    ) -> int:
        """A coordinate, its query as it was asked."""
        changed: dict[str, Any] = {"clip": clip, "scales": None if scales is None else tuple(map(float, scales))}
        changed = {name: value for name, value in changed.items() if value is not None}
        query = replace(self._quote(SelectQuery), **changed)
        found = self._curator.select(theta, excluded, clip=clip, scales=scales, within=within)
        return self._chosen(query, found, theta, excluded, within)

    def quantiles(self) -> list[tuple[float, float]]:
        """A pair of candidates for each column."""
        query, found = self._stage.questions.kept(self._quote(QuantilesQuery)), self._curator.quantiles()
        for column, pair in enumerate(found):
            points = query.grids[column].points
            low, high = (int(np.searchsorted(points, end)) for end in pair)
            scores = [np.clip(ranks(one, query, column), -query.bound, query.bound) for one in self._stage.tables]
            number = number_of(query.shares, points.size, low, high)
            self.log.append(heard.chosen(query, number, (scores[0], scores[1]), None, self._truth))
        return found

    def perturbed_minimizer(self) -> Array:
        """Of one coefficient the law is known; what others tell is left to black-box audits."""
        query, found = self._quote(PerturbedMinimizerQuery), self._curator.perturbed_minimizer()
        law = PerturbedLaw.of(query, self._stage.tables)
        unknown = Heard(query.name, math.nan, math.nan, math.nan, math.nan)
        self.log.append(law.heard(query.name, float(found[0]), self._truth) if law else unknown)
        return found

    # ---- the same for all --------------------------------------------------------------------------------------------

    def _listen(
        self,
        kind: type[Any],
        white: Callable[[Any, Any], Array],
        ask: Callable[..., R],
        *given: Any,
        law: Any = None,
        **view: Any,
    ) -> R:
        query = self._quote(kind)
        answer = ask(self._curator, *given, **view)
        size, allowed = self._stage.questions.noise(query)

        def coordinates(one: Any) -> Array:
            return np.asarray(white(query, one), dtype=np.float64).ravel() / size

        def told(curator: Any) -> Array:
            return coordinates(ask(curator, *given, **view))

        if given or view or self._views:
            first, second = map(told, self._curators(query))
        else:
            first, second = self._stage.known(query, told)
        exact = first, second
        about = (query.name, allowed, coordinates(answer), exact, self._truth)
        self.log.append(law(*about) if law else heard.gaussian(*about, each=False))
        return answer

    def _curators(self, query: Query) -> list[Any]:
        if id(query) not in self._both:
            self._both[id(query)] = self._stage.curators(query, self._views)
        return self._both[id(query)]

    def _chosen(self, query: Choice, found: int, theta: Array, excluded: Any = None, within: Any = None) -> int:
        scores = [exact_scores(self._rows(rows), query, theta, within) for rows in self._stage.tables]
        self.log.append(heard.chosen(query, found, (scores[0], scores[1]), excluded, self._truth))
        return found

    def _rows(self, rows: Rows) -> Rows:
        """A table as this view shows it; choices are asked of targets and of columns only."""
        for name, argument in self._views:
            if name == "of_target":
                rows = Rows(rows.X, np.ascontiguousarray(rows.Y[:, [argument]]), rows.weight, rows.offset)
            else:
                rows = chosen_columns(rows, argument, self._stage.intercept)
        return rows

    def _quote(self, kind: type[Any], times: int = 1) -> Any:
        """The quote that pays: those of one kind and width are used up one after the other, as the curator does."""
        width = self._width()
        alike = [quote for quote in self._stage.quotes if isinstance(quote, kind) and quote.facts.width == width]
        before = self._asked[kind, width]
        self._asked[kind, width] += times
        for quote in alike:
            if before < quote.count:
                return quote
            before -= quote.count
        return alike[-1] if alike else self._stage.quotes[0]  # the curator refuses

    def _width(self) -> int:
        width = int(self._stage.tables[0].X.shape[1])
        for name, argument in self._views:
            if name == "turned":
                width = argument.shape[1]
            elif name == "of_columns":
                width = argument.size + self._stage.intercept
        return width


def number_of(shares: tuple[float, float], size: int, low: int, high: int) -> int:
    """The number of a pair of candidates: what `quantiles.pair_at` undoes."""
    if shares[1] == 0.0:
        return low
    return high - 1 if shares[0] == 0.0 else low * (size - 1) - low * (low - 1) // 2 + high - low - 1
