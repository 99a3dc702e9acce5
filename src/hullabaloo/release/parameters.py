"""The types of an estimator's parameters, checked before anything else: `__init__` only stores."""

import math
import sys
from collections.abc import Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from hullabaloo.data import Domain
from hullabaloo.errors import InvalidParameter
from hullabaloo.ledger import Ledger
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget, Calibration, Neighbours
from hullabaloo.solvers import LARGEST_SHARE, Solver

# What each parameter may be, and how to write one.
LONGEST_SHOWN = 80
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "budget": ((Budget,), "an hb.Budget, such as hb.Budget(1.0, 1e-9)"),
    "domain": (
        (Domain,),
        "an hb.Domain: write hb.Domain(features=..., target=...), or hb.Domain.from_toml(path) for a file",
    ),
    "solver": (
        (str, Solver),
        "the name of a solver, such as 'auto' or 'gradient', or a solver with options of your own",
    ),
    "fit_intercept": ((bool, np.bool_), "True or False"),
    "ledger": ((Ledger, str, type(None)), 'an hb.Ledger or its URL, such as "sqlite:///privacy.db", or None'),
    "dataset": ((str, type(None)), "the name that the dataset has in the ledger, a text, or None"),
    "calibration": ((str, Calibration), "'exact' or 'paper'"),
    "test_key": (
        (TestKey, bytes, type(None)),
        "a TestKey or its 32 bytes, for tests, or None; noise is never seeded otherwise",
    ),
}


def label_of(model: object) -> str:
    """The class's own label; of a class that somebody derived from it, the name."""
    return str(vars(type(model)).get("key_label", type(model).__name__))


def check_types(model: Any, names: Iterable[str] = tuple(_KINDS)) -> None:
    """Refuse a parameter of the wrong type, of those named, with a sentence that says how to write it.

    Raises:
        InvalidParameter: a parameter has a type that it cannot have.
    """
    for name in names:
        _check(model, name)


def _check(model: Any, name: str) -> None:
    kinds, wanted = _KINDS[name]
    value = getattr(model, name)
    zero_or_one = name == "fit_intercept" and isinstance(value, int) and value in (0, 1)
    if not isinstance(value, kinds) and not zero_or_one:
        raise InvalidParameter(f"The {name} must be {wanted}, but {found(value)} was given.")


def declared(model: Any) -> Domain:
    """The model's domain, after the two parameters without a default were found to be there.

    Raises:
        InvalidParameter: the budget or the domain is missing, or the domain is none.
    """
    for name, example, more in (
        ("budget", "hb.Budget(1.0, 1e-9)", ""),
        ("domain", "hb.Domain(features={'age': (18, 90)}, ...)", ", or that of bounds bought with hb.private_bounds"),
    ):
        if getattr(model, name) is None:
            raise InvalidParameter(
                f"{type(model).__name__} needs a {name}: without it no noise level is private, and Hullabaloo never takes one from the data. Pass {name}={example}{more}."
            )
    _check(model, "domain")
    return model.domain  # type: ignore[no-any-return]


def terms_of(model: Any, domain: Domain, neighbours: str | Neighbours) -> dict[str, Any]:
    """The arguments of a `ReleaseRequest`, or of a task, that are an estimator's own parameters."""
    return {
        "what": label_of(model),
        "domain": domain,
        "budget": model.budget,
        "neighbours": Neighbours.parse(neighbours),
        "ledger": Ledger(model.ledger) if isinstance(model.ledger, str) else model.ledger,
        "dataset": model.dataset,
        "key": TestKey(model.test_key) if isinstance(model.test_key, bytes) else model.test_key,
    }


def one_of(name: str, value: object, known: Sequence[str]) -> str:
    """A parameter that is one of a few words.

    Raises:
        InvalidParameter: it is another.
    """
    if isinstance(value, str) and value in known:
        return value
    words = ", ".join(map(repr, known))
    raise InvalidParameter(f"The parameter {name} was given as {value!r}, and there are {words}. Pass one of them.")


def yes_or_no(name: str, value: object) -> bool:
    """A parameter that is True or False.

    Raises:
        InvalidParameter: it is neither.
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidParameter(f"The parameter {name} is True or False, but {shown(value)} was given. Pass one of them.")


def inference_share(value: object) -> bool | float | str:
    """The share of the budget for inference: True and "auto" for the usual one, False (or 0) for none.

    Raises:
        InvalidParameter: it is none of these.
    """
    if isinstance(value, str) and value == "auto":
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    share = float(value) if isinstance(value, Real) and value <= 1 and not value < 0 else math.nan
    if not (share == 0.0 or 1e-3 <= share <= LARGEST_SHARE):
        raise InvalidParameter(
            f"The parameter inference was given as {shown(value)}. It is 'auto' (errors and intervals wherever something valid is known), True (the same, or "
            "a refusal before the charge), False, or the share of the budget that they are bought with, 0, or from 0.001 up "
            f"to {LARGEST_SHARE:g}: the coefficients take the rest, and intervals fail around a fit that is too poor."
        )
    return share or False


def positive(name: str, value: object, what: str, highest: float = math.inf, lowest: float = 0.0) -> float:
    """A parameter that is a finite number above `lowest` and below `highest`.

    Raises:
        InvalidParameter: it is none.
    """
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    size: Any = value.item() if isinstance(value, np.generic) else value  # compared exactly, however large
    if not number or not lowest < size < highest or not size <= sys.float_info.max:
        most = "" if math.isinf(highest) else f" and below {highest:g}"
        raise InvalidParameter(
            f"The parameter {name} ({what}) must be a number above {lowest:g}{most}, but {shown(value)} was given."
        )
    return float(value)  # type: ignore[arg-type]


def whole(value: Any) -> Any:
    """NumPy's numbers as Python's, those of a tuple or list too; anything else as it is."""
    if isinstance(value, tuple | list):
        return tuple(map(whole, value))
    return value.item() if isinstance(value, np.generic) else value


def shown(value: object) -> str:
    """What was given, as it is written, cut off where it is long: Python refuses to write very large numbers. A table is not written."""
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        return found(value)
    try:
        text = repr(value)
    except ValueError:
        return f"{found(value)} of very many digits"
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


def found(value: object) -> str:
    """Name what was given, by its type: a value might be long, or a secret."""
    if isinstance(value, type):
        return f"the class {value.__name__} itself, not an object of it,"
    if isinstance(value, Path):
        return "a path"
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiouAEIO' else 'a'} {kind}"
