"""The terms of one release, the same for a fit and for any other question: budget, relation, unit, ledger."""

import math
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

from hullabaloo.data import Domain
from hullabaloo.data.arithmetic import is_usual
from hullabaloo.data.table import MEMORY, TornTable
from hullabaloo.errors import BudgetError, DomainError, EventRefused, InvalidParameter, bare, is_whole
from hullabaloo.ledger import Charge, Ledger
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Allowance, Budget, Calibration, Event, Neighbours, compose, filter_named


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """Public arguments of one release about the records of a table.

    Attributes:
        what: who asks, for the ledger's readers.
        domain: what is declared about the table; its unit is the unit of privacy.
        budget: what may be spent.
        neighbours: the relation between tables that cannot be told apart.
        ledger, dataset: where it is charged, or None.
        key: a test key, or None for fresh noise.
        calibration: whether noise is exact or a paper's.
    """

    what: str
    domain: Domain
    budget: Budget
    neighbours: Neighbours
    ledger: Ledger | None = None
    dataset: str | None = None
    key: TestKey | None = None
    calibration: Calibration = Calibration.EXACT

    def check(self) -> None:
        """Refuse a ledger without a dataset, and the other way round; and a process whose arithmetic is not that of proofs and kernels."""
        if not is_usual():
            raise InvalidParameter(
                "In this process another library changed how the processor rounds, flushes or traps floating-point numbers (-ffast-math, fesetround, feenableexcept), and noise and its price rest on the usual ways. Nothing was charged or read. Work in a process without that library."
            )
        if (self.ledger is None) != (self.dataset is None):
            raise InvalidParameter(
                "A ledger and a dataset name go together: the ledger says where charges are kept, the name whose budget they use up. Pass both, or neither (and the statement will say that nothing counts repeated fits)."
            )

    @property
    def facts(self) -> dict[str, Any]:
        """JSON-ready facts by which two releases are told apart, whatever is asked."""
        return {
            "what": self.what,
            "domain": self.domain.to_dict(),
            "budget": self.budget.to_dict(),
            "neighbours": str(self.neighbours),
            "test_key": self.key is not None,
        }

    @property
    def _asked(self) -> str:
        """Who asks, in a sentence: an estimator's name alone is a fit of it."""
        return f"a fit of {self.what}" if self.what[:1].isupper() else self.what.replace("_", " ")

    @property
    def unit(self) -> str:
        """What a table may differ in: "record", or the name of the column whose records belong together."""
        return self.domain.unit or "record"

    @property
    def count_is_public(self) -> bool:
        """Whether the number of rows may be known: under replace-one, with records as the unit of privacy."""
        return self.neighbours is Neighbours.REPLACE_ONE and self.domain.unit is None

    def number_of_records(self, rows: int | None) -> int:
        """The public number of records: that of the rows where it may be known, else the declared one."""
        if rows is not None and not is_whole(rows, -math.inf):
            raise InvalidParameter(
                f"The number of records must be a whole number, such as n=10_000, but a {type(rows).__name__} was given."
            )
        count = rows if self.count_is_public and rows is not None else self.domain.records
        if count is None and self.count_is_public:
            raise InvalidParameter(
                f"The number of records is needed for {self._asked}; pass n=… (or --records) or declare records=…."
            )
        if count is None:
            raise DomainError(
                f"The number of records is private here (neighbours {str(self.neighbours)!r}, unit {self.unit!r}), so noise and averages cannot depend on it. Declare a nominal number that you "
                "know without looking at the table: Domain(..., records=10_000)."
            )
        if rows is not None and rows != count:
            raise InvalidParameter(
                f"A plan for n={rows} records was asked, but the number of records is private here and every fit is planned "
                f"for the {count} that the domain declares. Leave n out, or declare records={rows} if about as many count."
            )
        if count < 1:
            raise InvalidParameter(
                f"At least one record is needed for {self._asked}: found {count} sample(s). Pass a table that has rows."
            )
        return int(count)

    def allowance(self) -> Allowance:
        """The budget, in the ledger's filter."""
        rule = None if self.ledger is None or self.dataset is None else self.ledger.dataset(self.dataset).filter
        return Allowance(copy(self.budget), rule, self.calibration)  # a solver is shown it

    def refuse_hopeless(self) -> None:
        """Raise, before anything is planned, what the ledger says to a charge of this budget, unit and relation whatever is planned.

        The question is of a release that costs nothing, under the declared budget: what refuses it refuses every plan.
        """
        if self.ledger is None or self.dataset is None or not self.budget.is_private:
            return
        try:
            self.ledger.check(self.dataset, compose(), budget=self.budget, **self._named())
        except EventRefused:
            rule = filter_named(self.ledger.dataset(self.dataset).filter)
            rule.keeps(self.budget)  # of a budget of another kind it says more
            raise

    def charge(self, event: Event, budget: Budget, detail: Mapping[str, Any]) -> Charge | None:
        """Charge the ledger, if there is one; when this returns the charge is durable.

        Args:
            event: exactly what will be drawn.
            budget: what is declared for it.
            detail: public facts for people.
        """
        if self.ledger is None or self.dataset is None:
            return None
        return self.ledger.charge(self.dataset, event, budget=budget, detail=detail, **self._named())

    def open_stream(self, name: str, event: Event, detail: Mapping[str, Any]) -> Charge:
        """Charge a stream or a search by its name: once, however often it is asked again."""
        assert self.ledger is not None
        assert self.dataset is not None
        return self.ledger.open_stream(self.dataset, name, event, budget=self.budget, detail=detail, **self._named())

    def _named(self) -> dict[str, Any]:
        return {
            "neighbours": self.neighbours,
            "unit": self.unit,
            "records_per_unit": self.domain.records_per_unit,
            "what": self.what,
            "test_key": self.key is not None,
        }


def refuse_overspent(what: str, budget: Budget, admitted: bool) -> None:
    """Refuse what costs more than its budget, which no planner makes."""
    if not admitted:
        raise BudgetError(
            f"{what} costs more than the budget {budget.describe()} allows. Nothing was charged or read. This is a fault of the planner; please report it."
        )


@contextmanager
def machine_failures() -> Iterator[None]:
    """Around all that reads records: a machine that fails says so in our words, as others' hold numbers of rows or bytes of a file."""
    try:
        yield
    except MemoryError:
        bare(MemoryError(MEMORY))
    except OSError as error:
        bare(type(error)() if isinstance(error, TornTable) else TornTable())
    except Exception as error:
        # pyarrow's readers' errors are of a kind of their own; no method of the error is asked
        arrow = sys.modules.get("pyarrow")
        if arrow is not None and issubclass(type(error), arrow.ArrowException):
            bare(TornTable())
        raise
