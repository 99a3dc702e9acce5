"""When a stream releases: public positions, fixed before any record is read."""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hullabaloo.errors import InvalidParameter

FOREVER = 1 << 40
"""Steps that a stream of unknown length is accounted for: more than any machine takes."""
STEPS = 1024
"""Releases over the horizon when their spacing is left open: finer ones cost noise and show little."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The positions (numbers of records seen) after which a stream releases.

    Step s covers the records between two releases; every record belongs to one step, whatever it holds.

    Attributes:
        horizon: the number of records that the stream may take; None when it is not known beforehand.
        every: a release after so many records (and after the last of the horizon), or the rising positions of all releases.
    """

    horizon: int | None
    every: int | tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse what is not a schedule."""
        if self.horizon is not None and not _whole(self.horizon):
            raise InvalidParameter(
                f"A stream needs a horizon, the largest number of records that it may take, but horizon={self.horizon!r}. Noise is "
                "calibrated for that many before the first is read. Pass a positive whole number, or None when it is unknown."
            )
        if isinstance(self.every, tuple):
            rising = all(map(_whole, self.every)) and all(a < b for a, b in pairwise(self.every))
            if not rising or not self.every or self.horizon is None or self.every[-1] > self.horizon:
                raise InvalidParameter(
                    f"Releases were asked for at the positions {self.every!r} of a stream with horizon={self.horizon!r}. They must be "
                    "rising positive whole numbers, none beyond the horizon: they are public and fixed beforehand. Pass such a "
                    "tuple, or one number for a release after every so many records."
                )
        elif not _whole(self.every):
            raise InvalidParameter(
                f"A release after every {self.every!r} records was asked for. Pass a positive whole number, positions, or 'auto'."
            )

    @classmethod
    def of(cls, horizon: int | None, every: object = "auto") -> "Schedule":
        """The schedule of an estimator's arguments; "auto" releases about 1024 times over the horizon."""
        if isinstance(every, str) and every == "auto":
            known = horizon if horizon is not None and _whole(horizon) else 1
            return cls(horizon, max(1, -(-known // STEPS)))
        return cls(horizon, tuple(every) if isinstance(every, list) else every)  # type: ignore[arg-type]  # checked there

    @property
    def steps(self) -> int:
        """The number of releases, `FOREVER` where the horizon is unknown."""
        if isinstance(self.every, tuple):
            return len(self.every)
        return FOREVER if self.horizon is None else -(-self.horizon // self.every)

    @property
    def largest_step(self) -> int:
        """The most records between two releases."""
        if isinstance(self.every, tuple):
            return max(b - a for a, b in pairwise((0, *self.every)))
        return self.every if self.horizon is None else min(self.every, self.horizon)

    def completed(self, position: int) -> int:
        """How many releases have been made once `position` records are in."""
        if isinstance(self.every, tuple):
            return bisect_right(self.every, position)
        return self.steps if position == self.horizon else position // self.every

    def position(self, step: int) -> int:
        """How many records are in at release `step` = 1, 2, …; 0 for step 0."""
        if isinstance(self.every, tuple):
            return 0 if step == 0 else self.every[step - 1]
        return step * self.every if self.horizon is None else min(step * self.every, self.horizon)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {"horizon": self.horizon, "every": list(self.every) if isinstance(self.every, tuple) else self.every}


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1
