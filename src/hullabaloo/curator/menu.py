"""What can be bought from the curator, priced from public facts alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hullabaloo.curator.count import CountQuery
from hullabaloo.curator.gradient import GradientQuery
from hullabaloo.curator.known import stranger
from hullabaloo.curator.minimizer import MinimizerQuery
from hullabaloo.curator.moments import MomentsQuery
from hullabaloo.curator.partial import PartialQuery
from hullabaloo.curator.perturbed_minimizer import PerturbedMinimizerQuery
from hullabaloo.curator.quantiles import QuantilesQuery
from hullabaloo.curator.query import Query
from hullabaloo.curator.scales import ScalesQuery
from hullabaloo.curator.score import ScoreQuery
from hullabaloo.curator.second_moments import LaplaceSecondMomentsQuery, SecondMomentsQuery
from hullabaloo.curator.select import SelectQuery
from hullabaloo.curator.spread import SpreadQuery
from hullabaloo.curator.step import MeansQuery, StepQuery
from hullabaloo.curator.vertex import VertexQuery
from hullabaloo.data.grid import Grid
from hullabaloo.data.source import RowFacts
from hullabaloo.geometry import ConvexSet, Penalty
from hullabaloo.losses import AnyLoss, Loss
from hullabaloo.losses.readings import Reading
from hullabaloo.losses.tallies import Tally
from hullabaloo.privacy import Neighbours

QUERIES = (
    CountQuery,
    GradientQuery,
    LaplaceSecondMomentsQuery,
    MeansQuery,
    MinimizerQuery,
    MomentsQuery,
    PartialQuery,
    PerturbedMinimizerQuery,
    QuantilesQuery,
    ScalesQuery,
    ScoreQuery,
    SecondMomentsQuery,
    SelectQuery,
    SpreadQuery,
    StepQuery,
    VertexQuery,
)
"""Every query whose sensitivity is proved here; a class of somebody else's could state any."""


