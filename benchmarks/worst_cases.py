"""Synthetic problems on which a private method does as badly as it can, fitted at the noise of any declared number of records."""

import numpy as np

from hullabaloo.privacy import Allowance, Budget
from hullabaloo.reproduce.worst_cases import STEEP, Case, linear, linear_excess, of_instance, spread_lasso, worst_linear

__all__ = ["STEEP", "Case", "linear", "linear_excess", "of_instance", "spread_lasso", "worst_linear"]

Array = np.ndarray


def allowance(epsilon: float, delta: float) -> Allowance:
    return Allowance(Budget(epsilon, delta))


def slope(x: Array, y: Array) -> float:
    """Of log y against log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
