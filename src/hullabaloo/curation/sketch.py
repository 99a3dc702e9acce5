"""Records seen through a public random matrix of few rows: what keeps a stream of many columns small."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hullabaloo.codec import arguments, settle
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.errors import InvalidParameter, as_whole
from hullabaloo.foreign import foreign
from hullabaloo.geometry import ConvexSet
from hullabaloo.noise.public import public_normals

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sketch:
    """`x ↦ Φx̃`, `x̃ = x ‖x‖/‖Φx‖`, for Φ of shape (size, columns) with entries N(0, 1/size): slopes only, an intercept stays.

    With `size == columns` there is nothing to gain from chance, and Φ is the identity.

    Attributes:
        columns: p, the number of slopes of an encoded row.
        size: m, the number of coordinates kept.
        seed: names Φ; a public whole number, chosen without looking at records.
        max_nonzeros: records with more nonzero slopes count as `(x, y) = (0, 0)`; None keeps all.
        inside: records whose slopes are outside this set count as `(0, 0)`; None keeps all.
        rescaled: whether rows keep their length, `x̃ = x ‖x‖/‖Φx‖`; else `x̃ = x`, and rows that Φ lengthens beyond the bound are clipped to it.
        column_nonzeros: s, so many entries ±1/√s in each column of Φ, the others 0; None for normal entries.

    **Guarantee.** Precondition: rows within their facts. Claim: each new row is a function of its own record and public
    numbers, is finite, and obeys `facts(…)`: slopes no longer than the old ones can be, intercept and target as before or
    all 0. So neighbouring streams stay neighbouring, and a query of the new facts keeps its sensitivity. Replacing a record
    by `(0, 0)` costs a moments query `‖aaᵀ‖_F = ‖a‖² ≤ 1+κ²`, which is below its `√2(1+κ²)`. Proof: the row kernel adds up a
    record's cells in the order of columns, stretches the result to `‖x‖₂` where asked, and shortens whatever rounding left beyond the
    bound; it has a branch for lengths that are 0, infinite or undefined. Whether a record is inside is asked of a copy of
    its own slopes, and the set is the library's own: nobody else's code is shown a record. One that raises counts as a no.
    Source: Kasiviswanathan, Nissim and Jin (2017), Algorithm 3, its footnotes 15 (unscaled) and 16 (sparse Φ: Bourgain, Dirksen and Nelson
    2015), and Section 5.2.

    Example:
        >>> Sketch(columns=5000, size=100).matrix.shape
        (100, 5000)

    Source: 003, Algorithm 3; 003, Section 5.2, robust extension.

    Source: 003, Footnote 15; 003, Footnote 16.
    """

    columns: int
    size: int
    seed: int = 0
    max_nonzeros: int | None = None
    inside: ConvexSet | None = None
    rescaled: bool = True
    column_nonzeros: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("columns", 1), ("size", 1), ("seed", 0), ("max_nonzeros", 1), ("column_nonzeros", 1)):
            value = getattr(self, name)
            if value is None and name in ("max_nonzeros", "column_nonzeros"):
                continue
            said = f"{name}={{!r}} was asked of a sketch. Pass a whole number from {least} on."
            settle(self, **{name: as_whole(value, said, least)})
        if not isinstance(self.rescaled, bool | np.bool_):
            raise InvalidParameter(f"A sketch was asked for with rescaled={self.rescaled!r}. Pass True or False.")
        object.__setattr__(self, "rescaled", bool(self.rescaled))
        if self.inside is not None and not isinstance(self.inside, ConvexSet):
            raise InvalidParameter(
                f"Records were to be kept where they lie inside {self.inside!r}, which is no convex set of this library. Pass for "
                "example hb.L1Ball(1.0), or max_nonzeros=20."
            )
        stranger = foreign(self.inside)
        if stranger is not None:
            raise InvalidParameter(
                f"Records were to be kept where they lie inside a set made with {stranger}, which is not the library's own code. It would be "
                "shown every record as it is, before any noise is added. Pass a set of the library, such as hb.L1Ball(1.0) or an hb.Polytope of points, or max_nonzeros=20."
            )
        dimension = None if self.inside is None else self.inside.dimension
        if dimension not in (None, self.columns):
            raise InvalidParameter(
                f"Records have {self.columns} slopes, but the set that they are to lie in was made for {dimension}. Use the same."
            )

    @property
    def selects(self) -> bool:
        """Whether some records may count as `(0, 0)`."""
        return self.max_nonzeros is not None or self.inside is not None

    @property
    def matrix(self) -> Array:
        """Φ, (size, columns), read-only."""
        return self._transposed.T

    @property
    def _transposed(self) -> Array:
        return _transposed(self.columns, self.size, self.seed, self.column_nonzeros)

    def facts(self, about: RowFacts) -> RowFacts:
        """The public facts of sketched rows of given facts: `size` slopes no longer than the old, and the intercept."""
        bound, constant = self._bound(about), float(about.intercept)
        columns = (*(f"sketch {number}" for number in range(self.size)), *about.columns[self.columns :])
        l1, l2 = math.sqrt(self.size) * bound + constant, math.hypot(bound, constant)
        return replace(about, columns=columns, norm_l1=l1, norm_l2=l2, norm_linf=max(bound, constant))

    def rows(self, rows: Rows, about: RowFacts) -> Rows:
        """The sketched rows, dense (n, size + intercept), with targets, weights and offsets; PRIVATE."""
        from hullabaloo.curation.sketch_kernels import sketch_dense, sketch_sparse

        X, count = rows.X, rows.Y.shape[0]
        out = np.empty((count, self.size + about.intercept))
        kept = np.ones(count, dtype=np.bool_) if self.inside is None else _inside(self.inside, X, self.columns)
        most = self.columns if self.max_nonzeros is None else min(self.max_nonzeros, self.columns)
        turned, bound = self._transposed, self._bound(about)
        if isinstance(X, np.ndarray):
            sketch_dense(X, self.columns, turned, most, bound, self.rescaled, kept, out)
        else:
            sketch_sparse(X.data, X.indices, X.indptr, self.columns, turned, most, bound, self.rescaled, kept, out)
        Y = np.where(kept[:, None], rows.Y, 0.0) if self.selects else rows.Y
        return replace(rows, X=out, Y=Y)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values: enough to make Φ again; the paper's Φ has the fields that it always had."""
        usual = {"rescaled": True, "column_nonzeros": None}
        return {name: value for name, value in arguments(self).items() if name not in usual or value != usual[name]}

    def _bound(self, about: RowFacts) -> float:
        """The bound of ‖x‖₂ of the slopes of a kept record."""
        slopes = about.width - about.intercept
        if slopes != self.columns:
            raise InvalidParameter(f"A sketch of {self.columns} columns got rows with {slopes} slopes. Use the same.")
        most = slopes if self.max_nonzeros is None else min(self.max_nonzeros, slopes)
        return math.sqrt(max(about.restricted(most).norm_l2 ** 2 - about.intercept, 0.0))


