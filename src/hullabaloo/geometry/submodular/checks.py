"""What is public about a set function in an argument."""

from hullabaloo.errors import InvalidParameter
from hullabaloo.geometry.submodular.base import SetFunction


def set_function(value: object, who: str) -> SetFunction:
    """Give `value` when it is a set function."""
    if not isinstance(value, SetFunction):
        raise InvalidParameter(
            f"{who} is made of a set function, but it was given {value!r}; give for example Intervals(), a GroupCover, "
            "or a CustomSetFunction around a callable."
        )
    return value
