"""Synthetic problems on which a private method does as badly as it can, fitted at the noise of any declared number of records."""

import math

import numpy as np

from hullabaloo.privacy import Allowance, Budget
from hullabaloo.reproduce.worst_cases import STEEP, Case, linear, linear_excess, of_instance, spread_lasso, worst_linear

__all__ = ["STEEP", "Case", "linear", "linear_excess", "of_instance", "spread_lasso", "worst_linear"]

Array = np.ndarray


def allowance(epsilon: float, delta: float) -> Allowance:
    return Allowance(Budget(epsilon, delta))


def slope_with_error(x: Array, y: Array) -> tuple[float, float]:
    """Of log y against log x, by least squares, with its standard error."""
    x, y = np.log(x), np.log(y)
    line = np.polyfit(x, y, 1)
    left = y - np.polyval(line, x)
    return float(line[0]), math.sqrt(float(left @ left) / (len(x) - 2) / float(np.sum((x - x.mean()) ** 2)))
