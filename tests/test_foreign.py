"""What is not the library's own code is told, however it is wrapped, named or hidden; what is, is not."""

import enum
import functools
import math
import operator
import weakref
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, make_dataclass
from functools import cached_property, partial
from types import MappingProxyType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import hullabaloo as hb
from hullabaloo import geometry, losses
from hullabaloo.curator import known
from hullabaloo.foreign import foreign, name_of, parts
from hullabaloo.geometry import HasProximalForm, L1Ball, PenaltyWithFreeIntercept, with_intercept
from hullabaloo.losses.base import PerRecordLoss
from hullabaloo.planning.named import SOLVERS
from hullabaloo.privacy import Neighbours
from hullabaloo.streaming.model import StreamModel
from hullabaloo.structure.structure import OfFeatures
from tests.laws.loss_zoo import scalar_losses, vector_losses
from tests.laws.zoo import exported, penalties, set_functions, sets


class Mine(L1Ball):  # type: ignore[misc]  # a subclass of what is final
    """A user's subclass, whatever it overrides."""


class Pretender:
    """Says that it is the library's."""

    __module__ = "hullabaloo.geometry.norm_balls"
    __qualname__ = "L1Ball"


class Anything:
    """Answers every question about itself as the library would."""

    def __getattr__(self, name: str) -> Any:
        return getattr(L1Ball(1.0), name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return L1Ball

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Odd:
    __module__ = 5  # type: ignore[assignment]


class Number(float):
    pass


class Word(str):
    __slots__ = ()


class Numpyish(np.float64):
    __module__ = "numpy"


class Viewed(np.ndarray):
    pass


class Colour(enum.Enum):
    RED = math.sqrt


@dataclass(frozen=True, slots=True)
class Slotted:
    inner: Any


class Cached:
    @cached_property
    def made(self) -> float:
        return 1.0


def own(columns: frozenset[int]) -> float:
    return float(len(columns) ** 0.5)


@functools.wraps(foreign)
def disguised(*values: object) -> None:
    """Bears the name and module of a function of the library."""


def hidden(inner: Any) -> Any:
    """A box of the library, whose attribute is set behind its back."""
    box = L1Ball(1.0)
    object.__setattr__(box, "radius", inner)
    return box


FOREIGN: dict[str, Any] = {
    "a subclass": Mine(1.0),
    "a class of the same name": Pretender(),
    "one that answers as the library does": Anything(),
    "a module that is no text": Odd(),
    "a mock": Mock(spec=L1Ball),
    "a function": own,
    "a lambda": lambda: 0,
    "a function in disguise": disguised,
    "a builtin": len,
    "a builtin of a module": math.sqrt,
    "an operator": operator.itemgetter(1),
    "a class": Mine,
    "a builtin class": float,
    "a method": Cached().__init__,  # type: ignore[misc]
    "a method of a list": [].append,
    "a partial": partial(own, frozenset()),
    "a partial of the library's": partial(foreign, own),
    "a cache": functools.lru_cache(own),
    "a number of one's own": Number(1.0),
    "a word of one's own": Word("a"),
    "a scalar that says it is numpy's": Numpyish(1.0),
    "an array of one's own": np.zeros(2).view(Viewed),
    "an array of objects": np.array([1.0, None], dtype=object),
    "an array of records": np.zeros(2, dtype=[("a", float)]),
    "a masked array": np.ma.masked_array([1.0]),
    "a generator of numbers": np.random.default_rng(0),
    "a function of numpy's": np.mean,
    "a universal function": np.abs,
    "an enum": Colour.RED,
    "a dataclass": Slotted(1.0),
    "a dataclass made at run time": make_dataclass("L1Ball", ["radius"])(1.0),
    "a named tuple": namedtuple("Box", "lower")(1.0),
    "an ordered dict": OrderedDict(a=1),
    "a namespace": SimpleNamespace(radius=1.0),
    "a cached property": Cached(),
    "a weak reference": weakref.ref(Cached),
    "a generator": (one for one in ()),
    "a module": math,
    "a slice": slice(1),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_foreign_is_told_by_itself_and_wherever_it_is_held(name: str) -> None:
    one = FOREIGN[name]
    assert foreign(one) is not None
    for held in (
        (1.0, [one]),
        {"a": {2: (one,)}},
        MappingProxyType({"a": one}),
        partial(foreign, one),
        hidden(one),
        with_intercept(hidden(one), -1.0, 1.0),
        PenaltyWithFreeIntercept(hidden(one)),
        OfFeatures(one, ("a",)),
        StreamModel.__new__(StreamModel),
    ):
        if isinstance(held, StreamModel):  # an object of the library that has a __dict__, a method of it shadowed
            held.__dict__["predict"] = one
        assert foreign(1, "a", held) == foreign(one)


def test_the_name_is_that_of_the_class_or_function() -> None:
    assert [foreign(one) for one in (Mine(1.0), own, len, Mine, Number(2.0))] == [
        "Mine",
        "own",
        "len",
        "Mine",
        "Number",
    ]
    assert foreign(hb.CustomSetFunction(own, 3)) == "own"
    assert foreign(hb.SubmodularPenalty(hb.CustomSetFunction(lambda a: float(len(a)), 3), 1.0)) == "<lambda>"
    assert name_of(L1Ball(1.0)) == name_of(L1Ball) == "L1Ball"


def test_what_the_library_is_made_of_is_not_foreign() -> None:
    shapes = [one for one, _ in (*sets(dimensions=(1, 7, 1000)), *penalties(1, 7, 1000))]
    functions = [one for p in (1, 7, 1000) for one in set_functions(p)]
    plain = [
        None,
        True,
        1,
        1.0,
        1j,
        "a",
        b"a",
        ...,
        range(3),
        np.float64(1.0),
        np.int8(1),
        np.bool_(True),
        np.str_("a"),
    ]
    arrays = [np.zeros(2), np.zeros((0, 3), dtype=np.int8), np.array(["a"]), np.array([True])]
    more = [
        Neighbours.REPLACE_ONE,
        Neighbours,
        foreign,
        L1Ball(1.0).project,
        partial(foreign, L1Ball(1.0)),
        hb.Budget(1.0, 1e-6),
    ]
    assert (
        foreign(*shapes, *functions, *scalar_losses(), *vector_losses(), *SOLVERS.values(), *plain, *arrays, *more)
        is None
    )


def test_what_holds_itself_ends() -> None:
    ring: list[Any] = [1.0]
    ring.append((ring, {"a": ring}))
    assert foreign(ring) is None
    ring.append(own)
    assert foreign(ring) == "own"


def test_what_is_foreign_is_not_looked_into_and_none_of_its_methods_is_asked() -> None:
    asked: list[str] = []

    class Touchy:
        def __init__(self) -> None:
            self.inner = own

        def __getattribute__(self, name: str) -> Any:
            asked.append(name)
            return object.__getattribute__(self, name)

        def __iter__(self) -> Any:
            raise AssertionError

        __len__ = __bool__ = __repr__ = __iter__

    assert foreign(Touchy()) == "Touchy"
    assert set(asked) <= {"inner", "__class__"}
    assert own not in list(parts(Touchy()))


def test_the_closed_list_is_what_is_exported_but_for_callables() -> None:
    """A new shape or loss is on the list because somebody put it there, with its proof."""
    every = {*exported(geometry, geometry.ConvexSet), *exported(geometry, geometry.Penalty)}
    assert set(known.SHAPES) == every
    assert set(known.STRUCTURES) == set(exported(geometry, geometry.SetFunction)) - {hb.CustomSetFunction}
    assert set(known.LOSSES) == set(exported(losses, PerRecordLoss))
    assert all(
        issubclass(kind, HasProximalForm) for kind in known.STRUCTURES
    )  # within 2^-48: what a minimiser rests on


def test_a_subclass_or_a_holder_of_somebodys_own_code_is_a_stranger() -> None:
    class Steep(losses.Squared):  # type: ignore[misc]
        pass

    assert known.stranger(L1Ball(1.0), losses.Squared(), hb.SubmodularBall(hb.Intervals(3), 1.0)) is None
    assert known.stranger(Steep()) == "Steep"
    assert known.stranger(with_intercept(Mine(1.0), -1.0, 1.0)) == "Mine"
    assert known.stranger(hb.SubmodularBall(hb.CustomSetFunction(foreign, 2, check=False), 1.0)) == "CustomSetFunction"


def test_fields_of_all_kinds_are_seen() -> None:
    """A slot of a private name, which Python stores under another; an item of the library's own tuple."""
    from hullabaloo.cli.options import BudgetOptions
    from hullabaloo.curator import Curator
    from hullabaloo.data import Rows

    rows = Rows(np.zeros((1, 1)), np.zeros((1, 1)))
    assert foreign(Curator(rows, [])) == "RLock"  # the standard library's
    assert foreign(BudgetOptions(*[own] * len(BudgetOptions._fields))) == "own"
