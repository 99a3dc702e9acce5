"""Values that nobody asked for, drawn from any `random.Random`: Hypothesis's own, which shrinks, or a seeded one, which is fast."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

SECRET = "SECRET7316548209"
"""In every table of garbage: no message may hold it."""

FLOATS = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1e-9,
    5e-324,
    1e-300,
    1e-30,
    3.7,
    1e9,
    1e30,
    1e300,
    1.7e308,
    math.inf,
    -math.inf,
    math.nan,
)
INTS = (0, 1, 2, 3, -1, 7, 10, 60, 255, 1024, 10_000, 2**31, 2**53 + 1, 2**63, 10**30, 10**400)
TEXTS = (
    "", " ", "\x00", "é", "\u2028", "a", "age", "auto", "exact", "paper", "gradient", "moments", "nan", "inf", "1", "-1", "1e999",
    "l1:1", "l2", "box:0,1", "none", "replace-one", "add-or-remove", "FILL IN", "(intercept)", "'; drop table charges; --",
    "\ud800", "%s %d {0}", "sqlite:///", "0" * 300, "a" * 5000, "[bold]", "../../etc/passwd", "intervals", "top;3", "uniform",
)  # fmt: skip


class _Hostile:
    """An object whose every method fails."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __repr__(self) -> str:
        return "<an object>"


class Garbage:
    """Draws values; `wild` is how often one is of any kind instead of the kind that was asked for."""

    def __init__(self, random: Random, wild: float = 0.2) -> None:
        self.random, self.wild = random, wild

    def chance(self, share: float) -> bool:
        """True that often."""
        return self.random.random() < share

    def one(self, among: Sequence[Any]) -> Any:
        """One of a few."""
        return among[self.random.randrange(len(among))]

    def real(self) -> float:
        """A float of any size."""
        if self.chance(0.5):
            return float(self.one(FLOATS))
        return self.random.choice((-1.0, 1.0)) * 10.0 ** self.random.uniform(-12.0, 12.0)

    def positive(self) -> float:
        """A number that could be a radius."""
        return 10.0 ** self.random.uniform(-6.0, 4.0)

    def number(self) -> Any:
        """A number of any type."""
        kind = self.random.randrange(8)
        if kind < 3:
            return self.real()
        if kind == 3:
            return self.one(INTS)
        if kind == 4:
            return self.positive()
        makers: tuple[Callable[[], Any], ...] = (
            lambda: np.float32(self.positive()),
            lambda: np.int64(self.random.randrange(-3, 100)),
            lambda: Decimal(self.one(("1.5", "NaN", "1e500", "-0"))),
            lambda: Fraction(self.random.randrange(-5, 50), 7),
            lambda: self.one((True, False, np.True_)),
            lambda: self.one((1j, np.array(2.0), np.array([1.0]), "3")),
        )
        return self.one(makers)()

    def count(self) -> Any:
        """A number that could be one of columns or records: small, or refused."""
        return self.random.randrange(-2, 12) if self.chance(0.8) else self.one(INTS)

    def text(self) -> str:
        """A text."""
        if self.chance(0.7):
            return str(self.one(TEXTS))
        return "".join(chr(self.random.randrange(32, 1000)) for _ in range(self.random.randrange(12)))

    def sequence(self, part: Callable[[], Any]) -> Any:
        """A list or tuple of parts."""
        found = [part() for _ in range(self.random.randrange(5))]
        return tuple(found) if self.chance(0.5) else found

    def array(self, *shape: int) -> Any:
        """An array of numbers, finite as a rule."""
        found = np.array([self.real() for _ in range(int(np.prod(shape)))]).reshape(shape)
        return found if self.chance(self.wild) else np.nan_to_num(np.clip(found, -1e6, 1e6))

    def anything(self, depth: int = 2) -> Any:
        """A value of any kind."""
        kind = self.random.randrange(12)
        if kind < 3 or depth == 0:
            return self.number()
        if kind < 5:
            return self.text()
        makers: tuple[Callable[[], Any], ...] = (
            lambda: None,
            lambda: self.sequence(lambda: self.anything(depth - 1)),
            lambda: {self.one((self.text(), self.random.randrange(5))): self.anything(depth - 1) for _ in range(3)},
            lambda: self.array(self.random.randrange(4), self.random.randrange(4)),
            lambda: self.one(
                (b"", b"\xff" * 3, bytes(32), set(), frozenset({1}), range(3), Path("nowhere"), object, _Hostile())
            ),
            lambda: np.array([self.text()], dtype=object),
        )
        return self.one(makers)()

    def mostly(self, usual: Callable[[], Any]) -> Any:
        """A value of the usual kind, now and then of any."""
        return self.anything() if self.chance(self.wild) else usual()

    def damaged(self, value: Any, depth: int = 4) -> Any:
        """JSON-ready data with a few places changed, lost or added."""
        if depth == 0 or not isinstance(value, dict | list) or not value or self.chance(0.15):
            return self.one((self.real, self.text, lambda: None, lambda: [], lambda: {}, self.count, lambda: value))()
        copy = dict(value) if isinstance(value, dict) else list(value)
        places = list(copy) if isinstance(copy, dict) else list(range(len(copy)))
        for _ in range(1 + self.random.randrange(2)):
            place = self.one(places)
            if self.chance(0.2) and isinstance(copy, dict):
                copy.pop(place, None)
                copy[self.text()] = self.real()
            elif not isinstance(copy, dict) or place in copy:
                copy[place] = self.damaged(copy[place], depth - 1)
        return copy

    def torn(self, data: bytes) -> bytes:
        """A file with bytes changed, cut off, doubled or added."""
        found = bytearray(data)
        for _ in range(1 + self.random.randrange(4)):
            place, kind = self.random.randrange(len(found) + 1), self.random.randrange(5)
            if kind == 0:
                del found[place:]
            elif kind == 1 and place < len(found):
                found[place] ^= 1 << self.random.randrange(8)
            elif kind == 2:
                found[place:place] = self.one(
                    (b"\x00", b"\xff\xfe", b'"', b"{", b"NaN", b"1e999", b"\n", b"\xef\xbb\xbf")
                )
            elif kind == 3:
                found[place:place] = found[place : place + 40]
            else:
                del found[place : place + self.random.randrange(30)]
        return bytes(found)