def _inside(body: ConvexSet, X: Any, slopes: int) -> npt.NDArray[np.bool_]:
    """Whether each row's slopes are in the set, asked of one buffer that is aligned alike in every call."""
    dense = isinstance(X, np.ndarray)
    answers, room = np.zeros(X.shape[0], dtype=np.bool_), np.zeros(slopes + 8)
    start = -room.ctypes.data % 64 // 8
    point = room[start : start + slopes]
    for number in range(len(answers)):
        if dense:
            point[:] = X[number, :slopes]
        else:
            point[:] = 0.0
            part = slice(X.indptr[number], X.indptr[number + 1])
            own = X.indices[part] < slopes
            point[X.indices[part][own]] = X.data[part][own]
        try:
            with np.errstate(all="ignore"):
                answers[number] = bool(body.contains(point))
        except Exception:  # whatever a set does with a record, nobody hears of it
            answers[number] = False
    return answers


@lru_cache(maxsize=4)
def _transposed(columns: int, size: int, seed: int, nonzeros: int | None) -> Array:
    """Φᵀ, contiguous: a record's cell j reads row j. Places and signs of a sparse Φ are those of the largest of `size` normal numbers."""
    drawn = np.eye(columns) if size == columns else public_normals(seed, columns, size) / math.sqrt(size)
    if nonzeros is not None and nonzeros < size < columns:
        places = np.argpartition(-np.abs(drawn), nonzeros - 1, axis=1)[:, :nonzeros]
        signs = np.sign(np.take_along_axis(drawn, places, axis=1)) / math.sqrt(nonzeros)
        drawn = np.zeros_like(drawn)
        np.put_along_axis(drawn, places, signs, axis=1)
    drawn.flags.writeable = False
    return drawn
