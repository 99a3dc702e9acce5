"""What a ledger answers with: frozen records, each with a dictionary for scripts and a sentence for people."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hullabaloo.codec import arguments
from hullabaloo.privacy import Budget, Capacity, Cost, Event, Neighbours


class Described(ABC):
    """What a ledger tells: shown as a sentence, written as plain data."""

    __slots__ = ()

    @abstractmethod
    def describe(self) -> str:
        """Say it in a sentence."""

    def __str__(self) -> str:
        return self.describe()

    to_dict = arguments


@dataclass(frozen=True, slots=True)
class Versions:
    """Who wrote a row: the library, its accounting rules, its table layout."""

    library: str
    accounting: int
    schema: int


@dataclass(frozen=True, slots=True)
class Dataset(Described):
    """A dataset's terms, fixed when it was created: budget, relation, unit and filter never change.

    `capacity` is what the filter made of the budget on that day; `charges` counts the rows charged so far.
    """

    name: str
    budget: Budget
    neighbours: Neighbours
    unit: str
    records_per_unit: int
    filter: str
    capacity: Capacity
    charges: int
    created_at: str
    created_by: str
    versions: Versions

    def describe(self) -> str:
        """Say the terms in a sentence."""
        return (
            f"{self.name}: {self.budget.describe()}, neighbours {self.neighbours.value}, {describe_unit(self.unit, self.records_per_unit)}, "
            f"filter {self.filter}, {self.charges} charge(s), created {self.created_at} by {self.created_by}."
        )


@dataclass(frozen=True, slots=True)
class Request:
    """The arguments of a charge."""

    dataset: str
    event: Event
    budget: Budget
    neighbours: Neighbours
    what: str
    unit: str = "record"
    records_per_unit: int = 1
    who: str | None = None
    detail: Mapping[str, Any] | None = None
    test_key: bool = False


@dataclass(frozen=True, slots=True)
class Charge(Described):
    """One recorded release. `event` is what was released, exactly (`hullabaloo.privacy.event_from_dict` reads it);
    `budget` what the charge declared; `cost` what the dataset's filter took for it. `database` tells the ledger from every other, and
    `head` names this row and all before it (`chain.py`): a model's statement carries them, so that `Ledger.verify` can look for it.
    """

    dataset: str
    number: int
    charged_at: str
    who: str
    what: str
    event: Mapping[str, Any]
    budget: Budget
    cost: Cost
    neighbours: Neighbours
    unit: str
    records_per_unit: int
    detail: Mapping[str, Any]
    versions: Versions
    database: str
    head: str

    def describe(self) -> str:
        """Say who released what, when and at what cost."""
        cost = self.budget.describe()
        return f"{self.dataset} #{self.number}: {self.what}, by {self.who} at {self.charged_at}, {cost}."


@dataclass(frozen=True, slots=True)
class Stream(Described):
    """How far a stream has come: `position` records were taken at its last confirmed save, which `token` names.

    `charge` is the number of the charge that pays for all its releases. A stream that keeps no state file stays at position 0.
    """

    dataset: str
    stream: str
    charge: int
    position: int
    token: str
    opened_at: str
    advanced_at: str

    def describe(self) -> str:
        """Say where it stands."""
        return f"{self.dataset} #{self.charge}: stream {self.stream} at position {self.position}, {self.advanced_at}."


def describe_unit(unit: str, records_per_unit: int) -> str:
    """Say whom the guarantee protects."""
    lone = unit == "record" and records_per_unit == 1
    return "unit record" if lone else f"unit {unit} (up to {records_per_unit} records)"


@dataclass(frozen=True, slots=True)
class Remaining(Described):
    """What is left of a dataset's budget.

    `amounts` are left of `limits`: (ε, δ) under the basic filter, (μ, tail) under gdp, (divergence, tail) under renyi;
    `budget` is the largest budget that one more charge could declare, where there is one.
    """

    dataset: str
    filter: str
    charges: int
    amounts: Cost
    limits: Cost
    sentence: str
    budget: Budget | None

    def describe(self) -> str:
        """Say it in a sentence."""
        return f"{self.dataset}: {self.sentence}"


@dataclass(frozen=True, slots=True)
class PricedQuery(Described):
    """What a charge would take now, and what would be left; nothing has been charged."""

    dataset: str
    cost: Cost
    before: Remaining
    after: Remaining

    def describe(self) -> str:
        """Say it in a sentence."""
        return f"{self.dataset}: the charge fits. Afterwards {self.after.sentence}"


@dataclass(frozen=True, slots=True)
class Upgrade(Described):
    """The schema versions before and after an upgrade."""

    ledger: str
    before: int
    after: int

    def describe(self) -> str:
        """Say what was done."""
        if self.before == self.after:
            return f"{self.ledger}: schema version {self.after} is current, nothing to do."
        return f"{self.ledger}: brought from schema version {self.before} to {self.after}."


@dataclass(frozen=True, slots=True)
class Finding(Described):
    """One thing that `verify` found. `severity` is "fault" (the book is wrong), "advisory" (a release is touched by a known
    fault of the version that made it) or "note" (harmless, good to know); `number` is None for the dataset as a whole, and `dataset` is "" for the ledger as a whole.
    """

    severity: str
    dataset: str
    number: int | None
    text: str

    def describe(self) -> str:
        """Say it in a line."""
        row = f"dataset {self.dataset!r}" if self.number is None else f"charge {self.number} on {self.dataset!r}"
        row = row if self.dataset else "the ledger"
        return f"{self.severity}: {row} {self.text}"


@dataclass(frozen=True, slots=True)
class Verification:
    """What `verify` found in how many datasets and charges."""

    ledger: str
    datasets: int
    charges: int
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    @property
    def status(self) -> str:
        """Give "faulty" (some fault), "advisory" (no fault, some advisory) or "sound"."""
        severities = {finding.severity for finding in self.findings}
        return "faulty" if "fault" in severities else "advisory" if "advisory" in severities else "sound"

    def lines(self) -> list[str]:
        """The verdict, then every finding."""
        head = f"{self.ledger}: {self.status}; {self.datasets} dataset(s) and {self.charges} charge(s) priced again."
        return [head, *(finding.describe() for finding in self.findings)]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return arguments(self) | {"status": self.status}
