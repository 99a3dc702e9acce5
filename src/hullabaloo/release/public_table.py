"""`public=`: a table that its user declares public, read by the private one's encoding, and a model of it.

Nothing here touches a private record, and no sensitivity rests on what is found: a public table that is wrong, or not public, costs
accuracy, or its own records' secrecy, and nothing of the others'.
"""

import hashlib
from os.path import exists, samefile
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from hullabaloo.data import BoundedTarget, Encoding, LevelIndex, Numeric, Table
from hullabaloo.data.schema import check_roles
from hullabaloo.errors import InvalidParameter, SchemaError
from hullabaloo.losses import AnyLoss, Loss
from hullabaloo.solvers.gradient.location_scale import WIDEST
from hullabaloo.solvers.public import Array, PublicTable

FEWEST, MOST_ROWS, MOST_CELLS = 20, 20_000, 20_000_000
"""Rows that are needed, and rows and cells up to which they are used: evenly spaced ones of longer tables."""
TRIED, FOLDS = 2_000, 5
"""Rows, evenly spaced, on which the ridge is chosen by cross-validation, and its folds."""
RIDGES = np.geomspace(1.0, 1e-4, 7)
"""Of columns of deviation 1."""
OUTSIDE = 0.5
"""Share of a column's numbers outside the declared bounds, or of its cells that show no declared level, from which it is refused."""


