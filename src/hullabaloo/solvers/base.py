"""What every solver is given, what it promises, and what it returns.

A solver sees public facts (`Problem`), buys answers by a list of prices (`QueryPrices`: names, sensitivities and prices, no data), and
then works on the private answers of a curator (`Answers`). It never holds a row and never draws noise.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from hullabaloo.codec import arguments
from hullabaloo.geometry import ConvexSet, NoPenalty, Penalty, PenaltyWithFreeIntercept, with_intercept
from hullabaloo.losses import AnyLoss
from hullabaloo.privacy import Allowance, Event, Neighbours, NoisyMoments, NoisyScore, compose_answers
from hullabaloo.solvers.public import PublicTable

if TYPE_CHECKING:
    from hullabaloo.solvers.gradient.coordinates import Coordinates

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Problem:
    """The public facts of one fit: minimise `(1/n) Σ w_i φ(⟨x_i, θ⟩, y_i) + ψ(θ)` over θ in C, on the unit domain; w is 1, or a declared weight over half its bound.

    Attributes:
        loss: φ.
        dimension: p, the number of encoded columns, the intercept column (the last) included.
        intercept: whether the last column is the constant 1.
        norm_l1: bound of ‖x‖₁ of an encoded row, the intercept column included.
        norm_l2: bound of ‖x‖₂.
        norm_linf: bound of ‖x‖_∞.
        targets: k, the number of targets, each in [−1, 1].
        records: n under replace-one, the declared nominal number n₀ under add-or-remove.
        neighbours: the relation that the guarantee is about.
        constraint: C without the intercept, or None.
        penalty: ψ without the intercept.
        offset_bound: bound of |o_i| where a known offset is added to each prediction, `z = ⟨x, θ⟩ + o`.
        max_weight: bound W of a record's weight.
        records_per_unit: how many records of a unit of privacy are kept.
        weighted: whether records carry declared weights, or a 0 for being beyond their unit's share.
        public: records that the user declares public, or None; no sensitivity rests on them.
        before: coefficients of the released model whose predictions are the records' offsets, (p,); empty where there is none.
        earlier: how many versions ago the stream was begun whose fits go on as they were: from 1 on effects of missing values are as they were estimated; from 2 on fits that start from a model look for evidence in all directions alike; from 3 on gradients of a rare class are cut in whitened coordinates as those of an even one (beside inference from 2 on); from 4 on residuals' curvature hides its long records in all directions alike; from 5 on with another cut in counts' steps for the level alone; from 6 on in those of residuals, too, and other slopes where a set holds and the intercept is beyond
            its bounds; from 7 on without a curvature where a set or a penalty holds, with other steps for the level in the second phase, and longer directions of a subspace; from 8 on without a curvature of
            classes, and with other and fewer such steps in the first phase, too. Of inference: from 1 version ago on records beyond the last edge of a histogram end at the next one, no edges reach farther where noise is low, and what shortening takes of a cluster is in all directions alike; from 2 on more of what is beyond a cut counts as lost, a rare class's gradients are as long as noise may hide, and steps of classes are drawn back wherever a score says so; from 3 on of lengths a bin's records crowd at its lower end, and steps reckon with as many records at the ends of bounds as noise hides, from 6 on all but a hundredth of gradients are as long as they are for their spread, whatever the noise, from 7 on no second hump of lengths is looked for, from 9 on the score along the constant is not released once more, and of a solver whose noise is not Gaussian it is searched how much of ε it gets.
        once: whether this is a fit by itself, none of a stream or a search.
    """

    loss: AnyLoss
    dimension: int
    intercept: bool
    norm_l1: float
    norm_l2: float
    norm_linf: float
    targets: int
    records: int
    neighbours: Neighbours
    constraint: ConvexSet | None = None
    penalty: Penalty = field(default_factory=NoPenalty)
    offset_bound: float = 0.0
    max_weight: float = 1.0
    records_per_unit: int = 1
    weighted: bool = False
    public: PublicTable | None = None
    before: tuple[float, ...] = ()
    earlier: int = 0
    once: bool = False

    @property
    def free(self) -> bool:
        """Whether neither a set nor a penalty holds coefficients."""
        return self.constraint is None and isinstance(self.penalty, NoPenalty)

    @property
    def slopes(self) -> int:
        """The number of columns beside the intercept."""
        return self.dimension - self.intercept

    @property
    def alike(self) -> bool:
        """Whether the weights add up to `records`, publicly."""
        return not self.weighted and self.neighbours is Neighbours.REPLACE_ONE

    @property
    def change(self) -> float:
        """The most that a unit of privacy changes the sum of weights by: m W, twice that where its records are replaced."""
        return self.neighbours.copies * self.max_weight * self.records_per_unit

    def of_columns(self, count: int) -> "Problem":
        """The same with so many columns beside the intercept; rows of fewer cells reach less far."""
        one, b = float(self.intercept), self.norm_linf
        norm_l1, norm_l2 = min(self.norm_l1, count * b + one), min(self.norm_l2, math.sqrt(count * b**2 + one))
        return replace(self, dimension=count + self.intercept, norm_l1=norm_l1, norm_l2=norm_l2)

    @property
    def body(self) -> ConvexSet:
        """C, of a problem that has one: its solver's plan saw to it."""
        assert self.constraint is not None
        return self.constraint

    @property
    def feasible(self) -> ConvexSet | None:
        """C with the intercept: free of the set's radius, bounded by the loss's own public range."""
        if self.constraint is None or not self.intercept:
            return self.constraint
        return with_intercept(self.constraint, *self.loss.intercept_bounds)

    @property
    def regulariser(self) -> Penalty:
        """ψ with the intercept: never penalised."""
        return PenaltyWithFreeIntercept(self.penalty) if self.intercept else self.penalty


