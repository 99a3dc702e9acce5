"""The encoded rows of tables as bytes, one text of bytes a record: what the law of locality compares."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hullabaloo.data import Domain, TargetScale
from hullabaloo.data.source import Rows
from tests.laws.hostile import SAME_INSTANT

FEATURES = {
    "a": (-5, 5),
    "b": {"lo": 0, "hi": 100, "transform": "log1p", "fill": 3},
    "c": ["x", "é", 1, "long text", "0.1"],
    "e": (0.5, 20),
}
COUNTS = Domain(
    features=FEATURES, target={"t": (0, 10)}, weight=("w", 3), interactions=[("a", "c"), ("a", "b")], records=1000
)
"""Numbers, a transform, levels, an interaction, an exposure, a bounded target and a weight."""
CLASSES = Domain(features=FEATURES, classes={"t": ["x", 1, "0.1"]}, weight=("w", 3), row_norm=("l2", 1.2), records=1000)
"""The same with a target of classes and clipped rows."""
UNITS = Domain(features=FEATURES, target={"t": (0, 10)}, unit="w", records_per_unit=2, records=1000)
"""The last column names persons, of whom two records count."""
EQUALS = Domain(
    features={name: ["0", "1", "True", "False", *map(str, SAME_INSTANT)] for name in "abce"},
    target={"t": (0, 10)},
    weight=("w", 3),
)
"""Levels of which each is the label of another cell that Python takes for equal."""
WIDTH = 5
MATRICES = tuple(
    Domain(row_norm=(norm, 2.0), target=(0, 10), weight=("w", 3), records=1000) for norm in ("l1", "l2", "linf")
)
"""Prepared matrices."""


@dataclass(frozen=True)
class Given:
    """What a caller passes as one table: the rows, and the target and weight where they are given apart."""

    table: Any
    y: Any = None
    weight: Any = None


def options(domain: Domain) -> dict[str, Any]:
    return {"scale": TargetScale.NONNEGATIVE, "exposure": "e"} if domain is COUNTS else {}


def rows_of(domain: Domain, batches: Iterable[Given], saw: Callable[[Any], None]) -> list[bytes]:
    """The encoded records of tables that follow each other; `saw` is told every table that a reader opened."""
    found: list[bytes] = []
    for given in batches:
        opened = domain.open(given.table)
        saw(opened)
        roles = {} if given.weight is None else {("unit" if domain.unit is not None else "weight"): given.weight}
        encoding = domain.encoding_for(opened, given.y, **roles, **options(domain))
        found += as_bytes(encoding.encode(opened, given.y, **roles))
    return found


def as_bytes(rows: Rows) -> list[bytes]:
    """(X, Y, weight, offset) of each record."""
    parts = [np.asarray(rows.Y, dtype=np.float64)]
    parts += [one[:, None] for one in (rows.weight, rows.offset) if one is not None]
    if isinstance(rows.X, np.ndarray):
        whole = np.ascontiguousarray(np.hstack([rows.X, *parts]))
        return [row.tobytes() for row in whole]
    X, rest = rows.X, np.ascontiguousarray(np.hstack(parts))
    ends = X.indptr.tolist()
    assert ((X.indices >= 0) & (X.indices < X.shape[1])).all()
    places = X.indices.astype(np.int64)  # how wide the places are written is public: it follows from the table's size
    return [
        places[start:stop].tobytes() + X.data[start:stop].tobytes() + row.tobytes()
        for start, stop, row in zip(ends[:-1], ends[1:], rest, strict=True)
    ]
