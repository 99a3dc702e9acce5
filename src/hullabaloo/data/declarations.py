"""What a user declares about one feature: `Numeric` bounds or `Categorical` levels."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from hullabaloo.data import transforms
from hullabaloo.data.labels import LevelIndex
from hullabaloo.data.transforms import LARGEST, SMALLEST_WIDTH
from hullabaloo.errors import DomainError

Level = str | int | float | bool
PLACEHOLDER = "FILL IN"


@dataclass(frozen=True, slots=True, init=False)
class Numeric:
    """A number between two declared bounds.

    ``fill`` (in the column's own units, inside the bounds; default: what is encoded as the middle) stands for a
    missing or unparsable cell; ``indicator`` adds a column "name:missing" (None: as the domain says, by default
    yes); ``transform`` is applied after clipping to the bounds, see ``transforms.py``.
    """

    lo: float
    hi: float
    fill: float | None
    indicator: bool | None
    transform: str

    def __init__(
        self,
        lo: float,
        hi: float,
        *,
        fill: float | None = None,
        indicator: bool | None = None,
        transform: str | None = "identity",
    ) -> None:
        bounds = bounds_pair((lo, hi), "A numeric feature")
        for name, value in (
            ("lo", bounds[0]),
            ("hi", bounds[1]),
            ("fill", None if fill is None else finite(fill, "The fill of a numeric feature")),
            ("indicator", flag(indicator, "indicator")),
            ("transform", "identity" if transform is None else transform),
        ):
            object.__setattr__(self, name, value)
        if self.fill is not None and not self.lo <= self.fill <= self.hi:
            raise DomainError(
                f"The fill {self.fill:g} of a numeric feature lies outside its bounds [{self.lo:g}, {self.hi:g}]: it "
                f"would be clipped and mean something else. Declare a fill inside the bounds, or wider bounds."
            )
        transforms.find(self.transform)

    def to_dict(self) -> dict[str, Any]:
        """The declaration as JSON-ready values, defaults left out."""
        out: dict[str, Any] = {"lo": self.lo, "hi": self.hi}
        if self.fill is not None:
            out["fill"] = self.fill
        if self.indicator is not None:
            out["indicator"] = self.indicator
        if self.transform != "identity":
            out["transform"] = self.transform
        return out


@dataclass(frozen=True, slots=True, init=False)
class Categorical:
    """One of the declared levels, encoded one-hot; a cell with any other level is all zeros.

    ``baseline`` names the level that gets no column (its coefficient is 0 by convention); ``indicator`` adds a
    column "name:missing" as if missing were one more level (None: as the domain says, by default yes).
    """

    levels: tuple[Level, ...]
    baseline: Level | None
    indicator: bool | None

    def __init__(
        self, levels: Iterable[Level], *, baseline: Level | None = None, indicator: bool | None = None
    ) -> None:
        levels = level_tuple(levels, "A categorical feature")
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "baseline", baseline)
        object.__setattr__(self, "indicator", flag(indicator, "indicator"))
        known = isinstance(baseline, str | bool) or is_number(baseline)
        if baseline is not None and not (known and any(same_level(baseline, level) for level in levels)):
            raise DomainError(
                f"The baseline {baseline!r} is not one of the declared levels {list(levels)!r}. "
                f"Name one of them, or leave the baseline out to keep a column for each level."
            )

    @property
    def encoded(self) -> tuple[tuple[int, Level], ...]:
        """The levels that get a column, each with its place among the declared levels."""
        return tuple(
            (i, level)
            for i, level in enumerate(self.levels)
            if self.baseline is None or not same_level(level, self.baseline)
        )

    def to_dict(self) -> dict[str, Any]:
        """The declaration as JSON-ready values, defaults left out."""
        out: dict[str, Any] = {"levels": list(self.levels)}
        if self.baseline is not None:
            out["baseline"] = self.baseline
        if self.indicator is not None:
            out["indicator"] = self.indicator
        return out


Declaration = Numeric | Categorical


def declaration(name: str, spec: object) -> Declaration:
    """Read one feature's declaration: two numbers are bounds, any other list is levels, a mapping is keywords."""
    if isinstance(spec, Numeric | Categorical):
        return spec
    try:
        if isinstance(spec, str) and spec.startswith(PLACEHOLDER):
            raise DomainError(unfilled(name))
        if isinstance(spec, Mapping):
            return _from_mapping(spec)
        if isinstance(spec, list | tuple):
            if len(spec) == 2 and all(is_number(v) for v in spec):
                return Numeric(*spec)
            if any(isinstance(v, str) and v.startswith(PLACEHOLDER) for v in spec):
                raise DomainError(unfilled(name))
            return Categorical(spec)
    except DomainError as error:
        raise DomainError(f"Feature {name!r}: {error}") from None
    raise DomainError(
        f"Feature {name!r}: a declaration of type {type(spec).__name__} was found. Write bounds (lo, hi), levels "
        f"['a', 'b'], or hb.Numeric(lo, hi, ...) or hb.Categorical(levels, ...)."
    )


def _from_mapping(spec: Mapping[str, Any]) -> Declaration:
    keys = set(spec)
    if any(isinstance(v, str) and v.startswith(PLACEHOLDER) for v in spec.values()):
        raise DomainError(unfilled(""))
    if "levels" in keys:
        known, kind = {"levels", "baseline", "indicator"}, "categorical"
    else:
        known, kind = {"lo", "hi", "fill", "indicator", "transform"}, "numeric"
    unknown = sorted(str(k) for k in keys - known)
    if unknown:
        raise DomainError(
            f"The key {unknown[0]!r} is not known in a {kind} declaration, and an ignored key would be a promise not "
            f"kept. Known keys are {', '.join(sorted(known))}."
        )
    if kind == "categorical":
        return Categorical(spec["levels"], baseline=spec.get("baseline"), indicator=spec.get("indicator"))
    if not {"lo", "hi"} <= keys:
        raise DomainError(
            "A declaration needs both bounds `lo` and `hi`, or `levels`; bounds are never read from data."
        )
    return Numeric(**spec)


def unfilled(name: str) -> str:
    """Say that a template was not completed."""
    what = f" of {name!r}" if name else ""
    return (
        f"The declaration{what} still holds a placeholder {PLACEHOLDER!r} from the template. Replace it by bounds or "
        f"levels that you know without looking at the records, for example from a questionnaire, or by a generous range and let "
        f"hb.private_bounds buy narrower bounds."
    )


def is_number(value: object) -> bool:
    """Whether a declared value is a real number (a bool is not)."""
    return isinstance(value, Real) and not isinstance(value, bool) and type(value).__name__ not in {"bool", "bool_"}


def _size(number: Any) -> Any:
    """How large a number is, as one of Python's own: exact, whatever its type; NaN is no size."""
    return abs(number.item() if hasattr(number, "item") else number)


def finite(value: object, what: str) -> float:
    """Read a declared number, or say why it is refused."""
    if isinstance(value, str) and value.startswith(PLACEHOLDER):
        raise DomainError(unfilled(""))
    if not is_number(value) or not _size(value) <= LARGEST:
        raise DomainError(
            f"{what} needs finite numbers of size at most {LARGEST:g}, and {value!r} was found. The noise is "
            f"proportional to what is declared, so nothing unbounded can be made private. Where only a generous range is "
            f"known, hb.private_bounds buys narrower bounds."
        )
    return float(value)  # type: ignore[arg-type]


def bounds_pair(spec: object, what: str) -> tuple[float, float]:
    """Read declared bounds (lo, hi) with lo < hi."""
    if not isinstance(spec, list | tuple) or len(spec) != 2:
        raise DomainError(f"{what} needs two bounds (lo, hi), and {spec!r} was found.")
    lo, hi = (finite(value, what) for value in spec)
    if not lo < hi or hi / 2 - lo / 2 < SMALLEST_WIDTH:
        raise DomainError(
            f"{what} needs a lower bound below its upper bound, and ({lo:g}, {hi:g}) was found. Values are scaled by "
            f"the distance between the two; leave a constant column out."
        )
    return lo, hi


def flag(value: object, what: str) -> bool | None:
    """Read a declared yes or no."""
    if value is None or isinstance(value, bool):
        return value
    raise DomainError(f"The option `{what}` is yes or no (true or false), and {value!r} was found.")


def level_tuple(levels: object, what: str) -> tuple[Level, ...]:
    """Read declared levels: at least one, all different, each a text, a number or a bool."""
    if isinstance(levels, str | bytes | Mapping) or not isinstance(levels, Iterable) or getattr(levels, "ndim", 1) == 0:
        raise DomainError(f"{what} needs a list of levels, and {levels!r} was found.")
    out: tuple[Any, ...] = tuple(levels)
    if any(isinstance(level, str) and level.startswith(PLACEHOLDER) for level in out):
        raise DomainError(unfilled(""))
    for level in out:
        if not isinstance(level, str | bool) and not (is_number(level) and _size(level) <= sys.float_info.max):
            raise DomainError(f"{what} has the level {level!r}; a level is a text, a finite number, or true or false.")
    if not out:
        raise DomainError(f"{what} needs at least one level; leave the column out if it has none.")
    plain = tuple(level if isinstance(level, str | bool) else _plain(level) for level in out)
    LevelIndex(plain)  # refuses two levels that a cell could not tell apart
    return plain


def _plain(number: Any) -> int | float:
    value = number.item() if hasattr(number, "item") else number
    return int(value) if isinstance(value, int) else float(value)


def same_level(a: Level, b: Level) -> bool:
    """Whether two declared levels are the same one (the number 1 and the text "1" are not, 1 and 1.0 are)."""
    return type(a) is type(b) and a == b if isinstance(a, str | bool) or isinstance(b, str | bool) else a == b
