"""The parameters of a buffered factorisation, and everything about it that has a closed form."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import final

import numpy as np
import numpy.typing as npt

from hullabaloo.noise.continual.base import Array
from hullabaloo.noise.continual.buffers import LARGEST, LARGEST_WINDOW, SMALLEST, prefix, windowed

STRIDE = 4096
"""Errors computed at a time, so that their working memory stays small."""


@final
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