class PricedQuery(Protocol):
    """One line of a plan: a query, how often it may be asked and the event that one answer is; noise as its class has it."""

    name: ClassVar[str]
    tier: ClassVar[int]

    @property
    def count(self) -> int: ...  # noqa: D102
    @property
    def event(self) -> Event: ...  # noqa: D102
    def to_dict(self) -> dict[str, Any]: ...  # noqa: D102


class QueryPrices(Protocol):
    """What can be bought, priced from public facts: each query by its name and what it is made of."""

    def restricted(self, count: int) -> "QueryPrices": ...  # noqa: D102
    @property
    def in_memory(self) -> "QueryPrices": ...  # noqa: D102
    def price(self, name: str, /, *, count: int = 1, **about: Any) -> Any: ...  # noqa: D102


class Answers(Protocol):
    """The curator as a solver sees it: noisy answers, and only those that were paid for."""

    def answer(self, name: str, /, *given: Any, **named: Any) -> Any: ...  # noqa: D102
    def give_up(self, count: int) -> None: ...  # noqa: D102
    def of_target(self, target: int) -> "Answers": ...  # noqa: D102
    def restricted(self, columns: npt.ArrayLike) -> "Answers": ...  # noqa: D102
    def projected(self, matrix: npt.ArrayLike) -> "Answers": ...  # noqa: D102
    def centred(self, centre: npt.ArrayLike) -> "Answers": ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Plan:
    """What a solver will do, fixed before any data is read: its queries, hence its price, and its public settings."""

    solver: str
    queries: tuple[PricedQuery, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    @property
    def event(self) -> Event:
        """The composition of all the noisy answers that this plan pays for."""
        return compose_answers(self.queries)

    to_dict = arguments


@dataclass(frozen=True, slots=True, eq=False)
class Marginals:
    """What a release tells of single columns, and of the target.

    Attributes:
        means: of the columns but the intercept, shrunk by what of their length is noise, (p − 1, k).
        noise: standard deviation of the noise in each, before they were shrunk.
        spread: about how far predictions lie from their mean, (k,).
    """

    means: Array
    noise: float
    spread: Array


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A solver's result on the unit domain: post-processing of private answers.

    Attributes:
        theta: coefficients, shape (p, k), the intercept last when there is one.
        moments: the noisy moments, when the release contains them.
        scores: the noisy gradient with its curvature and spread, of each target, when the release contains them.
        trace: public record of the run, such as the norms of noisy gradients.
        coordinates: the released centre and matrix in which gradients were asked for, of several targets those of the first.
        marginals: the released means, or None.
        mean_weight: the released Σw/n, or 1.
    """

    theta: Array
    moments: NoisyMoments | None = None
    scores: tuple[NoisyScore, ...] = ()
    trace: tuple[Mapping[str, Any], ...] = ()
    coordinates: "Coordinates | None" = None
    marginals: Marginals | None = None
    mean_weight: float = 1.0


class Solver(ABC):
    """A named algorithm: plans from public facts, then runs on private answers."""

    name: ClassVar[str]

    @abstractmethod
    def plan(self, problem: Problem, prices: QueryPrices, allowance: Allowance) -> Plan:
        """Choose queries and settings whose composed cost the allowance takes (no noise where it is not private)."""

    @abstractmethod
    def run(self, problem: Problem, plan: Plan, curator: Answers) -> Solution:
        """Carry the plan out; which of its questions are asked depends on it, and on what was answered before."""

    @abstractmethod
    def predicted_risk(self, problem: Problem, plan: Plan) -> float:
        """Excess empirical risk expected of `plan`, on the unit domain, from public facts alone."""
