"""Parameters of buffered factorisations: losses and weights for T = 2^e steps or a window of 2^e, read off between.

`buffers.json` has them, made by `python -m benchmarks.buffers`: buffers -> e -> (losses, weights), for prefix sums and for sums over windows of 2^e
steps without a horizon (a window of 1 needs no buffer at all); and those for prefix sums of a stream that may end at any time up to
2^28 steps, whose largest ratio of error to the least for a known end, over all times, is the least, 1.44.
"""

import json
import math
from functools import cache
from importlib.resources import files
from typing import Any

Parameters = tuple[tuple[float, ...], tuple[float, ...]]

SMALLEST, LARGEST, LARGEST_WINDOW = 16, 1 << 40, 1 << 20


@cache
def _tables() -> dict[str, Any]:
    text = (files("hullabaloo.noise.continual") / "buffers.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def any_time() -> Parameters:
    """Losses and weights for prefix sums of a stream that may end at any time."""
    loss, weight = _tables()["any_time"]
    return tuple(loss), tuple(weight)


def prefix(steps: int) -> Parameters:
    """Losses and weights for prefix sums of so many steps: logits and logarithms, linear in log T between the rows of the table.

    Any losses δ in (0, 1) and positive weights with `Σ w/(1 − δ) < 1` (the inverse decays without changing sign) make a factorisation
    whose column norm and errors are computed exactly: nothing but its efficiency rests on the table. Between rows it is within
    0.1 % of parameters tuned for that T.
    """
    return _between("prefix", min(max(steps, SMALLEST), LARGEST))


def windowed(window: int) -> Parameters:
    """Losses and weights for sums over so many steps."""
    return _between("windows", min(window, LARGEST_WINDOW))


def _between(name: str, steps: int) -> Parameters:
    e = math.log2(steps)
    tables = ({int(e): row for e, row in rows.items()} for rows in _tables()[name].values())
    rows = next(rows for rows in tables if e <= max(rows))
    e = max(e, min(rows))
    low = max(row for row in rows if row <= e)
    high = min(row for row in rows if row >= e)
    share = 0.0 if high == low else (e - low) / (high - low)
    (loss, weight), (later_loss, later_weight) = rows[low], rows[high]
    between = tuple(_logistic(_mix(_logit(a), _logit(b), share)) for a, b in zip(loss, later_loss, strict=True))
    return between, tuple(
        math.exp(_mix(math.log(a), math.log(b), share)) for a, b in zip(weight, later_weight, strict=True)
    )


def _mix(a: float, b: float, share: float) -> float:
    return a + share * (b - a)


def _logit(x: float) -> float:
    return math.log(x / (1.0 - x))


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))
