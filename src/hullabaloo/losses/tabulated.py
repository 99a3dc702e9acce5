"""Losses of a user's own: a function of the residual z − y or of the margin yz, tabulated on a public grid before anything is charged.

The table is the loss: φ' is given at equally spaced knots, is linear between them and constant beyond them, so φ is convex, piecewise quadratic
and has a Lipschitz derivative. What was tabulated is never called again: kernels read the table, and so do files. Knots are multiples of a power
of two, slopes whole multiples of 2^-40 of a power of two: their differences, and φ' itself as a function of real numbers, lose nothing in doubles.

Not covered: counts, whose loss is of z and y apart, and losses of several predictions.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from hullabaloo.codec import settle
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses.base import Array, KernelCode, Loss, LossConstants

FINEST, LONGEST = 2.0**-16, 1 << 16
"""The least distance of knots, and how many there may be."""
DIGITS = 40
WAVERING = 1e-9
"""Falls of φ' below this share of its largest size are its rounding, and none."""


@dataclass(frozen=True, slots=True)
class TabulatedLoss(Loss):
    """`φ(z, y) = g(t)` of one argument t, by g' at the knots `start, start + step, …`; the least value of g is 0.

    Attributes:
        label: what the loss is called.
        start: the first knot, a multiple of the step.
        step: their distance, a power of two.
        slopes: g' at the knots: rising, not above 0 at the first and not below 0 at the last, as a loss has a least value.
    """

    label: str
    start: float
    step: float
    slopes: tuple[float, ...] = field(repr=False)
    # start, step and slopes
    kernel_parameter: Array = field(init=False, repr=False, compare=False)  # type: ignore[misc]  # of others a constant
    ARGUMENT: ClassVar[str]

    def __post_init__(self) -> None:
        try:
            given, start, step = np.array(self.slopes, dtype=np.float64), float(self.start), float(self.step)
        except (TypeError, ValueError, OverflowError):
            raise InvalidParameter(
                "A table of slopes is made of numbers: the first knot, the distance of knots and a slope at each. Use hb.custom_loss, which makes such tables."
            ) from None
        largest = float(np.abs(given).max(initial=0.0)) if given.ndim == 1 else math.nan
        grid = FINEST <= step <= 1.0 and math.frexp(step)[0] == 0.5
        grid = grid and abs(start) <= LONGEST * step and start % step == 0.0
        if not (grid and 3 <= given.size <= LONGEST and 2.0**-60 <= largest <= 2.0**60):
            raise InvalidParameter(
                f"A table of {given.size} slopes at knots from {start!r} with distance {step!r} makes no loss: the distance is a power of two "
                "from 2^-16 to 1, the first knot a multiple of it, and slopes are finite and not all 0. Use hb.custom_loss, which makes such tables."
            )
        power = math.frexp(largest)
        unit = math.ldexp(1.0, power[1] - (power[0] == 0.5) - DIGITS)
        given = np.round(given / unit) * unit + 0.0
        if not (np.all(np.diff(given) >= 0.0) and given[0] <= 0.0 <= given[-1]):
            raise InvalidParameter(
                "The slopes of a table fall somewhere, or do not go from at most 0 to at least 0: the loss would not be convex, or have no "
                "least value, and no solver's guarantee would hold. Use hb.custom_loss, which says where."
            )
        numbers = np.concatenate([[start, step], given])
        numbers.flags.writeable = False
        settle(self, label=_label(self.label), start=start, step=step)
        settle(self, slopes=tuple(given.tolist()), kernel_parameter=numbers)

    @property
    def name(self) -> str:
        """What the user called it."""
        return self.label

    @abstractmethod
    def argument(self, z: Array, y: Array) -> Array:
        """t."""

    @property
    def knots(self) -> Array:
        """Where g' is given."""
        return self.start + self.step * np.arange(len(self.slopes), dtype=np.float64)

    @property
    def lowest(self) -> float:
        """The least t, within the table, from where g does not fall."""
        s, first = self.slopes, int(np.searchsorted(self.slopes, 0.0))
        if not first:
            return self.start
        rise = s[first] - s[first - 1]
        return float(min(self.knots[first - 1] - s[first - 1] / rise * self.step, self.knots[-1]))

    def value(self, z: Array, y: Array) -> Array:
        """g(t)."""
        t, knots, s = self.argument(z, y), self.knots, np.array(self.slopes)
        bend = np.diff(s) / self.step
        heights = np.concatenate([[0.0], np.cumsum(0.5 * (s[1:] + s[:-1]) * self.step)])
        dips = np.where((s[:-1] < 0.0) & (s[1:] > 0.0), 0.5 * s[:-1] ** 2 / np.where(bend > 0.0, bend, 1.0), 0.0)
        heights -= min(heights.min(), (heights[:-1] - dips).min())
        inside = np.clip(t, knots[0], knots[-1])
        i = self._cell(inside)
        u = inside - knots[i]
        beyond = (t - inside) * np.where(t < inside, s[0], s[-1])
        return np.asarray(heights[i] + u * (s[i] + 0.5 * u * bend[i]) + beyond)

    def slope(self, t: Array) -> Array:
        """g'(t), by the formula of `kernels.table_slope`."""
        place = np.clip((np.asarray(t) - self.start) / self.step, 0.0, len(self.slopes) - 1.0)
        i, s = self._cell(t), np.array(self.slopes)
        return np.asarray(s[i] + (place - i) * (s[i + 1] - s[i]))

    def bend(self, t: Array) -> Array:
        """g''(t), from the right at knots."""
        inside = (t >= self.start) & (t < self.knots[-1])
        return np.where(inside, np.diff(self.slopes)[self._cell(t)] / self.step, 0.0)

    def _cell(self, t: Array) -> Any:
        """The number of the cell that t is in; 0 of NaN."""
        place = np.floor(np.clip((np.asarray(t) - self.start) / self.step, 0.0, len(self.slopes) - 2.0))
        return np.where(np.isnan(place), 0.0, place).astype(np.intp)

    def _over(self, reach: float, clip: float) -> tuple[Array, Array, Array]:
        """Of the cells that |t| ≤ reach meets: g'' there, the least |g'|, and the slopes at ±reach."""
        s, knots = np.array(self.slopes), self.knots
        met = (knots[:-1] <= reach) & (knots[1:] >= -reach)
        least = np.where((s[:-1] <= 0.0) & (s[1:] >= 0.0), 0.0, np.minimum(np.abs(s[:-1]), np.abs(s[1:])))
        kept = met & (least < clip)
        return (np.diff(s) / self.step)[kept], least[kept], np.abs(self.slope(np.array([-reach, reach])))


