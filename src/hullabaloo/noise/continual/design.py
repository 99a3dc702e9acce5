"""The parameters of a buffered factorisation, and everything about it that has a closed form.

Parameters are losses and weights for T = 2^e steps or a window of 2^e, read off between. `buffers.json` has them, made by `python -m
benchmarks.buffers`: buffers -> e -> (losses, weights), for prefix sums and for sums over windows of 2^e steps without a horizon (a window of 1 needs
no buffer at all); and those for prefix sums of a stream that may end at any time up to 2^28 steps, whose largest ratio of error to that of buffers for a
known end, over all times, is the least, 1.44.
"""

import json
import math
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.noise.continual.base import Array

Parameters = tuple[tuple[float, ...], tuple[float, ...]]

SMALLEST, LARGEST, LARGEST_WINDOW = 16, 1 << 40, 1 << 20


@cache
def _tables() -> dict[str, Any]:
    text = (files("hullabaloo.noise.continual") / "buffers.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


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

    def mixed(a: float, b: float) -> float:
        return a + share * (b - a)

    logits = (mixed(_logit(a), _logit(b)) for a, b in zip(loss, later_loss, strict=True))
    logarithms = (mixed(math.log(a), math.log(b)) for a, b in zip(weight, later_weight, strict=True))
    return tuple(1.0 / (1.0 + math.exp(-x)) for x in logits), tuple(map(math.exp, logarithms))


def _logit(x: float) -> float:
    return math.log(x / (1.0 - x))


STRIDE = 4096
"""Errors computed at a time, so that their working memory stays small."""


@dataclass(frozen=True)
class Design:
    """C has the coefficients `c_0 = 1, c_k = Σ_i γ w_i (γ (1 − δ_i))^{k−1}`; `A = BC` are sums with decay γ cut off at a window.

    With `y = C⁻¹m`, buffers `b ← γ(1 − δ) b + y` and `r = sqrt(w)`, the buffers of `C⁻¹` driven by m have the matrix
    `γ (I − diag(δ) − r rᵀ)`. Its eigenvalues `γ (1 − ε_i)` and the drives `a = Qᵀ r` of its modes, `Q` orthogonal, give
    `C⁻¹ = 1 − Σ a_i² γ^k (1 − ε_i)^{k−1}` and `(A C⁻¹)_k = γ^k (1 − Σ_i a_i²/ε_i + Σ_i a_i²/ε_i (1 − ε_i)^k)`.

    Attributes:
        loss: δ in (0, 1), rising: how much of a buffer is lost in a step, decay not counted.
        weight: w > 0.
        decay: γ.
        window: None for all steps.
    """

    loss: tuple[float, ...]
    weight: tuple[float, ...]
    decay: float
    window: int | None

    @cached_property
    def decayed(self) -> tuple[Array, Array]:
        """Loss and weight with the decay in them: `1 − γ(1 − δ)` and `γw`; the encoder works with exactly these doubles."""
        loss, weight = np.array(self.loss), np.array(self.weight)
        return (1.0 - self.decay) + self.decay * loss, self.decay * weight

    @cached_property
    def pairs(self) -> tuple[Array, Array]:
        """Rates and shares with `‖column‖² = 1 + Σ shares (1 − exp(rates n))` for a column with n later steps."""
        loss, weight = self.decayed
        i, j = np.tril_indices(loss.size)
        kept = np.log1p(-loss)
        double = np.where(i == j, 1.0, 2.0)
        return kept[i] + kept[j], double * weight[i] * weight[j] / (loss[i] + loss[j] - loss[i] * loss[j])

    @cached_property
    def modes(self) -> tuple[Array, Array]:
        """ε and a of the decoder, decay not counted."""
        root = np.sqrt(np.array(self.weight))
        loss, turn = np.linalg.eigh(np.diag(np.array(self.loss)) + np.outer(root, root))
        return loss, turn.T @ root

    def column_norm(self, later: int) -> float:
        """`‖C e_j‖` of a column with so many later steps."""
        rates, shares = self.pairs
        return math.sqrt(1.0 - float(shares @ np.expm1(later * rates)))

    def gain(self, later: int) -> float:
        """`Σ_{k ≤ later} c_k`: how much larger than x an encoded coordinate may be."""
        loss, weight = self.decayed
        return 1.0 - float(np.sum(weight / loss * np.expm1(later * np.log1p(-loss))))

    def errors(self, at: npt.NDArray[np.int64]) -> Array:
        """`‖e_tᵀ A C⁻¹‖` at the steps t, columns not normalised."""
        return np.concatenate([self._errors(part) for part in np.split(at, range(STRIDE, at.size, STRIDE))])

    def _errors(self, at: npt.NDArray[np.int64]) -> Array:
        loss, drive = self.modes
        beta = drive * drive / loss
        kept = np.concatenate(([0.0], np.log1p(-loss))) + math.log(self.decay)
        t = np.asarray(at, dtype=np.float64)
        w = math.inf if self.window is None else float(self.window)
        total = _square(np.concatenate(([1.0 - beta.sum()], beta)), kept, np.minimum(t, w))
        if self.window is not None:
            left = np.concatenate(([0.0], beta * np.expm1(w * np.log1p(-loss))))
            total = total + self.decay ** (2.0 * w) * _square(left, kept, np.maximum(t - w, 0.0))
        return np.sqrt(total)


def _square(size: Array, rate: Array, count: Array) -> Array:
    """`Σ_{k < count} (Σ_i size_i exp(rate_i k))²`, by geometric sums."""
    rates = rate[:, None] + rate[None, :]
    sizes = size[:, None] * size[None, :]
    constant = rates == 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = np.expm1(rates * count[..., None, None]) / np.expm1(rates)
    return np.asarray(np.sum(sizes * np.where(constant, count[..., None, None], sums), axis=(-2, -1)))


@lru_cache(maxsize=256)
def design(steps: int, decay: float, window: int | None) -> Design:
    """The committed parameters for prefix sums of `steps`, or under drift those of the tables that give the least error there."""
    if decay == 1.0 and window is None:
        return Design(*prefix(steps), decay, window)
    last = np.array([steps])

    def error(candidate: Design) -> float:
        return candidate.column_norm(steps - 1) * float(candidate.errors(last)[0])

    tables = [prefix(n) for n in _grid(SMALLEST, min(max(steps, SMALLEST), LARGEST))]
    if window is not None:
        tables += [windowed(n) for n in (window, *_grid(1, min(window, LARGEST_WINDOW)))]
    return min((Design(*table, decay, window) for table in tables), key=error)


def _grid(first: int, last: int) -> list[int]:
    """Numbers of steps, four to a doubling."""
    quarters = range(4 * (first.bit_length() - 1), 4 * last.bit_length())
    return [n for n in sorted({round(2.0 ** (q / 4)) for q in quarters}) if n <= last]