@dataclass(frozen=True, slots=True)
class CuratorMenu:
    """The queries of one table's declared domain, relation and public number of records."""

    facts: RowFacts
    neighbours: Neighbours
    records: int

    def sells(self, quote: object) -> bool:
        """Whether the quote is one of this menu's or of a view's: its own class, bounds, relation and number of records."""
        if type(quote) not in QUERIES or not isinstance(quote, Query):
            return False
        about = quote.made_of if quote.facts is self.facts else [*quote.made_of, quote.facts]
        if quote.is_private and stranger(*about) is not None:  # a number that compares as somebody likes, too
            return False
        known, slopes = self.facts, quote.facts.width - self.facts.intercept
        fits = quote.facts == known or (
            0 <= slopes <= known.width - known.intercept and quote.facts == known.of_columns(slopes)
        )
        return fits and quote.neighbours is self.neighbours and quote.records == self.records

    def of_columns(self, count: int) -> "CuratorMenu":
        """What can be bought of the same records seen through any `count` columns, for `Curator.of_columns`."""
        return replace(self, facts=self.facts.of_columns(count))

    def gradient(self, loss: AnyLoss, *, clip: float, mu: float, count: int) -> GradientQuery:
        """`count` noisy mean gradients, each `mu`-GDP."""
        return GradientQuery(self.facts, self.neighbours, self.records, count, mu, loss, clip)

    def means(self, *, mu: float) -> MeansQuery:
        """One release of the columns' means, `mu`-GDP."""
        return MeansQuery(self.facts, self.neighbours, self.records, 1, mu)

    def scales(self, loss: Loss, *, bins: int, mu: float, count: int) -> ScalesQuery:
        """`count` noisy histograms of the lengths of per-record gradients, each `mu`-GDP."""
        return ScalesQuery(self.facts, self.neighbours, self.records, count, mu, loss, bins)

    def score(self, reading: Reading, tallies: Sequence[Tally], *, mu: float, count: int = 1) -> ScoreQuery:
        """`count` noisy vectors of how good coefficients are, each `mu`-GDP, each of coefficients of its own."""
        return ScoreQuery(self.facts, self.neighbours, self.records, count, mu, reading, tuple(tallies))

    def step(self, loss: Loss, *, mu: float, count: int) -> StepQuery:
        """`count` noisy sums of centred, shortened gradients, each `mu`-GDP."""
        return StepQuery(self.facts, self.neighbours, self.records, count, mu, loss)

    def spread(self, *, mu: float) -> SpreadQuery:
        """One release of the second moments of centred, shortened records, `mu`-GDP."""
        return SpreadQuery(self.facts, self.neighbours, self.records, 1, mu)

    def partial(self, loss: Loss, *, mu: float, count: int) -> PartialQuery:
        """`count` noisy sums of one coordinate's clipped derivatives, each `mu`-GDP."""
        return PartialQuery(self.facts, self.neighbours, self.records, count, mu, loss)

    def vertex(
        self, constraint: ConvexSet, loss: AnyLoss, *, clip: float, epsilon: float, count: int, once: bool = False
    ) -> VertexQuery:
        """`count` choices of a vertex of the set (the intercept included), each of range `epsilon`; `once`: permute-and-flip."""
        basics = (self.facts, self.neighbours, self.records, count)
        return VertexQuery(*basics, loss, clip, epsilon, once, constraint=constraint)

    def select(
        self, loss: AnyLoss, *, clip: float, epsilon: float, count: int, scales: Sequence[float] | None = None
    ) -> SelectQuery:
        """`count` choices of a coordinate by its scaled partial derivative, each of range `epsilon`."""
        public = None if scales is None else tuple(float(scale) for scale in scales)
        return SelectQuery(self.facts, self.neighbours, self.records, count, loss, clip, epsilon, scales=public)

    def minimizer(
        self,
        loss: AnyLoss,
        *,
        clip: float,
        ridge: float,
        feasible: ConvexSet | None,
        penalty: Penalty,
        mu: float,
        count: int = 1,
        linear_bound: float = 0.0,
    ) -> MinimizerQuery:
        """`count` noisy minimisers, each `mu`-GDP; the ridge is of the mean. μ = ∞: the exact optimum."""
        basics = (self.facts, self.neighbours, self.records, count)
        return MinimizerQuery(*basics, loss, clip, ridge, feasible, penalty, mu, linear_bound)

    def perturbed_minimizer(
        self,
        loss: Loss,
        *,
        clip: float,
        ridge: float,
        feasible: ConvexSet | None,
        penalty: Penalty,
        noise_multiplier: float,
        curvature: float,
        output_multiplier: float,
        count: int = 1,
    ) -> PerturbedMinimizerQuery:
        """`count` minimisers of randomly perturbed objectives; the ridge is of the sum."""
        basics = (self.facts, self.neighbours, self.records, count)
        noise = (noise_multiplier, curvature, output_multiplier)
        return PerturbedMinimizerQuery(*basics, loss, clip, ridge, feasible, penalty, *noise)

    def moments(self, *, mu: float, target_scale: float) -> MomentsQuery:
        """One joint release of `Σxxᵀ, Σxyᵀ, Σyyᵀ`, `mu`-GDP."""
        return MomentsQuery(self.facts, self.neighbours, self.records, 1, mu, target_scale)

    def second_moments(self, *, mu: float, count: int = 1) -> SecondMomentsQuery:
        """`count` releases of the columns' sums of squares, each `mu`-GDP."""
        return SecondMomentsQuery(self.facts, self.neighbours, self.records, count, mu)

    def second_moments_laplace(self, *, epsilon: float) -> LaplaceSecondMomentsQuery:
        """One release of the columns' sums of squares, `epsilon`-DP."""
        return LaplaceSecondMomentsQuery(self.facts, self.neighbours, self.records, 1, epsilon)

    def quantiles(
        self, columns: Sequence[tuple[int, int, Grid]], *, shares: tuple[float, float], epsilon: float
    ) -> QuantilesQuery:
        """Bounds of columns, each given by its place, its indicator's (or −1) and its candidates; each choice of range `epsilon`."""
        values, missing, grids = (tuple(part) for part in zip(*columns, strict=True))
        basics = (self.facts, self.neighbours, self.records, len(columns))
        return QuantilesQuery(*basics, shares, epsilon, grids, values, missing)

    def count(self, *, mu: float) -> CountQuery:
        """One release of the number of records, `mu`-GDP."""
        return CountQuery(self.facts, self.neighbours, self.records, 1, mu)
