"""The types of an estimator's parameters, checked before anything else: `__init__` only stores."""

from pathlib import Path
from typing import Any

import numpy as np

from hullabaloo.data import Domain
from hullabaloo.errors import InvalidParameter
from hullabaloo.ledger import Ledger
from hullabaloo.noise import TestKey
from hullabaloo.privacy import Budget

# What each parameter may be, and how to write one.
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "budget": ((Budget,), "an hb.Budget, such as hb.Budget(1.0, 1e-8)"),
    "domain": (
        (Domain,),
        "an hb.Domain: write hb.Domain(features=..., target=...), or hb.Domain.from_toml(path) for a file",
    ),
    "fit_intercept": ((bool, np.bool_), "True or False"),
    "ledger": ((Ledger, str, type(None)), 'an hb.Ledger or its URL, such as "sqlite:///privacy.db", or None'),
    "dataset": ((str, type(None)), "the name that the dataset has in the ledger, a text, or None"),
    "test_key": (
        (TestKey, bytes, type(None)),
        "a TestKey or its 32 bytes, for tests, or None; noise is never seeded otherwise",
    ),
}


def check_types(model: Any) -> None:
    """Refuse a parameter of the wrong type with a sentence that says how to write it.

    Raises:
        InvalidParameter: a parameter has a type that it cannot have.
    """
    for name, (kinds, wanted) in _KINDS.items():
        value = getattr(model, name)
        zero_or_one = name == "fit_intercept" and isinstance(value, int) and value in (0, 1)
        if not isinstance(value, kinds) and not zero_or_one:
            raise InvalidParameter(f"The {name} must be {wanted}, but {found(value)} was given.")


def found(value: object) -> str:
    """Name what was given, by its type: a value might be long, or a secret."""
    if isinstance(value, type):
        return f"the class {value.__name__} itself, not an object of it,"
    if isinstance(value, Path):
        return "a path"
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiouAEIO' else 'a'} {kind}"