def _label(label: object) -> str:
    if not (isinstance(label, str) and 0 < len(label) <= 60 and label.isprintable()):
        raise InvalidParameter(
            f"A loss was called {label!r}, but its name is printed in statements and plans: pass a text of 1 to 60 characters."
        )
    return label


@dataclass(frozen=True, slots=True)
class ResidualLoss(TabulatedLoss):
    """`φ(z, y) = g(z − y)` for a number y, g by its table; made by `hb.custom_loss`.

    |φ'| ≤ the largest slope on |t| ≤ Z + Y, φ'' ≤ the largest difference of neighbouring slopes there, over their distance.
    """

    kind = "residual_table"
    kernel_code = KernelCode.RESIDUAL_TABLE
    ARGUMENT: ClassVar[str] = "the residual z − y"

    @property
    def intercept_bounds(self) -> tuple[float, float]:
        """[−1 + a, 1 + a] and [−1, 1], a the least residual of least loss: beyond the former no record gains."""
        return min(self.lowest, 0.0) - 1.0, max(self.lowest, 0.0) + 1.0

    def argument(self, z: Array, y: Array) -> Array:
        """The residual."""
        return np.subtract(z, y)

    def derivative(self, z: Array, y: Array) -> Array:
        """g'(z − y)."""
        return self.slope(self.argument(z, y))

    def second_derivative(self, z: Array, y: Array) -> Array:
        """g''(z − y)."""
        return self.bend(self.argument(z, y))

    def _constants(self, size: float, targets: float, clip: float) -> LossConstants:
        """Read off the cells that |z − y| ≤ Z + Y meets."""
        bend, _, ends = self._over(size + targets, clip)
        within = self.start <= -size - targets and size + targets <= float(self.knots[-1])
        least = float(bend.min(initial=math.inf)) if within and bend.size else 0.0
        return LossConstants(float(ends.max()), float(bend.max(initial=0.0)), least)


