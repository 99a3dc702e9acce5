"""Questions without noise, or at almost none, which tell the audit what the library's own code answers about either table."""

import math
from dataclasses import fields, replace
from functools import cache, cached_property
from typing import Any

from hullabaloo.curator.partial import PartialQuery
from hullabaloo.curator.query import NoisySum
from hullabaloo.errors import CalibrationError

MARGIN = 4
_ALWAYS = 1 << 60


def quiet(query: Any) -> Any:
    """The same question, for as many answers as are asked, whose answers are exact, or nearly so where noise belongs to them.

    A sum is clipped and rounded as it always is, and comes without noise; at a price of ∞ it would be computed by other code. Other answers come at
    as little noise as their lattice can hold, and `MARGIN` octaves more: a library whose noise is smaller than it states,
    which is to be caught, must still be able to answer. The solver's own question is left as it is.
    """
    if isinstance(query, NoisySum) and not isinstance(query, PartialQuery):  # which rounds only where there is noise
        return _remembering(query, _silent(type(query)), {})
    price, kind = "mu" if hasattr(query, "mu") else "epsilon", _kept(type(query))
    for octaves in range(34, MARGIN, -1):
        try:
            replace(query, **{price: math.ldexp(getattr(query, price), octaves)}).event  # noqa: B018  # refuses a coarse lattice
        except CalibrationError:
            continue
        return _remembering(query, kind, {price: math.ldexp(getattr(query, price), octaves - MARGIN)})
    return _remembering(query, kind, {})


def _remembering(query: Any, kind: type[Any], changed: dict[str, float]) -> Any:
    own = {field.name: getattr(query, field.name) for field in fields(query)}
    return kind(**{**own, "count": _ALWAYS, **changed})


@cache
def _kept(kind: type[Any]) -> type[Any]:
    """A kind of question that works each of its properties out once, in place of many times an answer: they are functions of frozen attributes."""
    found = {name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()}
    once = {name: cached_property(value.fget) for name, value in found.items() if isinstance(value, property)}
    return type(kind.__name__, (kind,), once)


@cache
def _silent(kind: type[Any]) -> type[Any]:
    """The same without noise."""
    return type(kind.__name__, (_kept(kind),), {"sigma": 0.0})
