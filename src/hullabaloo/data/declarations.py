"""What a user declares: `Numeric` bounds or `Categorical` levels of a feature, and the other keywords of a `Domain`.

Each becomes a checked, frozen value or a sentence that says what is wrong.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Real
from typing import Any

from hullabaloo.codec import plain, settle
from hullabaloo.data import transforms
from hullabaloo.data.labels import LevelIndex
from hullabaloo.data.transforms import LARGEST, SMALLEST_WIDTH
from hullabaloo.errors import DomainError

Level = str | int | float | bool
PLACEHOLDER, DATE = "FILL IN", re.compile(r"\d{4}-\d\d-\d\d")


def _stated(record: Any) -> dict[str, Any]:
    """The declaration as JSON-ready values, defaults left out."""
    given = {one.name: (getattr(record, one.name), one.default) for one in fields(record)}
    return {name: plain(value) for name, (value, default) in given.items() if value != default}


@dataclass(frozen=True, slots=True)
class Numeric:
    """A number between two declared bounds.

    ``fill`` (in the column's own units, inside the bounds; default: what is encoded as the middle) stands for a
    missing or unparsable cell; ``indicator`` adds a column "name:missing" (None: as the domain says, by default
    yes); ``transform`` is applied after clipping to the bounds, see ``transforms.py``.
    """

    lo: float
    hi: float
    _: KW_ONLY
    fill: float | None = None
    indicator: bool | None = None
    transform: str = "identity"

    def __post_init__(self) -> None:
        """Check each, and the fill against the bounds."""
        lo, hi = bounds_pair((self.lo, self.hi), "A numeric feature")
        fill = None if self.fill is None else finite(self.fill, "The fill of a numeric feature")
        transform = "identity" if self.transform is None else self.transform
        indicator = flag(self.indicator, "indicator", unsaid=True)
        settle(self, lo=lo, hi=hi, fill=fill, indicator=indicator, transform=transform)
        if fill is not None and not lo <= fill <= hi:
            raise DomainError(
                f"The fill {fill:g} of a numeric feature lies outside its bounds [{lo:g}, {hi:g}]: it would be clipped and mean something else. Declare a fill inside the bounds, or wider bounds."
            )
        transforms.find(transform)

    to_dict = _stated


@dataclass(frozen=True, slots=True, init=False)
class Categorical:
    """One of the declared levels, encoded one-hot; a cell with any other level is all zeros.

    ``baseline`` names the level that gets no column (its coefficient is 0 by convention); ``indicator`` adds a
    column "name:missing" as if missing were one more level (None: as the domain says, by default yes).
    """

    levels: tuple[Level, ...]
    baseline: Level | None = None
    indicator: bool | None = None

    def __init__(
        self, levels: Iterable[Level], *, baseline: Level | None = None, indicator: bool | None = None
    ) -> None:
        levels = level_tuple(levels, "A categorical feature")
        baseline = own_level(baseline) if isinstance(baseline, str) else baseline
        settle(self, levels=levels, baseline=baseline, indicator=flag(indicator, "indicator", unsaid=True))
        known = isinstance(baseline, str | bool) or is_number(baseline)
        if baseline is not None and not (known and any(same_level(baseline, level) for level in levels)):
            raise DomainError(
                f"The baseline {baseline!r} is not one of the declared levels {list(levels)!r}. Name one of them, or leave the baseline out to keep a column for each level."
            )

    @property
    def encoded(self) -> tuple[tuple[int, Level], ...]:
        """The levels that get a column, each with its place among the declared levels."""
        return tuple(
            (i, level)
            for i, level in enumerate(self.levels)
            if self.baseline is None or not same_level(level, self.baseline)
        )

    to_dict = _stated


Declaration = Numeric | Categorical


def declaration(name: str, spec: object) -> Declaration:
    """Read one feature's declaration: two numbers are bounds, any other list is levels, a mapping is keywords."""
    if isinstance(spec, Numeric | Categorical):
        return spec
    try:
        refuse_unfilled(name, spec)
        if isinstance(spec, Mapping):
            return _from_mapping(spec)
        if isinstance(spec, list | tuple):
            if len(spec) == 2 and all(is_number(v) for v in spec):
                return Numeric(*spec)
            refuse_unfilled(name, *spec)
            if any(map(is_number, spec)) and (len(spec) == 1 or (isinstance(spec, tuple) and len(spec) == 2)):
                raise DomainError(
                    f"{spec!r} was found, which is neither two numbers, as bounds are, nor a list of levels. Write both bounds, or hb.Categorical(levels)."
                )
            if len(spec) == 2 and all(DATE.match(str(one)) for one in spec):
                raise DomainError(
                    f"Two dates were found, {spec[0]!r} and {spec[1]!r}, and a date has no bounds. Write the column and its bounds as numbers, such as days since a given one; "
                    "or hb.Categorical(levels), in a file {levels = [...]}, where both are levels."
                )
            return Categorical(spec)
    except DomainError as error:
        raise DomainError(f"Feature {name!r}: {error}") from None
    raise DomainError(
        f"Feature {name!r}: a declaration of type {type(spec).__name__} was found. Write bounds (lo, hi), levels ['a', 'b'], or hb.Numeric(lo, hi, ...) or hb.Categorical(levels, ...)."
    )


def refuse_unknown(given: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    """Refuse a key that nothing would be made of."""
    unknown = sorted(str(name) for name in given if name not in known)
    if unknown:
        raise DomainError(
            f"The key {unknown[0]!r} is not known in a {what}, and an ignored key would be a promise not kept. Known keys are {', '.join(known)}."
        )


def _from_mapping(spec: Mapping[str, Any]) -> Declaration:
    refuse_unfilled("", *spec.values())
    kind = Categorical if "levels" in spec else Numeric
    refuse_unknown(spec, sorted(one.name for one in fields(kind)), f"{kind.__name__.lower()} declaration")
    if kind is Numeric and not {"lo", "hi"} <= set(spec):
        raise DomainError("A declaration needs bounds `lo` and `hi`, or `levels`; bounds are never read from data.")
    return kind(**spec)


def refuse_unfilled(name: str, *values: object) -> None:
    """Refuse what a template leaves to be filled in."""
    if any(isinstance(value, str) and value.startswith(PLACEHOLDER) for value in values):
        raise DomainError(
            f"The declaration{f' of {name!r}' if name else ''} still holds a placeholder {PLACEHOLDER!r} from the template. Replace it by bounds or "
            f"levels that you know without looking at the records, for example from a questionnaire, or by a generous range and let hb.private_bounds buy narrower bounds."
        )


def is_number(value: object) -> bool:
    """Whether a declared value is a real number (a bool is not)."""
    return isinstance(value, Real) and not isinstance(value, bool) and type(value).__name__ not in {"bool", "bool_"}


def _own(number: Any) -> Any:
    """One of Python's own numbers: exact, whatever its type."""
    return number.item() if hasattr(number, "item") else number


def finite(value: object, what: str) -> float:
    """Read a declared number, or say why it is refused."""
    refuse_unfilled("", value)
    if not is_number(value) or not abs(_own(value)) <= LARGEST:  # NaN is not
        raise DomainError(
            f"{what} needs finite numbers of size at most {LARGEST:g}, and {value!r} was found. The noise is "
            f"proportional to what is declared, so nothing unbounded can be made private. Where only a generous range is known, hb.private_bounds buys narrower bounds."
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
            f"the distance between the two: write the smaller one first, and leave a constant column out."
        )
    return lo, hi


def flag(value: object, what: str, *, unsaid: bool = False) -> Any:
    """Read a declared yes or no; `unsaid`: or None."""
    if isinstance(value, bool) or (unsaid and value is None):
        return value
    raise DomainError(f"The option `{what}` is yes or no (true or false), and {value!r} was found.")


def level_tuple(levels: object, what: str) -> tuple[Level, ...]:
    """Read declared levels: at least one, all different, each a text, a number or a bool."""
    if isinstance(levels, str | bytes | Mapping) or not isinstance(levels, Iterable) or getattr(levels, "ndim", 1) == 0:
        raise DomainError(f"{what} needs a list of levels, and {levels!r} was found.")
    out: tuple[Any, ...] = tuple(levels)
    refuse_unfilled("", *out)
    for level in out:
        if not isinstance(level, str | bool) and not (is_number(level) and abs(_own(level)) <= sys.float_info.max):
            raise DomainError(f"{what} has the level {level!r}; a level is a text, a finite number, or true or false.")
    if not out:
        raise DomainError(f"{what} needs at least one level; leave the column out if it has none.")
    known = tuple(map(own_level, out))
    LevelIndex(known)  # refuses two levels that a cell could not tell apart
    return known


def own_level(level: Any) -> Level:
    """A level as one of Python's own texts, numbers or truths: what is of a class of somebody's own has a name of its own, and no worker of a cluster has that class."""
    if isinstance(level, str):
        return str.__str__(level)
    value = _own(level)
    return value if isinstance(value, bool) else int(value) if isinstance(value, int) else float(value)


def same_level(a: Level, b: Level) -> bool:
    """Whether two declared levels are the same one (the number 1 and the text "1" are not, 1 and 1.0 are)."""
    return type(a) is type(b) and a == b if isinstance(a, str | bool) or isinstance(b, str | bool) else a == b


NORMS = ("l1", "l2", "linf")

LEAST_NORM = 1e-30
"""The least norm that rows of features may be cut to: products of eight cells are then ordinary numbers."""


def features(given: object, functions: object) -> dict[str, Declaration]:
    """Read the declared features and their transforms."""
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise DomainError(
            f"`features` is a mapping from column name to declaration, and {type(given).__name__} was found. Write features={{'age': (17, 90), 'job': ['clerk', 'nurse']}}."
        )
    declared = {str(name): declaration(str(name), spec) for name, spec in given.items()}
    if functions is not None and not isinstance(functions, Mapping):
        raise DomainError("`transforms` is a mapping from feature to function. Write transforms={'income': 'log1p'}.")
    for name, function in (functions or {}).items():
        one = declared.get(str(name))
        if not isinstance(one, Numeric):
            raise DomainError(f"`transforms` names {name!r}, which is no declared numeric feature. Declare its bounds.")
        if one.transform not in {"identity", function}:
            raise DomainError(f"The feature {name!r} is declared with two transforms, {one.transform} and {function}.")
        declared[str(name)] = Numeric(one.lo, one.hi, fill=one.fill, indicator=one.indicator, transform=function)
    for name, one in declared.items():
        if isinstance(one, Numeric):
            transforms.image(name, one.transform, one.lo, one.hi)
    return declared


def row_norm(value: object, beside: bool) -> tuple[str, float] | None:
    """Read a bound on the norm of a row; `beside` features, whose encoded cells lie in [-1, 1], rows are cut to it as it is, in place of being divided by it."""
    if value is None:
        return None
    norm, radius = value if isinstance(value, list | tuple) and len(value) == 2 else ("l2", value)
    if not isinstance(norm, str) or norm not in NORMS:
        raise DomainError(f"The row norm {norm!r} is not known. Write 1.0 (l2), ('l1', r), ('l2', r) or ('linf', r).")
    r = finite(radius, "The row norm's bound")
    if not (least := LEAST_NORM if beside else SMALLEST_WIDTH) <= r <= LARGEST:
        why = "Rows of features, whose cells are within [-1, 1], are cut to it" if beside else "Rows are divided by it"
        raise DomainError(
            f"The row norm's bound must be positive, from {least:g} to {LARGEST:g}, and {r:g} was found. {why}."
        )
    return str(norm), r


def interactions(pairs: Iterable[Sequence[str]], declared: Mapping[str, Declaration]) -> tuple[tuple[str, str], ...]:
    """Read the declared pairs of features."""
    out: list[tuple[str, str]] = []
    if isinstance(pairs, str) or not isinstance(pairs, Iterable) or getattr(pairs, "ndim", 1) == 0:
        raise DomainError(f"Interactions are a list of pairs of features, not {pairs!r}. Write [('age', 'hours')].")
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise DomainError(f"An interaction is a pair of features, not {pair!r}. Write [('age', 'hours')].")
        a, b = (str(name) for name in pair)
        for name in (a, b):
            if name not in declared:
                raise DomainError(f"The interaction ({a!r}, {b!r}) names {name!r}, which is not declared. Declare it.")
        if a == b and not isinstance(declared[a], Numeric):
            raise DomainError(f"The interaction of {a!r} with itself is {a!r} again: columns are 0 or 1. Leave it out.")
        if (a, b) in out or (b, a) in out:
            raise DomainError(f"The interaction ({a!r}, {b!r}) is declared twice. Every column costs noise: keep one.")
        out.append((a, b))
    return tuple(out)


def column(value: object, what: str) -> str | None:
    """Read the name of a column."""
    if value is not None and (not isinstance(value, str) or not value or value.startswith(PLACEHOLDER)):
        raise DomainError(f"`{what}` is the name of a column, and {value!r} was found.")
    return None if value is None else str.__str__(value)


def count(value: object, what: str, default: int | None = None) -> int | None:
    """Read a positive whole number."""
    if value is None:
        return default
    refuse_unfilled(what, value)
    if not is_number(value) or not 1 <= value < 2**53 or value != int(value):  # type: ignore[operator, call-overload]
        raise DomainError(f"`{what}` is a whole number of at least 1, and {value!r} was found.")
    return int(value)  # type: ignore[no-any-return, call-overload]


def weight(value: object) -> tuple[str, float] | None:
    """Read a weight's column and its largest value."""
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise DomainError(f"`weight` is a column and its largest value, ('weight', 10), and {value!r} was found.")
    largest = finite(value[1], "The largest weight")
    if largest <= 0:
        raise DomainError(f"The largest weight must be positive, not {largest:g}: every record would count nothing.")
    return str(column(value[0], "weight")), largest