@dataclass(frozen=True, slots=True)
class MarginLoss(TabulatedLoss):
    """`φ(z, y) = g(yz)` for a class y = ±1, g by its table; made by `hb.custom_loss`.

    |φ'| ≤ |y||g'|, φ'' ≤ y² g''. g falls at 0: else decisions for the likelier class would not be the best ones (Bartlett, Jordan and McAuliffe 2006,
    Theorem 2).
    """

    kind = "margin_table"
    kernel_code = KernelCode.MARGIN_TABLE
    ARGUMENT: ClassVar[str] = "the margin yz"

    def __post_init__(self) -> None:
        TabulatedLoss.__post_init__(self)
        if not float(self.slope(np.zeros(()))) < 0.0:
            raise InvalidParameter(
                f"The loss {self.label!r} of the margin yz does not fall at 0, so that a decision for the wrong class costs no more than one for the right "
                "one. Pass a function that falls there, such as lambda m: max(0.0, 1.0 - m)."
            )

    @property
    def intercept_bounds(self) -> tuple[float, float]:
        """±a, a a step beyond the least margin of least loss: a larger constant gains on no record."""
        return -self.lowest - self.step, self.lowest + self.step

    def argument(self, z: Array, y: Array) -> Array:
        """The margin."""
        return np.multiply(y, z)

    def derivative(self, z: Array, y: Array) -> Array:
        """y g'(yz)."""
        return np.asarray(y) * self.slope(self.argument(z, y))

    def second_derivative(self, z: Array, y: Array) -> Array:
        """y² g''(yz)."""
        return np.square(y) * self.bend(self.argument(z, y))

    def _constants(self, size: float, targets: float, clip: float) -> LossConstants:
        """Read off the cells that |yz| ≤ YZ meets; with a clip c a cell counts for |y| ≤ c/|g'|. Not strongly convex (y = 0 is in the range)."""
        reach = 0.0 if 0.0 in (size, targets) else size * targets
        bend, least, ends = self._over(reach, math.inf)
        heaviest = np.minimum(targets, np.divide(clip, least, out=np.full(least.size, np.inf), where=least > 0.0))
        smoothness = float((bend * heaviest**2).max(initial=0.0))
        return LossConstants(targets * float(ends.max()), smoothness, 0.0)


TABLES: dict[str, type[ResidualLoss] | type[MarginLoss]] = {"residual": ResidualLoss, "margin": MarginLoss}


