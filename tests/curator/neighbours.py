"""Real neighbours for tests: tables of encoded rows that differ in one record or one unit, extreme rows included."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hullabaloo.data.source import RowFacts, Rows
from hullabaloo.privacy import Neighbours


def facts(
    p: int, k: int = 1, *, norm_l2: float | None = None, max_weight: float = 1.0, unit: int = 1, offset: float = 0.0
) -> RowFacts:
    """Facts of a table with p columns in [−1, 1], or of a prepared matrix with a row norm."""
    l2 = float(np.sqrt(p)) if norm_l2 is None else norm_l2
    linf = 1.0 if norm_l2 is None else norm_l2
    return RowFacts(
        columns=tuple(f"x{j}" for j in range(p)),
        intercept=False,
        norm_l1=float(p) if norm_l2 is None else norm_l2 * float(np.sqrt(p)),
        norm_l2=l2,
        norm_linf=linf,
        targets=tuple(f"y{j}" for j in range(k)),
        max_weight=max_weight,
        records_per_unit=unit,
        offset_bound=offset,
    )


RELATIONS = [Neighbours.REPLACE_ONE, Neighbours.ADD_OR_REMOVE]
TABLES = {
    "p1": facts(1),
    "p7": facts(7),
    "ball": facts(40, norm_l2=1.0),
    "weights": facts(5, max_weight=3.0),
    "units": facts(5, unit=4),
    "weighted-units": facts(3, max_weight=0.2, unit=2),
    "offsets": facts(4, offset=50.0),
}


def random_rows(rng: np.random.Generator, n: int, about: RowFacts, *, extreme: bool = False) -> Rows:
    """Rows inside the facts; extreme ones lie on the boundary."""
    p, k = about.width, len(about.targets)
    X = rng.uniform(-about.norm_linf, about.norm_linf, (n, p))
    if extreme:
        X = about.norm_linf * rng.choice([-1.0, 0.0, 1.0], size=(n, p))
    norms = np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    X = X * np.minimum(1.0, about.norm_l2 / norms)
    Y = rng.choice([-1.0, 1.0], size=(n, k)) if extreme else rng.uniform(-1.0, 1.0, (n, k))
    weight = None
    if about.max_weight != 1.0:
        weight = about.max_weight * (rng.choice([0.0, 1.0], size=n) if extreme else rng.uniform(0.0, 1.0, n))
    offset = None
    if about.offset_bound:
        offset = about.offset_bound * (rng.choice([-1.0, 1.0], size=n) if extreme else rng.uniform(-1.0, 1.0, n))
    return Rows(np.ascontiguousarray(X), Y, weight, offset, _units(n, about))


def _units(n: int, about: RowFacts) -> np.ndarray | None:
    """Units of so many records as they may have."""
    return np.arange(n) // about.records_per_unit if about.records_per_unit > 1 else None


def _stacked(arrays: list[np.ndarray | None]) -> np.ndarray | None:
    return None if all(a is None for a in arrays) else np.concatenate([a for a in arrays if a is not None])


def _taken(array: np.ndarray | None, order: np.ndarray) -> np.ndarray | None:
    return None if array is None else array[order]


def join(*parts: Rows) -> Rows:
    """One table of several."""
    weight, offset = _stacked([part.weight for part in parts]), _stacked([part.offset for part in parts])
    X, Y = np.concatenate([part.X for part in parts]), np.concatenate([part.Y for part in parts])
    before = np.cumsum([0, *(0 if part.unit is None else part.unit.max(initial=-1) + 1 for part in parts)])
    unit = _stacked(
        [None if part.unit is None else part.unit + first for part, first in zip(parts, before, strict=False)]
    )
    return Rows(X, Y, weight, offset, unit)


def reordered(rows: Rows, order: np.ndarray) -> Rows:
    """The same records in another order, or some of them."""
    return Rows(
        rows.X[order], rows.Y[order], _taken(rows.weight, order), _taken(rows.offset, order), _taken(rows.unit, order)
    )


def pairs(
    rng: np.random.Generator, relation: Neighbours, about: RowFacts, *, rounds: int, n: int = 20
) -> Iterator[tuple[Rows, Rows]]:
    """Pairs of tables that differ in one unit, in random places, half of the time with opposite extreme records."""
    m = about.records_per_unit
    for i in range(rounds):
        common = random_rows(rng, n, about, extreme=i % 3 == 0)
        one = random_rows(rng, m, about, extreme=i % 2 == 0)
        other = random_rows(rng, m, about, extreme=i % 2 == 0)
        if i % 4 == 0:
            other = replace(one, X=-one.X)
        shuffled = reordered(common, rng.permutation(n))
        if relation is Neighbours.ADD_OR_REMOVE:
            yield join(common, one), shuffled
        else:
            yield join(common, one), join(other, shuffled)
