"""Refusals that all strategies share: what a workload of running sums may be."""

import numpy as np
import numpy.typing as npt

from hullabaloo.errors import InvalidParameter
from hullabaloo.privacy.schedule import FOREVER

LISTED = 1 << 24
"""Steps whose errors are listed at once."""
UNIT_ROUNDOFF = 2.0**-53
UP = 1.0 + 2.0**-36
"""Factor by which column norms and reaches are enlarged: far more than the rounding of the few hundred operations behind them."""


def check(steps: int, decay: float, window: int | None) -> None:
    """Refuse a workload that is none."""
    if not isinstance(steps, int) or isinstance(steps, bool) or not 1 <= steps <= FOREVER:
        raise InvalidParameter(
            f"A continual sum was asked for steps={steps!r}. Noise is calibrated for a number of steps fixed beforehand: pass a whole "
            f"number from 1 to {FOREVER} (the latter for a stream whose length is unknown)."
        )
    if not isinstance(decay, int | float) or not 0.0 < decay <= 1.0:
        raise InvalidParameter(
            f"A continual sum was asked for decay={decay!r}. It is the factor by which the past weighs less after every step: pass a "
            "number in (0, 1], 1 for a sum that forgets nothing."
        )
    if window is not None and (not isinstance(window, int) or isinstance(window, bool) or window < 1):
        raise InvalidParameter(
            f"A continual sum was asked for window={window!r}. It is the number of latest steps that a sum holds: pass a positive whole "
            "number, or None for all steps."
        )


def only_prefix_sums(name: str, decay: float, window: int | None) -> None:
    """Refuse decay and windows for a strategy that knows prefix sums alone."""
    if decay != 1.0 or window is not None:
        raise InvalidParameter(
            f"The mechanism {name!r} was asked for decay={decay!r} and window={window!r}, and it knows sums of everything so far alone. "
            "Choose 'auto', 'buffered' or 'square_root', which have factorisations of their own for drift."
        )


def all_steps(steps: int, at: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64]:
    """The steps `at`, or all of them where a list of so many fits the memory."""
    if at is not None:
        return np.asarray(at, dtype=np.int64)
    if steps > LISTED:
        raise InvalidParameter(
            f"The errors of all {steps} steps were asked for, and a list of so many would fill the memory. Ask for some steps: "
            "errors(at)."
        )
    return np.arange(1, steps + 1)
