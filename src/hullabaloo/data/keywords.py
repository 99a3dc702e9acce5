"""Reading the keywords of `Domain`: each becomes a checked, frozen value or a sentence that says what is wrong."""

from collections.abc import Iterable, Mapping, Sequence

from hullabaloo.data import transforms
from hullabaloo.data.declarations import PLACEHOLDER, Declaration, Numeric, declaration, finite, is_number, unfilled
from hullabaloo.data.transforms import LARGEST, SMALLEST_WIDTH
from hullabaloo.errors import DomainError

NORMS = ("l1", "l2", "linf")

LIGHTEST = 1e-100
"""The least largest weight: products of two weights are then ordinary numbers."""


def features(features: object, functions: object) -> dict[str, Declaration]:
    """Read the declared features and their transforms."""
    if features is None:
        features = {}
    if not isinstance(features, Mapping):
        raise DomainError(
            f"`features` is a mapping from column name to declaration, and {type(features).__name__} was found. "
            f"Write features={{'age': (17, 90), 'job': ['clerk', 'nurse']}}."
        )
    declared = {str(name): declaration(str(name), spec) for name, spec in features.items()}
    if functions is not None and not isinstance(functions, Mapping):
        raise DomainError("`transforms` is a mapping from feature to function. Write transforms={'income': 'log1p'}.")
    for name, function in (functions or {}).items():
        one = declared.get(str(name))
        if not isinstance(one, Numeric):
            raise DomainError(
                f"`transforms` names {name!r}, which is not a declared numeric feature. Declare its bounds."
            )
        if one.transform not in {"identity", function}:
            raise DomainError(f"The feature {name!r} is declared with two transforms, {one.transform} and {function}.")
        declared[str(name)] = Numeric(one.lo, one.hi, fill=one.fill, indicator=one.indicator, transform=function)
    for name, one in declared.items():
        if isinstance(one, Numeric):
            transforms.image(name, one.transform, one.lo, one.hi)
    return declared


def row_norm(value: object) -> tuple[str, float] | None:
    """Read a bound on the norm of a row."""
    if value is None:
        return None
    norm, radius = value if isinstance(value, list | tuple) and len(value) == 2 else ("l2", value)
    if not isinstance(norm, str) or norm not in NORMS:
        raise DomainError(
            f"The row norm {norm!r} is not known. Write row_norm=1.0 (l2), ('l1', r), ('l2', r) or ('linf', r)."
        )
    r = finite(radius, "The row norm's bound")
    if not SMALLEST_WIDTH <= r <= LARGEST:
        raise DomainError(f"The row norm's bound must be positive, and {r:g} was found. Rows are divided by it.")
    return str(norm), r


def interactions(pairs: Iterable[Sequence[str]], declared: Mapping[str, Declaration]) -> tuple[tuple[str, str], ...]:
    """Read the declared pairs of features."""
    out: list[tuple[str, str]] = []
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise DomainError(
            f"Interactions are a list of pairs of features, and {pairs!r} was found. Write [('age', 'hours')]."
        )
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise DomainError(
                f"An interaction is a pair of features, and {pair!r} was found. Write [('age', 'hours')]."
            )
        a, b = (str(name) for name in pair)
        for name in (a, b):
            if name not in declared:
                raise DomainError(
                    f"The interaction ({a!r}, {b!r}) names {name!r}, which is not a declared feature. Declare it."
                )
        if a == b and not isinstance(declared[a], Numeric):
            raise DomainError(
                f"The interaction of {a!r} with itself is {a!r} again: its columns are 0 or 1. Leave it out."
            )
        if (a, b) in out or (b, a) in out:
            raise DomainError(f"The interaction ({a!r}, {b!r}) is declared twice. Every column costs noise: keep one.")
        out.append((a, b))
    return tuple(out)


def column(value: object, what: str) -> str | None:
    """Read the name of a column."""
    if value is not None and (not isinstance(value, str) or not value or value.startswith(PLACEHOLDER)):
        raise DomainError(f"`{what}` is the name of a column, and {value!r} was found.")
    return value


def count(value: object, what: str, default: int | None = None) -> int | None:
    """Read a positive whole number."""
    if value is None:
        return default
    if isinstance(value, str) and value.startswith(PLACEHOLDER):
        raise DomainError(unfilled(what))
    if not is_number(value) or not 1 <= value < 2**53 or value != int(value):  # type: ignore[operator, call-overload]
        raise DomainError(f"`{what}` is a whole number of at least 1, and {value!r} was found.")
    return int(value)  # type: ignore[call-overload, no-any-return]


def weight(value: object) -> tuple[str, float] | None:
    """Read a weight's column and its largest value."""
    if value is None:
        return None
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise DomainError(f"`weight` is a column and its largest value, ('weight', 10), and {value!r} was found.")
    largest = finite(value[1], "The largest weight")
    if largest <= 0:
        raise DomainError(
            f"The largest weight must be positive, and {largest:g} was found: every record would count nothing."
        )
    if largest < LIGHTEST:
        raise DomainError(
            f"The largest weight must be at least {LIGHTEST:g}, and {largest:g} was found, whose square is lost in rounding. Only "
            "weights relative to the largest matter: declare them in other units."
        )
    return str(column(value[0], "weight")), largest
