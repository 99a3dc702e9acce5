"""What the moments of a whole stream cost: one Gaussian release of the encoded stream, priced before its first record."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np

from hullabaloo.curator.moments import MomentsQuery
from hullabaloo.curator.query import UNIT_ROUNDOFF, gaussian_event
from hullabaloo.data.source import RowFacts
from hullabaloo.errors import InvalidParameter
from hullabaloo.noise import gaussian_scale
from hullabaloo.noise.continual.base import Strategy
from hullabaloo.noise.continual.choose import strategy_named
from hullabaloo.privacy import Event, Neighbours, NotPrivateEvent
from hullabaloo.privacy.schedule import Schedule

FINE = 8
"""Where a stream is so long that its sums may leave the 64-bit lattice, they are clipped, so that rounding to it costs less
than 2^-8 of the noise; it takes sums beyond 2^27 times the noise, a billion records and more."""


@final
@dataclass(frozen=True, slots=True)
class StreamSumQuery:
    """The running sums of `aaᵀ` of a stream (`MomentsQuery` of its records), released after every step of a schedule.

    Write `v_s` for the moments, in d isometric coordinates, of the records of step s. A strategy `A = BC` encodes the stream
    `v_1, v_2, …` as `Cv`, which is released once with Gaussian noise; every released sum `B(Cv + z)` is post-processing.

    **Guarantee.** *Claim*: the releases after all steps together are μ-GDP for streams that differ in one record at one position
    (replaced; or present in one and contributing nothing in the other, the clock going on), also when records are chosen after
    looking at earlier releases. *Proof*: the position belongs to one step j whatever the records are, so `v_j` alone changes, by
    at most the sensitivity Δ of one record in `MomentsQuery`. Step vectors are exact integers, identical where records are;
    turned into doubles and scaled, `v_j` is off by at most 4u of its bound b in each coordinate, in both streams: b is the bound
    of a record times the most records of a step. Hence `‖Cv − Cv′‖ = ‖C e_j‖ ‖v_j − v_j′‖ ≤ c (Δ + 8u b √d)`, c the largest
    column norm of C, and floating point in C adds at most `slack · b √d` (`Strategy.slack`). All `encoded · d` numbers are rounded
    to the lattice of pitch g once: `g √(encoded · d)` more. Clipping to the lattice's reach is 1-Lipschitz in every coordinate
    and moves nothing apart. C is lower triangular by steps, so adaptively chosen streams have the same guarantee.
    Source: Denisov, McMahan, Rush, Smith and Thakurta (2022), Theorem 2.1; docs/algorithms.md.

    Attributes:
        moments: the query about one step's records; its `records` are those of the whole horizon, its μ is the whole stream's.
        strategy: how sums are encoded.
        schedule: when steps end.
    """

    moments: MomentsQuery
    strategy: Strategy
    schedule: Schedule

    name: ClassVar[str] = "stream_moments"
    key_label: ClassVar[str] = "stream_moments"
    count: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a strategy for fewer steps than the schedule has, and units of several records."""
        if self.strategy.steps < self.schedule.steps:
            raise InvalidParameter(
                f"A stream of {self.schedule.steps} releases was asked of a strategy for {self.strategy.steps}. Noise is calibrated "
                "for all of them beforehand: build the strategy for as many."
            )
        if self.moments.facts.records_per_unit != 1:
            raise InvalidParameter(
                f"A stream protects single records, and units of {self.moments.facts.records_per_unit} records were declared. Such "
                "records may fall into several steps, which this sensitivity does not cover: declare a domain without a unit."
            )

    @property
    def length(self) -> int:
        """How many real numbers receive noise: encoded vectors times coordinates."""
        return self.strategy.encoded * self.moments.length

    @property
    def step_bound(self) -> float:
        """Bound b of a coordinate of a step's vector: at most `W(1+κ²)` a record, lengthened by rounding to the lattice."""
        record = self.moments.facts.max_weight * self.moments.contribution * self.moments.stretch**2
        return self.schedule.largest_step * record * (1.0 + 16.0 * UNIT_ROUNDOFF)

    @property
    def sensitivity(self) -> float:
        """l2 distance of the computed encoded streams of two neighbours: see the guarantee."""
        numerics = self.step_bound * math.sqrt(self.moments.length)
        moved = self.moments.record_sensitivity + 8.0 * UNIT_ROUNDOFF * numerics
        exact = self.strategy.column_norm * moved + self.strategy.slack * numerics
        return exact * (1.0 + 8.0 * UNIT_ROUNDOFF)

    @property
    def bound(self) -> float:
        """Public bound to which encoded coordinates are clipped: all that they can reach, or what a fine lattice can hold."""
        reached = self.strategy.reach * self.step_bound
        if math.isinf(self.moments.mu):
            return reached
        octaves = 60 - min(40, FINE + math.ceil(0.5 * math.log2(self.length)))
        return min(reached, 2.0 ** (octaves - 1) * self.sensitivity / self.moments.mu)

    @property
    def sigma(self) -> float:
        """Noise of each encoded coordinate, μ-GDP for the whole stream with rounding; 0 when μ = ∞."""
        mu = self.moments.mu
        return 0.0 if math.isinf(mu) else gaussian_scale(self.sensitivity, mu, self.length, self.bound)

    @property
    def event(self) -> Event:
        """What all releases up to the horizon cost together."""
        if math.isinf(self.moments.mu):
            return NotPrivateEvent()
        return gaussian_event(self.sensitivity, self.sigma, self.length, self.bound)

    def priced(self, mu: float) -> "StreamSumQuery":
        """The same stream at the price μ."""
        return replace(self, moments=replace(self.moments, mu=mu))

    def error(self, step: int) -> float:
        """Standard deviation of a coordinate of the sum that is released after `step` = 1, 2, …, in units of `sigma`."""
        return float(self.strategy.errors(np.array([step], dtype=np.int64))[0])

    def effective_records(self, step: int) -> float:
        """`Σ_s decay^{step−s} · (records of step s)` over the steps that the sum after `step` holds: public."""
        schedule, decay = self.schedule, self.strategy.decay
        first = 0 if self.strategy.window is None else max(0, step - self.strategy.window)
        if decay == 1.0:
            return float(schedule.position(step) - schedule.position(first))
        if isinstance(schedule.every, tuple):
            positions = np.array([0, *schedule.every[:step]], dtype=np.float64)
            sizes = np.diff(positions)[first:]
            return float(sizes @ decay ** np.arange(sizes.size - 1, -1, -1.0))
        older = -math.expm1((step - first - 1) * math.log(decay)) / (1.0 - decay) * decay
        return schedule.position(step) - schedule.position(step - 1) + schedule.every * older

    def to_dict(self) -> dict[str, Any]:
        """Public description for plans, ledgers and cards."""
        return {
            "name": self.key_label,
            "answers": self.count,
            "neighbours": str(self.moments.neighbours),
            "records": self.moments.records,
            "coordinates": self.length,
            "sensitivity_l2_of_sum": self.sensitivity,
            "noise_std_of_sum": self.sigma,
            "event": self.event.to_dict(),
            "target_scale": self.moments.target_scale,
            "strategy": self.strategy.to_dict(),
            "schedule": self.schedule.to_dict(),
        }


def plan_stream(
    facts: RowFacts,
    neighbours: Neighbours,
    records: int,
    schedule: Schedule,
    mechanism: str,
    decay: float,
    window: int | None,
    *,
    target_scale: float,
) -> StreamSumQuery:
    """The query under a strategy by name, without a price yet (μ = ∞)."""
    moments = MomentsQuery(facts, neighbours, records, 1, math.inf, target_scale)
    return StreamSumQuery(moments, strategy_named(mechanism, schedule.steps, decay, window), schedule)
