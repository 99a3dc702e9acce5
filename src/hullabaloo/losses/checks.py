"""Validation of the bounds that a loss is asked about."""

from hullabaloo.errors import InvalidParameter


def bound(value: float, what: str) -> float:
    """Give `value` when it is a bound: a number at or above 0 (infinity is allowed, NaN is not)."""
    if not value >= 0.0:
        raise InvalidParameter(
            f"{what} must be at or above 0, but it is {value!r}; give the largest magnitude allowed."
        )
    return float(value)
