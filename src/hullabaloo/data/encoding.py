"""`Encoding`: the public map from a table to encoded rows, and from encoded coefficients to the user's units."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data import encode, schema
from hullabaloo.data.domain import Domain
from hullabaloo.data.labels import memo, unit_of
from hullabaloo.data.layout import Layout, make_layout, norm_bounds
from hullabaloo.data.offset import Array, Offset, exposure
from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.data.table import sealed
from hullabaloo.data.targets import BoundedTarget, Target, TargetScale
from hullabaloo.errors import DomainError, is_whole

INTERCEPT = "(intercept)"
WIDEST = 2**26
"""Columns of a prepared matrix: each has a name, and more names than these fill a machine."""


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    """Everything public about how a table becomes rows: columns, norms, scales. Made by ``Domain.encoding``.

    Without an intercept nothing is centred, so that a prediction at zero is zero in the user's units as well. Under
    ``TargetScale.NONNEGATIVE`` predictions are on the scale of the logarithm.
    """

    domain: Domain
    facts: RowFacts
    feature_names_in: tuple[str, ...] | None
    n_features_in: int
    fit_intercept: bool
    targets: tuple[Target, ...]
    layout: Layout | None  # None for prepared matrices
    scale: TargetScale = TargetScale.SYMMETRIC
    offset: Offset | None = None

    @property
    def feature_names_out(self) -> tuple[str, ...]:
        """The encoded columns, without the intercept; the names of the user's coefficients too."""
        return self.facts.columns[:-1] if self.fit_intercept else self.facts.columns

    def columns_to_dict(self, named: bool) -> dict[str, Any]:
        """What a saved model says of the columns that it takes, `named` where it was fitted on a table with names."""
        names = None if self.feature_names_in is None else list(self.feature_names_in)
        return {"named": named, "names": names, "n_features": self.n_features_in}

    # ---- private: touches records ---------------------------------------------------------------------------------

    @sealed
    def encode(self, table: Any, y: Any = None, *, weight: Any = None, unit: Any = None) -> Rows:
        """Clip, encode and scale the records, one by one. PRIVATE: the result is for the curator only.

        ``y``: an array, or the name of a column (or names), or None when the domain names the target's column.
        ``weight``, ``unit``: arrays that stand for the declared columns. Raises ``SchemaError`` for faults of the
        declared schema, which ``Domain.encoding_for`` raises beforehand, and for nothing else.

        **Guarantee.** Claim: a row of the result is a function of its record alone (its weight, of its unit's records
        alone); all numbers are finite and within ``facts``; no value of a cell raises, warns or drops a row, whatever NumPy is set to. Proof:
        every step is an elementwise or row-wise loop with a branch for each float64 value (``kernels.py``,
        ``numbers.py``, ``labels.py``); tested bitwise under permutation and by fuzzing.
        """
        rows, owners = self.owned(table, y, weight=weight, unit=unit)
        if owners is None:
            return rows
        units = encode.numbered(owners)
        known = np.array([one is not None for one in owners], dtype=bool)
        counts = known & encode.within_share(rows, units, self.domain.records_per_unit)
        weights = np.asarray(counts if rows.weight is None else rows.weight * counts, dtype=np.float64)
        return replace(rows, weight=weights, unit=units if self.facts.records_per_unit > 1 else None)

    @sealed
    @np.errstate(all="ignore")
    def owned(
        self, table: Any, y: Any = None, *, weight: Any = None, unit: Any = None
    ) -> tuple[Rows, list[str | None] | None]:
        """All rows at their own weights, and whose each is (None: nobody's), where the domain declares a unit. PRIVATE."""
        source = self.domain.open(table)
        columns = self.places(source, y)
        target, weighing, owner = schema.check_roles(self.domain, source, y, weight, unit)
        X = self._encode_columns(source, columns)
        Y = np.zeros((X.shape[0], 0))
        weights = np.ones(X.shape[0]) if self.domain.drops else None
        if self.domain.weight is not None:
            most = self.domain.weight[1]
            weights = encode.encode_weight(*weighing, most) if weighing else np.full(X.shape[0], min(2.0 / most, 2.0))
        if target is not None and self.targets:
            Y = encode.encode_targets(self.targets, *target, self.fit_intercept, self.scale)
            if self.domain.drops and weights is not None:
                weights = weights * encode.targets_there(self.targets, *target)
        owners = None if owner is None else memo(owner[0].cells(owner[1]), unit_of)
        return Rows(X, Y, weights, self._offsets(source, columns)), owners

    @np.errstate(all="ignore")
    def features(self, table: Any) -> Any:
        """The encoded rows of a table without a target, for predictions: (n, p), dense or sparse."""
        return self._encode_columns(*self._opened(table))

    @np.errstate(all="ignore")
    def predictions(self, table: Any, theta: Array) -> Array:
        """(n, k) predictions ``⟨x, θ⟩`` on the unit domain, the known offset included."""
        source, columns = self._opened(table)
        if source.parted:
            found = [self.predictions(part, theta) for part in source.parts(self.feature_names_in)]
            return np.concatenate(found) if found else np.zeros((0, theta.shape[1]))
        unit = np.asarray(self._encode_columns(source, columns) @ theta, dtype=np.float64)
        offsets = self._offsets(source, columns)
        return unit if offsets is None else unit + offsets[:, None]

    def _opened(self, table: Any) -> tuple[Any, list[int]]:
        source = self.domain.open(table, parts=True)
        return source, self.places(source)

    def places(self, source: Any, y: Any = None) -> list[int]:
        """Positions of the feature columns in an opened table; refuses one that has not these."""
        others = schema.role_columns(self.domain, y)
        return schema.feature_columns(source.schema, self.feature_names_in, self.n_features_in, others)

    def _offsets(self, source: Any, columns: list[int]) -> Array | None:
        """(n,) known offsets, or None."""
        if self.offset is None:
            return None
        exposed = self.offset.exposure
        if exposed is None:
            return np.full(source.n_rows, -self.offset.centre)
        place = columns[self.domain.feature_names.index(exposed.column)]
        return exposed.log(source.numbers([place])[:, 0]) - self.offset.centre

    def _encode_columns(self, source: Any, columns: list[int]) -> Any:
        if self.layout is not None:
            return encode.encode_features(self.domain, self.layout, source, columns, self.fit_intercept)
        assert self.domain.row_norm is not None
        return encode.clip_rows(self.domain.row_norm, source, columns, self.fit_intercept)

    # ---- public: units of measure ---------------------------------------------------------------------------------

    @property
    def to_user(self) -> Array:
        """(q + 1, p): user coefficients, then the intercept, of a *unit-scale* target, from encoded coefficients θ.

        Encoded row e = E (u, 1) with u the user's columns (named ``feature_names_out``), so θᵀe = (Eᵀθ)ᵀ(u, 1).
        """
        matrix = np.zeros((len(self.feature_names_out) + 1, self.facts.width))
        encoded, user, values = self._entries()
        np.add.at(matrix, (user, encoded), values)
        return matrix

    def _entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        """The entries of E as (encoded column, user column, value); few, however many columns there are."""
        q = len(self.feature_names_out)
        if self.layout is not None:
            rows, columns, values = np.array(self.layout.back, dtype=np.float64).reshape(-1, 3).T
        else:
            assert self.domain.row_norm is not None
            rows = columns = np.arange(q, dtype=np.float64)
            values = np.full(q, 1.0 / self.domain.row_norm[1])
        if self.fit_intercept:
            rows, columns, values = np.append(rows, q), np.append(columns, q), np.append(values, 1.0)
        return rows.astype(np.int64), columns.astype(np.int64), values

    @property
    def target_scale(self) -> Array:
        """(k,) half-widths: user prediction = offset + scale × unit prediction. 1 for classes and logarithms."""
        return self._scales()[1]

    @property
    def target_offset(self) -> Array:
        """(k,) middles of the targets' bounds; 0 for classes and where no intercept is fitted.

        For counts log hi − c, c the centre of the offset: what an exposure of 1 adds to the logarithm's prediction.
        """
        return self._scales()[0]

    @property
    def prediction_offset(self) -> Array:
        """(k,) what is added to scaled ``predictions``, which hold the known offset already."""
        return self.target_offset + (0.0 if self.offset is None else self.offset.centre)

    def _scales(self) -> tuple[Array, Array]:
        pairs: list[tuple[float, float]] = []
        if self.scale is TargetScale.NONNEGATIVE:
            centre = 0.0 if self.offset is None else self.offset.centre
            highest = np.array([target.hi for target in self.targets if isinstance(target, BoundedTarget)])
            return np.log(highest) - centre, np.ones(len(highest))
        for target in self.targets:
            bounded = isinstance(target, BoundedTarget)
            pairs += [target.scale(self.fit_intercept)] if bounded else [(0.0, 1.0)] * len(target.names)  # type: ignore[union-attr]
        table = np.array(pairs, dtype=np.float64).reshape(-1, 2)
        return table[:, 0], table[:, 1]

    def user_matrix(self, target: int = 0) -> Array:
        """(q + 1, p) matrix A with (coef, intercept) = Aθ + (0, offset): a covariance C of θ becomes A C Aᵀ."""
        return np.ascontiguousarray(self.to_user * self.target_scale[target])

    def coefficients_to_user(self, theta: Array) -> tuple[Array, Any]:
        """Coefficients in the user's units: (p,) → ((q,), float) for one target; (p, k) → ((k, q), (k,)).

        Prediction in the target's units = coef · (user columns) + intercept.
        """
        theta = np.asarray(theta, dtype=np.float64)
        offset, scale = self._scales()
        several = theta.reshape(theta.shape[0], -1)
        encoded, column, values = self._entries()
        user = np.zeros((len(self.feature_names_out) + 1, several.shape[1]))
        np.add.at(user, column, values[:, None] * several[encoded])
        user *= scale
        coef, intercept = user[:-1].T, user[-1] + offset
        return (coef[0].copy(), float(intercept[0])) if theta.ndim == 1 else (np.ascontiguousarray(coef), intercept)


