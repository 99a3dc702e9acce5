"""What a question to the curator is: its exact answer's sensitivity, its noise and its price, all public; and its answer.

A query never travels without its sensitivity: relation, norm, bound and numerical slack are one object, frozen before
any data is read. The exact answer is a *sum* over records of contributions that are finite, bounded and rounded on a
fixed lattice, so that it is computed exactly (in integers) in any order: no other record's rounding can move with the
record that differs.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.asked import Asked
from hullabaloo.curator.exact import CELLS, ExactSum, exact_sum, magic_number
from hullabaloo.curator.known import kernel_of, refuse_strangers
from hullabaloo.data import PartedRows, RowFacts, Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses import VectorLoss
from hullabaloo.noise import Key, gaussian, gaussian_scale, inflated, inflated_l1, laplace, laplace_scale
from hullabaloo.privacy import Event, GaussianEvent, LaplaceEvent, Neighbours, NotPrivateEvent

Array = npt.NDArray[np.float64]
State = ExactSum | npt.NDArray[Any]
"""What records add up to: whole cells of a lattice, or whole numbers; doubles where no noise is drawn."""

Adder = tuple[Callable[..., None], tuple[Any, ...]]
"""A kernel that adds rows' contributions to a sum, and its settings."""

UNIT_ROUNDOFF = 2.0**-53
# An answer is clipped to this many times what the declared number of records can contribute. Clipping is 1-Lipschitz,
# so it costs no privacy; it costs accuracy only when the table is 64 times larger than was declared.
CAPACITY = 64


