"""Answers whose exceptions take nothing along: the frames of a traceback hold exact numbers, as local variables.

What NumPy finds wrong with a number is nobody's business either: whether it raises, warns or calls a function is the user's setting.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

_HELD: tuple[Any, ...] = tuple(vars(BaseException)[name] for name in ("__cause__", "__context__", "__traceback__"))
"""By the base class's own means: an error of somebody's own may have others, which would be run where exact numbers lie."""
P = ParamSpec("P")
T = TypeVar("T")


def sealed(answer: Callable[P, T]) -> Callable[P, T]:
    """The same answer; an exception leaves it as it is, but without the frames inside and without what it came from.

    A solver of somebody's own may catch it, and reporters of errors send frames' variables far away.
    """

    @wraps(answer)
    def ask(*given: P.args, **named: P.kwargs) -> T:
        try:
            with np.errstate(all="ignore"):
                return answer(*given, **named)
        except BaseException as error:
            fault = error
            for part in _HELD:
                part.__set__(fault, None)
        raise fault

    del ask.__wrapped__  # which would answer without the seal
    return ask
