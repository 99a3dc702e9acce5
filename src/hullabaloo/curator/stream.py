"""The curator of a stream: takes records in their order, keeps exact sums of the step under way, and shows noisy ones."""

import os
from collections.abc import Mapping
from typing import Any, final

import numpy as np
import numpy.typing as npt

from hullabaloo.curator.step_sums import StepSums, blocks, dense_part
from hullabaloo.curator.stream_sum import StreamSumQuery
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter, NotPaidFor
from hullabaloo.noise import TestKey
from hullabaloo.noise.continual.mechanism import ContinualSum
from hullabaloo.privacy.answers import NoisyMoments


@final
class StreamCurator:
    """Holds the exact sums of a stream; what it shows is the noisy moments after the last completed step.

    **Guarantee.** What leaves is a function of `StreamSumQuery`'s release: the encoded vectors with their noise, drawn once when
    a step's last record is taken. Positions at which anything happens are public. The object stays in the process that made
    it: a forked child that went on would draw other noise for the same records, two releases in place of one. When taking is
    interrupted (by a signal, for want of memory) nothing more is taken or saved.
    """

    __slots__ = ("__mechanism", "__owner", "__position", "__query", "__sigma", "__sums", "__whole")

    def __init__(self, query: StreamSumQuery, *, key: TestKey | None = None) -> None:
        self.__query, self.__position = query, 0
        self.__owner, self.__whole = os.getpid(), True
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
        length = self.__query.moments.length
        every = 1 if isinstance(schedule.every, tuple) else schedule.every
        starts = blocks(count, self.__query.moments.width, length, every)
        whole, self.__whole = self.__whole, False
        for start in starts:
            self.__take(dense_part(rows, start, min(start + starts.step, count)))
        self.__whole = whole

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
        noise = {f"mechanism/{name}": array for name, array in self.__mechanism.state().items()}
        sums = {f"sums/{name}": array for name, array in self.__sums.state().items()}
        return {"position": np.array(self.__position, dtype=np.int64), **sums, **noise}

    def restore(self, state: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` of a curator of an equal query gave."""
        self.__check()
        self.__position, self.__whole = int(state["position"]), True
        self.__sums.restore(_part(state, "sums/"))
        self.__mechanism.restore(_part(state, "mechanism/"))

    def __check(self) -> None:
        if os.getpid() != self.__owner:
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


def _part(state: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}
