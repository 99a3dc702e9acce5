"""Outcomes of cases that are compared bit for bit within a run, and numbers that are compared with those of an earlier version."""

import json
import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from tests.kept import fits, questions, streams
from tests.kept.case import Case, Parts

NEAR = 1e-9


@cache
def cases() -> dict[str, Case]:
    """Every case by its name."""
    return {name: case for kind in (fits, streams, questions) for name, case in kind.cases().items()}


def _exact(value: Any) -> Any:
    """The same with floats as their bits."""
    if isinstance(value, Mapping):
        return {str(name): _exact(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(one) for one in value]
    return float(value).hex() if isinstance(value, float) else value


def exact(parts: Parts) -> str:
    """The parts of a case with all their bits, as text."""
    return json.dumps(_exact(parts), sort_keys=True)


def near(old: list[float], new: list[float], tolerance: float = NEAR) -> bool:
    """Whether numbers agree to a share of the largest of them; infinities and NaN with themselves."""
    size = max([abs(one) for one in old if math.isfinite(one)], default=0.0)
    return len(old) == len(new) and all(
        a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance * size
        for a, b in zip(old, new, strict=True)
    )
