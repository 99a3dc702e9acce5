"""Every query that there is, and what it costs of one table: a closed list, priced from public facts alone."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

from hullabaloo.curator import CoordinateGradientQuery, GradientQuery, MomentsQuery, Query, ScoreQuery
from hullabaloo.curator.centred_gradient import CentredGradientQuery, MeansQuery
from hullabaloo.curator.known import copied, plain, stranger
from hullabaloo.curator.norm_histogram import NormHistogramQuery
from hullabaloo.curator.second_moments import LaplaceSecondMomentsQuery, SecondMomentsQuery
from hullabaloo.curator.shortened_moments import CovarianceQuery, GradientMomentsQuery
from hullabaloo.data.source import RowFacts
from hullabaloo.erm.objective_perturbation import ObjectivePerturbationQuery
from hullabaloo.erm.output_perturbation import LaplaceMinimiserQuery, OutputPerturbationQuery
from hullabaloo.errors import CapabilityError, HullabalooError, InvalidParameter
from hullabaloo.privacy import Neighbours
from hullabaloo.selection.quantiles import QuantilesQuery
from hullabaloo.selection.select import SelectQuery
from hullabaloo.selection.vertex import VertexQuery

QUERIES: dict[str, type[Query]] = {
    kind.name: kind
    for kind in (
        GradientQuery, LaplaceSecondMomentsQuery, MeansQuery, OutputPerturbationQuery, MomentsQuery, CoordinateGradientQuery,
        ObjectivePerturbationQuery, QuantilesQuery, NormHistogramQuery, ScoreQuery, SecondMomentsQuery, SelectQuery, CovarianceQuery,
        CentredGradientQuery, GradientMomentsQuery, LaplaceMinimiserQuery, VertexQuery,
    )
}  # fmt: skip
"""Every query whose sensitivity is proved here; a class of somebody else's could state any."""
FIELDS = {kind: [(one.name, one.type) for one in fields(kind)] for kind in QUERIES.values()}
"""What each is made of: facts, relation, records, the number of answers, and its own."""


@dataclass(frozen=True, slots=True)
class PricedQueries:
    """The queries of one table's declared domain, relation and public number of records; `parted`, of one that is read in parts."""

    facts: RowFacts
    neighbours: Neighbours
    records: int
    parted: bool = False

    def price(self, name: str, /, *, count: int = 1, **about: Any) -> Any:
        """The query of that name for `count` answers; what else it is made of are the fields of its class.

        Raises:
            InvalidParameter: there is no such query, or it is made of something else.
            CapabilityError: it needs all records at hand, and the table is read in parts.
        """
        kind = QUERIES.get(name)
        own = [name for name, _ in FIELDS[kind][4:]] if kind is not None else []
        if kind is None or not about.keys() <= set(own):
            raise InvalidParameter(
                f"The query {name!r} was asked for with {sorted(about)}, but there are {', '.join(sorted(QUERIES))}; it takes "
                f"{', '.join(own) or 'nothing'} and count. Name one of them, with what it is made of."
            )
        if self.parted and not kind.in_parts:
            raise CapabilityError(
                f"The query {kind.name!r} needs all records at hand, and the table is read in parts. Nothing was charged. Use a method that adds up over "
                "records, such as solver='moments', 'adaptive_gradient' or 'preconditioned_gradient', or pass a table in memory."
            )
        held = {key: tuple(value) if type(value) is list else value for key, value in about.items()}
        return kind(self.facts, self.neighbours, self.records, count, **held)

    @property
    def in_memory(self) -> Self:
        """What can be bought of synthetic tables, which are never read in parts."""
        return replace(self, parted=False)

    def own(self, query: object) -> Query | None:
        """The query as it is made here: of its class, this table's bounds, plain numbers, and copies of the shapes and losses that it was made of.

        None where it is none of these, or of a view's. Whoever handed it over has no hold on what comes back: nothing that was written beside its
        fields is in it, and its price is worked out from them alone.
        """
        kind: Any = next((one for one in QUERIES.values() if one is type(query)), None)
        if kind is None or (self.parted and not kind.in_parts):
            return None
        given = dict(vars(query))
        facts, records = self._facts(given.get("facts")), given.get("records")
        if facts is None or given.get("neighbours") is not self.neighbours or type(records) is not int:
            return None
        try:
            held = {name: plain(given[name], told) for name, told in FIELDS[kind][3:]}
            made: Query = kind(facts, self.neighbours, records, **held)
            if made.is_private:  # of the library's own parts alone, as its class has seen to
                made = kind(facts, self.neighbours, records, **{name: copied(one) for name, one in held.items()})
        except (HullabalooError, KeyError, TypeError, ValueError, ArithmeticError):
            return None
        return made if records == self.records else None

    def _facts(self, found: object) -> RowFacts | None:
        """This table's bounds, or those of a view of its columns, where the query's are equal to them."""
        if type(found) is not RowFacts or stranger(found) is not None:
            return None
        slopes = found.width - self.facts.intercept
        if found == self.facts or not 0 <= slopes <= self.facts.width - self.facts.intercept:
            return self.facts if found == self.facts else None
        part = self.facts.restricted(slopes)
        return part if found == part else None

    def restricted(self, count: int) -> Self:
        """What can be bought of the same records seen through any `count` columns, for `Curator.restricted`."""
        return replace(self, facts=self.facts.restricted(count))
