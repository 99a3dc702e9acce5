"""The public lattice of a release: how fine it is, what it can hold, and what rounding to it costs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from hullabaloo.errors import CalibrationError, InvalidParameter

FINEST = 40  # scale/pitch ≥ 2^40: rounding then costs less than 1e-7 of the noise even for a million coordinates
COARSEST = 25  # below it, rounding would cost more than the guarantee is stated to
REACH = 60  # |value|/pitch ≤ 2^61, so value + noise always fits a signed 64-bit integer
LARGEST = 2.0**900  # scales and bounds beyond [2^-900, 2^900] would meet overflow or subnormals


@dataclass(frozen=True, slots=True)
class Lattice:
    """The multiples of a power of two to which a release is rounded before noise is added.

    `pitch` is 2^exponent and `ratio` = scale/pitch lies in [2^k, 2^(k+1)); all exact.
    """

    exponent: int
    pitch: float
    k: int
    ratio: float


def positive(name: str, value: float) -> float:
    """Give a public parameter as a float, refused unless it is positive, finite and of ordinary size."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 1 / LARGEST <= number <= LARGEST:
        raise InvalidParameter(
            f"Noise was asked for with {name} = {value!r}, which is not a positive number between 2^-900 and 2^900."
            " Noise of zero, negative, infinite or undefined size has no guarantee, and beyond that range floating"
            f"-point arithmetic overflows. Pass a positive finite {name}, in other units if need be."
        )
    return number


@lru_cache(maxsize=1024)
def lattice(scale: float, bound: float) -> Lattice:
    """Choose the lattice for noise of a given scale on values of magnitude at most `bound`.

    ``k = min(40, 60 − ceil(log2(bound/scale)))``, ``exponent = floor(log2 scale) − k``, computed exactly.

    Parameters
    ----------
    scale : float
        σ of a Gaussian, b of a Laplace, sensitivity Δ of a score. Public.
    bound : float
        Largest magnitude an exact value can have. Public.

    Raises
    ------
    InvalidParameter
        When either is not positive, finite and within [2^-900, 2^900].
    CalibrationError
        When bound/scale > 2^35: the lattice would be too coarse for the noise.

    Notes
    -----
    **Guarantee.** Every |x| ≤ bound satisfies |x|/pitch ≤ (bound/scale)·ratio < 2^(60−k)·2^(k+1) = 2^61: the clip of
    the mechanisms at or beyond 2^61 never touches an honest value.
    """
    scale, bound = positive("scale", scale), positive("bound", bound)
    scale_mantissa, scale_exponent = math.frexp(scale)
    bound_mantissa, bound_exponent = math.frexp(bound)
    octaves = bound_exponent - scale_exponent + (bound_mantissa > scale_mantissa)  # ceil(log2(bound/scale))
    k = min(FINEST, REACH - octaves)
    if k < COARSEST:
        raise CalibrationError(
            f"Noise of scale {scale!r} was asked for on values as large as {bound!r}, 2^{octaves} times larger. A"
            f" 64-bit lattice that holds such values is coarser than 2^-{COARSEST} of the noise, and rounding would"
            " then cost more privacy than the guarantee allows for. Declare a smaller bound (narrower domain, smaller clip) or ask for more noise (smaller epsilon)."
        )
    exponent = scale_exponent - 1 - k
    return Lattice(exponent, math.ldexp(1.0, exponent), k, math.ldexp(scale, -exponent))


def inflated(sensitivity: float, sigma: float, p: int, bound: float) -> float:
    """l2 sensitivity ``Δ + g√p`` of p values after rounding to the lattice of a Gaussian release, rounded upwards.

    **Guarantee.** |rint(a) − rint(b)| ≤ |a − b| + 1 for each coordinate, so the rounded values of two neighbours
    differ, in units of g, by at most ``‖x − x'‖/g + √p`` in l2 norm (triangle inequality). `sensitivity` must already
    contain the numeric error of the query itself.
    """
    pitch = lattice(sigma, bound).pitch
    return _up(_real(sensitivity) + _up(pitch * _up(math.sqrt(_count(p)))))


def inflated_l1(sensitivity: float, scale: float, p: int, bound: float) -> float:
    """l1 sensitivity ``Δ₁ + g p`` of p values after rounding to the lattice of a Laplace release, rounded upwards.

    **Guarantee.** As for `inflated`, summed over the coordinates.
    """
    pitch = lattice(scale, bound).pitch
    return _up(_real(sensitivity) + _up(pitch * _count(p)))


@lru_cache(maxsize=1024)
def gaussian_scale(sensitivity: float, mu: float, p: int, bound: float) -> float:
    """Find σ for which a Gaussian release of p values is μ-GDP, rounding to the lattice included.

    ``inflated(Δ, σ, p, bound) ≤ μσ`` on return: μ-GDP by Dong, Roth and Su (2019), Theorem 2.7, up to 2^-130 per value.

    Raises
    ------
    InvalidParameter
        When an argument is outside its domain.
    CalibrationError
        When no σ suffices (μ so small that rounding alone would cost more, or bound/σ > 2^35).
    """
    return _scale(inflated, sensitivity, "mu", mu, p, bound)


@lru_cache(maxsize=1024)
def laplace_scale(sensitivity: float, epsilon: float, p: int, bound: float) -> float:
    """Find b for which a Laplace release of p values is ε-DP, rounding to the lattice included.

    ``inflated_l1(Δ₁, b, p, bound) ≤ εb`` on return; as `gaussian_scale` otherwise.
    """
    return _scale(inflated_l1, sensitivity, "epsilon", epsilon, p, bound)


def _scale(
    moved: Callable[[float, float, int, float], float], change: float, name: str, price: float, p: int, bound: float
) -> float:
    price, change = positive(name, price), positive("sensitivity", change)
    scale = change / price
    for _ in range(64):
        needed = moved(change, scale, p, bound)
        if Fraction(needed) <= Fraction(price) * Fraction(scale):
            return scale
        scale = max(_up(needed / price), _up(scale))
    raise CalibrationError(
        f"A release of {p} values at {name} = {price!r} was asked for, and no noise level was found: rounding to the"
        " lattice costs more than the budget on its own. Ask for a larger epsilon, fewer values or a smaller bound."
    )


def cells(sensitivity: float, bound: float) -> Fraction:
    """Sensitivity ``D = Δ/g + 1`` of one score in cells of its lattice, exact.

    Numeric error of the scores belongs into `sensitivity`: Δ + 2·err.
    """
    return Fraction(lattice(sensitivity, bound).ratio) + 1


def _up(value: float) -> float:
    return math.nextafter(value, math.inf)


def _real(sensitivity: float) -> float:
    return 0.0 if sensitivity == 0 else positive("sensitivity", sensitivity)


def _count(p: int) -> int:
    if isinstance(p, bool) or int(p) != p or p < 1:
        raise InvalidParameter(
            f"The sensitivity of a release of p = {p!r} values was asked for. Rounding costs something for each value,"
            " so their number must be known. Pass a positive integer."
        )
    return int(p)
