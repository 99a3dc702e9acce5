"""A strategy by its name."""

from hullabaloo.errors import InvalidParameter
from hullabaloo.noise.continual.base import Strategy
from hullabaloo.noise.continual.buffered import BufferedToeplitz
from hullabaloo.noise.continual.toeplitz import SquareRootToeplitz

NAMES = ("auto", "buffered", "square_root")


def strategy_named(name: str, steps: int, decay: float = 1.0, window: int | None = None) -> Strategy:
    """The strategy of that name for a workload; "auto" takes the one with the least maximum error that runs in little memory.

    Raises:
        InvalidParameter: no such name, or the strategy does not offer this workload.
    """
    if name not in NAMES:
        raise InvalidParameter(f"The mechanism {name!r} was asked for a stream. Choose one of {', '.join(NAMES)}.")
    if name == "square_root":
        return SquareRootToeplitz(steps, decay, window)
    return BufferedToeplitz(steps, decay, window)
