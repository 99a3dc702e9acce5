"""Questions without noise, or at almost none, which tell the audit what the library's own code answers about either table."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any, final

from hullabaloo.curator.partial import PartialQuery
from hullabaloo.curator.query import NoisySum
from hullabaloo.errors import CalibrationError

MARGIN = 4
FAR = 20.0
"""Two near-noiseless answers are never further from the difference of the exact ones, in units of their noise (p < 1e-40)."""
_ALWAYS = 1 << 60


@final
@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """What the audit works out once about the quotes of a plan, however often they are asked. The solver is given the quotes themselves."""

    _quiet: dict[int, Any] = field(default_factory=dict)
    _kept: dict[int, Any] = field(default_factory=dict)
    _noise: dict[int, tuple[float, float]] = field(default_factory=dict)

    def quiet(self, quote: Any) -> Any:
        """See `quiet`."""
        if id(quote) not in self._quiet:
            self._quiet[id(quote)] = quiet(quote)
        return self._quiet[id(quote)]

    def kept(self, quote: Any) -> Any:
        """The same question, its properties worked out once."""
        if id(quote) not in self._kept:
            self._kept[id(quote)] = _made(quote, _kept(_kind(quote)), {})
        return self._kept[id(quote)]

    def noise(self, quote: Any) -> tuple[float, float]:
        """The stated size of one coordinate's noise; and what the event allows one answer, and what near-noiseless answers may add."""
        if id(quote) not in self._noise:
            gaussian, almost = hasattr(quote, "mu"), self.quiet(quote)
            allowed = quote.event.gdp_mu() if gaussian else quote.event.pure_epsilon()
            size, left = (quote.sigma, almost.sigma) if gaussian else (quote.scale, almost.scale)
            self._noise[id(quote)] = size, float(allowed or 0.0) + FAR * left / size
        return self._noise[id(quote)]


def quiet(query: Any) -> Any:
    """The same question, for as many answers as are asked, whose answers are exact, or nearly so where noise belongs to them.

    A sum is clipped and rounded as it always is, and comes without noise; at a price of ∞ it would be computed by other code. Other answers come at
    as little noise as their lattice can hold, and `MARGIN` octaves more: a library whose noise is smaller than it states,
    which is to be caught, must still be able to answer. The solver's own question is left as it is.
    """
    if isinstance(query, NoisySum) and not isinstance(query, PartialQuery):  # which rounds only where there is noise
        return _made(query, _silent(_kind(query)), {"count": _ALWAYS})
    price, kind = "mu" if hasattr(query, "mu") else "epsilon", _kept(_kind(query))
    for octaves in range(34, MARGIN, -1):
        try:
            replace(query, **{price: math.ldexp(getattr(query, price), octaves)}).event  # noqa: B018  # refuses a coarse lattice
        except CalibrationError:
            continue
        return _made(query, kind, {"count": _ALWAYS, price: math.ldexp(getattr(query, price), octaves - MARGIN)})
    return _made(query, kind, {"count": _ALWAYS})


def _made(query: Any, kind: Any, changed: dict[str, float]) -> Any:
    own = {attribute.name: getattr(query, attribute.name) for attribute in fields(query)}
    return kind(**{**own, **changed})


def _kind(query: Any) -> Hashable:
    found: Any = type(query)
    return found  # type: ignore[no-any-return]


@cache
def _kept(kind: Hashable) -> Any:
    """A kind of question that works each of its properties out once, not many times an answer: they are functions of frozen attributes."""
    assert isinstance(kind, type)
    found = {name: value for base in reversed(kind.__mro__) for name, value in vars(base).items()}
    once = {name: _once(kind, name) for name, value in found.items() if isinstance(value, property)}
    return type(kind.__name__, (kind,), once)


def _once(kind: Any, name: str) -> Any:
    """The kind's property, as it is when it is first asked for."""
    return cached_property(lambda query: getattr(kind, name).__get__(query))


@cache
def _silent(kind: Hashable) -> Any:
    """The same without noise."""
    assert isinstance(kind, type)
    return type(kind.__name__, (_kept(kind),), {"sigma": 0.0})