def public_table(given: Any, encoding: Encoding, loss: AnyLoss) -> PublicTable:
    """What solvers take from a public table: a table as for `fit` with the target's column, or a pair (X, y).

    Raises:
        InvalidParameter: a loss of several predictions at once.
        SchemaError: other columns, units or levels than the domain declares, or too few rows.
    """
    if not isinstance(loss, Loss):
        raise InvalidParameter(
            f"A public table was passed, and nothing is taken from one by solvers of the loss {loss.name!r}, which has several predictions "
            "at once. Nothing was charged or read. Leave public out, or fit one target after the other (multi_class='one-vs-rest')."
        )
    if encoding.facts.width > WIDEST:
        raise InvalidParameter(
            f"A public table was passed, and {encoding.facts.width:,} columns are encoded; of more than {WIDEST:,} nothing is taken from one. Nothing was charged or read. Leave public out."
        )
    X, y = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    try:
        table = encoding.domain.open(X)
        rows = encoding.encode(table, y)
        kept = np.flatnonzero(np.ones(rows.Y.shape[0], dtype=bool) if rows.weight is None else rows.weight > 0.0)
        if kept.size < FEWEST:
            raise SchemaError(
                f"It has {kept.size} rows that count, and at least {FEWEST} are needed to learn from. Pass a longer one, or leave public out."
            )
        _refuse_other_units(encoding, table, y)
    except SchemaError as error:
        raise SchemaError(f"The public table cannot be used, and nothing was charged. {error}") from None
    most = min(MOST_ROWS, max(MOST_CELLS // encoding.facts.width, FEWEST))
    kept = kept[np.linspace(0, kept.size - 1, min(kept.size, most)).astype(np.int64)]
    dense: Any = rows.X[kept]
    dense = np.ascontiguousarray(dense if isinstance(dense, np.ndarray) else dense.toarray(), dtype=np.float64)
    Y, offset = np.ascontiguousarray(rows.Y[kept]), None if rows.offset is None else rows.offset[kept]
    return learned(loss, dense, Y, offset, intercept=encoding.fit_intercept)


def refuse_itself(public: Any, X: Any) -> None:
    """Refuse the table that is fitted, by the same object or file, as a public one: nothing would protect its records. A copy cannot be told.

    Raises:
        InvalidParameter: they are one.
    """
    table = public[0] if isinstance(public, tuple) and len(public) == 2 else public
    paths = [str(one) for one in (X, table) if isinstance(one, str | Path)]
    one = len(paths) == 2 and (paths[0] == paths[1] or (all(map(exists, paths)) and samefile(*paths)))
    if table is not None and (table is X or one):
        raise InvalidParameter(
            "The table to fit was passed as public, too. What is public is read without any protection, and no guarantee would cover these records. Nothing was "
            "charged or read. Leave public out, or pass a table that nobody has to protect: another year, a published sample."
        )


def learned(loss: Loss, X: Array, Y: Array, offset: Array | None = None, *, intercept: bool) -> PublicTable:
    """Encoded public rows, the constant column last if there is one, with a model of each target."""
    told = hashlib.sha256(repr((X.shape, Y.shape, intercept, loss)).encode())
    for part in (X, Y, np.zeros(0) if offset is None else offset):
        told.update(np.ascontiguousarray(part).tobytes())
    theta = np.column_stack([_model(loss, X, one, offset, intercept) for one in Y.T])
    return PublicTable(told.hexdigest()[:32], X, Y, offset, np.where(np.isfinite(theta), theta, 0.0))


def _refuse_other_units(encoding: Encoding, table: Table, y: Any) -> None:
    """Columns most of whose values are not as declared: of another unit, or other words; of a target, missing ones, too."""
    domain, names = encoding.domain, encoding.feature_names_in
    if domain.features and names is not None:
        places = {name: table.schema.named(name)[0] for name in names} if table.schema.names is not None else None
        for number, (name, declared) in enumerate(domain.features):
            place = number if places is None else places[name]
            bounds = (declared.lo, declared.hi) if isinstance(declared, Numeric) else tuple(declared.levels)
            _refuse(f"column {name!r}", table, place, bounds, numeric=isinstance(declared, Numeric))
    target, *_ = check_roles(domain, table, y, None, None)
    if target is None:
        return
    for one in encoding.targets:
        numeric = isinstance(one, BoundedTarget)
        bounds = (one.lo, one.hi) if isinstance(one, BoundedTarget) else tuple(one.classes)
        what = "target" if one.column is None else f"target {one.column!r}"
        _refuse(what, target[0], target[1][domain.targets.index(one)], bounds, numeric=numeric, whole=True)


def _refuse(
    what: str, table: Table, place: int, declared: tuple[Any, ...], *, numeric: bool, whole: bool = False
) -> None:
    """Refuse a column most of whose cells (of those that are not missing, if not `whole`) are outside what is declared."""
    if numeric:
        values = table.numbers([place])[:, 0]
        seen, known = np.isfinite(values), (values >= declared[0]) & (values <= declared[1])
        said = f"numbers within [{declared[0]:g}, {declared[1]:g}]"
    else:
        cells = table.cells(place)
        seen, known = np.array([cell is not None for cell in cells]), LevelIndex(declared).places(cells) >= 0
        said = f"the levels {', '.join(map(repr, declared[:5]))}{' …' if len(declared) > 5 else ''}"
    within = known if whole else known[seen]
    if within.size == 0 or 1.0 - within.mean() > OUTSIDE:
        raise SchemaError(
            f"Its {what} is mostly something else than {said}, which the domain declares: it has another unit or other words{' or is missing' * whole}. Convert it to those of the private table."
        )


def _model(loss: Loss, X: Array, y: Array, offset: Array | None, intercept: bool) -> Array:
    """Coefficients θ, (p,), of least mean loss with a ridge on columns of deviation 1, its strength by cross-validation."""
    q = X.shape[1] - intercept
    middle = X[:, :q].mean(axis=0) if intercept else np.zeros(q)
    spread = np.sqrt(np.mean((X[:, :q] - middle) ** 2, axis=0))
    scale = np.where(spread > 1e-9, 1.0 / np.maximum(spread, 1e-9), 0.0)
    Z = np.column_stack([(X[:, :q] - middle) * scale, np.ones((len(X), int(intercept)))])
    known = np.zeros(len(X)) if offset is None else offset
    tried = np.linspace(0, len(X) - 1, min(len(X), TRIED)).astype(np.int64)
    fold = np.arange(tried.size) % FOLDS
    lost = np.zeros(RIDGES.size)
    for number in range(FOLDS):
        rest, held = tried[fold != number], tried[fold == number]
        at = np.zeros(q + intercept)
        for place, ridge in enumerate(RIDGES):
            at = _least(loss, Z[rest], y[rest], known[rest], float(ridge), at, q)
            lost[place] += float(np.sum(loss.value(Z[held] @ at + known[held], y[held])))
    ridge = float(RIDGES[int(np.argmin(lost))]) * tried.size / len(X)
    at = _least(loss, Z, y, known, ridge, np.zeros(q + intercept), q)
    slopes = at[:q] * scale
    return np.append(slopes, at[q:] - middle @ slopes)


def _least(loss: Loss, Z: Array, y: Array, known: Array, ridge: float, start: Array, q: int) -> Array:
    """The minimiser, its last entry within the loss's bounds of an intercept."""

    def objective(at: Array) -> tuple[float, Array]:
        z = Z @ at + known
        pulled = np.append(ridge * at[:q], np.zeros(at.size - q))
        slope = Z.T @ np.asarray(loss.derivative(z, y)) / len(y) + pulled
        return float(np.mean(loss.value(z, y))) + 0.5 * float(pulled @ at), slope

    bounds = [(None, None)] * q + [loss.intercept_bounds] * (start.size - q)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100})
    return np.asarray(found.x)
