"""A strategy by its name."""

import numpy as np

from hullabaloo.errors import InvalidParameter
from hullabaloo.noise.continual.base import Strategy, check
from hullabaloo.noise.continual.buffered import BufferedToeplitz
from hullabaloo.noise.continual.history import BestFactorisation, SquareRootToeplitz
from hullabaloo.noise.continual.hybrid import LONGEST, Hybrid
from hullabaloo.noise.continual.tree import BinaryTree
from hullabaloo.privacy.schedule import FOREVER

KINDS: tuple[type[Strategy], ...] = BinaryTree, SquareRootToeplitz, BufferedToeplitz, BestFactorisation, Hybrid
NAMED = {kind.name: kind for kind in KINDS}
FEW = 64
"""Steps up to which the best factorisation is searched for: then its memory is that of a few buffers, and it gains up to 5 %."""
WINDOWED = 1024
"""Steps up to which a windowed sum keeps its history for the square root's error, 6 to 9 % less than that of buffers."""
WORTH_IT = 0.99


def strategy_named(name: str, steps: int, decay: float = 1.0, window: int | None = None) -> Strategy:
    """The strategy of that name for a workload.

    "auto" takes the least maximum error among those that run in little memory: the best factorisation for few steps, buffers
    otherwise (a square root's history for windows over moderately many), one mechanism for any end when the length is unknown.

    Raises:
        InvalidParameter: no such name, or the strategy does not offer this workload.
    """
    if name == "auto":
        return _best(steps, decay, window)
    if name not in NAMED:
        raise InvalidParameter(f"The mechanism {name!r} was asked for a stream. Use one of auto, {', '.join(NAMED)}.")
    return NAMED[name](steps, decay, window)


def largest_error(strategy: Strategy) -> float:
    """Largest standard deviation of a sum over the steps, at column norm 1 (under a window errors rise with the steps)."""
    at = np.array([strategy.steps]) if strategy.window is not None and strategy.steps > FEW else None
    return strategy.column_norm * float(strategy.errors(at).max())


def _best(steps: int, decay: float, window: int | None) -> Strategy:
    check(steps, decay, window)
    if steps == FOREVER and decay == 1.0 and window is None:
        return Hybrid(steps, first=LONGEST)
    buffered = BufferedToeplitz(steps, decay, window)
    others: list[Strategy] = []
    if steps <= FEW:
        others.append(BestFactorisation(steps, decay, window))
    if buffered.window is not None and steps <= WINDOWED:
        others.append(SquareRootToeplitz(steps, decay, window))
    if not others:
        return buffered
    best = min(others, key=largest_error)
    return best if largest_error(best) <= WORTH_IT * largest_error(buffered) else buffered
