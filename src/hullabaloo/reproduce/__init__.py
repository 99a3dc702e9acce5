"""Papers reproduced: their rates, formulas and experiments on synthetic or public tables, with a verdict on each claim."""

import inspect
import sys
from types import ModuleType

from hullabaloo.reproduce.claims import Claim, Reproduction
from hullabaloo.reproduce.papers import reproduce

__all__ = ["Claim", "Reproduction", "reproduce"]


class _Room(ModuleType):
    """`hb.reproduce` names this room and its function: the room, once imported, can be called as the function."""

    __call__ = staticmethod(reproduce)


sys.modules[__name__].__class__ = _Room
__signature__ = inspect.signature(reproduce)  # else that of a method, without its first parameter
