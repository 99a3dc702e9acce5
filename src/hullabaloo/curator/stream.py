"""The moments of a whole stream: what they cost, and the curator that takes records in their order and shows noisy running sums.

Which records came in which batch, and in which order inside a step, changes no bit.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hullabaloo.codec import as_kept
from hullabaloo.curator.exact import PRODUCT_BLOCK, ExactSum, magic_number
from hullabaloo.curator.moments import MomentsQuery, dense_sum
from hullabaloo.curator.query import UNIT_ROUNDOFF, gaussian_event
from hullabaloo.curator.stream_kernels import step_sums
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter, NotPaidFor
from hullabaloo.forks import this_process
from hullabaloo.noise import TestKey, gaussian_scale
from hullabaloo.noise.continual.base import Array, Integers, Strategy, labelled, of_part
from hullabaloo.noise.continual.choose import strategy_named
from hullabaloo.noise.continual.mechanism import ContinualSum
from hullabaloo.privacy import Event, Neighbours, NoisyMoments, NotPrivateEvent, Schedule

FINE = 8
"""Where a stream is so long that its sums may leave the 64-bit lattice, they are clipped, so that rounding to it costs less
than 2^-8 of the noise; it takes sums beyond 2^27 times the noise, a billion records and more."""
_LONG = 256
"""Records of one step in one batch from which a matrix product is worth its calls,"""
_WIDE = 32
"""and columns (targets included) from which it is."""
_BLOCK = 1 << 21
"""Doubles of step vectors, or of rows made dense, that are held at once (16 MiB)."""


@dataclass(frozen=True)
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
    to the lattice of pitch g once: `g √(encoded · d)` more. *Units*: streams are neighbours that differ where a unit's records are,
    which are another new unit's in the other stream, or nobody's. Of a unit the first `share` records of positive weight count, at whichever
    positions: whether one does depends on its own unit alone, so all other records contribute the same to both. Take the one unit's
    records out, one by one, and put the other's in: `share` changes under add-or-remove and twice as many under replace-one, each
    of one step by at most the add-or-remove Δ of one record, hence, by the triangle inequality, so many times the above. Clipping to the lattice's reach is 1-Lipschitz in every coordinate
    and moves nothing apart. C is lower triangular by steps, so adaptively chosen streams have the same guarantee.
    Source: Denisov, McMahan, Rush, Smith and Thakurta (2022), Theorem 2.1; docs/algorithms.md.

    Attributes:
        moments: the query about one step's records; its `records` are those of the whole horizon, its μ is the whole stream's.
        strategy: how sums are encoded.
        schedule: when steps end.
        share: how many records of a unit count over the whole horizon, the first of them; None where a record is the unit.

    Source: 003, Definition 4.
    """

    moments: MomentsQuery
    strategy: Strategy
    schedule: Schedule
    share: int | None = None

    name: ClassVar[str] = "stream_moments"
    key_label: ClassVar[str] = "stream_moments"
    tier: ClassVar[int] = 2
    count: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Refuse a strategy for fewer steps than the schedule has, and units whose share is not counted."""
        if self.strategy.steps < self.schedule.steps:
            raise InvalidParameter(
                f"A stream of {self.schedule.steps} releases was asked of a strategy for {self.strategy.steps}. Noise is calibrated "
                "for all of them beforehand: build the strategy for as many."
            )
        if self.moments.facts.records_per_unit != (self.share or 1):
            raise InvalidParameter(
                f"Rows of units of {self.moments.facts.records_per_unit} records were declared for a stream of which {self.share or 1} count. Such "
                "records may fall into several steps, which this sensitivity does not cover: declare the same number."
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
        """l2 distance of the computed encoded streams of two neighbours: see the guarantee.

        Source: 003, Definition 11.
        """
        numerics = self.step_bound * math.sqrt(self.moments.length)
        one, times = self.moments, 1
        if self.share is not None:
            one = replace(one, neighbours=Neighbours.ADD_OR_REMOVE)
            times = self.share * (2 if self.moments.neighbours is Neighbours.REPLACE_ONE else 1)
        moved = one.record_sensitivity + 8.0 * UNIT_ROUNDOFF * numerics
        exact = times * (self.strategy.column_norm * moved + self.strategy.slack * numerics)
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
    share: int | None = None,
) -> StreamSumQuery:
    """The query under a strategy by name, without a price yet (μ = ∞)."""
    moments = MomentsQuery(facts, neighbours, records, 1, math.inf, target_scale)
    return StreamSumQuery(moments, strategy_named(mechanism, schedule.steps, decay, window), schedule, share)


class StepSums:
    """`Σ w (x,y)(x,y)ᵀ` of the records of each step, in isometric coordinates. PRIVATE, as is its state.

    **Guarantee.** A completed step's vector is a function of the *multiset* of its records: rows are rounded to the lattice of
    exact.py one by one, products of cells are whole numbers below 2^42, at most 2048 of which are added in a double before
    they go to integers of two limbs. Turning an integer into a double and scaling it rounds twice, each time by a relative u.
    Without noise (μ = ∞) rows are not rounded and sums are of doubles, in the order of records: batches change no bit either.
    """

    def __init__(self, query: MomentsQuery, bound: float) -> None:
        self._size, self._bound = query.width, bound
        self._exponent = query.exponent if query.is_private else None
        rows, columns = np.triu_indices(self._size)
        off = rows != columns
        lattice = 0 if self._exponent is None else 2 * self._exponent
        scales = query.scales
        self._factors = scales[rows] * scales[columns] * np.where(off, math.sqrt(2.0), 1.0) * 2.0**lattice
        self._places = np.where(off, self._size - 1 + np.cumsum(off), rows)
        self.sums: Array = np.zeros(query.length)
        self.total = ExactSum((query.length,), lattice)

    def add(self, rows: Rows, ends: Integers) -> Array:
        """Take a batch; the vectors (m, d) of the steps that it completes after `ends` of its records, rising."""
        out = np.empty((ends.size, self.sums.size))
        n = rows.Y.shape[0]
        if self._exponent is None or self._size < _WIDE or n < _LONG * (ends.size + 1):
            self._pass(rows, ends, out)
            return out
        nothing, start = some(rows, 0, 0), 0
        upper = np.triu_indices(self._size)
        for step, stop in enumerate([*ends.tolist(), n]):
            part = dense_sum(some(rows, start, stop), self._size, self._exponent)
            self.total.high += part.high[upper]
            self.total.low += part.low[upper]
            self.total.carry()
            if step < ends.size:
                self._pass(nothing, np.zeros(1, dtype=np.int64), out[step : step + 1])
            start = stop
        return out

    def _pass(self, rows: Rows, ends: Integers, out: Array) -> None:
        root = np.zeros(0) if rows.weight is None else np.sqrt(rows.weight)
        magic, inverse, room = 0.0, 1.0, 0
        if self._exponent is not None:
            magic, inverse, room = magic_number(self._exponent), 2.0**-self._exponent, PRODUCT_BLOCK
        about = (root, ends, magic, inverse, room, self.sums, self.total.high, self.total.low)
        step_sums(rows.X, rows.Y, *about, self._factors, self._places, self._bound, out)
        self.total.carry()

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """What the unfinished step's records add up to."""
        return {"sums": self.sums.copy(), "high": self.total.high.copy(), "low": self.total.low.copy()}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` gave; raises where it is no such state."""
        self.sums = as_kept(state["sums"], self.sums).copy()
        self.total.high, self.total.low = (as_kept(state[name], self.total.high).copy() for name in ("high", "low"))


class StreamCurator:
    """Holds the exact sums of a stream; what it shows is the noisy moments after the last completed step.

    **Guarantee.** What leaves is a function of `StreamSumQuery`'s release: the encoded vectors with their noise, drawn once when
    a step's last record is taken. Positions at which anything happens are public. The object stays in the process that made
    it: a forked child that went on would draw other noise for the same records, two releases in place of one. When taking is
    interrupted (by a signal, for want of memory) nothing more is taken or saved.
    """

    def __init__(self, query: StreamSumQuery, *, key: TestKey | None = None) -> None:
        self.__query, self.__position = query, 0
        self.__owner, self.__whole = this_process(), True
        self.__taken = {bytes(32): query.share or 0}  # how many records of each unit count already; of nobody none will
        self.__sums, self.__sigma = StepSums(query.moments, query.step_bound), query.sigma
        self.__mechanism = ContinualSum(
            query.strategy, self.__sigma, length=query.moments.length, bound=query.bound, key=key
        )

    def __repr__(self) -> str:
        return "StreamCurator(<private sums>)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError(
            "A stream's curator holds private sums and cannot be pickled or copied: a copy that went on would be a second release."
        )

    @property
    def position(self) -> int:
        """Records taken."""
        return self.__position

    def take(self, rows: Rows) -> None:
        """Take records, sparse or dense, in their order; draws the noise of every step that they complete.

        Raises:
            InvalidParameter: more records than are left of the schedule; none was taken.
        """
        self.__check()
        schedule, count = self.__query.schedule, rows.Y.shape[0]
        if schedule.horizon is not None and self.__position + count > schedule.horizon:
            raise InvalidParameter(
                f"A stream with a horizon of {schedule.horizon} records was asked to take record {self.__position + count}. Noise was "
                "calibrated for the horizon and no record beyond it can be taken: open a stream with a longer one."
            )
        moments, every = self.__query.moments, 1 if isinstance(schedule.every, tuple) else schedule.every
        # so many at once that neither dense rows nor step vectors outgrow a block
        most = max(1, min(_BLOCK // max(moments.width, 1), max(1, _BLOCK // moments.length) * every))
        whole, self.__whole = self.__whole, False
        for start in range(0, count, most):
            self.__take(some(self.__shared(rows, start, start + most), 0, most, dense=True))
        self.__whole = whole

    def __shared(self, rows: Rows, start: int, stop: int) -> Rows:
        """Some of the records, those that are beyond their unit's share, or nobody's, at weight 0."""
        part, share, taken = some(rows, start, stop), self.__query.share, self.__taken
        if share is None:
            return part
        assert rows.unit is not None
        weight = np.ones(len(part.Y)) if part.weight is None else part.weight.copy()
        for place, words in enumerate(rows.unit[start:stop]):
            count = taken.get(name := words.tobytes(), 0)
            weight[place] *= count < share
            taken[name] = count + bool(weight[place])
        return replace(part, weight=weight)

    def __take(self, rows: Rows) -> None:
        schedule, before = self.__query.schedule, self.__position
        after = before + rows.Y.shape[0]
        steps = range(schedule.completed(before) + 1, schedule.completed(after) + 1)
        ends = np.array([schedule.position(step) - before for step in steps], dtype=np.int64)
        vectors = self.__sums.add(rows, ends)
        self.__position = after
        if ends.size:
            self.__mechanism.add(vectors)

    def moments(self) -> NoisyMoments | None:
        """The noisy moments after the last completed step, in mean form; None before the first. Free: nothing is drawn."""
        step, last = self.__mechanism.step, self.__mechanism.last
        if step == 0 or last is None:
            return None
        query = self.__query
        return query.moments.in_means(last, self.__sigma * query.error(step), query.effective_records(step))

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything needed to go on, bit for bit. PRIVATE: for the state file only."""
        self.__check()
        halves = labelled("sums/", self.__sums.state()) | labelled("mechanism/", self.__mechanism.state())
        if self.__query.share is not None:
            halves["units"] = np.frombuffer(b"".join(self.__taken), dtype=np.int64).reshape(-1, 4)
            halves["counts"] = np.array(list(self.__taken.values()), dtype=np.int64)
        return {"position": np.array(self.__position, dtype=np.int64), **halves}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` of a curator of an equal query gave; raises where it is no such state."""
        self.__check()
        self.__position, self.__whole = int(as_kept(state["position"], np.array(0))), True
        if (share := self.__query.share) is not None:
            nobody, counts = np.zeros((len(state["counts"]), 4), np.int64), state["counts"]
            names = [words.tobytes() for words in as_kept(state["units"], nobody)]
            self.__taken = dict(zip(names, as_kept(counts, nobody[:, 0]).tolist(), strict=True))
            if min(self.__taken.values()) < 0 or self.__taken[bytes(32)] != share or len(self.__taken) < len(names):
                raise ValueError("counts of other units")
        self.__sums.restore(of_part("sums/", state))
        self.__mechanism.restore(of_part("mechanism/", state))
        if self.__position < 0 or self.__mechanism.step != self.__query.schedule.completed(self.__position):
            raise ValueError("a state of another position")

    def __check(self) -> None:
        if this_process() != self.__owner:
            raise NotPaidFor(
                "This stream was opened by another process, of which this one is a forked child. Both going on would release the "
                "same records twice, under noise that was paid for once. Learn in the process that opened the stream, or save "
                "its state there, close it, and resume from the state here."
            )
        if not self.__whole:
            raise NotPaidFor(
                "Taking records was interrupted, so it is unknown which of them are in the sums. Giving them again could count some "
                "twice, which was not paid for. Open the stream again from its last saved state, and go on from the position it gives."
            )


def some(rows: Rows, start: int, stop: int, *, dense: bool = False) -> Rows:
    """Some of the records, dense and C-contiguous where that is asked. PRIVATE."""
    X, Y, weight = rows.X[start:stop], rows.Y[start:stop], None if rows.weight is None else rows.weight[start:stop]
    if dense:
        X, Y = np.ascontiguousarray(X if isinstance(X, np.ndarray) else X.toarray()), np.ascontiguousarray(Y)
    return Rows(X, Y, weight)
