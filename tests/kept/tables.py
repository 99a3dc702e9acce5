"""Small tables that are the same on every machine: integers of SHAKE-256, and arithmetic that every processor rounds alike."""

import hashlib
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from hullabaloo.noise import TestKey

N = 60
FEATURES: dict[str, Any] = {"age": (18, 90), "hours": (0, 80)}


def key(name: str) -> TestKey:
    """The test key of a case."""
    return TestKey(hashlib.sha256(f"kept: {name}".encode()).digest())


def uniform(name: str, *shape: int) -> Any:
    """Numbers in [0, 1) with 53 bits each."""
    count = int(np.prod(shape))
    words = np.frombuffer(hashlib.shake_256(name.encode()).digest(8 * count), dtype="<u8")
    return ((words >> np.uint64(11)) * 2.0**-53).reshape(shape)


@cache
def _table(n: int, seed: int) -> pd.DataFrame:
    u = uniform(f"table {seed}", n, 10)
    frame = pd.DataFrame({"age": 18.0 + 72.0 * u[:, 0], "hours": 80.0 * u[:, 1]})
    frame["job"] = np.array(["clerk", "nurse", "cook"])[(3.0 * u[:, 2]).astype(int)]
    frame["years"] = 0.5 + 3.5 * u[:, 3]
    cook = frame["job"] == "cook"
    frame["cost"] = 0.1 * frame["age"] - 0.05 * frame["hours"] + 3.0 * cook - 3.0 + 2.0 * u[:, 4]
    score = 0.02 * (frame["age"] - 54.0) + 0.4 * cook + u[:, 5] - 0.5
    frame["ill"] = np.where(score > 0.1, "yes", "no")
    frame["ward"] = np.where(score > 0.3, "a", np.where(frame["hours"] > 40.0 * u[:, 6] + 20.0, "b", "c"))
    frame["visits"] = np.floor(6.0 * u[:, 7] * (frame["age"] / 60.0))
    frame["events"] = np.floor(4.0 * u[:, 8] * frame["years"])
    frame["weight"] = 2.0 * u[:, 9]
    frame["person"] = np.arange(n) // 2
    return frame


def table(n: int = N, seed: int = 0) -> pd.DataFrame:
    """Ages, hours and jobs; a number `cost`, classes `ill` and `ward`, counts `visits` and `events`; weights, and two records a person."""
    return _table(n, seed).copy()


def matrix(name: str, n: int, p: int, share: float = 1.0) -> Any:
    """A matrix of numbers in (−1, 1), of which about a share are not zero; rows of l2 norm at most 1."""
    values = 2.0 * uniform(f"{name} values", n, p) - 1.0
    kept = np.where(uniform(f"{name} places", n, p) < share, values, 0.0)
    squares = np.array([sum(value * value for value in row) for row in kept.tolist()])  # in this order everywhere
    return kept / np.maximum(1.0, np.sqrt(squares))[:, None]


def linear(X: Any, theta: list[float]) -> Any:
    """A target in [−1, 1]: a linear function of few columns, summed from left to right."""
    return np.clip(sum(value * X[:, column] for column, value in enumerate(theta)), -1.0, 1.0)
