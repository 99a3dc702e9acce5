"""Public names are those of a package's stub, each the very object of the module that the stub takes it from."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

from hullabaloo.lazy import later, recalled

ROOMS = ["hullabaloo", "hullabaloo.release", "hullabaloo.streaming", "hullabaloo.report", "hullabaloo.theory"]


@pytest.mark.parametrize("package", ROOMS)
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


def test_a_library_stands_back_until_something_of_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "heavy_room").mkdir()
    (tmp_path / "heavy_room" / "__init__.py").write_text("")
    (tmp_path / "heavy_room" / "deep.py").write_text("ready = 3")
    monkeypatch.syspath_prepend(tmp_path)
    names = ("heavy_room", "heavy_room.deep", "no_such_room")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    later(*names)
    assert "no_such_room" not in sys.modules  # what is not installed is not said to be
    room, deep = (import_module(name) for name in names[:2])
    assert not {"__path__", "ready"} & (vars(room).keys() | vars(deep).keys())
    assert find_spec("heavy_room.deep") is not None
    from heavy_room.deep import ready  # type: ignore[import-not-found]

    assert (ready, deep.ready, sys.modules["heavy_room.deep"].ready) == (3, 3, 3)
    assert room.__path__ == sys.modules["heavy_room"].__path__ != []
    with pytest.raises(AttributeError, match="heavy_room"):
        _ = room.nonsense
    there = sys.modules["heavy_room"]
    later("heavy_room")  # what is imported stays
    assert sys.modules["heavy_room"] is there


class Crossed:
    """The modules, of which another thread asks for the library just after this one has found its stand-in."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self.other = Thread(target=ask)

    def get(self, name: str) -> object:
        found = sys.modules.get(name)
        if self.other.ident is None:
            self.other.start()
            self.other.join(0.2)
        return found

    def __delitem__(self, name: str) -> None:
        del sys.modules[name]


def test_threads_that_ask_at_once_get_one_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "crossed_room.py").write_text("ready = object()")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "crossed_room", raising=False)
    later("crossed_room")
    room, seen = import_module("crossed_room"), []
    crossed = Crossed(lambda: seen.append(room.ready))
    monkeypatch.setattr("hullabaloo.lazy.sys", SimpleNamespace(modules=crossed))
    assert room.ready is sys.modules["crossed_room"].ready
    crossed.other.join(10.0)
    assert seen == [room.ready]


COMMAND = """
import sys
from hullabaloo.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
heavy = {"pandas.core", "scipy.stats._stats_py", "sklearn.linear_model", "sklearn.pipeline", "sklearn.preprocessing", "sklearn.svm"}
print(sorted(heavy & sys.modules.keys()))
import pandas, scipy.stats
from pandas.api.types import is_numeric_dtype
print(pandas.DataFrame({"a": [1]}).shape, scipy.stats.norm.cdf(0.0), is_numeric_dtype(int))
"""


@pytest.mark.slow
def test_a_price_imports_no_library_that_it_does_not_use(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("typer")
    place = tmp_path / "domain.toml"
    place.write_text("records = 1000\n[features]\na = [0, 1]\n[target]\ny = [0, 1]\n")
    words = ["price", "--domain", str(place), "--epsilon", "1", "--delta", "1e-7", "--solver", "moments", "--json"]
    done = subprocess.run([sys.executable, "-c", COMMAND, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["[]", "(1, 1) 0.5 True"]


@pytest.mark.slow
def test_a_plan_imports_no_library_of_estimators() -> None:
    """They take longer to import than a plan takes."""
    heavy = "{'sklearn', 'pandas', 'scipy.stats'}"
    asked = f"import sys, hullabaloo as hb; hb.plan; print(sorted({heavy} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