def _require_columns(names: object, asked: object) -> None:
    if names is not None and (isinstance(names, str) or not isinstance(names, Iterable)):
        raise DomainError("The column names of a prepared matrix are a list of texts, and another thing was given.")
    if asked is not None and not is_whole(asked, 0, WIDEST):
        raise DomainError(
            f"The number of columns of a prepared matrix is a whole number up to {WIDEST:,}, and another was given. Pass that of the table."
        )


def encoding_for(
    domain: Domain, table: Any, y: Any = None, *, weight: Any, unit: Any, options: Mapping[str, Any]
) -> Encoding:
    """The encoding for a table from its declared schema, everything that ``encode`` would refuse refused now."""
    opened, others = domain.open(table, parts=True), schema.role_columns(domain, y)
    prepared = () if domain.features else schema.prepared_columns(opened.schema, others)
    encoding = domain.encoding(*prepared, **options)
    encoding.places(opened, y)
    schema.check_roles(domain, opened, y, weight, unit)
    return encoding


def make_encoding(
    domain: Domain,
    feature_names: Sequence[str] | None,
    n_features: int | None,
    fit_intercept: bool,
    scale: TargetScale,
    exposed: str | None,
) -> Encoding:
    """Build the encoding of a domain; see ``Domain.encoding``."""
    _require_columns(feature_names, n_features)
    feature_names = None if feature_names is None else tuple(map(str, feature_names))
    targets = domain.targets
    if scale is TargetScale.NONNEGATIVE:
        _check_counts(targets)
    offset = _offset(domain, targets, scale, exposed, fit_intercept)
    if domain.features:
        learned = {name: declared for name, declared in domain.features if name != exposed}
        layout = make_layout(learned, domain.interactions, domain.indicators, centred=fit_intercept)
        names_in: tuple[str, ...] | None = domain.feature_names
        columns, width = layout.names, len(domain.features)
        if feature_names is not None and set(feature_names) != set(domain.feature_names):
            raise DomainError("`feature_names` differ from the features that the domain declares; leave them out.")
        norms = norm_bounds(layout.groups, domain.row_norm, structural=True)
    else:
        if feature_names is None and n_features is None:
            raise DomainError(
                "A domain with `row_norm` alone fits tables of any width, so its encoding needs the number of columns: pass `feature_names` or `n_features`."
            )
        layout = None
        names_in = feature_names
        width = len(names_in) if names_in is not None else int(n_features or 0)
        columns = names_in if names_in is not None else tuple(f"x{i}" for i in range(width))
        if width < 1:
            raise DomainError(
                "Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required. Pass a table with columns."
            )
        norm = "l2" if domain.row_norm is None else domain.row_norm[0]
        norms = norm_bounds(width, (norm, 1.0), structural=False)
    l1, l2, linf = norms
    if fit_intercept:
        columns = (*columns, INTERCEPT)
        l1, l2, linf = l1 + 1.0, math.hypot(l2, 1.0), max(linf, 1.0)
    facts = RowFacts(
        columns=columns,
        intercept=fit_intercept,
        norm_l1=l1,
        norm_l2=l2,
        norm_linf=linf,
        targets=tuple(name for target in targets for name in target.names),
        max_weight=1.0 if domain.weight is None else encode.HEAVIEST,
        records_per_unit=domain.records_per_unit,
        weighted=domain.weight is not None or domain.unit is not None or domain.drops,
        offset_bound=0.0 if offset is None else offset.bound,
    )
    return Encoding(domain, facts, names_in, width, fit_intercept, targets, layout, scale, offset)