@dataclass(frozen=True)
class Query(ABC):
    """A question, priced. With noise it is made of the library's own shapes and losses alone (`known.py`).

    What follows from its fields is worked out once and kept beside them. Whoever relies on it has the query made anew (`afresh`).

    Attributes:
        facts: the declared bounds of encoded rows.
        neighbours: the relation that the sensitivity is stated for.
        records: n under replace-one, the declared n₀ under add-or-remove.
        count: how many answers are bought.
    """

    facts: RowFacts
    neighbours: Neighbours
    records: int
    count: int

    name: ClassVar[str]
    price: ClassVar[str] = "mu"
    """The field that says what an answer costs; where it is ∞ no noise is drawn."""
    tells: ClassVar[tuple[str, ...]] = ()
    """Further fields that its description names."""
    key_label: ClassVar[str]
    """By which keys are derived from it and documents and fingerprints know it. Frozen: another one is other noise, and a search that ended for good."""
    tier: ClassVar[int] = 1
    """Of the trusted base (docs/trusted-base.md): 1 for sums with noise, 2 for choices, minimisers and what is kept between answers."""
    instead: ClassVar[str] = "Make it with the library's own losses."
    """What to do where a shape or loss of somebody's own was asked for."""
    in_parts: ClassVar[bool] = False
    """Whether it can be asked of rows that are read in parts,"""
    any_matrix: ClassVar[bool] = False
    """whether its sensitivity holds for rows of any length, seen through any matrix,"""
    any_centre: ClassVar[bool] = False
    """and whether for rows from any centre."""
    all_targets: ClassVar[bool] = False
    """Whether it reads every target of a record, whatever its loss is."""
    rounding: ClassVar[float] = math.inf
    """r, of a record that counts v ≤ 1 times: it moves the answer by at most v times the sensitivity, and r; ∞ where that is not known."""

    def __post_init__(self) -> None:
        if self.is_private:
            refuse_strangers(self.name, self.instead, *self.made_of)
        if self.count < 1 or self.records < 1:
            raise InvalidParameter(
                f"A query needs at least one answer and one record, but count = {self.count} and records = {self.records}. Pass positive whole numbers."
            )
        if not getattr(self, self.price) > 0.0:
            raise InvalidParameter(
                f"The query {self.name!r} needs a positive privacy price, but {self.price} = {getattr(self, self.price)!r} was asked. Raise the budget: epsilon or delta."
            )

    @property
    def made_of(self) -> list[object]:
        """All that it was made of but for the facts, which are the price list's, and as long as rows are wide."""
        return [getattr(self, one.name) for one in fields(self) if one.name != "facts"]

    def afresh(self) -> Self:
        """The same fields in a record of its own, which nobody else can write to."""
        made = object.__new__(type(self))
        vars(made).update({one.name: getattr(self, one.name) for one in fields(self)})
        return made

    @cached_property
    def is_private(self) -> bool:
        """Whether noise is drawn; else nothing is promised, and nothing has to be kept from anybody's code."""
        return not math.isinf(getattr(self, self.price))

    @cached_property
    def copies(self) -> float:
        """How many contributions a replaced, or an added or removed, record moves: 2 or 1."""
        return self.neighbours.copies

    @property
    def one_target(self) -> bool:
        """Whether it may be asked about one of the targets alone: where there are several it reads one."""
        return len(self.facts.targets) < 2 or not (self.all_targets or isinstance(vars(self).get("loss"), VectorLoss))

    def question(self, *given: Any, **named: Any) -> tuple[Any, ...]:
        """What is asked, as plain numbers, checked before anything is spent."""
        if given or named:
            raise TypeError(f"the query {self.name!r} is asked without arguments")
        return ()

    def times(self, question: tuple[Any, ...]) -> int:
        """How many answers one question takes."""
        return 1

    @abstractmethod
    def answered(self, rows: Any, question: tuple[Any, ...], key: Key | None, kept: dict[Any, Any]) -> Any:
        """The private answer, under the key of one answer; `kept` is work that answers about these rows share. PRIVATE but for the answer."""

    @cached_property
    def event(self) -> Event:
        """What one answer costs."""
        return self.noisy_event if self.is_private else NotPrivateEvent()

    @property
    @abstractmethod
    def noisy_event(self) -> Event:
        """What one answer with noise costs."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Public description for plans, ledgers and cards."""

    def resized(self, records: int) -> Self:
        """The same question for a table of another size whose answers, as means over records, have the same noise.

        The price grows as the table shrinks: `Δ/(μ n)` stays, and so does the temperature `2Δ/(ε₀ n)` of mean scores. For simulation on
        synthetic tables: a plan for a million records is tried out on a thousand rows.
        """
        changed: dict[str, Any] = {self.price: getattr(self, self.price) * self.records / records}
        return replace(self, records=records, **changed)

    def described(self) -> dict[str, Any]:
        """What every description holds."""
        told = {name: getattr(self, name) for name in self.tells}
        return {
            "name": self.name,
            "answers": self.count,
            "neighbours": str(self.neighbours),
            "records": self.records,
            **{name: value.to_dict() if hasattr(value, "to_dict") else value for name, value in told.items()},
            "event": self.event.to_dict(),
        }


class Noised(Query):
    """What is released with noise on every coordinate."""

    norm: ClassVar[str]
    """In which the sensitivity is: "l2" where noise is Gaussian, "l1" where it is Laplace's."""

    @property
    @abstractmethod
    def length(self) -> int:
        """Number of real coordinates that receive noise."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """Public bound to which the coordinates are clipped."""

    @property
    @abstractmethod
    def sensitivity(self) -> float:
        """Of the numbers that noise is added to."""

    @property
    @abstractmethod
    def sigma(self) -> float:
        """Standard deviation of each coordinate's noise."""

    @abstractmethod
    def noisy(self, exact: Array, key: Key | None) -> Array:
        """The exact numbers with their noise; as they are where none is drawn."""


class Noisy(Noised):
    """What is released with Gaussian noise, at the Gaussian-DP parameter μ."""

    mu: float

    norm: ClassVar[str] = "l2"

    @cached_property
    def sigma(self) -> float:
        """Noise of each coordinate: the smallest with `(Δ + g√d)/σ ≤ μ`, g the lattice pitch; 0 when μ = ∞."""
        return gaussian_scale(self.sensitivity, self.mu, self.length, self.bound) if self.is_private else 0.0

    @property
    def noisy_event(self) -> Event:
        """A Gaussian release at the sensitivity that includes lattice rounding."""
        return gaussian_event(self.sensitivity, self.sigma, self.length, self.bound)

    def noisy(self, exact: Array, key: Key | None) -> Array:  # noqa: D102
        return gaussian(exact, self.sigma, bound=self.bound, key=key) if self.is_private else exact


