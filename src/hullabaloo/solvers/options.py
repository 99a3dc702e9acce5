"""Options of solvers: checked where they are written, and kept as Python's own numbers, which a saved model can hold."""

import math
import sys
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from hullabaloo.errors import CapabilityError, InvalidParameter
from hullabaloo.losses import AnyLoss, Loss, VectorLoss
from hullabaloo.solvers.base import Problem, Solver

MOST = 1_000_000
"""Updates or choices that are asked for at once: more would be planned, and run, for hours."""


class Kind(NamedTuple):
    """What an option may be, what becomes of it (NumPy's numbers become Python's), and the remedy where it is anything else."""

    fits: Callable[[Any], bool]
    made: Callable[[Any], Any]
    remedy: str


def number(value: object, kind: type = Real) -> Any:
    """The number as Python's own, to be compared exactly however large; NaN for what is none of this kind."""
    if isinstance(value, bool) or not isinstance(value, kind):
        return math.nan
    return value.item() if isinstance(value, np.generic) else value


_RULE = "or None for the public rule"
WHOLE = Kind(
    lambda value: value is None or 1 <= number(value, Integral) <= MOST,
    int,
    f"pass a whole number from 1 to {MOST:,}, {_RULE}",
)
POSITIVE = Kind(
    lambda value: value is None or 0.0 < number(value) <= sys.float_info.max, float, f"pass a positive number, {_RULE}"
)
PASSES = Kind(
    lambda value: value is None or number(value, Integral) >= 1,
    int,
    "pass a whole number from 1 on, or None for as many as it takes",
)
MOST_PASSES = 10_000
"""Passes over the table that a solver makes unless it is told otherwise."""
CELL_SECONDS, ROW_SECONDS, CALL_SECONDS = 4e-10, 3e-8, 1e-4
"""What a gradient takes for each number of a dense table and each prediction, and besides: two cores, `python -m benchmarks theory frank_wolfe`; predictions on made tables of 4,000 to 80,000 records and up to 100 columns (told 0.5 to 1.1 times
what came). 1,000 passes of 19,735 hours of a house's energy use, four targets, took 3.1 s; 2.7 are told, and 0.35 were without it. One of several targets that are not learned together is a pass of its own."""
UNITS = ((86_400, "days"), (3600, "hours"), (60, "minutes"), (0, "seconds"))
YES_OR_NO = Kind(lambda value: isinstance(value, bool | np.bool_ | None), bool, f"pass True or False, {_RULE}")


def words(*known: str) -> Kind:
    """An option that is one of a few words."""
    remedy = f"pass one of {', '.join(map(repr, known))}"
    return Kind(lambda value: isinstance(value, str) and value in known, lambda value: value, remedy)


def check_options(solver: Solver, /, **kinds: Kind) -> None:
    """See that each option is of its kind.

    Raises:
        InvalidParameter: one is not.
    """
    for option, kind in kinds.items():
        value = getattr(solver, option)
        if not kind.fits(value):
            raise InvalidParameter(f"{type(solver).__name__} was asked with {option}={value!r}; {kind.remedy}.")
        if value is not None:
            object.__setattr__(solver, option, kind.made(value))


def passes(problem: Problem, count: float) -> str:
    """In words how often the table is gone over, and about how long that takes where it is dense and in memory."""
    predictions = problem.records * (problem.targets if isinstance(problem.loss, VectorLoss) else 1)
    seconds = count * (predictions * (problem.dimension * CELL_SECONDS + ROW_SECONDS) + CALL_SECONDS)
    size, unit = next((s, u) for s, u in UNITS if seconds >= s)
    return f"{count:,.0f} passes over the table, about {seconds / max(size, 1):.2g} {unit}"


def check_passes(solver: Solver, problem: Problem, count: float, limit: int | None) -> str:
    """`passes`, where they are no more than the solver's `max_passes`.

    Raises:
        CapabilityError: they are more; what is printed or asked for is never shortened.
    """
    told = passes(problem, count)
    if limit is not None and count > limit:
        raise CapabilityError(
            f"{type(solver).__name__} would take {told}, and its max_passes is {limit:,}. Nothing was charged or read. Pass a larger "
            "max_passes, or None for as many as it takes; or choose a smaller number of steps, or calibration='exact'."
        )
    return told


def one_prediction(problem: Problem, who: str, instead: str) -> Loss:
    """The loss, of one prediction for one target.

    Raises:
        CapabilityError: the problem has several targets or its loss several predictions.
    """
    if problem.targets != 1 or not isinstance(problem.loss, Loss):
        raise CapabilityError(
            f"{who} fits one target by a loss of one prediction, but the loss {problem.loss.name!r} was given for "
            f"{problem.targets} targets. Fit one target at a time, or use {instead}."
        )
    return problem.loss


def no_jump(loss: AnyLoss, who: str, smoothness: float) -> float:
    """β, the bound of φ'' that steps or noise are made of.

    Raises:
        CapabilityError: there is none, as the derivative jumps.
    """
    if math.isinf(smoothness):
        raise CapabilityError(
            f"{who} needs a loss with a Lipschitz derivative, and that of {loss.name!r} jumps. Use solver='gradient' or 'mirror_descent', which fit quantiles too, or a Huber loss."
        )
    return smoothness
