"""What a room exports: the names of its `__init__`."""

from inspect import ismodule
from types import ModuleType


def public(room: ModuleType) -> list[str]:
    """Those of `__all__` where there is one, else those that it imports."""
    imported = [name for name, value in vars(room).items() if name[:1] != "_" and not ismodule(value)]
    return list(getattr(room, "__all__", imported))
