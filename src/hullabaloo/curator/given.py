"""What a solver hands to the curator, as plain numbers.

An array of a subclass, or a number with arithmetic of its own, has its say in every sum that it takes part in: it would be shown the other
summand, exact as it is, and could give any result. So whatever comes from outside is copied into plain arrays and floats first.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def numbers(value: npt.ArrayLike) -> Array:
    """A plain array of doubles, copied: NumPy takes what `__array__` gives as a copy, whoever else holds it."""
    found = np.array(value, dtype=np.float64, order="C")
    return found if type(value) is np.ndarray else found.copy()


def anything(value: npt.ArrayLike) -> npt.NDArray[Any]:
    """A plain array of its own type, copied."""
    found = np.array(value)
    return found if type(value) is np.ndarray else found.copy()


def number(value: Any) -> float:
    """A plain float."""
    return float(value)
