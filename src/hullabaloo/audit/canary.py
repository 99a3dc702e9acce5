"""Canaries: neighbouring tables of a declared domain that differ as much as its relation and unit of privacy allow.

A canary is made from public declarations alone, never from records. Both tables have the same surroundings; they differ in one record
(or all records of one unit, of which there are more than count) that lies at ends of the declared ranges: replaced
by one at other ends, or absent. Which ends, and which surroundings, hurt a solver most is found by a few runs beforehand, whose noise
is not that of the audit (`audit.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from hullabaloo.data import ClassTarget, Domain, Numeric
from hullabaloo.privacy import Neighbours

BACKGROUND, EXPECTED = 1000, 16
"""Records beside a canary that may be absent, and the nominal number of them: as many as a sum holds, which drive the model far from it in a
few steps."""


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One record in the user's units: features, targets, and a word for each."""

    features: tuple[Any, ...]
    targets: tuple[Any, ...]
    words: str


@dataclass(frozen=True, slots=True, eq=False)
class Canary:
    """Two neighbouring tables.

    Attributes:
        domain: the estimator's, its nominal number of records made small.
        first: the record (or unit) that only the first table has; None where it has none.
        second: what the second table has in its place; None where it is absent.
        around: records that both tables have.
    """

    domain: Domain
    first: Record
    second: Record | None
    around: tuple[Record, ...] = ()

    @property
    def words(self) -> str:
        """What differs, in words."""
        own = f"{self.first.words} " + (f"replaced by {self.second.words}" if self.second else "present or absent")
        copies = "" if self.domain.unit is None else f", {self._copies} records of one {self.domain.unit}"
        others = f", beside {len(self.around)} of {self.around[0].words}" if self.around else ""
        others += f", where {self.domain.records} records are expected" if len(self.around) >= BACKGROUND else ""
        return own + copies + others

    @property
    def _copies(self) -> int:
        """Twice as many records of the unit as may count: those beyond its share must not."""
        return 1 if self.domain.unit is None else 2 * self.domain.records_per_unit

    def table(self, which: int) -> dict[str, Any]:
        """The arguments of `Encoding.encode`, for table 0 or 1."""
        own = (self.first, self.second)[which]
        unit = [] if own is None else [own] * self._copies
        records = [*unit, *self.around]
        cells = np.empty((len(records), len(self.first.features)), dtype=object)
        targets = np.empty((len(records), len(self.first.targets)), dtype=object)
        for i, record in enumerate(records):
            cells[i, :], targets[i, :] = record.features, record.targets
        made: dict[str, Any] = {"table": cells, "y": targets}
        if records and targets.shape[1] == 1:
            made["y"] = list(targets[:, 0])
        if self.domain.weight is not None:
            made["weight"] = np.full(len(records), self.domain.weight[1])
        if self.domain.unit is not None:
            made["unit"] = ["canary"] * len(unit) + [f"other {i}" for i in range(len(self.around))]
        return made


def made(
    domain: Domain, first: Record, second: Record | None, around: Sequence[Record] = (), nominal: int | None = None
) -> Canary:
    """A canary, with the nominal number of records that the domain must declare: how many there are, or another that is said."""
    kept = domain.records_per_unit + len(around)
    declared = Domain.from_dict({**domain.to_dict(), "records": nominal or max(1, kept)})
    return Canary(declared, first, second, tuple(around))


def pairs(domain: Domain, neighbours: Neighbours, width: int) -> Iterator[Canary]:
    """Canaries without surroundings: every record at ends of the ranges against every other, or against none."""
    cells = product(_features(domain, width), _targets(domain))
    records = [Record(x, y, f"{x_words} with {y_words}") for (x, x_words), (y, y_words) in cells]
    if neighbours is Neighbours.ADD_OR_REMOVE:
        yield from (made(domain, record, None) for record in records)
    else:
        yield from (made(domain, first, second) for first, second in combinations(records, 2))


def surroundings(canary: Canary, width: int) -> Iterator[Canary]:
    """The canary among others: like it, its opposite, or in the middle of the ranges; last, a background that is against it."""
    domain, first = canary.domain, canary.first
    y, words = next((y, words) for y, words in _targets(domain) if y != first.targets)
    opposite = canary.second or Record(first.features, y, f"the same with {words}")
    missing = (None,) * len(domain.features) or (0.0,) * width  # hence filled; or none at all
    middle = Record(missing, first.targets, "the middle")
    for other in (first, opposite, middle):
        for count in (1, 8, 64):
            yield made(domain, first, canary.second, [other] * count)
    if canary.second is None:
        yield made(domain, first, None, [opposite] * BACKGROUND, EXPECTED * domain.records_per_unit)


def _features(domain: Domain, width: int) -> list[tuple[tuple[Any, ...], str]]:
    """Rows at ends of the declared ranges."""
    if not domain.features:
        assert domain.row_norm is not None
        radius, first = domain.row_norm[1], np.eye(width)[0]
        rows = [(first, "the first column full"), (-first, "the first column full and negative")]
        if domain.row_norm[0] == "linf":
            rows = [(np.ones(width), "all columns full"), (-np.ones(width), "all columns full and negative")]
        return [(tuple(radius * row), words) for row, words in rows]
    ends = [_ends(declared) for _, declared in domain.features]
    high, low = (tuple(end[i] for end in ends) for i in (0, 1))
    if len(ends) == 1:
        return [(high, "features at one end"), (low, "features at the other end")]
    mixed = tuple(end[i % 2] for i, end in enumerate(ends))
    named = ("features at one end", "features at the other end", "features at mixed ends")
    return list(zip((high, low, mixed), named, strict=True))


def _ends(declared: Any) -> tuple[Any, Any]:
    """Both ends of a range, the one of the larger size first; two levels that have a column."""
    if isinstance(declared, Numeric):
        return (declared.hi, declared.lo) if abs(declared.hi) >= abs(declared.lo) else (declared.lo, declared.hi)
    levels = [level for _, level in declared.encoded] or list(declared.levels)
    return levels[0], levels[-1]


def _targets(domain: Domain) -> list[tuple[tuple[Any, ...], str]]:
    """Targets at ends of their ranges, alike and opposed; the classes."""
    if any(isinstance(target, ClassTarget) for target in domain.targets):
        classes = domain.targets[0].ordered  # type: ignore[union-attr]
        return [((level,), f"class {level}") for level in (classes[-1], classes[0], *classes[1:2])][: len(classes)]
    ends = [(target.hi, target.lo) for target in domain.targets]  # type: ignore[union-attr]
    found = {tuple(end[i] for end in ends): side for i, side in enumerate(("the highest target", "the lowest target"))}
    if len(ends) > 1:
        found[tuple(end[i % 2] for i, end in enumerate(ends))] = "opposed targets"
    return list(found.items())
