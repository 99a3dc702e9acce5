"""The score query: how good given coefficients are on the records, in all ways that were asked for, as one noisy vector."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hullabaloo.curator.exact import blockwise
from hullabaloo.curator.kernels import dense_predictions, sparse_predictions
from hullabaloo.curator.known import coefficients, numbers, single
from hullabaloo.curator.query import UNIT_ROUNDOFF, Array, NoisySum, State
from hullabaloo.data.source import Rows
from hullabaloo.errors import InvalidParameter
from hullabaloo.losses.ranks import Ranks
from hullabaloo.losses.readings import Reading
from hullabaloo.losses.scores import ClassTotals, Statistic
from hullabaloo.privacy import Neighbours

_BLOCK = 1 << 10  # contributions span at most 2^37 cells each: sums of so many are exact doubles


@dataclass(frozen=True)
class ScoreQuery(NoisySum):
    """`Σ_i w_i (c_1(z_i, y_i), …, c_J(z_i, y_i), a)`, `z_i = θᵀx_i + o_i`: tallies of what predictions are worth, with Gaussian noise.

    The last coordinate, whose sum is a times the number of records that count, is there only where that number is private and a tally
    needs it; its weight `a = ½ J^{1/4}` makes the error of J means at the ends of their ranges least:
    `(J/4 + a²)(1 + 1/(4a²))`.

    **Guarantee.** Precondition: `0 ≤ w_i ≤ W` (enforced by the domain's encoding); θ is a function of earlier releases. Every tally
    is within its radius r_j of 0 and two of its values are within its diameter d_j, whatever records and θ are (proved in
    losses/scores.py): predictions are cut off at declared bounds, chances at public ones, and a prediction that is no number
    counts as 0. With `R² = Σ r_j² + a²` and `D² = Σ d_j²` (a constant coordinate cancels): *add-or-remove*: `W R`. *Replace-one*,
    where every record counts once: D, and n is public. *Replace-one* with weights: `‖w c − w' c'‖` is convex in (w, w'),
    hence largest where each is 0 or W: `W max(R, D)`. A record's contribution is a function of the record and θ alone, bit for bit
    (predictions added up in one order of columns, exponentials by scalar steps, else single IEEE operations). Float rounding
    of the coordinates moves each by at most `8u W`, rounding to the lattice by half a cell; both are charged, and the sum is
    exact. Source: Dwork and Roth (2014), §3.5.1 and appendix A; docs/algorithms.md.

    Attributes:
        reading: how z is read.
        tallies: what is added up.
    """

    reading: Reading
    tallies: tuple[Statistic, ...]

    name: ClassVar[str] = "score"
    key_label: ClassVar[str] = "score"
    all_targets: ClassVar[bool] = True
    tier: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        read, kinds = self.reading, {type(tally) for tally in self.tallies}
        wanted = {1: 0, 2: 1}.get(read.classes, read.classes) if read.reads.classes else len(read.low)
        amiss = (ClassTotals in kinds and not read.reads.classes) or (Ranks in kinds and read.classes != 2)
        amiss = amiss or not all(map(single, (read, *self.tallies)))
        if not kinds or wanted != len(self.facts.targets) or amiss:
            raise InvalidParameter(
                f"A score needs at least one metric (ranks: of two classes) and a reading of the {len(self.facts.targets)} encoded targets, both of single numbers, but "
                f"{len(self.tallies)} metrics and a reading of {wanted} were given. Make both from the model's own encoding."
            )

    @cached_property
    def counted(self) -> bool:
        """Whether the number of records is part of the answer: where it is private, and some tally does not tell it itself."""
        known = self.neighbours is Neighbours.REPLACE_ONE and self.facts.alike
        return not known and not all(tally.counts for tally in self.tallies)

    @cached_property
    def count_weight(self) -> float:
        """a; 0 where the number of records is no part of the answer."""
        return 0.5 * len(self.tallies) ** 0.25 if self.counted else 0.0

    @cached_property
    def length(self) -> int:
        """All tallies' coordinates, and the number of records."""
        return sum(tally.length for tally in self.tallies) + self.counted

    @cached_property
    def contribution(self) -> float:
        """Coordinates are at most ½, the last is a."""
        return max(0.5, self.count_weight)

    @cached_property
    def record_sensitivity(self) -> float:
        """The bound of the guarantee, rounding included."""
        radius = math.sqrt(sum(tally.radius**2 for tally in self.tallies) + self.count_weight**2)
        apart = math.sqrt(sum(tally.diameter**2 for tally in self.tallies))
        rounded = math.sqrt(self.length) * (8.0 * UNIT_ROUNDOFF * self.facts.max_weight + 2.0 ** (self.exponent - 1))
        stretch = 1.0 + 16.0 * UNIT_ROUNDOFF
        if self.neighbours is Neighbours.ADD_OR_REMOVE:
            return self.facts.max_weight * radius * stretch + rounded
        return self.facts.max_weight * (apart if self.facts.alike else max(radius, apart)) * stretch + 2.0 * rounded

    def question(self, theta: Any) -> tuple[Array]:
        """θ, (p, k)."""
        found = numbers(theta)
        shape = self.facts.width, len(self.facts.targets)
        return (coefficients(found[:, None] if found.ndim == 1 else found, shape, "a score"),)

    def partial(self, rows: Rows, theta: Array) -> State:  # noqa: D102
        magic, turned = self.grid[0], np.ascontiguousarray(theta.T)

        def tallied(part: slice) -> Array:
            X, Y = rows.X[part], rows.Y[part]
            z = np.empty((Y.shape[0], theta.shape[1]))
            if isinstance(X, np.ndarray):
                dense_predictions(np.ascontiguousarray(X), turned, z)
            else:
                sparse_predictions(X.data, X.indices, X.indptr, turned, z)
            if rows.offset is not None:
                z += rows.offset[part, None]
            seen = self.reading.seen(z, Y)
            parts = [tally.of(seen)[:, : tally.length] for tally in self.tallies]  # the sum has room for no more
            if self.counted:
                parts.append(np.full((Y.shape[0], 1), self.count_weight))
            block = np.hstack(parts)
            if rows.weight is not None:
                block = block * rows.weight[part, None]
            return np.asarray((((block + magic) - magic) if self.is_private else block).sum(axis=0))

        exponent = self.exponent if self.is_private else None
        with np.errstate(all="ignore"):  # θ may be anything; what overflows is cut off
            return blockwise(rows.Y.shape[0], _BLOCK, (self.length,), exponent, tallied)

    def read(self, noisy: Array, theta: Array) -> Array:  # noqa: D102
        return noisy

    def to_dict(self) -> dict[str, Any]:
        """The query with the names of what is added up."""
        return {**super().to_dict(), "tallies": [tally.name for tally in self.tallies]}
