"""Every query that there is, and what it costs of one table: a closed list, priced from public facts alone."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from hullabaloo.curator.count import CountQuery
from hullabaloo.curator.descent import PartialQuery
from hullabaloo.curator.gradient import GradientQuery
from hullabaloo.curator.known import stranger
from hullabaloo.curator.moments import MomentsQuery
from hullabaloo.curator.query import Query
from hullabaloo.curator.scales import ScalesQuery
from hullabaloo.curator.score import ScoreQuery
from hullabaloo.curator.second_moments import LaplaceSecondMomentsQuery, SecondMomentsQuery
from hullabaloo.curator.spread import SpreadQuery
from hullabaloo.curator.step import MeansQuery, StepQuery
from hullabaloo.data.source import RowFacts
from hullabaloo.erm.objective_perturbation import PerturbedMinimizerQuery
from hullabaloo.erm.output_perturbation import MinimizerQuery
from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy import Neighbours
from hullabaloo.selection.quantiles import QuantilesQuery
from hullabaloo.selection.select import SelectQuery
from hullabaloo.selection.vertex import VertexQuery

QUERIES: dict[str, type[Query]] = {
    kind.name: kind
    for kind in (
        CountQuery, GradientQuery, LaplaceSecondMomentsQuery, MeansQuery, MinimizerQuery, MomentsQuery, PartialQuery,
        PerturbedMinimizerQuery, QuantilesQuery, ScalesQuery, ScoreQuery, SecondMomentsQuery, SelectQuery, SpreadQuery,
        StepQuery, VertexQuery,
    )
}  # fmt: skip
"""Every query whose sensitivity is proved here; a class of somebody else's could state any."""


@dataclass(frozen=True, slots=True)
class PricedQueries:
    """The queries of one table's declared domain, relation and public number of records."""

    facts: RowFacts
    neighbours: Neighbours
    records: int

    def price(self, name: str, /, *, count: int = 1, **about: Any) -> Any:
        """The query of that name for `count` answers; what else it is made of are the fields of its class.

        Raises:
            InvalidParameter: there is no such query, or it is made of something else.
        """
        kind = QUERIES.get(name)
        own = [one.name for one in fields(kind) if one.init][4:] if kind is not None else []
        if kind is None or not about.keys() <= set(own):
            raise InvalidParameter(
                f"The query {name!r} was asked for with {sorted(about)}, but there are {', '.join(sorted(QUERIES))}; it takes "
                f"{', '.join(own) or 'nothing'} and count. Name one of them, with what it is made of."
            )
        held = {key: tuple(value) if type(value) is list else value for key, value in about.items()}
        return kind(self.facts, self.neighbours, self.records, count, **held)

    def owns(self, query: object) -> bool:
        """Whether the query is one of these or of a view's: its own class, bounds, relation and number of records.

        What it says of itself is then worked out again, from its fields alone.
        """
        if not isinstance(query, Query) or QUERIES.get(type(query).name) is not type(query):
            return False
        about = query.made_of if query.facts is self.facts else [*query.made_of, query.facts]
        if query.is_private and stranger(*about) is not None:  # a number that compares as somebody likes, too
            return False
        known, slopes = self.facts, query.facts.width - self.facts.intercept
        fits = query.facts == known or (
            0 <= slopes <= known.width - known.intercept and query.facts == known.of_columns(slopes)
        )
        query.forget()
        return fits and query.neighbours is self.neighbours and query.records == self.records

    def of_columns(self, count: int) -> Self:
        """What can be bought of the same records seen through any `count` columns, for `Curator.of_columns`."""
        return replace(self, facts=self.facts.of_columns(count))
