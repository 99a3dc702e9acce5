"""What can be bought from the curator, priced from public facts alone."""

from dataclasses import dataclass

from hullabaloo.curator.count import CountQuery
from hullabaloo.curator.gradient import GradientQuery
from hullabaloo.curator.moments import MomentsQuery
from hullabaloo.curator.second_moments import SecondMomentsQuery
from hullabaloo.data.source import RowFacts
from hullabaloo.losses import AnyLoss
from hullabaloo.privacy import Neighbours


@dataclass(frozen=True, slots=True)
class CuratorMenu:
    """The queries of one table's declared domain, relation and public number of records."""

    facts: RowFacts
    neighbours: Neighbours
    records: int

    def gradient(self, loss: AnyLoss, *, clip: float, mu: float, count: int) -> GradientQuery:
        """`count` noisy mean gradients, each `mu`-GDP."""
        return GradientQuery(self.facts, self.neighbours, self.records, count, mu, loss, clip)

    def moments(self, *, mu: float, target_scale: float) -> MomentsQuery:
        """One joint release of `Σxxᵀ, Σxyᵀ, Σyyᵀ`, `mu`-GDP."""
        return MomentsQuery(self.facts, self.neighbours, self.records, 1, mu, target_scale)

    def second_moments(self, *, mu: float) -> SecondMomentsQuery:
        """One release of the columns' sums of squares, `mu`-GDP."""
        return SecondMomentsQuery(self.facts, self.neighbours, self.records, 1, mu)

    def count(self, *, mu: float) -> CountQuery:
        """One release of the number of records, `mu`-GDP."""
        return CountQuery(self.facts, self.neighbours, self.records, 1, mu)
