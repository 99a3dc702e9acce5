"""Public names are those of a package's stub, each the very object of the module that the stub takes it from."""

import ast
import inspect
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import pytest

from hullabaloo.lazy import recalled


@pytest.mark.parametrize("package", ["hullabaloo", "hullabaloo.streaming", "hullabaloo.report", "hullabaloo.theory"])
def test_a_package_offers_what_its_stub_lists(package: str) -> None:
    room = import_module(package)
    tree = ast.parse(Path(str(room.__file__)).with_suffix(".pyi").read_text())
    listed = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    assert sorted(ast.literal_eval(listed)) == sorted(room.__all__) == dir(room)
    for node in (node for node in tree.body if isinstance(node, ast.ImportFrom)):
        home = import_module(str(node.module))
        for alias in node.names:
            there = getattr(home, alias.name)
            called = inspect.getattr_static(type(home), "__call__", None)  # of rooms that are called as their function
            assert getattr(room, alias.asname or alias.name) is there or called.__func__ is there
    with pytest.raises(AttributeError, match=f"{package}.* has no attribute 'nonsense'; public names are"):
        _ = room.nonsense


def test_what_is_no_key_is_worked_out_anew() -> None:
    asked = []

    @lru_cache
    def size(one: object) -> int:
        asked.append(one)
        return len(tuple(one))  # type: ignore[call-overload, no-any-return]

    assert [recalled(size, one) for one in ((1, 2), (1, 2), [1], [1])] == [2, 2, 1, 1]
    assert asked == [(1, 2), [1], [1]]

    @lru_cache
    def broken(one: object) -> None:
        asked.append(one)
        raise TypeError

    with pytest.raises(TypeError):
        recalled(broken, 3)
    assert asked[3:] == [3]  # what fails by itself is asked once