class PureNoisy(Noised):
    """What is released with Laplace noise, at the pure-DP parameter ε."""

    epsilon: float

    norm: ClassVar[str] = "l1"
    price: ClassVar[str] = "epsilon"

    @cached_property
    def scale(self) -> float:
        """b of each coordinate's noise: the smallest with `(Δ₁ + gp)/b ≤ ε`, g the lattice pitch; 0 when ε = ∞."""
        return laplace_scale(self.sensitivity, self.epsilon, self.length, self.bound) if self.is_private else 0.0

    @cached_property
    def sigma(self) -> float:
        """√2 b."""
        return math.sqrt(2.0) * self.scale

    @property
    def noisy_event(self) -> Event:
        """A Laplace release at the sensitivity that includes lattice rounding."""
        moved = inflated_l1(self.sensitivity, self.scale, self.length, self.bound)
        return LaplaceEvent(noise_multiplier=math.nextafter(self.scale / moved, 0.0), samples=self.length)

    def noisy(self, exact: Array, key: Key | None) -> Array:  # noqa: D102
        return laplace(exact, self.scale, bound=self.bound, key=key) if self.is_private else exact


def gaussian_event(sensitivity: float, sigma: float, length: int, bound: float) -> Event:
    """A Gaussian release of so many numbers, at the sensitivity that includes lattice rounding."""
    moved = inflated(sensitivity, sigma, length, bound)
    return GaussianEvent(noise_multiplier=math.nextafter(sigma / moved, 0.0), samples=length)


@dataclass(frozen=True)
class Sum(Noised):
    """A sum over records: what parts of a table add up to, merged, and noise once."""

    in_parts: ClassVar[bool] = True

    def partial(self, rows: Rows, *question: Any, **named: Any) -> State:
        """What the rows of one part add up to, exactly. PRIVATE."""
        raise NotImplementedError(f"{self.name!r} keeps predictions between answers, and has no parts")

    def merge(self, states: Sequence[State]) -> State:
        """What all parts add up to, whichever they are. PRIVATE."""
        total, *others = states
        for other in others:
            total = total + other
        return total

    def total(self, state: State) -> Array:
        """The sum as doubles within ±bound, each coordinate rounded once; as it is without noise. PRIVATE."""
        return state.value(self.bound) if isinstance(state, ExactSum) else state

    def exact(self, rows: Rows | PartedRows, *question: Any) -> Array:
        """The same of a whole table: of one part where it is in memory, else of all its parts. PRIVATE."""
        if isinstance(rows, PartedRows):
            return self.total(rows.total(Asked.of(self, question)))
        return self.total(self.partial(rows, *question))

    def read(self, noisy: Array, *question: Any, **named: Any) -> Any:
        """The noisy sum in the units of the answer: post-processing."""
        return noisy / self.records

    def answered(self, rows: Any, question: tuple[Any, ...], key: Key | None, kept: dict[Any, Any]) -> Any:  # noqa: D102
        return self.read(self.noisy(self.exact(rows, *question), key), *question)

    @property
    @abstractmethod
    def contribution(self) -> float:
        """Bound of one coordinate of one record's contribution to the sum."""

    @cached_property
    def bound(self) -> float:
        """Public bound to which the coordinates of the exact sum are clipped."""
        return CAPACITY * self.records * self.facts.records_per_unit * self.facts.max_weight * self.contribution

    def to_dict(self) -> dict[str, Any]:
        """Public description for plans, ledgers and cards."""
        noise = {f"sensitivity_{self.norm}_of_sum": self.sensitivity, "noise_std_of_sum": self.sigma}
        return {**self.described(), "coordinates": self.length, **noise}