def custom_loss(
    value: Callable[[float], float] | None = None,
    *,
    derivative: Callable[[float], float] | None = None,
    of: str,
    name: str,
    reach: float = 8.0,
    step: float = 2.0**-6,
) -> ResidualLoss | MarginLoss:
    """A convex loss of a user's own, `φ(z, y) = g(z − y)` or `g(yz)`, as a table: g is called on a public grid, now, and never on a record.

    The table is the loss from here on: g' at the knots (by central differences, where g itself is given), linear between, constant beyond
    `reach`. A kink is rounded over a step. Where g still falls at the last knot, or still rises at the first, one more knot of slope 0 ends it, so that the
    loss has a least value. Slopes err by at most `step²/8 · max|g'''|` where g' is given and g smooth, by 7/3 of it where g is.

    Args:
        value: g, a convex function of one number; or else
        derivative: g', a rising one.
        of: "residual" (numbers: t = z − y, on the unit domain, where targets are in [−1, 1]) or "margin" (classes y = ±1: t = yz).
        name: what statements and plans call the loss.
        reach: knots go from −reach to reach.
        step: their distance, rounded down to a power of two.

    Raises:
        InvalidParameter: not exactly one of both functions, one that raises, is not finite or not convex on the grid, or does not fall at the margin 0.

    >>> loss = custom_loss(lambda r: math.log(math.cosh(r)), of="residual", name="log-cosh")
    >>> round(float(loss.derivative(1.0, 0.5)), 3), loss.constants(1.0, 1.0).smoothness <= 1.0
    (0.462, True)
    """
    function = derivative if value is None else value
    if (value is None) == (derivative is None) or not callable(function):
        raise InvalidParameter(
            "A loss is tabulated from one function: its value g, or derivative=g'. Pass exactly one, of one number, such as "
            "custom_loss(lambda r: math.log(math.cosh(r)), of='residual', name='log-cosh')."
        )
    if of not in TABLES:
        raise InvalidParameter(
            f"The loss {name!r} was said to be of {of!r}. Losses of the 'residual' z − y (numbers) and of the 'margin' yz (classes ±1) can be tabulated; "
            "those of counts, and of several predictions, are of more than one number."
        )
    fine = all(
        isinstance(one, int | float) and not isinstance(one, bool) and 0.0 < one < math.inf for one in (reach, step)
    )
    if not fine or not FINEST <= step <= min(1.0, reach) or reach / step > LONGEST / 8:
        raise InvalidParameter(
            f"A table with reach={reach!r} and step={step!r} was asked. The step is from 2^-16 to 1, and a reach of at least one and at most {LONGEST // 8:,} of them."
        )
    h = math.ldexp(1.0, math.frexp(step)[1] - 1)
    count = math.ceil(reach / h)
    if value is None:
        knots: Array = h * np.arange(-count, count + 1, dtype=np.float64)
        slopes = _called(function, knots, name)
    else:
        knots = h * np.arange(-count - 1, count + 2, dtype=np.float64)
        heights = _called(function, knots, name)
        slopes, knots = (heights[2:] - heights[:-2]) / (2.0 * h), knots[1:-1]
    falls, largest = -np.diff(slopes), float(np.abs(slopes).max())
    if falls.max() > WAVERING * largest:
        i = int(falls.argmax())
        raise InvalidParameter(
            f"The loss {name!r} is not convex: its slope falls from {slopes[i]:.6g} at {knots[i]:.6g} to {slopes[i + 1]:.6g} at {knots[i + 1]:.6g} of "
            f"{TABLES[of].ARGUMENT}. Solvers' bounds, and the certified minimisers, are those of convex losses. Pass a convex function."
        )
    slopes = np.maximum.accumulate(slopes)
    if slopes[0] > 0.0:
        knots, slopes = np.append(knots[0] - h, knots), np.append(0.0, slopes)
    if slopes[-1] < 0.0:
        knots, slopes = np.append(knots, knots[-1] + h), np.append(slopes, 0.0)
    return TABLES[of](name, float(knots[0]), h, tuple(slopes.tolist()))


def _called(function: Callable[[float], float], points: Array, name: str) -> Array:
    """The function at each point."""
    found = np.empty(points.size)
    for i, t in enumerate(points.tolist()):
        try:
            found[i] = float(function(t))
        except Exception as error:  # reason: a user's function may raise anything
            raise InvalidParameter(
                f"The function of the loss {name!r} raised {type(error).__name__} at {t:.6g} ({error}). Nothing was read or charged. It must give a number for "
                "each number of the grid."
            ) from error
        if not math.isfinite(found[i]):
            raise InvalidParameter(
                f"The function of the loss {name!r} gave {float(found[i])!r} at {t:.6g}. Nothing was read or charged. It must be finite on the whole grid: pass a smaller "
                "reach, or write it without overflow."
            )
    return found
