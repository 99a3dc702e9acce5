"""What a user declares about the target: bounds, several bounded targets, or classes; and how it is encoded."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hullabaloo.data.declarations import Level, bounds_pair, finite, level_tuple, own_level, refuse_unfilled, same_level
from hullabaloo.data.labels import LevelIndex
from hullabaloo.errors import DomainError

UNNAMED = "target"


class TargetScale(StrEnum):
    """How a bounded target is scaled, which is the estimator's choice and public.

    ``SYMMETRIC`` maps [lo, hi] onto [−1, 1]. ``NONNEGATIVE`` (counts, with a logarithmic link) divides by hi: 0 ≤ y ≤ 1.
    """

    SYMMETRIC = "symmetric"
    NONNEGATIVE = "nonnegative"


@dataclass(frozen=True, slots=True)
class BoundedTarget:
    """A number between declared bounds; y_unit = (clip(y, lo, hi) − mid)/half; a missing y is ``fill``."""

    column: str | None
    lo: float
    hi: float
    fill: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its encoded columns (one)."""
        return (self.column or UNNAMED,)

    def scale(self, centred: bool, kind: TargetScale = TargetScale.SYMMETRIC) -> tuple[float, float]:
        """(mid, half-width) of the map onto [−1, 1]; not centred where no intercept is fitted, so that 0 stays 0."""
        if kind is TargetScale.NONNEGATIVE:
            return 0.0, self.hi
        if not centred:
            return 0.0, max(abs(self.lo), abs(self.hi))
        return self.lo / 2 + self.hi / 2, self.hi / 2 - self.lo / 2

    def encode(
        self, numbers: NDArray[np.float64], centred: bool, kind: TargetScale = TargetScale.SYMMETRIC
    ) -> NDArray[np.float64]:
        """One column in [−1, 1]; clipping and scaling are exact IEEE operations, the same for every row."""
        mid, half = self.scale(centred, kind)
        fill = self.lo / 2 + self.hi / 2 if self.fill is None else self.fill
        y = np.clip(np.where(np.isnan(numbers), fill, numbers), self.lo, self.hi)
        return np.asarray((np.clip((y - mid) / half, -1.0, 1.0) + 0.0)[:, None], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class ClassTarget:
    """One of the declared classes. Two: one column, −1 for the lower and +1 for the higher; more: a column each.

    Encoded classes are in their natural order (numbers by size, texts by letters), as scikit-learn's are; those that have
    none, such as a text beside a number, in the declared order. A missing or undeclared class counts as ``fill``
    (default: the class that was declared first).
    """

    column: str | None
    classes: tuple[Level, ...]
    fill: Level | None = None

    @property
    def ordered(self) -> tuple[Level, ...]:
        """The classes in the order of their encoded columns."""
        kinds = {type(level) for level in self.classes}
        sortable = len(kinds) == 1 or kinds == {int, float}
        return tuple(sorted(self.classes)) if sortable else self.classes

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its encoded columns: one for two classes, else one a class."""
        name = self.column or UNNAMED
        return (name,) if len(self.classes) == 2 else tuple(f"{name}={level}" for level in self.ordered)

    def encode(self, cells: list[Any]) -> NDArray[np.float64]:
        """Columns of −1 and +1."""
        classes = self.ordered
        places = LevelIndex(classes).places(cells)
        fill = self.classes[0] if self.fill is None else self.fill
        places[places < 0] = next(i for i, level in enumerate(classes) if same_level(level, fill))
        if len(classes) == 2:
            return np.where(places[:, None] == 1, 1.0, -1.0)
        return np.where(places[:, None] == np.arange(len(classes)), 1.0, -1.0)


Target = BoundedTarget | ClassTarget


def declared_targets(target: object, classes: object, fill: object) -> tuple[Target, ...]:
    """Read the keywords ``target``, ``classes`` and ``target_fill`` of a domain."""
    if target is not None and classes is not None:
        raise DomainError(
            "Both `target` (bounds of a number) and `classes` (the labels of a class) are declared. Declare one of them: `target` for regression, `classes` for classification."
        )
    if classes is not None:
        return (_class_target(classes, fill),)
    if target is None:
        if fill is not None:
            raise DomainError("A `target_fill` is declared without a `target` or `classes` that it could fill.")
        return ()
    if not isinstance(target, Mapping):
        return (_bounded(None, target, fill),)
    if not target:
        raise DomainError("`target` names no column. Write target={'los': (0, 30)}, or target=(0, 30) for a lone y.")
    fills = _fills(fill, [str(name) for name in target])
    return tuple(_bounded(str(name), bounds, fills.get(str(name))) for name, bounds in target.items())


def _fills(fill: object, names: list[str]) -> dict[str, object]:
    if fill is None:
        return {}
    if not isinstance(fill, Mapping):
        return dict.fromkeys(names, fill)
    unknown = sorted(str(name) for name in fill if str(name) not in names)
    if unknown:
        raise DomainError(f"`target_fill` names {unknown[0]!r}, which is not one of the declared targets {names}.")
    return {str(name): value for name, value in fill.items()}


def _bounded(name: str | None, bounds: object, fill: object) -> BoundedTarget:
    what = "The target" if name is None else f"The target {name!r}"
    refuse_unfilled(name or UNNAMED, bounds)
    if isinstance(bounds, list | tuple) and all(isinstance(one, str) for one in bounds):
        refuse_unfilled(name or UNNAMED, *bounds)
        raise DomainError(
            f"{what} is declared by {list(bounds)}, which are no bounds. Labels of a class are declared as `classes`, in place of `target`."
        )
    lo, hi = bounds_pair(bounds, what)
    value = None if fill is None else finite(fill, f"{what}'s fill")
    if value is not None and not lo <= value <= hi:
        raise DomainError(f"{what}'s fill {value:g} is outside its bounds [{lo:g}, {hi:g}]. Declare one inside them.")
    return BoundedTarget(name, lo, hi, value)


def _class_target(classes: object, fill: object) -> ClassTarget:
    name: str | None = None
    if isinstance(classes, Mapping):
        if len(classes) != 1:
            raise DomainError("`classes` names several columns; write classes={'column': ['a', 'b']} with one column.")
        name, classes = next((str(k), v) for k, v in classes.items())
    levels = level_tuple(classes, "The target's `classes`")
    if len(levels) < 2:
        raise DomainError(f"The target's `classes` needs at least two classes, and {list(levels)!r} was found.")
    fill = own_level(fill) if isinstance(fill, str) else fill
    if fill is not None and not any(same_level(level, fill) for level in levels):  # type: ignore[arg-type]
        raise DomainError(f"The `target_fill` {fill!r} is not one of the declared classes {list(levels)!r}.")
    return ClassTarget(name, levels, fill)  # type: ignore[arg-type]


def targets_to_dict(targets: tuple[Target, ...]) -> dict[str, Any]:
    """The keywords that declare these targets, JSON-ready."""
    if not targets:
        return {}
    stated = {one.column: list(one.classes) if isinstance(one, ClassTarget) else [one.lo, one.hi] for one in targets}
    fills = {one.column: one.fill for one in targets if one.fill is not None}
    classes, named = isinstance(targets[0], ClassTarget), targets[0].column is not None
    out: dict[str, Any] = {"classes" if classes else "target": stated if named else stated[None]}
    if fills:
        out["target_fill"] = fills if named and not classes else next(iter(fills.values()))
    return out