@dataclass(frozen=True)
class NoisySum(Sum, Noisy):
    """A sum over records, released with Gaussian noise.

    Attributes:
        mu: Gaussian-DP cost of one answer; ∞ means that no noise is drawn.

    Source: 001, Section 3, global sensitivity.
    """

    mu: float

    @cached_property
    def exponent(self) -> int:
        """Exponent of the lattice of contributions: the largest is below `2^37` cells."""
        return math.frexp(self.facts.max_weight * self.contribution)[1] - CELLS

    @cached_property
    def kernel(self) -> tuple[int, Array]:
        """What kernels read of the loss, of a query that has one."""
        return kernel_of(vars(self)["loss"])

    @cached_property
    def grid(self) -> tuple[float, float]:
        """What rounds to that lattice, and one over its pitch."""
        return magic_number(self.exponent), 2.0**-self.exponent

    def added_up(
        self, rows: Rows, Y: Array, shape: tuple[int, ...], block: int, dense: Adder, sparse: Adder | None, *own: Array
    ) -> ExactSum:
        """The exact sum of what a kernel adds for `block` rows at once: that for dense ones, unless there is one for sparse ones and rows are.

        An empty array stands for weights of 1 and for offsets of 0. A kernel for dense rows may need further numbers of its `own` for each row.
        """
        X, none = rows.X, np.zeros(0)
        weight, offset = none if rows.weight is None else rows.weight, none if rows.offset is None else rows.offset
        magic, unit = self.grid

        def add(total: ExactSum, start: int, stop: int) -> None:
            part = (Y[start:stop], weight[start:stop], offset[start:stop])
            if sparse is None or not hasattr(X, "indptr"):
                kernel, settings = dense
                some, more = X[start:stop], [one[start:stop] for one in own]
                some = some if isinstance(some, np.ndarray) else some.toarray()
                kernel(some, *part, *more, *settings, magic, unit, total.high, total.low)
            else:
                kernel, settings = sparse
                kernel(X.data, X.indices, X.indptr[start : stop + 1], *part, *settings, unit, total.low)

        n, width = X.shape
        size = getattr(X, "nnz", n * width) * math.prod(shape) // max(width, 1)
        return exact_sum(add, n, shape, self.exponent, block, size)

    stretch: ClassVar[float] = 1.0
    """`1 + η`, by which rounding lengthens a row, where what is summed are products of its cells."""

    @cached_property
    def rounding(self) -> float:  # type: ignore[override]
        """What rounding adds.

        **Guarantee.** Of rows that count alike but for public weights v ≤ 1, each at its position, a contribution is v times one of weight 1: before
        rounding a record moves the sum by at most v times what it does at weight 1. Coordinates are rounded to the lattice once, by half a cell at most;
        or `√v a`, at most by `η‖a‖`, which makes `v‖a‖²` at most `(v + 2η + η²)‖a‖²`. The sum's and the noise's lattice are charged in full.
        """
        if not self.facts.alike:
            return math.inf
        sums = inflated(self.sensitivity, self.sigma, self.length, self.bound) - self.record_sensitivity
        rows = self.record_sensitivity * (self.stretch**2 - 1.0)
        return sums + rows + self.copies * math.sqrt(self.length) * 2.0**self.exponent

    @property
    @abstractmethod
    def record_sensitivity(self) -> float:
        """l2 distance of the exact sums of two tables that differ in one record, in the relation in force."""

    @cached_property
    def sensitivity(self) -> float:
        """l2 sensitivity of the number that noise is added to.

        **Guarantee.** A unit of m records moves the sum by at most m times what one record does (triangle inequality
        along a path that changes one record at a time). Turning the exact integer sum into a double, and mapping it to
        other units, rounds each coordinate by at most `4 u · bound`; two tables differ by at most twice that.
        """
        exact = self.facts.records_per_unit * self.record_sensitivity
        return exact + 8.0 * UNIT_ROUNDOFF * self.bound * math.sqrt(self.length)
