"""How a card writes numbers: privacy losses rounded up, what is left rounded down, everything else to the nearest."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

DIGITS = 4
_NOISE = 1e-9  # relative: 0.3 found by bisection as 0.3000000000002 is shown as 0.3, not as 0.3001


def shown(value: float | None, digits: int = DIGITS, *, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number in at most `digits` significant digits; None is the word "unlimited"."""
    if value is None or math.isinf(value):
        return "unlimited"
    if isinstance(value, int) and abs(value) < 10**15:
        return f"{value:,}"
    number = Context(prec=digits, rounding=rounding).create_decimal(Decimal(repr(float(value))))
    return _plain(float(number), digits)


def up(value: float | None, digits: int = DIGITS) -> str:
    """A cost or a probability of harm, never understated."""
    return shown(
        None if value is None or math.isinf(value) else value - abs(value) * _NOISE, digits, rounding=ROUND_CEILING
    )


def down(value: float | None, digits: int = DIGITS) -> str:
    """What is left, never overstated."""
    return shown(
        None if value is None or math.isinf(value) else value + abs(value) * _NOISE, digits, rounding=ROUND_FLOOR
    )


def percent(value: float) -> str:
    """A probability of harm as a percentage, rounded up: to a tenth, and near certainty to the first digit that is missing."""
    missing = 1.0 - value
    if 1e-9 < missing < 1e-3:
        digits = -math.floor(math.log10(missing))
        rest = math.floor(missing * 10.0**digits * (1.0 + _NOISE))
        return f"{100.0 - rest * 10.0 ** (2 - digits):.{digits - 2}f} %"
    tenths = math.ceil(1000.0 * value * (1.0 - _NOISE))
    return f"{tenths / 10:.1f} %" if tenths % 10 else f"{tenths // 10} %"


def one_in(value: float) -> str:
    """A small probability as "1 in 1,000,000", rounded up."""
    if not 0.0 < value < 1.0:
        return percent(value)
    count = Context(prec=3, rounding=ROUND_FLOOR).create_decimal(Decimal(repr(1.0 / float(value) * (1.0 + _NOISE))))
    return f"1 in {int(count):,}" if count < 10**15 else f"1 in {_plain(float(count), 3)}"


def _plain(value: float, digits: int) -> str:
    if value == 0.0:
        return "0"
    if 1e-4 <= abs(value) < 10 ** max(digits + 2, 6):
        text = f"{value:,.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa}e{int(exponent)}"
