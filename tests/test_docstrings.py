"""Examples in docstrings run as they stand: what help() shows is what happens."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import hullabaloo

SOURCES = Path(hullabaloo.__file__).parent
# `python -m hullabaloo` runs on import; it has no examples, which the last test checks.
RUNS = {"hullabaloo.__main__"}
MODULES = sorted(
    {"hullabaloo", *(found.name for found in pkgutil.walk_packages(hullabaloo.__path__, "hullabaloo."))} - RUNS
)


def _source(name: str) -> Path:
    file = SOURCES.joinpath(*name.split(".")[1:])
    return file / "__init__.py" if file.is_dir() else file.with_suffix(".py")


WITH_EXAMPLES = [name for name in MODULES if ">>>" in _source(name).read_text(encoding="utf-8")]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0, f"{name} shows an example that no docstring holds"
    assert result.failed == 0


def test_no_module_is_left_out() -> None:
    files = {path for path in SOURCES.rglob("*.py") if ">>>" in path.read_text(encoding="utf-8")}
    assert files == {_source(name) for name in WITH_EXAMPLES}
    assert WITH_EXAMPLES
