"""What private bounds are once they are bought: numbers, a domain made of them, and what they cost."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

from hullabaloo.codec import arguments
from hullabaloo.data import BoundedTarget, Domain, Format, Numeric, Saved
from hullabaloo.data.files import domain_text
from hullabaloo.errors import DomainError
from hullabaloo.release import PrivacyStatement
from hullabaloo.tables import Printed, text_table, wrapped

Bounded = TypeVar("Bounded", Numeric, BoundedTarget)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PrivateBounds(Saved, Printed):
    """Private bounds of columns; made by `hb.private_bounds`. All of it is public: post-processing of one private release.

    Attributes:
        outer: the declared outer ranges.
        found: (column, low, high), low < high, inside of the outer range.
        asked: the shares of values to cut off below and above that were asked for.
        cut: those that were aimed at.
        least: the smallest share that noise does not throw out of the data.
        typical_error: mean size of the noise in an end's rank, in records, where values are dense.
        usual_error: what it exceeds with a probability of 5 %, where values are dense.
        largest_error: what it exceeds with a probability of at most 5 %, whatever the values are.
        statement: the guarantee.
    """

    outer: Domain
    found: tuple[tuple[str, float, float], ...]
    asked: tuple[float, float]
    cut: tuple[float, float]
    least: float
    typical_error: float
    usual_error: float
    largest_error: float
    statement: PrivacyStatement

    FORMAT: ClassVar[Format] = Format(
        "hullabaloo private bounds", "record of private bounds", "PrivateBounds.save(path)"
    )

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Column → (low, high)."""
        return {name: (low, high) for name, low, high in self.found}

    def domain(self, **more: Any) -> Domain:
        """The outer domain with the bought bounds in it, ready for an estimator.

        Fills outside of them move to the nearer one. Keywords are those of `hb.Domain` and come on top: `features` are added to
        those at hand, others replace what the outer domain says.
        """
        declared = self.outer.to_dict()
        features, bounds = dict(self.outer.features), self.bounds
        for name, one in features.items():
            if isinstance(one, Numeric) and name in bounds:
                features[name] = narrowed(name, one, *bounds[name])
        targets = [one for one in self.outer.targets if isinstance(one, BoundedTarget)]
        if targets:
            narrow = [narrowed(one.names[0], one, *bounds.get(one.names[0], (one.lo, one.hi))) for one in targets]
            named = narrow[0].column is not None
            ranges = {one.column: (one.lo, one.hi) for one in narrow}
            declared["target"] = ranges if named else (narrow[0].lo, narrow[0].hi)
            fills = {one.column: one.fill for one in narrow if one.fill is not None}
            if fills:
                declared["target_fill"] = fills if named else narrow[0].fill
        if "target" in more or "classes" in more:
            for role in ("target", "target_fill", "classes"):
                declared.pop(role, None)
        declared |= more
        declared["features"] = features | dict(more.get("features") or {})
        return Domain(**declared)

    @property
    def moved(self) -> bool:
        """Whether the noise called for larger shares than were asked."""
        return any(cut > 1.05 * asked for cut, asked in zip(self.cut, self.asked, strict=True))

    def lines(self) -> list[str]:
        """What was bought, as sentences."""
        n = self.statement.records
        low, high = self.cut
        shares = ((low, "below"), (high, "above"))
        sides = [f"{share:.2%} of the values {side}" for share, side in shares if share > 0.0]
        kept = "" if len(sides) == 2 else f" (the {'lower' if low == 0.0 else 'upper'} end stays where it was declared)"
        lines = [
            f"Bounds of {len(self.found)} column{'s' * (len(self.found) > 1)}, aimed at cutting off {' and '.join(sides)}{kept}"
            + "; values beyond them count as the nearer bound, and no record is dropped"
        ]
        if self.typical_error > 0.0:
            surely = (
                f"; whatever the values are, by less than {self.largest_error / n:.2%} with a probability of 95%"
                if self.largest_error < n
                else ""
            )
            lines.append(
                f"Noise moves an end by typically {self.typical_error / n:.2%} of the records, and by less than {self.usual_error / n:.2%} "
                f"with a probability of 95%, where values are dense (beyond the data, say between 0 and the smallest value, an end may lie anywhere){surely}"
            )
        if self.moved:
            lines.append(
                f"Cutting off {self.asked[0]:.2%} and {self.asked[1]:.2%} was asked; at this budget the noise would throw such ends out of the data, "
                "so that as much is cut off as is needed. More budget, fewer columns or more records come nearer to it"
            )
        if any(0.0 < 1.05 * cut < self.least for cut in self.cut):
            lines.append(
                f"An end may well have landed far outside of the data: at this budget that is unlikely only where {self.least:.1%} of the "
                "values or more are cut off at each side"
            )
        return lines

    def card_entry(self) -> dict[str, Any]:
        """What a privacy card says about these bounds."""
        head, body = self._cells()
        return {"title": "Private bounds of columns", "lines": self.lines(), "table": {"head": head, "body": body}}

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        ranges = outer_ranges(self.outer)
        body = [
            [name, f"{low:.6g}", f"{high:.6g}", f"{ranges[name][0]:.6g} to {ranges[name][1]:.6g}"]
            for name, low, high in self.found
        ]
        return ["column", "low", "high", "declared outer range"], body

    def __str__(self) -> str:
        head, body = self._cells()
        table = text_table([head, *body])
        table.insert(1, "-" * max(map(len, table)))
        texts = [*(f"{line}." for line in self.lines()), str(self.statement)]
        return "\n".join([*table, "", *wrapped(texts)])

    def to_toml(self) -> str:
        """The narrowed domain as TOML, with comments that say what was bought."""
        comment = [f"{line}." for line in [*self.lines(), *self.statement.lines()]]
        return domain_text(self.domain(), comment)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values."""
        data = self.FORMAT.head | arguments(self)
        data["bounds"] = {name: [low, high] for name, low, high in data.pop("found")}
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote."""
        cls.FORMAT.check(data)
        sizes = ("least", "typical_error", "usual_error", "largest_error")
        made = cls(
            outer=Domain.from_dict(data["outer"]),
            found=tuple((str(name), float(low), float(high)) for name, (low, high) in data["bounds"].items()),
            asked=(float(data["asked"][0]), float(data["asked"][1])),
            cut=(float(data["cut"][0]), float(data["cut"][1])),
            statement=PrivacyStatement.from_dict(data["statement"]),
            **{name: float(data[name]) for name in sizes},
        )
        str(made)  # what cannot be shown was changed
        return made


def outer_ranges(domain: Domain) -> dict[str, tuple[float, float]]:
    """Every range of a number that a domain declares, by the name of its column."""
    found = {name: (one.lo, one.hi) for name, one in domain.features if isinstance(one, Numeric)}
    targets = {one.names[0]: (one.lo, one.hi) for one in domain.targets if isinstance(one, BoundedTarget)}
    if doubled := sorted(set(found) & set(targets)):
        raise DomainError(
            f"A feature and the target are called {doubled[0]!r}. Rename it, or name the target's column."
        )
    return found | targets


def narrowed(name: str, declared: Bounded, low: float, high: float) -> Bounded:
    """The declaration with other bounds; as it was, where those cannot be declared (a function of the two would be constant, say)."""
    fill = None if declared.fill is None else min(max(declared.fill, low), high)
    try:
        made = replace(declared, lo=low, hi=high, fill=fill)
        alone: Any = {"features": {name: made}} if isinstance(made, Numeric) else {"target": (low, high)}
        Domain(**{"row_norm": 1.0} | alone)
    except DomainError:
        return declared
    return made