def _check_counts(targets: tuple[Target, ...]) -> None:
    for target in targets:
        if not isinstance(target, BoundedTarget):
            raise DomainError(
                "A model of counts was asked for, and the domain declares classes. Declare the bounds of the count, target={'column': (0, hi)}, or use a classifier."
            )
        if target.lo < 0.0:
            raise DomainError(
                f"A model of counts was asked for, and the target is declared between {target.lo:g} and {target.hi:g}. Counts "
                "are never below 0, and a logarithm models nothing else: declare target=(0, hi)."
            )


def _offset(
    domain: Domain, targets: tuple[Target, ...], scale: TargetScale, exposed: str | None, fit_intercept: bool
) -> Offset | None:
    """The known offset of a log-linear model; see ``offset.py``."""
    known = None
    if exposed is not None:
        known = exposure(dict(domain.features), exposed)
        if any(exposed in pair for pair in domain.interactions):
            raise DomainError(
                f"The column {exposed!r} is the exposure and part of an interaction. Its effect is known, not learned: leave the interaction out."
            )
    if scale is not TargetScale.NONNEGATIVE or (known is None and fit_intercept) or not targets:
        return None
    if fit_intercept and known is not None:
        return Offset(known, 0.5 * (math.log(known.lo) + math.log(known.hi)))
    highest = next(target.hi for target in targets if isinstance(target, BoundedTarget))
    return Offset(known, math.log(highest))
