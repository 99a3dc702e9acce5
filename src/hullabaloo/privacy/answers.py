"""Private answers that more than one room works on: plain records of released numbers and of their known noise."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hullabaloo.codec import plain

Array = npt.NDArray[np.float64]


class _Kept:
    """What is kept in files field by field."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready values; floats survive a round trip exactly."""
        return {one.name: plain(getattr(self, one.name)) for one in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote; files of before do not hold every field that has a default."""
        read: dict[Any, Any] = {Array: partial(np.asarray, dtype=np.float64), float: float, bool: bool, str: str}
        return cls(**{one.name: read[one.type](data[one.name]) for one in fields(cls) if one.name in data})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class NoisyMoments(_Kept):
    """One release of the moments of encoded rows, in mean form on the unit domain; declared weights are over half their bound.

    With rows `a = (x / scale_x, target_scale · y / scale_y)`, the curator releases `Σ a aᵀ + E`, where `E` is symmetric,
    `E_ii ~ N(0, sigma²)` and `E_ij ~ N(0, sigma²/2)` for i ≠ j. The fields below are that release mapped back to x and y
    and divided by the public number of records. `sigma = 0` means that no noise was drawn: not private.

    Attributes:
        gram: mean of `x xᵀ` plus noise, shape (p, p), symmetric, not repaired: it may be indefinite.
        cross: mean of `x yᵀ` plus noise, shape (p, k).
        square: mean of `y yᵀ` plus noise, shape (k, k).
        sigma: standard deviation of one isometric coordinate of the normalised sum.
        scale_x: the bound of ‖x‖₂ by which rows were normalised.
        scale_y: the bound of ‖y‖₂ by which targets were normalised.
        target_scale: κ, the weight of the target inside `a`.
        records: the public number of records (declared, under add-or-remove); of a stream that forgets, the sum of the weights
            that time has left them.
        counted: whether `records` is exactly the sum of weights, so that the mean of a constant column is known.
        level, corner: shares of the noise's variance that are left in the constant column's own entries of `cross` and of `gram`, where these were released once more, as fits bought them for a time.
    """

    gram: Array
    cross: Array
    square: Array
    sigma: float
    scale_x: float
    scale_y: float
    target_scale: float
    records: float
    counted: bool = False
    level: float = 1.0
    corner: float = 1.0

    @property
    def gram_noise(self) -> float:
        """Standard deviation of a diagonal entry of `gram`; an off-diagonal entry has this divided by √2."""
        return self.scale_x**2 * self.sigma / self.records

    @property
    def cross_noise(self) -> float:
        """Standard deviation of an entry of `cross`."""
        return self.scale_x * self.scale_y / self.target_scale * self.sigma / math.sqrt(2.0) / self.records

    @property
    def square_noise(self) -> float:
        """Standard deviation of a diagonal entry of `square`; an off-diagonal entry has this divided by √2."""
        return (self.scale_y / self.target_scale) ** 2 * self.sigma / self.records

    def mean_weight(self, intercept: bool, weighted: bool) -> float:
        """E w over the nominal records: 1 where they are counted, else the constant column's, last, as released; without one 1 of records that count alike, of others the least it can be, as `‖x‖ ≤ scale_x` and `|y| ≤ 1`."""
        least = max(np.trace(self.gram) / self.scale_x**2, self.square.diagonal().max()) if weighted else 1.0
        return 1.0 if self.counted else float(self.gram[-1, -1] if intercept else least)

    def subset(self, columns: list[int], targets: list[int] | None = None) -> "NoisyMoments":
        """Moments of some columns and targets: a part of the same release, at no further cost."""
        rows = np.asarray(columns, dtype=np.intp)
        chosen = np.arange(self.square.shape[0]) if targets is None else np.asarray(targets, dtype=np.intp)
        return replace(
            self,
            gram=self.gram[np.ix_(rows, rows)],
            cross=self.cross[np.ix_(rows, chosen)],
            square=self.square[np.ix_(chosen, chosen)],
        )


@dataclass(frozen=True, slots=True, eq=False)
class NoisyScore(_Kept):
    """A released gradient, its curvature and its spread at a released point, in coordinates δ of their own: `θ = point + matrix δ`.

    Where records are seen as `v`, `⟨x, matrix δ⟩ = ⟨v, δ⟩`, the curator released the sums of `−φ'v`, `φ''vvᵀ` and `φ'²vvᵀ`, each record
    shortened, here over records × weight, plus noise: of the score `N(0, score_noise² I)`; of the curvature `S E S`, S the diagonal `scale`, E symmetric with
    variance `curvature_noise²` on the diagonal and half of it off it; of the spread the same with `spread_noise` and without S.

    Attributes:
        point: θ₁, (p,).
        matrix: (p, q).
        score: (q,).
        curvature: (q, q), symmetric, not repaired.
        spread: (q, q), symmetric, not repaired.
        scale: (q,), positive.
        score_noise, curvature_noise, spread_noise: see above.
        excess: estimate of the mean length that gradients lost by being shortened.
        records: the public number of records (declared, under add-or-remove).
        errors: how the spread is reckoned, "robust", "unit" or "homoskedastic" (`solvers/score/spread.py`); "bound", as before there was a choice:
            robust, and of a unit's records as if they were alike.
        dispersion: `E φ'²‖v‖² / E φ''‖v‖²`, where the spread is not that of records; else 0.
        shortened: estimate of the curvature that is lost by shortening in a direction of length 1 before `scale`, if in all alike.
        weight: the mean weight of all `records`, as released; 1 where it is known to be.
        level: root mean square error of the score's last place, noise and what shortening may take of it, where a further gradient along the constant
            alone has a part in it; else 0.
        apart: how far the score may be off, along one direction, by records in a second hump of the lengths of gradients; 0 where none is seen.
        crowd: lower ends of the bins of the records' lengths before `scale`, rising from 0, and how many records may be in each, noise reckoned in, (2, m); m = 0 where it is not known.
    """

    point: Array
    matrix: Array
    score: Array
    curvature: Array
    spread: Array
    scale: Array
    score_noise: float
    curvature_noise: float
    spread_noise: float
    excess: float
    records: float
    errors: str = "bound"
    dispersion: float = 0.0
    shortened: float = 0.0
    weight: float = 1.0
    level: float = 0.0
    apart: float = 0.0
    crowd: Array = field(default_factory=lambda: np.zeros((2, 0)))

    def check(self, records: float, stream: bool = False) -> None:
        """That a file was not changed after it was written; of a `stream` that of so many records at most.

        Raises:
            ValueError: numbers that no release has.
        """
        numbers = [getattr(self, one.name) for one in fields(self) if one.type is float]
        sizes = [np.abs(getattr(self, one.name)).max(initial=0.0) for one in fields(self) if one.type is Array]
        plausible = all(type(one) is float and 0.0 <= one < 1e30 for one in numbers) and 0.0 < self.records <= records
        plausible &= (stream or self.records == records) and bool(np.max(sizes) < 1e30)
        if self.errors not in ("bound", "robust", "unit", "homoskedastic"):
            raise ValueError("errors")
        square = self.matrix.ndim == 2 and self.matrix.shape[0] == self.matrix.shape[1]
        square &= self.crowd.ndim == 2 and len(self.crowd) == 2 and bool(np.all(self.crowd >= 0.0))
        if not plausible or not square or not min(self.score_noise, self.weight, *self.scale) > 1e-30:
            raise ValueError("noise")
        if not all(np.allclose(one, one.T, rtol=1e-9, atol=0.0) for one in (self.curvature, self.spread)):
            raise ValueError("symmetry")
        with np.errstate(all="ignore"):
            if not np.linalg.cond(self.matrix) < 1e14:
                raise ValueError("matrix")

    def as_many(self, seen: Array) -> Array:
        """How many records there may be of about the length of each that is `seen` so, (m, q), in any one of three bins; ∞ where that is not known, (m,)."""
        if not self.crowd.size:
            return np.full(len(seen), math.inf)
        bins = np.searchsorted(self.crowd[0], np.linalg.norm(seen / self.scale, axis=1))
        near = np.clip(bins[:, None] - [2, 1, 0], 0, self.crowd.shape[1] - 1)
        return np.asarray(self.crowd[1][near].max(axis=1), dtype=np.float64)

    @property
    def counted(self) -> float:
        """Records of weight 1 that all add up to."""
        return self.records * self.weight

    @property
    def residual(self) -> float:
        """Mean squared φ' over mean φ'', records weighted by their squared lengths; of a curvature that drowned, over its noise's standard deviation."""
        hidden = self.curvature_noise * float(np.linalg.norm(self.scale**2))
        bent = max(float(np.trace(self.curvature)), hidden, 1e-300)
        return self.dispersion or max(float(np.trace(self.spread)), 0.0) / bent

    @property
    def centre(self) -> Array:
        """The columns' released means, (p − 1,), where the last one is constant: what v is 0 at, but for the constant's own coordinate."""
        return np.asarray(-np.linalg.solve(self.matrix[:-1, :-1].T, self.matrix[-1, :-1]), dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """What a run of coordinate updates gives: functions of released numbers.

    Attributes:
        theta: the last iterate, (p,).
        mean: the mean of the iterates after each update, (p,).
        partials: the noisy partial derivatives of the mean loss, one for each update, (K,).
    """

    theta: Array
    mean: Array
    partials: Array
